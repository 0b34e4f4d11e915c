// jsonlines [-s | -g PATH]: checks that every line of stdin is exactly one JSON object.
//
//   (nothing)  prints `PATH VALUE` for every scalar of every line, an empty line between objects
//   -s         the shape: numbers become N, so that two runs can be compared
//   -g PATH    prints the value of PATH in the last object that has it; exit 1 if none has
//
// Exit 3, with the line number, when a line is not an object. Independent of weft's own JSON code
// and of any library: python3-minimal has no json module.

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 32 };

static const char *at;
static long line_number;
static char path[4096];
static bool shape_only, is_found;
static const char *wanted;
static char found[1 << 16];

static void bad(const char *why)
{
    fprintf(stderr, "line %ld is not a JSON object: %s near '%.30s'\n", line_number, why, at);
    exit(3);
}

static void blanks(void)
{
    while (*at == ' ' || *at == '\t' || *at == '\r')
        at++;
}

static void put(const char *text, size_t size)
{
    if (!wanted)
        printf("%s %.*s\n", path, (int)size, text);
    else if (strcmp(path, wanted) == 0) {
        snprintf(found, sizeof found, "%.*s", (int)size, text);
        is_found = true;
    }
}

// Leaves `at` behind the closing quote; the raw text between the quotes is the result.
static const char *string(size_t *size)
{
    const char *start = ++at;
    for (; *at != '"'; at++) {
        if ((unsigned char)*at < 0x20)
            bad("a control byte or the end inside a string");
        if (*at != '\\')
            continue;
        at++;
        if (!*at || !strchr("\"\\/bfnrtu", *at))
            bad("a wrong escape");
        for (int i = 1; *at == 'u' && i <= 4; i++)
            if (!isxdigit((unsigned char)at[i]))
                bad("a wrong \\u escape");
    }
    *size = (size_t)(at - start);
    at++;
    return start;
}

static void digits(void)
{
    if (!isdigit((unsigned char)*at))
        bad("a digit is missing");
    while (isdigit((unsigned char)*at))
        at++;
}

static void number(void)
{
    const char *start = at;
    if (*at == '-')
        at++;
    if (*at == '0' && isdigit((unsigned char)at[1]))
        bad("a number with a leading zero");
    digits();
    if (*at == '.') {
        at++;
        digits();
    }
    if (*at == 'e' || *at == 'E') {
        at++;
        if (*at == '+' || *at == '-')
            at++;
        digits();
    }
    put(shape_only ? "N" : start, shape_only ? 1 : (size_t)(at - start));
}

static void value(int depth);

static void members(int depth, bool is_array)
{
    size_t length = strlen(path);
    at++;
    blanks();
    for (int index = 0; *at != (is_array ? ']' : '}'); index++) {
        size_t size = 0;
        const char *name = "";
        if (index > 0) {
            if (*at++ != ',')
                bad("a comma is missing");
            blanks();
        }
        if (!is_array) {
            if (*at != '"')
                bad("a name is missing");
            name = string(&size);
            blanks();
            if (*at++ != ':')
                bad("a colon is missing");
        }
        if (is_array)
            snprintf(path + length, sizeof path - length, "[%d]", shape_only ? 0 : index);
        else
            snprintf(path + length, sizeof path - length, "%s%.*s", length ? "." : "", (int)size,
                     name);
        value(depth + 1);
        blanks();
    }
    at++;
    path[length] = 0;
}

static void value(int depth)
{
    size_t size;
    blanks();
    if (depth > DEPTH_MAX)
        bad("nested too deep");
    if (*at == '{' || *at == '[') {
        members(depth, *at == '[');
    } else if (*at == '"') {
        const char *text = string(&size);
        put(text, size);
    } else if (strncmp(at, "true", 4) == 0 || strncmp(at, "null", 4) == 0) {
        put(at, 4);
        at += 4;
    } else if (strncmp(at, "false", 5) == 0) {
        put(at, 5);
        at += 5;
    } else {
        number();
    }
}

int main(int argc, char **argv)
{
    shape_only = argc > 1 && strcmp(argv[1], "-s") == 0;
    wanted = argc > 2 && strcmp(argv[1], "-g") == 0 ? argv[2] : NULL;
    char *line = NULL;
    size_t space = 0;
    for (ssize_t size; (size = getline(&line, &space, stdin)) > 0;) {
        line_number++;
        at = line;
        if (line[size - 1] == '\n')
            line[--size] = 0;
        else
            bad("the line has no end");
        if (strlen(line) != (size_t)size || *line != '{')
            bad("it does not start with {");
        path[0] = 0;
        if (line_number > 1 && !wanted)
            putchar('\n');
        value(0);
        blanks();
        if (*at)
            bad("something follows the object");
    }
    free(line);
    if (wanted && is_found)
        puts(found);
    return wanted && !is_found ? 1 : 0;
}
