// Patterns and the text they are looked for in: the first byte has the options, the first line behind it is
// the pattern, the rest is the text. Every line and match that is found lies where it may lie, and what is
// found one way is found the other way too.

#include "base/bytes.h"
#include "jobs/grep/search_pattern.h"
#include "jobs/grep/search_syntax.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    PATTERN_BYTES_MAX = 48,  // glibc's matcher, which judges patterns, has no limits of its own
    BACKREF_TEXT_BYTES_MAX = 12,  // (.)\1++ takes it, and grep, a time that doubles with each byte
};

// grep itself, and so we, find lines by another rule than matches in such a pattern.
static bool has_two_readings(const char *text, struct pattern_options options)
{
    struct syntax syntax;
    const enum syntax_flags flags =
        (options.is_fixed ? SYNTAX_FIXED : 0) | (options.folds_case ? SYNTAX_FOLDS_CASE : 0) |
        (options.is_word ? SYNTAX_WHOLE_WORD : 0) | (options.is_line ? SYNTAX_WHOLE_LINE : 0);
    const weft_err err = syntax_parse(&syntax, weft_text(text), flags);
    const bool has = err || syntax.has_odd_repeats || syntax.has_backref;
    syntax_fini(&syntax);
    return has;
}

static bool check_matches(struct pattern *pattern, weft_bytes line)
{
    size_t start = 0, end = 0, before = 0;
    bool has_match = false;
    for (; pattern_next_match(pattern, line, &start, &end); start = before = end) {
        if (start < before || end <= start || end > line.size)
            abort();
        has_match = true;
    }
    return has_match;
}

static void check_lines(struct pattern *pattern, weft_bytes text, bool has_one_reading)
{
    weft_bytes rest = text, each, found = {0};
    pattern_begin(pattern, text);
    bool has_found = pattern_next_line(pattern, &found);
    // Matches are looked for in all lines, also in those that were passed over.
    while (weft_next_line(&rest, &each)) {
        const bool is_found = has_found && found.data == each.data;
        if (is_found && found.size != each.size)
            abort();
        const bool has_match = check_matches(pattern, each);
        if (has_match && !is_found && has_one_reading)
            abort();
        if (is_found)
            has_found = pattern_next_line(pattern, &found);
    }
    if (has_found)
        abort();  // a line that does not begin where lines begin, or a second time
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[PATTERN_BYTES_MAX + 1] = {0};
    if (size < 2)
        return 0;
    const struct pattern_options options = {.is_fixed = data[0] & 1,
                                            .folds_case = data[0] & 2,
                                            .is_word = data[0] & 4,
                                            .is_line = data[0] & 8};
    const uint8_t *end = memchr(data + 1, '\n', size - 1);
    const size_t pattern_size = end ? (size_t)(end - data - 1) : size - 1;
    if (pattern_size > PATTERN_BYTES_MAX)
        return 0;
    memcpy(text, data + 1, pattern_size);
    struct pattern *pattern;
    err_clear();
    if (pattern_new(&pattern, text, options)) {
        if (*err_text() == 0)
            abort();
        return 0;
    }
    const size_t taken = 1 + pattern_size + (end != NULL);
    weft_bytes rest = {(const char *)data + taken, size - taken};
    const bool has_two = has_two_readings(text, options);
    if (has_two && rest.size > BACKREF_TEXT_BYTES_MAX)
        rest.size = BACKREF_TEXT_BYTES_MAX;
    check_lines(pattern, rest, !has_two);
    pattern_free(pattern);
    return 0;
}
