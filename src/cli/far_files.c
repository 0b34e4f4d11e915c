// Words, name nodes and signals of ls, cat, get, put and rm.

#include "cli/far_files.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "sys/process/signals.h"

enum { PATIENCE_MS = 15000 };

// ---- Words ------------------------------------------------------------------------------------------------------

int far_words_read(const char *verb, const struct args_option *options, char *const *words,
                   size_t count, struct far_words *read)
{
    struct args_reader reader;
    struct args_item item;
    weft_err err;
    *read = (struct far_words){.items = calloc(count + 1, sizeof *read->items)};
    if (!read->items)
        return cli_fail(err_no_memory("for the words of the command"), false);
    args_start(&reader, words, count, options);
    while (!(err = args_next(&reader, &item)) && item.kind != ARGS_END) {
        if (item.kind != ARGS_OPTION) {
            read->items[read->count++] = item.text;
        } else if (item.option->id == FAR_OPTION_HELP) {
            far_words_fini(read);
            return cmd_help((char *const[]){(char *)verb}, 1);
        } else {
            read->options |= 1u << item.option->id;
        }
    }
    if (!err && read->count == 0)
        err = err_set(WEFT_INVALID_ARGUMENT, "no file is named\n  try: weft %s -h", verb);
    if (!err)
        return -1;
    far_words_fini(read);
    return cli_fail(err, false);
}

void far_words_fini(struct far_words *words)
{
    free(words->items);
    words->items = NULL;
}

bool far_words_has(const struct far_words *words, int option)
{
    return words->options & 1u << option;
}

// ---- Name nodes -------------------------------------------------------------------------------------------------

// Groups have verbs of the same names, and other tools have them without a group.
static weft_err refuse_name(const char *verb, const char *name)
{
    static const struct {
        const char *verb, *meant;
    } others[] = {{"get", "var get, weft kv get"},
                  {"put", "kv put"},
                  {"ls", "queue ls, weft cluster status"},
                  {"rm", "queue rm, weft kv rm"}};
    const char *meant = NULL;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(others[i].verb, verb) == 0)
            meant = others[i].meant;
    return err_set(WEFT_INVALID_ARGUMENT,
                   "%.300s does not name a file in HDFS\n  try: hdfs://HOST:PORT/path, or "
                   "hdfs:///path with HADOOP_CONF_DIR set%s%s",
                   name, meant ? "\n  did you mean: weft " : "", meant ? meant : "");
}

weft_err far_files_find(struct far_files *files, const char *url)
{
    struct site site;
    if (!hdfs_is_url(url))
        return refuse_name(files->verb, url);
    weft_err code = hdfs_url_read(url, &files->url);
    if (code != WEFT_OK)
        return code;
    if (files->namenode && strcmp(files->authority, files->url.authority) == 0)
        return WEFT_OK;
    code = site_find(files->url.authority, &site);
    namenode_free(files->namenode);
    files->namenode = NULL;
    if (code == WEFT_OK)
        code = namenode_new(&site, NULL, PATIENCE_MS, &files->namenode);
    memcpy(files->authority, files->url.authority, sizeof files->authority);
    return code;
}

int far_files_end(struct far_files *files, weft_err code)
{
    namenode_free(files->namenode);
    files->namenode = NULL;
    if (signals_noted())
        return signal_exit_code(signals_noted());
    return code == WEFT_OK ? 0 : cli_fail(code, false);
}

int far_files_complain(weft_err code)
{
    return signals_noted() ? signal_exit_code(signals_noted()) : cli_fail(code, false);
}

void far_files_append_url(const struct far_files *files, const char *path, struct buf *url)
{
    buf_format(url, "hdfs://%s%s", files->authority, path);
}

weft_err far_files_check_signal(void)
{
    return signals_noted() ? err_set(WEFT_CANCELLED, "interrupted") : WEFT_OK;
}

const char *far_last_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}
