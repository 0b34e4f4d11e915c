// weft put FILE... URL: copies files of this machine to HDFS. A file appears under its name when all of it is there.

#include "cli/cli.h"

#include <stdlib.h>

#include "base/vec.h"
#include "cli/far_files.h"
#include "store/hdfs/upload.h"
#include "sys/file/file.h"
#include "sys/process/signals.h"

enum { STEP_BYTES = 1 << 20, OPTION_FORCE = FAR_OPTION_FIRST, STANDARD_INPUT = 0 };

static const struct args_option options[] = {
    {OPTION_FORCE, 0, "force", NULL, "replace files that are there"},
    {FAR_OPTION_HELP, 'h', "help", NULL, "this help"},
    {0},
};

void help_format_put(struct buf *buf)
{
    buf_append_text(buf,
                    "Copies files of this machine to HDFS.\n"
                    "\n"
                    "  weft put books.txt hdfs://namenode:8020/books.txt\n"
                    "  weft put *.txt hdfs:///books/           several, into a directory\n"
                    "  weft put books/ hdfs:///books           a directory with its files\n"
                    "  make-data | weft put - hdfs:///data.txt\n"
                    "\n"
                    "Usage: weft put [options] FILE... URL\n"
                    "URL is a directory if it ends with / or is one, else the name for one FILE.\n"
                    "\n");
    args_format_help(buf, options, NULL);
}

struct put {
    struct far_files files;
    const struct far_words *words;
    char *room;
};

// ---- One file -----------------------------------------------------------------------------------------------------

static weft_err copy_bytes(const struct put *put, struct upload *upload, int fd, const char *path)
{
    for (;;) {
        size_t got = 0;
        weft_err code = file_read_some(fd, path, put->room, STEP_BYTES, &got);
        if (code == WEFT_OK)
            code = far_files_check_signal();
        if (code != WEFT_OK || got == 0)
            return code;
        code = upload_write(upload, put->room, got);
        if (code != WEFT_OK)
            return code;
    }
}

static weft_err put_open(const struct put *put, int fd, int64_t size, const char *from,
                         const char *to)
{
    struct upload *upload = NULL;
    weft_err code = upload_open(put->files.namenode, to, size,
                                far_words_has(put->words, OPTION_FORCE), &upload);
    if (code == WEFT_OK)
        code = copy_bytes(put, upload, fd, from);
    if (code == WEFT_OK)
        code = upload_finish(upload);
    upload_close(upload);
    return code == WEFT_ALREADY_EXISTS ? err_set(code, "%s\n  try: --force", err_text()) : code;
}

static weft_err put_file(const struct put *put, const char *from, const char *to)
{
    struct file_stat status;
    int fd = -1;
    if (strcmp(from, "-") == 0)
        return put_open(put, STANDARD_INPUT, -1, "standard input", to);
    weft_err code = file_open(from, &fd);
    if (code == WEFT_OK)
        code = file_stat_fd(fd, from, &status);
    // A file that the kernel makes up, or a pipe, has a size that is not its own.
    if (code == WEFT_OK)
        code = put_open(put, fd,
                        status.kind == FILE_REGULAR && status.size ? (int64_t)status.size : -1,
                        from, to);
    file_close(fd);
    return code;
}

// ---- Directories ----------------------------------------------------------------------------------------------------

struct names {
    VEC(char *) all;
};

static weft_err note_name(void *owner, const char *name)
{
    struct names *names = owner;
    char *copy = strdup(name);
    if (copy && VEC_PUSH(&names->all, copy))
        return WEFT_OK;
    free(copy);
    return err_no_memory("for a directory");
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static weft_err put_any(const struct put *put, const char *from, const char *to);

static weft_err put_directory(const struct put *put, const char *from, const char *to)
{
    struct names names = {0};
    weft_err code = namenode_make_directory(put->files.namenode, to, 0755);
    if (code == WEFT_OK)
        code = file_list(from, note_name, &names);
    if (names.all.count)
        qsort(names.all.items, names.all.count, sizeof *names.all.items, compare_names);
    for (size_t i = 0; i < names.all.count; i++) {
        struct buf below_from = {0}, below_to = {0};
        buf_format(&below_from, "%s/%s", from, names.all.items[i]);
        buf_format(&below_to, "%s/%s", to, names.all.items[i]);
        if (code == WEFT_OK)
            code = put_any(put, buf_text(&below_from), buf_text(&below_to));
        buf_fini(&below_from);
        buf_fini(&below_to);
        free(names.all.items[i]);
    }
    VEC_FINI(&names.all);
    return code;
}

static weft_err put_any(const struct put *put, const char *from, const char *to)
{
    struct file_stat status = {.kind = FILE_REGULAR};
    weft_err code = far_files_check_signal();
    if (code == WEFT_OK && strcmp(from, "-") != 0)
        code = file_stat(from, &status);
    if (code == WEFT_OK && status.kind == FILE_MISSING)
        code = err_set(WEFT_NOT_FOUND, "there is no file %s", from);
    if (code != WEFT_OK)
        return code;
    return status.kind == FILE_DIRECTORY ? put_directory(put, from, to) : put_file(put, from, to);
}

// ---- Words ----------------------------------------------------------------------------------------------------------

static bool ends_with_slash(const char *text)
{
    return text[0] && text[strlen(text) - 1] == '/';
}

static weft_err is_directory(const struct put *put, const char *path, bool *is)
{
    Hadoop__FileInfo *info = NULL;
    weft_err code = namenode_stat(put->files.namenode, path, &info);
    *is = code == WEFT_OK && info->status->type == 1;
    if (code == WEFT_NOT_FOUND) {
        err_clear();
        code = WEFT_OK;
    }
    hdfs_free(info);
    return code;
}

// The last name of "a/b/", too.
static char *copy_last_name(const char *path)
{
    size_t end = strlen(path);
    while (end > 1 && path[end - 1] == '/')
        end--;
    size_t begin = end;
    while (begin > 0 && path[begin - 1] != '/')
        begin--;
    return strndup(path + begin, end - begin);
}

static weft_err put_into(const struct put *put, const char *from)
{
    const char *directory = put->files.url.path;
    struct buf to = {0};
    char *name = copy_last_name(from);
    if (strcmp(from, "-") == 0) {
        free(name);
        return err_set(WEFT_INVALID_ARGUMENT, "standard input needs a name in %s", directory);
    }
    buf_format(&to, "%s/%s", strcmp(directory, "/") == 0 ? "" : directory, name ? name : "");
    const weft_err code =
        name && !to.has_failed ? put_any(put, from, buf_text(&to)) : err_no_memory("for a path");
    free(name);
    buf_fini(&to);
    return code;
}

static weft_err put_all(struct put *put, const char *url)
{
    bool is_into = false;
    const size_t count = put->words->count - 1;
    weft_err code = count == 0 ? err_set(WEFT_INVALID_ARGUMENT,
                                         "put needs a file and a place\n  try: weft put FILE URL")
                               : far_files_find(&put->files, url);
    if (code == WEFT_OK)
        code = is_directory(put, put->files.url.path, &is_into);
    if (code != WEFT_OK)
        return code;
    is_into = is_into || ends_with_slash(url);
    if (!is_into && count > 1)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "%s is not a directory, and %zu files are to go there\n  try: %s/", url,
                       count, url);
    for (size_t i = 0; i < count && code == WEFT_OK; i++)
        code = is_into ? put_into(put, put->words->items[i])
                       : put_any(put, put->words->items[i], put->files.url.path);
    return code;
}

int cmd_put(char *const *given, size_t count)
{
    struct far_words words;
    struct put put = {.files.verb = "put", .words = &words, .room = malloc(STEP_BYTES)};
    int worst = put.room ? far_words_read("put", options, given, count, &words)
                         : cli_fail(err_no_memory("to write to HDFS"), false);
    if (worst >= 0) {
        free(put.room);
        return worst;
    }
    signals_note();
    const weft_err code = put_all(&put, words.items[words.count - 1]);
    free(put.room);
    far_words_fini(&words);
    return far_files_end(&put.files, code);
}
