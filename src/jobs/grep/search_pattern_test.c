// Tests of patterns: the expected results here were taken from GNU grep 3.8 in the C locale; random
// patterns are compared with glibc's matcher, which shares nothing with ours.

#include "jobs/grep/search_pattern.h"

#include "base/bytes.h"
#include "jobs/grep/search_backref.h"
#include "jobs/grep/search_literal.h"

#include <regex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static uint64_t seed = 9;

static uint64_t next_random(void)
{
    uint64_t z = seed += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static struct pattern *compiled(const char *text, bool is_fixed, bool folds_case)
{
    struct pattern *pattern;
    const struct pattern_options options = {.is_fixed = is_fixed, .folds_case = folds_case};
    assert_int_equal(pattern_new(&pattern, text, options), WEFT_OK);
    return pattern;
}

// The lines of the block that match, as numbers from 1, such as "1 3 ".
static const char *matching_lines(struct pattern *pattern, weft_bytes block)
{
    static char numbers[4096];
    size_t size = 0, number = 1;
    const char *at = block.data;
    numbers[0] = 0;
    pattern_begin(pattern, block);
    for (weft_bytes line; pattern_next_line(pattern, &line);) {
        for (; at < line.data; at++)
            number += *at == '\n';
        size += (size_t)snprintf(numbers + size, sizeof numbers - size, "%zu ", number);
        assert_true(line.data[-(line.data > block.data)] == '\n' || line.data == block.data);
    }
    assert_int_equal(pattern_failure(pattern), WEFT_OK);
    return numbers;
}

// All matches in the line, in brackets.
static const char *matches(struct pattern *pattern, weft_bytes line)
{
    static char shown[4096];
    size_t size = 0, end;
    shown[0] = 0;
    for (size_t start = 0; pattern_next_match(pattern, line, &start, &end); start = end)
        size += (size_t)snprintf(shown + size, sizeof shown - size, "[%.*s]", (int)(end - start),
                                 line.data + start);
    return shown;
}

static void lines_match_as_grep_says(void **unused)
{
    (void)unused;
    static const char block[] = "the quick brown fox\n"  // 1
                                "a_b ab aab\n"           // 2
                                "\n"                     // 3
                                "x{1 a)b [c] a*b\n"      // 4
                                "The END 42";            // 5, without an end
    const struct {
        const char *pattern, *lines;
    } cases[] = {
        {"the", "1 "},         {"^the|END", "1 5 "},
        {"^$", "3 "},          {"", "1 2 3 4 5 "},
        {"x$", "1 "},          {"[0-9]+$", "5 "},
        {"\\<ab\\>", "2 "},    {"\\bb", "1 4 "},
        {"a\\*b", "4 "},       {"a)", "4 "},
        {"x{1", "4 "},         {"*x", "1 4 "},
        {"(a)\\1", "2 "},      {"o.*o", "1 "},
        {"a{2}b", "2 "},       {"[]c]+]", "4 "},
        {"q\nEND", "1 5 "},    {"[^a-z ]{2}", "4 5 "},
        {"fox|zebra", "1 "},   {"()", "1 2 3 4 5 "},
        {"\\w{5}", "1 "},      {"^.{9,10}$", "2 5 "},
        {"nothing", ""},       {"a||b", "1 2 3 4 5 "},
        {"[[:upper:]]", "5 "}, {"^*the", "1 "},
        {"\\.", ""},           {"[[=a=]][[.b.]]", "2 "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pattern *pattern = compiled(cases[i].pattern, false, false);
        assert_string_equal(matching_lines(pattern, weft_text(block)), cases[i].lines);
        pattern_free(pattern);
    }
}

static void matches_are_leftmost_and_longest(void **unused)
{
    (void)unused;
    const struct {
        const char *pattern, *line, *matches;
    } cases[] = {
        {"a|ab|abc", "xabcab", "[abc][ab]"},
        {"a*", "baac", "[aa]"},
        {"(ab)+", "ababxab", "[abab][ab]"},
        {"^a", "aaa", "[a]"},
        {"[a-z]+$", "ab cd", "[cd]"},
        {"\\b[a-z]", "ab cd", "[a][c]"},
        {"(a|b)\\1", "abaabb", "[aa][bb]"},
        {"x", "axbx", "[x][x]"},
        {"ab\nb+", "abbb", "[ab][bb]"},
        {"", "abc", ""},
        {"^*b", "ab", ""},  // a line that matches, and no match: grep has two minds about it
        {"{", "a{b", ""},
        {"a{", "a{b", "[a{]"},
        {"aXb|Xb", "aaXb", "[aXb]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pattern *pattern = compiled(cases[i].pattern, false, false);
        assert_string_equal(matches(pattern, weft_text(cases[i].line)), cases[i].matches);
        pattern_free(pattern);
    }
}

static void case_is_folded_in_ascii_only(void **unused)
{
    (void)unused;
    const char block[] = "Straße ABC\nabc\n[A]\n\xc4\n\xe4\n";
    const struct {
        const char *pattern, *lines;
    } cases[] = {{"aBc", "1 2 "},
                 {"[b]", "1 2 "},
                 {"[^a-z]", "1 3 4 5 "},
                 {"\xe4", "5 "},
                 {"[[:upper:]]{3}", "1 2 "},
                 {"A|x", "1 2 3 "}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pattern *pattern = compiled(cases[i].pattern, false, true);
        assert_string_equal(matching_lines(pattern, weft_text(block)), cases[i].lines);
        pattern_free(pattern);
    }
}

static void a_fixed_pattern_has_no_operators(void **unused)
{
    (void)unused;
    const char block[] = "a.c\nabc\n(x|y)*\nA.C\n";
    struct pattern *pattern = compiled("a.c\n(x|y)*", true, false);
    assert_string_equal(matching_lines(pattern, weft_text(block)), "1 3 ");
    pattern_free(pattern);
    pattern = compiled("a.c", true, true);
    assert_string_equal(matching_lines(pattern, weft_text(block)), "1 4 ");
    pattern_free(pattern);
    pattern = compiled("", true, false);
    assert_string_equal(matching_lines(pattern, weft_text(block)), "1 2 3 4 ");
    pattern_free(pattern);
}

static void bytes_of_any_value_are_ordinary(void **unused)
{
    (void)unused;
    const weft_bytes block = {"a\0b\n\0\n\xff\xfe\nab\r\n", 13};
    struct pattern *pattern = compiled("a.b", false, false);
    assert_string_equal(matching_lines(pattern, block), "1 ");
    pattern_free(pattern);
    pattern = compiled("^.$", false, false);
    assert_string_equal(matching_lines(pattern, block), "2 ");
    pattern_free(pattern);
    pattern = compiled("[\xf0-\xff]{2}", false, false);
    assert_string_equal(matching_lines(pattern, block), "3 ");
    pattern_free(pattern);
}

static void what_is_no_pattern_is_refused(void **unused)
{
    (void)unused;
    const char *const wrong[] = {"(",         "[a",        "a\\",      "[z-a]",
                                 "[[:foo:]]", "[:space:]", "a{2,1}",   "(a)\\2",
                                 "[[.ab.]]",  "a\n(",      "x{40000}", "((((a{99}){99}){99}){99})"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct pattern *pattern;
        const struct pattern_options options = {0};
        err_clear();
        assert_int_equal(pattern_new(&pattern, wrong[i], options), WEFT_INVALID_ARGUMENT);
        assert_null(pattern);
        assert_non_null(strstr(err_text(), "pattern"));
    }
}

// glibc copies repeated parts: the test does not give it patterns that would take it minutes.
static void repetitions_of_repetitions_do_not_take_for_ever(void **unused)
{
    (void)unused;
    struct pattern *pattern = compiled("a*+++++++++++++++++++++++++++++++b", false, false);
    assert_string_equal(matching_lines(pattern, weft_text("c\naab\n")), "2 ");
    pattern_free(pattern);
    pattern = compiled("^((a?){2}){5000}$", false, false);
    assert_string_equal(matching_lines(pattern, weft_text("b\naaa\n")), "2 ");
    pattern_free(pattern);
    pattern = compiled("^()*++++(b|$|\\b)+++", false, false);
    assert_string_equal(matching_lines(pattern, weft_text("\nb\n")), "1 2 ");
    pattern_free(pattern);
    // With a back-reference glibc has to be asked; this one it compiles quickly.
    pattern = compiled("^(b*c*d*e*f*)+(x)\\2$", false, false);
    assert_string_equal(matching_lines(pattern, weft_text("bcxx\nbcx\n")), "1 ");
    pattern_free(pattern);
    pattern = compiled("^(((((a*)+)+)+)+)+b+*+++++$", false, false);
    assert_string_equal(matching_lines(pattern, weft_text("c\naabb\n")), "2 ");
    pattern_free(pattern);
    const struct pattern_options options = {0};
    assert_int_equal(pattern_new(&pattern, "(a)\\1*++++++++++++++++++++++++++", options),
                     WEFT_INVALID_ARGUMENT);
    assert_non_null(strstr(err_text(), "back-reference"));
}

// Each of these takes glibc seconds, and 80 bytes of the like take it days.
static void what_takes_glibc_seconds_is_not_for_it(void **unused)
{
    (void)unused;
    const char *const slow[] = {"+*.+*?{5}{5}?*",         "(|$){1,3}*{5}",    "x+++++++*?++++++",
                                "x{2}+*+?{5}+++",         ".++{2,}???++{5}+", "()?{5}+{1,3}(a)++?",
                                "$+x{2,}*+{2,}***++.+??", "^(b**+{2,}+)*b?",  "()^+b?**+++",
                                "()^+.+++**+**++*",       "()?{1,3}{9}*"};
    for (size_t i = 0; i < sizeof slow / sizeof *slow; i++) {
        struct syntax syntax;
        assert_int_equal(syntax_parse(&syntax, weft_text(slow[i]), 0), WEFT_OK);
        assert_false(backref_is_cheap(&syntax));
        syntax_fini(&syntax);
    }
    const char *const quick[] = {"^(.*,){30}x", "(a?b?){99}", "(a*b*c*)+", "(a*|b)*{7}"};
    for (size_t i = 0; i < sizeof quick / sizeof *quick; i++) {
        struct syntax syntax;
        assert_int_equal(syntax_parse(&syntax, weft_text(quick[i]), 0), WEFT_OK);
        assert_true(backref_is_cheap(&syntax));
        syntax_fini(&syntax);
    }
}

static void groups_within_groups_have_a_limit(void **unused)
{
    (void)unused;
    char text[2 * 300 + 2];
    struct pattern *pattern;
    const struct pattern_options options = {0};
    memset(text, '(', 300);
    text[300] = 'x';
    memset(text + 301, ')', 300);
    text[601] = 0;
    assert_int_equal(pattern_new(&pattern, text, options), WEFT_INVALID_ARGUMENT);
    text[401] = 0;
    assert_int_equal(pattern_new(&pattern, text + 200, options), WEFT_OK);
    assert_string_equal(matching_lines(pattern, weft_text("y\nx\n")), "2 ");
    pattern_free(pattern);
}

// So many states that they do not fit: they are forgotten and made again, the answers stay.
static void an_automaton_that_grows_too_large_starts_again(void **unused)
{
    (void)unused;
    enum { DISTANCE = 13, SIZE = 60000 };
    char *text = malloc(SIZE);
    for (size_t i = 0; i < SIZE; i++)
        text[i] = "abc"[next_random() % 200 == 0 ? 2 : next_random() % 2];
    struct pattern *pattern = compiled("a[ab]{13}c", false, false);
    for (size_t start = 0; start < SIZE; start += 1000) {
        bool expected = false;
        for (size_t at = start; at + DISTANCE + 1 < start + 1000; at++) {
            size_t run = 1;
            while (run <= DISTANCE && text[at + run] != 'c')
                run++;
            expected |= text[at] == 'a' && run == DISTANCE + 1 && text[at + run] == 'c';
        }
        weft_bytes line;
        pattern_begin(pattern, (weft_bytes){text + start, 1000});
        assert_int_equal(pattern_next_line(pattern, &line), expected);
    }
    pattern_free(pattern);
    free(text);
}

// ---- Against glibc ----------------------------------------------------------------------------------

static size_t random_atom(char *to, int depth);

static size_t random_expression(char *to, int depth)
{
    size_t size = 0;
    for (uint64_t pieces = 1 + next_random() % 3; pieces > 0; pieces--) {
        size += random_atom(to + size, depth);
        const char before = to[size - 1];
        if (next_random() % 4 == 0 && before != '^' && before != '$')
            to[size++] = "*+?"[next_random() % 3];
    }
    if (next_random() % 5 == 0) {
        to[size++] = '|';
        size += random_atom(to + size, depth);
    }
    return size;
}

static size_t random_atom(char *to, int depth)
{
    // No asserts in groups, the last two, and none about words: glibc gets them wrong at times.
    static const char *const atoms[] = {"a", "b", "c", "ab", ".", "[ab]", "[^a]", "\\w", "^", "$"};
    if (depth < 3 && next_random() % 6 == 0) {
        to[0] = '(';
        const size_t size = random_expression(to + 1, depth + 1);
        to[size + 1] = ')';
        return size + 2;
    }
    const char *atom = atoms[next_random() % (sizeof atoms / sizeof *atoms - (depth ? 2 : 0))];
    return (size_t)sprintf(to, "%s", atom);
}

static void assert_same_as_glibc(const char *text, bool folds_case, weft_bytes line)
{
    struct re_pattern_buffer glibc = {0};
    struct re_registers registers = {0};
    re_set_syntax(RE_SYNTAX_EGREP | (folds_case ? RE_ICASE : 0));
    assert_null(re_compile_pattern(text, strlen(text), &glibc));
    const regoff_t size = (regoff_t)line.size;
    regoff_t at = re_search(&glibc, line.data, size, 0, size, &registers);
    struct pattern *pattern = compiled(text, false, folds_case);
    assert_string_equal(matching_lines(pattern, line), at >= 0 ? "1 " : "");
    size_t start = 0, end = 0;
    for (; at >= 0 && at < size; start = end) {
        if (registers.end[0] > at) {
            assert_true(pattern_next_match(pattern, line, &start, &end));
            assert_int_equal(start, at);
            assert_int_equal(end, registers.end[0]);
        }
        const regoff_t next = registers.end[0] > at ? registers.end[0] : at + 1;
        at = next < size ? re_search(&glibc, line.data, size, next, size - next, &registers) : -1;
    }
    assert_false(pattern_next_match(pattern, line, &start, &end));
    free(registers.start);
    free(registers.end);
    regfree(&glibc);
    pattern_free(pattern);
}

static void random_patterns_match_as_glibc_does(void **unused)
{
    (void)unused;
    for (int round = 0; round < 4000; round++) {
        char text[1024], line[24];
        text[random_expression(text, 0)] = 0;
        const size_t size = 1 + next_random() % sizeof line;
        for (size_t i = 0; i < size; i++)
            line[i] = "abcABC _"[next_random() % 8];
        assert_same_as_glibc(text, next_random() % 3 == 0, (weft_bytes){line, size});
    }
}

// ---- Literals ---------------------------------------------------------------------------------------

// The literals of a pattern with a bar after each, and "!" when they are all it takes.
static const char *literals_of(const char *text)
{
    static char shown[256];
    struct syntax syntax;
    struct literals literals;
    size_t size = 0;
    assert_int_equal(syntax_parse(&syntax, weft_text(text), 0), WEFT_OK);
    assert_int_equal(literals_find(&literals, &syntax), WEFT_OK);
    shown[0] = 0;
    for (size_t i = 0; i < literals.count; i++) {
        const weft_bytes literal = literals_get(&literals, i);
        size += (size_t)sprintf(shown + size, "%.*s|", (int)literal.size, literal.data);
    }
    if (literals.is_complete)
        sprintf(shown + size, "!");
    literals_fini(&literals);
    syntax_fini(&syntax);
    return shown;
}

static void several_patterns_with_back_references_come_in_the_order_of_the_line(void **unused)
{
    (void)unused;
    struct pattern *pattern = compiled("(a)\\1\n(b)\\1+\nc\n(d)?\\1c", false, false);
    char line[] = "c aa bbb c dc dd bb aaa ddc";
    assert_string_equal(matches(pattern, weft_text(line)), "[c][aa][bbb][c][c][bb][aa][ddc]");
    // The next line may stand where this one did.
    memcpy(line, "bb aa", 5);
    assert_string_equal(matches(pattern, weft_text(line)), "[bb][aa][bbb][c][c][bb][aa][ddc]");
    pattern_free(pattern);
}

// This took minutes: the pattern without a match was searched again after each match of the other.
static void a_rare_pattern_beside_a_frequent_one_does_not_take_for_ever(void **unused)
{
    (void)unused;
    enum { WORDS = 100000 };
    struct pattern *pattern = compiled("(q)\\1\nfoo", false, false);
    char *text = malloc(WORDS * 4);
    assert_non_null(text);
    for (size_t i = 0; i < WORDS; i++)
        memcpy(text + i * 4, "foo ", 4);
    size_t count = 0, end;
    for (size_t start = 0; pattern_next_match(pattern, (weft_bytes){text, WORDS * 4}, &start, &end);
         start = end)
        count++;
    assert_int_equal(count, WORDS);
    free(text);
    pattern_free(pattern);
}

static void literals_that_a_match_must_contain_are_found(void **unused)
{
    (void)unused;
    const struct {
        const char *pattern, *literals;
    } cases[] = {
        {"hello", "hello|!"},
        {"h\\.e", "h.e|!"},
        {"fox|dog", "fox|dog|!"},
        {"fox\ndog", "fox|dog|!"},
        {"^hello$", "hello|"},
        {"a.*needle[0-9]+", "needle|"},
        {"(abc){2}d", "abcabcd|!"},
        {"a(fox|dog)e", "fox|dog|"},
        {"ab+c", "ab|"},
        {"colou?r", "colo|"},
        {"[0-9]+", ""},
        {"fox|[0-9]", ""},
        {"(fox)?", ""},
        {"", ""},
        {"fox|", ""},
        {"(a)\\1longer", "longer|"},
        {"a|b|c|d|e|f|g|h|i", ""},  // too many
        {"(foo|bar)needle(x|y)", "needle|"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(literals_of(cases[i].pattern), cases[i].literals);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_match_as_grep_says),
        cmocka_unit_test(matches_are_leftmost_and_longest),
        cmocka_unit_test(case_is_folded_in_ascii_only),
        cmocka_unit_test(a_fixed_pattern_has_no_operators),
        cmocka_unit_test(bytes_of_any_value_are_ordinary),
        cmocka_unit_test(what_is_no_pattern_is_refused),
        cmocka_unit_test(repetitions_of_repetitions_do_not_take_for_ever),
        cmocka_unit_test(what_takes_glibc_seconds_is_not_for_it),
        cmocka_unit_test(groups_within_groups_have_a_limit),
        cmocka_unit_test(an_automaton_that_grows_too_large_starts_again),
        cmocka_unit_test(random_patterns_match_as_glibc_does),
        cmocka_unit_test(several_patterns_with_back_references_come_in_the_order_of_the_line),
        cmocka_unit_test(a_rare_pattern_beside_a_frequent_one_does_not_take_for_ever),
        cmocka_unit_test(literals_that_a_match_must_contain_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
