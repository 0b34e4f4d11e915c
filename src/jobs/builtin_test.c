// Tests of what the built-in jobs share: the list, and the lines of a block.

#include "jobs/builtin.h"
#include "jobs/lines.h"

#include "base/bytes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static uint64_t seed = 3;

static uint64_t next_random(void)
{
    uint64_t z = seed += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void jobs_are_found_by_name(void **unused)
{
    (void)unused;
    size_t count = 0;
    for (const weft_job *const *job = builtin_jobs; *job; job++, count++)
        assert_ptr_equal(builtin_find((*job)->name), *job);
    assert_int_equal(count, 5);
    assert_ptr_equal(builtin_find("grep"), &builtin_grep);
    assert_null(builtin_find("wordcoun"));
    assert_null(builtin_find(""));
}

static void every_job_says_what_it_does_in_its_first_line(void **unused)
{
    (void)unused;
    for (const weft_job *const *job = builtin_jobs; *job; job++) {
        const char *end = strchr((*job)->usage, '\n');
        assert_non_null(end);
        assert_true(end - (*job)->usage < 100);
        assert_true((*job)->map_block && (*job)->options);
        // Every letter is explained.
        for (const char *letter = (*job)->options; *letter; letter++) {
            const char named[] = {'-', *letter, ' ', 0};
            assert_true(*letter == ':' || strstr((*job)->usage, named));
        }
    }
}

static void the_lines_of_a_block_are_those_of_weft_next_line(void **unused)
{
    (void)unused;
    for (int round = 0; round < 20000; round++) {
        const size_t size = next_random() % 400;
        const uint64_t density = 1 + next_random() % 100;
        char *text = malloc(size + 1);  // of its own, so that a read beyond it is seen
        for (size_t i = 0; i < size; i++)
            text[i] = next_random() % density ? 'x' : '\n';
        weft_bytes rest = {text, size}, expected, line;
        struct lines lines;
        lines_init_plain(&lines, rest);
        while (weft_next_line(&rest, &expected)) {
            assert_true(lines_next(&lines, &line));
            assert_ptr_equal(line.data, expected.data);
            assert_int_equal(line.size, expected.size);
        }
        assert_false(lines_next(&lines, &line));
        assert_false(lines_next(&lines, &line));
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_are_found_by_name),
        cmocka_unit_test(every_job_says_what_it_does_in_its_first_line),
        cmocka_unit_test(the_lines_of_a_block_are_those_of_weft_next_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
