// The inputs of a streaming job, found on the local file system.

#include "hadoop/inputs.h"

#include <limits.h>
#include <stdlib.h>

#include "sys/file/find.h"
#include "sys/file/workdir.h"

enum { PATTERNS_MAX = 10000, DEPTH_MAX = 256 };

// ---- Braces --------------------------------------------------------------------------------------------

// The end of the brace that opens at `open`; NULL: it is not closed.
static const char *find_close(const char *open)
{
    int depth = 0;
    for (const char *at = open; *at; at++) {
        depth += (*at == '{') - (*at == '}');
        if (depth == 0)
            return at;
    }
    return NULL;
}

static weft_err expand_alternative(const char *pattern, const char *open, const char *begin,
                                   const char *end, const char *close,
                                   struct streaming_list *patterns)
{
    struct buf text = {0};
    buf_append(&text, pattern, (size_t)(open - pattern));
    buf_append(&text, begin, (size_t)(end - begin));
    buf_append_text(&text, close + 1);
    const weft_err err = text.has_failed ? err_no_memory("for the inputs")
                                         : streaming_expand_braces(buf_text(&text), patterns);
    buf_fini(&text);
    return err;
}

weft_err streaming_expand_braces(const char *pattern, struct streaming_list *patterns)
{
    const char *open = strchr(pattern, '{');
    const char *close = open ? find_close(open) : NULL;
    if (patterns->count >= PATTERNS_MAX)
        return err_set(
            WEFT_RESOURCE_EXHAUSTED,
            "-input: more than %d alternatives in a pattern\n  try: several -input, or a directory",
            PATTERNS_MAX);
    if (!open)
        return streaming_push(patterns, pattern);
    if (!close)
        return err_set(WEFT_INVALID_ARGUMENT, "-input %s: a brace is not closed\n  try: {a,b}",
                       pattern);
    weft_err err = WEFT_OK;
    const char *begin = open + 1;
    int depth = 0;
    for (const char *at = begin; at <= close && !err; at++) {
        const bool is_end = at == close || (*at == ',' && depth == 0);
        depth += at < close ? (*at == '{') - (*at == '}') : 0;
        if (!is_end)
            continue;
        err = expand_alternative(pattern, open, begin, at, close, patterns);
        begin = at + 1;
    }
    return err;
}

// ---- Files ---------------------------------------------------------------------------------------------

struct search {
    const struct streaming_options *options;
    struct streaming_list *paths, *left_out;
    struct found output;  // the output of the job, if it exists already
};

static bool is_output(const struct search *search, const char *path)
{
    struct found found;
    if (search->output.kind != FILE_DIRECTORY)
        return false;
    if (find_look(path, &found) != WEFT_OK) {
        err_clear();  // the error is reported when the file is read
        return false;
    }
    return found.kind == FILE_DIRECTORY && found.device == search->output.device &&
           found.inode == search->output.inode;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool is_hidden(const char *path)
{
    const char *name = base_name(path);
    return name[0] == '.' || name[0] == '_';
}

static weft_err add_found(struct search *search, const char *path, int depth);

// For an input that was not named itself.
static weft_err add_other(struct search *search, const char *path, int depth)
{
    return is_output(search, path) ? streaming_push(search->left_out, path)
                                   : add_found(search, path, depth);
}

static weft_err refuse_missing(const char *path)
{
    char target[PATH_MAX];
    if (!find_link_target(path, target, sizeof target))
        return err_set(WEFT_NOT_FOUND, "there is no input %s\n  try: ls -l %s", path, path);
    return err_set(
        WEFT_NOT_FOUND,
        "the input %s cannot be read\n  it is a link to %s, which is not there\n  try: rm "
        "%s, or -input without it",
        path, target, path);
}

// A pattern for everything in the directory, whatever characters its own name has.
static void append_children_pattern(struct buf *pattern, const char *path)
{
    for (const char *at = path; *at; at++) {
        if (strchr("*?[]\\", *at))
            buf_append_text(pattern, "\\");
        buf_append(pattern, at, 1);
    }
    buf_append_text(pattern, "/*");
}

static weft_err add_directory(struct search *search, const char *path, int depth)
{
    struct buf pattern = {0};
    struct find_matches children;
    if (depth > DEPTH_MAX)
        return err_set(WEFT_RESOURCE_EXHAUSTED,
                       "%s lies too deep: below %d directories\n  try: another -input below it",
                       path, DEPTH_MAX);
    append_children_pattern(&pattern, path);
    weft_err err = find_match(buf_text(&pattern), &children);
    for (size_t i = 0; i < children.count && !err; i++)
        if (!is_hidden(children.paths[i]))
            err = add_other(search, children.paths[i], depth + 1);
    find_free_matches(&children);
    buf_fini(&pattern);
    return err;
}

static weft_err add_file(struct search *search, const char *path)
{
    char *absolute = workdir_absolute(path);
    if (!absolute)
        return err_no_memory("for the name of an input");
    const weft_err err = streaming_push(search->paths, absolute);
    free(absolute);
    return err;
}

// depth 0: named or matched, 1: in such a directory.
static weft_err add_found(struct search *search, const char *path, int depth)
{
    struct found found;
    const weft_err err = find_look(path, &found);
    if (err)
        return err;
    if (found.kind == FILE_MISSING)
        return refuse_missing(path);
    if (found.kind != FILE_DIRECTORY)
        return add_file(search, path);
    if (depth == 0 || search->options->is_recursive)
        return add_directory(search, path, depth);
    return err_set(WEFT_INVALID_ARGUMENT,
                   "%s is a directory in an input directory\n  by default Hadoop reads only "
                   "files\n  try: -D mapreduce.input.fileinputformat.input.dir.recursive=true",
                   path);
}

static weft_err add_named(struct search *search, const char *path)
{
    struct found found;
    struct buf clean = {0};
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    buf_append(&clean, path, length);
    const char *name = buf_text(&clean);
    weft_err err = find_look(name, &found);
    if (!err && found.kind == FILE_MISSING)
        err = refuse_missing(path);
    else if (!err && is_hidden(name) && strcmp(base_name(name), ".") != 0)
        err = err_set(WEFT_NOT_FOUND,
                      "the input %s is left out: its name begins with %c\n  Hadoop skips such "
                      "names\n  try: another name, or a link to it",
                      path, base_name(name)[0]);
    if (!err && is_output(search, name))
        err = err_set(WEFT_INVALID_ARGUMENT,
                      "-input %s is also the output of this run\n  every run would read the answer "
                      "of the one before\n  try: another -output",
                      path);
    if (!err)
        err = add_found(search, name, 0);
    buf_fini(&clean);
    return err;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

// Adds the matches, in order and each name once.
static weft_err add_matches(struct search *search, struct streaming_list *matches)
{
    weft_err err = WEFT_OK;
    if (matches->count)
        qsort(matches->items, matches->count, sizeof *matches->items, compare_texts);
    for (size_t i = 0; i < matches->count && !err; i++)
        if (i == 0 || strcmp(matches->items[i], matches->items[i - 1]) != 0)
            err = add_other(search, matches->items[i], 0);
    return err;
}

static weft_err add_pattern(struct search *search, const char *pattern)
{
    struct streaming_list patterns = {0}, matches = {0};
    weft_err err = streaming_expand_braces(pattern, &patterns);
    for (size_t i = 0; i < patterns.count && !err; i++) {
        struct find_matches found;
        err = find_match(patterns.items[i], &found);
        for (size_t j = 0; j < found.count && !err; j++)
            if (!is_hidden(found.paths[j]))
                err = streaming_push(&matches, found.paths[j]);
        find_free_matches(&found);
    }
    if (!err && matches.count == 0)
        err = err_set(
            WEFT_NOT_FOUND,
            "no input matches %s\n  names that begin with _ or . are left out\n  try: ls -d %s",
            pattern, pattern);
    if (!err)
        err = add_matches(search, &matches);
    streaming_drop(&patterns);
    streaming_drop(&matches);
    return err;
}

weft_err streaming_find_inputs(const struct streaming_options *options,
                               struct streaming_list *paths, struct streaming_list *left_out)
{
    struct search search = {.options = options, .paths = paths, .left_out = left_out};
    weft_err err = WEFT_OK;
    search.output.kind = FILE_MISSING;
    if (options->output && find_look(options->output, &search.output) != WEFT_OK)
        err_clear();  // reported by the caller
    for (size_t i = 0; i < options->inputs.count && !err; i++) {
        const char *word = options->inputs.items[i];
        err = strpbrk(word, "*?[{") ? add_pattern(&search, word) : add_named(&search, word);
    }
    return err;
}
