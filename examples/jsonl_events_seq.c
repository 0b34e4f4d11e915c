// The sequential twin of jsonl_events. It trusts that its input is JSON.
#include "seq.h"

static const char *skip_blanks(const char *at)
{
    while (*at == ' ' || *at == '\t' || *at == '\r')
        at++;
    return at;
}

static const char *skip_string(const char *at)
{
    for (at++; *at != '"'; at++)
        at += *at == '\\';
    return at + 1;
}

// The end of the value that begins here.
static const char *skip_value(const char *at)
{
    int depth = 0;
    at = skip_blanks(at);
    do {
        if (*at == '"') {
            at = skip_string(at);
            continue;
        }
        depth += (*at == '{' || *at == '[') - (*at == '}' || *at == ']');
        at++;
    } while (depth > 0 || (*at != ',' && *at != '}' && *at != ']' && *at != '\n'));
    return at;
}

// Where the member's value begins; NULL: there is none, or it is null.
static const char *find(const char *object, const char *name)
{
    const char *at = skip_blanks(object);
    if (*at++ != '{')
        return NULL;
    for (;; at++) {
        at = skip_blanks(at);
        if (*at != '"')
            return NULL;
        const char *key = at + 1;
        at = skip_string(at);
        const size_t size = (size_t)(at - 1 - key);
        at = skip_blanks(at) + 1;  // the colon
        if (size == strlen(name) && memcmp(key, name, size) == 0) {
            at = skip_blanks(at);
            return strncmp(at, "null", 4) == 0 ? NULL : at;
        }
        at = skip_blanks(skip_value(at));
        if (*at != ',')
            return NULL;
    }
}

// The text of a string without its escapes, written over it: an escape is never shorter than its character.
static struct text unescape(const char *at)
{
    char *to = (char *)++at;
    struct text text = {at, 0};
    for (; *at != '"'; at++) {
        static const char letters[] = "bfnrt", bytes[] = "\b\f\n\r\t";
        if (*at != '\\') {
            *to++ = *at;
            continue;
        }
        const char *letter = strchr(letters, *++at);
        *to++ = letter ? bytes[letter - letters] : *at;  // \u is not in our data
    }
    *to = '"';
    text.size = (size_t)(to - text.data);
    return text;
}

static void add_event(struct entries *events, struct text line)
{
    const char *type = find(line.data, "type"), *request = find(line.data, "request");
    const char *path = request ? find(request, "path") : NULL, *ms = find(line.data, "ms");
    if (!type || strncmp(type, "\"request\"", 9) != 0 || !path)
        return;
    seq_add(events, unescape(path), (struct text){NULL, 0}, ms ? atof(ms) : 0);
}

int main(int argc, char **argv)
{
    struct entries events = {0};
    for (int i = 1; i < argc; i++) {
        struct text rest = seq_read_file(argv[i]), line;
        while (seq_next_line(&rest, &line))
            if (line.size > 0)
                add_event(&events, line);
    }
    seq_sort(&events);
    for (size_t i = 0; i < events.count;) {
        const size_t end = seq_group_end(&events, i);
        double slowest = events.items[i].number;
        seq_print(events.items[i].key);
        for (; i < end; i++)
            slowest = events.items[i].number > slowest ? events.items[i].number : slowest;
        printf("\t%.0f\n", slowest);
    }
    return 0;
}
