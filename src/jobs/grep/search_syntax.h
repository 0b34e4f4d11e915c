// Extended regular expressions, as `grep -E` reads them in the C locale, parsed into a tree.
//
// Thread: a syntax may be read by any number at once after syntax_parse.
#ifndef JOBS_GREP_SEARCH_SYNTAX_H
#define JOBS_GREP_SEARCH_SYNTAX_H

#include "base/err.h"
#include "base/vec.h"

enum { SYNTAX_DEPTH_MAX = 200, SYNTAX_UNLIMITED = UINT16_MAX };

enum syntax_flags {
    SYNTAX_FIXED = 1,       // the lines are literals
    SYNTAX_FOLDS_CASE = 2,  // ASCII letters match in both cases
    // An operator with nothing to repeat (at the start, after an anchor) is dropped, not applied
    // to the empty text: so grep finds lines by the one rule and, with -o, matches by the other.
    SYNTAX_DROPS_REPEATS = 4,
    SYNTAX_WHOLE_WORD = 8,   // between bytes that are not of a word
    SYNTAX_WHOLE_LINE = 16,  // from the start of a line to its end
};

struct byte_set {
    uint64_t bits[4];
};

static inline bool byte_set_has(const struct byte_set *set, unsigned char byte)
{
    return set->bits[byte / 64] >> (byte % 64) & 1;
}

static inline void byte_set_add(struct byte_set *set, unsigned char byte)
{
    set->bits[byte / 64] |= UINT64_C(1) << (byte % 64);
}

// A byte of a word, as \w, \b, \< and \> see it.
static inline bool syntax_is_word(unsigned char byte)
{
    return (unsigned char)((byte | 0x20) - 'a') < 26 || (unsigned char)(byte - '0') < 10 ||
           byte == '_';
}

enum node_kind {
    NODE_EMPTY,     // matches the empty text
    NODE_SET,       // one byte of a set
    NODE_SEQUENCE,  // its children, one after the other
    NODE_CHOICE,    // one of its children
    NODE_REPEAT,    // its child, from min to max times
    NODE_ASSERT,    // the empty text in certain places
    NODE_BACKREF,   // what a group matched: here any text, to be looked at again
};

enum assert_kind {
    ASSERT_LINE_START,
    ASSERT_LINE_END,
    ASSERT_WORD_START,
    ASSERT_WORD_END,
    ASSERT_WORD_EDGE,
    ASSERT_NO_WORD_EDGE,
    ASSERT_NO_WORD_BEFORE,
    ASSERT_NO_WORD_BEHIND,
};

// Nodes are numbers in the syntax's array; 0 is none.
struct node {
    enum node_kind kind;
    uint32_t child, sibling;
    uint32_t set;       // NODE_SET
    uint16_t min, max;  // NODE_REPEAT; max SYNTAX_UNLIMITED: no end
    // NODE_REPEAT: the + and {m,} after it changed nothing; glibc would make this many copies of it for them. 0: none
    uint16_t merged;
    enum assert_kind assert;  // NODE_ASSERT
};

struct syntax {
    VEC(struct node) nodes;
    VEC(struct byte_set) sets;  // no two alike
    uint32_t root;
    enum syntax_flags flags;
    bool has_backref;
    bool has_odd_repeats;  // SYNTAX_DROPS_REPEATS would make a difference
};

// Parses one pattern per line of `text`; any of them may match. INVALID_ARGUMENT says what is wrong.
// syntax_fini in every case.
MUST_CHECK weft_err syntax_parse(struct syntax *syntax, weft_bytes text, enum syntax_flags flags);
void syntax_fini(struct syntax *syntax);

// The byte that the set stands for: its only one, or where case is folded the lower of two cases; -1: none.
int syntax_single_byte(const struct syntax *syntax, uint32_t set);

// ---- between the files of the parser

struct syntax_parser {
    struct syntax *syntax;
    const char *at, *end;  // of the pattern at hand
    const char *brace;     // a brace that stands for itself, because no interval follows it
    int depth, open_groups;
    weft_err failure;
};

// A bracket expression, `at` after its "[".
struct byte_set syntax_parse_bracket(struct syntax_parser *parser);

// Adds the other case of the letters in the set.
void syntax_fold(struct byte_set *set);

#endif
