// Tests of base/text: texts that are accepted, texts that are refused, and how numbers look.

#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void a_size_has_a_unit_of_1024(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } cases[] = {{"1", 1},
                 {"123", 123},
                 {"64K", 65536},
                 {"64k", 65536},
                 {"512M", UINT64_C(512) << 20},
                 {"4G", UINT64_C(4) << 30},
                 {"4GiB", UINT64_C(4) << 30},
                 {"1.5G", UINT64_C(3) << 29},
                 {"0.5K", 512},
                 {"2T", UINT64_C(2) << 40}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t bytes = 0;
        assert_true(text_read_size(cases[i].text, &bytes));
        assert_int_equal(bytes, cases[i].bytes);
    }
}

static void a_size_that_makes_no_sense_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",
                                        "M",
                                        "lots",
                                        "-1",
                                        "+1",
                                        " 1",
                                        "1 ",
                                        "1MM",
                                        "1.M",
                                        "1..5",
                                        "0",
                                        "0.0001K",
                                        "1e9",
                                        "0x10",
                                        "1,5G",
                                        "4P",
                                        "1.2345G",
                                        "99999999999999999999",
                                        "18446744073709551615T"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        uint64_t bytes = 7;
        assert_false(text_read_size(wrong[i], &bytes));
    }
}

static void a_time_has_a_unit_and_a_bare_number_is_seconds(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t ms;
    } cases[] = {{"500ms", 500}, {"30s", 30000}, {"10m", 600000}, {"1h", 3600000},
                 {"1.5s", 1500}, {"2", 2000},    {"0.5", 500},    {"0.001s", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t ms = 0;
        assert_true(text_read_duration(cases[i].text, &ms));
        assert_int_equal(ms, cases[i].ms);
    }
    static const char *const wrong[] = {"",  "soon", "-1s",   "10 m",   "1d",
                                        "0", "0s",   "0.4ms", "1193h1", "1200h"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        uint32_t ms = 7;
        assert_false(text_read_duration(wrong[i], &ms));
        assert_int_equal(ms, 7);
    }
}

static void a_count_is_whole_and_within_its_limit(void **state)
{
    (void)state;
    uint64_t value = 7;
    assert_true(text_read_count("1", 10, &value));
    assert_int_equal(value, 1);
    assert_true(text_read_count("10", 10, &value));
    assert_int_equal(value, 10);
    static const char *const wrong[] = {"",   "0",   "-2", "11",
                                        "2x", "1.0", " 1", "99999999999999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(text_read_count(wrong[i], 10, &value));
    assert_true(text_read_count("18446744073709551615", UINT64_MAX, &value));
    assert_false(text_read_count("18446744073709551616", UINT64_MAX, &value));
    assert_true(value == UINT64_MAX);
}

// The text that a function appends for a number.
#define SHOWS(function, number, expected)                                                          \
    do {                                                                                           \
        struct buf buf = {0};                                                                      \
        function(&buf, number);                                                                    \
        assert_string_equal(buf_text(&buf), expected);                                             \
        buf_fini(&buf);                                                                            \
    } while (0)

static void numbers_are_short_and_have_units(void **state)
{
    (void)state;
    SHOWS(text_append_bytes, 0, "0 B");
    SHOWS(text_append_bytes, 999, "999 B");
    SHOWS(text_append_bytes, 1000, "1.00 kB");
    SHOWS(text_append_bytes, 9994, "9.99 kB");
    SHOWS(text_append_bytes, 9996, "10.0 kB");
    SHOWS(text_append_bytes, 99960, "100 kB");
    SHOWS(text_append_bytes, 999499, "999 kB");
    SHOWS(text_append_bytes, 999600, "1.00 MB");
    SHOWS(text_append_bytes, UINT64_C(1) << 30, "1.07 GB");
    SHOWS(text_append_bytes, UINT64_MAX, "18.4 EB");
    SHOWS(text_append_size, UINT64_C(512) << 20, "512 MiB");
    SHOWS(text_append_size, UINT64_C(4) << 30, "4 GiB");
    SHOWS(text_append_size, 1500, "1.50 kB");
    SHOWS(text_append_size, 0, "0 B");
    SHOWS(text_append_count, 0, "0");
    SHOWS(text_append_count, 999, "999");
    SHOWS(text_append_count, 1000, "1,000");
    SHOWS(text_append_count, 1234567, "1,234,567");
    SHOWS(text_append_duration, 643000000, "0.643 s");
    SHOWS(text_append_duration, UINT64_C(9999600000), "10.0 s");
    SHOWS(text_append_duration, UINT64_C(12340000000), "12.3 s");
    SHOWS(text_append_duration, UINT64_C(245000000000), "4m 05s");
    SHOWS(text_append_duration, UINT64_C(7620000000000), "2h 07m");
}

static void distance_counts_changes_and_swaps(void **state)
{
    (void)state;
    assert_int_equal(text_distance("run", "run"), 0);
    assert_int_equal(text_distance("rnu", "run"), 1);
    assert_int_equal(text_distance("wordcont", "wordcount"), 1);
    assert_int_equal(text_distance("sirt", "sort"), 1);
    assert_int_equal(text_distance("", "run"), 3);
    assert_int_equal(text_distance("run", ""), 3);
    assert_int_equal(text_distance("kitten", "sitting"), 3);
    char word[80];
    memset(word, 'x', sizeof word);
    word[79] = 0;
    assert_int_equal(text_distance(word, "x"), TEXT_FAR);
    word[64] = 0;
    assert_int_equal(text_distance(word, "x"), 63);
}

static void a_byte_is_itself_or_an_escape(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        bool is_byte;
        unsigned char byte;
    } cases[] = {{";", true, ';'},     {"\\t", true, '\t'}, {"\\0", true, 0},
                 {"\\\\", true, '\\'}, {"\\x1e", true, 30}, {"\\xFf", true, 255},
                 {"", false, 0},       {"ab", false, 0},    {"\\q", false, 0},
                 {"\\x1", false, 0},   {"\\x1g", false, 0}, {"\\x1ee", false, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned char byte;
        assert_int_equal(text_read_byte(cases[i].text, &byte), cases[i].is_byte);
        if (cases[i].is_byte)
            assert_int_equal(byte, cases[i].byte);
    }
}

static void a_character_is_utf8_or_none(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        size_t length;
    } cases[] = {{"a", 1},        {"\xc3\xa4", 2},     {"\xe2\x82\xac", 3},
                 {"\x7f", 1},     {"\xc0\x80", 0},     {"\xf0\x9f\x98\x80", 4},
                 {"\xc3", 0},     {"\xed\xa0\x80", 0}, {"\xf4\x90\x80\x80", 0},
                 {"\xe0\x80", 0}, {"\x80", 0},         {"\xff", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(text_utf8_length(cases[i].text, cases[i].text + strlen(cases[i].text)),
                         cases[i].length);
}

static void a_word_for_a_shell_is_quoted_where_it_must_be(void **state)
{
    (void)state;
    static const char *const words[][2] = {
        {"/var/lib/weft-1", "/var/lib/weft-1"}, {"", "''"},           {"a b", "'a b'"},
        {"o'brien", "'o'\\''brien'"},           {"$HOME", "'$HOME'"}, {"~", "'~'"},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        struct buf buf = {0};
        text_append_shell_word(&buf, words[i][0]);
        assert_string_equal(buf_text(&buf), words[i][1]);
        buf_fini(&buf);
    }
}

static void a_text_of_somebody_else_does_nothing_to_a_terminal(void **unused)
{
    (void)unused;
    const char *const cases[][2] = {
        {"plain, with\ttabs\nand lines", "plain, with\ttabs\nand lines"},
        {"K\xc3\xb6ln \xe2\x82\xac \xf0\x9f\x98\x80", "K\xc3\xb6ln \xe2\x82\xac \xf0\x9f\x98\x80"},
        {"\033[2Jgone\r\b\a", "\\x1b[2Jgone\\x0d\\x08\\x07"},
        {"\x7f", "\\x7f"},
        {"\xc2\x9b"
         "2J",
         "\\xc2\\x9b2J"},  // a control character of two bytes
        {"\xc2\xa0", "\xc2\xa0"},
        {"\x9b"
         "2J",
         "\\x9b2J"},
        {"cut \xe2\x82", "cut \\xe2\\x82"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf text = {0};
        text_append_printable(&text, cases[i][0]);
        assert_string_equal(buf_text(&text), cases[i][1]);
        buf_fini(&text);
    }
    struct buf line = {0};
    text_append_message(&line, "weft", "a\033b");
    assert_string_equal(buf_text(&line), "weft: a\\x1bb\n");
    buf_fini(&line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_byte_is_itself_or_an_escape),
        cmocka_unit_test(a_character_is_utf8_or_none),
        cmocka_unit_test(a_size_has_a_unit_of_1024),
        cmocka_unit_test(a_size_that_makes_no_sense_is_refused),
        cmocka_unit_test(a_time_has_a_unit_and_a_bare_number_is_seconds),
        cmocka_unit_test(a_count_is_whole_and_within_its_limit),
        cmocka_unit_test(numbers_are_short_and_have_units),
        cmocka_unit_test(distance_counts_changes_and_swaps),
        cmocka_unit_test(a_word_for_a_shell_is_quoted_where_it_must_be),
        cmocka_unit_test(a_text_of_somebody_else_does_nothing_to_a_terminal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
