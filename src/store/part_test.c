// Tests of part files: names, and checksums of stretches.

#include "store/part.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/crc32c.h"
#include "sys/file/file.h"

static void names_have_five_digits_or_more(void **state)
{
    (void)state;
    char name[PART_NAME_BYTES];
    part_format_name(name, 0, "");
    assert_string_equal(name, "part-00000");
    part_format_name(name, 1048575, ".zst");
    assert_string_equal(name, "part-1048575.zst");
    part_format_name(name, UINT32_MAX, ".longer-than-any");
    assert_string_equal(name, "part-4294967295.longer");
}

static void a_stretch_is_summed_as_far_as_it_goes(void **state)
{
    (void)state;
    enum { SIZE = (2 << 20) + 5 };
    char *text = malloc(SIZE);
    assert_non_null(text);
    for (size_t i = 0; i < SIZE; i++)
        text[i] = (char)(i * 7 + i / 1000);
    int fd;
    uint64_t bytes;
    uint32_t crc;
    assert_int_equal(file_create_nameless("/tmp", &fd), WEFT_OK);
    assert_int_equal(file_write(fd, "f", text, SIZE), WEFT_OK);
    assert_int_equal(part_sum(fd, "f", 0, UINT64_MAX, &bytes, &crc), WEFT_OK);
    assert_int_equal(bytes, SIZE);
    assert_int_equal(crc, crc32c(0, text, SIZE));
    assert_int_equal(part_sum(fd, "f", 3, (1 << 20) + 1, &bytes, &crc), WEFT_OK);
    assert_int_equal(bytes, (1 << 20) + 1);
    assert_int_equal(crc, crc32c(0, text + 3, (1 << 20) + 1));
    assert_int_equal(part_sum(fd, "f", SIZE - 1, 9, &bytes, &crc), WEFT_OK);
    assert_int_equal(bytes, 1);
    assert_int_equal(part_sum(fd, "f", SIZE, 0, &bytes, &crc), WEFT_OK);
    assert_int_equal(bytes, 0);
    assert_int_equal(crc, 0);
    file_close(fd);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_have_five_digits_or_more),
        cmocka_unit_test(a_stretch_is_summed_as_far_as_it_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
