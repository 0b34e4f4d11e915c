// Every kernel finds exactly the words that a byte-wise walk finds, wherever they lie.

#include "mapreduce/work/map/words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "sys/machine/cpu.h"

enum { TEXT_MAX = 3000, KEYS_MAX = 1100, ROUNDS = 3000 };

static uint64_t seed;

static uint32_t draw(uint32_t limit)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(seed >> 33) % limit;
}

// Words of many lengths, all six blanks, NULs at word ends, high bytes.
static size_t draw_text(char *text)
{
    const char blanks[] = " \t\n\v\f\r";
    const uint32_t longest = draw(3) ? 12 : 300;
    const size_t size = draw(TEXT_MAX);
    size_t at = 0;
    while (at < size) {
        for (uint32_t n = draw(longest); n && at < size; n--)
            text[at++] = draw(9) ? (char)(14 + draw(242)) : (char)(draw(3) ? 'a' : 0);
        for (uint32_t n = 1 + draw(3); n && at < size; n--)
            text[at++] = blanks[draw(6)];
    }
    return size;
}

static size_t walk(const char *text, size_t size, weft_bytes *words)
{
    size_t count = 0;
    for (size_t at = 0; at < size;) {
        while (at < size && words_is_blank(text[at]))
            at++;
        const size_t begin = at;
        while (at < size && !words_is_blank(text[at]))
            at++;
        if (at > begin)
            words[count++] = (weft_bytes){text + begin, at - begin};
    }
    return count;
}

// Order-independent checks: how many of each kind, and the sum of mixed keys and positions.
struct tally {
    uint64_t keys, key_sum, longs, long_sum;
};

static void tally_key(struct tally *tally, uint64_t key)
{
    tally->keys++;
    tally->key_sum += (key ^ key >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
}

static void tally_long(struct tally *tally, const char *text, weft_bytes word)
{
    tally->longs++;
    tally->long_sum += ((uint64_t)(word.data - text) * 31337 + word.size) * 2654435761u;
}

static struct tally tally_of_walk(const char *text, size_t size)
{
    static weft_bytes words[TEXT_MAX];
    struct tally tally = {0};
    const size_t count = walk(text, size, words);
    for (size_t i = 0; i < count; i++) {
        if (words[i].size <= 8 && words[i].data[words[i].size - 1]) {
            uint64_t key = 0;
            memcpy(&key, words[i].data, words[i].size);
            tally_key(&tally, key);
        } else {
            tally_long(&tally, text, words[i]);
        }
    }
    return tally;
}

static struct tally tally_of_scan(words_scan_kernel *kernel, const char *text, size_t size)
{
    static uint64_t keys[KEYS_MAX + 64];
    static weft_bytes longs[128];
    struct tally tally = {0};
    struct words_scan scan = {.text = text, .size = size, .keys = keys, .longs = longs};
    scan.key_capacity = 40 + draw(KEYS_MAX - 40);
    scan.long_capacity = 40 + draw(80);
    for (bool has_more = true; has_more;) {
        has_more = kernel(&scan);
        for (size_t i = 0; i < scan.key_count; i++)
            tally_key(&tally, keys[i]);
        for (size_t i = 0; i < scan.long_count; i++)
            tally_long(&tally, text, longs[i]);
        scan.key_count = scan.long_count = 0;
    }
    return tally;
}

static void check_scan(words_scan_kernel *kernel)
{
    static char text[TEXT_MAX + WORDS_PAD];
    for (seed = 1; seed < ROUNDS; seed++) {
        const uint64_t this_seed = seed;
        const size_t size = draw_text(text);
        memset(text + size, 'x', WORDS_PAD);
        const struct tally expected = tally_of_walk(text, size);
        const struct tally got = tally_of_scan(kernel, text, size);
        if (memcmp(&expected, &got, sizeof got) != 0)
            fail_msg("seed %llu", (unsigned long long)this_seed);
        seed = this_seed;
    }
}

static void plain_scan_finds_the_words_of_a_walk(void **state)
{
    (void)state;
    check_scan(words_scan_plain);
}

static void avx2_scan_finds_the_words_of_a_walk(void **state)
{
    (void)state;
    if (cpu_isa() < CPU_AVX2)
        skip();
    check_scan(words_scan_avx2);
}

static void avx512_scan_finds_the_words_of_a_walk(void **state)
{
    (void)state;
    if (cpu_isa() < CPU_AVX512)
        skip();
    check_scan(words_scan_avx512);
}

static void check_split(words_split_kernel *kernel)
{
    static char text[TEXT_MAX + WORDS_PAD];
    static weft_bytes words[TEXT_MAX];
    static uint16_t starts[TEXT_MAX + 64], ends[TEXT_MAX + 64];
    for (seed = 1; seed < ROUNDS; seed++) {
        const uint64_t this_seed = seed;
        const size_t size = draw_text(text), expected = walk(text, size, words);
        size_t seen = 0;
        for (weft_bytes rest = {text, size}; rest.size;) {
            uint32_t count;
            const size_t done = kernel(rest, true, starts, ends, 1 + draw(600), &count);
            for (uint32_t i = 0; i < count; i++, seen++) {
                assert_true(seen < expected);
                assert_ptr_equal(rest.data + starts[i], words[seen].data);
                assert_int_equal(ends[i] - starts[i], words[seen].size);
            }
            assert_true(done > 0);
            rest.data += done;
            rest.size -= done;
        }
        assert_int_equal(seen, expected);
        seed = this_seed;
    }
}

static void plain_split_finds_the_words_of_a_walk(void **state)
{
    (void)state;
    check_split(words_split_plain);
}

static void avx2_split_finds_the_words_of_a_walk(void **state)
{
    (void)state;
    if (cpu_isa() < CPU_AVX2)
        skip();
    check_split(words_split_avx2);
}

static void avx512_split_finds_the_words_of_a_walk(void **state)
{
    (void)state;
    if (cpu_isa() < CPU_AVX512)
        skip();
    check_split(words_split_avx512);
}

static void check_count(words_count_kernel *kernel)
{
    static char text[TEXT_MAX + WORDS_PAD];
    for (seed = 1; seed < 500; seed++) {
        const uint64_t this_seed = seed;
        const size_t size = draw_text(text), from = size ? draw(70) % size : 0;
        memset(text + size, '\n', WORDS_PAD);  // not part of the text
        uint64_t expected = 0;
        for (size_t i = from; i < size; i++)
            expected += text[i] == '\n';
        assert_int_equal(kernel(text + from, size - from), expected);
        seed = this_seed;
    }
}

static void every_kernel_counts_the_line_ends_of_a_text(void **state)
{
    (void)state;
    check_count(words_count_plain);
    if (cpu_isa() >= CPU_AVX2)
        check_count(words_count_avx2);
    if (cpu_isa() >= CPU_AVX512)
        check_count(words_count_avx512);
}

static void public_splitter_hands_out_words_longer_than_a_batch(void **state)
{
    (void)state;
    const size_t giant = 100000, size = 3 + giant + 5;
    char *text = malloc(size);
    memset(text, 'g', size);
    memcpy(text, "a  ", 3);
    memcpy(text + 3 + giant, " b\tc ", 5);
    const size_t sizes[] = {1, giant, 1, 1};
    weft_words words;
    weft_words_init(&words, (weft_bytes){text, size});
    weft_bytes word;
    for (size_t i = 0; i < 4; i++) {
        assert_true(weft_next_word(&words, &word));
        assert_int_equal(word.size, sizes[i]);
    }
    assert_false(weft_next_word(&words, &word));
    assert_false(weft_next_word(&words, &word));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_scan_finds_the_words_of_a_walk),
        cmocka_unit_test(avx2_scan_finds_the_words_of_a_walk),
        cmocka_unit_test(avx512_scan_finds_the_words_of_a_walk),
        cmocka_unit_test(plain_split_finds_the_words_of_a_walk),
        cmocka_unit_test(avx2_split_finds_the_words_of_a_walk),
        cmocka_unit_test(avx512_split_finds_the_words_of_a_walk),
        cmocka_unit_test(every_kernel_counts_the_line_ends_of_a_text),
        cmocka_unit_test(public_splitter_hands_out_words_longer_than_a_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
