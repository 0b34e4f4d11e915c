// Tests of the pump with real commands and a sink that remembers.

#include "code/command/pump.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct nursery *nursery;
static struct command_pump pump;
static struct command_stderr err;
static struct buf output;
static int block_count;

static void take(void *owner, weft_bytes lines)
{
    assert_ptr_equal(owner, &output);
    assert_true(lines.size > 0);
    const char last = lines.data[lines.size - 1];
    assert_true(last == '\n' || last == (char)pump.record_end);
    buf_append(&output, lines.data, lines.size);
    block_count++;
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
    buf_fini(&output);
    nursery_free(nursery);
    return 0;
}

static void start(const char *script)
{
    const char *const arguments[] = {"sh", "-c", script, NULL};
    const struct nursery_spec spec = {.arguments = arguments};
    output.size = 0;
    block_count = 0;
    command_stderr_begin(&err);
    assert_int_equal(command_pump_start(&pump, nursery, &spec), WEFT_OK);
}

static bool put(const void *data, size_t size)
{
    bool is_closed;
    assert_int_equal(command_pump_write(&pump, (weft_bytes){data, size}, false, &is_closed),
                     WEFT_OK);
    return is_closed;
}

static void finish(int exit_code)
{
    struct process_exit exit;
    assert_int_equal(command_pump_finish(&pump, &exit), WEFT_OK);
    assert_true(exit.is_known && !exit.was_signalled);
    assert_int_equal(exit.number, exit_code);
    assert_false(pump.is_running);
}

static void expect_output(const char *expected)
{
    assert_string_equal(buf_text(&output), expected);
}

static void lines_go_through_cat_unchanged(void **state)
{
    (void)state;
    start("cat");
    assert_false(put("one\ntwo\n", 8));
    assert_false(put("", 0));
    assert_false(put("three\n", 6));
    finish(0);
    expect_output("one\ntwo\nthree\n");
}

static void a_last_line_without_an_end_gets_one(void **state)
{
    (void)state;
    start("printf 'one\\ntw'; sleep 0.05; printf o");
    finish(0);
    expect_output("one\ntwo\n");
    start("printf ''");
    finish(0);
    expect_output("");
}

// More than all pipes hold, both ways at once: would hang if one side waited for the other.
static void much_goes_in_and_more_comes_out(void **state)
{
    (void)state;
    const size_t size = 8 << 20;
    char *text = malloc(size);
    assert_non_null(text);
    for (size_t i = 0; i < size; i++)
        text[i] = i % 61 == 60 || i + 1 == size ? '\n' : (char)('a' + i % 26);
    start("tee /dev/stderr");
    assert_false(put(text, size));
    finish(0);
    assert_int_equal(output.size, size);
    assert_memory_equal(output.data, text, size);
    assert_true(err.tail.size > 0);
    free(text);
}

static void a_line_longer_than_the_buffer_is_one_line(void **state)
{
    (void)state;
    start("head -c 5000000 /dev/zero | tr '\\0' x; echo; echo end");
    finish(0);
    assert_int_equal(output.size, 5000000 + 5);
    assert_memory_equal(output.data + 4999999, "x\nend\n", 6);
    assert_true(memchr(output.data, '\n', 5000000) == NULL);
}

static void a_command_that_stops_reading_ends_the_writing(void **state)
{
    (void)state;
    static char zeros[4 << 20];
    start("head -n 1");
    assert_false(put("first\n", 6));
    bool is_closed = false;
    while (!is_closed)
        is_closed = put(zeros, sizeof zeros);
    finish(0);
    expect_output("first\n");
}

static void a_command_that_reads_nothing_is_fine_if_it_ends_well(void **state)
{
    (void)state;
    static char zeros[4 << 20];
    start("echo ready; exec 0<&-; sleep 0.05; echo done");
    put(zeros, sizeof zeros);
    finish(0);
    expect_output("ready\ndone\n");
}

static void its_exit_code_and_its_last_words_are_told(void **state)
{
    (void)state;
    struct buf tail = {0};
    start("echo partial; echo 'what went wrong' >&2; exit 7");
    finish(7);
    expect_output("partial\n");
    assert_true(command_stderr_append_tail(&err, 100, &tail));
    assert_string_equal(buf_text(&tail), "    what went wrong\n");
    buf_fini(&tail);
}

static void the_end_comes_though_a_daemon_holds_the_pipes(void **state)
{
    (void)state;
    start("echo from the command; (setsid sleep 1000 &)");
    finish(0);
    expect_output("from the command\n");
}

static void a_command_that_closes_its_output_is_waited_for(void **state)
{
    (void)state;
    start("exec 1>&- 2>&-; read line; exit 4");
    assert_false(put("go\n", 3));
    finish(4);
}

static void an_aborted_command_is_gone_and_the_pump_can_start_another(void **state)
{
    (void)state;
    start("sleep 1000");
    command_pump_abort(&pump);
    start("echo next");
    finish(0);
    expect_output("next\n");
}

// A command that answers each marker with all it has: sed copies lines, and the marker is one of them.
static void a_kept_command_answers_each_task(void **state)
{
    (void)state;
    bool is_kept;
    pump.is_kept = true;
    start("exec sed -u 's/^/> /; s/^> \\x1e$/\\x1e/'");
    for (int task = 0; task < 3; task++) {
        output.size = 0;
        assert_false(put("a\nb\n", 4));
        assert_int_equal(command_pump_mark(&pump, &is_kept), WEFT_OK);
        assert_true(is_kept);
        expect_output("> a\n> b\n");
    }
    finish(0);
}

static void a_marker_inside_a_line_is_text(void **state)
{
    (void)state;
    bool is_kept;
    pump.is_kept = true;
    start("exec sed -u 's/^a$/a\\x1e/'");
    assert_false(put("a\nb\n", 4));
    assert_int_equal(command_pump_mark(&pump, &is_kept), WEFT_OK);
    assert_true(is_kept);
    expect_output("a\x1e\nb\n");
    finish(0);
}

static void a_command_that_cannot_be_kept_is_told(void **state)
{
    (void)state;
    bool is_kept = true;
    pump.is_kept = true;
    start("read line; echo $line");
    assert_false(put("only\n", 5));
    assert_int_equal(command_pump_mark(&pump, &is_kept), WEFT_OK);
    assert_false(is_kept);
    finish(0);
    expect_output("only\n");
}

// A marker that the command made of a record, and one with more text after it.
static void a_marker_that_was_not_asked_for_is_an_error(void **state)
{
    (void)state;
    bool is_kept;
    pump.is_kept = true;
    start("read a; read b; printf 'a\\n\\036\\nb\\n\\036\\n'; cat");
    assert_false(put("a\n", 2));
    assert_int_equal(command_pump_mark(&pump, &is_kept), WEFT_DATA_LOSS);
    command_pump_abort(&pump);
    start("read a; read b; printf 'a\\n\\036\\n'; printf 'b\\n\\036\\n'; cat");
    assert_false(put("a\n", 2));
    assert_int_equal(command_pump_mark(&pump, &is_kept), WEFT_DATA_LOSS);
    command_pump_abort(&pump);
}

static void output_that_ends_as_a_record_gets_no_line_end(void **state)
{
    (void)state;
    pump.is_kept = false;
    pump.record_end = ';';
    start("printf 'a;b;'");
    finish(0);
    expect_output("a;b;");
    start("printf 'a;b'");
    finish(0);
    expect_output("a;b\n");
    pump.record_end = '\n';
}

static char room[1 << 20];
static size_t room_size;

static char *find_room(void *owner, size_t *size)
{
    (void)owner;
    assert_true(*size > 0);
    *size = sizeof room - room_size;
    return room + room_size;
}

static void fill_room(void *owner, weft_bytes filled)
{
    (void)owner;
    assert_ptr_equal(filled.data, room + room_size);
    room_size += filled.size;
}

static void output_goes_to_its_room_and_an_open_line_is_ended(void **state)
{
    (void)state;
    pump.room = find_room;
    pump.fill = fill_room;
    start("printf 'one\ntwo'");
    finish(0);
    assert_int_equal(room_size, 7);
    assert_memory_equal(room, "one\ntwo", 7);
    expect_output("\n");  // what ends it comes the other way
    start("echo three");
    finish(0);
    assert_int_equal(room_size, 13);
    expect_output("");
    pump.room = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(output_goes_to_its_room_and_an_open_line_is_ended),
        cmocka_unit_test(lines_go_through_cat_unchanged),
        cmocka_unit_test(a_last_line_without_an_end_gets_one),
        cmocka_unit_test(much_goes_in_and_more_comes_out),
        cmocka_unit_test(a_line_longer_than_the_buffer_is_one_line),
        cmocka_unit_test(a_command_that_stops_reading_ends_the_writing),
        cmocka_unit_test(a_command_that_reads_nothing_is_fine_if_it_ends_well),
        cmocka_unit_test(its_exit_code_and_its_last_words_are_told),
        cmocka_unit_test(the_end_comes_though_a_daemon_holds_the_pipes),
        cmocka_unit_test(a_command_that_closes_its_output_is_waited_for),
        cmocka_unit_test(an_aborted_command_is_gone_and_the_pump_can_start_another),
        cmocka_unit_test(a_kept_command_answers_each_task),
        cmocka_unit_test(a_marker_inside_a_line_is_text),
        cmocka_unit_test(a_command_that_cannot_be_kept_is_told),
        cmocka_unit_test(a_marker_that_was_not_asked_for_is_an_error),
        cmocka_unit_test(output_that_ends_as_a_record_gets_no_line_end),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
