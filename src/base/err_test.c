// Tests of errors: sentences set, wrapped and cut, codes of errno, one sentence per thread.

#include "base/err.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static void a_failure_has_a_code_and_a_sentence(void **state)
{
    (void)state;
    assert_int_equal(err_set(WEFT_ABORTED, "task %d of %s", 7, "job"), WEFT_ABORTED);
    assert_string_equal(err_text(), "task 7 of job");
    assert_string_equal(weft_error(), err_text());
    err_clear();
    assert_string_equal(err_text(), "");
}

static void out_of_memory_names_its_purpose(void **state)
{
    (void)state;
    assert_int_equal(err_no_memory("for a key of %d bytes", 7), WEFT_RESOURCE_EXHAUSTED);
    assert_string_equal(err_text(), "no memory for a key of 7 bytes");
    char words[2 * ERR_TEXT_BYTES_MAX];
    memset(words, 'w', sizeof words);
    words[sizeof words - 1] = 0;
    err_no_memory("to read %s", words);
    assert_int_equal(strlen(err_text()), ERR_TEXT_BYTES_MAX - 1);
}

static void errno_gives_the_reason_and_the_code(void **state)
{
    (void)state;
    const struct {
        int number;
        weft_err code;
        const char *sentence;
    } cases[] = {
        {ENOENT, WEFT_NOT_FOUND, "open f: no such file or directory"},
        {EACCES, WEFT_PERMISSION_DENIED, "open f: permission denied"},
        {EROFS, WEFT_PERMISSION_DENIED, "open f: read-only file system"},
        {EEXIST, WEFT_ALREADY_EXISTS, "open f: file exists"},
        {ENOSPC, WEFT_RESOURCE_EXHAUSTED, "open f: no space left on device"},
        {EMFILE, WEFT_RESOURCE_EXHAUSTED,
         "open f: too many open files\n  try: ulimit -n 1024, before this"},
        {ENOMEM, WEFT_RESOURCE_EXHAUSTED, "open f: cannot allocate memory"},
        {EISDIR, WEFT_INVALID_ARGUMENT, "open f: is a directory"},
        {ETIMEDOUT, WEFT_DEADLINE_EXCEEDED, "open f: connection timed out"},
        {ECONNREFUSED, WEFT_UNAVAILABLE, "open f: connection refused"},
        {EXDEV, WEFT_UNKNOWN, "open f: invalid cross-device link"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        errno = cases[i].number;
        assert_int_equal(err_errno("open %s", "f"), cases[i].code);
        assert_string_equal(err_text(), cases[i].sentence);
    }
}

static void wrapping_puts_words_in_front_of_a_failure_only(void **state)
{
    (void)state;
    err_set(WEFT_DATA_LOSS, "bad block");
    assert_int_equal(err_wrap(WEFT_DATA_LOSS, "run %d", 3), WEFT_DATA_LOSS);
    assert_int_equal(err_wrap(WEFT_DATA_LOSS, "spill"), WEFT_DATA_LOSS);
    assert_string_equal(err_text(), "spill: run 3: bad block");
    assert_int_equal(err_wrap(WEFT_OK, "not this"), WEFT_OK);
    assert_string_equal(err_text(), "spill: run 3: bad block");
}

static void long_sentences_are_cut_and_end(void **state)
{
    (void)state;
    char words[3 * ERR_TEXT_BYTES_MAX];
    memset(words, 'w', sizeof words);
    words[sizeof words - 1] = 0;
    err_set(WEFT_UNKNOWN, "%s", words);
    assert_int_equal(strlen(err_text()), ERR_TEXT_BYTES_MAX - 1);
    errno = ENOENT;
    assert_int_equal(err_errno("%s", words), WEFT_NOT_FOUND);
    assert_int_equal(strlen(err_text()), ERR_TEXT_BYTES_MAX - 1);
    err_wrap(WEFT_UNKNOWN, "%s", words);
    assert_int_equal(strlen(err_text()), ERR_TEXT_BYTES_MAX - 1);
    err_set(WEFT_UNKNOWN, "short");
    err_wrap(WEFT_UNKNOWN, "%.*s", ERR_TEXT_BYTES_MAX - 5, words);
    assert_int_equal(strlen(err_text()), ERR_TEXT_BYTES_MAX - 1);
}

static void *fail_elsewhere(void *argument)
{
    assert_string_equal(err_text(), "");
    err_set(WEFT_ABORTED, "elsewhere");
    return argument;
}

static void each_thread_has_its_own_sentence(void **state)
{
    (void)state;
    pthread_t thread;
    err_set(WEFT_ABORTED, "here");
    assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, NULL), 0);
    pthread_join(thread, NULL);
    assert_string_equal(err_text(), "here");
}

// The table of the manual; scripts rely on it.
static void every_code_has_its_name_and_exit_code(void **state)
{
    (void)state;
    const struct {
        weft_err code;
        int number, exit_code;
        const char *name;
    } codes[] = {
        {WEFT_OK, 0, 0, "OK"},
        {WEFT_CANCELLED, 1, 130, "CANCELLED"},
        {WEFT_UNKNOWN, 2, 1, "UNKNOWN"},
        {WEFT_INVALID_ARGUMENT, 3, 2, "INVALID_ARGUMENT"},
        {WEFT_DEADLINE_EXCEEDED, 4, 6, "DEADLINE_EXCEEDED"},
        {WEFT_NOT_FOUND, 5, 4, "NOT_FOUND"},
        {WEFT_ALREADY_EXISTS, 6, 5, "ALREADY_EXISTS"},
        {WEFT_PERMISSION_DENIED, 7, 5, "PERMISSION_DENIED"},
        {WEFT_RESOURCE_EXHAUSTED, 8, 5, "RESOURCE_EXHAUSTED"},
        {WEFT_FAILED_PRECONDITION, 9, 1, "FAILED_PRECONDITION"},
        {WEFT_ABORTED, 10, 1, "ABORTED"},
        {WEFT_OUT_OF_RANGE, 11, 7, "OUT_OF_RANGE"},
        {WEFT_UNIMPLEMENTED, 12, 2, "UNIMPLEMENTED"},
        {WEFT_INTERNAL, 13, 70, "INTERNAL"},
        {WEFT_UNAVAILABLE, 14, 3, "UNAVAILABLE"},
        {WEFT_DATA_LOSS, 15, 1, "DATA_LOSS"},
        {WEFT_UNAUTHENTICATED, 16, 5, "UNAUTHENTICATED"},
        {(weft_err)99, 99, 1, "UNKNOWN"},
    };
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        assert_int_equal(codes[i].code, codes[i].number);
        assert_int_equal(err_exit_code(codes[i].code), codes[i].exit_code);
        assert_string_equal(weft_err_name(codes[i].code), codes[i].name);
    }
}

static void a_claim_that_does_not_hold_ends_the_process_with_a_line(void **state)
{
    (void)state;
    int ends[2], status;
    char text[512] = "";
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        ASSERT(1 + 1 == 2);
        ASSERT(1 + 1 == 3);
        _exit(0);
    }
    close(ends[1]);
    assert_true(read(ends[0], text, sizeof text - 1) > 0);
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) != 0);
    assert_non_null(strstr(text, "a bug in weft: 1 + 1 == 3 does not hold at "));
    assert_non_null(strstr(text, "err_test.c:"));
}

static void a_sentence_may_be_made_of_the_last_one(void **state)
{
    (void)state;
    err_set(WEFT_NOT_FOUND, "the reason");
    err_set(WEFT_NOT_FOUND, "a longer beginning than that: %s\n  try: another", err_text());
    assert_string_equal(err_text(), "a longer beginning than that: the reason\n  try: another");
    errno = EMFILE;
    assert_int_equal(err_errno("%s", "cannot open it"), WEFT_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(err_text(), "too many open files\n  try: ulimit -n"));
}

static void a_sentence_is_kept_while_others_come_and_go(void **state)
{
    (void)state;
    struct err_kept kept;
    err_set(WEFT_NOT_FOUND, "the first");
    err_keep(&kept);
    err_set(WEFT_ABORTED, "the second, which is longer");
    err_clear();
    err_put_back(&kept);
    assert_string_equal(weft_error(), "the first");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_has_a_code_and_a_sentence),
        cmocka_unit_test(out_of_memory_names_its_purpose),
        cmocka_unit_test(errno_gives_the_reason_and_the_code),
        cmocka_unit_test(wrapping_puts_words_in_front_of_a_failure_only),
        cmocka_unit_test(long_sentences_are_cut_and_end),
        cmocka_unit_test(a_sentence_may_be_made_of_the_last_one),
        cmocka_unit_test(a_sentence_is_kept_while_others_come_and_go),
        cmocka_unit_test(each_thread_has_its_own_sentence),
        cmocka_unit_test(every_code_has_its_name_and_exit_code),
        cmocka_unit_test(a_claim_that_does_not_hold_ends_the_process_with_a_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
