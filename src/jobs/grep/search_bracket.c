// Bracket expressions: [a-z], [^]x], [[:digit:]_], [[.a.]], [[=a=]].

#include "jobs/grep/search_syntax.h"

// The classes of the C locale, whatever locale the program has set.
static bool is_in_class(unsigned char byte, int which)
{
    const bool is_upper = byte >= 'A' && byte <= 'Z', is_lower = byte >= 'a' && byte <= 'z';
    const bool is_digit = byte >= '0' && byte <= '9', is_graph = byte > ' ' && byte < 127;
    switch (which) {
    case 0:
        return is_upper || is_lower;
    case 1:
        return is_upper;
    case 2:
        return is_lower;
    case 3:
        return is_digit;
    case 4:
        return is_digit || (byte >= 'A' && byte <= 'F') || (byte >= 'a' && byte <= 'f');
    case 5:
        return byte == ' ' || (byte >= 9 && byte <= 13);
    case 6:
        return is_graph && !is_upper && !is_lower && !is_digit;
    case 7:
        return is_upper || is_lower || is_digit;
    case 8:
        return is_graph || byte == ' ';
    case 9:
        return is_graph;
    case 10:
        return byte < ' ' || byte == 127;
    default:
        return byte == ' ' || byte == '\t';
    }
}

static const char *const class_names[] = {"alpha", "upper", "lower", "digit", "xdigit", "space",
                                          "punct", "alnum", "print", "graph", "cntrl",  "blank"};

static void fail(struct syntax_parser *parser, const char *why)
{
    if (!parser->failure)
        parser->failure = err_set(WEFT_INVALID_ARGUMENT, "the pattern %s", why);
    parser->at = parser->end;
}

void syntax_fold(struct byte_set *set)
{
    for (unsigned upper = 'A'; upper <= 'Z'; upper++) {
        const unsigned lower = upper + 32;
        if (byte_set_has(set, (unsigned char)upper) || byte_set_has(set, (unsigned char)lower)) {
            byte_set_add(set, (unsigned char)upper);
            byte_set_add(set, (unsigned char)lower);
        }
    }
}

static void add_class(struct syntax_parser *parser, struct byte_set *set, weft_bytes name)
{
    const int count = sizeof class_names / sizeof *class_names;
    int which = 0;
    while (which < count && (strlen(class_names[which]) != name.size ||
                             memcmp(class_names[which], name.data, name.size) != 0))
        which++;
    if (which == count) {
        fail(parser, "has an unknown character class; [:alpha:], [:digit:], [:space:] are some");
        return;
    }
    for (unsigned byte = 0; byte < 256; byte++)
        if (is_in_class((unsigned char)byte, which))
            byte_set_add(set, (unsigned char)byte);
}

// The name in [:name:], [.name.] or [=name=], `at` after the first mark; moves to after the "]".
static weft_bytes read_name(struct syntax_parser *parser, char mark)
{
    const char *start = parser->at;
    for (; parser->end - parser->at >= 2; parser->at++) {
        if (parser->at[0] == mark && parser->at[1] == ']') {
            const weft_bytes name = {start, (size_t)(parser->at - start)};
            parser->at += 2;
            return name;
        }
    }
    fail(parser, "has a [ without its ]");
    return weft_none();
}

// One element: a byte, or the byte that [.x.] and [=x=] stand for, or a whole class (-1).
static int read_element(struct syntax_parser *parser, struct byte_set *set)
{
    const char byte = *parser->at++;
    if (byte != '[' || parser->at == parser->end || !strchr(":.=", *parser->at) || !*parser->at)
        return (unsigned char)byte;
    const char mark = *parser->at++;
    const weft_bytes name = read_name(parser, mark);
    if (parser->failure)
        return -1;
    if (mark == ':') {
        add_class(parser, set, name);
        return -1;
    }
    if (name.size != 1) {
        fail(parser, "has a collating element that the C locale does not know");
        return -1;
    }
    return (unsigned char)name.data[0];
}

// [:space:] instead of [[:space:]] is a common mistake, and grep reports it too.
static bool looks_like_class(const char *start, const char *end)
{
    if (end - start < 3 || start[0] != ':' || end[-1] != ':')
        return false;
    for (const char *at = start; at < end; at++)
        if (*at == '[' || (*at == '-' && at > start && at + 1 < end))
            return false;
    return true;
}

struct byte_set syntax_parse_bracket(struct syntax_parser *parser)
{
    struct byte_set set = {{0}};
    const bool is_inverted = parser->at < parser->end && *parser->at == '^';
    parser->at += is_inverted;
    const char *start = parser->at;
    while (parser->at < parser->end && (*parser->at != ']' || parser->at == start)) {
        const int low = read_element(parser, &set);
        int high = low;
        if (parser->end - parser->at >= 2 && parser->at[0] == '-' && parser->at[1] != ']') {
            parser->at++;
            high = read_element(parser, &set);
        }
        // A range that ends before it begins is empty; where that is an error glibc says so.
        for (int byte = low; byte >= 0 && byte <= high; byte++)
            byte_set_add(&set, (unsigned char)byte);
    }
    if (parser->at == parser->end) {
        fail(parser, "has a [ without its ]");
        return set;
    }
    if (looks_like_class(start, parser->at))
        fail(parser, "has a character class outside of brackets; write [[:space:]], not [:space:]");
    else
        parser->at++;
    if (!is_inverted)
        return set;
    if (parser->syntax->flags & SYNTAX_FOLDS_CASE)
        syntax_fold(&set);
    for (int i = 0; i < 4; i++)
        set.bits[i] = ~set.bits[i];
    set.bits['\n' / 64] &= ~(UINT64_C(1) << ('\n' % 64));
    return set;
}
