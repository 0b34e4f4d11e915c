// depends: make's syntax, as far as compilers write it: blanks in names are "\ ", a hash is "\#", a
// dollar is "$$", a line goes on behind "\".

#include "lang/depends.h"

#include <stdlib.h>

#define SOURCE_MARK "<src>/"

void depends_fini(struct depends *depends)
{
    for (size_t i = 0; i < depends->paths.count; i++)
        free(depends->paths.items[i]);
    VEC_FINI(&depends->paths);
}

static weft_err push_path(struct depends *depends, weft_bytes path)
{
    char *copy = strndup(path.data ? path.data : "", path.size);
    if (!copy || !VEC_PUSH(&depends->paths, copy)) {
        free(copy);
        return err_set(WEFT_RESOURCE_EXHAUSTED, "no memory for the list of headers");
    }
    return WEFT_OK;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// Takes the next word off the text with its escapes undone; false at the end.
static bool next_word(weft_bytes *text, struct buf *word)
{
    size_t at = 0;
    word->size = 0;
    while (at < text->size) {
        const char c = text->data[at], next = at + 1 < text->size ? text->data[at + 1] : 0;
        const bool is_escape = (c == '\\' && (next == ' ' || next == '#' || next == '\\')) ||
                               (c == '$' && next == '$');
        if (c == '\\' && next == '\n') {
            if (word->size)
                break;
            at += 2;
        } else if (is_blank(c)) {
            if (word->size)
                break;
            at++;
        } else {
            buf_append(word, is_escape ? &next : &c, 1);
            at += is_escape ? 2 : 1;
        }
    }
    text->data += at;
    text->size -= at;
    return word->size > 0;
}

weft_err depends_parse(struct depends *depends, weft_bytes text)
{
    struct buf word = {0};
    weft_err err = WEFT_OK;
    const bool has_target =
        next_word(&text, &word) && word.data[word.size - 1] == ':' && next_word(&text, &word);
    if (!has_target)
        err = err_set(WEFT_INVALID_ARGUMENT, "the compiler's list of headers makes no sense");
    while (!err && next_word(&text, &word))
        err = push_path(depends, buf_bytes(&word));
    buf_fini(&word);
    return err;
}

// How many bytes of the source's path name its directory, the slash included.
static size_t folder_size(const char *source)
{
    const char *slash = strrchr(source, '/');
    return slash ? (size_t)(slash - source) + 1 : 0;
}

weft_err depends_make_relative(struct depends *depends, const char *source)
{
    const size_t folder = folder_size(source);
    for (size_t i = 0; i < depends->paths.count; i++) {
        char *path = depends->paths.items[i];
        const bool is_below = folder ? strncmp(path, source, folder) == 0 : path[0] != '/';
        if (!is_below)
            continue;
        struct buf marked = {0};
        buf_append_text(&marked, SOURCE_MARK);
        buf_append_text(&marked, path + folder);
        buf_text(&marked);
        if (marked.has_failed) {
            buf_fini(&marked);
            return err_set(WEFT_RESOURCE_EXHAUSTED, "no memory for the list of headers");
        }
        free(path);
        depends->paths.items[i] = marked.data;
    }
    return WEFT_OK;
}

weft_err depends_locate(const char *path, const char *source, struct buf *located)
{
    const size_t mark = strlen(SOURCE_MARK);
    const bool is_below = strncmp(path, SOURCE_MARK, mark) == 0;
    located->size = 0;
    if (is_below)
        buf_append(located, source, folder_size(source));
    buf_append_text(located, is_below ? path + mark : path);
    buf_text(located);
    return located->has_failed ? err_set(WEFT_RESOURCE_EXHAUSTED, "no memory for a file name")
                               : WEFT_OK;
}

weft_err depends_format(const struct depends *depends, struct buf *text)
{
    for (size_t i = 0; i < depends->paths.count; i++) {
        if (strchr(depends->paths.items[i], '\n'))
            return err_set(WEFT_INVALID_ARGUMENT, "the name of a header has a line end");
        buf_append_text(text, depends->paths.items[i]);
        buf_append_text(text, "\n");
    }
    return text->has_failed ? err_set(WEFT_RESOURCE_EXHAUSTED, "no memory for a list") : WEFT_OK;
}

weft_err depends_read(struct depends *depends, weft_bytes text)
{
    weft_err err = WEFT_OK;
    for (weft_bytes line; !err && weft_next_line(&text, &line);)
        err = push_path(depends, line);
    return err;
}
