// Tests of the scans: every instruction set gives the same as a loop, at the edge of readable memory.

#include "store/record/scan.h"

#include "store/record/record_testing.h"
#include "sys/machine/cpu.h"

#include <sys/mman.h>

enum { PAGE = 4096, FIELDS_MAX = 400 };

static const struct scan_kernels *kernels_of(int isa)
{
#if defined(__x86_64__)
    if (isa == CPU_AVX2)
        return &scan_kernels_avx2;
    if (isa == CPU_AVX512)
        return &scan_kernels_avx512;
#endif
    return isa == CPU_PLAIN ? &scan_kernels_plain : NULL;
}

// Readable memory that ends, and begins, beside memory that is not.
static char *island(void)
{
    char *pages = mmap(NULL, 3 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED);
    assert_int_equal(mprotect(pages + PAGE, PAGE, PROT_READ | PROT_WRITE), 0);
    return pages + PAGE;
}

static weft_bytes random_text(char *room)
{
    static const char *const alphabets[] = {"ab\n", "\"\n,a", "\r\n\"a",
                                            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa,\"\n",
                                            "\x80\xa2\x8a\xac\"\n,\r"};
    const char *alphabet = alphabets[testing_below(5)];
    const size_t letters = strlen(alphabet), size = testing_below(testing_below(2) ? 70 : 1000);
    char *text = testing_below(2) ? room : room + PAGE - size;
    for (size_t i = 0; i < size; i++)
        text[i] = alphabet[testing_below(letters)];
    return (weft_bytes){text, size};
}

static void assert_counts_of_bytes(const struct scan_kernels *kernels, weft_bytes text)
{
    uint64_t expected = 0;
    for (size_t i = 0; i < text.size; i++)
        expected += text.data[i] == '\n';
    assert_int_equal(kernels->count_byte(text, '\n'), expected);
    assert_int_equal(kernels->count_byte(text, 0), 0);
}

static void assert_finds_ends(const struct scan_kernels *kernels, weft_bytes text, bool is_quoted)
{
    size_t first = SIZE_MAX, last = SIZE_MAX;
    bool now = is_quoted;
    for (size_t i = 0; i < text.size; i++) {
        now ^= text.data[i] == '"';
        if (text.data[i] == '\n' && !now) {
            first = first == SIZE_MAX ? i : first;
            last = i;
        }
    }
    bool at_end = is_quoted;
    assert_int_equal(kernels->find_end(text, &at_end), first);
    if (first == SIZE_MAX)
        assert_int_equal(at_end, now);
    assert_int_equal(kernels->find_last_end(text, now), last);
}

static void assert_counts_ends(const struct scan_kernels *kernels, weft_bytes text, bool has_quotes,
                               bool is_begin)
{
    struct record_counts expected = {0};
    for (size_t i = 0; i < text.size; i++) {
        const char c = text.data[i], before = i ? text.data[i - 1] : is_begin ? '\n' : 'x';
        const char second = i > 1 ? text.data[i - 2] : i && is_begin ? '\n' : 'x';
        expected.quotes += has_quotes && c == '"';
        if (c == '\n' && before != '\n' && !(before == '\r' && second == '\n'))
            expected.ends[expected.quotes & 1]++;
    }
    const struct record_counts counts = kernels->count_ends(text, has_quotes, is_begin);
    assert_int_equal(counts.quotes, expected.quotes);
    assert_int_equal(counts.ends[0], expected.ends[0]);
    assert_int_equal(counts.ends[1], expected.ends[1]);
}

// Against the plain ones, which csv_test.c looks at.
static void assert_splits(const struct scan_kernels *kernels, weft_bytes text)
{
    static weft_bytes expected[FIELDS_MAX], fields[FIELDS_MAX];
    const size_t max = testing_below(FIELDS_MAX);
    const size_t count = scan_kernels_plain.split(text, ',', expected, max);
    assert_int_equal(kernels->split(text, ',', fields, max), count);
    for (size_t i = 0; count != SIZE_MAX && i < count && i < max; i++) {
        assert_ptr_equal(fields[i].data, expected[i].data);
        assert_int_equal(fields[i].size, expected[i].size);
    }
}

static void every_kernel_gives_the_same(void **state)
{
    (void)state;
    char *room = island();
    for (int isa = CPU_PLAIN; isa <= (int)cpu_isa(); isa++) {
        const struct scan_kernels *kernels = kernels_of(isa);
        assert_non_null(kernels);
        for (int round = 0; round < 20000; round++) {
            const weft_bytes text = random_text(room);
            assert_counts_of_bytes(kernels, text);
            assert_finds_ends(kernels, text, testing_below(2));
            assert_counts_ends(kernels, text, testing_below(2), testing_below(2));
            assert_splits(kernels, text);
        }
    }
    munmap(room - PAGE, 3 * PAGE);
}

static void the_kernels_of_the_machine_are_chosen(void **state)
{
    (void)state;
    assert_ptr_equal(scan_kernels(), kernels_of((int)cpu_isa()));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kernel_gives_the_same),
        cmocka_unit_test(the_kernels_of_the_machine_are_chosen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
