// The automaton that runs a pattern's program: its states are made when text first leads to them, and thrown
// away together when there are too many. Thread: one owner; the program may be shared.
#ifndef JOBS_GREP_SEARCH_DFA_H
#define JOBS_GREP_SEARCH_DFA_H

#include "jobs/grep/search_program.h"

enum dfa_kind {
    DFA_SEARCH,  // does a match end anywhere in the line?
    DFA_MATCH,   // how far does the longest match from here go?
};

struct dfa;

// Borrows the program. NULL if memory runs out.
struct dfa *dfa_new(const struct program *program, enum dfa_kind kind);
void dfa_free(struct dfa *dfa);

// DFA_SEARCH: where in the text (whole lines, the last may lack its end) it was first known that a
// line matches: a place in that line or at its end. NULL: in no line, or memory ran out.
const char *dfa_search(struct dfa *dfa, const char *text, size_t size);

// DFA_MATCH: the end of the longest match in the line that begins at `start`; -1: there is none.
ptrdiff_t dfa_match(struct dfa *dfa, weft_bytes line, size_t start);

// Memory ran out at some time; answers since then are not valid.
bool dfa_has_failed(const struct dfa *dfa);

#endif
