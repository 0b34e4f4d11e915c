// Tests of memory against a budget, and of mapped files, also of those that become shorter.

#include "sys/machine/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/thread/thread.h"

enum { PAGE = 4096, MIB = 1 << 20, EXIT_OF_EARLIER_HANDLER = 44 };

// ---- budgets

static void sizes_are_rounded_up_to_whole_pages_once(void **state)
{
    (void)state;
    assert_int_equal(mem_round(0), 0);
    assert_int_equal(mem_round(1), PAGE);
    assert_int_equal(mem_round(PAGE), PAGE);
    assert_int_equal(mem_round(PAGE + 1), 2 * PAGE);
    for (size_t size = 1; size < 100 * MIB; size += 77777) {
        const size_t rounded = mem_round(size);
        assert_true(rounded >= size && rounded - size < MEM_HUGE_PAGE);
        assert_int_equal(rounded % PAGE, 0);
        assert_int_equal(mem_round(rounded), rounded);
        assert_true(mem_round(size + 1) >= rounded);
    }
}

static void memory_is_zero_counted_and_comes_back(void **state)
{
    (void)state;
    struct mem_budget budget = {0};
    const size_t sizes[] = {1,           100,         PAGE,         PAGE + 1,     MIB,
                            MIB + 1,     2 * MIB - 1, 2 * MIB,      2 * MIB + 1,  3 * MIB,
                            4 * MIB + 1, 7 * MIB,     16 * MIB + 1, 17 * MIB + 5, 1};
    uint64_t largest = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        unsigned char *memory = mem_get(&budget, sizes[i]);
        assert_non_null(memory);
        assert_int_equal(budget.used, mem_round(sizes[i]));
        largest = budget.used > largest ? budget.used : largest;
        for (size_t at = 0; at < mem_round(sizes[i]); at += 511)
            assert_int_equal(memory[at], 0);
        memset(memory, 0xff, mem_round(sizes[i]));  // the whole rounded size is ours
        mem_put(&budget, memory, sizes[i]);
        assert_int_equal(budget.used, 0);
    }
    mem_put(&budget, NULL, 12345);
    assert_int_equal(budget.used, 0);
    assert_int_equal(budget.peak, largest);
}

static void large_memory_begins_at_a_huge_page(void **state)
{
    (void)state;
    struct mem_budget budget = {0};
    for (size_t size = 2 * MIB; size < 9 * MIB; size += MIB + PAGE) {
        char *memory = mem_get(&budget, size);
        assert_non_null(memory);
        assert_int_equal((uintptr_t)memory % MEM_HUGE_PAGE, 0);
        memory[size - 1] = 1;
        mem_put(&budget, memory, size);
        assert_int_equal(budget.used, 0);
    }
}

// Tables that have grown are given on in pieces.
static void memory_may_come_back_in_pieces_of_whole_pages(void **state)
{
    (void)state;
    struct mem_budget budget = {0};
    char *memory = mem_get(&budget, 4 * MIB);
    assert_non_null(memory);
    for (size_t at = 0; at < 4 * MIB; at += 64 << 10)
        mem_put(&budget, memory + at, 64 << 10);
    assert_int_equal(budget.used, 0);
}

static void a_budget_refuses_what_would_go_beyond_it(void **state)
{
    (void)state;
    struct mem_budget budget = {.limit = 10 * PAGE};
    void *six = mem_get(&budget, 6 * PAGE);
    assert_non_null(six);
    assert_true(mem_would_fit(&budget, 4 * PAGE));
    assert_false(mem_would_fit(&budget, 4 * PAGE + 1));
    assert_null(mem_get(&budget, 4 * PAGE + 1));
    assert_int_equal(budget.used, 6 * PAGE);
    void *four = mem_get(&budget, 4 * PAGE);
    assert_non_null(four);
    assert_null(mem_get(&budget, 1));
    mem_put(&budget, six, 6 * PAGE);
    six = mem_get(&budget, 6 * PAGE);
    assert_non_null(six);
    mem_put(&budget, six, 6 * PAGE);
    mem_put(&budget, four, 4 * PAGE);
    assert_int_equal(budget.used, 0);
    assert_int_equal(budget.peak, 10 * PAGE);
}

static void sizes_no_machine_has_are_refused_and_not_counted(void **state)
{
    (void)state;
    struct mem_budget budget = {0};
    assert_null(mem_get(&budget, SIZE_MAX));
    assert_null(mem_get(&budget, SIZE_MAX / 2));
    assert_int_equal(budget.used, 0);
}

static struct mem_budget shared = {.limit = 64 * PAGE};

static void take_and_give(void *argument)
{
    uint64_t seed = (uint64_t)(uintptr_t)argument * 977;
    struct {
        void *memory;
        size_t size;
    } held[8] = {0};
    for (int i = 0; i < 4000; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        const size_t at = seed >> 61, size = ((seed >> 40) % 20 + 1) * PAGE;
        mem_put(&shared, held[at].memory, held[at].size);
        held[at].memory = mem_get(&shared, size);
        held[at].size = size;
    }
    for (size_t i = 0; i < 8; i++)
        mem_put(&shared, held[i].memory, held[i].size);
}

static void threads_that_share_a_budget_never_pass_it(void **state)
{
    (void)state;
    struct thread threads[4];
    for (uintptr_t i = 0; i < 4; i++)
        assert_int_equal(thread_start(&threads[i], take_and_give, (void *)(i + 1), 0), WEFT_OK);
    for (size_t i = 0; i < 4; i++)
        thread_join(&threads[i]);
    assert_int_equal(shared.used, 0);
    assert_true(shared.peak <= shared.limit);
    assert_true(shared.peak > shared.limit / 2);
}

static void resident_memory_grows_with_what_is_touched(void **state)
{
    (void)state;
    struct mem_budget budget = {0};
    const uint64_t before = mem_resident_bytes();
    if (before == 0)
        skip();  // under a sanitizer nothing can be said
    assert_true(before > 0);
    char *memory = mem_get(&budget, 32 * MIB);
    assert_non_null(memory);
    memset(memory, 1, 32 * MIB);
    assert_true(mem_resident_bytes() >= before + 24 * MIB);
    mem_put(&budget, memory, 32 * MIB);
}

// ---- mapped files

static char path[] = "/tmp/weft-mem-test-XXXXXX", other_path[] = "/tmp/weft-mem-test-XXXXXX";
static int file, other_file;
static struct sigaction our_handler;  // cmocka puts its own in place before every test

static void write_file(size_t size)
{
    assert_int_equal(ftruncate(file, 0), 0);
    char *text = malloc(size + 1);
    memset(text, 'x', size);
    for (size_t i = 0; i < size; i += 100)
        text[i] = (char)('a' + i % 26);
    assert_int_equal(pwrite(file, text, size, 0), (ssize_t)size);
    free(text);
}

static void a_mapped_file_reads_as_it_is_with_zeros_behind(void **state)
{
    (void)state;
    const size_t sizes[] = {0,        1,      63,       64,       PAGE - 64,
                            PAGE - 1, PAGE,   PAGE + 1, 2 * PAGE, 3 * PAGE - 63,
                            5 * PAGE, 3000000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct mem_map map;
        write_file(sizes[i]);
        assert_int_equal(mem_map_open(&map, path), WEFT_OK);
        assert_int_equal(map.size, sizes[i]);
        for (size_t at = 0; at < map.size; at++)
            if (map.data[at] != (at % 100 ? 'x' : (char)('a' + at % 26)))
                fail_msg("byte %zu of %zu", at, map.size);
        for (size_t at = 0; at < 64; at++)
            assert_int_equal(map.data[map.size + at], 0);
        mem_map_populate(&map, 0, map.size + 100000);
        mem_map_populate(&map, map.size, map.size);
        assert_false(mem_map_is_cut(&map));
        mem_map_close(&map);
        mem_map_close(&map);  // once more does nothing
    }
}

static void a_missing_file_cannot_be_mapped(void **state)
{
    (void)state;
    struct mem_map map;
    assert_int_equal(mem_map_open(&map, "/nowhere/at/all"), WEFT_NOT_FOUND);
    assert_non_null(strstr(err_text(), "/nowhere/at/all"));
    mem_map_close(&map);
}

static int64_t sum_of(const char *data, size_t size)
{
    int64_t sum = 0;
    for (size_t i = 0; i < size; i++)
        sum += data[i];
    return sum;
}

static void touching_memory_leaves_its_content(void **state)
{
    enum { SIZE = 1 << 20 };
    (void)state;
    struct mem_budget budget = {0};
    char *memory = mem_get(&budget, SIZE);
    assert_non_null(memory);
    memory[5000] = 'x';
    mem_touch(memory + 4999, SIZE - 4999);
    mem_touch(memory + 5001, 10);
    mem_touch(memory, 0);
    assert_int_equal(memory[5000], 'x');
    assert_int_equal(memory[5001], 0);
    assert_int_equal(memory[SIZE - 1], 0);
    mem_put(&budget, memory, SIZE);
}

static void check_cut(size_t size, size_t left)
{
    struct mem_map map, other;
    write_file(size);
    assert_int_equal(mem_map_open(&map, path), WEFT_OK);
    assert_int_equal(mem_map_open(&other, other_path), WEFT_OK);
    const int64_t sum = sum_of(map.data, left);
    assert_int_equal(ftruncate(file, (off_t)left), 0);
    mem_map_populate(&map, 0, size);
    assert_int_equal(sum_of(map.data, left), sum);
    assert_int_equal(sum_of(map.data + left, size + 64 - left), 0);
    assert_true(mem_map_is_cut(&map));
    assert_false(mem_map_is_cut(&other));
    mem_map_close(&map);
    write_file(size);  // the next mapping in its place is whole
    assert_int_equal(mem_map_open(&map, path), WEFT_OK);
    sum_of(map.data, size);
    assert_false(mem_map_is_cut(&map));
    mem_map_close(&map);
    mem_map_close(&other);
}

static void a_file_that_shrinks_reads_as_zeros_and_is_told(void **state)
{
    (void)state;
    sigaction(SIGBUS, &our_handler, NULL);
    check_cut(100 * PAGE, 3 * PAGE);
    check_cut(100 * PAGE, 3 * PAGE + 17);
    check_cut(100 * PAGE + 5, 0);
    check_cut(PAGE, 0);
    check_cut(5, 0);
}

static void a_file_that_loses_part_of_a_page_is_told(void **state)
{
    (void)state;
    sigaction(SIGBUS, &our_handler, NULL);
    check_cut(10 * PAGE + 1000, 10 * PAGE + 999);
    check_cut(10 * PAGE, 9 * PAGE + 1);
    check_cut(5, 4);
}

static void a_cut_nobody_could_notice_is_not_risked(void **state)
{
    (void)state;
    struct mem_map map;
    write_file(PAGE + 10);
    assert_int_equal(pwrite(file, "", 1, PAGE + 9), 1);
    assert_int_equal(mem_map_open(&map, path), WEFT_FAILED_PRECONDITION);
    assert_non_null(strstr(err_text(), path));
    assert_null(map.data);
}

// A child that touches a page after the end of a file that we do not watch.
static void a_fault_in_other_memory_goes_to_who_had_the_signal_before(void **state)
{
    (void)state;
    assert_int_equal(ftruncate(file, 0), 0);
    const pid_t child = fork();
    if (child == 0) {
        sigaction(SIGBUS, &our_handler, NULL);
        const volatile char *foreign = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, file, 0);
        _exit(foreign[0] ? 2 : 3);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), EXIT_OF_EARLIER_HANDLER);
}

static void closed_mappings_leave_their_places_to_others(void **state)
{
    (void)state;
    struct mem_map *maps = calloc(1000, sizeof *maps);
    write_file(10);
    for (int round = 0; round < 20; round++) {
        for (size_t i = 0; i < 1000; i++)
            assert_int_equal(mem_map_open(&maps[i], path), WEFT_OK);
        assert_true(maps[999].registered < 1001);
        for (size_t i = 0; i < 1000; i++)
            mem_map_close(&maps[i]);
    }
    free(maps);
}

static void earlier_handler(int number)
{
    (void)number;
    _exit(EXIT_OF_EARLIER_HANDLER);
}

int main(void)
{
    file = mkstemp(path);
    signal(SIGBUS, earlier_handler);
    struct mem_map map;
    other_file = mkstemp(other_path);
    if (file < 0 || pwrite(other_file, "other", 5, 0) != 5 || mem_map_open(&map, "/dev/null"))
        return 1;
    mem_map_close(&map);
    sigaction(SIGBUS, NULL, &our_handler);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_rounded_up_to_whole_pages_once),
        cmocka_unit_test(memory_is_zero_counted_and_comes_back),
        cmocka_unit_test(large_memory_begins_at_a_huge_page),
        cmocka_unit_test(memory_may_come_back_in_pieces_of_whole_pages),
        cmocka_unit_test(a_budget_refuses_what_would_go_beyond_it),
        cmocka_unit_test(sizes_no_machine_has_are_refused_and_not_counted),
        cmocka_unit_test(threads_that_share_a_budget_never_pass_it),
        cmocka_unit_test(resident_memory_grows_with_what_is_touched),
        cmocka_unit_test(touching_memory_leaves_its_content),
        cmocka_unit_test(a_mapped_file_reads_as_it_is_with_zeros_behind),
        cmocka_unit_test(a_missing_file_cannot_be_mapped),
        cmocka_unit_test(a_file_that_shrinks_reads_as_zeros_and_is_told),
        cmocka_unit_test(a_file_that_loses_part_of_a_page_is_told),
        cmocka_unit_test(a_cut_nobody_could_notice_is_not_risked),
        cmocka_unit_test(a_fault_in_other_memory_goes_to_who_had_the_signal_before),
        cmocka_unit_test(closed_mappings_leave_their_places_to_others),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    unlink(other_path);
    return failed;
}
