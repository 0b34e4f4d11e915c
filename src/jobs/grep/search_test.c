// Tests of literal search: every kernel against a loop, at the edge of readable memory.

#include "jobs/grep/search.h"

#include "sys/machine/cpu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <cmocka.h>

enum { PAGE = 4096, TEXT_MAX = 1000 };

static uint64_t seed = 11;

static uint64_t next_random(void)
{
    uint64_t z = seed += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static char fold(char byte)
{
    return byte >= 'A' && byte <= 'Z' ? (char)(byte + 32) : byte;
}

static const char *by_loop(weft_bytes needle, bool folds_case, const char *text, size_t size)
{
    for (size_t at = 0; at + needle.size <= size; at++) {
        size_t same = 0;
        while (same < needle.size && (folds_case ? fold(text[at + same]) == fold(needle.data[same])
                                                 : text[at + same] == needle.data[same]))
            same++;
        if (same == needle.size)
            return text + at;
    }
    return NULL;
}

static void assert_all_find(const struct search *search, const char *text, size_t size,
                            const char *expected)
{
    assert_ptr_equal(search_plain(search, text, size), expected);
#if defined(__x86_64__)
    if (cpu_isa() >= CPU_AVX2)
        assert_ptr_equal(search_avx2(search, text, size), expected);
    if (cpu_isa() >= CPU_AVX512)
        assert_ptr_equal(search_avx512(search, text, size), expected);
#endif
    assert_ptr_equal(search_next(search, text, size), expected);
}

static weft_bytes random_text(char *room, size_t size, const char *alphabet, size_t letters)
{
    for (size_t i = 0; i < size; i++)
        room[i] = alphabet[next_random() % letters];
    return (weft_bytes){room, size};
}

// Readable memory that ends, and begins, beside memory that is not.
static char *island(void)
{
    char *pages = mmap(NULL, 3 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED);
    assert_int_equal(mprotect(pages + PAGE, PAGE, PROT_READ | PROT_WRITE), 0);
    return pages + PAGE;
}

static void every_kernel_finds_the_first_place(void **unused)
{
    (void)unused;
    char *room = island();
    const struct {
        const char *bytes;
        size_t count;
    } alphabets[] = {{"ab", 2}, {"abAB \n", 6}, {"\0\1\x80\xff@`{[Zz", 10}};
    for (int round = 0; round < 60000; round++) {
        const size_t which = next_random() % 3, letters = alphabets[which].count;
        const size_t size = next_random() % (round % 2 ? 70 : TEXT_MAX);
        char *at_edge = next_random() % 2 ? room : room + PAGE - size;
        const weft_bytes text = random_text(at_edge, size, alphabets[which].bytes, letters);
        char needle_room[40];
        const weft_bytes needle = random_text(needle_room, 1 + next_random() % (round % 5 ? 6 : 40),
                                              alphabets[which].bytes, letters);
        const bool folds_case = next_random() % 2;
        struct search search;
        assert_int_equal(search_init(&search, needle, folds_case), WEFT_OK);
        assert_all_find(&search, text.data, text.size,
                        by_loop(needle, folds_case, text.data, text.size));
        search_fini(&search);
    }
    munmap(room - PAGE, 3 * PAGE);
}

// Every distance from the edges of a step.
static void a_single_needle_is_found_wherever_it_stands(void **unused)
{
    (void)unused;
    char text[TEXT_MAX];
    struct search search;
    assert_int_equal(search_init(&search, weft_text("Needle!"), false), WEFT_OK);
    for (size_t size = 7; size < 300; size++) {
        for (size_t at = 0; at + 7 <= size; at++) {
            memset(text, 'e', size);
            memcpy(text + at, "Needle!", 7);
            assert_all_find(&search, text, size, text + at);
            text[at + 3] = 'D';
            assert_all_find(&search, text, size, NULL);
        }
    }
    search_fini(&search);
}

static void only_ascii_letters_are_folded(void **unused)
{
    (void)unused;
    struct search search;
    assert_int_equal(search_init(&search, weft_text("@[z\xc4"), true), WEFT_OK);
    const char yes[] = "@[Z\xc4", no[] = "`[z\xc4 @{z\xc4 @[z\xe4";
    assert_ptr_equal(search_next(&search, yes, 4), yes);
    assert_null(search_next(&search, no, sizeof no));
    search_fini(&search);
}

static void the_rarest_bytes_are_looked_for(void **unused)
{
    (void)unused;
    struct search search;
    assert_int_equal(search_init(&search, weft_text("the quiz ate"), false), WEFT_OK);
    assert_true(search.bytes[0] == 'z' || search.bytes[0] == 'q');
    assert_true(search.bytes[1] == 'z' || search.bytes[1] == 'q');
    assert_true(search.bytes[0] != search.bytes[1]);
    search_fini(&search);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kernel_finds_the_first_place),
        cmocka_unit_test(a_single_needle_is_found_wherever_it_stands),
        cmocka_unit_test(only_ascii_letters_are_folded),
        cmocka_unit_test(the_rarest_bytes_are_looked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
