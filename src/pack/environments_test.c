// Tests of the environments of a host: taken once, found by all, complete or not there.

#include "pack/pack_testing.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pack/environments.h"
#include "store/cache/digest.h"

static weft_err count_name(void *owner, const char *name)
{
    (void)name;
    ++*(size_t *)owner;
    return WEFT_OK;
}

static size_t count(const char *folder)
{
    size_t names = 0;
    assert_int_equal(file_list(testing_path(folder), count_name, &names), WEFT_OK);
    return names;
}

// An archive with one file, and its hash.
static void make_archive(const char *content, struct buf *archive, char hash[DIGEST_TEXT_BYTES])
{
    struct buf tar = {0};
    struct sha256 sha;
    uint8_t digest[SHA256_BYTES];
    testing_add_label(&tar, 1, strlen(content));
    testing_add(&tar, TAR_FILE, "f", content);
    testing_compress(&tar, archive);
    sha256_init(&sha);
    sha256_add(&sha, archive->data, archive->size);
    sha256_end(&sha, digest);
    digest_write(digest, hash);
}

static weft_err take_in(struct environments *all, const char *hash, const struct buf *archive,
                        struct environment *env)
{
    struct environment_intake *intake;
    weft_err code = environment_intake_new(all, hash, &intake);
    for (size_t at = 0; at < archive->size && code == WEFT_OK; at += 10)
        code = environment_intake_put(intake, archive->data + at,
                                      archive->size - at < 10 ? archive->size - at : 10);
    if (code == WEFT_OK)
        code = environment_intake_end(intake, env);
    environment_intake_free(intake);
    return code;
}

static void one_that_is_wanted_is_taken_in_and_found(void **state)
{
    struct environments *all;
    struct environment env;
    struct buf archive = {0}, variables = {0};
    char hash[DIGEST_TEXT_BYTES], path[512];
    (void)state;
    make_archive("content", &archive, hash);
    assert_int_equal(environments_open(testing_path("cache"), &all), WEFT_OK);
    assert_int_equal(environments_find(all, hash, &env), WEFT_NOT_FOUND);
    assert_int_equal(environments_find(all, "nonsense", &env), WEFT_INVALID_ARGUMENT);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(take_in(all, hash, &archive, &env), WEFT_OK);
        snprintf(path, sizeof path, "%s/f", env.directory);
        assert_int_equal(access(path, F_OK), 0);
        assert_string_equal(env.label.name, "test");
        assert_string_equal(env.hash, hash);
        environment_release(&env);
    }
    assert_int_equal(environments_find(all, hash, &env), WEFT_OK);
    environment_append_variables(&env, "/bin", &variables);
    snprintf(path, sizeof path, "WEFT_ENVIRONMENT=%s", env.directory);
    assert_string_equal(buf_text(&variables), path);
    snprintf(path, sizeof path, "PATH=%s:/bin", env.directory);
    assert_string_equal(variables.data + strlen(variables.data) + 1, path);
    environment_release(&env);
    environments_close(all);
    assert_int_equal(count("cache/jobs"), 0);
    buf_fini(&variables);
    buf_fini(&archive);
}

static void other_bytes_than_promised_are_refused_unseen(void **state)
{
    struct environments *all;
    struct environment env;
    struct buf archive = {0};
    char hash[DIGEST_TEXT_BYTES];
    (void)state;
    make_archive("content", &archive, hash);
    assert_int_equal(environments_open(testing_path("cache"), &all), WEFT_OK);
    archive.data[archive.size / 2] ^= 1;
    assert_int_equal(take_in(all, hash, &archive, &env), WEFT_DATA_LOSS);
    assert_non_null(strstr(err_text(), hash));
    archive.data[archive.size / 2] ^= 1;
    archive.size--;
    assert_int_equal(take_in(all, hash, &archive, &env), WEFT_DATA_LOSS);
    assert_int_equal(environments_find(all, hash, &env), WEFT_NOT_FOUND);
    environments_close(all);
    assert_int_equal(count("cache/jobs"), 0);
    buf_fini(&archive);
}

static void one_that_was_killed_leaves_nothing(void **state)
{
    struct environments *all;
    struct environment env;
    struct buf archive = {0};
    char hash[DIGEST_TEXT_BYTES];
    int pipe_fds[2];
    (void)state;
    make_archive("content", &archive, hash);
    assert_int_equal(pipe(pipe_fds), 0);
    const pid_t child = fork();
    if (child == 0) {
        struct environment_intake *intake;
        if (environments_open(testing_path("cache"), &all) != WEFT_OK ||
            environment_intake_new(all, hash, &intake) != WEFT_OK ||
            environment_intake_put(intake, archive.data, 10) != WEFT_OK ||
            write(pipe_fds[1], "x", 1) != 1)
            _exit(1);
        pause();
    }
    char byte;
    assert_int_equal(read(pipe_fds[0], &byte, 1), 1);
    // While it lives, its files stay.
    assert_int_equal(environments_open(testing_path("cache"), &all), WEFT_OK);
    assert_int_equal(count("cache/jobs"), 2);
    environments_close(all);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_int_equal(environments_open(testing_path("cache"), &all), WEFT_OK);
    assert_int_equal(count("cache/jobs"), 0);
    assert_int_equal(take_in(all, hash, &archive, &env), WEFT_OK);
    environment_release(&env);
    environments_close(all);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
    buf_fini(&archive);
}

static void many_at_once_find_one(void **state)
{
    enum { PROCESSES = 8 };
    struct buf archive = {0};
    char hash[DIGEST_TEXT_BYTES];
    pid_t children[PROCESSES];
    (void)state;
    make_archive("content", &archive, hash);
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            struct environments *all;
            struct environment env;
            char path[512];
            if (environments_open(testing_path("cache"), &all) != WEFT_OK ||
                take_in(all, hash, &archive, &env) != WEFT_OK)
                _exit(1);
            snprintf(path, sizeof path, "%s/f", env.directory);
            _exit(access(path, F_OK) == 0 ? 0 : 2);
        }
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        waitpid(children[i], &status, 0);
        assert_int_equal(status, 0);
    }
    struct environments *all;
    assert_int_equal(environments_open(testing_path("cache"), &all), WEFT_OK);
    environments_close(all);
    assert_int_equal(count("cache"), 2);
    assert_int_equal(count("cache/jobs"), 0);
    buf_fini(&archive);
}

static void a_file_is_taken_once(void **state)
{
    struct environments *all;
    struct environment env;
    struct buf archive = {0};
    char hash[DIGEST_TEXT_BYTES];
    (void)state;
    make_archive("content", &archive, hash);
    testing_write(testing_path("archive"), &archive);
    assert_int_equal(environments_open(testing_path("cache"), &all), WEFT_OK);
    assert_int_equal(environments_take_file(all, testing_path("none"), &env), WEFT_NOT_FOUND);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(environments_take_file(all, testing_path("archive"), &env), WEFT_OK);
        assert_string_equal(env.hash, hash);
        environment_release(&env);
    }
    environments_close(all);
    buf_fini(&archive);
}

int main(void)
{
#define IN_FOLDER(test)                                                                            \
    cmocka_unit_test_setup_teardown(test, testing_make_folder, testing_remove_folder)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(one_that_is_wanted_is_taken_in_and_found),
        IN_FOLDER(other_bytes_than_promised_are_refused_unseen),
        IN_FOLDER(one_that_was_killed_leaves_nothing),
        IN_FOLDER(many_at_once_find_one),
        IN_FOLDER(a_file_is_taken_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
