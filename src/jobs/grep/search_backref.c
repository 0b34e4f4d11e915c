// An interface to glibc's matcher. It is slow and its memory is not bounded, but no other code
// knows which patterns with back-references match.

#include "jobs/grep/search_backref.h"

#include <limits.h>
#include <regex.h>
#include <stdlib.h>

enum {
    COPIES_MAX = 1 << 15,  // measured: a tenth of a second
    OPTIONALS_MAX = 256,   // the same; the time grows with their third power, or worse
    // With + around what may be empty, as in x{2}+*?{5}++: the time grows as an exponent of these. Measured: up to a
    // twentieth of a second; 80 take seconds.
    NESTED_MAX = 24,
    // The same beside an anchor, which counts three times: up to a fifth of a second; 19 take seconds, 32 minutes.
    ANCHORED_MAX = 16,
    ANCHORED_COPIES_MAX = 48,  // ()^+.+++*+++ has 80 and takes seconds
    COST_MAX = 1 << 30,        // counting ends here
};

// The first match of a pattern at or after a place of the current line.
struct next {
    bool is_known;
    size_t start;
    long length;  // -1: there is none
};

struct backref {
    struct re_pattern_buffer *patterns;  // one per line
    struct next *nexts;                  // one for each
    weft_bytes line;                     // at hand
    size_t count;
    enum syntax_flags flags;
    struct re_registers registers;  // allocated by the matcher, used again
};

// ---- What glibc would make of a pattern ---------------------------------------------------------------

struct cost {
    uint64_t copies;     // nodes of its tree
    uint64_t optionals;  // what may be left out or is empty
    uint64_t anchors;    // those of them that are anchors
    bool may_be_empty;   // the whole text that it matches
    bool has_loop;       // * or + or {m,} stands somewhere in it
    bool
        has_nested;  // + stands around what may be left out, as in (a*)+, or a loop and what may be empty: (a*){5}
};

static uint64_t at_most(uint64_t number)
{
    return number < COST_MAX ? number : COST_MAX;
}

// a+ becomes aa*, a{3,} becomes aaaa*, a{2,4} becomes aa(aa?)?, of whatever a is.
static struct cost repeat_cost(const struct node *repeat, struct cost child)
{
    const bool is_endless = repeat->max == SYNTAX_UNLIMITED;
    const uint64_t copies = is_endless ? (uint64_t)repeat->min + 1 : repeat->max;
    const uint64_t optionals = is_endless ? repeat->min == 0 : repeat->max - repeat->min;
    const bool is_plus = is_endless && repeat->min > 0 && child.optionals > 0;
    const bool is_repeated = is_endless || copies > 1;
    const bool has_loop = child.has_loop || is_endless;
    const bool is_nested = is_plus || (is_repeated && has_loop && child.may_be_empty);
    struct cost cost = {.copies = at_most(child.copies * copies + 1),
                        .optionals = at_most(child.optionals * copies + optionals),
                        .anchors = at_most(child.anchors * copies),
                        .may_be_empty = child.may_be_empty || repeat->min == 0,
                        .has_loop = has_loop,
                        .has_nested = child.has_nested || is_nested || repeat->merged > 0};
    if (repeat->merged) {
        cost.copies = at_most(cost.copies * repeat->merged);
        cost.optionals = at_most(cost.optionals * repeat->merged);
        cost.anchors = at_most(cost.anchors * repeat->merged);
    }
    return cost;
}

static struct cost find_cost(const struct syntax *syntax, uint32_t index)
{
    const struct node *node = &syntax->nodes.items[index];
    if (node->kind == NODE_REPEAT)
        return repeat_cost(node, find_cost(syntax, node->child));
    const bool is_choice = node->kind == NODE_CHOICE;
    struct cost cost = {.copies = 1,
                        .optionals = node->kind == NODE_EMPTY || node->kind == NODE_ASSERT,
                        .anchors = node->kind == NODE_ASSERT,
                        .may_be_empty = node->kind != NODE_SET && !is_choice};
    uint64_t child_count = 0;
    for (uint32_t child = node->child; child; child = syntax->nodes.items[child].sibling) {
        const struct cost more = find_cost(syntax, child);
        cost.copies = at_most(cost.copies + more.copies);
        cost.optionals = at_most(cost.optionals + more.optionals);
        cost.anchors = at_most(cost.anchors + more.anchors);
        cost.may_be_empty = is_choice ? cost.may_be_empty || more.may_be_empty
                                      : cost.may_be_empty && more.may_be_empty;
        cost.has_loop |= more.has_loop;
        cost.has_nested |= more.has_nested;
        child_count++;
    }
    cost.optionals += node->kind == NODE_SEQUENCE && child_count == 0;  // as in (a|)
    return cost;
}

static bool is_cheap_when_nested(const struct cost *cost)
{
    if (!cost->has_nested)
        return true;
    if (!cost->anchors)
        return cost->optionals <= NESTED_MAX;
    return cost->optionals + 2 * cost->anchors <= ANCHORED_MAX &&
           cost->copies <= ANCHORED_COPIES_MAX;
}

bool backref_is_cheap(const struct syntax *syntax)
{
    const struct node *nodes = syntax->nodes.items;
    bool is_cheap = true;
    // Each line is compiled by itself.
    for (uint32_t line = nodes[syntax->root].child; line && is_cheap; line = nodes[line].sibling) {
        const struct cost cost = find_cost(syntax, line);
        is_cheap = cost.copies <= COPIES_MAX && cost.optionals <= OPTIONALS_MAX &&
                   is_cheap_when_nested(&cost);
    }
    return is_cheap;
}

// ---- Compiling and matching -----------------------------------------------------------------------------

static size_t count_lines(weft_bytes text)
{
    size_t count = 1;
    for (size_t i = 0; i < text.size; i++)
        count += text.data[i] == '\n';
    return count;
}

weft_err backref_new(struct backref **backref, weft_bytes text, enum syntax_flags flags)
{
    *backref = NULL;
    struct backref *made = calloc(1, sizeof *made);
    const size_t count = count_lines(text);
    struct re_pattern_buffer *patterns = calloc(count, sizeof *patterns);
    struct next *nexts = calloc(count, sizeof *nexts);
    if (!made || !patterns || !nexts) {
        free(made);
        free(patterns);
        free(nexts);
        return err_no_memory("for the pattern");
    }
    made->patterns = patterns;
    made->nexts = nexts;
    made->flags = flags;
    re_set_syntax(RE_SYNTAX_EGREP | (flags & SYNTAX_FOLDS_CASE ? RE_ICASE : 0));
    const char *why = NULL;
    for (size_t i = 0; i < count && !why; i++) {
        const char *end = text.size ? memchr(text.data, '\n', text.size) : NULL;
        const size_t size = end ? (size_t)(end - text.data) : text.size;
        made->count = i + 1;
        why = re_compile_pattern(size ? text.data : "", size, &patterns[i]);
        text.data += end ? size + 1 : size;
        text.size -= end ? size + 1 : size;
    }
    if (why) {
        backref_free(made);
        return err_set(WEFT_INVALID_ARGUMENT, "the pattern is not valid: %s", why);
    }
    *backref = made;
    return WEFT_OK;
}

void backref_free(struct backref *backref)
{
    if (!backref)
        return;
    for (size_t i = 0; i < backref->count; i++)
        regfree(&backref->patterns[i]);
    free(backref->registers.start);
    free(backref->registers.end);
    free(backref->patterns);
    free(backref->nexts);
    free(backref);
}

// The first match of one pattern from *start on, which is moved: its length; -1: none, -2: failed.
static long search_one(struct backref *backref, size_t index, weft_bytes line, size_t *start)
{
    struct re_pattern_buffer *pattern = &backref->patterns[index];
    re_set_registers(pattern, &backref->registers, backref->registers.num_regs,
                     backref->registers.start, backref->registers.end);
    pattern->regs_allocated = backref->registers.start ? REGS_REALLOCATE : REGS_UNALLOCATED;
    const regoff_t size = (regoff_t)line.size, from = (regoff_t)*start;
    const regoff_t found =
        re_search(pattern, line.data, size, from, size - from, &backref->registers);
    if (found < 0)
        return found;
    *start = (size_t)found;
    return backref->registers.end[0] - found;
}

static bool is_whole_word(weft_bytes line, size_t start, size_t end)
{
    return !(start > 0 && syntax_is_word((unsigned char)line.data[start - 1])) &&
           !(end < line.size && syntax_is_word((unsigned char)line.data[end]));
}

// As grep -w: of the matches at a place the longest that is a word, else from the next place on.
static long search_word(struct backref *backref, size_t index, weft_bytes line, size_t *start)
{
    struct re_pattern_buffer *pattern = &backref->patterns[index];
    for (; *start <= line.size; ++*start) {
        long length = search_one(backref, index, line, start);
        while (length >= 0 && !is_whole_word(line, *start, *start + (size_t)length)) {
            if (length == 0) {
                length = -1;
                break;
            }
            pattern->not_eol = 1;
            const regoff_t until = (regoff_t)*start + (regoff_t)length - 1;
            length = re_match(pattern, line.data, until, (regoff_t)*start, NULL);
            pattern->not_eol = 0;
            if (length == 0)
                length = -1;
            if (length < 0)
                break;
        }
        if (length >= 0 || length < -1)
            return length;
        size_t next = *start;
        if (search_one(backref, index, line, &next) < 0)
            return -1;
    }
    return -1;
}

static long match_one(struct backref *backref, size_t index, weft_bytes line, size_t *start)
{
    if (backref->flags & SYNTAX_WHOLE_WORD)
        return search_word(backref, index, line, start);
    const long length = search_one(backref, index, line, start);
    if (length >= 0 && backref->flags & SYNTAX_WHOLE_LINE &&
        (*start > 0 || (size_t)length < line.size))
        return -1;
    return length;
}

// A line is read from its beginning; matches of the line before are forgotten.
static void begin_line(struct backref *backref, weft_bytes line)
{
    backref->line = line;
    for (size_t i = 0; i < backref->count; i++)
        backref->nexts[i].is_known = false;
}

// A match that was found ahead stays the first one until its place is passed. Otherwise a rare
// pattern of several would be searched to the end of the line after every match of the others.
static struct next find_next(struct backref *backref, size_t index, weft_bytes line, size_t from)
{
    struct next *next = &backref->nexts[index];
    if (next->is_known && (next->length < 0 || next->start >= from))
        return *next;
    next->start = from;
    next->length = match_one(backref, index, line, &next->start);
    next->is_known = next->length >= -1;
    return *next;
}

bool backref_match(struct backref *backref, weft_bytes line, size_t *start, size_t *end,
                   bool *has_failed)
{
    const size_t from = *start;
    bool has_match = false;
    if (line.size > INT_MAX) {
        *has_failed = true;  // its offsets are ints
        return false;
    }
    if (!line.data)
        line.data = "";
    if (from == 0 || line.data != backref->line.data || line.size != backref->line.size)
        begin_line(backref, line);
    for (size_t i = 0; i < backref->count; i++) {
        const struct next next = find_next(backref, i, line, from);
        const size_t end_of_next = next.start + (size_t)next.length;
        *has_failed |= next.length < -1;
        if (next.length < 0)
            continue;
        if (!has_match || next.start < *start || (next.start == *start && end_of_next > *end)) {
            *start = next.start;
            *end = end_of_next;
        }
        has_match = true;
    }
    return has_match && !*has_failed;
}
