// weft cat URL...: the bytes of files in HDFS.

#include "cli/cli.h"

#include <stdlib.h>

#include "cli/far_files.h"
#include "store/hdfs/reader.h"
#include "sys/file/file.h"

enum { STEP_BYTES = 1 << 20, STANDARD_OUTPUT = 1 };

static const struct args_option options[] = {
    {FAR_OPTION_HELP, 'h', "help", NULL, "this help"},
    {0},
};

void help_format_cat(struct buf *buf)
{
    buf_append_text(buf,
                    "Prints files of HDFS, each byte checked.\n"
                    "\n"
                    "  weft cat hdfs://namenode:8020/logs/today.txt | head\n"
                    "  weft cat 'hdfs:///out/part-*'           the parts of an answer, in order\n"
                    "\n"
                    "Usage: weft cat URL...\n"
                    "URL may have * ? [a-z] {a,b}; put it into quotes.\n"
                    "\n");
    args_format_help(buf, options, NULL);
}

struct cat {
    struct far_files files;
    char *room;
};

static weft_err print_file(void *owner, const char *path, const Hadoop__FileStatus *status)
{
    struct cat *cat = owner;
    struct reader *reader = NULL;
    if (status->type == 1)
        return err_set(WEFT_FAILED_PRECONDITION,
                       "%s is a directory\n  try: weft cat 'hdfs://%s%s/*'", path,
                       cat->files.authority, path);
    weft_err code = reader_open(cat->files.namenode, path, &reader);
    for (uint64_t at = 0; code == WEFT_OK && at < reader_size(reader);) {
        size_t got = 0;
        code = reader_read_at(reader, cat->room, STEP_BYTES, at, &got);
        if (code == WEFT_OK)
            code = file_write(STANDARD_OUTPUT, "standard output", cat->room, got);
        at += got;
    }
    reader_close(reader);
    return code;
}

int cmd_cat(char *const *given, size_t count)
{
    struct far_words words;
    struct cat cat = {.files.verb = "cat", .room = malloc(STEP_BYTES)};
    int worst = far_words_read("cat", options, given, count, &words);
    if (worst >= 0 || !cat.room) {
        free(cat.room);
        return worst >= 0 ? worst : cli_fail(err_no_memory("to read from HDFS"), false);
    }
    worst = 0;
    for (size_t i = 0; i < words.count; i++) {
        weft_err code = far_files_find(&cat.files, words.items[i]);
        if (code == WEFT_OK)
            code = glob_visit(cat.files.namenode, cat.files.url.path, print_file, &cat);
        if (code != WEFT_OK)
            worst = far_files_complain(code);
    }
    free(cat.room);
    far_words_fini(&words);
    const int ended = far_files_end(&cat.files, WEFT_OK);
    return ended ? ended : worst;
}
