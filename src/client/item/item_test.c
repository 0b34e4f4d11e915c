// Tests of items: components that are aligned wherever they lay, and tensors that cannot travel.

#include "client/item/item.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void a_text_is_one_component(void **state)
{
    (void)state;
    weft_item item = {0};
    weft_tensor component;
    assert_int_equal(item_copy(weft_text("text"), false, &item), WEFT_OK);
    assert_string_equal(item.data, "text");
    assert_int_equal(weft_item_components(&item, NULL, 0), 1);
    assert_int_equal(weft_item_components(&item, &component, 1), 1);
    assert_true(component.dtype == WEFT_DTYPE_BYTES && component.rank == 0 && component.size == 4);
    weft_item_free(&item);
    assert_null(item.data);
    assert_int_equal(item_copy(weft_none(), false, &item), WEFT_OK);
    assert_string_equal(item.data, "");
    weft_item_free(&item);
}

static void components_are_aligned(void **state)
{
    (void)state;
    const int64_t dims[] = {1, 3}, none = 0;
    const double reals[] = {1, 2, 3};
    const weft_tensor sent[] = {{WEFT_DTYPE_BYTES, 0, NULL, "odd", 3},
                                {WEFT_DTYPE_DOUBLE, 2, dims, reals, sizeof reals},
                                {WEFT_DTYPE_FLOAT, 1, &none, NULL, 0},
                                {WEFT_DTYPE_BOOL, 0, NULL, "\1", 1}};
    struct buf tuple = {0};
    weft_item item = {0};
    weft_tensor got[5];
    buf_append(&tuple, "x", 1);  // so that nothing in it is aligned
    assert_int_equal(item_append_tuple(&tuple, sent, 4), WEFT_OK);
    assert_int_equal(item_copy((weft_bytes){tuple.data + 1, tuple.size - 1}, true, &item), WEFT_OK);
    buf_fini(&tuple);
    assert_int_equal(weft_item_components(&item, got, 5), 4);
    for (size_t i = 0; i < 4; i++) {
        assert_true(got[i].dtype == sent[i].dtype && got[i].rank == sent[i].rank);
        assert_true(got[i].size == sent[i].size);
        assert_int_equal((uintptr_t)got[i].data % 16, 0);
        assert_int_equal(((const char *)got[i].data)[got[i].size], 0);
        assert_int_equal((uintptr_t)got[i].dims % sizeof(int64_t), 0);
    }
    assert_string_equal(item.data, "odd");
    assert_memory_equal(got[1].dims, dims, sizeof dims);
    assert_memory_equal(got[1].data, reals, sizeof reals);
    weft_item_free(&item);
}

static void what_is_no_tuple_is_lost_data(void **state)
{
    (void)state;
    weft_item item = {0};
    assert_int_equal(item_copy(weft_text("?"), true, &item), WEFT_DATA_LOSS);
    assert_int_equal(weft_item_components(&item, NULL, 0), 0);
    weft_item_free(&item);
}

static void tensors_that_cannot_be_are_refused(void **state)
{
    (void)state;
    struct buf out = {0};
    const int64_t dim = 2;
    const weft_tensor bad[] = {
        {(weft_dtype)0, 0, NULL, "", 0},
        {(weft_dtype)265, 0, NULL, "12345678", 8},
        {WEFT_DTYPE_INT64, -1, NULL, "", 0},
        {WEFT_DTYPE_INT64, 33, &dim, "", 0},
        {WEFT_DTYPE_INT64, 1, NULL, "", 0},
        {WEFT_DTYPE_INT64, 1, &dim, "12345678", 8},
        {WEFT_DTYPE_INT64, 256, &dim, "12345678", 8},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(item_append_tuple(&out, &bad[i], 1), WEFT_INVALID_ARGUMENT);
    assert_int_equal(item_append_tuple(&out, NULL, 1), WEFT_INVALID_ARGUMENT);
    assert_int_equal(item_append_tuple(&out, bad, 0), WEFT_INVALID_ARGUMENT);
    assert_int_equal(item_append_tuple(&out, bad, 129), WEFT_INVALID_ARGUMENT);
    assert_int_equal(item_append_types(&out, &bad[3], 1), WEFT_INVALID_ARGUMENT);
    assert_int_equal(out.size, 0);
    assert_int_equal(item_append_types(&out, &bad[2], 1), WEFT_OK);  // any shape
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_is_one_component),
        cmocka_unit_test(components_are_aligned),
        cmocka_unit_test(what_is_no_tuple_is_lost_data),
        cmocka_unit_test(tensors_that_cannot_be_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
