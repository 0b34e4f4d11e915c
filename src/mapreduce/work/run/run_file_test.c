// Tests of runs: written pairs come back, and damaged ones are never believed.

#include "mapreduce/work/run/run_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "mapreduce/work/sort/random_pairs.h"
#include "sys/file/file.h"
#include "sys/thread/thread.h"

static const struct key_order bytewise;

static weft_err write_run(struct spill *spill, const struct random_pairs *pairs, size_t block_bytes,
                          struct run *run)
{
    struct run_writer *writer = run_writer_new(spill, 1, block_bytes);
    assert_non_null(writer);
    weft_err err = run_writer_begin_range(writer, 0);
    for (size_t i = 0; i < pairs->count && !err; i++)
        err = run_writer_add(writer, &pairs->items[i]);
    if (!err)
        return run_writer_finish(writer, run);
    run_writer_cancel(writer);
    *run = (struct run){0};
    return err;
}

// Reads a range to its end or first failure; *count is how many pairs were as expected, and any
// other pair fails the test.
static weft_err read_range(const struct run *run, uint32_t range, const struct pair *expected,
                           size_t *count)
{
    struct run_reader *reader = run_reader_new(run, range, &bytewise);
    assert_non_null(reader);
    weft_err err;
    *count = 0;
    for (struct pair pair;; ++*count) {
        bool has_pair = false;
        err = run_reader_next(reader, &pair, &has_pair);
        if (err || !has_pair)
            break;
        assert_true(*count < run->segments[range].pair_count);
        assert_true(pair_is_same(&pair, &expected[*count]));
    }
    run_reader_free(reader);
    return err;
}

static void pairs_of_every_kind_come_back(void **state)
{
    (void)state;
    for (uint64_t round = 0; round < 40; round++) {
        uint64_t seed = round;
        struct spill spill;
        assert_int_equal(spill_open(&spill, "/tmp"), WEFT_OK);
        struct random_pairs pairs = random_pairs_new(&seed, random_below(&seed, 400), 300);
        struct run run;
        const size_t block_bytes = (size_t)1 << (8 + round % 9);
        assert_int_equal(write_run(&spill, &pairs, block_bytes, &run), WEFT_OK);
        assert_int_equal(run.pair_count, pairs.count);
        assert_int_equal(run.size, spill.size);
        size_t count;
        assert_int_equal(read_range(&run, 0, pairs.items, &count), WEFT_OK);
        assert_int_equal(count, pairs.count);
        run_fini(&run);
        random_pairs_free(&pairs);
        spill_close(&spill);
    }
}

static void extreme_numbers_and_tasks_come_back(void **state)
{
    (void)state;
    struct pair items[] = {
        {.type = VALUE_INT, .number = INT64_MIN, .task = UINT32_MAX},
        {.type = VALUE_INT, .number = INT64_MAX, .task = 0},
        {.type = VALUE_INT, .number = -1, .task = 127},
        {.type = VALUE_INT, .number = 0, .task = 128},
        {.type = VALUE_BYTES, .bytes = {"", 0}, .task = 128},
        {.type = VALUE_DOUBLE, .number = INT64_MIN},
    };
    const struct random_pairs pairs = {items, sizeof items / sizeof *items};
    struct spill spill;
    assert_int_equal(spill_open(&spill, "/tmp"), WEFT_OK);
    struct run run;
    assert_int_equal(write_run(&spill, &pairs, 4096, &run), WEFT_OK);
    size_t count;
    assert_int_equal(read_range(&run, 0, items, &count), WEFT_OK);
    assert_int_equal(count, pairs.count);
    run_fini(&run);
    spill_close(&spill);
}

static void ranges_left_out_are_empty_and_runs_share_a_file(void **state)
{
    (void)state;
    uint64_t seed = 7;
    struct random_pairs pairs = random_pairs_new(&seed, 60, 5);
    struct spill spill;
    assert_int_equal(spill_open(&spill, "/tmp"), WEFT_OK);
    struct run runs[2];
    for (size_t r = 0; r < 2; r++) {
        struct run_writer *writer = run_writer_new(&spill, 6, 512);
        for (uint32_t range = 1; range < 6; range += 2) {
            assert_int_equal(run_writer_begin_range(writer, range), WEFT_OK);
            for (size_t i = 10 * range; range != 3 && i < 10 * range + 10; i++)
                assert_int_equal(run_writer_add(writer, &pairs.items[i]), WEFT_OK);
        }
        assert_int_equal(run_writer_finish(writer, &runs[r]), WEFT_OK);
    }
    for (size_t r = 0; r < 2; r++) {
        for (uint32_t range = 0; range < 6; range++) {
            size_t count;
            assert_int_equal(read_range(&runs[r], range, pairs.items + 10 * range, &count),
                             WEFT_OK);
            assert_int_equal(count, range == 1 || range == 5 ? 10 : 0);
        }
        assert_int_equal(runs[r].pair_count, 20);
    }
    assert_int_equal(runs[0].size + runs[1].size, spill.size);
    run_fini(&runs[0]);
    run_fini(&runs[1]);
    random_pairs_free(&pairs);
    spill_close(&spill);
}

static void a_pair_far_larger_than_a_block_comes_back_between_small_ones(void **state)
{
    (void)state;
    enum { HUGE = 40 << 20 };
    char *key = malloc(HUGE), *value = malloc(HUGE);
    memset(key, 'k', HUGE);
    memset(value, 'v', HUGE);
    struct pair items[] = {
        {.key = {"a", 1}, .type = VALUE_NONE, .task = 9},
        {.key = {key, HUGE}, .bytes = {value, HUGE}, .type = VALUE_BYTES, .task = 9},
        {.key = {key, HUGE}, .type = VALUE_INT, .number = 5, .task = 10},
        {.key = {"z", 1}, .bytes = {value, HUGE - 1}, .type = VALUE_SUM},
        {.key = {"zz", 2}, .type = VALUE_NONE},
    };
    for (size_t i = 0; i < 5; i++)
        items[i].prefix = bytes_prefix(items[i].key);
    const struct random_pairs pairs = {items, 5};
    struct spill spill;
    assert_int_equal(spill_open(&spill, "/tmp"), WEFT_OK);
    struct run run;
    assert_int_equal(write_run(&spill, &pairs, 65536, &run), WEFT_OK);
    size_t count;
    assert_int_equal(read_range(&run, 0, items, &count), WEFT_OK);
    assert_int_equal(count, 5);
    run_fini(&run);
    spill_close(&spill);
    free(key);
    free(value);
}

static int compare_backwards(weft_bytes a, weft_bytes b)
{
    return bytes_compare(b, a);
}

static void a_users_order_has_no_prefix(void **state)
{
    (void)state;
    const struct key_order backwards = {.compare = compare_backwards};
    struct pair item = {.key = {"hello", 5}, .type = VALUE_NONE};
    const struct random_pairs pairs = {&item, 1};
    struct spill spill;
    assert_int_equal(spill_open(&spill, "/tmp"), WEFT_OK);
    struct run run;
    assert_int_equal(write_run(&spill, &pairs, 4096, &run), WEFT_OK);
    struct run_reader *reader = run_reader_new(&run, 0, &backwards);
    struct pair pair;
    bool has_pair;
    assert_int_equal(run_reader_next(reader, &pair, &has_pair), WEFT_OK);
    assert_true(has_pair && bytes_equal(pair.key, item.key));
    assert_int_equal(pair.prefix, 0);
    run_reader_free(reader);
    run_fini(&run);
    spill_close(&spill);
}

static void a_cancelled_run_gives_its_room_back(void **state)
{
    (void)state;
    uint64_t seed = 11;
    struct random_pairs pairs = random_pairs_new(&seed, 200, 5);
    struct spill spill;
    assert_int_equal(spill_open(&spill, "/tmp"), WEFT_OK);
    struct run first, second;
    assert_int_equal(write_run(&spill, &pairs, 512, &first), WEFT_OK);
    const uint64_t size = spill.size;
    struct run_writer *writer = run_writer_new(&spill, 1, 512);
    assert_int_equal(run_writer_begin_range(writer, 0), WEFT_OK);
    for (size_t i = 0; i < pairs.count; i++)
        assert_int_equal(run_writer_add(writer, &pairs.items[i]), WEFT_OK);
    assert_true(spill.size > size);
    run_writer_cancel(writer);
    assert_int_equal(spill.size, size);
    assert_int_equal(write_run(&spill, &pairs, 1024, &second), WEFT_OK);
    size_t count;
    assert_int_equal(read_range(&first, 0, pairs.items, &count), WEFT_OK);
    assert_int_equal(read_range(&second, 0, pairs.items, &count), WEFT_OK);
    run_fini(&first);
    run_fini(&second);
    random_pairs_free(&pairs);
    spill_close(&spill);
}

struct reading {
    struct thread thread;
    const struct run *run;
    const struct pair *expected;
    uint32_t bad_count;
};

static void read_in_thread(void *argument)
{
    struct reading *reading = argument;
    struct run_reader *reader = run_reader_new(reading->run, 0, &bytewise);
    struct pair pair;
    bool has_pair = true;
    for (size_t i = 0; has_pair; i++) {
        if (run_reader_next(reader, &pair, &has_pair) != WEFT_OK)
            reading->bad_count++, has_pair = false;
        else if (has_pair && !pair_is_same(&pair, &reading->expected[i]))
            reading->bad_count++;
    }
    run_reader_free(reader);
}

static void threads_read_one_file_while_its_owner_goes_on_writing(void **state)
{
    (void)state;
    enum { READERS = 3 };
    uint64_t seed = 13;
    struct random_pairs pairs = random_pairs_new(&seed, 2000, 5);
    struct spill spill;
    assert_int_equal(spill_open(&spill, "/tmp"), WEFT_OK);
    struct run first, second;
    assert_int_equal(write_run(&spill, &pairs, 4096, &first), WEFT_OK);
    struct reading readings[READERS];
    for (int i = 0; i < READERS; i++) {
        readings[i] = (struct reading){.run = &first, .expected = pairs.items};
        assert_int_equal(thread_start(&readings[i].thread, read_in_thread, &readings[i], 0),
                         WEFT_OK);
    }
    assert_int_equal(write_run(&spill, &pairs, 512, &second), WEFT_OK);
    for (int i = 0; i < READERS; i++) {
        thread_join(&readings[i].thread);
        assert_int_equal(readings[i].bad_count, 0);
    }
    run_fini(&first);
    run_fini(&second);
    random_pairs_free(&pairs);
    spill_close(&spill);
}

// ---- Damage -------------------------------------------------------------------------------------

struct damage {
    struct spill spill;
    struct run run;
    struct random_pairs pairs;
};

static void damage_init(struct damage *damage, size_t pair_count)
{
    uint64_t seed = 3;
    damage->pairs = random_pairs_new(&seed, pair_count, 200);
    assert_int_equal(spill_open(&damage->spill, "/tmp"), WEFT_OK);
    assert_int_equal(write_run(&damage->spill, &damage->pairs, 300, &damage->run), WEFT_OK);
}

static void damage_fini(struct damage *damage)
{
    run_fini(&damage->run);
    random_pairs_free(&damage->pairs);
    spill_close(&damage->spill);
}

static void every_flipped_byte_is_data_loss(void **state)
{
    (void)state;
    struct damage damage;
    damage_init(&damage, 12);
    size_t count;
    for (uint64_t at = 0; at < damage.run.size; at++) {
        unsigned char byte, flipped;
        assert_int_equal(pread(damage.spill.fd, &byte, 1, (off_t)at), 1);
        flipped = byte ^ (unsigned char)(1u << at % 8);
        assert_int_equal(pwrite(damage.spill.fd, &flipped, 1, (off_t)at), 1);
        assert_int_equal(read_range(&damage.run, 0, damage.pairs.items, &count), WEFT_DATA_LOSS);
        assert_true(count < damage.pairs.count);
        assert_non_null(strstr(err_text(), "spilled data in /tmp is damaged at offset"));
        assert_int_equal(pwrite(damage.spill.fd, &byte, 1, (off_t)at), 1);
    }
    assert_int_equal(read_range(&damage.run, 0, damage.pairs.items, &count), WEFT_OK);
    assert_int_equal(count, damage.pairs.count);
    damage_fini(&damage);
}

static void a_cut_file_is_data_loss_at_its_end(void **state)
{
    (void)state;
    struct damage damage;
    damage_init(&damage, 30);
    for (uint64_t size = damage.run.size; size-- > 0;) {
        assert_int_equal(ftruncate(damage.spill.fd, (off_t)size), 0);
        size_t count;
        assert_int_equal(read_range(&damage.run, 0, damage.pairs.items, &count), WEFT_DATA_LOSS);
        char place[64];
        snprintf(place, sizeof place, "offset %llu:", (unsigned long long)size);
        assert_non_null(strstr(err_text(), place));
        size -= size > 2000 ? 97 : 0;
    }
    damage_fini(&damage);
}

static void a_block_in_the_wrong_place_is_refused(void **state)
{
    (void)state;
    struct damage damage;
    damage_init(&damage, 30);
    // The whole segment again, right after itself: every block is sound, none is where it says.
    char *bytes = malloc(damage.run.size);
    assert_int_equal(pread(damage.spill.fd, bytes, damage.run.size, 0), (ssize_t)damage.run.size);
    assert_int_equal(pwrite(damage.spill.fd, bytes, damage.run.size, (off_t)damage.run.size),
                     (ssize_t)damage.run.size);
    damage.run.segments[0].offset += damage.run.size;
    size_t count;
    assert_int_equal(read_range(&damage.run, 0, damage.pairs.items, &count), WEFT_DATA_LOSS);
    assert_int_equal(count, 0);
    assert_non_null(strstr(err_text(), "belongs elsewhere"));
    free(bytes);
    damage_fini(&damage);
}

static void a_lost_block_is_missed(void **state)
{
    (void)state;
    struct damage damage;
    damage_init(&damage, 30);
    damage.run.segments[0].pair_count++;
    size_t count;
    assert_int_equal(read_range(&damage.run, 0, damage.pairs.items, &count), WEFT_DATA_LOSS);
    assert_non_null(strstr(err_text(), "pairs are missing"));
    damage_fini(&damage);
}

// ---- A full disk --------------------------------------------------------------------------------

static void a_full_disk_says_where_and_what_to_do(void **state)
{
    (void)state;
    uint64_t seed = 5;
    struct random_pairs pairs = random_pairs_new(&seed, 100, 5);
    struct spill spill = {.fd = open("/dev/full", O_RDWR | O_CLOEXEC),
                          .size = 25000000,
                          .directory = strdup("/some/where")};
    struct run run;
    assert_int_equal(write_run(&spill, &pairs, 512, &run), WEFT_RESOURCE_EXHAUSTED);
    assert_string_equal(err_text(), "no room in /some/where for spilled data (25 MB so far); free "
                                    "some or give --tmp another directory");
    assert_int_equal(spill.size, 25000000);
    // So small that only the end writes it.
    pairs.items[0].type = VALUE_NONE;
    const struct random_pairs one = {pairs.items, 1};
    assert_int_equal(write_run(&spill, &one, 1 << 20, &run), WEFT_RESOURCE_EXHAUSTED);
    random_pairs_free(&pairs);
    spill_close(&spill);
}

static void a_write_cut_short_fails_and_the_next_run_is_whole(void **state)
{
    (void)state;
    uint64_t seed = 6;
    struct random_pairs pairs = random_pairs_new(&seed, 300, 5);
    struct spill spill;
    assert_int_equal(spill_open(&spill, "/tmp"), WEFT_OK);
    struct rlimit old;
    getrlimit(RLIMIT_FSIZE, &old);
    const struct rlimit small = {5000, old.rlim_max};
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    struct run run;
    const weft_err err = write_run(&spill, &pairs, 2048, &run);
    setrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, before);
    assert_int_equal(err, WEFT_RESOURCE_EXHAUSTED);
    assert_int_equal(spill.size, 0);
    assert_int_equal(write_run(&spill, &pairs, 2048, &run), WEFT_OK);
    size_t count;
    assert_int_equal(read_range(&run, 0, pairs.items, &count), WEFT_OK);
    assert_int_equal(count, pairs.count);
    run_fini(&run);
    random_pairs_free(&pairs);
    spill_close(&spill);
}

static void a_missing_directory_is_told(void **state)
{
    (void)state;
    struct spill spill;
    assert_int_equal(spill_open(&spill, "/nowhere/at/all"), WEFT_NOT_FOUND);
    assert_non_null(strstr(err_text(), "/nowhere/at/all"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_of_every_kind_come_back),
        cmocka_unit_test(extreme_numbers_and_tasks_come_back),
        cmocka_unit_test(ranges_left_out_are_empty_and_runs_share_a_file),
        cmocka_unit_test(a_pair_far_larger_than_a_block_comes_back_between_small_ones),
        cmocka_unit_test(a_users_order_has_no_prefix),
        cmocka_unit_test(a_cancelled_run_gives_its_room_back),
        cmocka_unit_test(threads_read_one_file_while_its_owner_goes_on_writing),
        cmocka_unit_test(every_flipped_byte_is_data_loss),
        cmocka_unit_test(a_cut_file_is_data_loss_at_its_end),
        cmocka_unit_test(a_block_in_the_wrong_place_is_refused),
        cmocka_unit_test(a_lost_block_is_missed),
        cmocka_unit_test(a_full_disk_says_where_and_what_to_do),
        cmocka_unit_test(a_write_cut_short_fails_and_the_next_run_is_whole),
        cmocka_unit_test(a_missing_directory_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
