// weft rm URL...: takes files out of HDFS.

#include "cli/cli.h"

#include <stdlib.h>

#include "base/vec.h"
#include "cli/far_files.h"

enum { OPTION_ALL_BELOW = FAR_OPTION_FIRST, OPTION_FORCE };

static const struct args_option options[] = {
    {OPTION_ALL_BELOW, 'r', "recursive", NULL, "directories with their files, too"},
    {OPTION_FORCE, 'f', "force", NULL, "a missing file is not a failure"},
    {FAR_OPTION_HELP, 'h', "help", NULL, "this help"},
    {0},
};

void help_format_rm(struct buf *buf)
{
    buf_append_text(buf, "Removes files of HDFS, at once and for good: not into a trash.\n"
                         "\n"
                         "  weft rm hdfs://namenode:8020/tmp/a.txt\n"
                         "  weft rm -r hdfs:///out                  a directory\n"
                         "\n"
                         "Usage: weft rm [options] URL...\n"
                         "URL may have * ? [a-z] {a,b}; put it into quotes.\n"
                         "\n");
    args_format_help(buf, options, NULL);
}

struct removal {
    struct far_files files;
    const struct far_words *words;
    VEC(char *) paths;
};

// All are found before the first one goes.
static weft_err take_match(void *owner, const char *path, const Hadoop__FileStatus *status)
{
    struct removal *removal = owner;
    if (status->type == 1 && !far_words_has(removal->words, OPTION_ALL_BELOW))
        return err_set(WEFT_FAILED_PRECONDITION, "%s is a directory\n  try: weft rm -r", path);
    if (strcmp(path, "/") == 0)
        return err_set(WEFT_FAILED_PRECONDITION, "the root of HDFS cannot be removed");
    char *copy = strdup(path);
    if (copy && VEC_PUSH(&removal->paths, copy))
        return WEFT_OK;
    free(copy);
    return err_no_memory("for a path");
}

static weft_err remove_url(struct removal *removal, const char *url)
{
    const bool is_forced = far_words_has(removal->words, OPTION_FORCE);
    weft_err code = far_files_find(&removal->files, url);
    if (code == WEFT_OK)
        code = glob_visit(removal->files.namenode, removal->files.url.path, take_match, removal);
    for (size_t i = 0; i < removal->paths.count; i++) {
        if (code == WEFT_OK)
            code = namenode_remove(removal->files.namenode, removal->paths.items[i],
                                   far_words_has(removal->words, OPTION_ALL_BELOW));
        if (code == WEFT_NOT_FOUND && is_forced)
            code = WEFT_OK;
        free(removal->paths.items[i]);
    }
    removal->paths.count = 0;
    return code == WEFT_NOT_FOUND && is_forced ? WEFT_OK : code;
}

int cmd_rm(char *const *given, size_t count)
{
    struct far_words words;
    struct removal removal = {.files.verb = "rm", .words = &words};
    int worst = far_words_read("rm", options, given, count, &words);
    if (worst >= 0)
        return worst;
    worst = 0;
    for (size_t i = 0; i < words.count; i++) {
        const weft_err code = remove_url(&removal, words.items[i]);
        if (code != WEFT_OK)
            worst = far_files_complain(code);
    }
    VEC_FINI(&removal.paths);
    far_words_fini(&words);
    const int ended = far_files_end(&removal.files, WEFT_OK);
    return ended ? ended : worst;
}
