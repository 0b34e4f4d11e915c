// Tests of what reaches a command in the nursery, signals and its standard input, and of how a process
// follows its nursery.

#include "sys/process/nursery.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct nursery *nursery;

static int set_up(void **state)
{
    (void)state;
    nursery = nursery_new();
    return nursery ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    nursery_free(nursery);
    return 0;
}

static void start_shell(const char *script, enum nursery_input input, struct child *child)
{
    const char *const arguments[] = {"sh", "-c", script, NULL};
    const struct nursery_spec spec = {.arguments = arguments, .input = input};
    assert_int_equal(nursery_start(nursery, &spec, child), WEFT_OK);
}

static void read_line(struct child *child, char *text, size_t size)
{
    size_t total = 0, got = 0;
    for (bool has_ended = false; !has_ended && !memchr(text, '\n', total); total += got) {
        child_wait_ready(child, CHILD_OUT, -1);
        assert_int_equal(
            child_read(child, CHILD_OUT, text + total, size - 1 - total, &got, &has_ended),
            WEFT_OK);
    }
    text[total] = 0;
}

// The owner is this process, which does nothing for a while, as if it were stopped.
static void commands_end_when_the_leash_is_over(void **state)
{
    (void)state;
    struct child child;
    struct process_exit exit;
    char text[64];
    struct nursery *const others = nursery;
    nursery = nursery_new();
    start_shell("echo ready; exec sleep 1000", NURSERY_INPUT_NONE, &child);
    read_line(&child, text, sizeof text);
    for (int i = 0; i < 10; i++) {
        nursery_extend_leash(nursery, 200);
        assert_false(child_wait(&child, 100, &exit));
    }
    assert_true(child_wait(&child, -1, &exit));
    assert_false(exit.is_known);
    child_end(&child);
    nursery_free(nursery);
    nursery = others;
}

static void a_signal_reaches_the_whole_group(void **state)
{
    (void)state;
    struct child child;
    struct process_exit exit;
    char text[64];
    // The shell's child says when it is there, and how it ended: by the signal that both got.
    start_shell("trap : TERM; sh -c 'echo ready; exec sleep 1000' & wait $!; wait $!; "
                "[ $? = 143 ] && exit 7",
                NURSERY_INPUT_NONE, &child);
    read_line(&child, text, sizeof text);
    child_signal(&child, SIGTERM);
    assert_true(child_wait(&child, -1, &exit));
    assert_false(exit.was_signalled);
    assert_int_equal(exit.number, 7);
    child_signal(&child, SIGTERM);
    child_end(&child);
}

static void a_kill_does_not_wait_and_cannot_be_ignored(void **state)
{
    (void)state;
    struct child child;
    struct process_exit exit;
    char text[64];
    start_shell("trap '' TERM; echo ready; sleep 1000", NURSERY_INPUT_NONE, &child);
    read_line(&child, text, sizeof text);
    child_signal(&child, SIGTERM);
    child_signal(&child, SIGKILL);
    assert_true(child_wait(&child, -1, &exit));
    assert_true(exit.was_signalled);
    assert_int_equal(exit.number, SIGKILL);
    child_end(&child);
}

static void a_command_without_input_reads_dev_null(void **state)
{
    (void)state;
    struct child child;
    char text[64];
    start_shell("readlink /proc/self/fd/0; cat", NURSERY_INPUT_NONE, &child);
    assert_int_equal(child.in, -1);
    read_line(&child, text, sizeof text);
    assert_string_equal(text, "/dev/null\n");
    child_end(&child);
}

// A process that can start no command any more makes room for another one.
static void a_process_follows_a_nursery_that_was_killed(void **state)
{
    (void)state;
    for (int is_killed = 0; is_killed < 2; is_killed++) {
        int status;
        const pid_t pid = fork();
        if (pid == 0) {
            const char *const arguments[] = {"sh", "-c",
                                             is_killed ? "kill -9 $PPID; sleep 100" : "true", NULL};
            const struct nursery_spec spec = {.arguments = arguments, .input = NURSERY_INPUT_NONE};
            struct child child;
            struct process_exit exit;
            nursery = nursery_new();
            // The nursery may be killed before it has said that the command runs.
            if (nursery_start(nursery, &spec, &child) == WEFT_OK)
                (void)child_wait(&child, -1, &exit);
            nursery_follow(nursery);
            _exit(0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(WIFSIGNALED(status), is_killed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_follows_a_nursery_that_was_killed),
        cmocka_unit_test(commands_end_when_the_leash_is_over),
        cmocka_unit_test(a_signal_reaches_the_whole_group),
        cmocka_unit_test(a_kill_does_not_wait_and_cannot_be_ignored),
        cmocka_unit_test(a_command_without_input_reads_dev_null),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
