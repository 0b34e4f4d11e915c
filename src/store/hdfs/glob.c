// Patterns, name by name from the root.

#include "store/hdfs/glob.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"

enum { ALTERNATIVES_MAX = 10000 };

bool glob_is_pattern(const char *path)
{
    return strpbrk(path, "*?[{\\");
}

struct search {
    struct namenode *namenode;
    glob_visit_fn *visit;
    void *owner;
    size_t found_count, alternative_count;
    struct map seen;  // paths that were visited: alternatives of braces may mean the same ones
    bool has_braces;
};

static weft_bytes key_of(const void *path)
{
    return weft_text(path);
}

static weft_err visit(struct search *search, const char *path, const Hadoop__FileStatus *status)
{
    if (search->has_braces) {
        if (map_find(&search->seen, weft_text(path)))
            return WEFT_OK;
        char *copy = strdup(path);
        if (!copy || !map_add(&search->seen, copy)) {
            free(copy);
            return err_no_memory("for a path");
        }
    }
    search->found_count++;
    return search->visit(search->owner, path, status);
}

static weft_err match(struct search *search, const char *directory, const char *rest);

// One level: the pattern of a name, and the entries that match it.
struct level {
    struct search *search;
    const char *directory;
    char *name;
    const char *rest;   // after the name; "": it is the last one
    VEC(char *) below;  // directories to look into, when the listing is over
};

static weft_err take_entry(void *owner, const Hadoop__FileStatus *entry)
{
    struct level *level = owner;
    struct search *search = level->search;
    struct buf name = {0}, path = {0};
    buf_append(&name, entry->path.data, entry->path.len);
    // A file lists itself, without a name.
    if (entry->path.len == 0 || fnmatch(level->name, buf_text(&name), 0) != 0) {
        buf_fini(&name);
        return WEFT_OK;
    }
    buf_format(&path, "%s/%s", level->directory, buf_text(&name));
    weft_err code = name.has_failed || path.has_failed ? err_no_memory("for a path") : WEFT_OK;
    if (code == WEFT_OK && !level->rest[0]) {
        code = visit(search, buf_text(&path), entry);
    } else if (code == WEFT_OK && entry->type == 1) {
        char *copy = strdup(buf_text(&path));
        if (!copy || !VEC_PUSH(&level->below, copy)) {
            free(copy);
            code = err_no_memory("for a path");
        }
    }
    buf_fini(&name);
    buf_fini(&path);
    return code;
}

static weft_err match_level(struct search *search, const char *directory, const char *name_end,
                            const char *name)
{
    struct level level = {.search = search,
                          .directory = directory,
                          .name = strndup(name, (size_t)(name_end - name)),
                          .rest = name_end};
    weft_err code = level.name ? namenode_list(search->namenode, directory[0] ? directory : "/",
                                               take_entry, &level)
                               : err_no_memory("for a path");
    if (code == WEFT_NOT_FOUND) {
        err_clear();
        code = WEFT_OK;
    }
    for (size_t i = 0; i < level.below.count; i++) {
        if (code == WEFT_OK)
            code = match(search, level.below.items[i], level.rest);
        free(level.below.items[i]);
    }
    VEC_FINI(&level.below);
    free(level.name);
    return code;
}

static weft_err visit_one(struct search *search, const char *path)
{
    Hadoop__FileInfo *info = NULL;
    weft_err code = namenode_stat(search->namenode, path, &info);
    if (code == WEFT_NOT_FOUND) {
        err_clear();
        return WEFT_OK;
    }
    if (code == WEFT_OK)
        code = visit(search, path, info->status);
    hdfs_free(info);
    return code;
}

// `rest` begins with a slash. Names without a pattern are taken as they are, without a listing.
static weft_err match(struct search *search, const char *directory, const char *rest)
{
    struct buf path = {0};
    weft_err code = WEFT_OK;
    buf_append_text(&path, directory);
    while (rest[0] && code == WEFT_OK) {
        const char *name = rest + 1, *end = name + strcspn(name, "/");
        char *copy = strndup(name, (size_t)(end - name));
        const bool is_pattern = copy && glob_is_pattern(copy);
        free(copy);
        if (!copy)
            code = err_no_memory("for a path");
        if (is_pattern) {
            code = match_level(search, buf_text(&path), end, name);
            buf_fini(&path);
            return code;
        }
        buf_append(&path, rest, (size_t)(end - rest));
        rest = end;
    }
    if (code == WEFT_OK)
        code = visit_one(search, path.size ? buf_text(&path) : "/");
    buf_fini(&path);
    return code;
}

// ---- {a,b} --------------------------------------------------------------------------------------------------------

// The end of the alternatives that begin at `at`, after the }; NULL: they are not closed.
static const char *find_close(const char *at)
{
    int depth = 0;
    for (; *at; at++) {
        if (*at == '\\' && at[1])
            at++;
        else if (*at == '{')
            depth++;
        else if (*at == '}' && --depth == 0)
            return at + 1;
    }
    return NULL;
}

static const char *find_open(const char *at)
{
    for (; *at; at++) {
        if (*at == '\\' && at[1])
            at++;
        else if (*at == '{')
            return at;
    }
    return NULL;
}

static weft_err expand(struct search *search, const char *pattern);

static weft_err expand_one(struct search *search, const char *pattern, const char *open,
                           weft_bytes alternative, const char *close)
{
    struct buf one = {0};
    buf_append(&one, pattern, (size_t)(open - pattern));
    buf_append(&one, alternative.data, alternative.size);
    buf_append_text(&one, close);
    const weft_err code =
        one.has_failed ? err_no_memory("for a path") : expand(search, buf_text(&one));
    buf_fini(&one);
    return code;
}

static weft_err expand(struct search *search, const char *pattern)
{
    const char *open = find_open(pattern);
    const char *close = open ? find_close(open) : NULL;
    if (++search->alternative_count > ALTERNATIVES_MAX)
        return err_set(WEFT_INVALID_ARGUMENT, "the braces stand for more than %d paths",
                       ALTERNATIVES_MAX);
    if (!close)
        return match(search, "", pattern);
    weft_err code = WEFT_OK;
    const char *begin = open + 1;
    int depth = 0;
    for (const char *at = begin; code == WEFT_OK && at < close; at++) {
        if (*at == '\\' && at + 1 < close) {
            at++;
        } else if (depth == 0 && (*at == ',' || at + 1 == close)) {
            const weft_bytes alternative = {begin, (size_t)(at - begin)};
            code = expand_one(search, pattern, open, alternative, close);
            begin = at + 1;
        } else {
            depth += (*at == '{') - (*at == '}');
        }
    }
    return code;
}

weft_err glob_visit(struct namenode *namenode, const char *path, glob_visit_fn *take, void *owner)
{
    struct search search = {
        .namenode = namenode, .visit = take, .owner = owner, .has_braces = find_open(path)};
    map_init(&search.seen, key_of, 0);
    const weft_err code = expand(&search, path);
    size_t at = 0;
    for (void *seen; (seen = map_next(&search.seen, &at));)
        free(seen);
    map_fini(&search.seen);
    if (code != WEFT_OK || search.found_count)
        return code;
    return glob_is_pattern(path) ? err_set(WEFT_NOT_FOUND, "nothing in HDFS matches %s", path)
                                 : err_set(WEFT_NOT_FOUND, "there is no %s in HDFS", path);
}
