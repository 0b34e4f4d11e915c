// A pattern ready to find lines: literals first, then the automaton, and glibc's matcher for what only it can
// do (back-references). Thread: one owner, since automata grow while they run.
#ifndef JOBS_GREP_SEARCH_PATTERN_H
#define JOBS_GREP_SEARCH_PATTERN_H

#include "base/err.h"

struct pattern_options {
    bool is_fixed;    // the pattern is a literal, not an expression
    bool folds_case;  // ASCII letters match in both cases
    bool is_word;     // no letter, digit or _ stands before or after a match
    bool is_line;     // a match is a whole line; is_word says nothing then
};

struct pattern;

// Compiles a pattern as `LC_ALL=C grep -E` (or -F) takes it: one per line of the text, any may match.
// INVALID_ARGUMENT: its message has the error. *pattern is NULL on failure.
MUST_CHECK weft_err pattern_new(struct pattern **pattern, const char *text,
                                struct pattern_options options);
void pattern_free(struct pattern *pattern);

// Begins a block of whole lines (the last may lack its end), borrowed until the next begin.
void pattern_begin(struct pattern *pattern, weft_bytes block);

// The next line of the block that matches, without its end; false when there is none or it failed.
bool pattern_next_line(struct pattern *pattern, weft_bytes *line);

// The leftmost, longest match in the line that begins at or after *start and is not empty; sets *start
// and *end.
bool pattern_next_match(struct pattern *pattern, weft_bytes line, size_t *start, size_t *end);

// RESOURCE_EXHAUSTED if memory ran out on the way, with its message.
MUST_CHECK weft_err pattern_failure(const struct pattern *pattern);

#endif
