// weft ls URL...: names of files in HDFS.

#include "cli/cli.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/vec.h"
#include "cli/far_files.h"
#include "sys/time/calendar.h"

enum { OPTION_LONG = FAR_OPTION_FIRST, OPTION_ALL_BELOW, OPTION_DIRECTORY };

static const struct args_option options[] = {
    {OPTION_LONG, 'l', "long", NULL, "permissions, owner, group, size and time of each, too"},
    {OPTION_ALL_BELOW, 'R', "recursive", NULL, "files of directories below, too"},
    {OPTION_DIRECTORY, 'd', "directory", NULL, "a directory itself, not its files"},
    {FAR_OPTION_HELP, 'h', "help", NULL, "this help"},
    {0},
};

void help_format_ls(struct buf *buf)
{
    buf_append_text(buf,
                    "Lists files in HDFS, one URL per line.\n"
                    "\n"
                    "  weft ls hdfs://namenode:8020/logs       the files of a directory\n"
                    "  weft ls -l 'hdfs:///logs/2024-*'        with sizes; of $HADOOP_CONF_DIR\n"
                    "  weft ls -R hdfs:///out                  directories below, too\n"
                    "\n"
                    "Usage: weft ls [options] URL...\n"
                    "URL may have * ? [a-z] {a,b}; put it into quotes.\n"
                    "\n");
    args_format_help(buf, options, NULL);
}

struct listing {
    struct far_files files;
    const struct far_words *words;
    struct buf text;
    VEC(char *) below;  // directories that are to be listed
    const char *directory;
    int print_failure;  // the exit code of a standard output that takes no more
};

// ---- One file ----------------------------------------------------------------------------------------------------

static void append_mode(struct buf *text, uint32_t type, uint32_t mode)
{
    const char *all = "rwxrwxrwx";
    buf_append(text, type == 1 ? "d" : type == 3 ? "l" : "-", 1);
    for (int bit = 8; bit >= 0; bit--)
        buf_append(text, mode >> bit & 1 ? &all[8 - bit] : "-", 1);
}

static void append_file(struct listing *listing, const char *path, const Hadoop__FileStatus *status)
{
    struct buf *text = &listing->text;
    if (far_words_has(listing->words, OPTION_LONG)) {
        char time[CALENDAR_TEXT_BYTES];
        calendar_write((int64_t)(status->mtime_ms / 1000), time);
        append_mode(text, status->type, status->permission ? status->permission->mode : 0);
        buf_format(text, " %-8s %-8s %12" PRIu64 " %s ", status->owner ? status->owner : "?",
                   status->group ? status->group : "?", status->length, time);
    }
    far_files_append_url(&listing->files, path, text);
    buf_append_text(text, status->type == 1 ? "/\n" : "\n");
}

static weft_err print(struct listing *listing)
{
    struct buf text = listing->text;
    listing->text = (struct buf){0};
    listing->print_failure = cli_print(&text);
    return listing->print_failure == 0 ? far_files_check_signal() : WEFT_CANCELLED;
}

// ---- Directories --------------------------------------------------------------------------------------------------

static weft_err note_directory(struct listing *listing, const char *path)
{
    char *copy = strdup(path);
    if (copy && VEC_PUSH(&listing->below, copy))
        return WEFT_OK;
    free(copy);
    return err_no_memory("for a directory");
}

static weft_err take_entry(void *owner, const Hadoop__FileStatus *entry)
{
    struct listing *listing = owner;
    struct buf path = {0};
    const bool is_root = strcmp(listing->directory, "/") == 0;
    buf_format(&path, "%s/%.*s", is_root ? "" : listing->directory, (int)entry->path.len,
               (const char *)entry->path.data);
    weft_err code = path.has_failed ? err_no_memory("for a path") : WEFT_OK;
    if (code == WEFT_OK)
        append_file(listing, buf_text(&path), entry);
    if (code == WEFT_OK && entry->type == 1 && far_words_has(listing->words, OPTION_ALL_BELOW))
        code = note_directory(listing, buf_text(&path));
    buf_fini(&path);
    return code;
}

static weft_err list_directory(struct listing *listing, char *path)
{
    listing->directory = path;
    weft_err code = namenode_list(listing->files.namenode, path, take_entry, listing);
    if (code == WEFT_OK)
        code = print(listing);
    free(path);
    return code;
}

static weft_err take_match(void *owner, const char *path, const Hadoop__FileStatus *status)
{
    struct listing *listing = owner;
    if (status->type == 1 && !far_words_has(listing->words, OPTION_DIRECTORY))
        return note_directory(listing, path);
    append_file(listing, path, status);
    return WEFT_OK;
}

static weft_err list_url(struct listing *listing, const char *url)
{
    weft_err code = far_files_find(&listing->files, url);
    if (code == WEFT_OK)
        code = glob_visit(listing->files.namenode, listing->files.url.path, take_match, listing);
    if (code == WEFT_OK)
        code = print(listing);
    while (listing->below.count) {
        char *path = listing->below.items[0];
        listing->below.count--;
        memmove(listing->below.items, listing->below.items + 1,
                listing->below.count * sizeof *listing->below.items);
        if (code == WEFT_OK)
            code = list_directory(listing, path);
        else
            free(path);
    }
    return code;
}

int cmd_ls(char *const *given, size_t count)
{
    struct far_words words;
    struct listing listing = {.files.verb = "ls", .words = &words};
    int worst = far_words_read("ls", options, given, count, &words);
    if (worst >= 0)
        return worst;
    worst = 0;
    for (size_t i = 0; i < words.count; i++) {
        const weft_err code = list_url(&listing, words.items[i]);
        if (code == WEFT_CANCELLED)
            break;
        if (code != WEFT_OK)
            worst = far_files_complain(code);
    }
    worst = listing.print_failure ? listing.print_failure : worst;
    buf_fini(&listing.text);
    VEC_FINI(&listing.below);
    far_words_fini(&words);
    const int ended = far_files_end(&listing.files, WEFT_OK);
    return ended ? ended : worst;
}
