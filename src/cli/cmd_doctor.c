// weft doctor [--on URL]: whether members can be started from here.

#include "crew/doctor.h"

#include "base/args.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/cli.h"

enum { OPTION_ON = 1, OPTION_SSH, OPTION_TIMEOUT, OPTION_JSON, OPTION_QUIET, OPTION_HELP };

static const struct args_option options_table_doctor[] = {
    {OPTION_ON, 0, "on", "URL",
     "where members are to run (default local:), or hdfs:// or yarn://..."},
    {OPTION_SSH, 0, "ssh", "COMMAND", "the command that reaches a host (default WEFT_SSH, or ssh)"},
    {OPTION_TIMEOUT, 0, "timeout", "TIME", "how long each host or step may take (default 30s)"},
    {OPTION_JSON, 0, "json", NULL, "an object for each check"},
    {OPTION_QUIET, 'q', "quiet", NULL, "only checks that fail"},
    {OPTION_HELP, 'h', "help", NULL, "this help"},
    {0},
};

void help_format_doctor(struct buf *buf)
{
    buf_append_text(
        buf,
        "Checks that weft can work here: its directories, its token, and each host of a launcher,\n"
        "on which it starts one member. With hdfs:// it writes and reads a file there instead;\n"
        "with yarn:// it looks at the queue, the nodes and HDFS, too.\n"
        "\n"
        "  weft doctor\n"
        "  weft doctor --on ssh://a,b,c\n"
        "  weft doctor --on hdfs:///tmp\n"
        "  weft doctor --on yarn://rm:8032/analytics\n"
        "  weft doctor -q || echo 'not yet'\n"
        "\n"
        "Usage: weft doctor [options]\n"
        "\n"
        "Options:\n");
    args_format_help(buf, options_table_doctor, NULL);
    buf_append_text(
        buf,
        "\n"
        "A line for each check; below one that failed stands what to do. Directories that are\n"
        "missing are made, no other file stays.\n"
        "Exit: 0 all is well; otherwise that of the first check that failed: 2 wrong usage,\n"
        "3 a host is not reached, 4 a file, a program or a host is not there, 5 refused (permission,\n"
        "no space), 6 no answer in time.\n");
}

struct request {
    struct doctor_options options;
    struct buf text;
    bool is_json, is_quiet, wants_help;
};

static void append_json(struct buf *text, const struct doctor_finding *finding)
{
    json_open(text, NULL, '{');
    json_append_text(text, "check", finding->check);
    json_append_text(text, "result", finding->err ? "failed" : "ok");
    json_append_text(text, "text", finding->text);
    if (finding->err)
        json_append_text(text, "try", finding->advice);
    json_close(text, '}');
    buf_append_text(text, "\n");
}

// Each line goes out at once: a host may take its time.
static void found(void *owner, const struct doctor_finding *finding)
{
    struct request *request = owner;
    struct buf line = {0}, printable = {0};
    if (request->is_quiet && !finding->err)
        return;
    if (request->is_json) {
        append_json(&line, finding);
    } else {
        buf_format(&line, "%-6s  %-8s  %s\n", finding->err ? "failed" : "ok", finding->check,
                   finding->text);
        if (finding->err && *finding->advice)
            buf_format(&line, "                  try: %s\n", finding->advice);
    }
    text_append_printable(&printable, buf_text(&line));
    (void)cli_print(request->is_json ? &line : &printable);
    buf_fini(&line);
    buf_fini(&printable);
}

static weft_err read_words(struct request *request, char *const *words, size_t count)
{
    struct args_reader reader;
    struct args_item item;
    args_start(&reader, words, count, options_table_doctor);
    for (;;) {
        const weft_err err = args_next(&reader, &item);
        if (err || item.kind == ARGS_END)
            return err;
        if (item.kind == ARGS_WORD)
            return err_set(WEFT_INVALID_ARGUMENT, "doctor takes no %s\n  try: weft doctor --on %s",
                           item.text, item.text);
        if (item.option->id == OPTION_ON)
            request->options.on = item.text;
        else if (item.option->id == OPTION_SSH)
            request->options.ssh = item.text;
        else if (item.option->id == OPTION_TIMEOUT &&
                 !text_read_duration(item.text, &request->options.timeout_ms))
            return err_set(WEFT_INVALID_ARGUMENT,
                           "--timeout %s: a time is written 10m, 30s or 500ms", item.text);
        request->is_json |= item.option->id == OPTION_JSON;
        request->is_quiet |= item.option->id == OPTION_QUIET;
        request->wants_help |= item.option->id == OPTION_HELP;
    }
}

int cmd_doctor(char *const *words, size_t count)
{
    struct request request = {.options.found = found, .options.owner = &request};
    weft_err worst = WEFT_OK, err = read_words(&request, words, count);
    if (!err && request.wants_help)
        return cmd_help((char *const[]){"doctor"}, 1);
    if (!err)
        err = doctor_examine(&request.options, &worst);
    return err ? cli_fail(err, request.is_json) : err_exit_code(worst);
}
