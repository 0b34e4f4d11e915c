// Tests of run/talk/crowd.

#include "run/talk/crowd.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define SECOND UINT64_C(1000000000)

static uint32_t count_lines(struct buf *text)
{
    uint32_t lines = 0;
    for (const char *at = buf_text(text); *at; at++)
        lines += *at == '\n';
    return lines;
}

static void join(struct crowd *crowd, uint32_t number, uint64_t now_ns, struct buf *text)
{
    char sentence[64];
    snprintf(sentence, sizeof sentence, "client m/%u has joined", number);
    const struct crowd_change change = {CROWD_JOINED, "m/1", 2, number, sentence};
    crowd_append_line(crowd, &change, now_ns, text);
}

static void few_clients_have_a_line_each(void **state)
{
    (void)state;
    struct crowd crowd = {0};
    struct buf text = {0};
    for (uint32_t i = 1; i <= CROWD_LINES_MAX; i++)
        join(&crowd, i, 5 * SECOND, &text);
    assert_int_equal(count_lines(&text), CROWD_LINES_MAX);
    text.size = 0;
    assert_false(crowd_append_rest(&crowd, 7 * SECOND, &text));
    assert_int_equal(text.size, 0);
    buf_fini(&text);
}

static void a_thousand_at_once_have_a_line_for_the_rest(void **state)
{
    (void)state;
    struct crowd crowd = {0};
    struct buf text = {0};
    for (uint32_t i = 1; i <= 1000; i++)
        join(&crowd, i, 5 * SECOND + i, &text);
    const struct crowd_change lost = {CROWD_LOST, "m/7", 0, 999, "client m/7 is lost: why"};
    crowd_append_line(&crowd, &lost, 5 * SECOND + 2000, &text);
    assert_int_equal(count_lines(&text), CROWD_LINES_MAX + 1);  // a loss is not hidden by them
    assert_non_null(strstr(buf_text(&text), "m/7 is lost: why"));
    text.size = 0;
    assert_false(crowd_append_rest(&crowd, 5 * SECOND + 3000, &text));  // not yet
    assert_true(crowd_append_rest(&crowd, 6 * SECOND + 3000, &text));
    assert_string_equal(buf_text(&text),
                        "weft: in the last second also: 990 joined (999 clients now)\n");
    text.size = 0;
    join(&crowd, 1000, 6 * SECOND + 4000, &text);  // and the next one has its line again
    assert_string_equal(buf_text(&text), "weft: client m/1000 has joined\n");
    buf_fini(&text);
}

static void a_change_is_an_object(void **state)
{
    (void)state;
    struct buf text = {0};
    crowd_append_json(&(struct crowd_change){CROWD_JOINED, "m/1", 2, 3, "a \"b\""}, &text);
    assert_string_equal(buf_text(&text), "{\"event\":\"joined\",\"client\":\"m/1\",\"slots\":2,"
                                         "\"clients\":3,\"text\":\"a \\\"b\\\"\"}\n");
    text.size = 0;
    crowd_append_json(&(struct crowd_change){CROWD_HANDED, "m/1", 16, 3, "so"}, &text);
    assert_string_equal(buf_text(&text),
                        "{\"event\":\"handed_over\",\"client\":\"m/1\",\"tasks\":16,"
                        "\"clients\":3,\"text\":\"so\"}\n");
    text.size = 0;
    crowd_append_json(&(struct crowd_change){CROWD_ASIDE, "m/1", 2, 3, "why"}, &text);
    assert_string_equal(buf_text(&text), "{\"event\":\"aside\",\"client\":\"m/1\",\"clients\":3,"
                                         "\"text\":\"why\"}\n");
    buf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_clients_have_a_line_each),
        cmocka_unit_test(a_thousand_at_once_have_a_line_for_the_rest),
        cmocka_unit_test(a_change_is_an_object),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
