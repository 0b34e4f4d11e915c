// Tests of the directory that is gone afterwards.
#include "sys/file/workdir.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "sys/file/file.h"

static char base[] = "/tmp/weft-workdir-test-XXXXXX";
static char script[64];

static int setup(void **unused)
{
    (void)unused;
    assert_non_null(mkdtemp(base));
    snprintf(script, sizeof script, "%s/script.sh", base);
    const int fd = open(script, O_CREAT | O_WRONLY, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "#!/bin/sh\n", 10), 10);
    close(fd);
    return 0;
}

static int teardown(void **unused)
{
    (void)unused;
    return file_remove_tree(base) == WEFT_OK ? 0 : -1;
}

static char *inside(const struct workdir *workdir, const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", workdir->path, name);
    return path;
}

static void it_is_there_and_then_gone(void **unused)
{
    (void)unused;
    struct workdir workdir;
    char path[256];
    assert_int_equal(workdir_open(&workdir, base), WEFT_OK);
    snprintf(path, sizeof path, "%s", workdir.path);
    assert_int_equal(access(path, W_OK | X_OK), 0);
    assert_int_equal(mkdir(inside(&workdir, "left"), 0777), 0);
    workdir_close(&workdir);
    assert_int_equal(access(path, F_OK), -1);
    workdir_close(&workdir);  // harmless
}

static void a_file_is_linked_and_stays(void **unused)
{
    (void)unused;
    struct workdir workdir;
    struct stat status;
    assert_int_equal(workdir_open(&workdir, base), WEFT_OK);
    assert_int_equal(workdir_add(&workdir, script, "other", false), WEFT_OK);
    assert_int_equal(lstat(inside(&workdir, "other"), &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_int_equal(workdir_add(&workdir, script, "other", false), WEFT_ALREADY_EXISTS);
    assert_int_equal(workdir_add(&workdir, "/no/such", "x", false), WEFT_NOT_FOUND);
    assert_int_equal(workdir_add(&workdir, script, "a/b", false), WEFT_INVALID_ARGUMENT);
    workdir_close(&workdir);
    assert_int_equal(access(script, R_OK), 0);
}

static void a_program_that_may_not_be_executed_is_copied(void **unused)
{
    (void)unused;
    struct workdir workdir;
    struct stat status;
    assert_int_equal(workdir_open(&workdir, base), WEFT_OK);
    assert_int_equal(workdir_add(&workdir, script, "run", true), WEFT_OK);
    assert_int_equal(lstat(inside(&workdir, "run"), &status), 0);
    assert_true(S_ISREG(status.st_mode));
    assert_int_equal(status.st_mode & 0777, 0755);
    assert_int_equal(status.st_size, 10);
    assert_int_equal(stat(script, &status), 0);
    assert_int_equal(status.st_mode & 0111, 0);
    workdir_close(&workdir);
}

static void it_is_gone_when_its_owner_is_killed(void **unused)
{
    (void)unused;
    int ends[2];
    char path[256] = {0};
    assert_int_equal(pipe(ends), 0);
    const pid_t owner = fork();
    if (owner == 0) {
        struct workdir workdir;
        if (workdir_open(&workdir, base) != WEFT_OK ||
            write(ends[1], workdir.path, strlen(workdir.path)) < 0)
            _exit(1);
        for (;;)
            pause();
    }
    assert_true(read(ends[0], path, sizeof path - 1) > 0);
    assert_int_equal(access(path, F_OK), 0);
    kill(owner, SIGKILL);
    waitpid(owner, NULL, 0);
    close(ends[1]);
    // No other process holds the pipe; its end says that the owner is gone, not yet the keeper.
    for (int i = 0; i < 2000 && access(path, F_OK) == 0; i++)
        usleep(5000);
    assert_int_equal(access(path, F_OK), -1);
    close(ends[0]);
}

// Whether something with this beginning lies in the base.
static bool is_any_left(void)
{
    DIR *directory = opendir(base);
    bool is_left = false;
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory));)
        is_left |= strncmp(entry->d_name, "weft-work-", 10) == 0;
    closedir(directory);
    return is_left;
}

static void it_is_gone_also_when_its_owner_is_killed_while_it_appears(void **unused)
{
    (void)unused;
    for (int round = 0; round < 100; round++) {
        const pid_t owner = fork();
        if (owner == 0) {
            struct workdir workdir;
            if (workdir_open(&workdir, base) != WEFT_OK)
                _exit(1);
            for (;;)
                pause();
        }
        while (!is_any_left())
            ;
        kill(owner, SIGKILL);
        waitpid(owner, NULL, 0);
        for (int i = 0; i < 2000 && is_any_left(); i++)
            usleep(5000);
        assert_false(is_any_left());
    }
}

static void a_place_that_cannot_be_written_to_is_named(void **unused)
{
    (void)unused;
    struct workdir workdir;
    assert_int_equal(workdir_open(&workdir, "/no/such/place"), WEFT_NOT_FOUND);
    assert_non_null(strstr(err_text(), "/no/such/place"));
    assert_non_null(strstr(err_text(), "try: --tmp DIR"));
    workdir_close(&workdir);
}

static void the_keeper_holds_no_descriptor_of_ours(void **unused)
{
    (void)unused;
    struct workdir workdir;
    int ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(workdir_open(&workdir, base), WEFT_OK);
    close(ends[1]);
    // Were it held by the keeper, this would wait forever.
    assert_int_equal(read(ends[0], &byte, 1), 0);
    close(ends[0]);
    workdir_close(&workdir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_there_and_then_gone),
        cmocka_unit_test(a_file_is_linked_and_stays),
        cmocka_unit_test(a_program_that_may_not_be_executed_is_copied),
        cmocka_unit_test(it_is_gone_when_its_owner_is_killed),
        cmocka_unit_test(it_is_gone_also_when_its_owner_is_killed_while_it_appears),
        cmocka_unit_test(a_place_that_cannot_be_written_to_is_named),
        cmocka_unit_test(the_keeper_holds_no_descriptor_of_ours),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
