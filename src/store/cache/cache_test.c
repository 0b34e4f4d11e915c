// Tests of the cache: other users who have been there, clients that were killed, and how much is kept.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/cache/cache.h"
#include "sys/file/folder_testing.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static weft_err count_name(void *owner, const char *name)
{
    (void)name;
    ++*(size_t *)owner;
    return WEFT_OK;
}

// How many names there are in a directory.
static size_t testing_count(const char *folder)
{
    size_t count = 0;
    assert_int_equal(file_list(testing_path(folder), count_name, &count), WEFT_OK);
    return count;
}

static struct cache *open_cache(void)
{
    struct cache *cache;
    assert_int_equal(cache_open(&cache_of_code, testing_path("cache"), &cache), WEFT_OK);
    return cache;
}

// Keeps a file with that content, last used that many days ago.
static void keep(struct cache *cache, const char *content, int days, char path[512])
{
    struct cache_job job;
    struct digest digest = {.size = strlen(content)};
    struct sha256 sha;
    char part[512], name[DIGEST_TEXT_BYTES];
    int fd;
    sha256_init(&sha);
    sha256_add(&sha, content, strlen(content));
    sha256_end(&sha, digest.sha256);
    assert_int_equal(cache_open_job(cache, &job), WEFT_OK);
    snprintf(part, sizeof part, "%s/part", job.path);
    assert_int_equal(file_create_private(part, &fd), WEFT_OK);
    assert_int_equal(file_write_at(fd, part, content, strlen(content), 0), WEFT_OK);
    const struct timespec used = {.tv_sec = time(NULL) - days * 86400L};
    assert_int_equal(futimens(fd, (const struct timespec[]){used, used}), 0);
    file_close(fd);
    assert_int_equal(cache_keep(cache, &digest, part), WEFT_OK);
    cache_close_job(&job);
    digest_write(digest.sha256, name);
    snprintf(path, 512, "%s/%s", testing_path("cache"), name);
    assert_int_equal(access(path, F_OK), 0);
}

// ---- Places --------------------------------------------------------------------------------------------------------

static void expect_refusal(const char *why)
{
    struct cache *cache;
    assert_int_equal(cache_open(&cache_of_code, testing_path("cache"), &cache),
                     WEFT_PERMISSION_DENIED);
    assert_null(cache);
    if (!strstr(err_text(), why) || !strstr(err_text(), "XDG_CACHE_HOME"))
        fail_msg("\"%s\" does not say \"%s\"", err_text(), why);
}

static void a_place_of_others_is_refused(void **state)
{
    (void)state;
    assert_int_equal(mkdir(testing_path("real"), 0700), 0);
    assert_int_equal(symlink(testing_path("real"), testing_path("cache")), 0);
    expect_refusal("symbolic link");
    unlink(testing_path("cache"));
    // Anyone could replace the cache in there.
    assert_int_equal(chmod(testing_folder, 0777), 0);
    expect_refusal("every user may write");
    assert_int_equal(chmod(testing_folder, 01777), 0);  // as in /tmp: only their own
    cache_close(open_cache());
    assert_int_equal(chmod(testing_folder, 0700), 0);
    if (geteuid() == 0) {
        assert_int_equal(chown(testing_path("cache"), 65534, 65534), 0);
        expect_refusal("belongs to another user");
        assert_int_equal(chown(testing_path("cache"), 0, 0), 0);
    }
    // One that was left open to others is closed.
    assert_int_equal(chmod(testing_path("cache"), 0777), 0);
    cache_close(open_cache());
    struct stat status;
    assert_int_equal(stat(testing_path("cache"), &status), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
}

static void the_place_is_in_the_users_cache(void **state)
{
    struct cache *cache;
    (void)state;
    setenv("XDG_CACHE_HOME", testing_path("cache"), 1);
    assert_int_equal(cache_open(&cache_of_code, NULL, &cache), WEFT_OK);
    cache_close(cache);
    assert_int_equal(access(testing_path("cache/weft/code/jobs"), F_OK), 0);
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", testing_folder, 1);
    assert_int_equal(cache_open(&cache_of_code, NULL, &cache), WEFT_OK);
    cache_close(cache);
    assert_int_equal(access(testing_path(".cache/weft/code/jobs"), F_OK), 0);
    setenv("HOME", "/proc", 1);  // the home of some services
    assert_int_not_equal(cache_open(&cache_of_code, NULL, &cache), WEFT_OK);
    assert_non_null(strstr(err_text(), "cannot keep the code of jobs"));
    assert_non_null(strstr(err_text(), "try: XDG_CACHE_HOME="));
    unsetenv("HOME");
    assert_int_equal(cache_open(&cache_of_code, NULL, &cache), WEFT_FAILED_PRECONDITION);
    assert_non_null(strstr(err_text(), "XDG_CACHE_HOME"));
}

// ---- Directories of jobs -------------------------------------------------------------------------------------------

static void the_directory_of_a_killed_client_is_removed_by_the_next(void **state)
{
    int ends[2];
    char byte;
    (void)state;
    assert_int_equal(pipe(ends), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        struct cache_job job;
        char path[512];
        int fd;
        if (cache_open_job(open_cache(), &job) != WEFT_OK)
            _exit(9);
        snprintf(path, sizeof path, "%s/work", job.path);
        if (mkdir(path, 0700) != 0)
            _exit(9);
        snprintf(path, sizeof path, "%s/work/file", job.path);
        if (file_create(path, &fd) != WEFT_OK || write(ends[1], "x", 1) != 1)
            _exit(9);
        for (;;)
            pause();
    }
    assert_int_equal(read(ends[0], &byte, 1), 1);
    // While it lives, it stays: also when others come and go.
    cache_close(open_cache());
    assert_int_equal(testing_count("cache/jobs"), 2);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_int_equal(testing_count("cache/jobs"), 2);
    cache_close(open_cache());
    assert_int_equal(testing_count("cache/jobs"), 0);
    close(ends[0]);
    close(ends[1]);
}

// At any step: a lock without a directory, a directory without a lock. Other names are not ours to remove.
static void halves_of_a_job_are_removed_too(void **state)
{
    int fd;
    (void)state;
    cache_close(open_cache());
    assert_int_equal(mkdir(testing_path("cache/jobs/0123456789abcdef"), 0700), 0);
    assert_int_equal(file_create(testing_path("cache/jobs/fedcba9876543210.lock"), &fd), WEFT_OK);
    file_close(fd);
    assert_int_equal(mkdir(testing_path("cache/jobs/0123456789abcde"), 0700), 0);
    assert_int_equal(mkdir(testing_path("cache/jobs/precious"), 0700), 0);
    assert_int_equal(symlink("/", testing_path("cache/jobs/00000000000000aa")), 0);
    cache_close(open_cache());
    assert_int_equal(testing_count("cache/jobs"), 2);
    assert_int_equal(access(testing_path("cache/jobs/precious"), F_OK), 0);
}

// Clients that come and are killed at any moment, while one of them works.
static void many_clients_at_once_leave_nothing(void **state)
{
    enum { CLIENTS = 12 };
    pid_t pids[CLIENTS];
    (void)state;
    struct cache *cache = open_cache();
    struct cache_job kept;
    assert_int_equal(cache_open_job(cache, &kept), WEFT_OK);
    for (int i = 0; i < CLIENTS; i++) {
        pids[i] = fork();
        for (struct cache_job job; pids[i] == 0;) {
            struct cache *own;
            if (cache_open(&cache_of_code, testing_path("cache"), &own) != WEFT_OK ||
                cache_open_job(own, &job) != WEFT_OK)
                _exit(9);
            cache_close_job(&job);
            cache_close(own);
        }
    }
    for (int i = 0; i < CLIENTS; i++) {
        int status;
        usleep(3000);
        kill(pids[i], SIGKILL);
        waitpid(pids[i], &status, 0);
        assert_true(WIFSIGNALED(status));  // none had failed before
    }
    cache_close(open_cache());
    assert_int_equal(testing_count("cache/jobs"), 2);
    assert_int_equal(access(kept.path, F_OK), 0);
    cache_close_job(&kept);
    cache_close(cache);
    assert_int_equal(testing_count("cache/jobs"), 0);
}

// ---- Limits --------------------------------------------------------------------------------------------------------

static void what_was_used_longest_ago_goes_first(void **state)
{
    char old[512], used[512], middle[512], fresh[512], link_path[512];
    (void)state;
    struct cache *cache = open_cache();
    keep(cache, "0123456789", 40, old);
    keep(cache, "1123456789", 20, used);
    keep(cache, "2123456789", 10, middle);
    keep(cache, "3123456789", 0, fresh);
    // A job that runs has another name of its program.
    snprintf(link_path, sizeof link_path, "%s/jobs/program", testing_path("cache"));
    assert_int_equal(link(used, link_path), 0);
    cache_close(cache);
    cache = open_cache();
    assert_int_not_equal(access(old, F_OK), 0);
    assert_int_equal(testing_count("cache"), 4);
    cache_prune(cache, 20, cache_of_code.days_max);
    assert_int_equal(access(used, F_OK), 0);
    assert_int_equal(access(middle, F_OK), 0);
    assert_int_equal(access(fresh, F_OK), 0);
    cache_prune(cache, 10, cache_of_code.days_max);
    assert_int_not_equal(access(middle, F_OK), 0);
    assert_int_equal(access(used, F_OK), 0);
    assert_int_equal(unlink(link_path), 0);
    cache_prune(cache, 10, cache_of_code.days_max);
    assert_int_not_equal(access(used, F_OK), 0);
    assert_int_equal(access(fresh, F_OK), 0);
    cache_prune(cache, 9, cache_of_code.days_max);
    assert_int_equal(testing_count("cache"), 1);
    cache_close(cache);
}

// ---- Digests -------------------------------------------------------------------------------------------------------

static void a_digest_is_remembered_until_the_file_changes(void **state)
{
    struct digest first, second;
    int fd;
    (void)state;
    assert_int_equal(file_create(testing_path("file"), &fd), WEFT_OK);
    assert_int_equal(file_write_at(fd, "file", "one", 3, 0), WEFT_OK);
    const struct timespec before[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    assert_int_equal(futimens(fd, before), 0);
    assert_int_equal(digest_recall(fd, "file", &first), WEFT_OK);
    // Changed, with the old time: a remembered digest does not show it.
    assert_int_equal(file_write_at(fd, "file", "two", 3, 0), WEFT_OK);
    assert_int_equal(futimens(fd, before), 0);
    assert_int_equal(digest_recall(fd, "file", &second), WEFT_OK);
    assert_true(digest_is(&second, first.size, first.sha256));
    assert_int_equal(digest_read(fd, "file", &second), WEFT_OK);
    assert_false(digest_is(&second, first.size, first.sha256));
    // A file that has just been changed may change again at the same time, so it is not remembered.
    const struct timespec now = {.tv_sec = time(NULL)};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(file_write_at(fd, "file", &"abc"[i], 1, 0), WEFT_OK);
        assert_int_equal(futimens(fd, (const struct timespec[]){now, now}), 0);
        assert_int_equal(digest_recall(fd, "file", &first), WEFT_OK);
        assert_int_equal(digest_read(fd, "file", &second), WEFT_OK);
        assert_true(digest_is(&second, first.size, first.sha256));
    }
    file_close(fd);
}

// ---- Trees ---------------------------------------------------------------------------------------------------------

static const uint8_t first_hash[SHA256_BYTES] = {1}, second_hash[SHA256_BYTES] = {2};

static void write_text(const char *path, const char *text)
{
    int fd;
    assert_int_equal(file_create_private(path, &fd), WEFT_OK);
    assert_int_equal(file_write_at(fd, path, text, strlen(text), 0), WEFT_OK);
    file_close(fd);
}

// Keeps a tree with one file.
static void keep_tree(struct cache *cache, const uint8_t *hash, uint64_t bytes, const char *text)
{
    struct cache_job job;
    char path[512];
    assert_int_equal(cache_open_job(cache, &job), WEFT_OK);
    snprintf(path, sizeof path, "%s/new/tree", job.path);
    assert_int_equal(file_make_directory(path), WEFT_OK);
    snprintf(path, sizeof path, "%s/new/tree/file", job.path);
    write_text(path, text);
    snprintf(path, sizeof path, "%s/new", job.path);
    assert_int_equal(cache_keep_tree(cache, hash, path, bytes, text), WEFT_OK);
    cache_close_job(&job);
}

// Its info has that text.
static void expect_tree(struct cache *cache, const uint8_t *hash, const char *text,
                        struct cache_tree *tree)
{
    char *got, path[512];
    assert_int_equal(cache_find_tree(cache, hash, tree), WEFT_OK);
    assert_int_equal(cache_read_tree(tree, &got), WEFT_OK);
    assert_string_equal(got, text);
    free(got);
    snprintf(path, sizeof path, "%s/file", tree->path);
    assert_int_equal(access(path, F_OK), 0);
}

static void a_tree_is_found_again(void **state)
{
    struct cache *cache = open_cache();
    struct cache_tree tree, again;
    (void)state;
    assert_int_equal(cache_find_tree(cache, first_hash, &tree), WEFT_NOT_FOUND);
    cache_release_tree(&tree);
    keep_tree(cache, first_hash, 10, "one");
    expect_tree(cache, first_hash, "one", &tree);
    expect_tree(cache, first_hash, "one", &again);
    cache_release_tree(&tree);
    cache_release_tree(&again);
    // The second of two processes finds that the first one was quicker.
    keep_tree(cache, first_hash, 10, "two");
    expect_tree(cache, first_hash, "one", &tree);
    cache_release_tree(&tree);
    assert_int_equal(testing_count("cache/jobs"), 0);
    cache_close(cache);
}

static void trees_beyond_the_limits_are_removed_unless_they_are_used(void **state)
{
    struct cache *cache = open_cache();
    struct cache_tree first, second;
    (void)state;
    keep_tree(cache, first_hash, 10, "one");
    keep_tree(cache, second_hash, 10, "two");
    expect_tree(cache, first_hash, "one", &first);
    cache_prune(cache, 5, 1);
    assert_int_equal(cache_find_tree(cache, second_hash, &second), WEFT_NOT_FOUND);
    cache_release_tree(&second);
    cache_release_tree(&first);
    expect_tree(cache, first_hash, "one", &first);
    cache_release_tree(&first);
    cache_prune(cache, 5, 1);
    assert_int_equal(cache_find_tree(cache, first_hash, &first), WEFT_NOT_FOUND);
    assert_int_equal(testing_count("cache"), 1);  // its jobs
    assert_int_equal(testing_count("cache/jobs"), 0);
    cache_close(cache);
}

static void a_tree_that_others_may_write_to_is_not_used(void **state)
{
    struct cache *cache = open_cache();
    struct cache_tree tree;
    char path[512], name[DIGEST_TEXT_BYTES];
    (void)state;
    keep_tree(cache, first_hash, 10, "one");
    digest_write(first_hash, name);
    snprintf(path, sizeof path, "%s/%s/info", testing_path("cache"), name);
    assert_int_equal(chmod(path, 0666), 0);
    assert_int_equal(cache_find_tree(cache, first_hash, &tree), WEFT_NOT_FOUND);
    cache_release_tree(&tree);
    cache_close(cache);
}

static void a_hash_is_read_as_it_is_written(void **state)
{
    char text[DIGEST_TEXT_BYTES];
    uint8_t hash[SHA256_BYTES], got[SHA256_BYTES];
    (void)state;
    for (size_t i = 0; i < sizeof hash; i++)
        hash[i] = (uint8_t)(i * 37 + 9);
    digest_write(hash, text);
    assert_true(digest_read_text(text, got));
    assert_memory_equal(hash, got, sizeof hash);
    text[5] = 'G';
    assert_false(digest_read_text(text, got));
    assert_false(digest_read_text("", got));
}

int main(void)
{
#define IN_FOLDER(test)                                                                            \
    cmocka_unit_test_setup_teardown(test, testing_make_folder, testing_remove_folder)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(a_place_of_others_is_refused),
        IN_FOLDER(the_place_is_in_the_users_cache),
        IN_FOLDER(the_directory_of_a_killed_client_is_removed_by_the_next),
        IN_FOLDER(halves_of_a_job_are_removed_too),
        IN_FOLDER(many_clients_at_once_leave_nothing),
        IN_FOLDER(what_was_used_longest_ago_goes_first),
        IN_FOLDER(a_digest_is_remembered_until_the_file_changes),
        IN_FOLDER(a_tree_is_found_again),
        IN_FOLDER(trees_beyond_the_limits_are_removed_unless_they_are_used),
        IN_FOLDER(a_tree_that_others_may_write_to_is_not_used),
        IN_FOLDER(a_hash_is_read_as_it_is_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
