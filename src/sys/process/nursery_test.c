// Tests of the nursery with real commands. That a process is gone is seen by a named pipe it held open:
// its reader gets the end of the stream when the last holder has ended, without waiting for a time.

#include "sys/process/nursery.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "sys/file/folder_testing.h"

static struct nursery *nursery;

static int set_up(void **state)
{
    nursery = nursery_new();
    return nursery ? testing_make_folder(state) : -1;
}

static int tear_down(void **state)
{
    nursery_free(nursery);
    return testing_remove_folder(state);
}

static void write_file(const char *name, const char *text, mode_t mode)
{
    FILE *file = fopen(testing_path(name), "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    assert_int_equal(chmod(testing_path(name), mode), 0);
}

static weft_err start(const char *program, const char *argument, struct child *child)
{
    const char *const arguments[] = {program, argument, NULL};
    const struct nursery_spec spec = {.arguments = arguments, .directory = testing_folder};
    return nursery_start(nursery, &spec, child);
}

static void start_shell(const char *script, struct child *child)
{
    const char *const arguments[] = {"sh", "-c", script, NULL};
    const struct nursery_spec spec = {.arguments = arguments, .directory = testing_folder};
    assert_int_equal(nursery_start(nursery, &spec, child), WEFT_OK);
}

// The bytes that come until the pipe is closed.
static size_t read_all(struct child *child, unsigned which, char *text, size_t size)
{
    size_t total = 0;
    for (bool has_ended = false; !has_ended;) {
        size_t got;
        child_wait_ready(child, which, -1);
        assert_int_equal(child_read(child, which, text + total, size - 1 - total, &got, &has_ended),
                         WEFT_OK);
        total += got;
    }
    text[total] = 0;
    return total;
}

static void expect_end(struct child *child, const char *sentence)
{
    struct process_exit exit;
    char text[128];
    assert_true(child_wait(child, -1, &exit));
    process_describe_exit(&exit, text, sizeof text);
    assert_string_equal(text, sentence);
    child_end(child);
    assert_null(child->nursery);
}

static void expect_output(const char *script, const char *output)
{
    struct child child;
    char text[256];
    start_shell(script, &child);
    child_close_in(&child);
    read_all(&child, CHILD_OUT, text, sizeof text);
    assert_string_equal(text, output);
    expect_end(&child, "exited with code 0");
}

// ---- One command ------------------------------------------------------------------------------------

static void what_is_written_comes_back_from_cat(void **state)
{
    (void)state;
    struct child child;
    char text[64];
    size_t put;
    bool has_ended;
    assert_int_equal(start("cat", NULL, &child), WEFT_OK);
    assert_int_equal(child_wait_ready(&child, CHILD_IN, -1), CHILD_IN);
    assert_int_equal(child_write(&child, "two\nlines", 9, &put, &has_ended), WEFT_OK);
    assert_int_equal(put, 9);
    child_close_in(&child);
    assert_int_equal(read_all(&child, CHILD_OUT, text, sizeof text), 9);
    assert_string_equal(text, "two\nlines");
    expect_end(&child, "exited with code 0");
}

static void exit_codes_and_signals_are_told(void **state)
{
    (void)state;
    struct child child;
    start_shell("exit 3", &child);
    expect_end(&child, "exited with code 3");
    start_shell("kill -SEGV $$", &child);
    expect_end(&child, "killed by signal 11 (segmentation fault)");
}

static void a_command_that_runs_is_not_waited_for_longer_than_asked(void **state)
{
    (void)state;
    struct child child;
    struct process_exit exit;
    start_shell("read line", &child);
    assert_false(child_wait(&child, 0, &exit));
    assert_int_equal(child_wait_ready(&child, CHILD_OUT | CHILD_ERR | CHILD_END, 0), 0);
    child_close_in(&child);
    expect_end(&child, "exited with code 1");
}

static void a_killed_command_is_gone(void **state)
{
    (void)state;
    struct child child;
    start_shell("trap '' TERM INT HUP; while :; do sleep 100; done", &child);
    const pid_t pid = child.pid;
    child_end(&child);
    assert_int_equal(kill(pid, 0), -1);
    child_end(&child);  // harmless
    struct child none = {0};
    child_end(&none);
}

static void its_signals_are_the_default_ones_and_its_session_is_its_own(void **state)
{
    (void)state;
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    // None blocked, none ignored but two of the C library's own, which its posix_spawn leaves so.
    expect_output("grep -E '^Sig(Blk|Ign)' /proc/self/status | sed -E s/0[01][08]0{7}/0000000000/",
                  "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
    sigprocmask(SIG_SETMASK, &before, NULL);
    expect_output("test $(cut -d' ' -f6 /proc/$$/stat) = $$ && echo own", "own\n");
}

static void it_holds_no_descriptor_but_the_three(void **state)
{
    (void)state;
    struct child other;
    const int ours = open("/dev/null", O_RDONLY);  // would be inherited
    start_shell("read line", &other);
    // ls has one more for the directory it lists.
    expect_output("ls /proc/self/fd | tr '\\n' ' '", "0 1 2 3 ");
    child_end(&other);
    close(ours);
}

// A command may run before the nursery has closed the descriptors that it gave to it: that is waited for.
#define COUNT_DESCRIPTORS_UNTIL(count)                                                             \
    "for i in $(seq 1000); do n=$(ls /proc/$PPID/fd | wc -l); [ $n = " count " ] && break; "       \
    "sleep 0.01; done; echo $n"

static void the_nursery_holds_nothing_of_ours_nor_of_its_commands(void **state)
{
    (void)state;
    struct child child;
    start_shell("read line", &child);
    // Its socket, its signals, and one status pipe for each of two commands; and 0, 1, 2.
    expect_output(COUNT_DESCRIPTORS_UNTIL("7"), "7\n");
    expect_output("readlink /proc/$PPID/fd/0 /proc/$PPID/fd/1 /proc/$PPID/fd/2",
                  "/dev/null\n/dev/null\n/dev/null\n");
    child_end(&child);
}

static void it_gets_its_environment_its_directory_and_its_path(void **state)
{
    (void)state;
    struct child child;
    char text[256];
    write_file("only-here", "#!/bin/sh\necho $COLOR in ${PWD##*/}\n", 0755);
    char path[160];
    snprintf(path, sizeof path, "PATH=/nowhere:%s:/bin", testing_folder);
    const char *const arguments[] = {"only-here", NULL};
    const char *const environment[] = {"COLOR=blue", path, NULL};
    const struct nursery_spec spec = {
        .arguments = arguments, .environment = environment, .directory = "/usr/lib"};
    assert_int_equal(nursery_start(nursery, &spec, &child), WEFT_OK);
    read_all(&child, CHILD_OUT, text, sizeof text);
    assert_string_equal(text, "blue in lib\n");
    expect_end(&child, "exited with code 0");
}

static void a_script_without_a_first_line_is_for_the_shell(void **state)
{
    (void)state;
    struct child child;
    char text[64];
    write_file("plain", "echo by sh $1\n", 0755);
    assert_int_equal(start("./plain", "now", &child), WEFT_OK);
    read_all(&child, CHILD_OUT, text, sizeof text);
    assert_string_equal(text, "by sh now\n");
    expect_end(&child, "exited with code 0");
}

// ---- Commands that cannot be started --------------------------------------------------------------------

static void expect_refusal(const char *program, weft_err code, const char *sentence)
{
    struct child child;
    char expected[512];
    snprintf(expected, sizeof expected, sentence, program, program);
    assert_int_equal(start(program, NULL, &child), code);
    assert_string_equal(err_text(), expected);
    child_end(&child);
}

static void a_program_that_is_not_there_is_named(void **state)
{
    (void)state;
    expect_refusal("no-such-program", WEFT_NOT_FOUND,
                   "cannot start %s: there is no such program in PATH");
    expect_refusal("./no-such-file", WEFT_NOT_FOUND, "cannot start %s: there is no such file");
    expect_refusal("", WEFT_NOT_FOUND, "cannot start %s: there is no such program in PATH");
    write_file("lies-here", "echo found\n", 0755);
    expect_refusal("lies-here", WEFT_NOT_FOUND,
                   "cannot start %s: there is no such program in PATH; try: ./%s");
}

static void a_program_that_is_not_executable_is_named_with_the_cure(void **state)
{
    (void)state;
    write_file("data", "#!/bin/sh\n", 0644);
    expect_refusal("./data", WEFT_PERMISSION_DENIED,
                   "cannot start %s: it is not executable; try: chmod +x %s");
    expect_refusal("/usr", WEFT_PERMISSION_DENIED, "cannot start %s: it is a directory");
}

static void a_script_whose_interpreter_is_missing_names_it(void **state)
{
    (void)state;
    write_file("script", "#! /usr/bin/python4 -u\n", 0755);
    expect_refusal("./script", WEFT_NOT_FOUND,
                   "cannot start %s: its first line asks for /usr/bin/python4, which does not "
                   "exist");
    write_file("windows", "#!/bin/sh\r\necho\r\n", 0755);
    expect_refusal("./windows", WEFT_NOT_FOUND,
                   "cannot start %s: its first line ends with a carriage return, so there is no "
                   "interpreter of that name; try: sed -i 's/\\r$//' %s");
}

static void a_directory_that_is_not_there_is_named(void **state)
{
    (void)state;
    struct child child;
    const char *const arguments[] = {"true", NULL};
    const struct nursery_spec spec = {.arguments = arguments, .directory = "/no/such"};
    assert_int_equal(nursery_start(nursery, &spec, &child), WEFT_NOT_FOUND);
    assert_string_equal(err_text(),
                        "cannot start true in the directory /no/such: no such file or directory");
}

// ---- Commands that behave badly -------------------------------------------------------------------------

// Writes until the command closes its input; how much went in.
static size_t flood(struct child *child)
{
    static const char zeros[65536];
    size_t total = 0;
    for (bool has_ended = false; !has_ended;) {
        size_t put;
        child_wait_ready(child, CHILD_IN, -1);
        assert_int_equal(child_write(child, zeros, sizeof zeros, &put, &has_ended), WEFT_OK);
        total += put;
    }
    assert_int_equal(child->in, -1);
    return total;
}

static void a_command_that_closes_its_input_early_is_no_failure(void **state)
{
    (void)state;
    struct child child;
    start_shell("exec 0<&-; read line; exit 0", &child);
    flood(&child);
    expect_end(&child, "exited with code 0");
}

static void a_command_that_ignores_its_input_blocks_nobody(void **state)
{
    (void)state;
    static const char zeros[65536];
    struct child child;
    size_t put = 1;
    bool has_ended = false;
    start_shell("sleep 1000", &child);
    while (put > 0)
        assert_int_equal(child_write(&child, zeros, sizeof zeros, &put, &has_ended), WEFT_OK);
    assert_false(has_ended);
    assert_int_equal(child_wait_ready(&child, CHILD_IN, 0), 0);
    child_end(&child);
}

static void a_flood_on_standard_error_is_read_beside_the_output(void **state)
{
    (void)state;
    static char text[3 << 20];
    struct child child;
    start_shell("head -c 2000000 /dev/zero >&2; echo done", &child);
    assert_int_equal(read_all(&child, CHILD_ERR, text, sizeof text), 2000000);
    read_all(&child, CHILD_OUT, text, sizeof text);
    assert_string_equal(text, "done\n");
    expect_end(&child, "exited with code 0");
}

// ---- Processes that it leaves ----------------------------------------------------------------------------

static int open_fifo(void)
{
    unlink(testing_path("fifo"));
    assert_int_equal(mkfifo(testing_path("fifo"), 0600), 0);
    const int fd = open(testing_path("fifo"), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(fcntl(fd, F_SETFL, 0), 0);  // from now on reading waits
    return fd;
}

// Waits until each holder of the pipe has written a byte, then until all are gone.
static void expect_holders_to_end(int fifo, int holder_count, void (*end)(void *), void *argument)
{
    char byte;
    for (int i = 0; i < holder_count;) {
        struct pollfd opened = {.fd = fifo, .events = POLLIN};
        poll(&opened, 1, -1);
        const ssize_t got = read(fifo, &byte, 1);
        assert_true(got >= 0);
        i += (int)got;  // 0: no process has it open
    }
    end(argument);
    assert_int_equal(read(fifo, &byte, 1), 0);
    close(fifo);
}

static void close_input_and_wait(void *child)
{
    child_close_in(child);
    expect_end(child, "exited with code 0");
}

static void what_a_command_leaves_in_its_session_ends_with_it(void **state)
{
    (void)state;
    struct child child;
    const int fifo = open_fifo();
    start_shell("exec 3>fifo; (printf x >&3; sleep 1000; echo late) & "
                "(trap '' HUP TERM; printf x >&3; sleep 1000) & printf x >&3; read line; exit 0",
                &child);
    expect_holders_to_end(fifo, 3, close_input_and_wait, &child);
}

static void standard_output_ends_though_a_background_process_held_it(void **state)
{
    (void)state;
    expect_output("sleep 1000 & echo ended", "ended\n");
}

static void the_end_is_seen_though_a_daemon_holds_the_output(void **state)
{
    (void)state;
    struct child child;
    start_shell("(setsid sleep 1000 &) ; sleep 0.1", &child);
    while (!(child_wait_ready(&child, CHILD_OUT | CHILD_END, -1) & CHILD_END)) {
    }
    expect_end(&child, "exited with code 0");
}

static void end_child(void *child)
{
    child_end(child);
}

static void killing_a_command_kills_what_it_started_in_other_sessions_too(void **state)
{
    (void)state;
    struct child child;
    const int fifo = open_fifo();
    start_shell("exec 3>fifo; setsid sh -c 'printf x >&3; sleep 1000; :' & printf x >&3; wait",
                &child);
    expect_holders_to_end(fifo, 2, end_child, &child);
}

static void free_nursery(void *other)
{
    nursery_free(*(struct nursery **)other);
}

// A daemon as daemons are made: a session of its own, and its parent gone.
#define DAEMON "setsid sh -c 'sh -c \"printf x >&3; trap : HUP TERM; sleep 1000; :\" & exit' ; "

static void a_nursery_takes_daemons_with_it(void **state)
{
    (void)state;
    struct nursery *other = nursery_new(), *const usual = nursery;
    struct child child;
    const int fifo = open_fifo();
    assert_non_null(other);
    nursery = other;
    start_shell("exec 3>fifo; " DAEMON "printf x >&3; sleep 1000", &child);
    nursery = usual;
    expect_holders_to_end(fifo, 2, free_nursery, &other);
    struct process_exit exit;
    assert_true(child_wait(&child, -1, &exit));
    assert_false(exit.is_known);
    close(child.in), close(child.out), close(child.err), close(child.status);
}

static void kill_owner(void *pid)
{
    kill(*(pid_t *)pid, SIGKILL);
    waitpid(*(pid_t *)pid, NULL, 0);
}

static void nothing_outlives_an_owner_that_is_killed(void **state)
{
    (void)state;
    const int fifo = open_fifo();
    pid_t owner = fork();
    assert_true(owner >= 0);
    if (owner == 0) {
        struct child child;
        nursery = nursery_new();
        start_shell("exec 3>fifo; (printf x >&3; sleep 1000) & " DAEMON
                    "trap '' HUP TERM PIPE; printf x >&3; while :; do sleep 100; done",
                    &child);
        start_shell("exec 3>fifo; printf x >&3; exec cat", &child);
        pause();
    }
    expect_holders_to_end(fifo, 4, kill_owner, &owner);
}

static void a_nursery_that_was_killed_is_an_error_and_not_a_hang(void **state)
{
    (void)state;
    struct nursery *const usual = nursery;
    struct child child, second;
    struct process_exit exit;
    char text[32];
    nursery = nursery_new();
    assert_non_null(nursery);
    start_shell("echo $PPID; read line", &child);
    child_wait_ready(&child, CHILD_OUT, -1);
    size_t got;
    bool has_ended;
    assert_int_equal(child_read(&child, CHILD_OUT, text, sizeof text - 1, &got, &has_ended),
                     WEFT_OK);
    text[got] = 0;
    assert_int_equal(kill(atoi(text), SIGKILL), 0);
    assert_true(child_wait(&child, -1, &exit));
    assert_false(exit.is_known);
    assert_int_equal(start("true", NULL, &second), WEFT_UNAVAILABLE);
    child_end(&child);
    nursery_free(nursery);
    nursery = usual;
}

// ---- Many -------------------------------------------------------------------------------------------------

static int count_descriptors(void)
{
    int count = 0;
    DIR *all = opendir("/proc/self/fd");
    assert_non_null(all);
    while (readdir(all))
        count++;
    closedir(all);
    return count;
}

static void no_descriptor_is_left_open(void **state)
{
    (void)state;
    const int before = count_descriptors();
    for (int i = 0; i < 20; i++) {
        struct child child;
        start_shell("exit 0", &child);
        i % 2 ? child_end(&child) : expect_end(&child, "exited with code 0");
        assert_int_not_equal(start("no-such-program", NULL, &child), WEFT_OK);
    }
    assert_int_equal(count_descriptors(), before);
    // The nursery has only this command's status pipe besides its socket and its signals.
    expect_output(COUNT_DESCRIPTORS_UNTIL("6"), "6\n");
}

static void fifty_commands_run_at_once(void **state)
{
    (void)state;
    static struct child children[50];
    char text[64], expected[16];
    for (int i = 0; i < 50; i++) {
        char script[64];
        snprintf(script, sizeof script, "read line; echo $line %d; exit %d", i, i);
        start_shell(script, &children[i]);
    }
    for (int i = 49; i >= 0; i--) {
        size_t put;
        bool has_ended;
        assert_int_equal(child_write(&children[i], "go\n", 3, &put, &has_ended), WEFT_OK);
        read_all(&children[i], CHILD_OUT, text, sizeof text);
        snprintf(expected, sizeof expected, "go %d\n", i);
        assert_string_equal(text, expected);
    }
    for (int i = 0; i < 50; i++) {
        char sentence[64];
        snprintf(sentence, sizeof sentence, "exited with code %d", i);
        expect_end(&children[i], sentence);
    }
}

static void *run_some(void *unused)
{
    (void)unused;
    for (int i = 0; i < 10; i++)
        expect_output("echo one", "one\n");
    return NULL;
}

static void commands_are_started_from_many_threads(void **state)
{
    (void)state;
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_some, NULL), 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_comes_back_from_cat),
        cmocka_unit_test(exit_codes_and_signals_are_told),
        cmocka_unit_test(a_command_that_runs_is_not_waited_for_longer_than_asked),
        cmocka_unit_test(a_killed_command_is_gone),
        cmocka_unit_test(its_signals_are_the_default_ones_and_its_session_is_its_own),
        cmocka_unit_test(it_holds_no_descriptor_but_the_three),
        cmocka_unit_test(the_nursery_holds_nothing_of_ours_nor_of_its_commands),
        cmocka_unit_test(it_gets_its_environment_its_directory_and_its_path),
        cmocka_unit_test(a_script_without_a_first_line_is_for_the_shell),
        cmocka_unit_test(a_program_that_is_not_there_is_named),
        cmocka_unit_test(a_program_that_is_not_executable_is_named_with_the_cure),
        cmocka_unit_test(a_script_whose_interpreter_is_missing_names_it),
        cmocka_unit_test(a_directory_that_is_not_there_is_named),
        cmocka_unit_test(a_command_that_closes_its_input_early_is_no_failure),
        cmocka_unit_test(a_command_that_ignores_its_input_blocks_nobody),
        cmocka_unit_test(a_flood_on_standard_error_is_read_beside_the_output),
        cmocka_unit_test(what_a_command_leaves_in_its_session_ends_with_it),
        cmocka_unit_test(standard_output_ends_though_a_background_process_held_it),
        cmocka_unit_test(the_end_is_seen_though_a_daemon_holds_the_output),
        cmocka_unit_test(killing_a_command_kills_what_it_started_in_other_sessions_too),
        cmocka_unit_test(a_nursery_takes_daemons_with_it),
        cmocka_unit_test(nothing_outlives_an_owner_that_is_killed),
        cmocka_unit_test(a_nursery_that_was_killed_is_an_error_and_not_a_hang),
        cmocka_unit_test(no_descriptor_is_left_open),
        cmocka_unit_test(fifty_commands_run_at_once),
        cmocka_unit_test(commands_are_started_from_many_threads),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
