// inputs: one word at a time, each seen as the first of these that it is: -, @list, an existing file
// or directory, a pattern. So a file whose name looks like a pattern is that file.

#include "store/inputs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/vec.h"
#include "store/codec/codec.h"
#include "store/hdfs/input.h"
#include "store/hdfs/url.h"
#include "store/manifest.h"
#include "sys/file/file.h"
#include "sys/file/find.h"
#include "sys/file/spool.h"
#include "sys/file/standard.h"

enum { LIST_READ_BYTES = 64 << 10 };

struct inputs_state {
    VEC(char *) strings;
    VEC(struct spool *) spools;
    struct spool_limits limits;
    bool wants_text, skips_missing;
    bool is_single;           // there is one word
    bool has_stdin;           // it can be read once only
    VEC(struct found) own;    // what the run writes and is there already
    bool has_own_directory;   // one of them is one
    const char *own_url;      // in another store; NULL: none
    bool takes_own_url;       // it is the only input, and replaced at the end
    struct found own_stdout;  // FILE_REGULAR: one of them, too
    uint64_t device;          // of the last file that was opened: a look per file system is enough
    bool has_device, is_made_up;
};

static weft_err no_memory(void)
{
    return err_no_memory("for the names of the inputs");
}

// A copy of the text that lives as long as the inputs; NULL: out of memory.
static const char *keep_text(struct inputs *inputs, const char *text)
{
    char *copy = strdup(text);
    if (!copy || !VEC_PUSH(&inputs->state->strings, copy)) {
        free(copy);
        return NULL;
    }
    return copy;
}

static weft_err push_input(struct inputs *inputs, const struct input *found)
{
    struct input *input = VEC_NEXT(inputs);
    if (!input || !found->name || !found->path)
        return no_memory();
    *input = *found;
    inputs->count++;
    inputs->total_bytes += found->size;
    return WEFT_OK;
}

// ---- What the run writes itself --------------------------------------------------------------------------

static bool is_same(const struct found *a, const struct found *b)
{
    return a->device == b->device && a->inode == b->inode;
}

static bool is_stdout(const struct inputs *inputs, const struct found *found)
{
    const struct found *own = &inputs->state->own_stdout;
    return own->kind == FILE_REGULAR && is_same(own, found);
}

static bool is_own(const struct inputs *inputs, const struct found *found)
{
    const struct inputs_state *state = inputs->state;
    for (size_t i = 0; i < state->own.count; i++)
        if (is_same(&state->own.items[i], found))
            return true;
    return is_stdout(inputs, found);
}

static bool lies_in_own(const struct inputs *inputs, const char *path)
{
    struct found above;
    const char *slash = strrchr(path, '/');
    if (!inputs->state->has_own_directory)
        return false;
    char *directory = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    const bool is_known = directory && find_look(directory, &above) == WEFT_OK;
    if (!is_known)
        err_clear();  // the file itself was found; its directory may be one that cannot be listed
    free(directory);
    return is_known && above.kind == FILE_DIRECTORY && is_own(inputs, &above);
}

// Refuses a named file that the run itself writes. A file that is the only word is meant as in `sort -o FILE FILE`:
// it is read, and replaced when the answer is complete. Among others it is a mistake (DIR/* of a shell).
static weft_err refuse_own(const struct inputs *inputs, const struct found *found)
{
    if (is_stdout(inputs, found))
        return err_set(WEFT_INVALID_ARGUMENT,
                       "%s is an input and also standard output\n  it would grow while it is "
                       "read\n  try: -o FILE, which appears when it is complete",
                       found->path);
    const bool is_it = is_own(inputs, found);
    if (is_it && found->kind == FILE_REGULAR && inputs->state->is_single)
        return WEFT_OK;
    if (!is_it && !lies_in_own(inputs, found->path))
        return WEFT_OK;
    return err_set(WEFT_INVALID_ARGUMENT,
                   "%s %s output of this run\n  every run would read the answer of the one "
                   "before\n  try: another name for the output, or the inputs without it",
                   found->path, is_it ? "is an input and also an" : "is in an");
}

static weft_err note_own(struct inputs *inputs, const char *path)
{
    struct found found;
    if (hdfs_is_url(path)) {
        inputs->state->own_url = keep_text(inputs, path);
        return inputs->state->own_url ? WEFT_OK : no_memory();
    }
    if (find_look(path, &found) != WEFT_OK)
        err_clear();  // the function that writes it reports it
    if (found.kind != FILE_REGULAR && found.kind != FILE_DIRECTORY)
        return WEFT_OK;
    inputs->state->has_own_directory |= found.kind == FILE_DIRECTORY;
    return VEC_PUSH(&inputs->state->own, found) ? WEFT_OK : no_memory();
}

static weft_err note_all_own(struct inputs *inputs, const struct inputs_request *request)
{
    weft_err err = WEFT_OK;
    for (size_t i = 0; !err && i < request->own_count; i++)
        err = note_own(inputs, request->own[i]);
    if (!err && request->stdout_is_output &&
        find_look_fd(STDOUT_FILENO, "standard output", &inputs->state->own_stdout) != WEFT_OK)
        err_clear();  // closed: the function that writes the answer reports it
    return err;
}

// ---- Files ---------------------------------------------------------------------------------------------

static weft_err add_stream(struct inputs *inputs, const char *path);

// A file of /proc or /sys, and of some file systems in user space: its size is not known before it is read.
static bool is_of_unknown_size(struct inputs *inputs, const struct found *found)
{
    struct inputs_state *state = inputs->state;
    char byte;
    size_t got = 0;
    int fd;
    const bool is_known = state->has_device && state->device == found->device;
    if (found->size > 0 && is_known)
        return state->is_made_up;
    if (file_open(found->path, &fd) != WEFT_OK)
        return false;  // the function that reads it reports why it cannot be opened
    if (!is_known)
        state->is_made_up = file_is_made_up(fd);
    state->has_device = true;
    state->device = found->device;
    if (found->size == 0 && file_read_at(fd, found->path, &byte, 1, 0, &got) != WEFT_OK)
        got = 0;
    file_close(fd);
    return found->size > 0 ? state->is_made_up : got > 0;
}

static weft_err add_file(void *owner, const struct found *found)
{
    struct inputs *inputs = owner;
    const struct inputs_state *state = inputs->state;
    if (is_of_unknown_size(inputs, found))
        return add_stream(inputs, found->path);
    weft_err err = codec_refuse_cut(found->path, found->size);
    if (!err && state->wants_text)
        err = codec_refuse_by_name(found->path);
    if (err)
        return err;
    const char *name = keep_text(inputs, found->path);
    return push_input(inputs,
                      &(struct input){name, name, found->size, found->mtime_ns, found->inode});
}

// A slot for one more spool, owned by the inputs.
static struct spool *next_spool(struct inputs *inputs)
{
    struct spool *spool = calloc(1, sizeof *spool);
    if (!spool || !VEC_PUSH(&inputs->state->spools, spool)) {
        free(spool);
        no_memory();
        return NULL;
    }
    spool->fd = -1;
    return spool;
}

static weft_err open_stdin(struct inputs *inputs, struct spool **spool)
{
    if (inputs->state->has_stdin)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "- stands twice among the inputs\n  standard input can be read once only");
    inputs->state->has_stdin = true;
    *spool = next_spool(inputs);
    return *spool ? spool_open_stdin(*spool, &inputs->state->limits) : WEFT_RESOURCE_EXHAUSTED;
}

static weft_err add_stdin(struct inputs *inputs)
{
    struct spool *spool = NULL;
    const weft_err err = open_stdin(inputs, &spool);
    return err ? err : push_input(inputs, &(struct input){"-", spool->path, spool->size, 0, 0});
}

static weft_err add_stream(struct inputs *inputs, const char *path)
{
    struct spool *spool = next_spool(inputs);
    const weft_err err =
        spool ? spool_open(spool, path, &inputs->state->limits) : WEFT_RESOURCE_EXHAUSTED;
    return err ? err
               : push_input(inputs, &(struct input){keep_text(inputs, path), spool->path,
                                                    spool->size, 0, 0});
}

static weft_err note_aside(struct inputs *inputs, struct inputs_aside *aside, const char *path)
{
    if (aside->count++ == 0)
        aside->first = keep_text(inputs, path);
    return aside->first ? WEFT_OK : no_memory();
}

// What our outputs, Hadoop's and Spark's hold beside their data is not worth a word.
static bool is_of_an_output(const char *path)
{
    static const char *const names[] = {"_SUCCESS",   MANIFEST_NAME,      "_temporary",
                                        "_logs",      "_common_metadata", "_metadata",
                                        "_committed", "_started",         INPUTS_BAD_LIST};
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static weft_err take_aside(void *owner, enum find_aside why, const char *path)
{
    struct inputs *inputs = owner;
    switch (why) {
    case FIND_MARKED:
        return is_of_an_output(path) ? WEFT_OK : note_aside(inputs, &inputs->marked, path);
    case FIND_LOOP:
        return note_aside(inputs, &inputs->loops, path);
    case FIND_DANGLING:
        break;
    }
    return inputs->state->skips_missing ? note_aside(inputs, &inputs->missing, path)
                                        : find_dangling_error(path);
}

// A file in a directory.
static weft_err add_found(void *owner, const struct found *found)
{
    struct inputs *inputs = owner;
    if (is_own(inputs, found))
        return note_aside(inputs, &inputs->own, found->path);
    return manifest_is_one_of_before(found->path) ? WEFT_OK : add_file(owner, found);
}

static weft_err enter_directory(void *owner, const struct found *directory, bool *is_left_out)
{
    struct inputs *inputs = owner;
    *is_left_out = is_own(inputs, directory);
    return *is_left_out ? note_aside(inputs, &inputs->own, directory->path) : WEFT_OK;
}

// A file or a directory by its name, or (is_match) the name that a pattern found; *is_missing when nothing
// has it.
static weft_err add_path(struct inputs *inputs, const char *path, bool is_match, bool *is_missing)
{
    struct found found;
    weft_err err = find_look(path, &found);
    *is_missing = !err && found.kind == FILE_MISSING;
    if (err || *is_missing)
        return err;
    if (is_match && is_own(inputs, &found))
        return note_aside(inputs, &inputs->own, path);
    if ((err = refuse_own(inputs, &found)))
        return err;
    if (found.kind == FILE_DIRECTORY)
        return find_walk(path, &(struct find_calls){add_found, take_aside, enter_directory},
                         inputs);
    if (found.kind == FILE_STREAM || spool_is_own_name(path))
        return add_stream(inputs, path);
    return add_file(inputs, &found);
}

static weft_err note_missing(struct inputs *inputs, const char *name)
{
    if (inputs->state->skips_missing)
        return note_aside(inputs, &inputs->missing, name);
    if (find_is_link(name))
        return find_dangling_error(name);
    return err_set(WEFT_NOT_FOUND, "cannot find the input %s\n  there is no such file or directory",
                   name);
}

// ---- Patterns and lists ----------------------------------------------------------------------------------

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static weft_err add_pattern(struct inputs *inputs, const char *pattern)
{
    struct find_matches matches;
    weft_err err = find_match(pattern, &matches);
    const bool takes_marked = base_name(pattern)[0] == '_';
    size_t count = 0;
    for (size_t i = 0; !err && i < matches.count; i++) {
        bool is_missing = false;
        if (base_name(matches.paths[i])[0] == '_' && !takes_marked) {
            err = take_aside(inputs, FIND_MARKED, matches.paths[i]);
            continue;
        }
        count++;
        err = add_path(inputs, matches.paths[i], true, &is_missing);
        if (!err && is_missing)
            err = note_missing(inputs, matches.paths[i]);
    }
    if (!err && count == 0)
        err =
            inputs->state->skips_missing
                ? note_missing(inputs, pattern)
                : err_set(WEFT_NOT_FOUND,
                          "no file matches %s\n  a pattern must match at least one file", pattern);
    find_free_matches(&matches);
    return err;
}

static weft_err read_list(struct inputs *inputs, const char *name, struct buf *text)
{
    struct spool *spool = NULL, opened = {.fd = -1};
    const bool is_stdin = strcmp(name, "-") == 0;
    weft_err err =
        is_stdin ? open_stdin(inputs, &spool) : spool_open(&opened, name, &inputs->state->limits);
    spool = is_stdin ? spool : &opened;
    for (size_t got = 1; !err && got > 0;) {
        char *to = buf_reserve(text, LIST_READ_BYTES);
        err =
            to ? file_read_at(spool->fd, name, to, LIST_READ_BYTES, text->size, &got) : no_memory();
        text->size += err ? 0 : got;
    }
    spool_close(&opened);
    return err;
}

// Names end with a line end, or with zero bytes when there is one (find -print0).
static weft_err add_far(struct inputs *inputs, const char *url);

static weft_err add_list(struct inputs *inputs, const char *name)
{
    struct buf text = {0};
    weft_err err = read_list(inputs, name, &text);
    if (err)
        err = err_wrap(err, "the list of inputs @%s", name);
    else
        buf_text(&text);
    const char separator = text.size && memchr(text.data, 0, text.size) ? 0 : '\n';
    for (size_t at = 0; !err && at < text.size;) {
        char *line = text.data + at;
        char *end = memchr(line, separator, text.size - at);
        at += end ? (size_t)(end - line) + 1 : text.size - at;
        bool is_missing = false;
        if (end)
            *end = 0;
        if (hdfs_is_url(line))
            err = add_far(inputs, line);
        else if (*line)
            err = add_path(inputs, line, false, &is_missing);
        if (!err && is_missing)
            err = err_wrap(note_missing(inputs, line), "the list @%s", name);
    }
    buf_fini(&text);
    return err;
}

// ---- HDFS --------------------------------------------------------------------------------------------------

static weft_err add_far_file(void *owner, const struct hdfs_found *found)
{
    struct inputs *inputs = owner;
    const struct inputs_state *state = inputs->state;
    if (state->own_url && !state->takes_own_url && hdfs_lies_in(found->url, state->own_url))
        return note_aside(inputs, &inputs->own, found->url);
    weft_err err = codec_refuse_cut(found->url, found->size);
    if (!err && inputs->state->wants_text)
        err = codec_refuse_by_name(found->url);
    if (err)
        return err;
    const char *name = keep_text(inputs, found->url);
    return push_input(inputs,
                      &(struct input){name, name, found->size, found->mtime_ns, found->number});
}

static weft_err take_far_aside(void *owner, const char *url)
{
    return take_aside(owner, FIND_MARKED, url);
}

// As refuse_own: a file that is the only input may be replaced by the answer.
static weft_err refuse_own_url(struct inputs *inputs, const char *url)
{
    struct inputs_state *state = inputs->state;
    state->takes_own_url = false;
    if (!state->own_url || hdfs_is_pattern(url) || !hdfs_lies_in(url, state->own_url))
        return WEFT_OK;
    const bool is_it = hdfs_lies_in(state->own_url, url);
    state->takes_own_url =
        is_it && state->is_single && state->own_url[strlen(state->own_url) - 1] != '/';
    if (state->takes_own_url)
        return WEFT_OK;
    return err_set(WEFT_INVALID_ARGUMENT,
                   "%s %s output of this run\n  every run would read the answer of the one "
                   "before\n  try: another name for the output, or the inputs without it",
                   url, is_it ? "is an input and also an" : "is in an");
}

static weft_err add_far(struct inputs *inputs, const char *url)
{
    static const struct hdfs_find_calls calls = {add_far_file, take_far_aside};
    weft_err err = refuse_own_url(inputs, url);
    if (!err)
        err = hdfs_find(url, &calls, inputs);
    if (err != WEFT_NOT_FOUND || !inputs->state->skips_missing)
        return err;
    err_clear();
    return note_aside(inputs, &inputs->missing, url);
}

static weft_err add_word(struct inputs *inputs, const char *word)
{
    bool is_missing;
    if (!*word)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "the name of an input is empty\n  an unset variable of the shell?");
    if (strcmp(word, "-") == 0)
        return add_stdin(inputs);
    if (word[0] == '@')
        return add_list(inputs, word + 1);
    if (hdfs_is_url(word))
        return add_far(inputs, word);
    const weft_err err = add_path(inputs, word, false, &is_missing);
    if (err || !is_missing)
        return err;
    return strpbrk(word, "*?[") ? add_pattern(inputs, word) : note_missing(inputs, word);
}

// ---- All of them -----------------------------------------------------------------------------------------

static weft_err no_input(void)
{
    return err_set(
        WEFT_INVALID_ARGUMENT,
        "no input is given\n  INPUT is a file, a directory, a quoted pattern, @names.txt, "
        "or - for standard input\n  try: name a file after the job, or pipe text into "
        "it");
}

weft_err inputs_expand(struct inputs *inputs, const struct inputs_request *request)
{
    *inputs = (struct inputs){0};
    if (request->word_count == 0)
        return no_input();
    inputs->state = calloc(1, sizeof *inputs->state);
    if (!inputs->state)
        return no_memory();
    inputs->state->limits = (struct spool_limits){
        .tmp = request->tmp, .wait = request->wait, .answer_fd = request->answer_fd};
    weft_err err = note_all_own(inputs, request);
    inputs->state->is_single = request->word_count == 1;
    inputs->state->skips_missing = request->skips_missing;
    inputs->state->wants_text = request->wants_text;
    for (size_t i = 0; !err && i < request->word_count; i++)
        err = add_word(inputs, request->words[i]);
    if (!err && inputs->count == 0 && inputs->missing.count > 0)
        err = err_set(WEFT_NOT_FOUND, "no input is left: %s%s missing", inputs->missing.first,
                      inputs->missing.count > 1 ? " and all others are" : " is");
    return err;
}

void inputs_fini(struct inputs *inputs)
{
    struct inputs_state *state = inputs->state;
    for (size_t i = 0; state && i < state->strings.count; i++)
        free(state->strings.items[i]);
    for (size_t i = 0; state && i < state->spools.count; i++) {
        spool_close(state->spools.items[i]);
        free(state->spools.items[i]);
    }
    if (state) {
        VEC_FINI(&state->strings);
        VEC_FINI(&state->spools);
        VEC_FINI(&state->own);
    }
    free(state);
    free(inputs->items);
    *inputs = (struct inputs){0};
}
