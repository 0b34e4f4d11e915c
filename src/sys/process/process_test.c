// Tests of starting, killing and describing processes. This program is its own child: called with a
// word it does what the word says.

#include "sys/process/process.h"
#include "sys/process/signals.h"

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
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { PAGE_BYTES = 4096 };

// ---- What a child does ----------------------------------------------------------------------------

static int report_standard_descriptors(int fd)
{
    char line[64];
    char byte;
    struct sigaction on_int, on_user;
    sigset_t blocked;
    sigaction(SIGINT, NULL, &on_int);
    sigaction(SIGUSR1, NULL, &on_user);
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    const int size = snprintf(
        line, sizeof line, "stdin %zd, int %s, usr1 %s, blocked %d", read(STDIN_FILENO, &byte, 1),
        on_int.sa_handler == SIG_IGN ? "ignored" : "taken",
        on_user.sa_handler == SIG_DFL ? "default" : "changed", sigismember(&blocked, SIGUSR1));
    return write(fd, line, (size_t)size) == size ? 0 : 9;
}

static int write_into_page(int fd)
{
    void *page = NULL;
    if (process_map_shared(fd, PAGE_BYTES, &page) != WEFT_OK)
        return 9;
    strcpy(page, "from the child");
    raise(SIGKILL);
    return 9;
}

// Prints where it runs and two variables of its environment.
static int report_place(int fd)
{
    char line[256], where[128];
    const char *set = getenv("WEFT_TEST_SET"), *removed = getenv("WEFT_TEST_REMOVED");
    if (!getcwd(where, sizeof where))
        return 9;
    const int size =
        snprintf(line, sizeof line, "%s %s %s", where, set ? set : "-", removed ? removed : "-");
    return write(fd, line, (size_t)size) == size ? 0 : 9;
}

// Starts a child that sleeps, prints its number and is killed itself.
static int start_sleeper_and_die(int fd, const char *self)
{
    const char *const arguments[] = {self, "sleep", NULL};
    const struct process_spec spec = {
        .program = PROCESS_SELF, .arguments = arguments, .inherit = {fd}, .inherit_count = 1};
    struct process process;
    if (process_spawn(&spec, &process) != WEFT_OK)
        return 9;
    raise(SIGKILL);
    return 9;
}

static int run_child(const char *self, const char *word)
{
    const char *number = getenv("WEFT_TEST_FD");
    const int fd = number ? atoi(number) : -1;
    if (strcmp(word, "exit") == 0)
        return 3;
    if (strcmp(word, "crash") == 0) {
        signal(SIGSEGV, SIG_DFL);
        raise(SIGSEGV);
    }
    if (strcmp(word, "report") == 0)
        return report_standard_descriptors(fd);
    if (strcmp(word, "page") == 0)
        return write_into_page(fd);
    if (strcmp(word, "parent") == 0)
        return start_sleeper_and_die(fd, self);
    if (strcmp(word, "place") == 0)
        return report_place(fd);
    pause();
    return 9;
}

// ---- The tests ------------------------------------------------------------------------------------

static weft_err spawn(const char *word, int fd, struct process *process)
{
    const char *const arguments[] = {"process_test", word, NULL};
    char variable[32];
    snprintf(variable, sizeof variable, "WEFT_TEST_FD=%d", fd);
    const struct process_spec spec = {.program = PROCESS_SELF,
                                      .arguments = arguments,
                                      .environment = (const char *const[]){variable, NULL},
                                      .inherit = {fd},
                                      .inherit_count = fd >= 0};
    return process_spawn(&spec, process);
}

static void a_child_runs_in_its_directory_with_its_environment(void **state)
{
    (void)state;
    int ends[2];
    char variable[32], got[256] = "";
    assert_int_equal(pipe(ends), 0);
    snprintf(variable, sizeof variable, "WEFT_TEST_FD=%d", ends[1]);
    setenv("WEFT_TEST_SET", "ours", 1);
    setenv("WEFT_TEST_REMOVED", "ours", 1);
    const struct process_spec spec = {
        .program = PROCESS_SELF,
        .arguments = (const char *const[]){"process_test", "place", NULL},
        .environment =
            (const char *const[]){variable, "WEFT_TEST_SET=its own", "WEFT_TEST_REMOVED", NULL},
        .directory = "/proc",
        .inherit = {ends[1]},
        .inherit_count = 1};
    struct process process;
    struct process_exit exit;
    assert_int_equal(process_spawn(&spec, &process), WEFT_OK);
    process_wait(&process, &exit);
    assert_true(exit.is_known && !exit.was_signalled && exit.number == 0);
    assert_true(read(ends[0], got, sizeof got - 1) > 0);
    assert_string_equal(got, "/proc its own -");
    close(ends[0]);
    close(ends[1]);
    unsetenv("WEFT_TEST_SET");
    unsetenv("WEFT_TEST_REMOVED");
}

static void a_missing_directory_is_told_before_anything_starts(void **state)
{
    (void)state;
    const struct process_spec spec = {.program = PROCESS_SELF,
                                      .arguments =
                                          (const char *const[]){"process_test", "exit", NULL},
                                      .directory = "/proc/no-such-directory"};
    struct process process;
    assert_int_equal(process_spawn(&spec, &process), WEFT_NOT_FOUND);
    assert_non_null(strstr(err_text(), "/proc/no-such-directory"));
}

static void expect_end(const char *word, const char *sentence)
{
    struct process process;
    struct process_exit exit;
    char text[128];
    assert_int_equal(spawn(word, -1, &process), WEFT_OK);
    process_wait(&process, &exit);
    process_describe_exit(&exit, text, sizeof text);
    assert_string_equal(text, sentence);
    assert_int_equal(process.pid, 0);
}

static void an_exit_code_is_told(void **state)
{
    (void)state;
    expect_end("exit", "exited with code 3");
}

static void a_crash_is_told_by_the_name_of_its_signal(void **state)
{
    (void)state;
    expect_end("crash", "killed by signal 11 (segmentation fault)");
}

static void a_killed_child_is_waited_for_and_its_pidfd_tells_the_end(void **state)
{
    (void)state;
    struct process process;
    struct process_exit exit;
    assert_int_equal(spawn("sleep", -1, &process), WEFT_OK);
    process_kill(&process);
    if (process.pidfd >= 0) {
        struct pollfd wait_for = {.fd = process.pidfd, .events = POLLIN};
        assert_int_equal(poll(&wait_for, 1, -1), 1);
    }
    process_wait(&process, &exit);
    assert_true(exit.is_known && exit.was_signalled);
    assert_int_equal(exit.number, SIGKILL);
    process_kill(&process);  // none: nothing happens
}

static void a_child_that_somebody_else_waited_for_is_told_so(void **state)
{
    (void)state;
    struct process process;
    struct process_exit exit;
    char text[64];
    assert_int_equal(spawn("exit", -1, &process), WEFT_OK);
    assert_int_equal(waitpid(process.pid, NULL, 0), process.pid);
    process_wait(&process, &exit);
    process_describe_exit(&exit, text, sizeof text);
    assert_string_equal(text, "ended, exit status unknown");
}

static void ignore_signal(int number)
{
    (void)number;
}

static void a_child_starts_with_clean_signals_and_no_input(void **state)
{
    (void)state;
    int fds[2];
    struct process process;
    struct process_exit exit;
    char line[64] = {0};
    sigset_t blocked, before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    signal(SIGUSR1, ignore_signal);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    assert_int_equal(process_make_socket_pair(fds), WEFT_OK);
    assert_true(fds[0] > 2 && fds[1] > 2);
    assert_int_equal(spawn("report", fds[1], &process), WEFT_OK);
    sigprocmask(SIG_SETMASK, &before, NULL);
    close(fds[1]);
    assert_true(recv(fds[0], line, sizeof line - 1, 0) > 0);
    assert_string_equal(line, "stdin 0, int ignored, usr1 default, blocked 0");
    assert_int_equal(recv(fds[0], line, sizeof line, 0), 0);
    process_wait(&process, &exit);
    assert_true(exit.is_known && !exit.was_signalled && exit.number == 0);
    close(fds[0]);
    // Ours are as they were.
    struct sigaction mine;
    sigaction(SIGUSR1, NULL, &mine);
    assert_ptr_equal(mine.sa_handler, ignore_signal);
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    assert_false(sigismember(&blocked, SIGTERM));
}

static void a_shared_page_outlives_the_child_that_wrote_it(void **state)
{
    (void)state;
    int fd = -1;
    void *page = NULL;
    struct process process;
    struct process_exit exit;
    assert_int_equal(process_make_shared(PAGE_BYTES, &fd, &page), WEFT_OK);
    assert_int_equal(spawn("page", fd, &process), WEFT_OK);
    process_wait(&process, &exit);
    assert_int_equal(exit.number, SIGKILL);
    assert_string_equal(page, "from the child");
    process_unmap_shared(page, PAGE_BYTES);
    close(fd);
}

// The sleeper holds the other end of the socket: its end is the end of the stream.
static void a_child_dies_with_its_parent_even_when_that_is_killed(void **state)
{
    (void)state;
    int fds[2];
    char byte;
    struct process process;
    struct process_exit exit;
    assert_int_equal(process_make_socket_pair(fds), WEFT_OK);
    assert_int_equal(spawn("parent", fds[1], &process), WEFT_OK);
    close(fds[1]);
    process_wait(&process, &exit);
    assert_int_equal(exit.number, SIGKILL);
    assert_int_equal(recv(fds[0], &byte, 1, 0), 0);
    close(fds[0]);
}

static void a_program_that_is_not_there_is_an_error_with_its_name(void **state)
{
    (void)state;
    const char *const arguments[] = {"no-such-program", NULL};
    const struct process_spec spec = {.program = "/no/such/program", .arguments = arguments};
    struct process process;
    assert_int_equal(process_spawn(&spec, &process), WEFT_NOT_FOUND);
    assert_string_equal(err_text(), "cannot start no-such-program: no such file or directory");
    assert_int_equal(process.pid, 0);
}

static void *spawn_in_a_thread(void *unused)
{
    (void)unused;
    for (int i = 0; i < 20; i++)
        expect_end("exit", "exited with code 3");
    return NULL;
}

static void children_are_started_from_many_threads_at_once(void **state)
{
    (void)state;
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, spawn_in_a_thread, NULL), 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
}

static void a_closed_standard_descriptor_is_taken_but_stays_unusable(void **state)
{
    (void)state;
    const int kept = dup(STDIN_FILENO);
    close(STDIN_FILENO);
    process_open_standard_descriptors();
    const int flags = fcntl(STDIN_FILENO, F_GETFD);
    char byte;
    const ssize_t got = read(STDIN_FILENO, &byte, 1);
    dup2(kept, STDIN_FILENO);
    close(kept);
    assert_true(flags >= 0);
    assert_int_equal(got, -1);  // no program takes it for an empty input
}

static void signals_have_the_names_people_use(void **state)
{
    (void)state;
    char text[64];
    signal_describe(SIGABRT, text, sizeof text);
    assert_string_equal(text, "aborted");
    signal_describe(99, text, sizeof text);
    assert_string_equal(text, "signal 99");
    assert_int_equal(signal_exit_code(SIGTERM), 143);
}

// The copy sees what we had, and has none of our descriptors.
static int use_copy(void *owner)
{
    const int *values = owner;
    return fcntl(values[1], F_GETFD) < 0 ? values[0] : 1;
}

static void a_copy_has_our_memory_and_not_our_descriptors(void **state)
{
    (void)state;
    int fds[2];
    assert_int_equal(process_make_socket_pair(fds), WEFT_OK);
    int values[2] = {42, fds[0]};
    struct process process;
    struct process_exit exit;
    assert_int_equal(process_fork(use_copy, values, &process), WEFT_OK);
    values[0] = 7;
    process_wait(&process, &exit);
    assert_true(exit.is_known && !exit.was_signalled);
    assert_int_equal(exit.number, 42);
    close(fds[0]);
    close(fds[1]);
}

// It waits for a byte while we look.
static int hold_a_file(void *owner)
{
    const int *values = owner;
    char byte;
    const int fd = open("/proc/self/exe", O_RDONLY);
    return dup2(fd, values[1]) == values[1] && read(values[0], &byte, 1) == 1 ? 0 : 1;
}

static void a_file_of_another_process_stays_open_after_its_end(void **state)
{
    (void)state;
    enum { NUMBER = 77 };
    int fds[2], fd = -1, tries = 0;
    struct process process;
    struct process_exit exit;
    char start[4];
    assert_int_equal(pipe(fds), 0);
    const int input = dup(0);
    assert_int_equal(dup2(fds[0], 0),
                     0);  // of all descriptors the copy keeps only the standard ones
    int values[2] = {0, NUMBER};
    assert_int_equal(process_fork(hold_a_file, values, &process), WEFT_OK);
    while (process_open_file(&process, NUMBER, &fd) != WEFT_OK && ++tries < 1000)
        usleep(10000);
    assert_true(fd >= 0);
    int other;
    assert_int_not_equal(process_open_file(&process, 9999, &other), WEFT_OK);
    assert_int_equal(process_open_file(&process, 0, &other), WEFT_INVALID_ARGUMENT);  // a pipe
    assert_int_equal(write(fds[1], "x", 1), 1);
    struct pollfd end = {.fd = process.pidfd, .events = POLLIN};
    assert_int_equal(poll(&end, 1, 10000), 1);
    assert_int_equal(process_open_file(&process, NUMBER, &other), WEFT_UNAVAILABLE);
    process_wait(&process, &exit);
    assert_int_equal(exit.number, 0);
    assert_int_equal(read(fd, start, 4), 4);
    assert_memory_equal(start, "\177ELF", 4);
    dup2(input, 0);
    close(input);
    close(fd);
    close(fds[0]);
    close(fds[1]);
}

// Threads make the way from the closing of the descriptors to the end of the process longer.
static void *wait_in_vain(void *nothing)
{
    (void)nothing;
    pause();
    return NULL;
}

static int hold_a_file_in_threads(void *owner)
{
    const int *values = owner;
    pthread_t thread;
    const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    dup2(file, values[1]);
    for (int i = 0; i < 30; i++)
        pthread_create(&thread, NULL, wait_in_vain, NULL);
    return pause();
}

static void a_file_of_a_process_that_is_being_killed_is_of_one_that_has_ended(void **state)
{
    enum { NUMBER = 77 };
    (void)state;
    for (int round = 0; round < 50; round++) {
        struct process process;
        struct process_exit exit;
        int fd, values[2] = {0, NUMBER};
        assert_int_equal(process_fork(hold_a_file_in_threads, values, &process), WEFT_OK);
        for (int tries = 0; process_open_file(&process, NUMBER, &fd) != WEFT_OK; tries++) {
            assert_true(tries < 10000);
            usleep(1000);
        }
        close(fd);
        process_kill(&process);
        weft_err err;
        while ((err = process_open_file(&process, NUMBER, &fd)) == WEFT_OK)
            close(fd);
        assert_int_equal(err, WEFT_UNAVAILABLE);
        process_wait(&process, &exit);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return run_child(argv[0], argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_runs_in_its_directory_with_its_environment),
        cmocka_unit_test(a_missing_directory_is_told_before_anything_starts),
        cmocka_unit_test(a_copy_has_our_memory_and_not_our_descriptors),
        cmocka_unit_test(a_file_of_another_process_stays_open_after_its_end),
        cmocka_unit_test(a_file_of_a_process_that_is_being_killed_is_of_one_that_has_ended),
        cmocka_unit_test(an_exit_code_is_told),
        cmocka_unit_test(a_crash_is_told_by_the_name_of_its_signal),
        cmocka_unit_test(a_killed_child_is_waited_for_and_its_pidfd_tells_the_end),
        cmocka_unit_test(a_child_that_somebody_else_waited_for_is_told_so),
        cmocka_unit_test(a_child_starts_with_clean_signals_and_no_input),
        cmocka_unit_test(a_shared_page_outlives_the_child_that_wrote_it),
        cmocka_unit_test(a_child_dies_with_its_parent_even_when_that_is_killed),
        cmocka_unit_test(a_program_that_is_not_there_is_an_error_with_its_name),
        cmocka_unit_test(children_are_started_from_many_threads_at_once),
        cmocka_unit_test(a_closed_standard_descriptor_is_taken_but_stays_unusable),
        cmocka_unit_test(signals_have_the_names_people_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
