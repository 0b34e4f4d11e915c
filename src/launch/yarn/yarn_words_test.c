// Tests of YARN's names, ends and commands.
#include "launch/yarn/yarn_words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "launch/yarn/yarn_message.h"

static void names_are_those_of_hadoop(void **state)
{
    const struct yarn_container_id plain = {{1700000000000, 7}, 1, 2};
    const struct yarn_container_id second_life = {
        {1700000000000, 12345}, 2, ((int64_t)17 << 40) + 1234567};
    char text[YARN_NAME_BYTES];
    struct yarn_container_id id;
    struct yarn_app_id app;
    (void)state;
    yarn_write_app(&plain.app, text);
    assert_string_equal(text, "application_1700000000000_0007");
    assert_true(yarn_read_app(text, &app));
    assert_int_equal(app.timestamp, plain.app.timestamp);
    assert_int_equal(app.number, 7);
    yarn_write_container(&plain, text);
    assert_string_equal(text, "container_1700000000000_0007_01_000002");
    yarn_write_container(&second_life, text);
    assert_string_equal(text, "container_e17_1700000000000_12345_02_1234567");
    assert_true(yarn_read_container(text, &id));
    assert_int_equal(id.app.timestamp, 1700000000000);
    assert_int_equal(id.app.number, 12345);
    assert_int_equal(id.attempt, 2);
}

static void other_names_are_refused(void **state)
{
    static const char *const apps[] = {"",
                                       "application",
                                       "application_1",
                                       "application_1_",
                                       "application_1_2_",
                                       "application_1_2x",
                                       "container_1_2",
                                       "application_99999999999999999999_1",
                                       "application_1_2147483648"};
    struct yarn_app_id app;
    struct yarn_container_id id;
    (void)state;
    for (size_t i = 0; i < sizeof apps / sizeof *apps; i++)
        if (yarn_read_app(apps[i], &app))
            fail_msg("%s is read", apps[i]);
    assert_false(yarn_read_container("container_1_2", &id));
    assert_false(yarn_read_container("container_1_2_3", &id));
    assert_false(yarn_read_container("application_1_2_3_4", &id));
}

static void ids_survive_messages(void **state)
{
    const struct yarn_container_id id = {{1700000000000, 7}, 3, ((int64_t)17 << 40) + 9};
    struct yarn_maker maker = {0};
    struct yarn_container_id again = {0};
    Hadoop__ContainerId *message = yarn_make(&maker, &hadoop__container_id__descriptor);
    (void)state;
    yarn_make_id(&maker, &id, message);
    assert_true(yarn_take_container(message, &again));
    assert_true(yarn_is_same_container(&id, &again));
    message->attempt->has_number = false;
    assert_false(yarn_take_container(message, &again));
    assert_false(yarn_take_container(NULL, &again));
    yarn_free(message);
}

static void expect_end(int status, const char *diagnostics, bool is_stopped,
                       enum yarn_end_kind kind, bool is_charged, const char *words)
{
    struct yarn_end end;
    struct buf text = {0};
    yarn_judge_end(status, diagnostics, is_stopped, &end, &text);
    assert_int_equal(end.kind, kind);
    assert_int_equal(end.exit_code, status);
    assert_int_equal(end.is_charged, is_charged);
    if (!strstr(buf_text(&text), words))
        fail_msg("\"%s\" does not contain \"%s\"", buf_text(&text), words);
    buf_fini(&text);
}

static void ends_have_kinds_and_figures(void **state)
{
    (void)state;
    expect_end(0, NULL, false, YARN_EXITED, false, "exit code 0");
    expect_end(3, "x", false, YARN_EXITED, true, "exit code 3");
    expect_end(143, "", false, YARN_EXITED, true, "signal 15");
    expect_end(137, "", false, YARN_EXITED, true, "memory");
    expect_end(
        -104,
        "[2024-01-01 00:00:00.000]Container [pid=1,containerID=c] is running 1B beyond the "
        "'PHYSICAL' memory limit. Current usage: 301.5 MB of 128 MB physical memory used; 1.1 "
        "GB of 268.8 MB virtual memory used. Killing container.\nDump of the process-tree",
        false, YARN_MEMORY, true,
        "(301.5 MB of 128 MB physical memory used; 1.1 GB of 268.8 MB virtual memory used)");
    expect_end(-103, "", false, YARN_MEMORY, true, "vmem-check-enabled");
    expect_end(-100, "Container released on a *lost* node\nmore", false, YARN_LOST, false,
               "its node was lost");
    expect_end(-100, "expired", false, YARN_LOST, false, "taken it back: expired");
    expect_end(-101, "", false, YARN_LOST, false, "disks");
    expect_end(-102, "", false, YARN_PREEMPTED, false, "another application");
    expect_end(-106, "", false, YARN_KILLED, false, "killed");
    expect_end(-109, "", false, YARN_KILLED, true, "logs");
    expect_end(-1000, "no such file", false, YARN_NOT_STARTED, true, "no such file");
    expect_end(-777, "", false, YARN_KILLED, false, "ended it");
}

static void ends_that_were_wanted_are_no_faults(void **state)
{
    static const int statuses[] = {-100, -105, -106, 137, 143};
    (void)state;
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        expect_end(statuses[i], "", true, YARN_STOPPED, false, "stopped");
    // It had ended by itself before.
    expect_end(0, "", true, YARN_EXITED, false, "exit code 0");
    expect_end(-104, "", true, YARN_MEMORY, true, "memory");
}

static void words_of_hadoop_are_cut_at_their_line(void **state)
{
    struct buf out = {0};
    (void)state;
    yarn_append_line(&out, "a\tb\x1b[c\x7f\nd", 100);
    assert_string_equal(buf_text(&out), "a b [c ");
    out.size = 0;
    yarn_append_line(&out, "abcdef", 3);
    assert_string_equal(buf_text(&out), "abc");
    buf_fini(&out);
}

// What bash makes of the text between double quotes, with the replacements of a node manager before.
static void expect_unchanged(const char *text)
{
    struct buf command = {0};
    char got[400];
    buf_append_text(&command, "printf %s \"");
    yarn_append_quoted(&command, text);
    buf_append_text(&command, "\"");
    static const char *const replaced[] = {"<LOG_DIR>", "<CPS>", "{{", "}}"};
    for (int i = 0; i < 4; i++)
        assert_null(strstr(buf_text(&command), replaced[i]));
    FILE *shell = popen(buf_text(&command), "r");
    assert_non_null(shell);
    const size_t size = fread(got, 1, sizeof got - 1, shell);
    got[size] = 0;
    assert_int_equal(pclose(shell), 0);
    assert_string_equal(got, text);
    buf_fini(&command);
}

static void quoted_texts_arrive_as_they_are(void **state)
{
    (void)state;
    expect_unchanged("a \"b\" 'c' $HOME ${x} $(id) `id` \\ \\n \\\\");
    expect_unchanged("{{PATH}} {{{x}}} <LOG_DIR>/<CPS> a<b <<E");
    expect_unchanged("one\ntwo # \t; three");
}

static void expect_url(const char *text, const char *scheme, const char *host, int port,
                       const char *file)
{
    struct yarn_maker maker = {0};
    Hadoop__Url *url = yarn_make(&maker, &hadoop__url__descriptor);
    assert_true(yarn_read_url(&maker, text, url));
    assert_string_equal(url->scheme, scheme);
    assert_string_equal(url->host ? url->host : "", host);
    assert_int_equal(url->has_port ? url->port : 0, port);
    assert_string_equal(url->file, file);
    yarn_free(url);
}

static void urls_are_taken_apart(void **state)
{
    static const char *const bad[] = {"",
                                      "/a",
                                      "hdfs:/a",
                                      "hdfs://nn",
                                      "://h/a",
                                      "hdfs://nn:x/a",
                                      "hdfs://nn:0/a",
                                      "hdfs://nn:65536/a"};
    (void)state;
    expect_url("hdfs://nn:8020/a b%", "hdfs", "nn", 8020, "/a b%");
    expect_url("hdfs://ns1/a", "hdfs", "ns1", 0, "/a");
    expect_url("file:///a/b", "file", "", 0, "/a/b");
    expect_url("http://[::1]:80/", "http", "[::1]", 80, "/");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct yarn_maker maker = {0};
        Hadoop__Url *url = yarn_make(&maker, &hadoop__url__descriptor);
        if (yarn_read_url(&maker, bad[i], url))
            fail_msg("%s is read", bad[i]);
        yarn_free(url);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_those_of_hadoop),
        cmocka_unit_test(other_names_are_refused),
        cmocka_unit_test(ids_survive_messages),
        cmocka_unit_test(ends_have_kinds_and_figures),
        cmocka_unit_test(ends_that_were_wanted_are_no_faults),
        cmocka_unit_test(words_of_hadoop_are_cut_at_their_line),
        cmocka_unit_test(quoted_texts_arrive_as_they_are),
        cmocka_unit_test(urls_are_taken_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
