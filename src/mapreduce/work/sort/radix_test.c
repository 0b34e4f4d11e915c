// Tests of sorting entries against qsort: all kinds of entries and keys, ties by task and by arrival.

#include "mapreduce/work/sort/radix.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mapreduce/work/sort/random_pairs.h"
#include "sys/machine/cpu.h"
#include "sys/thread/thread.h"

enum { COUNT_MAX = 20000 };

// An entry, and what the sort must find out about it.
struct known {
    struct entry entry;
    weft_bytes key;
    uint32_t task;
    size_t number;  // as it came
};

static struct known known[COUNT_MAX];
static struct entry entries[COUNT_MAX], scratch[COUNT_MAX];
static const struct key_order *current_order;

static int by_pair(const void *left, const void *right)
{
    const struct known *a = left, *b = right;
    const int by_key = key_order_keys(current_order, key_order_prefix(current_order, a->key),
                                      a->key, key_order_prefix(current_order, b->key), b->key);
    if (by_key)
        return by_key;
    if (a->task != b->task)
        return a->task < b->task ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

static struct entry record_entry(weft_bytes key, uint32_t task, uint64_t prefix)
{
    struct record *record = malloc(sizeof *record + key.size + 8);
    *record = (struct record){task, (uint32_t)key.size, 8, VALUE_INT};
    if (key.size)
        memcpy(record->bytes, key.data, key.size);
    memset(record->bytes + key.size, 0, 8);
    return (struct entry){prefix, ENTRY_RECORD | (uintptr_t)record};
}

// Takes over the key. `kinds` says which kinds of entries it may become.
enum { AS_RECORD = 1, AS_TEXT = 2, AS_VALUE = 4 };

static void know(size_t number, weft_bytes key, uint64_t *seed, unsigned kinds)
{
    const uint64_t prefix = key_order_prefix(current_order, key);
    struct known *one = &known[number];
    *one = (struct known){.key = key, .number = number};
    const bool may_be_value =
        kinds & AS_VALUE && key.size >= 1 && key.size <= 8 && key.data[key.size - 1];
    if (may_be_value && random_below(seed, 2)) {
        one->entry = (struct entry){prefix, random_below(seed, 1000)};
    } else if (kinds & AS_TEXT) {
        one->entry = entry_of_text(prefix, key);
    } else {
        one->task = (uint32_t)random_below(seed, 4);
        one->entry = record_entry(key, one->task, prefix);
    }
    entries[number] = one->entry;
}

// Entries that stand for the same pair may change places; a VALUE has nothing but its prefix.
static bool is_same_entry(struct entry a, struct entry b)
{
    if (a.prefix != b.prefix || entry_tag(a) != entry_tag(b))
        return false;
    return entry_tag(a) == ENTRY_VALUE || a.payload == b.payload;
}

static void forget(size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (entry_tag(known[i].entry) == ENTRY_RECORD)
            free(entry_record(known[i].entry));
        free((char *)known[i].key.data);
    }
}

// VALUE and RECORD entries of one key, both of task 0, are as good in either order.
static void check_sorted(size_t count)
{
    uint64_t sum_before = 0, sum_after = 0;
    for (size_t i = 0; i < count; i++)
        sum_before += entries[i].payload * 0x9e3779b97f4a7c15u;
    entries_sort(entries, scratch, count, current_order);
    qsort(known, count, sizeof *known, by_pair);
    for (size_t i = 0; i < count; i++) {
        char room[8];
        const weft_bytes key = entry_key(entries[i], room);
        sum_after += entries[i].payload * 0x9e3779b97f4a7c15u;
        if (!bytes_equal(key, known[i].key) || entries[i].prefix != known[i].entry.prefix ||
            entry_task(entries[i]) != known[i].task)
            fail_msg("entry %zu of %zu", i, count);
    }
    assert_int_equal(sum_before, sum_after);
}

// The same with all entries different: only entries of one kind.
static void check_sorted_exactly(size_t count)
{
    check_sorted(count);
    for (size_t i = 0; i < count; i++)
        if (!is_same_entry(entries[i], known[i].entry))
            fail_msg("entry %zu of %zu is another of the same key", i, count);
}

static weft_bytes key_with_prefix(uint64_t *seed, const char *prefix, size_t more_max,
                                  const char *alphabet, size_t letters)
{
    const size_t size = strlen(prefix);
    weft_bytes key = random_bytes(seed, size + random_below(seed, more_max + 1), alphabet, letters);
    memcpy((char *)key.data, prefix, size);
    return key;
}

static const size_t counts[] = {0, 1, 2, 3, 8, 9, 10, 27, 28, 29, 30, 100, 257, 3000};

static const struct key_order bytewise = {.compare = NULL};

static void sort_random(const struct key_order *order, unsigned kinds, uint64_t seed)
{
    current_order = order;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        for (size_t j = 0; j < counts[i]; j++)
            know(j, random_key(&seed), &seed, kinds);
        if (kinds & AS_VALUE)
            check_sorted(counts[i]);
        else
            check_sorted_exactly(counts[i]);
        forget(counts[i]);
    }
}

static void records_come_by_key_then_task_then_arrival(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++)
        sort_random(&bytewise, AS_RECORD, seed);
}

static void texts_come_by_key_then_arrival(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++)
        sort_random(&bytewise, AS_TEXT, seed);
}

static void folded_numbers_take_their_place_among_records(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        sort_random(&bytewise, AS_VALUE | AS_RECORD, seed);
        sort_random(&bytewise, AS_VALUE | AS_TEXT, seed);
    }
}

static void keys_that_differ_only_in_zeros_behind_come_by_size(void **state)
{
    (void)state;
    current_order = &bytewise;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        uint64_t random = seed;
        const size_t count = 2 + random_below(&random, 200);
        for (size_t i = 0; i < count; i++) {
            const size_t letters = random_below(&random, 10), zeros = random_below(&random, 30);
            weft_bytes key = random_bytes(&random, letters + zeros, "\0", 1);
            memset((char *)key.data, 'a', letters < 3 ? letters : 3);
            know(i, key, &random, AS_VALUE | AS_RECORD);
        }
        check_sorted(count);
        forget(count);
    }
}

static void long_common_beginnings_do_not_matter(void **state)
{
    (void)state;
    current_order = &bytewise;
    const char *const beginnings[] = {"http", "https://", "https://www.example.org/",
                                      "https://www.example.org/a/very/long/way/to/go/before/"};
    uint64_t seed = 7;
    for (size_t i = 0; i < 4; i++) {
        for (size_t j = 0; j < 3000; j++)
            know(j, key_with_prefix(&seed, beginnings[i], 12, "ab\0c", 4), &seed, AS_RECORD);
        check_sorted_exactly(3000);
        forget(3000);
    }
}

static void equal_keys_come_by_task_then_arrival(void **state)
{
    (void)state;
    current_order = &bytewise;
    uint64_t seed = 8;
    const char *const keys[] = {"", "a", "eight by", "nine byte", "much longer than sixteen bytes"};
    for (size_t i = 0; i < 5; i++) {
        for (size_t j = 0; j < 1000; j++)
            know(j, key_with_prefix(&seed, keys[i], 0, "", 1), &seed, AS_RECORD);
        check_sorted_exactly(1000);
        forget(1000);
    }
}

static void every_byte_of_a_prefix_may_decide(void **state)
{
    (void)state;
    current_order = &bytewise;
    uint64_t seed = 9;
    for (size_t place = 0; place < 12; place++) {
        for (size_t j = 0; j < 600; j++) {
            weft_bytes key = random_bytes(&seed, 12, "m", 1);
            ((char *)key.data)[place] = (char)random_next(&seed);
            know(j, key, &seed, AS_RECORD);
        }
        check_sorted_exactly(600);
        forget(600);
    }
}

static int backwards(weft_bytes a, weft_bytes b)
{
    return -bytes_compare(a, b);
}

static int by_size(weft_bytes a, weft_bytes b)
{
    return (a.size > b.size) - (a.size < b.size);
}

static void a_jobs_own_order_is_completed_by_the_bytes(void **state)
{
    (void)state;
    const struct key_order reversed = {.compare = backwards}, sized = {.compare = by_size};
    for (uint64_t seed = 1; seed <= 10; seed++) {
        sort_random(&reversed, AS_RECORD, seed);
        sort_random(&sized, AS_RECORD, seed);
        sort_random(&sized, AS_TEXT, seed);
    }
}

// ---- small groups

static void vectors_sort_small_groups_as_insertion_does(void **state)
{
    (void)state;
    if (cpu_isa() < CPU_AVX512)
        skip();
    uint64_t seed = 12;
    for (size_t count = 1; count <= 32; count++) {
        for (uint64_t different = 1; different < 100; different *= 3) {
            struct entry sorted[32];
            for (size_t i = 0; i < count; i++) {
                const uint64_t prefix = random_below(&seed, different) - different / 2;
                entries[i] = (struct entry){prefix, i};
                size_t at = i;
                for (; at && sorted[at - 1].prefix > prefix; at--)
                    sorted[at] = sorted[at - 1];
                sorted[at] = entries[i];
            }
            entries[count] = (struct entry){1, 2};  // not its own
            radix_small_avx512(entries, count);
            assert_memory_equal(entries, sorted, count * sizeof *entries);
            assert_true(entries[count].prefix == 1 && entries[count].payload == 2);
        }
    }
}

// ---- wide entries

static int by_words(const void *left, const void *right)
{
    const struct wide_entry *a = left, *b = right;
    if (a->high != b->high)
        return a->high < b->high ? -1 : 1;
    return (a->low > b->low) - (a->low < b->low);
}

static void wide_entries_come_in_the_order_of_their_bytes(void **state)
{
    (void)state;
    static struct wide_entry wides[3000], expected[3000], room[3000];
    uint64_t seed = 10;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        for (uint32_t high_bits = 0; high_bits <= 64; high_bits += 8) {
            const size_t count = counts[i];
            for (size_t j = 0; j < count; j++) {
                const uint64_t mask = high_bits ? UINT64_MAX >> (64 - high_bits) : 0;
                wides[j] = (struct wide_entry){random_next(&seed) & mask,
                                               random_next(&seed) >> (seed % 3 * 24)};
            }
            memcpy(expected, wides, count * sizeof *wides);
            qsort(expected, count, sizeof *expected, by_words);
            wide_sort(wides, room, count);
            assert_memory_equal(wides, expected, count * sizeof *wides);
        }
    }
}

// ---- stacks

static void sort_known(void *count)
{
    entries_sort(entries, scratch, *(size_t *)count, current_order);
}

// Lines of megabytes that are the same must not cost a call per 8 bytes.
static void long_equal_keys_need_no_deep_stack(void **state)
{
    (void)state;
    current_order = &bytewise;
    uint64_t seed = 11;
    size_t count = 16;
    for (size_t i = 0; i < count; i++) {
        weft_bytes key = random_bytes(&seed, 0, NULL, 0);
        key = (weft_bytes){realloc((char *)key.data, 1 << 20), 1 << 20};
        memset((char *)key.data, 'x', key.size);
        ((char *)key.data)[key.size - 1] = (char)(i % 3);
        know(i, key, &seed, AS_RECORD);
    }
    struct thread thread;
    assert_int_equal(thread_start(&thread, sort_known, &count, 2 << 20), WEFT_OK);
    thread_join(&thread);
    check_sorted_exactly(count);  // sorting sorted entries changes nothing
    forget(count);
}

static int run_all(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_come_by_key_then_task_then_arrival),
        cmocka_unit_test(texts_come_by_key_then_arrival),
        cmocka_unit_test(folded_numbers_take_their_place_among_records),
        cmocka_unit_test(keys_that_differ_only_in_zeros_behind_come_by_size),
        cmocka_unit_test(long_common_beginnings_do_not_matter),
        cmocka_unit_test(equal_keys_come_by_task_then_arrival),
        cmocka_unit_test(every_byte_of_a_prefix_may_decide),
        cmocka_unit_test(a_jobs_own_order_is_completed_by_the_bytes),
        cmocka_unit_test(wide_entries_come_in_the_order_of_their_bytes),
        cmocka_unit_test(long_equal_keys_need_no_deep_stack),
        cmocka_unit_test(vectors_sort_small_groups_as_insertion_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// Once as on a machine without vectors, once with the vector unit of this machine.
int main(void)
{
    int status = 1;
    const pid_t child = fork();
    if (child == 0) {
        setenv("WEFT_ISA", "plain", 1);
        return run_all();
    }
    if (waitpid(child, &status, 0) != child || status)
        return 1;
    return run_all();
}
