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

static bool has_lower_tens(const struct link *a, const struct link *b)
{
    return LIST_ITEM(a, const struct item, link)->number / 10 <
           LIST_ITEM(b, const struct item, link)->number / 10;
}

static void sorting_keeps_the_order_of_equals(void **state)
{
    (void)state;
    static struct item items[1000];
    for (int count = 0; count <= 1000; count += count < 20 ? 1 : 140) {
        struct link head;
        int wanted[1000], at = 0;
        list_init(&head);
        for (int i = 0; i < count; i++) {
            items[i].number = i * 7919 % 97 * 10 + i % 10;
            list_append(&head, &items[i].link);
        }
        for (int tens = 0; tens < 97; tens++)
            for (int i = 0; i < count; i++)
                if (items[i].number / 10 == tens)
                    wanted[at++] = items[i].number;
        list_sort(&head, has_lower_tens);
        expect_numbers(&head, wanted, count);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_keeps_the_order_in_which_it_was_filled),
        cmocka_unit_test(taking_out_twice_is_harmless),
        cmocka_unit_test(sorting_keeps_the_order_of_equals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
