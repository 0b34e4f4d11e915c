// Finding literals that a pattern requires. The tree is walked in the order of the text: bytes that stand for
// themselves lengthen a run, whatever may be absent or different ends it. Of all runs the one that is
// found least often by accident is kept. A choice requires one literal of each of its branches.

#include "jobs/grep/search_literal.h"

#include "jobs/grep/search.h"

enum {
    REPEATS_UNROLLED = 8,  // x{3} is the run xxx
    SCORE_PER_BYTE = 300,  // a byte more is worth more than a rarer byte
    SCORE_PER_LITERAL = 60,
};

struct walk {
    const struct syntax *syntax;
    struct buf run;  // the bytes at hand
    struct literals best;
    long best_score;
    bool has_failed;
    bool is_broken;   // something else than one run was met
    bool has_assert;  // places matter
};

static void walk_node(struct walk *walk, uint32_t index);
static bool find_in(struct literals *found, const struct walk *outer, uint32_t index);

static long score_of(const struct literals *literals)
{
    long lowest = -1;
    for (size_t i = 0; i < literals->count; i++) {
        const weft_bytes literal = literals_get(literals, i);
        long score = 0;
        for (size_t at = 0; at < literal.size; at++)
            score += SCORE_PER_BYTE - (long)search_byte_rank((unsigned char)literal.data[at]);
        lowest = lowest < 0 || score < lowest ? score : lowest;
    }
    return lowest - SCORE_PER_LITERAL * (long)(literals->count ? literals->count - 1 : 0);
}

static bool literals_add(struct literals *literals, weft_bytes literal)
{
    if (literals->count == LITERALS_MAX)
        return false;
    literals->items[literals->count].offset = literals->bytes.size;
    literals->items[literals->count].size = literal.size;
    literals->count++;
    buf_append(&literals->bytes, literal.data, literal.size);
    return !literals->bytes.has_failed;
}

// Keeps the candidate when it is better than the best so far; takes it over in every case.
static void offer_take(struct walk *walk, struct literals *candidate)
{
    const long score = score_of(candidate);
    if (candidate->count > 0 && score > walk->best_score) {
        literals_fini(&walk->best);
        walk->best = *candidate;
        walk->best_score = score;
    } else {
        literals_fini(candidate);
    }
}

static void end_run(struct walk *walk)
{
    if (walk->run.size > 0) {
        struct literals candidate = {0};
        if (!literals_add(&candidate, buf_bytes(&walk->run)))
            walk->has_failed = true;
        offer_take(walk, &candidate);
    }
    walk->run.size = 0;
}

static void break_run(struct walk *walk)
{
    end_run(walk);
    walk->is_broken = true;
}

// One literal of each branch, or none at all.
static bool find_in_branches(struct literals *joined, const struct walk *outer, uint32_t choice)
{
    const struct node *nodes = outer->syntax->nodes.items;
    bool is_ok = true, is_known = true;
    *joined = (struct literals){.is_complete = true};
    for (uint32_t child = nodes[choice].child; child && is_ok && is_known;
         child = nodes[child].sibling) {
        struct literals branch = {0};
        is_ok = find_in(&branch, outer, child);
        is_known = branch.count > 0 && joined->count + branch.count <= LITERALS_MAX;
        for (size_t i = 0; i < branch.count && is_ok && is_known; i++)
            is_ok = literals_add(joined, literals_get(&branch, i));
        joined->is_complete &= branch.is_complete;
        literals_fini(&branch);
    }
    if (!is_ok || !is_known) {
        literals_fini(joined);
        *joined = (struct literals){0};
    }
    return is_ok;
}

// The literals of a subtree on its own.
static bool find_in(struct literals *found, const struct walk *outer, uint32_t index)
{
    const struct node *nodes = outer->syntax->nodes.items;
    while ((nodes[index].kind == NODE_CHOICE || nodes[index].kind == NODE_SEQUENCE) &&
           nodes[index].child && !nodes[nodes[index].child].sibling)
        index = nodes[index].child;
    if (nodes[index].kind == NODE_CHOICE)
        return find_in_branches(found, outer, index);
    struct walk walk = {.syntax = outer->syntax, .best_score = -1};
    walk_node(&walk, index);
    end_run(&walk);
    *found = walk.best;
    found->is_complete = !walk.is_broken && !walk.has_assert && found->count > 0;
    buf_fini(&walk.run);
    return !walk.has_failed && !walk.run.has_failed;
}

static void walk_choice(struct walk *walk, uint32_t index)
{
    const struct node *nodes = walk->syntax->nodes.items;
    const uint32_t first = nodes[index].child;
    if (nodes[first].sibling == 0) {
        walk_node(walk, first);
        return;
    }
    end_run(walk);
    struct literals joined;
    if (!find_in_branches(&joined, walk, index))
        walk->has_failed = true;
    offer_take(walk, &joined);
    walk->is_broken = true;
}

static void walk_repeat(struct walk *walk, const struct node *node)
{
    const bool is_fixed = node->min == node->max && node->max <= REPEATS_UNROLLED;
    const int times = node->min < REPEATS_UNROLLED ? node->min : REPEATS_UNROLLED;
    for (int i = 0; i < times; i++)
        walk_node(walk, node->child);
    if (!is_fixed)
        break_run(walk);
}

static void walk_node(struct walk *walk, uint32_t index)
{
    const struct node *node = &walk->syntax->nodes.items[index];
    switch (node->kind) {
    case NODE_EMPTY:
        break;
    case NODE_SET: {
        const int byte = syntax_single_byte(walk->syntax, node->set);
        const char copy = (char)byte;
        if (byte >= 0)
            buf_append(&walk->run, &copy, 1);
        else
            break_run(walk);
        break;
    }
    case NODE_SEQUENCE:
        for (uint32_t child = node->child; child; child = walk->syntax->nodes.items[child].sibling)
            walk_node(walk, child);
        break;
    case NODE_CHOICE:
        walk_choice(walk, index);
        break;
    case NODE_REPEAT:
        walk_repeat(walk, node);
        break;
    case NODE_ASSERT:
        walk->has_assert = true;
        break;
    case NODE_BACKREF:
        break_run(walk);
        break;
    }
}

weft_err literals_find(struct literals *literals, const struct syntax *syntax)
{
    const struct walk outer = {.syntax = syntax};
    const bool is_ok = find_in(literals, &outer, syntax->root);
    if (is_ok)
        return WEFT_OK;
    literals_fini(literals);
    return err_no_memory("for the literals of the pattern");
}

void literals_fini(struct literals *literals)
{
    buf_fini(&literals->bytes);
    *literals = (struct literals){0};
}
