// Tests of lent files: a lender with a thread of its own that fills holes late and in any order, and threads that read.

#include "store/lent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/sanitized.h"
#include "base/vec.h"
#include "sys/thread/thread.h"
#include "sys/time/clock.h"

enum {
    BLOCK = LENT_BLOCK_BYTES,
    BLOCKS = 12,
    SIZE = BLOCKS * BLOCK - 12345,
    READERS = 4,
    FILES = 2,
    LENT = 1,  // the number of the file
};

struct need {
    uint64_t offset, size;
};

// Has the original in memory, and the file with holes.
struct lender {
    struct lending *lending;
    struct mutex lock;
    struct condition changed;
    VEC(struct need) needs;   // not answered
    int asked[BLOCKS];        // how often each block was
    uint64_t failing_offset;  // a need with this byte fails, once; UINT64_MAX: none
    bool is_ending, is_deaf;
    char *bytes;
    int fd;
    char path[64];
    struct thread thread;
};

static void ask(void *owner, uint32_t file, uint64_t offset, uint64_t size)
{
    struct lender *lender = owner;
    const struct need need = {offset, size};
    assert_int_equal(file, LENT);
    assert_int_equal(offset % BLOCK, 0);
    assert_true(size && offset + size <= SIZE);
    assert_true(size % BLOCK == 0 || offset + size == SIZE);
    mutex_lock(&lender->lock);
    assert_true(VEC_PUSH(&lender->needs, need));
    for (uint64_t i = offset / BLOCK; i * BLOCK < offset + size; i++)
        lender->asked[i]++;
    condition_broadcast(&lender->changed);
    mutex_unlock(&lender->lock);
}

static bool fails(struct lender *lender, const struct need *need)
{
    if (lender->failing_offset < need->offset ||
        lender->failing_offset >= need->offset + need->size)
        return false;
    lender->failing_offset = UINT64_MAX;
    return true;
}

// The newest first, a piece at a time.
static void lend(void *argument)
{
    struct lender *lender = argument;
    mutex_lock(&lender->lock);
    for (;;) {
        while (!lender->is_ending && (lender->needs.count == 0 || lender->is_deaf))
            condition_wait(&lender->changed, &lender->lock);
        if (lender->is_ending)
            break;
        const struct need need = lender->needs.items[--lender->needs.count];
        const bool has_failed = fails(lender, &need);
        mutex_unlock(&lender->lock);
        for (uint64_t at = need.offset; at < need.offset + need.size && !has_failed; at += 300000) {
            const uint64_t left = need.offset + need.size - at;
            const size_t size = left < 300000 ? (size_t)left : 300000;
            assert_int_equal(file_write_at(lender->fd, "lent", lender->bytes + at, size, at),
                             WEFT_OK);
            clock_sleep_ms(1);
        }
        const weft_err code =
            has_failed ? err_set(WEFT_UNAVAILABLE, "the server is gone") : WEFT_OK;
        lending_settle(lender->lending, LENT, need.offset, need.size, code);
        err_clear();
        mutex_lock(&lender->lock);
    }
    mutex_unlock(&lender->lock);
}

static void start(struct lender *lender)
{
    *lender = (struct lender){.failing_offset = UINT64_MAX};
    mutex_init(&lender->lock);
    condition_init(&lender->changed);
    lender->lending = lending_new(FILES, ask, lender);
    assert_non_null(lender->lending);
    lender->bytes = malloc(SIZE);
    for (size_t i = 0; i < SIZE; i++)
        lender->bytes[i] = (char)(i * 2654435761u >> 11);
    assert_int_equal(file_create_nameless("/tmp", &lender->fd), WEFT_OK);
    assert_int_equal(file_truncate(lender->fd, "lent", SIZE), WEFT_OK);
    snprintf(lender->path, sizeof lender->path, "/proc/%d/fd/%d", (int)getpid(), lender->fd);
    assert_int_equal(thread_start(&lender->thread, lend, lender, 0), WEFT_OK);
}

static void end(struct lender *lender)
{
    mutex_lock(&lender->lock);
    lender->is_ending = true;
    condition_broadcast(&lender->changed);
    mutex_unlock(&lender->lock);
    thread_join(&lender->thread);
    lending_free(lender->lending);
    VEC_FINI(&lender->needs);
    condition_fini(&lender->changed);
    mutex_fini(&lender->lock);
    file_close(lender->fd);
    free(lender->bytes);
    err_clear();
}

static void open_lent(struct lender *lender, struct store_file *file)
{
    assert_int_equal(lent_open(lender->lending, LENT, lender->path, "far.txt", file), WEFT_OK);
}

static void read_and_compare(const struct lender *lender, struct store_file *file, size_t size,
                             uint64_t offset, char *room)
{
    size_t got = 0;
    const size_t expected =
        offset >= SIZE ? 0 : (size_t)(SIZE - offset < size ? SIZE - offset : size);
    assert_int_equal(store_read_at(file, room, size, offset, &got), WEFT_OK);
    assert_int_equal(got, expected);
    assert_memory_equal(room, lender->bytes + (expected ? offset : 0), expected);
}

static int count_asked(struct lender *lender)
{
    int count = 0;
    mutex_lock(&lender->lock);
    for (int i = 0; i < BLOCKS; i++)
        count += lender->asked[i];
    mutex_unlock(&lender->lock);
    return count;
}

// ---- The tests ----------------------------------------------------------------------------------------------

static void reads_return_the_bytes_of_the_original(void **state)
{
    (void)state;
    struct lender lender;
    struct store_file file;
    struct file_stat status;
    char *room = malloc(3 * BLOCK);
    start(&lender);
    open_lent(&lender, &file);
    assert_int_equal(store_stat(&file, &status), WEFT_OK);
    assert_int_equal(status.size, SIZE);
    read_and_compare(&lender, &file, 16, 0, room);
    read_and_compare(&lender, &file, 2, BLOCK - 1, room);
    read_and_compare(&lender, &file, 3 * BLOCK, 4 * BLOCK - 7, room);
    read_and_compare(&lender, &file, 1000, SIZE - 10, room);
    read_and_compare(&lender, &file, 1000, SIZE, room);
    read_and_compare(&lender, &file, 1000, UINT64_MAX - 5, room);
    read_and_compare(&lender, &file, 0, 3, room);
    assert_int_equal(count_asked(&lender), 2 + 4 + 1);  // nothing ahead: no end was given
    store_close(&file);
    store_close(&file);
    free(room);
    end(&lender);
}

// One file has many lent ones in it: the original begins at a place of it, and has its own end.
static void a_lent_file_may_be_a_stretch_of_a_larger_one(void **state)
{
    (void)state;
    enum { AT = 4096, SHORT = 2 * BLOCK };
    struct lender lender;
    struct store_file file;
    struct file_stat status;
    char *room = malloc(SIZE);
    size_t got = 0;
    start(&lender);
    lending_place(lender.lending, LENT, AT, SHORT);
    open_lent(&lender, &file);
    assert_int_equal(store_stat(&file, &status), WEFT_OK);
    assert_int_equal(status.size, SHORT);
    // The lender fills the file here at the offsets that were asked for; the bytes at AT are there by then.
    assert_int_equal(store_read_at(&file, room, SIZE, 0, &got), WEFT_OK);
    assert_int_equal(got, SHORT);
    assert_memory_equal(room, lender.bytes + AT, SHORT - AT);
    store_close(&file);
    free(room);
    end(&lender);
}

static void a_thread_that_reads_on_has_the_next_blocks_asked_for(void **state)
{
    (void)state;
    struct lender lender;
    struct store_file file;
    char *room = malloc(BLOCK);
    start(&lender);
    open_lent(&lender, &file);
    file.ahead_end = 5 * BLOCK + 1;
    read_and_compare(&lender, &file, 1000, BLOCK, room);
    assert_int_equal(count_asked(&lender), 2);
    for (uint64_t at = BLOCK + 1000; at < 3 * BLOCK; at += 1000)
        read_and_compare(&lender, &file, 1000, at, room);
    assert_int_equal(count_asked(&lender), 5);  // 1 to 5: the sixth block has its last byte
    read_and_compare(&lender, &file, BLOCK, 5 * BLOCK, room);
    assert_int_equal(count_asked(&lender), 5);
    assert_int_equal(lender.asked[0], 0);
    assert_int_equal(lender.asked[6], 0);
    store_close(&file);
    free(room);
    end(&lender);
}

struct reader {
    struct lender *lender;
    struct thread thread;
    unsigned seed;
};

static void read_all(void *argument)
{
    struct reader *reader = argument;
    struct store_file file;
    char *room = malloc(BLOCK);
    open_lent(reader->lender, &file);
    file.ahead_end = SIZE;
    for (int i = 0; i < (IS_SANITIZED ? 30 : 200); i++) {
        const uint64_t offset = (uint64_t)rand_r(&reader->seed) % SIZE;
        read_and_compare(reader->lender, &file, (size_t)rand_r(&reader->seed) % BLOCK, offset,
                         room);
    }
    for (uint64_t at = 0; at < SIZE; at += 100000)
        read_and_compare(reader->lender, &file, 100000, at, room);
    store_close(&file);
    free(room);
}

static void a_block_is_asked_for_once_for_all_threads(void **state)
{
    (void)state;
    struct lender lender;
    struct reader readers[READERS];
    start(&lender);
    for (unsigned i = 0; i < READERS; i++) {
        readers[i] = (struct reader){.lender = &lender, .seed = i + 1};
        assert_int_equal(thread_start(&readers[i].thread, read_all, &readers[i], 0), WEFT_OK);
    }
    for (int i = 0; i < READERS; i++)
        thread_join(&readers[i].thread);
    for (int i = 0; i < BLOCKS; i++)
        assert_int_equal(lender.asked[i], 1);
    end(&lender);
}

static void a_block_that_could_not_be_lent_fails_the_read_and_is_asked_for_again(void **state)
{
    (void)state;
    struct lender lender;
    struct store_file file;
    size_t got;
    char *room = malloc(BLOCK);
    start(&lender);
    open_lent(&lender, &file);
    lender.failing_offset = 3 * BLOCK + 5;
    read_and_compare(&lender, &file, BLOCK, 2 * BLOCK, room);
    assert_int_equal(store_read_at(&file, room, BLOCK, 2 * BLOCK + 9, &got), WEFT_UNAVAILABLE);
    assert_string_equal(err_text(), "cannot read far.txt: the server is gone");
    assert_int_equal(got, 0);
    read_and_compare(&lender, &file, BLOCK, 2 * BLOCK + 9, room);
    assert_int_equal(lender.asked[2], 1);
    assert_int_equal(lender.asked[3], 2);
    store_close(&file);
    free(room);
    end(&lender);
}

static void a_block_asked_for_ahead_may_fail_unnoticed(void **state)
{
    (void)state;
    struct lender lender;
    struct store_file file;
    char *room = malloc(BLOCK);
    start(&lender);
    open_lent(&lender, &file);
    file.ahead_end = SIZE;
    lender.failing_offset = BLOCK;
    lent_ask_ahead(lender.lending, LENT, lender.path, BLOCK + 7);
    for (bool has_failed = false; !has_failed;) {
        mutex_lock(&lender.lock);
        has_failed = lender.failing_offset == UINT64_MAX;
        mutex_unlock(&lender.lock);
    }
    lent_ask_ahead(lender.lending, LENT, lender.path, SIZE);
    lent_ask_ahead(lender.lending, 0, "./no such file", 0);
    clock_sleep_ms(1);
    read_and_compare(&lender, &file, BLOCK, 0, room);
    size_t got;
    while (store_read_at(&file, room, BLOCK, BLOCK, &got) != WEFT_OK)  // settled or not yet
        err_clear();
    read_and_compare(&lender, &file, BLOCK, BLOCK, room);
    store_close(&file);
    free(room);
    end(&lender);
}

static void read_until_stopped(void *argument)
{
    struct reader *reader = argument;
    struct store_file file;
    char byte;
    size_t got;
    open_lent(reader->lender, &file);
    assert_int_equal(store_read_at(&file, &byte, 1, 0, &got), WEFT_CANCELLED);
    assert_int_equal(store_read_at(&file, &byte, 1, 5 * BLOCK, &got), WEFT_CANCELLED);
    store_close(&file);
    err_clear();
}

static void those_who_wait_are_let_go(void **state)
{
    (void)state;
    struct lender lender;
    struct reader reader = {.lender = &lender};
    start(&lender);
    lender.is_deaf = true;
    assert_int_equal(thread_start(&reader.thread, read_until_stopped, &reader, 0), WEFT_OK);
    while (count_asked(&lender) == 0)
        clock_sleep_ms(1);
    lending_stop(lender.lending);
    thread_join(&reader.thread);
    end(&lender);
}

static void a_file_that_is_not_there_is_not_opened(void **state)
{
    (void)state;
    struct lender lender;
    struct store_file file;
    start(&lender);
    assert_int_equal(lent_open(lender.lending, LENT, "./no such file", "far.txt", &file),
                     WEFT_NOT_FOUND);
    store_close(&file);
    end(&lender);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_return_the_bytes_of_the_original),
        cmocka_unit_test(a_lent_file_may_be_a_stretch_of_a_larger_one),
        cmocka_unit_test(a_thread_that_reads_on_has_the_next_blocks_asked_for),
        cmocka_unit_test(a_block_is_asked_for_once_for_all_threads),
        cmocka_unit_test(a_block_that_could_not_be_lent_fails_the_read_and_is_asked_for_again),
        cmocka_unit_test(a_block_asked_for_ahead_may_fail_unnoticed),
        cmocka_unit_test(those_who_wait_are_let_go),
        cmocka_unit_test(a_file_that_is_not_there_is_not_opened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
