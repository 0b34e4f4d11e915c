// The automaton. A state is the set of steps the program may be at, before those that take no byte are
// followed, and what kind of byte came before: whether a place is the start of a word is only known once
// the next byte is. A transition by byte b therefore first follows forks, jumps and asserts between the
// byte before and b, notes whether that reaches the match, and then takes b.
//
//   table[256 * state + byte] = 256 * next state; 0: not made yet, 256: matched
//
// Bytes that are in the same sets get their transitions together.

#include "jobs/grep/search_dfa.h"

#include "base/buf.h"

#include <stdlib.h>

enum {
    STATES_MAX = 4096,  // times 1 KiB of table
    STATE_NONE = 0,
    STATE_MATCHED = 1,
    STATE_FIRST = 2,
    STATES_AT_FIRST = 16,
    LINE_END = '\n',
    SKIP_WORTH = 16,  // bytes skipped at once that make up for the try
    SKIP_PAUSE = 16,  // bytes before the next try, when they were fewer
};

// The kinds of bytes beside a place.
enum neighbour { BESIDE_LINE_EDGE, BESIDE_WORD, BESIDE_OTHER, NEIGHBOUR_COUNT };

struct state {
    uint32_t offset, count;  // its steps in `pool`
    enum neighbour before;
    bool has_match;  // DFA_MATCH: a match ended before the byte that led here
    uint32_t next_in_bucket;
};

struct dfa {
    const struct program *program;
    enum dfa_kind kind;
    bool has_failed;
    uint32_t *table;
    size_t table_states;  // that the table has room for
    VEC(struct state) states;
    VEC(uint32_t) pool;
    uint32_t buckets[STATES_MAX];
    uint32_t starts[NEIGHBOUR_COUNT];  // states at the start, by what comes before; 0: not made
    uint8_t class_of[256];
    // While a transition is made:
    uint32_t *marks, mark;  // per step: the mark of the transition that has seen it
    uint32_t *stack, *reached, *next;
};

bool dfa_has_failed(const struct dfa *dfa)
{
    return dfa->has_failed;
}

static enum neighbour neighbour_of(unsigned char byte)
{
    return byte == LINE_END ? BESIDE_LINE_EDGE : syntax_is_word(byte) ? BESIDE_WORD : BESIDE_OTHER;
}

// ---- States ---------------------------------------------------------------------------------------

static void forget_states(struct dfa *dfa)
{
    dfa->states.count = 0;
    dfa->pool.count = 0;
    memset(dfa->buckets, 0, sizeof dfa->buckets);
    memset(dfa->starts, 0, sizeof dfa->starts);
}

static bool grow_table(struct dfa *dfa, size_t states)
{
    if (states <= dfa->table_states)
        return true;
    size_t wanted = dfa->table_states ? 2 * dfa->table_states : STATES_AT_FIRST;
    uint32_t *table = realloc(dfa->table, wanted * 256 * sizeof *table);
    if (!table)
        return false;
    dfa->table = table;
    dfa->table_states = wanted;
    return true;
}

static bool append_state(struct dfa *dfa, struct state state, const uint32_t *steps)
{
    while (dfa->states.count < STATE_FIRST)
        if (!VEC_PUSH(&dfa->states, (struct state){0}))
            return false;
    state.offset = (uint32_t)dfa->pool.count;
    for (uint32_t i = 0; i < state.count; i++)
        if (!VEC_PUSH(&dfa->pool, steps[i]))
            return false;
    if (!VEC_PUSH(&dfa->states, state) || !grow_table(dfa, dfa->states.count))
        return false;
    memset(dfa->table + 256 * (dfa->states.count - 1), 0, 256 * sizeof *dfa->table);
    return true;
}

static uint32_t bucket_of(const struct state *state, const uint32_t *steps)
{
    uint64_t hash =
        state->count * 4 + state->before + 2 * (uint64_t)NEIGHBOUR_COUNT * state->has_match;
    for (uint32_t i = 0; i < state->count; i++)
        hash = (hash ^ steps[i]) * 0x9e3779b97f4a7c15u;
    return (uint32_t)((hash ^ hash >> 29) * 0xbf58476d1ce4e5b9u >> 40) % STATES_MAX;
}

// The number of the state with these steps, made if necessary; STATE_NONE if memory runs out.
// Making one may forget all others.
static uint32_t find_state(struct dfa *dfa, struct state wanted, const uint32_t *steps)
{
    const uint32_t bucket = bucket_of(&wanted, steps);
    for (uint32_t at = dfa->buckets[bucket]; at; at = dfa->states.items[at].next_in_bucket) {
        const struct state *state = &dfa->states.items[at];
        if (state->count == wanted.count && state->before == wanted.before &&
            state->has_match == wanted.has_match &&
            memcmp(dfa->pool.items + state->offset, steps, wanted.count * sizeof *steps) == 0)
            return at;
    }
    if (dfa->states.count == STATES_MAX)
        forget_states(dfa);
    wanted.next_in_bucket = dfa->buckets[bucket];
    if (!append_state(dfa, wanted, steps)) {
        dfa->has_failed = true;
        return STATE_NONE;
    }
    return dfa->buckets[bucket] = (uint32_t)dfa->states.count - 1;
}

// Kinds of bytes that no assert checks are not distinguished: that gives fewer states, and longer
// stays in each.
static enum neighbour as_far_as_it_matters(const struct dfa *dfa, enum neighbour before)
{
    const bool matters =
        before == BESIDE_WORD ? dfa->program->has_word_assert : dfa->program->has_line_assert;
    return matters ? before : BESIDE_OTHER;
}

static uint32_t start_state(struct dfa *dfa, enum neighbour before)
{
    before = as_far_as_it_matters(dfa, before);
    const uint32_t first = 0;
    if (!dfa->starts[before]) {
        const uint32_t state =
            find_state(dfa, (struct state){.count = 1, .before = before}, &first);
        dfa->starts[before] = state;
    }
    return dfa->starts[before];
}

// ---- Transitions ----------------------------------------------------------------------------------

static bool assert_holds(enum assert_kind kind, enum neighbour before, enum neighbour after)
{
    const bool word_before = before == BESIDE_WORD, word_after = after == BESIDE_WORD;
    switch (kind) {
    case ASSERT_LINE_START:
        return before == BESIDE_LINE_EDGE;
    case ASSERT_LINE_END:
        return after == BESIDE_LINE_EDGE;
    case ASSERT_WORD_START:
        return !word_before && word_after;
    case ASSERT_WORD_END:
        return word_before && !word_after;
    case ASSERT_WORD_EDGE:
        return word_before != word_after;
    case ASSERT_NO_WORD_EDGE:
        return word_before == word_after;
    case ASSERT_NO_WORD_BEFORE:
        return !word_before;
    case ASSERT_NO_WORD_BEHIND:
        return !word_after;
    }
    return false;
}

static void push_step(struct dfa *dfa, size_t *depth, uint32_t step)
{
    if (dfa->marks[step] == dfa->mark)
        return;
    dfa->marks[step] = dfa->mark;
    dfa->stack[(*depth)++] = step;
}

// Follows all steps that take no byte; the steps that take one are in `reached`. Returns whether
// the match is reached.
static bool follow(struct dfa *dfa, uint32_t from, enum neighbour after, uint32_t *reached_count)
{
    const struct state state = dfa->states.items[from];
    const struct step *steps = dfa->program->steps.items;
    bool has_match = false;
    size_t depth = 0;
    if (++dfa->mark == 0) {  // after four thousand million transitions
        memset(dfa->marks, 0, dfa->program->steps.count * sizeof *dfa->marks);
        dfa->mark = 1;
    }
    *reached_count = 0;
    for (uint32_t i = 0; i < state.count; i++)
        push_step(dfa, &depth, dfa->pool.items[state.offset + i]);
    while (depth > 0) {
        const uint32_t at = dfa->stack[--depth];
        const struct step *step = &steps[at];
        if (step->kind == STEP_MATCH)
            has_match = true;
        else if (step->kind == STEP_SET)
            dfa->reached[(*reached_count)++] = at;
        else if (step->kind != STEP_ASSERT || assert_holds(step->assert, state.before, after))
            push_step(dfa, &depth, step->kind == STEP_JUMP ? step->to : at + 1);
        if (step->kind == STEP_FORK)
            push_step(dfa, &depth, step->to);
    }
    return has_match;
}

static int compare_steps(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

// Takes the byte from every step in `reached`; the steps after it are in `next`, sorted.
static uint32_t take(struct dfa *dfa, uint32_t reached_count, unsigned char byte)
{
    const struct program *program = dfa->program;
    uint32_t count = 0;
    bool is_sorted = true;
    if (dfa->kind == DFA_SEARCH)
        dfa->next[count++] = 0;  // a match may begin anywhere; no step leads to the first one
    for (uint32_t i = 0; i < reached_count; i++) {
        const struct step *step = &program->steps.items[dfa->reached[i]];
        if (step->set == UINT32_MAX ||
            byte_set_has(&program->syntax->sets.items[step->set], byte)) {
            dfa->next[count++] = dfa->reached[i] + 1;
            is_sorted &= count < 2 || dfa->next[count - 2] < dfa->next[count - 1];
        }
    }
    if (!is_sorted)
        qsort(dfa->next, count, sizeof *dfa->next, compare_steps);
    return count;
}

// The next state for the byte; STATE_NONE if memory runs out.
static uint32_t make_transition(struct dfa *dfa, uint32_t from, unsigned char byte)
{
    const bool is_search = dfa->kind == DFA_SEARCH;
    uint32_t reached_count;
    const bool has_match = follow(dfa, from, neighbour_of(byte), &reached_count);
    if (is_search && has_match)
        return STATE_MATCHED;
    if (byte == LINE_END && is_search)
        return start_state(dfa, BESIDE_LINE_EDGE);
    const struct state wanted = {
        .count = byte == LINE_END ? 0 : take(dfa, reached_count, byte),
        .before = as_far_as_it_matters(dfa, neighbour_of(byte)),
        .has_match = has_match,
    };
    return find_state(dfa, wanted, dfa->next);
}

// As make_transition, and enters it in the table for all bytes of the class.
static uint32_t step_slowly(struct dfa *dfa, uint32_t from, unsigned char byte)
{
    const size_t before = dfa->states.count;
    const uint32_t next = make_transition(dfa, from, byte);
    if (next == STATE_NONE || dfa->states.count < before)
        return next;  // all states were forgotten, also the one we come from
    for (unsigned other = 0; other < 256; other++)
        if (dfa->class_of[other] == dfa->class_of[byte])
            dfa->table[256 * from + other] = 256 * next;
    return next;
}

// Skips the bytes that stay in the same state, four at a time: the processor predicts that the
// state stays the same, so no step waits for the one before it.
static const unsigned char *skip_loop(const uint32_t *row, uint32_t state, const unsigned char *at,
                                      const unsigned char *end)
{
    while (end - at >= 4 && row[at[0]] == state && row[at[1]] == state && row[at[2]] == state &&
           row[at[3]] == state)
        at += 4;
    return at;
}

// Steps until `end`, or until it is known that the line matches (*state is STATE_MATCHED then).
static const unsigned char *run(struct dfa *dfa, uint32_t *state, const unsigned char *at,
                                const unsigned char *end)
{
    uint32_t now = 256 * *state;
    for (; at < end; at++) {
        uint32_t next = dfa->table[now + *at];
        if (next <= 256) {
            if (next == 0)
                next = 256 * step_slowly(dfa, now / 256, *at);
            if (next <= 256) {
                *state = next / 256;
                return at;
            }
        }
        now = next;
    }
    *state = now / 256;
    return at;
}

const char *dfa_search(struct dfa *dfa, const char *text, size_t size)
{
    const unsigned char *at = (const unsigned char *)text, *const end = at + size;
    uint32_t state = start_state(dfa, BESIDE_LINE_EDGE);
    // Skipping where every second byte leads elsewhere would make the processor guess wrong, so it is
    // tried now and then, and more often while it helps.
    while (at < end && !dfa->has_failed) {
        const unsigned char *start = at;
        at = skip_loop(dfa->table + 256 * state, 256 * state, at, end);
        const size_t stride = at - start >= SKIP_WORTH ? 1 : SKIP_PAUSE;
        at = run(dfa, &state, at, (size_t)(end - at) > stride ? at + stride : end);
        if (state == STATE_MATCHED)
            return (const char *)at;
    }
    if (dfa->has_failed || size == 0 || end[-1] == LINE_END)
        return NULL;
    return step_slowly(dfa, state, LINE_END) == STATE_MATCHED ? (const char *)end : NULL;
}

ptrdiff_t dfa_match(struct dfa *dfa, weft_bytes line, size_t start)
{
    const unsigned char *bytes = (const unsigned char *)line.data;
    ptrdiff_t longest = -1;
    uint32_t state = start_state(dfa, start ? neighbour_of(bytes[start - 1]) : BESIDE_LINE_EDGE);
    for (size_t at = start; at <= line.size && !dfa->has_failed; at++) {
        const unsigned char byte = at < line.size ? bytes[at] : LINE_END;
        uint32_t next = dfa->table[256 * state + byte] / 256;
        if (next == STATE_NONE)
            next = step_slowly(dfa, state, byte);
        if (dfa->has_failed)
            return -1;
        state = next;
        if (dfa->states.items[state].has_match)
            longest = (ptrdiff_t)at;
        if (dfa->states.items[state].count == 0)
            break;
    }
    return longest;
}

// ---- Life -----------------------------------------------------------------------------------------

// The classes of bytes: those that the sets of the pattern and the asserts distinguish.
static bool is_told_apart(const struct syntax *syntax, size_t criterion, unsigned char byte)
{
    if (criterion < syntax->sets.count)
        return byte_set_has(&syntax->sets.items[criterion], byte);
    return criterion == syntax->sets.count ? byte == LINE_END : syntax_is_word(byte);
}

static void find_classes(struct dfa *dfa)
{
    const struct syntax *syntax = dfa->program->syntax;
    for (size_t criterion = 0; criterion < syntax->sets.count + 2; criterion++) {
        // Every class falls in two, one of which may be empty; the new ones are numbered afresh.
        int numbers[256][2], count = 0;
        memset(numbers, -1, sizeof numbers);
        for (unsigned byte = 0; byte < 256; byte++) {
            int *number = &numbers[dfa->class_of[byte]]
                                  [is_told_apart(syntax, criterion, (unsigned char)byte)];
            if (*number < 0)
                *number = count++;
            dfa->class_of[byte] = (uint8_t)*number;
        }
    }
}

struct dfa *dfa_new(const struct program *program, enum dfa_kind kind)
{
    const size_t steps = program->steps.count;
    struct dfa *dfa = calloc(1, sizeof *dfa);
    uint32_t *room = calloc(4 * steps + 1, sizeof *room);
    if (!dfa || !room) {
        free(dfa);
        free(room);
        return NULL;
    }
    dfa->program = program;
    dfa->kind = kind;
    dfa->marks = room;
    dfa->stack = room + steps;
    dfa->reached = room + 2 * steps;
    dfa->next = room + 3 * steps;  // one more: the first step
    find_classes(dfa);
    return dfa;
}

void dfa_free(struct dfa *dfa)
{
    if (!dfa)
        return;
    VEC_FINI(&dfa->states);
    VEC_FINI(&dfa->pool);
    free(dfa->table);
    free(dfa->marks);
    free(dfa);
}
