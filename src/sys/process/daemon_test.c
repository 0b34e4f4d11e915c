// Tests of daemon with real processes: its reports, how it is found, how it is ended.

#include "sys/process/daemon.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "sys/file/file.h"

static char directory[] = "/tmp/daemon_test.XXXXXX";
static char lock[64], output[64];

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(directory))
        return -1;
    snprintf(lock, sizeof lock, "%s/lock", directory);
    snprintf(output, sizeof output, "%s/output", directory);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return file_remove_tree(directory) == WEFT_OK ? 0 : -1;
}

static void a_failure_inside_is_told_outside(void **state)
{
    (void)state;
    struct daemon daemon;
    assert_int_equal(daemon_fork(&daemon), WEFT_OK);
    if (daemon.is_inside) {
        daemon_report(&daemon, err_set(WEFT_NOT_FOUND, "there is no such thing"));
        _exit(0);
    }
    assert_int_equal(daemon_await(&daemon), WEFT_NOT_FOUND);
    assert_string_equal(err_text(), "there is no such thing");
}

static void an_end_without_a_word_is_told_too(void **state)
{
    (void)state;
    struct daemon daemon;
    assert_int_equal(daemon_fork(&daemon), WEFT_OK);
    if (daemon.is_inside)
        _exit(0);
    assert_int_equal(daemon_await(&daemon), WEFT_UNAVAILABLE);
}

static void one_that_holds_its_lock_is_found_and_ended(void **state)
{
    (void)state;
    struct daemon daemon;
    pid_t pid = 0;
    assert_false(daemon_is_alive(lock, &pid));
    assert_int_equal(daemon_stop(lock), WEFT_OK);
    assert_int_equal(daemon_fork(&daemon), WEFT_OK);
    if (daemon.is_inside) {
        int fd;
        weft_err err = file_lock(lock, &fd);
        if (!err)
            err = daemon_write_to(output);
        (void)!write(STDOUT_FILENO, "said\n", 5);
        daemon_report(&daemon, err);
        for (;;)
            pause();
    }
    assert_int_equal(daemon_await(&daemon), WEFT_OK);
    assert_true(daemon_is_alive(lock, &pid));
    assert_true(pid > 0 && pid != getpid());
    assert_int_equal(daemon_stop(lock), WEFT_OK);
    assert_false(daemon_is_alive(lock, &pid));
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    struct file_stat stat;
    assert_int_equal(file_stat(output, &stat), WEFT_OK);
    assert_int_equal(stat.size, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_inside_is_told_outside),
        cmocka_unit_test(an_end_without_a_word_is_told_too),
        cmocka_unit_test(one_that_holds_its_lock_is_found_and_ended),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
