// glibc's matcher, for patterns with back-references, and as the judge of which texts are patterns
// at all. Thread: one owner.
#ifndef JOBS_GREP_SEARCH_BACKREF_H
#define JOBS_GREP_SEARCH_BACKREF_H

#include "base/err.h"
#include "jobs/grep/search_syntax.h"

struct backref;

// Whether glibc compiles the pattern in less than a second: it copies every repeated part, and the
// repeated parts inside it once more, without a limit of its own.
bool backref_is_cheap(const struct syntax *syntax);

// Compiles each line of the text by glibc, with the syntax of `grep -E`. INVALID_ARGUMENT with glibc's
// own words. *backref is NULL on failure. Of the flags, those count that fold case and ask for whole words
// or lines.
MUST_CHECK weft_err backref_new(struct backref **backref, weft_bytes text, enum syntax_flags flags);
void backref_free(struct backref *backref);

// The leftmost, longest match in the line from *start on, which may be empty; sets *start and *end.
// A caller asks about a line from 0 on, then from places that grow: later matches are remembered.
// *has_failed is set when out of memory.
bool backref_match(struct backref *backref, weft_bytes line, size_t *start, size_t *end,
                   bool *has_failed);

#endif
