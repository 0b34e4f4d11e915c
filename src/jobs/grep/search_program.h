// A pattern as a program: instructions for an imaginary machine that is in many places at once.
// Only the automaton runs it. Thread: a program may be read by any number at once.
#ifndef JOBS_GREP_SEARCH_PROGRAM_H
#define JOBS_GREP_SEARCH_PROGRAM_H

#include "jobs/grep/search_syntax.h"

enum { PROGRAM_STEPS_MAX = 100000 };

enum step_kind {
    STEP_SET,     // takes a byte of `set`, continues after it
    STEP_ASSERT,  // continues after it if the place is right
    STEP_JUMP,    // continues at `to`
    STEP_FORK,    // continues after it and at `to`
    STEP_MATCH,   // the end
};

struct step {
    enum step_kind kind;
    uint32_t to;
    uint32_t set;
    enum assert_kind assert;
};

struct program {
    const struct syntax *syntax;  // borrowed, for its sets
    VEC(struct step) steps;       // begins with the first
    bool has_line_assert, has_word_assert;
};

// INVALID_ARGUMENT when the pattern is too large. program_fini in every case.
MUST_CHECK weft_err program_build(struct program *program, const struct syntax *syntax);
void program_fini(struct program *program);

#endif
