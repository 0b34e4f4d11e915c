// The first words of a command. Line ends and control characters, which a shell script may well have, must not
// reach a terminal: they are blanks here, and several of them are one.

#include "code/command/title.h"

#include <stdio.h>

#include "base/text.h"
#include "code/command/command.h"

#define DEFAULT_NAME "streaming"  // what weft streaming calls a job that was given no name

static const char *given_name(const weft_args *args)
{
    static const char variable[] = "mapreduce_job_name=";
    const char *name = NULL, *value;
    for (int i = 0; (value = weft_option(args, COMMAND_ENVIRONMENT, i)); i++)
        if (strncmp(value, variable, sizeof variable - 1) == 0)
            name = value + sizeof variable - 1;
    return name && strcmp(name, DEFAULT_NAME) != 0 ? name : NULL;
}

// What stands for the character at `from`: its length there, or 0 for a blank. C1 is what has control
// characters beyond ASCII: c2 80 to c2 9f.
static size_t shown_length(const char *from, const char *end)
{
    const unsigned char first = (unsigned char)from[0];
    const bool is_c1 = first == 0xc2 && end - from > 1 && (unsigned char)from[1] < 0xa0;
    return first <= ' ' || first == 0x7f || is_c1 ? 0 : text_utf8_length(from, end);
}

static void write_title(const char *from, char *title)
{
    enum { ROOM = CODE_TITLE_BYTES - sizeof "..." };
    const char *const end = from + strlen(from);
    size_t size = 0, whole = 0;
    while (from < end) {
        const size_t length = shown_length(from, end);
        const bool is_blank = length == 0 && size > 0 && title[size - 1] != ' ';
        if (size + (length ? length : is_blank) >= CODE_TITLE_BYTES)
            break;
        memcpy(title + size, length ? from : " ", length ? length : is_blank);
        size += length ? length : is_blank;
        whole = size <= ROOM ? size : whole;
        from += length ? length : 1;
    }
    if (from < end)
        size = (size_t)(stpcpy(title + whole, "...") - title);
    while (size > 0 && title[size - 1] == ' ')
        size--;
    title[size] = 0;
}

void command_title(const weft_args *args, char title[CODE_TITLE_BYTES])
{
    const char *const names[] = {given_name(args), weft_option(args, COMMAND_MAP, 0),
                                 weft_option(args, COMMAND_REDUCE, 0)};
    title[0] = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names && !title[0]; i++)
        if (names[i])
            write_title(names[i], title);
    if (!title[0])
        snprintf(title, CODE_TITLE_BYTES, "command");
}
