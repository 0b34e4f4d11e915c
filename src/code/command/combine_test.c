// Tests of collecting pairs for a combiner, with cat in its place.

#include "code/command/combine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct nursery *nursery;
static struct command_combine combine;
static struct command_pump pump;
static struct command_stderr err;
static struct buf output;
static const struct command_separator tab = {"\t", 1};

static void take(void *owner, weft_bytes lines)
{
    buf_append(owner, lines.data, lines.size);
}

static int set_up(void **state)
{
    (void)state;
    nursery = nursery_new();
    command_stderr_init(&err, -1, NULL, NULL);
    command_pump_init(&pump, take, &output, &err);
    return nursery ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    command_pump_fini(&pump);
    command_stderr_fini(&err);
    command_combine_fini(&combine);
    buf_fini(&output);
    nursery_free(nursery);
    return 0;
}

static bool add(const struct command_keys *keys, const char *key, const char *value)
{
    struct buf room = {0};
    bool is_full;
    assert_int_equal(command_combine_add(&combine, command_keys_encode(keys, weft_text(key), &room),
                                         weft_text(value), &is_full),
                     WEFT_OK);
    buf_fini(&room);
    return is_full;
}

static void run(const struct command_keys *keys, const struct command_separator *separator)
{
    const char *const arguments[] = {"cat", NULL};
    const struct nursery_spec spec = {.arguments = arguments};
    struct process_exit exit;
    output.size = 0;
    assert_int_equal(command_pump_start(&pump, nursery, &spec), WEFT_OK);
    assert_int_equal(command_combine_write(&combine, keys, separator, &pump), WEFT_OK);
    assert_int_equal(command_pump_finish(&pump, &exit), WEFT_OK);
    assert_int_equal(combine.pairs.count, 0);
}

static void pairs_come_sorted_by_key_and_then_as_they_came(void **state)
{
    (void)state;
    const struct command_keys keys = {0};
    add(&keys, "b", "1");
    add(&keys, "a long key indeed", "2");
    add(&keys, "b", "");
    add(&keys, "a long key", "3");
    add(&keys, "", "4");
    add(&keys, "b", "0");
    run(&keys, &tab);
    assert_string_equal(buf_text(&output),
                        "\t4\na long key\t3\na long key indeed\t2\nb\t1\nb\t\nb\t0\n");
    run(&keys, &tab);
    assert_string_equal(buf_text(&output), "");
}

static void an_order_of_keys_is_the_combiners_too(void **state)
{
    (void)state;
    struct command_keys keys;
    const struct command_separator colon = {"::", 2};
    assert_int_equal(command_keys_init(&keys, "-k1nr", NULL, &tab), WEFT_OK);
    add(&keys, "9", "x");
    add(&keys, "10", "y");
    run(&keys, &colon);
    assert_string_equal(buf_text(&output), "10::y\n9::x\n");
    command_keys_fini(&keys);
}

static void it_is_full_at_sixteen_megabytes(void **state)
{
    (void)state;
    const struct command_keys keys = {0};
    static char value[1 << 20];
    memset(value, 'v', sizeof value - 1);
    int count = 1;
    while (!add(&keys, "key", value))
        count++;
    assert_int_equal(count, 16);
    run(&keys, &tab);
    assert_int_equal(output.size, 16 * (sizeof value - 1 + 5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_come_sorted_by_key_and_then_as_they_came),
        cmocka_unit_test(an_order_of_keys_is_the_combiners_too),
        cmocka_unit_test(it_is_full_at_sixteen_megabytes),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
