// Tests of values as bytes.

#include "wire/pack.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void values_are_read_as_they_were_written(void **state)
{
    (void)state;
    const struct call_item item = {UINT64_MAX, 2, 3, UINT32_MAX};
    struct buf bytes = {0};
    pack_write_u8(&bytes, 255);
    pack_write_u16(&bytes, 65535);
    pack_write_u32(&bytes, UINT32_MAX);
    pack_write_u64(&bytes, UINT64_MAX - 1);
    pack_write_text(&bytes, weft_text("text"));
    pack_write_blob(&bytes, weft_text("blob"));
    pack_write_text(&bytes, weft_none());
    pack_write_item(&bytes, &item);
    struct pack_reader reader = {buf_bytes(&bytes), false};
    assert_int_equal(pack_read_u8(&reader), 255);
    assert_int_equal(pack_read_u16(&reader), 65535);
    assert_int_equal(pack_read_u32(&reader), UINT32_MAX);
    assert_true(pack_read_u64(&reader) == UINT64_MAX - 1);
    assert_memory_equal(pack_read_text(&reader).data, "text", 4);
    assert_memory_equal(pack_read_blob(&reader).data, "blob", 4);
    assert_int_equal(pack_read_text(&reader).size, 0);
    assert_int_equal(reader.rest.size, CALL_ITEM_BYTES);
    struct call_item read;
    pack_read_item(&reader, &read);
    assert_true(read.queue == item.queue && read.id == item.id && read.slot == item.slot &&
                read.delivery == item.delivery);
    assert_true(reader.rest.size == 0 && !reader.has_failed);
    buf_fini(&bytes);
}

static void a_reader_past_the_end_gives_zeros_from_then_on(void **state)
{
    (void)state;
    struct pack_reader reader = {{"\1\2\3", 3}, false};
    assert_int_equal(pack_read_u32(&reader), 0);
    assert_true(reader.has_failed);
    assert_int_equal(pack_read_u8(&reader), 0);  // though there was a byte
    assert_int_equal(pack_read_blob(&reader).size, 0);
    assert_int_equal(pack_read_bytes(&reader, 0).size, 0);
    struct call_item item = {1, 1, 1, 1};
    pack_read_item(&reader, &item);
    assert_true(item.queue == 0 && item.id == 0 && item.slot == 0 && item.delivery == 0);
    struct pack_reader text = {{"\5\0abcd", 6}, false};
    assert_int_equal(pack_read_text(&text).size, 0);
    assert_true(text.has_failed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_read_as_they_were_written),
        cmocka_unit_test(a_reader_past_the_end_gives_zeros_from_then_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
