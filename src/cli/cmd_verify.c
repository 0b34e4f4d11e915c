// weft verify DIR: for scripts that have copied an output and check the copy.

#include "cli/cli.h"

#include <inttypes.h>

#include "base/args.h"
#include "store/manifest.h"
#include "sys/file/file.h"

static const struct args_option verify_options[] = {
    {1, 'h', "help", NULL, "this help"},
    {0},
};

static bool is_directory(const char *path)
{
    struct file_stat status;
    return file_stat(path, &status) == WEFT_OK && status.kind == FILE_DIRECTORY;
}

static int verify_directory(const char *directory)
{
    struct manifest manifest = {0};
    struct buf text = {0};
    weft_err err = manifest_verify(directory, &manifest);
    if (err == WEFT_DATA_LOSS || err == WEFT_NOT_FOUND)
        err =
            err_set(err, "%s\n  try: copy it again, or run the job again with --force", err_text());
    if (!err)
        buf_format(&text,
                   "%s: %zu part%s, %" PRIu64 " records, %" PRIu64 " bytes, all as written\n",
                   directory, manifest.part_count, manifest.part_count == 1 ? "" : "s",
                   manifest.records, manifest.bytes);
    manifest_fini(&manifest);
    return err ? cli_fail(err, false) : cli_print(&text);
}

int cmd_verify(char *const *words, size_t count)
{
    struct args_reader reader;
    struct args_item item;
    const char *directory = NULL;
    args_start(&reader, words, count, verify_options);
    for (;;) {
        const weft_err err = args_next(&reader, &item);
        if (err)
            return cli_fail(err, false);
        if (item.kind == ARGS_OPTION)
            return cmd_help((char *const[]){"verify"}, 1);
        if (item.kind == ARGS_END)
            break;
        if (directory)
            return cli_fail(err_set(WEFT_INVALID_ARGUMENT,
                                    "verify takes one directory\n  try: weft verify %s", item.text),
                            false);
        directory = item.text;
    }
    if (!directory)
        return cli_fail(
            err_set(WEFT_INVALID_ARGUMENT, "no directory is named\n  try: weft verify DIR"), false);
    if (!is_directory(directory))
        return cli_fail(err_set(WEFT_NOT_FOUND,
                                "there is no directory %s\n"
                                "  try: weft verify DIR, where DIR is what -o DIR/ named",
                                directory),
                        false);
    return verify_directory(directory);
}
