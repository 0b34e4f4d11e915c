// Tests of secrets: HMAC as published, tokens as texts, and the file that two processes make at once.

#include "sys/secure/secret.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "sys/file/file.h"

static char home[64];

static int make_home(void **state)
{
    (void)state;
    snprintf(home, sizeof home, "/tmp/weft-secret-XXXXXX");
    unsetenv("WEFT_TOKEN");
    unsetenv("XDG_CONFIG_HOME");
    return mkdtemp(home) && setenv("HOME", home, 1) == 0 ? 0 : -1;
}

static int remove_home(void **state)
{
    (void)state;
    return file_remove_tree(home) == WEFT_OK ? 0 : -1;
}

static void path_of(const char *name, char path[128])
{
    snprintf(path, 128, "%s/%s", home, name);
}

static void write_file(const char *path, const char *text, mode_t mode)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

static void proofs_are_those_of_rfc_4231(void **state)
{
    (void)state;
    struct secret key = {.size = 20};
    uint8_t mac[SECRET_MAC_BYTES];
    memset(key.bytes, 0x0b, 20);
    const weft_bytes parts[] = {{"Hi ", 3}, {"", 0}, {"There", 5}};
    static const uint8_t expected[] = {0xb0, 0x34, 0x4c, 0x61, 0xd8, 0xdb, 0x38, 0x53,
                                       0x5c, 0xa8, 0xaf, 0xce, 0xaf, 0x0b, 0xf1, 0x2b,
                                       0x88, 0x1d, 0xc2, 0x00, 0xc9, 0x83, 0x3d, 0xa7,
                                       0x26, 0xe9, 0x37, 0x6c, 0x2e, 0x32, 0xcf, 0xf7};
    secret_hmac(&key, parts, 3, mac);
    assert_memory_equal(mac, expected, sizeof mac);
    assert_true(secret_equal(mac, expected, sizeof mac));
    mac[31] ^= 1;
    assert_false(secret_equal(mac, expected, sizeof mac));
}

static void a_token_is_read_as_it_was_written(void **state)
{
    (void)state;
    struct secret made, read;
    char text[SECRET_TEXT_BYTES];
    secret_make(&made);
    secret_write(&made, text);
    assert_int_equal(strlen(text), 32);
    assert_int_equal(secret_read(text, &read), WEFT_OK);
    assert_int_equal(read.size, made.size);
    assert_memory_equal(read.bytes, made.bytes, made.size);
    assert_int_equal(secret_read("0123456789ABCDEFabcdef0123456789", &read), WEFT_OK);
    assert_int_equal(read.bytes[15], 0x89);
    secret_clear(&read);
    assert_int_equal(read.size, 0);
}

static void weak_or_odd_tokens_are_refused_and_not_repeated(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "password-password-password-pass", "abcdef12",
                                        "0123456789abcdef0123456789abcde",
                                        "0123456789abcdef0123456789abcdef0"};
    struct secret secret;
    char long_text[200];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_int_equal(secret_read(texts[i], &secret), WEFT_INVALID_ARGUMENT);
        assert_true(!texts[i][0] || !strstr(err_text(), texts[i]));
        assert_non_null(strstr(err_text(), "32 to 128"));
    }
    memset(long_text, 'a', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = 0;
    assert_int_equal(secret_read(long_text, &secret), WEFT_INVALID_ARGUMENT);
}

static void the_users_token_is_made_once_and_is_his_alone(void **state)
{
    (void)state;
    struct secret first, second;
    struct stat stat_of;
    char path[128];
    assert_int_equal(secret_load(NULL, &first), WEFT_OK);
    assert_int_equal(secret_load(NULL, &second), WEFT_OK);
    assert_memory_equal(&first, &second, sizeof first);
    path_of(".config/weft/token", path);
    assert_int_equal(stat(path, &stat_of), 0);
    assert_int_equal(stat_of.st_mode & 07777, 0600);
    path_of(".config/weft", path);
    assert_int_equal(stat(path, &stat_of), 0);
    assert_int_equal(stat_of.st_mode & 07777, 0700);
}

static weft_err count_name(void *owner, const char *name)
{
    (void)name;
    ++*(int *)owner;
    return WEFT_OK;
}

enum { RACERS = 8 };

static void processes_that_start_together_get_one_token(void **state)
{
    (void)state;
    char directory[128];
    for (int round = 0; round < 10; round++) {
        int results[2], names = 0;
        path_of(".config/weft", directory);
        assert_int_equal(file_remove_tree(directory), WEFT_OK);
        assert_int_equal(pipe(results), 0);
        for (int i = 0; i < RACERS; i++)
            if (fork() == 0) {
                struct secret secret = {0};
                if (secret_load(NULL, &secret) != WEFT_OK)
                    secret.size = 0;
                _exit(write(results[1], &secret, sizeof secret) == sizeof secret ? 0 : 1);
            }
        struct secret first, other;
        for (int i = 0; i < RACERS; i++) {
            assert_int_equal(read(results[0], i ? &other : &first, sizeof first), sizeof first);
            assert_true(first.size == 16 && (i == 0 || memcmp(&first, &other, sizeof first) == 0));
        }
        while (wait(NULL) > 0)
            continue;
        close(results[0]);
        close(results[1]);
        assert_int_equal(file_list(directory, count_name, &names), WEFT_OK);
        assert_int_equal(names, 1);  // no file of a loser is left
    }
}

static void a_file_that_others_can_read_is_refused(void **state)
{
    (void)state;
    static const mode_t modes[] = {0640, 0604, 0660, 0644};
    struct secret secret;
    char path[128];
    path_of("shared", path);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        char mode[8];
        snprintf(mode, sizeof mode, "%04o", (unsigned)modes[i]);
        write_file(path, "0123456789abcdef0123456789abcdef\n", modes[i]);
        assert_int_equal(secret_load(path, &secret), WEFT_PERMISSION_DENIED);
        assert_non_null(strstr(err_text(), mode));
        assert_non_null(strstr(err_text(), "chmod 600"));
        assert_null(strstr(err_text(), "0123456789abcdef"));
    }
    write_file(path, "0123456789abcdef0123456789abcdef \r\n", 0400);
    assert_int_equal(secret_load(path, &secret), WEFT_OK);
    assert_int_equal(secret.bytes[1], 0x23);
}

static void a_given_file_comes_before_the_variables_and_these_before_the_users(void **state)
{
    (void)state;
    struct secret secret;
    char path[128];
    path_of("given", path);
    write_file(path, "11111111111111111111111111111111", 0600);
    setenv("WEFT_TOKEN", "22222222222222222222222222222222", 1);
    assert_int_equal(secret_load(path, &secret), WEFT_OK);
    assert_int_equal(secret.bytes[0], 0x11);
    assert_int_equal(secret_load(NULL, &secret), WEFT_OK);
    assert_int_equal(secret.bytes[0], 0x22);
    setenv("WEFT_TOKEN", "hunter2", 1);
    assert_int_equal(secret_load(NULL, &secret), WEFT_INVALID_ARGUMENT);
    assert_non_null(strstr(err_text(), "WEFT_TOKEN"));
    assert_null(strstr(err_text(), "hunter2"));
    setenv("WEFT_TOKEN", "", 1);
    assert_int_equal(secret_load(NULL, &secret), WEFT_OK);
    setenv("WEFT_TOKEN_FILE", path, 1);
    assert_int_equal(secret_load(NULL, &secret), WEFT_OK);
    assert_int_equal(secret.bytes[0], 0x11);
    setenv("WEFT_TOKEN_FILE", "/nowhere/token", 1);
    assert_int_equal(secret_load(NULL, &secret), WEFT_NOT_FOUND);
    assert_non_null(strstr(err_text(), "WEFT_TOKEN_FILE"));
    unsetenv("WEFT_TOKEN_FILE");
    unsetenv("WEFT_TOKEN");
    path_of("missing", path);
    assert_int_equal(secret_load(path, &secret), WEFT_NOT_FOUND);
    assert_int_equal(secret_load(home, &secret), WEFT_INVALID_ARGUMENT);
}

static void a_config_home_of_its_own_is_used(void **state)
{
    (void)state;
    struct secret secret;
    char path[128];
    path_of("else/where", path);
    setenv("XDG_CONFIG_HOME", path, 1);
    assert_int_equal(secret_load(NULL, &secret), WEFT_OK);
    path_of("else/where/weft/token", path);
    assert_int_equal(access(path, F_OK), 0);
    unsetenv("XDG_CONFIG_HOME");
}

static void without_a_home_it_says_what_to_do(void **state)
{
    (void)state;
    struct secret secret;
    char path[128];
    unsetenv("HOME");
    assert_int_equal(secret_load(NULL, &secret), WEFT_FAILED_PRECONDITION);
    assert_non_null(strstr(err_text(), "--token-file"));
    path_of("a-file", path);
    write_file(path, "x", 0600);
    setenv("HOME", path, 1);
    assert_int_not_equal(secret_load(NULL, &secret), WEFT_OK);
    assert_non_null(strstr(err_text(), "WEFT_TOKEN"));
    setenv("HOME", home, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(proofs_are_those_of_rfc_4231),
        cmocka_unit_test(a_token_is_read_as_it_was_written),
        cmocka_unit_test(weak_or_odd_tokens_are_refused_and_not_repeated),
        cmocka_unit_test(the_users_token_is_made_once_and_is_his_alone),
        cmocka_unit_test(processes_that_start_together_get_one_token),
        cmocka_unit_test(a_file_that_others_can_read_is_refused),
        cmocka_unit_test(a_given_file_comes_before_the_variables_and_these_before_the_users),
        cmocka_unit_test(a_config_home_of_its_own_is_used),
        cmocka_unit_test(without_a_home_it_says_what_to_do),
    };
    return cmocka_run_group_tests(tests, make_home, remove_home);
}
