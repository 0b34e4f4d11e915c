// weft cluster wait [NAME]: the end of a cluster in the background, and the exit code of its run.

#include "cli/cli.h"

#include <unistd.h>

#include "base/args.h"
#include "base/text.h"
#include "crew/cluster_up.h"
#include "crew/cluster_wait.h"
#include "sys/file/file.h"

enum { OPTION_TIMEOUT = 1, OPTION_ON, OPTION_QUIET, OPTION_HELP };

static const struct args_option options_table_wait[] = {
    {OPTION_TIMEOUT, 0, "timeout", "TIME", "how long to wait (default: until the end)"},
    {OPTION_ON, 0, "on", "URL",
     "NAME is the id of a cluster that this launcher keeps: yarn://HOST"},
    {OPTION_QUIET, 'q', "quiet", NULL, "only errors"},
    {OPTION_HELP, 'h', "help", NULL, "this help"},
    {0},
};

void help_format_cluster_wait(struct buf *buf)
{
    buf_append_text(
        buf,
        "Waits until a cluster in the background has ended, and exits as weft cluster run would\n"
        "have. Shows the last lines of members that have failed.\n"
        "\n"
        "  weft cluster wait\n"
        "  weft cluster wait --timeout 10m blue && weft cluster down blue\n"
        "  weft cluster wait --on yarn://rm application_1700000000000_0007\n"
        "\n"
        "Usage: weft cluster wait [options] [NAME]\n"
        "\n"
        "Options:\n");
    args_format_help(buf, options_table_wait, NULL);
    buf_append_text(
        buf,
        "\n"
        "Without NAME it is the cluster called " CLUSTER_NAME_DEFAULT ".\n"
        "Exit: that of the run, which weft cluster run -h explains; 3 the process that supervised\n"
        "the cluster was killed, 4 no such cluster, 6 it has not ended in that time, 130 a person\n"
        "has killed it by other means (yarn application -kill).\n");
}

struct request {
    const char *name, *on;
    uint32_t timeout_ms;
    bool is_quiet, wants_help;
};

static weft_err read_words(struct request *request, char *const *words, size_t count)
{
    struct args_reader reader;
    struct args_item item;
    args_start(&reader, words, count, options_table_wait);
    for (;;) {
        const weft_err err = args_next(&reader, &item);
        if (err || item.kind == ARGS_END)
            return err;
        if (item.kind == ARGS_WORD && request->name)
            return err_set(WEFT_INVALID_ARGUMENT, "one cluster at a time, not both %s and %s",
                           request->name, item.text);
        if (item.kind == ARGS_WORD)
            request->name = item.text;
        else if (item.option->id == OPTION_TIMEOUT &&
                 !text_read_duration(item.text, &request->timeout_ms))
            return err_set(WEFT_INVALID_ARGUMENT,
                           "--timeout %s: a time is written 10m, 30s or 500ms", item.text);
        if (item.kind == ARGS_OPTION && item.option->id == OPTION_ON)
            request->on = item.text;
        request->is_quiet |= item.kind == ARGS_OPTION && item.option->id == OPTION_QUIET;
        request->wants_help |= item.kind == ARGS_OPTION && item.option->id == OPTION_HELP;
    }
}

int cmd_cluster_wait(char *const *words, size_t count)
{
    struct request request = {0};
    struct buf talk = {0};
    int exit_code = 0;
    weft_err err = read_words(&request, words, count);
    if (!err && request.wants_help)
        return cmd_help((char *const[]){"cluster", "wait"}, 2);
    if (!err && request.on && !request.name)
        err = err_set(WEFT_INVALID_ARGUMENT,
                      "--on %s: no cluster is named\n  try: weft cluster wait --on %s ID",
                      request.on, request.on);
    if (!err)
        err = cluster_wait(request.name ? request.name : CLUSTER_NAME_DEFAULT, request.on,
                           request.timeout_ms, &talk, &exit_code);
    if (!err && !request.is_quiet &&
        file_write(STDERR_FILENO, "standard error", talk.data, talk.size))
        err_clear();
    buf_fini(&talk);
    return err ? cli_fail(err, false) : exit_code;
}
