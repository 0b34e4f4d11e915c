// weft get URL... [WHERE]: copies files of HDFS to this machine. A file appears under its name when it is complete.

#include "cli/cli.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/vec.h"
#include "cli/far_files.h"
#include "store/hdfs/reader.h"
#include "sys/file/file.h"
#include "sys/process/signals.h"

enum { STEP_BYTES = 1 << 20, OPTION_FORCE = FAR_OPTION_FIRST };

static const struct args_option options[] = {
    {OPTION_FORCE, 0, "force", NULL, "replace files that are there"},
    {FAR_OPTION_HELP, 'h', "help", NULL, "this help"},
    {0},
};

void help_format_get(struct buf *buf)
{
    buf_append_text(buf,
                    "Copies files of HDFS to this machine, each byte checked.\n"
                    "\n"
                    "  weft get hdfs://namenode:8020/logs/today.txt\n"
                    "  weft get 'hdfs:///logs/*.gz' logs/      several, into a directory\n"
                    "  weft get hdfs:///out results            a directory with its files\n"
                    "\n"
                    "Usage: weft get [options] URL... [WHERE]\n"
                    "WHERE is a directory, or a new name for one URL (default: this directory).\n"
                    "URL may have * ? [a-z] {a,b}; put it into quotes.\n"
                    "\n");
    args_format_help(buf, options, NULL);
}

struct get {
    struct far_files files;
    const struct far_words *words;
    const char *where;
    bool is_into;  // WHERE is a directory that is there
    char *room;
};

// ---- One file -----------------------------------------------------------------------------------------------------

static weft_err copy_bytes(const struct get *get, struct reader *reader, int fd, const char *path)
{
    weft_err code = WEFT_OK;
    for (uint64_t at = 0; code == WEFT_OK && at < reader_size(reader);) {
        size_t got = 0;
        code = reader_read_at(reader, get->room, STEP_BYTES, at, &got);
        if (code == WEFT_OK)
            code = far_files_check_signal();
        if (code == WEFT_OK)
            code = file_write(fd, path, get->room, got);
        at += got;
    }
    return code;
}

static weft_err check_free(const struct get *get, const char *path)
{
    struct file_stat status;
    const weft_err code = file_stat(path, &status);
    if (code != WEFT_OK || status.kind == FILE_MISSING ||
        (status.kind == FILE_REGULAR && far_words_has(get->words, OPTION_FORCE)))
        return code;
    return err_set(WEFT_ALREADY_EXISTS, "%s is there already%s", path,
                   status.kind == FILE_REGULAR ? "\n  try: --force" : "");
}

static weft_err get_file(const struct get *get, const char *from, const char *to)
{
    struct reader *reader = NULL;
    struct buf unfinished = {0};
    int fd = -1;
    buf_format(&unfinished, "%s.weft-unfinished-%d", to, (int)getpid());
    weft_err code = unfinished.has_failed ? err_no_memory("for a path") : check_free(get, to);
    if (code == WEFT_OK)
        code = reader_open(get->files.namenode, from, &reader);
    if (code == WEFT_OK)
        code = file_create(buf_text(&unfinished), &fd);
    if (code == WEFT_OK) {
        code = copy_bytes(get, reader, fd, to);
        const weft_err closed = file_close_checked(fd, to);
        code = code == WEFT_OK ? closed : code;
        if (code == WEFT_OK)
            code = file_rename(buf_text(&unfinished), to);
        if (code != WEFT_OK) {
            struct err_kept kept;
            err_keep(&kept);
            if (file_remove(buf_text(&unfinished)) != WEFT_OK)
                err_clear();
            err_put_back(&kept);
        }
    }
    reader_close(reader);
    buf_fini(&unfinished);
    return code;
}

// ---- Directories ----------------------------------------------------------------------------------------------------

struct entry {
    char *name;
    bool is_directory;
};

struct entries {
    VEC(struct entry) all;
};

static weft_err note_entry(void *owner, const Hadoop__FileStatus *status)
{
    struct entries *entries = owner;
    const struct entry one = {strndup((const char *)status->path.data, status->path.len),
                              status->type == 1};
    if (one.name && !one.name[0]) {
        free(one.name);
        return err_set(WEFT_DATA_LOSS, "the name node lists a file without a proper name");
    }
    if (one.name && VEC_PUSH(&entries->all, one))
        return WEFT_OK;
    free(one.name);
    return err_no_memory("for a directory");
}

static weft_err get_any(const struct get *get, const char *from, const char *to, bool is_directory);

static weft_err get_directory(const struct get *get, const char *from, const char *to)
{
    struct entries entries = {0};
    weft_err code = file_make_directory(to);
    if (code == WEFT_OK)
        code = namenode_list(get->files.namenode, from, note_entry, &entries);
    for (size_t i = 0; i < entries.all.count; i++) {
        struct buf below_from = {0}, below_to = {0};
        const struct entry *entry = &entries.all.items[i];
        buf_format(&below_from, "%s/%s", strcmp(from, "/") == 0 ? "" : from, entry->name);
        buf_format(&below_to, "%s/%s", to, entry->name);
        if (code == WEFT_OK && below_from.size >= HDFS_PATH_BYTES)
            code = err_set(WEFT_DATA_LOSS, "the name node lists directories without end");
        if (code == WEFT_OK)
            code = get_any(get, buf_text(&below_from), buf_text(&below_to), entry->is_directory);
        buf_fini(&below_from);
        buf_fini(&below_to);
        free(entry->name);
    }
    VEC_FINI(&entries.all);
    return code;
}

static weft_err get_any(const struct get *get, const char *from, const char *to, bool is_directory)
{
    const weft_err code = far_files_check_signal();
    if (code != WEFT_OK)
        return code;
    return is_directory ? get_directory(get, from, to) : get_file(get, from, to);
}

static weft_err take_match(void *owner, const char *path, const Hadoop__FileStatus *status)
{
    const struct get *get = owner;
    struct buf to = {0};
    buf_append_text(&to, get->where);
    if (get->is_into)
        buf_format(&to, "/%s", far_last_name(path));
    const weft_err code = to.has_failed ? err_no_memory("for a path")
                                        : get_any(get, path, buf_text(&to), status->type == 1);
    buf_fini(&to);
    return code;
}

// ---- Words ----------------------------------------------------------------------------------------------------------

static weft_err find_where(struct get *get, struct far_words *words)
{
    struct file_stat status;
    const char *last = words->items[words->count - 1];
    const bool is_named = words->count > 1 && !hdfs_is_url(last);
    get->where = is_named ? last : ".";
    words->count -= is_named;
    const weft_err code = file_stat(get->where, &status);
    const size_t length = strlen(get->where);
    get->is_into = status.kind == FILE_DIRECTORY;
    if (code != WEFT_OK || get->is_into)
        return code;
    if (words->count > 1 || glob_is_pattern(words->items[0]) || get->where[length - 1] == '/') {
        get->is_into = true;
        return file_make_directory(get->where);
    }
    return WEFT_OK;
}

int cmd_get(char *const *given, size_t count)
{
    struct far_words words;
    struct get get = {.files.verb = "get", .words = &words, .room = malloc(STEP_BYTES)};
    int worst = get.room ? far_words_read("get", options, given, count, &words)
                         : cli_fail(err_no_memory("to read from HDFS"), false);
    if (worst >= 0) {
        free(get.room);
        return worst;
    }
    signals_note();
    weft_err code = find_where(&get, &words);
    for (size_t i = 0; i < words.count && code == WEFT_OK; i++) {
        code = far_files_find(&get.files, words.items[i]);
        if (code == WEFT_OK)
            code = glob_visit(get.files.namenode, get.files.url.path, take_match, &get);
    }
    free(get.room);
    far_words_fini(&words);
    return far_files_end(&get.files, code);
}
