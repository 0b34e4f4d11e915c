// Tests of growable arrays.

#include "base/vec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

struct item {
    char name[13];
    int number;
};

static void items_stay_in_order_while_it_grows(void **state)
{
    (void)state;
    VEC(struct item) items = {0};
    for (int i = 0; i < 10000; i++)
        assert_true(VEC_PUSH(&items, ((struct item){.name = "item", .number = i})));
    assert_int_equal(items.count, 10000);
    assert_true(items.capacity >= items.count);
    for (int i = 0; i < 10000; i++) {
        assert_int_equal(items.items[i].number, i);
        assert_string_equal(items.items[i].name, "item");
    }
    VEC_FINI(&items);
    assert_null(items.items);
    assert_int_equal(items.count + items.capacity, 0);
}

static void the_next_item_counts_when_the_owner_says_so(void **state)
{
    (void)state;
    VEC(int) numbers = {0};
    for (int i = 0; i < 100; i++) {
        int *next = VEC_NEXT(&numbers);
        assert_non_null(next);
        *next = i;
        assert_int_equal(numbers.count, i);
        assert_ptr_equal(VEC_NEXT(&numbers), next);  // asked again, the same
        numbers.count++;
    }
    assert_int_equal(numbers.items[99], 99);
    VEC_FINI(&numbers);
}

static void it_is_used_again_after_its_end(void **state)
{
    (void)state;
    VEC(uint64_t) numbers = {0};
    VEC_FINI(&numbers);
    for (int round = 0; round < 3; round++) {
        for (uint64_t i = 0; i < 20; i++)
            assert_true(VEC_PUSH(&numbers, i));
        assert_int_equal(numbers.items[19], 19);
        VEC_FINI(&numbers);
    }
}

static void a_refusal_leaves_it_as_it_was(void **state)
{
    (void)state;
    const volatile size_t many = SIZE_MAX / sizeof(int) / 3;  // doubled, more than any memory
    int *items = malloc(sizeof *items), *const before = items;
    size_t capacity = many;
    assert_null(vec_next((void **)&items, capacity, &capacity, sizeof *items));
    assert_ptr_equal(items, before);
    assert_int_equal(capacity, many);
    free(items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_stay_in_order_while_it_grows),
        cmocka_unit_test(the_next_item_counts_when_the_owner_says_so),
        cmocka_unit_test(it_is_used_again_after_its_end),
        cmocka_unit_test(a_refusal_leaves_it_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
