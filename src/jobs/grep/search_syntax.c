// Parsing extended regular expressions. Text that `grep -E` accepts is accepted here: an operator
// without anything to repeat repeats the empty text, a brace that begins no interval and a closing
// parenthesis without its other half stand for themselves. Patterns that glibc's own parser refuses
// were refused before.

#include "jobs/grep/search_syntax.h"

enum { NODES_MAX = 1 << 20, REPEATS_MAX = 32767 };

static uint32_t parse_choice(struct syntax_parser *parser);

static uint32_t fail(struct syntax_parser *parser, const char *why)
{
    if (!parser->failure)
        parser->failure = err_set(WEFT_INVALID_ARGUMENT, "the pattern %s", why);
    parser->at = parser->end;
    return 0;
}

static uint32_t add_node(struct syntax_parser *parser, struct node node)
{
    struct syntax *syntax = parser->syntax;
    if (syntax->nodes.count >= NODES_MAX)
        return fail(parser, "is too large");
    if (!VEC_PUSH(&syntax->nodes, node)) {
        parser->failure = err_no_memory("for the pattern");
        return 0;
    }
    return (uint32_t)syntax->nodes.count - 1;
}

static uint32_t add_set(struct syntax_parser *parser, struct byte_set set)
{
    struct syntax *syntax = parser->syntax;
    if (syntax->flags & SYNTAX_FOLDS_CASE)
        syntax_fold(&set);
    uint32_t index = 0;
    while (index < syntax->sets.count && memcmp(&syntax->sets.items[index], &set, sizeof set) != 0)
        index++;
    if (index == syntax->sets.count && !VEC_PUSH(&syntax->sets, set)) {
        parser->failure = err_no_memory("for the pattern");
        return 0;
    }
    return add_node(parser, (struct node){.kind = NODE_SET, .set = index});
}

static uint32_t add_byte(struct syntax_parser *parser, char byte)
{
    struct byte_set set = {{0}};
    byte_set_add(&set, (unsigned char)byte);
    return add_set(parser, set);
}

// All bytes but the end of a line that have the property, or do not.
static uint32_t add_property(struct syntax_parser *parser, bool (*has)(unsigned char), bool wanted)
{
    struct byte_set set = {{0}};
    for (unsigned byte = 0; byte < 256; byte++)
        if (byte != '\n' && has((unsigned char)byte) == wanted)
            byte_set_add(&set, (unsigned char)byte);
    return add_set(parser, set);
}

static bool is_space(unsigned char byte)
{
    return byte == ' ' || (unsigned char)(byte - 9) < 5;
}

static bool is_any(unsigned char byte)
{
    (void)byte;
    return true;
}

static uint32_t add_assert(struct syntax_parser *parser, enum assert_kind kind)
{
    return add_node(parser, (struct node){.kind = NODE_ASSERT, .assert = kind});
}

static uint32_t parse_escape(struct syntax_parser *parser)
{
    if (parser->at == parser->end)
        return fail(parser, "ends with a backslash");
    const char byte = *parser->at++;
    switch (byte) {
    case '`':
        return add_assert(parser, ASSERT_LINE_START);
    case '\'':
        return add_assert(parser, ASSERT_LINE_END);
    case '<':
        return add_assert(parser, ASSERT_WORD_START);
    case '>':
        return add_assert(parser, ASSERT_WORD_END);
    case 'b':
        return add_assert(parser, ASSERT_WORD_EDGE);
    case 'B':
        return add_assert(parser, ASSERT_NO_WORD_EDGE);
    case 's':
    case 'S':
        return add_property(parser, is_space, byte == 's');
    case 'w':
    case 'W':
        return add_property(parser, syntax_is_word, byte == 'w');
    default:
        if (byte < '1' || byte > '9')
            return add_byte(parser, byte);
        parser->syntax->has_backref = true;
        return add_node(parser, (struct node){.kind = NODE_BACKREF});
    }
}

static uint32_t parse_group(struct syntax_parser *parser)
{
    if (++parser->depth > SYNTAX_DEPTH_MAX)
        return fail(parser, "has groups in groups, too deep");
    parser->open_groups++;
    const uint32_t node = parse_choice(parser);
    if (!parser->failure && (parser->at == parser->end || *parser->at++ != ')'))
        fail(parser, "has a ( without its )");
    parser->open_groups--;
    parser->depth--;
    return node;
}

static uint32_t parse_atom(struct syntax_parser *parser)
{
    const char byte = *parser->at++;
    switch (byte) {
    case '(':
        return parse_group(parser);
    case '[':
        return add_set(parser, syntax_parse_bracket(parser));
    case '\\':
        return parse_escape(parser);
    case '.':
        return add_property(parser, is_any, true);
    case '^':
        return add_assert(parser, ASSERT_LINE_START);
    case '$':
        return add_assert(parser, ASSERT_LINE_END);
    default:
        return add_byte(parser, byte);
    }
}

// A number of an interval, -1 where there is none.
static long read_bound(const char **at, const char *end)
{
    long bound = -1;
    for (; *at < end && **at >= '0' && **at <= '9'; ++*at)
        if (bound <= SYNTAX_UNLIMITED)
            bound = (bound < 0 ? 0 : bound * 10) + (**at - '0');
    return bound == SYNTAX_UNLIMITED ? bound + 1 : bound;
}

// {m} {m,} {,n} {m,n} at `at`; false if it is not an interval, and then `at` stays.
static bool read_interval(struct syntax_parser *parser, struct node *repeat)
{
    const char *at = parser->at + 1;
    long min = read_bound(&at, parser->end), max = min;
    if (at < parser->end && *at == ',') {
        at++;
        max = read_bound(&at, parser->end);
        min = min < 0 ? 0 : min;
        max = max < 0 ? SYNTAX_UNLIMITED : max;
    }
    if (at == parser->end || *at != '}' || min < 0 || min > max)
        return false;
    if (min > REPEATS_MAX || (max > REPEATS_MAX && max != SYNTAX_UNLIMITED)) {
        fail(parser, "repeats something more than 32767 times");
        return false;
    }
    parser->at = at + 1;
    repeat->min = (uint16_t)min;
    repeat->max = (uint16_t)max;
    return true;
}

// Whether an operator that repeats stands here, and which.
static bool read_repeat(struct syntax_parser *parser, struct node *repeat)
{
    *repeat = (struct node){.kind = NODE_REPEAT, .max = SYNTAX_UNLIMITED};
    if (parser->at == parser->end)
        return false;
    switch (*parser->at) {
    case '*':
        break;
    case '+':
        repeat->min = 1;
        break;
    case '?':
        repeat->max = 1;
        break;
    case '{':
        return read_interval(parser, repeat);
    default:
        return false;
    }
    parser->at++;
    return true;
}

// Where something to repeat is expected an operator stands.
static uint32_t parse_odd_repeat(struct syntax_parser *parser)
{
    struct node repeat;
    parser->syntax->has_odd_repeats = true;
    if (!(parser->syntax->flags & SYNTAX_DROPS_REPEATS)) {
        if (!read_repeat(parser, &repeat))
            return add_byte(parser, *parser->at++);  // a brace that begins no interval
        return add_node(parser, (struct node){.kind = NODE_EMPTY});
    }
    while (parser->at < parser->end && strchr("*+?{", *parser->at) && *parser->at)
        parser->at++;
    if (parser->at == parser->end || *parser->at == '|')
        return add_node(parser, (struct node){.kind = NODE_EMPTY});
    return parse_atom(parser);  // also a parenthesis, which then stands for itself
}

// Of a repetition that has `copies` of its own already and is repeated at least `min` times: a*{2,} becomes a*a*a**.
static uint16_t merged_copies(uint16_t copies, uint16_t min)
{
    const uint32_t more = (copies ? copies : 1) * (min + 1U);
    return more < UINT16_MAX ? (uint16_t)more : UINT16_MAX;
}

static uint32_t parse_repeated(struct syntax_parser *parser)
{
    struct node repeat;
    const bool is_odd = *parser->at && strchr("*+?{", *parser->at) && parser->at != parser->brace;
    uint32_t node = is_odd ? parse_odd_repeat(parser) : parse_atom(parser);
    for (int depth = 0; !parser->failure;) {
        struct node *inner = &parser->syntax->nodes.items[node];
        const bool is_assert = inner->kind == NODE_ASSERT;
        if (is_assert && parser->syntax->flags & SYNTAX_DROPS_REPEATS)
            break;
        if (!read_repeat(parser, &repeat)) {
            parser->brace = parser->at;
            parser->syntax->has_odd_repeats |=
                is_assert && parser->at < parser->end && *parser->at == '{';
            break;
        }
        parser->syntax->has_odd_repeats |= is_assert;
        const bool is_loop = inner->kind == NODE_REPEAT && inner->max == SYNTAX_UNLIMITED;
        if (is_loop && inner->min == 0 && repeat.max == SYNTAX_UNLIMITED) {
            if (repeat.min > 0)
                inner->merged = merged_copies(inner->merged, repeat.min);
            continue;  // a** is a*
        }
        if (++depth + parser->depth > SYNTAX_DEPTH_MAX)
            return fail(parser, "repeats repetitions, too deep");
        repeat.child = node;
        node = add_node(parser, repeat);
    }
    return node;
}

// Appends a child to a node; `last` is the child before it.
static uint32_t add_child(struct syntax_parser *parser, uint32_t node, uint32_t last,
                          uint32_t child)
{
    struct node *nodes = parser->syntax->nodes.items;
    if (parser->failure)
        return last;
    if (last)
        nodes[last].sibling = child;
    else
        nodes[node].child = child;
    return child;
}

static uint32_t parse_sequence(struct syntax_parser *parser)
{
    const uint32_t node = add_node(parser, (struct node){.kind = NODE_SEQUENCE});
    uint32_t last = 0;
    while (!parser->failure && parser->at < parser->end && *parser->at != '|' &&
           (*parser->at != ')' || parser->open_groups == 0))
        last = add_child(parser, node, last, parse_repeated(parser));
    return node;
}

static uint32_t parse_choice(struct syntax_parser *parser)
{
    const uint32_t first = parse_sequence(parser);
    if (parser->failure || parser->at == parser->end || *parser->at != '|')
        return first;
    const uint32_t node = add_node(parser, (struct node){.kind = NODE_CHOICE});
    uint32_t last = add_child(parser, node, 0, first);
    while (!parser->failure && parser->at < parser->end && *parser->at == '|') {
        parser->at++;
        last = add_child(parser, node, last, parse_sequence(parser));
    }
    return node;
}

static uint32_t parse_literal(struct syntax_parser *parser)
{
    const uint32_t node = add_node(parser, (struct node){.kind = NODE_SEQUENCE});
    for (uint32_t last = 0; !parser->failure && parser->at < parser->end;)
        last = add_child(parser, node, last, add_byte(parser, *parser->at++));
    return node;
}

// What must stand around every match.
static uint32_t enclose(struct syntax_parser *parser, uint32_t node, enum assert_kind before,
                        enum assert_kind behind)
{
    const uint32_t whole = add_node(parser, (struct node){.kind = NODE_SEQUENCE});
    uint32_t last = add_child(parser, whole, 0, add_assert(parser, before));
    last = add_child(parser, whole, last, node);
    add_child(parser, whole, last, add_assert(parser, behind));
    return whole;
}

weft_err syntax_parse(struct syntax *syntax, weft_bytes text, enum syntax_flags flags)
{
    *syntax = (struct syntax){.flags = flags};
    struct syntax_parser parser = {.syntax = syntax};
    add_node(&parser, (struct node){.kind = NODE_EMPTY});  // number 0 is none
    const uint32_t root = add_node(&parser, (struct node){.kind = NODE_CHOICE});
    uint32_t last = 0;
    for (bool has_more = true; has_more && !parser.failure;) {
        const char *end = text.size ? memchr(text.data, '\n', text.size) : NULL;
        has_more = end != NULL;
        parser.at = text.data;
        parser.end = end ? end : text.data + text.size;
        const uint32_t node = flags & SYNTAX_FIXED ? parse_literal(&parser) : parse_choice(&parser);
        last = add_child(&parser, root, last, node);
        text.size -= has_more ? (size_t)(end + 1 - text.data) : 0;
        text.data = has_more ? end + 1 : NULL;
    }
    syntax->root = root;
    if (flags & SYNTAX_WHOLE_LINE)
        syntax->root = enclose(&parser, root, ASSERT_LINE_START, ASSERT_LINE_END);
    else if (flags & SYNTAX_WHOLE_WORD)
        syntax->root = enclose(&parser, root, ASSERT_NO_WORD_BEFORE, ASSERT_NO_WORD_BEHIND);
    return parser.failure;
}

void syntax_fini(struct syntax *syntax)
{
    VEC_FINI(&syntax->nodes);
    VEC_FINI(&syntax->sets);
}

int syntax_single_byte(const struct syntax *syntax, uint32_t set)
{
    const uint64_t *bits = syntax->sets.items[set].bits;
    int count = 0, lowest = -1, highest = -1;
    for (int i = 0; i < 4; i++) {
        if (bits[i] && lowest < 0)
            lowest = 64 * i + __builtin_ctzll(bits[i]);
        if (bits[i])
            highest = 64 * i + 63 - __builtin_clzll(bits[i]);
        count += __builtin_popcountll(bits[i]);
    }
    if (count == 1)
        return lowest;
    const bool is_pair = count == 2 && lowest >= 'A' && lowest <= 'Z' && highest == lowest + 32;
    return syntax->flags & SYNTAX_FOLDS_CASE && is_pair ? highest : -1;
}
