// Tests of what one stage leaves for the next: segments come back as they were, from memory and from disk.

#include "mapreduce/work/output/dataset.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/crc32c.h"
#include "mapreduce/work/sort/random_pairs.h"
#include "sys/file/file.h"
#include "sys/thread/thread.h"

enum { RANGES = 40, SEGMENT_MAX = 60000 };

#define TMP "/var/tmp"

static struct mem_budget budget;
static weft_bytes segments[RANGES];

static void draw_segments(uint64_t *seed)
{
    for (size_t i = 0; i < RANGES; i++)
        segments[i] = random_bytes(seed, i % 5 ? random_below(seed, SEGMENT_MAX) : 0, NULL, 0);
}

static void free_segments(void)
{
    for (size_t i = 0; i < RANGES; i++)
        free((char *)segments[i].data);
}

// In several stretches.
static void put(struct dataset *dataset, uint32_t range, uint64_t *seed)
{
    weft_bytes rest = segments[range];
    while (rest.size && random_below(seed, 3)) {
        const size_t size = random_below(seed, rest.size) + 1;
        assert_int_equal(dataset_append(dataset, range, (weft_bytes){rest.data, size}), WEFT_OK);
        rest.data += size;
        rest.size -= size;
    }
    assert_int_equal(dataset_append(dataset, range, rest), WEFT_OK);
    dataset_finish(dataset, range);
}

// Whole, from any byte, in any steps, and beyond the end.
static void check_range(const struct dataset *dataset, uint32_t range, uint64_t *seed)
{
    static char data[SEGMENT_MAX + 100];
    const weft_bytes expected = segments[range];
    size_t got;
    assert_int_equal(dataset_read(dataset, range, 0, data, sizeof data, &got), WEFT_OK);
    assert_int_equal(got, expected.size);
    assert_memory_equal(data, expected.data, got);
    for (uint64_t at = 0; at < expected.size; at += got) {
        const size_t size = random_below(seed, 20000) + 1, left = expected.size - (size_t)at;
        assert_int_equal(dataset_read(dataset, range, at, data, size, &got), WEFT_OK);
        assert_int_equal(got, size < left ? size : left);
        assert_memory_equal(data, expected.data + at, got);
    }
    assert_int_equal(dataset_read(dataset, range, expected.size, data, 10, &got), WEFT_OK);
    assert_int_equal(got, 0);
    assert_int_equal(dataset_read(dataset, range, expected.size + 99, data, 10, &got), WEFT_OK);
    assert_int_equal(got, 0);
}

static void check_dataset(size_t memory_max, uint64_t limit, uint64_t seed)
{
    budget = (struct mem_budget){.limit = limit};
    draw_segments(&seed);
    struct dataset *dataset = dataset_new(&budget, RANGES, memory_max, TMP);
    assert_non_null(dataset);
    for (uint32_t i = 0; i < RANGES; i++) {
        put(dataset, (i * 7 + 3) % RANGES, &seed);
        assert_true(budget.used <= memory_max);
    }
    for (uint32_t i = 0; i < RANGES; i++)
        check_range(dataset, i, &seed);
    dataset_free(dataset);
    free_segments();
    assert_int_equal(budget.used, 0);
}

static void segments_come_back_from_memory(void **state)
{
    (void)state;
    check_dataset(64 << 20, 0, 1);
    assert_true(budget.peak > 500000);
}

static void segments_come_back_from_disk(void **state)
{
    (void)state;
    check_dataset(0, 0, 2);
    assert_int_equal(budget.peak, 0);
}

static void segments_beyond_the_share_go_to_disk(void **state)
{
    (void)state;
    check_dataset(300000, 0, 3);
    assert_true(budget.peak > 100000);
}

static void segments_the_budget_has_no_room_for_go_to_disk(void **state)
{
    (void)state;
    check_dataset(64 << 20, 200000, 4);
    assert_true(budget.peak > 100000 && budget.peak <= 200000);
}

static void the_first_complete_segment_of_a_range_counts(void **state)
{
    (void)state;
    char data[16];
    size_t got;
    budget = (struct mem_budget){0};
    struct dataset *dataset = dataset_new(&budget, 2, 1 << 20, TMP);
    assert_int_equal(dataset_append(dataset, 1, weft_text("first")), WEFT_OK);
    dataset_finish(dataset, 1);
    assert_int_equal(dataset_append(dataset, 1, weft_text("second")), WEFT_OK);
    dataset_finish(dataset, 1);
    dataset_discard(dataset, 1);
    assert_int_equal(dataset_read(dataset, 1, 0, data, sizeof data, &got), WEFT_OK);
    assert_int_equal(got, 5);
    assert_memory_equal(data, "first", 5);
    dataset_free(dataset);
}

static void a_failed_attempt_leaves_nothing_to_the_next(void **state)
{
    (void)state;
    char data[16];
    size_t got;
    for (int is_on_disk = 0; is_on_disk < 2; is_on_disk++) {
        budget = (struct mem_budget){0};
        struct dataset *dataset = dataset_new(&budget, 2, is_on_disk ? 0 : 1 << 20, TMP);
        assert_int_equal(dataset_append(dataset, 0, weft_text("half of")), WEFT_OK);
        dataset_discard(dataset, 0);
        assert_int_equal(budget.used, 0);
        assert_int_equal(dataset_append(dataset, 0, weft_text("all")), WEFT_OK);
        dataset_finish(dataset, 0);
        assert_int_equal(dataset_read(dataset, 0, 0, data, sizeof data, &got), WEFT_OK);
        assert_int_equal(got, 3);
        assert_memory_equal(data, "all", 3);
        dataset_free(dataset);
        assert_int_equal(budget.used, 0);
    }
}

static struct dataset *shared;

static void put_every_fourth(void *argument)
{
    uint64_t seed = (uintptr_t)argument;
    for (uint32_t range = (uint32_t)(uintptr_t)argument; range < RANGES; range += 4)
        put(shared, range, &seed);
}

static void slots_write_their_segments_side_by_side(void **state)
{
    (void)state;
    uint64_t seed = 5;
    struct thread threads[4];
    budget = (struct mem_budget){0};
    draw_segments(&seed);
    shared = dataset_new(&budget, RANGES, 300000, TMP);
    for (uintptr_t i = 0; i < 4; i++)
        assert_int_equal(thread_start(&threads[i], put_every_fourth, (void *)i, 0), WEFT_OK);
    for (size_t i = 0; i < 4; i++)
        thread_join(&threads[i]);
    assert_true(budget.peak <= 300000);
    for (uint32_t i = 0; i < RANGES; i++)
        check_range(shared, i, &seed);
    dataset_free(shared);
    free_segments();
    assert_int_equal(budget.used, 0);
}

static void a_segment_of_another_process_is_read_and_checked(void **state)
{
    (void)state;
    static const char text[] = "before|the pairs|after";
    char data[32];
    size_t got;
    int fd;
    budget = (struct mem_budget){0};
    struct dataset *dataset = dataset_new(&budget, 2, 100, TMP);
    assert_int_equal(file_create_nameless(TMP, &fd), WEFT_OK);
    assert_int_equal(file_write_at(fd, "file", text, sizeof text, 0), WEFT_OK);
    const uint32_t crc = crc32c(0, "the pairs", 9);
    assert_int_equal(dataset_append(dataset, 1, (weft_bytes){"old", 3}), WEFT_OK);
    assert_int_equal(dataset_adopt(dataset, 1, fd, 7, 9, crc), WEFT_OK);
    assert_int_equal(dataset_read(dataset, 1, 4, data, sizeof data, &got), WEFT_OK);
    assert_int_equal(got, 5);
    assert_memory_equal(data, "pairs", 5);
    assert_int_equal(dataset_check(dataset, 1, crc), WEFT_OK);
    assert_int_equal(dataset_check(dataset, 1, crc + 1), WEFT_DATA_LOSS);
    assert_int_equal(dataset_check(dataset, 0, 5), WEFT_OK);  // its own
    assert_int_equal(dataset_adopt(dataset, 0, fd, 0, 0, 0), WEFT_OK);
    assert_int_equal(dataset_read(dataset, 0, 0, data, sizeof data, &got), WEFT_OK);
    assert_int_equal(got, 0);
    // A file that is shorter than it was said to be.
    assert_int_equal(dataset_adopt(dataset, 0, fd, 7, 9999, 0), WEFT_OK);
    char much[64];
    assert_int_equal(dataset_read(dataset, 0, 0, much, sizeof much, &got), WEFT_DATA_LOSS);
    dataset_free(dataset);
    file_close(fd);
    assert_int_equal(budget.used, 0);
}

static void a_directory_that_is_missing_is_told(void **state)
{
    (void)state;
    assert_null(dataset_new(&budget, 2, 0, "/nowhere/at/all"));
    assert_non_null(strstr(err_text(), "/nowhere/at/all"));
    dataset_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(segments_come_back_from_memory),
        cmocka_unit_test(segments_come_back_from_disk),
        cmocka_unit_test(segments_beyond_the_share_go_to_disk),
        cmocka_unit_test(segments_the_budget_has_no_room_for_go_to_disk),
        cmocka_unit_test(the_first_complete_segment_of_a_range_counts),
        cmocka_unit_test(a_failed_attempt_leaves_nothing_to_the_next),
        cmocka_unit_test(slots_write_their_segments_side_by_side),
        cmocka_unit_test(a_segment_of_another_process_is_read_and_checked),
        cmocka_unit_test(a_directory_that_is_missing_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
