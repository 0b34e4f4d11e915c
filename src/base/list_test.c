// Tests of lists.

#include "base/list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

struct item {
    int number;
    struct link link;
};

static void expect_numbers(const struct link *head, const int *numbers, int count)
{
    const struct link *at = head->next;
    for (int i = 0; i < count; i++, at = at->next)
        assert_int_equal(LIST_ITEM(at, struct item, link)->number, numbers[i]);
    assert_ptr_equal(at, head);
    for (int i = count - 1; i >= 0; i--) {
        at = at->previous;
        assert_int_equal(LIST_ITEM(at, struct item, link)->number, numbers[i]);
    }
    assert_ptr_equal(at->previous, head);
}

static void a_list_keeps_the_order_in_which_it_was_filled(void **state)
{
    (void)state;
    struct link head;
    struct item items[4] = {{.number = 0}, {.number = 1}, {.number = 2}, {.number = 3}};
    list_init(&head);
    assert_true(list_is_empty(&head));
    for (int i = 0; i < 3; i++)
        list_append(&head, &items[i].link);
    assert_false(list_is_empty(&head));
    expect_numbers(&head, (int[]){0, 1, 2}, 3);
    list_put_before(&items[1].link, &items[3].link);
    expect_numbers(&head, (int[]){0, 3, 1, 2}, 4);
}

static void taking_out_twice_is_harmless(void **state)
{
    (void)state;
    struct link head;
    struct item items[3] = {{.number = 0}, {.number = 1}, {.number = 2}};
    list_init(&head);
    list_take_out(&items[0].link);
    for (int i = 0; i < 3; i++)
        list_append(&head, &items[i].link);
    list_take_out(&items[1].link);
    list_take_out(&items[1].link);
    expect_numbers(&head, (int[]){0, 2}, 2);
    list_append(&head, &items[1].link);
    expect_numbers(&head, (int[]){0, 2, 1}, 3);
    for (int i = 0; i < 3; i++)
        list_take_out(&items[i].link);
    assert_true(list_is_empty(&head));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_keeps_the_order_in_which_it_was_filled),
        cmocka_unit_test(taking_out_twice_is_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
