// A pattern ready to find lines.
//
//   literals say it all     a search at the speed of memory finds the lines
//   literals are required   the same search finds candidates, the automaton looks at their lines
//   otherwise               the automaton reads the block
//   back-references         the automaton lets any text stand for them, glibc looks at those lines

#include "jobs/grep/search_pattern.h"

#include "jobs/grep/search.h"
#include "jobs/grep/search_backref.h"
#include "jobs/grep/search_dfa.h"
#include "jobs/grep/search_literal.h"

#include <stdlib.h>

enum {
    CANDIDATES_TRIED = 64,      // before their density is judged
    CANDIDATE_BYTES_MIN = 200,  // a candidate for so few bytes: the automaton alone is faster
};

struct pattern {
    struct syntax syntax, match_syntax;  // two where grep reads the pattern in two ways
    struct program program, match_program;
    struct dfa *search, *match;
    struct backref *backref;  // only with back-references
    struct search searches[LITERALS_MAX];
    size_t search_count;  // 0: no literals to look for
    bool is_complete;     // a literal is all it takes
    bool has_failed;
    // The block at hand.
    const char *at, *end;
    const char *hits[LITERALS_MAX];  // the next place of each literal at or after `at`; NULL: none
    bool has_hits;                   // they are looked for when first asked for
    size_t bytes_searched, candidate_count;  // since the beginning, for the density
};

// ---- Life -----------------------------------------------------------------------------------------

static weft_err compile_literals(struct pattern *pattern)
{
    struct literals literals;
    weft_err err = literals_find(&literals, &pattern->syntax);
    for (size_t i = 0; i < literals.count && !err; i++) {
        err = search_init(&pattern->searches[i], literals_get(&literals, i),
                          pattern->syntax.flags & SYNTAX_FOLDS_CASE);
        pattern->search_count += !err;
    }
    pattern->is_complete = literals.is_complete && !pattern->syntax.has_backref;
    literals_fini(&literals);
    return err;
}

// The automaton that finds the ends of matches, for -o.
static weft_err compile_match(struct pattern *pattern, weft_bytes text)
{
    const struct program *program = &pattern->program;
    if (pattern->syntax.has_odd_repeats) {
        const enum syntax_flags flags = pattern->syntax.flags | SYNTAX_DROPS_REPEATS;
        weft_err err = syntax_parse(&pattern->match_syntax, text, flags);
        if (!err)
            err = program_build(&pattern->match_program, &pattern->match_syntax);
        if (err)
            return err;
        program = &pattern->match_program;
    }
    pattern->match = dfa_new(program, DFA_MATCH);
    return pattern->match ? WEFT_OK : err_no_memory("for the pattern");
}

// After our own limits: glibc has none. A pattern that would take it too long is judged by our parser alone;
// one with back-references cannot do without it.
static weft_err ask_glibc(struct pattern *pattern, weft_bytes text, enum syntax_flags flags)
{
    if (backref_is_cheap(&pattern->syntax))
        return backref_new(&pattern->backref, text, flags);
    if (!pattern->syntax.has_backref)
        return WEFT_OK;
    return err_set(WEFT_INVALID_ARGUMENT,
                   "the pattern has a back-reference and too many repetitions of repetitions: it "
                   "would take too long to compile\n  try: a+ in place of a++ or (a+)+, and "
                   "smaller numbers in braces");
}

static weft_err compile(struct pattern *pattern, weft_bytes text, struct pattern_options options)
{
    const enum syntax_flags flags = (options.is_fixed ? SYNTAX_FIXED : 0) |
                                    (options.folds_case ? SYNTAX_FOLDS_CASE : 0) |
                                    (options.is_line   ? SYNTAX_WHOLE_LINE
                                     : options.is_word ? SYNTAX_WHOLE_WORD
                                                       : 0);
    weft_err err = syntax_parse(&pattern->syntax, text, flags);
    if (!err)
        err = program_build(&pattern->program, &pattern->syntax);
    if (!err && !options.is_fixed)
        err = ask_glibc(pattern, text, flags);
    if (!err)
        err = compile_literals(pattern);
    if (!err)
        err = compile_match(pattern, text);
    if (err)
        return err;
    if (!pattern->syntax.has_backref) {
        backref_free(pattern->backref);
        pattern->backref = NULL;
    }
    pattern->search = dfa_new(&pattern->program, DFA_SEARCH);
    return pattern->search ? WEFT_OK : err_no_memory("for the pattern");
}

weft_err pattern_new(struct pattern **pattern, const char *text, struct pattern_options options)
{
    *pattern = NULL;
    struct pattern *made = calloc(1, sizeof *made);
    if (!made)
        return err_no_memory("for the pattern");
    const weft_err err = compile(made, weft_text(text), options);
    if (err)
        pattern_free(made);
    else
        *pattern = made;
    return err;
}

void pattern_free(struct pattern *pattern)
{
    if (!pattern)
        return;
    for (size_t i = 0; i < pattern->search_count; i++)
        search_fini(&pattern->searches[i]);
    dfa_free(pattern->search);
    dfa_free(pattern->match);
    backref_free(pattern->backref);
    program_fini(&pattern->program);
    program_fini(&pattern->match_program);
    syntax_fini(&pattern->syntax);
    syntax_fini(&pattern->match_syntax);
    free(pattern);
}

weft_err pattern_failure(const struct pattern *pattern)
{
    if (pattern->has_failed || dfa_has_failed(pattern->search) || dfa_has_failed(pattern->match))
        return err_no_memory("to match the pattern; a simpler one needs less");
    return WEFT_OK;
}

// ---- Lines ----------------------------------------------------------------------------------------

void pattern_begin(struct pattern *pattern, weft_bytes block)
{
    pattern->at = block.data;
    pattern->end = block.data + block.size;
    pattern->has_hits = false;
}

// The line around a place at or after `at`, which is where a line begins.
static weft_bytes line_around(const struct pattern *pattern, const char *place)
{
    const char *before = memrchr(pattern->at, '\n', (size_t)(place - pattern->at));
    const char *start = before ? before + 1 : pattern->at;
    const char *after =
        place < pattern->end ? memchr(place, '\n', (size_t)(pattern->end - place)) : NULL;
    return (weft_bytes){start, (size_t)((after ? after : pattern->end) - start)};
}

// Continues after the line.
static void leave_line(struct pattern *pattern, weft_bytes line)
{
    const char *behind = line.data + line.size;
    pattern->at = behind < pattern->end ? behind + 1 : pattern->end;
}

// The first place of any literal at or after `at`; NULL: there is none.
static const char *next_hit(struct pattern *pattern)
{
    const char *first = NULL;
    for (size_t i = 0; i < pattern->search_count; i++) {
        if (!pattern->has_hits || (pattern->hits[i] && pattern->hits[i] < pattern->at))
            pattern->hits[i] = search_next(&pattern->searches[i], pattern->at,
                                           (size_t)(pattern->end - pattern->at));
        if (pattern->hits[i] && (!first || pattern->hits[i] < first))
            first = pattern->hits[i];
    }
    pattern->has_hits = true;
    return first;
}

// Whether literals are rare enough to be worth searching.
static bool has_rare_literals(const struct pattern *pattern)
{
    return pattern->is_complete || pattern->candidate_count < CANDIDATES_TRIED ||
           pattern->bytes_searched / pattern->candidate_count >= CANDIDATE_BYTES_MIN;
}

static bool is_really_matching(struct pattern *pattern, weft_bytes line)
{
    size_t start = 0, end;
    return !pattern->backref ||
           backref_match(pattern->backref, line, &start, &end, &pattern->has_failed);
}

static bool next_line_by_literal(struct pattern *pattern, weft_bytes *line)
{
    for (const char *place; (place = next_hit(pattern)) && !pattern->has_failed;) {
        *line = line_around(pattern, place);
        pattern->bytes_searched += (size_t)(line->data + line->size - pattern->at);
        pattern->candidate_count++;
        leave_line(pattern, *line);
        if (pattern->is_complete || (dfa_search(pattern->search, line->data, line->size) &&
                                     is_really_matching(pattern, *line)))
            return true;
    }
    return false;
}

static bool next_line_by_automaton(struct pattern *pattern, weft_bytes *line)
{
    while (pattern->at < pattern->end && !pattern->has_failed) {
        const char *place =
            dfa_search(pattern->search, pattern->at, (size_t)(pattern->end - pattern->at));
        if (!place)
            break;
        *line = line_around(pattern, place);
        leave_line(pattern, *line);
        if (is_really_matching(pattern, *line))
            return true;
    }
    pattern->at = pattern->end;
    return false;
}

bool pattern_next_line(struct pattern *pattern, weft_bytes *line)
{
    if (pattern->at == pattern->end)
        return false;
    if (pattern->search_count > 0 && has_rare_literals(pattern))
        return next_line_by_literal(pattern, line);
    return next_line_by_automaton(pattern, line);
}

// ---- Matches --------------------------------------------------------------------------------------

static bool next_match_by_backref(struct pattern *pattern, weft_bytes line, size_t *start,
                                  size_t *end)
{
    // An empty match is passed by.
    for (; *start <= line.size; ++*start) {
        if (!backref_match(pattern->backref, line, start, end, &pattern->has_failed))
            return false;
        if (*end > *start)
            return true;
    }
    return false;
}

bool pattern_next_match(struct pattern *pattern, weft_bytes line, size_t *start, size_t *end)
{
    if (*start >= line.size)
        return false;
    if (pattern->backref)
        return next_match_by_backref(pattern, line, start, end);
    if (pattern->is_complete && pattern->search_count == 1 && !pattern->syntax.has_odd_repeats) {
        const char *place =
            search_next(&pattern->searches[0], line.data + *start, line.size - *start);
        if (!place)
            return false;
        *start = (size_t)(place - line.data);
        *end = *start + pattern->searches[0].size;
        return true;
    }
    for (; *start < line.size; ++*start) {
        const ptrdiff_t until = dfa_match(pattern->match, line, *start);
        if (until > (ptrdiff_t)*start) {
            *end = (size_t)until;
            return true;
        }
    }
    return false;
}
