// Tests of indexes of runs: another process finds the written runs, and believes nothing else.

#include "mapreduce/work/run/run_index.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "mapreduce/work/sort/random_pairs.h"
#include "sys/file/file.h"

enum { RANGES = 5 };

static char directory[] = "/tmp/weft-run-index-test-XXXXXX";
static char path[64];
static const weft_bytes identity = {"job and inputs", 14};

static void expect(weft_err err)
{
    if (err)
        fail_msg("%s", err_text());
}

// A run in which range r has r pairs times `times`: the first range is empty.
static struct run write_run(struct spill *spill, uint64_t *seed, size_t times)
{
    struct run run;
    struct run_writer *writer = run_writer_new(spill, RANGES, 300);
    assert_non_null(writer);
    for (uint32_t range = 1; range < RANGES; range++) {
        expect(run_writer_begin_range(writer, range));
        struct random_pairs pairs = random_pairs_new(seed, range * times, 3);
        for (size_t i = 0; i < pairs.count; i++)
            expect(run_writer_add(writer, &pairs.items[i]));
        random_pairs_free(&pairs);
    }
    expect(run_writer_finish(writer, &run));
    return run;
}

static void read_range(const struct run *run, uint32_t range, struct run_writer *copy)
{
    struct run_reader *reader = run_reader_new(run, range, &(struct key_order){.compare = NULL});
    bool has_pair = true;
    assert_non_null(reader);
    expect(run_writer_begin_range(copy, range));
    for (struct pair pair; has_pair;) {
        expect(run_reader_next(reader, &pair, &has_pair));
        if (has_pair)
            expect(run_writer_add(copy, &pair));
    }
    run_reader_free(reader);
}

// That two runs hold the same pairs: copied to the same place they are the same bytes.
static void compare_runs(const struct run *a, const struct run *b)
{
    uint32_t crcs[2] = {0};
    for (size_t i = 0; i < 2; i++) {
        struct spill spill;
        struct run copied;
        expect(spill_open(&spill, "/tmp"));
        struct run_writer *writer = run_writer_new(&spill, RANGES, 1000);
        assert_non_null(writer);
        for (uint32_t range = 0; range < RANGES; range++)
            read_range(i ? b : a, range, writer);
        expect(run_writer_finish(writer, &copied));
        char *bytes = malloc(spill.size + 1);
        size_t size;
        expect(file_read_at(spill.fd, "copy", bytes, spill.size, 0, &size));
        crcs[i] = crc32c(0, bytes, size);
        free(bytes);
        run_fini(&copied);
        spill_close(&spill);
    }
    assert_int_equal(crcs[0], crcs[1]);
}

// A small file of two runs and their index; gives the offset of the index and the size of all.
static uint64_t write_file(uint64_t *size)
{
    uint64_t seed = 4;
    struct spill spill;
    uint32_t tasks[] = {3, 4, 900};
    expect(file_remove(path));
    expect(spill_create_named(&spill, path));
    struct run runs[] = {write_run(&spill, &seed, 1), write_run(&spill, &seed, 2)};
    runs[1].level = 3;
    const uint64_t offset = spill.size;
    expect(run_index_write(&spill,
                           &(struct run_index){.runs = runs,
                                               .run_count = 2,
                                               .tasks = tasks,
                                               .task_count = 3,
                                               .range_count = RANGES,
                                               .has_mixed = true},
                           identity));
    *size = spill.size;
    run_fini(&runs[0]);
    run_fini(&runs[1]);
    spill_close(&spill);
    return offset;
}

static char *load_file(size_t *size)
{
    int fd;
    struct file_stat status;
    expect(file_open(path, &fd));
    expect(file_stat_fd(fd, path, &status));
    char *bytes = malloc(status.size + 1);
    assert_non_null(bytes);
    expect(file_read_at(fd, path, bytes, status.size, 0, size));
    file_close(fd);
    return bytes;
}

static void store_file(const char *bytes, size_t size)
{
    int fd;
    expect(
        file_remove(path));  // cutting a file to nothing makes some file systems wait for the disk
    expect(file_create(path, &fd));
    expect(file_write_at(fd, path, bytes, size, 0));
    file_close(fd);
}

static weft_err open_at(uint64_t offset, bool checks_blocks)
{
    struct run_index *index;
    const weft_err err = run_index_open(&index, path, offset, identity, checks_blocks);
    if (err)
        assert_true(!index && strstr(err_text(), path));
    run_index_close(index);
    return err;
}

static void compare_indexes(const struct run_index *found, const struct run_index *written)
{
    assert_int_equal(found->run_count, written->run_count);
    assert_int_equal(found->range_count, written->range_count);
    assert_int_equal(found->has_mixed, written->has_mixed);
    assert_int_equal(found->task_count, written->task_count);
    assert_memory_equal(found->tasks, written->tasks, written->task_count * sizeof *found->tasks);
    for (uint32_t i = 0; i < found->run_count; i++) {
        assert_int_equal(found->runs[i].level, written->runs[i].level);
        assert_int_equal(found->runs[i].size, written->runs[i].size);
        assert_int_equal(found->runs[i].pair_count, written->runs[i].pair_count);
        compare_runs(&found->runs[i], &written->runs[i]);
    }
}

static void what_was_written_is_found_by_another(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 20; seed++) {
        uint64_t random = seed;
        struct spill spill;
        struct run runs[6];
        uint32_t tasks[40];
        struct run_index written = {.runs = runs, .tasks = tasks, .range_count = RANGES}, *found;
        written.has_mixed = seed % 2;
        expect(file_remove(path));
        expect(spill_create_named(&spill, path));
        assert_int_equal(spill_create_named(&(struct spill){0}, path), WEFT_ALREADY_EXISTS);
        for (size_t left = random_below(&random, 6); left > 0; left--) {
            struct run *run = &runs[written.run_count++];
            *run = write_run(&spill, &random, random_below(&random, 30));
            run->level = (uint32_t)random_below(&random, 4);
        }
        uint32_t task = 0;
        for (size_t left = random_below(&random, 40); left > 0; left--)
            tasks[written.task_count++] = task += 1 + (uint32_t)random_below(&random, 100000);
        const uint64_t offset = spill.size;
        expect(run_index_write(&spill, &written, identity));
        expect(run_index_open(&found, path, offset, identity, seed % 3 == 0));
        compare_indexes(found, &written);
        run_index_close(found);
        for (uint32_t i = 0; i < written.run_count; i++)
            run_fini(&runs[i]);
        spill_close(&spill);
    }
}

// Map tasks that emitted nothing: more ranges than the index has bytes.
static void an_index_without_runs_is_found(void **state)
{
    (void)state;
    struct spill spill;
    uint32_t tasks[] = {7};
    expect(file_remove(path));
    expect(spill_create_named(&spill, path));
    const struct run_index written = {.tasks = tasks, .task_count = 1, .range_count = 100000};
    expect(run_index_write(&spill, &written, identity));
    spill_close(&spill);
    struct run_index *found;
    expect(run_index_open(&found, path, 0, identity, true));
    assert_int_equal(found->range_count, 100000);
    assert_int_equal(found->task_count, 1);
    run_index_close(found);
}

static void another_job_place_version_or_file_is_refused(void **state)
{
    (void)state;
    uint64_t size;
    const uint64_t offset = write_file(&size);
    struct run_index *index;
    expect(open_at(offset, true));
    const weft_bytes others[] = {{"another job   ", 14}, {"job and input", 13}, {NULL, 0}};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(run_index_open(&index, path, offset, others[i], false),
                         WEFT_FAILED_PRECONDITION);
        assert_non_null(strstr(err_text(), "another job"));
        assert_null(index);
    }
    for (uint64_t other = 0; other < size + 10; other++)
        if (other != offset)
            assert_int_equal(open_at(other, false), WEFT_DATA_LOSS);
    size_t bytes_size;
    char *bytes = load_file(&bytes_size);
    const uint32_t newer = RUN_INDEX_VERSION + 1;
    memcpy(bytes + offset + 24, &newer, 4);
    const uint32_t crc = crc32c(0, bytes + offset + 8, size - offset - 8);
    memcpy(bytes + offset + 4, &crc, 4);
    store_file(bytes, bytes_size);
    assert_int_equal(open_at(offset, false), WEFT_FAILED_PRECONDITION);
    assert_non_null(strstr(err_text(), "newer weft"));
    free(bytes);
    expect(file_remove(path));
    assert_int_equal(open_at(offset, false), WEFT_NOT_FOUND);
}

static void a_file_that_is_cut_anywhere_is_refused(void **state)
{
    (void)state;
    uint64_t size;
    const uint64_t offset = write_file(&size);
    size_t whole;
    char *bytes = load_file(&whole);
    for (size_t cut = 0; cut < size; cut += cut < offset ? 17 : 1) {
        store_file(bytes, cut);
        assert_int_equal(open_at(offset, false), WEFT_DATA_LOSS);
    }
    store_file(bytes, size);
    expect(open_at(offset, true));
    free(bytes);
}

static void a_flipped_bit_is_found_in_the_index_and_in_the_blocks_if_asked(void **state)
{
    (void)state;
    uint64_t size;
    const uint64_t offset = write_file(&size);
    size_t whole;
    char *bytes = load_file(&whole);
    for (size_t bit = 0; bit < size * 8; bit += bit < offset * 8 ? 61 : 1) {
        bytes[bit / 8] = (char)(bytes[bit / 8] ^ 1 << bit % 8);
        store_file(bytes, size);
        assert_int_equal(open_at(offset, true), WEFT_DATA_LOSS);
        assert_int_equal(open_at(offset, false), bit / 8 < offset ? WEFT_OK : WEFT_DATA_LOSS);
        bytes[bit / 8] = (char)(bytes[bit / 8] ^ 1 << bit % 8);
    }
    free(bytes);
}

// A program that writes checksums may write anything: it is refused, or it is a run somewhere in
// the file.
static void nonsense_under_a_right_checksum_does_no_harm(void **state)
{
    (void)state;
    uint64_t size, seed = 77;
    const uint64_t offset = write_file(&size);
    size_t whole, refused = 0;
    char *bytes = load_file(&whole), *changed = malloc(whole);
    for (int round = 0; round < 3000; round++) {
        memcpy(changed, bytes, whole);
        for (size_t i = random_below(&seed, 3) + 1; i > 0; i--)
            changed[offset + 28 + random_below(&seed, size - offset - 28)] =
                (char)random_next(&seed);
        const uint32_t crc = crc32c(0, changed + offset + 8, size - offset - 8);
        memcpy(changed + offset + 4, &crc, 4);
        store_file(changed, whole);
        refused += open_at(offset, true) != WEFT_OK;
    }
    assert_true(refused > 2000);
    free(bytes);
    free(changed);
}

static int make_directory(void **state)
{
    (void)state;
    if (!mkdtemp(directory))
        return -1;
    snprintf(path, sizeof path, "%s/runs", directory);
    return 0;
}

static int remove_directory(void **state)
{
    (void)state;
    return file_remove_tree(directory) == WEFT_OK ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_is_found_by_another),
        cmocka_unit_test(an_index_without_runs_is_found),
        cmocka_unit_test(another_job_place_version_or_file_is_refused),
        cmocka_unit_test(a_file_that_is_cut_anywhere_is_refused),
        cmocka_unit_test(a_flipped_bit_is_found_in_the_index_and_in_the_blocks_if_asked),
        cmocka_unit_test(nonsense_under_a_right_checksum_does_no_harm),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
