// Tests of sys/file against a real directory, real pipes and a real limit on the size of files.

#include "sys/file/file.h"
#include "sys/file/folder_testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static void a_missing_file_is_named_in_the_error(void **state)
{
    (void)state;
    int fd;
    assert_int_equal(file_open(testing_path("none"), &fd), WEFT_NOT_FOUND);
    assert_non_null(strstr(err_text(), testing_path("none")));
    assert_non_null(strstr(err_text(), "no such file"));
    struct file_stat status;
    assert_int_equal(file_stat(testing_path("none"), &status), WEFT_OK);
    assert_int_equal(status.kind, FILE_MISSING);
    assert_int_equal(file_stat("/dev/null/below", &status), WEFT_OK);
    assert_int_equal(status.kind, FILE_MISSING);
}

static void what_is_written_at_an_offset_is_read_back(void **state)
{
    (void)state;
    int fd;
    assert_int_equal(file_create(testing_path("a"), &fd), WEFT_OK);
    assert_int_equal(file_write_at(fd, "a", "world", 5, 6), WEFT_OK);
    assert_int_equal(file_write_at(fd, "a", "hello ", 6, 0), WEFT_OK);
    char got[64];
    size_t size;
    assert_int_equal(file_read_at(fd, "a", got, sizeof got, 0, &size), WEFT_OK);
    assert_int_equal(size, 11);
    assert_memory_equal(got, "hello world", 11);
    assert_int_equal(file_read_at(fd, "a", got, sizeof got, 11, &size), WEFT_OK);
    assert_int_equal(size, 0);
    struct file_stat status;
    assert_int_equal(file_stat_fd(fd, "a", &status), WEFT_OK);
    assert_int_equal(status.kind, FILE_REGULAR);
    assert_int_equal(status.size, 11);
    assert_true(status.mtime_ns > 1000000000LL * 1000000000);
    assert_int_not_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
    file_close(fd);

    assert_int_equal(file_open_kept(testing_path("a"), &fd), WEFT_OK);
    assert_int_equal(file_stat_fd(fd, "a", &status), WEFT_OK);
    assert_int_equal(status.size, 11);
    assert_int_equal(file_truncate(fd, "a", 5), WEFT_OK);
    assert_int_equal(file_read_at(fd, "a", got, sizeof got, 0, &size), WEFT_OK);
    assert_int_equal(size, 5);
    file_close(fd);
    assert_int_equal(file_truncate(-1, "a", 5), WEFT_UNKNOWN);
    assert_int_equal(file_create_new(testing_path("a"), &fd), WEFT_ALREADY_EXISTS);
    assert_int_equal(file_create_new(testing_path("fresh"), &fd), WEFT_OK);
    file_close(fd);

    assert_int_equal(file_create_named("/dev/null", &fd), WEFT_OK);  // which cannot be truncated
    file_close(fd);
    assert_int_equal(file_create(testing_path("a"), &fd), WEFT_OK);  // truncates
    assert_int_equal(file_stat(testing_path("a"), &status), WEFT_OK);
    assert_int_equal(status.size, 0);
    file_close(fd);
}

static int count_entries(void)
{
    DIR *dir = opendir(testing_folder);
    int count = 0;
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

static void a_file_that_must_be_there_is_not_made(void **state)
{
    int fd;
    (void)state;
    assert_int_equal(file_open_existing(testing_path("none"), &fd), WEFT_NOT_FOUND);
    assert_int_equal(file_open(testing_path("none"), &fd), WEFT_NOT_FOUND);
}

static void a_nameless_file_leaves_no_name(void **state)
{
    (void)state;
    const int before = count_entries();
    int fd;
    assert_int_equal(file_create_nameless(testing_folder, &fd), WEFT_OK);
    assert_int_equal(file_write_at(fd, "spill", "x", 1, 100), WEFT_OK);
    assert_int_equal(count_entries(), before);
    file_close(fd);
    file_close(-1);
    assert_int_equal(file_create_nameless(testing_path("none"), &fd), WEFT_NOT_FOUND);
    assert_non_null(strstr(err_text(), testing_path("none")));
}

static void kinds_of_files_are_told_apart(void **state)
{
    (void)state;
    struct file_stat status;
    assert_int_equal(file_stat(testing_folder, &status), WEFT_OK);
    assert_int_equal(status.kind, FILE_DIRECTORY);
    assert_int_equal(mkfifo(testing_path("fifo"), 0600), 0);
    assert_int_equal(file_stat(testing_path("fifo"), &status), WEFT_OK);
    assert_int_equal(status.kind, FILE_STREAM);
    assert_int_equal(file_stat("/dev/null", &status), WEFT_OK);
    assert_int_equal(status.kind, FILE_STREAM);
}

static void all_that_a_pipe_holds_is_read_up_to_a_limit(void **state)
{
    (void)state;
    int ends[2];
    struct buf text = {0};
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "hello", 5), 5);
    assert_int_equal(file_read_all(ends[0], "pipe", 3, &text), WEFT_OK);
    close(ends[1]);
    assert_string_equal(buf_text(&text), "hel");
    assert_int_equal(file_read_all(ends[0], "pipe", 100, &text), WEFT_OK);
    assert_string_equal(buf_text(&text), "hello");
    assert_int_equal(file_read_all(-1, "nothing", 100, &text), WEFT_UNKNOWN);
    close(ends[0]);
    buf_fini(&text);
}

static void a_full_device_is_resource_exhausted(void **state)
{
    (void)state;
    const int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(file_write_at(fd, "/dev/full", "x", 1, 0), WEFT_RESOURCE_EXHAUSTED);
    assert_string_equal(err_text(), "cannot write /dev/full: no space left on device");
    assert_int_equal(file_write(fd, "/dev/full", "x", 1), WEFT_RESOURCE_EXHAUSTED);
    file_close(fd);
}

// Past the limit the kernel first writes short, then says EFBIG: both ways of going wrong in one.
static void a_write_cut_short_by_the_size_limit_fails_and_keeps_what_fitted(void **state)
{
    (void)state;
    int fd;
    assert_int_equal(file_create(testing_path("limited"), &fd), WEFT_OK);
    struct rlimit old, small;
    getrlimit(RLIMIT_FSIZE, &old);
    small = (struct rlimit){4096, old.rlim_max};
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    static const char text[8000] = {1};
    const weft_err err = file_write_at(fd, "limited", text, sizeof text, 0);
    setrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, before);
    assert_int_equal(err, WEFT_RESOURCE_EXHAUSTED);
    struct file_stat status;
    assert_int_equal(file_stat_fd(fd, "limited", &status), WEFT_OK);
    assert_int_equal(status.size, 4096);
    file_close(fd);
}

enum { PIPED_BYTES = 1 << 20 };

static void *drain_slowly(void *fd)
{
    size_t total = 0;
    char bytes[3000];
    for (ssize_t n; (n = read(*(int *)fd, bytes, sizeof bytes)) > 0; total += (size_t)n)
        for (ssize_t i = 0; i < n; i++)
            if (bytes[i] != (char)((total + (size_t)i) * 7))
                return NULL;  // out of order: the writer skipped or repeated something
    return (void *)total;
}

static void short_writes_into_a_nonblocking_pipe_are_finished(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
    pthread_t reader;
    assert_int_equal(pthread_create(&reader, NULL, drain_slowly, &ends[0]), 0);
    char *bytes = malloc(PIPED_BYTES);
    for (size_t i = 0; i < PIPED_BYTES; i++)
        bytes[i] = (char)(i * 7);
    assert_int_equal(file_write(ends[1], "pipe", bytes, PIPED_BYTES), WEFT_OK);
    file_close(ends[1]);
    void *total;
    pthread_join(reader, &total);
    assert_int_equal((size_t)total, PIPED_BYTES);
    file_close(ends[0]);
    free(bytes);
}

static void a_full_pipe_has_no_room_until_it_is_read(void **state)
{
    (void)state;
    int ends[2];
    char block[FILE_ROOM_BYTES] = {0};
    size_t count = 0;
    assert_int_equal(pipe(ends), 0);
    for (; file_has_room(ends[1], 0);
         count++)  // none of these may wait for a reader: there is none
        assert_int_equal(file_write(ends[1], "a pipe", block, sizeof block), WEFT_OK);
    assert_true(count > 0);
    assert_false(file_has_room(ends[1], 1));
    assert_int_equal(read(ends[0], block, sizeof block), sizeof block);
    assert_true(file_has_room(ends[1], -1));
    close(ends[0]);
    assert_true(file_has_room(ends[1], -1));  // a write says what is wrong
    close(ends[1]);
}

static void directories_are_made_with_parents_and_taken_away_whole(void **state)
{
    (void)state;
    assert_int_equal(file_make_directory(testing_path("x/y/z/")), WEFT_OK);
    assert_int_equal(file_make_directory(testing_path("x/y/z")), WEFT_OK);
    assert_int_equal(file_make_directory(testing_path("x/y/w")), WEFT_OK);
    int fd;
    assert_int_equal(file_create(testing_path("x/y/z/file"), &fd), WEFT_OK);
    file_close(fd);
    assert_int_equal(file_create(testing_path("kept"), &fd), WEFT_OK);
    file_close(fd);
    assert_int_equal(symlink(testing_path("kept"), testing_path("x/link")), 0);
    assert_int_equal(file_make_directory(testing_path("x/y/z/file")), WEFT_ALREADY_EXISTS);
    assert_int_equal(file_make_directory(testing_path("x/y/z/file/below")), WEFT_NOT_FOUND);

    assert_int_equal(file_remove_tree(testing_path("x")), WEFT_OK);
    assert_int_equal(file_remove_tree(testing_path("x")), WEFT_OK);
    struct file_stat status;
    assert_int_equal(file_stat(testing_path("x"), &status), WEFT_OK);
    assert_int_equal(status.kind, FILE_MISSING);
    assert_int_equal(file_stat(testing_path("kept"), &status), WEFT_OK);
    assert_int_equal(status.kind, FILE_REGULAR);
}

static void renaming_moves_and_tells_both_names_when_it_cannot(void **state)
{
    (void)state;
    int fd;
    assert_int_equal(file_create(testing_path("from"), &fd), WEFT_OK);
    file_close(fd);
    assert_int_equal(file_rename(testing_path("from"), testing_path("to")), WEFT_OK);
    assert_int_equal(file_rename(testing_path("from"), testing_path("to")), WEFT_NOT_FOUND);
    assert_non_null(strstr(err_text(), testing_path("from")));
    assert_non_null(strstr(err_text(), testing_path("to")));
}

static void what_was_written_is_synced_where_that_is_possible(void **state)
{
    (void)state;
    int fd;
    assert_int_equal(file_create(testing_path("synced"), &fd), WEFT_OK);
    assert_int_equal(file_sync(fd, "synced"), WEFT_OK);
    file_close(fd);
    assert_int_equal(file_sync_directory(testing_folder), WEFT_OK);
    assert_int_equal(file_sync_directory(testing_path("none")), WEFT_NOT_FOUND);
    assert_int_not_equal(file_sync(-1, "a name"), WEFT_OK);
    assert_non_null(strstr(err_text(), "a name"));
}

static void whole_blocks_are_written_past_the_cache(void **state)
{
    (void)state;
    static _Alignas(FILE_BLOCK_BYTES) char block[FILE_BLOCK_BYTES], back[FILE_BLOCK_BYTES];
    memset(block, 'b', sizeof block);
    for (int is_synced = 0; is_synced < 2; is_synced++) {
        int fd;
        const weft_err err = file_open_direct(testing_path("direct"), is_synced, &fd);
        if (err == WEFT_UNIMPLEMENTED)
            return;
        assert_int_equal(err, WEFT_OK);
        size_t got;
        assert_int_equal(file_write_at(fd, "direct", block, sizeof block, sizeof block), WEFT_OK);
        assert_int_equal(file_read_at(fd, "direct", back, sizeof back, sizeof block, &got),
                         WEFT_OK);
        assert_memory_equal(back, block, sizeof block);
        file_close(fd);
    }
    int fd;
    assert_int_equal(file_open_direct("/nowhere/direct", true, &fd), WEFT_NOT_FOUND);
}

static void a_lock_has_one_holder_who_is_named_until_it_lets_go(void **state)
{
    (void)state;
    int first, second;
    char holder[64];
    assert_false(file_is_locked(testing_path("lock")));
    assert_int_equal(file_lock(testing_path("lock"), &first), WEFT_OK);
    assert_true(file_is_locked(testing_path("lock")));
    assert_int_equal(file_lock(testing_path("lock"), &second), WEFT_UNAVAILABLE);
    assert_int_equal(second, -1);
    snprintf(holder, sizeof holder, "lock is locked by process %d", (int)getpid());
    assert_non_null(strstr(err_text(), holder));
    assert_int_equal(file_truncate(first, "lock", 0), WEFT_OK);
    assert_int_equal(file_lock(testing_path("lock"), &second), WEFT_UNAVAILABLE);
    assert_non_null(strstr(err_text(), "another process"));
    file_close(first);
    assert_false(file_is_locked(testing_path("lock")));
    assert_int_equal(file_lock(testing_path("lock"), &second), WEFT_OK);
    file_close(second);
    assert_int_equal(file_lock(testing_path("none/lock"), &first), WEFT_NOT_FOUND);
}

static void a_held_file_is_in_use_until_it_is_closed(void **state)
{
    (void)state;
    int fd, again;
    assert_int_equal(file_create_held(testing_path("held"), &fd), WEFT_OK);
    assert_true(file_is_locked(testing_path("held")));
    assert_false(file_is_left(testing_path("held")));
    assert_int_equal(file_create_held(testing_path("held"), &again), WEFT_ALREADY_EXISTS);
    assert_int_equal(file_rename(testing_path("held"), testing_path("other")), WEFT_OK);
    assert_true(file_is_locked(testing_path("other")));
    file_close(fd);
    assert_false(file_is_locked(testing_path("other")));
    assert_true(file_is_left(testing_path("other")));
    assert_false(file_is_left(testing_path("missing")));
    assert_false(file_is_left(testing_path(".")));
}

static weft_err count_name(void *owner, const char *name)
{
    int *left = owner;
    if (*left == 0)
        return err_set(WEFT_OUT_OF_RANGE, "enough at %s", name);
    (*left)--;
    return WEFT_OK;
}

static void names_are_listed_and_taken_away(void **state)
{
    (void)state;
    int fd, left = 5;
    assert_int_equal(file_make_directory(testing_path("names/sub")), WEFT_OK);
    assert_int_equal(file_create(testing_path("names/.hidden"), &fd), WEFT_OK);
    file_close(fd);
    assert_int_equal(file_create(testing_path("names/a"), &fd), WEFT_OK);
    file_close(fd);
    assert_int_equal(file_list(testing_path("names"), count_name, &left), WEFT_OK);
    assert_int_equal(left, 2);
    left = 1;
    assert_int_equal(file_list(testing_path("names"), count_name, &left), WEFT_OUT_OF_RANGE);
    assert_int_equal(file_list(testing_path("none"), count_name, &left), WEFT_NOT_FOUND);
    assert_int_equal(file_remove(testing_path("names/a")), WEFT_OK);
    assert_int_equal(file_remove(testing_path("names/a")), WEFT_OK);
    assert_int_not_equal(file_remove(testing_path("names/sub")), WEFT_OK);
}

static void memory_file_systems_are_known(void **state)
{
    (void)state;
    bool is_in_memory = true;
    assert_int_equal(file_is_in_memory("/proc", &is_in_memory), WEFT_OK);
    assert_false(is_in_memory);
    struct file_stat shm;
    assert_int_equal(file_stat("/dev/shm", &shm), WEFT_OK);
    if (shm.kind == FILE_DIRECTORY) {  // a tmpfs wherever it exists
        assert_int_equal(file_is_in_memory("/dev/shm", &is_in_memory), WEFT_OK);
        assert_true(is_in_memory);
    }
    assert_int_equal(file_is_in_memory(testing_path("none"), &is_in_memory), WEFT_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_file_is_named_in_the_error),
        cmocka_unit_test(what_is_written_at_an_offset_is_read_back),
        cmocka_unit_test(a_file_that_must_be_there_is_not_made),
        cmocka_unit_test(a_nameless_file_leaves_no_name),
        cmocka_unit_test(kinds_of_files_are_told_apart),
        cmocka_unit_test(all_that_a_pipe_holds_is_read_up_to_a_limit),
        cmocka_unit_test(a_full_device_is_resource_exhausted),
        cmocka_unit_test(a_write_cut_short_by_the_size_limit_fails_and_keeps_what_fitted),
        cmocka_unit_test(short_writes_into_a_nonblocking_pipe_are_finished),
        cmocka_unit_test(a_full_pipe_has_no_room_until_it_is_read),
        cmocka_unit_test(directories_are_made_with_parents_and_taken_away_whole),
        cmocka_unit_test(renaming_moves_and_tells_both_names_when_it_cannot),
        cmocka_unit_test(what_was_written_is_synced_where_that_is_possible),
        cmocka_unit_test(whole_blocks_are_written_past_the_cache),
        cmocka_unit_test(a_lock_has_one_holder_who_is_named_until_it_lets_go),
        cmocka_unit_test(a_held_file_is_in_use_until_it_is_closed),
        cmocka_unit_test(names_are_listed_and_taken_away),
        cmocka_unit_test(memory_file_systems_are_known),
    };
    return cmocka_run_group_tests(tests, testing_make_folder, testing_remove_folder);
}
