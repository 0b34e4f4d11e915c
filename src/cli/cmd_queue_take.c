// weft queue take PATH [-- CMD]: items to standard output (client/item/print.h), or a command for each
// (client/item/work.h).

#include <inttypes.h>
#include <stdlib.h>

#include "base/text.h"
#include "cli/cmd_queue.h"
#include "client/item/print.h"
#include "client/item/work.h"

enum {
    WORKERS_MAX = 1024,
    OPTION_COUNT = 1,
    OPTION_ALL,
    OPTION_UNTIL_EMPTY,
    OPTION_PARALLEL,
    OPTION_ZERO,
    OPTION_TIMEOUT,
    OPTION_STDIN,
    OPTION_RESULTS,
    OPTION_BACKOFF,
    OPTION_DELIVERIES,
    OPTION_ITEM_TIMEOUT,
    OPTION_QUIET,
};

static const struct args_option take_options[] = {
    {OPTION_COUNT, 'n', "count", "N", "N items, one per line"},
    {OPTION_ALL, 0, "all", NULL, "all items, until the queue is closed and drained"},
    {OPTION_UNTIL_EMPTY, 0, "until-empty", NULL,
     "end when no item is left, even if the queue is open; exit 0"},
    {OPTION_QUIET, 'q', "quiet", NULL,
     "no messages about waiting, nor about items that will be tried again"},
    {OPTION_ZERO, '0', "null", NULL, "items end with a zero byte, not a newline"},
    {OPTION_TIMEOUT, 0, "timeout", "TIME", "how long to wait for an item, 0: not at all; exit 6"},
    {ARGS_HEADING, 0, NULL, NULL, "With a command:"},
    {OPTION_PARALLEL, 'P', "parallel", "N", "N commands at a time (default 1)"},
    {OPTION_STDIN, 0, "stdin", NULL, "CMD reads the item from its standard input"},
    {OPTION_RESULTS, 0, "results", "PATH",
     "the output of CMD becomes one item of this queue, also if it is empty"},
    {OPTION_BACKOFF, 0, "backoff", "TIME",
     "the time before an item is tried again; it doubles each time, up to 1m (default 1s)"},
    {OPTION_DELIVERIES, 0, "deliveries", "N",
     "try an item N times, then move it to PATH.dead (default 5; 0: no limit)"},
    {OPTION_ITEM_TIMEOUT, 0, "item-timeout", "TIME",
     "kill CMD, and all it started, after this time"},
    {ARGS_HEADING, 0, NULL, NULL, "The host:"},
    TOOL_OPTIONS,
};

void help_format_queue_take(struct buf *buf)
{
    buf_append_text(
        buf,
        "Takes items out of a queue and prints them, or runs a command for each.\n"
        "\n"
        "  item=$(weft queue take jobs)                     one, waiting until there is one\n"
        "  while item=$(weft queue take jobs); do wc \"$item\"; done  until it is closed and empty\n"
        "  weft queue take --all jobs | sort                all of them\n"
        "  weft queue take -P 4 jobs -- gzip -k             gzip -k ITEM, four at a time\n"
        "  weft queue take --until-empty jobs -- wc         only the present items\n"
        "  weft queue take jobs --results sums -- sh -c 'md5sum < \"$WEFT_ITEM\"'\n"
        "  weft queue take jobs --stdin --item-timeout 1m -- ./resize.py\n"
        "\n"
        "Usage: weft queue take [options] PATH\n"
        "       weft queue take [options] PATH -- CMD [ARG...]\n"
        "\n"
        "CMD gets the item as its last argument, or wherever {} stands, and as WEFT_ITEM.\n"
        "WEFT_DELIVERY is the number of the delivery. WEFT_ITEM_KEY is a key of the item, the\n"
        "same in all its deliveries, for weft var add --key. When CMD exits with 0, the item is\n"
        "done. After another exit code, a signal, or the end of weft itself, the item goes back\n"
        "and is tried again. Items are taken until the queue is closed and drained; with\n"
        "--until-empty until no item is left in the queue or in work here. Then weft waits for\n"
        "items that failed here and tries them again, but not for items of other workers.\n"
        "\n"
        "Options:\n");
    args_format_help(buf, take_options, NULL);
    buf_append_text(
        buf, "\n"
             "Exit: 0 done; with CMD, --all or --until-empty also when there was no item to begin\n"
             "with; 1 items went to PATH.dead, or the host came back without its journal, 2 wrong\n"
             "usage, 3 the host is out of reach, 4 no such command; with --until-empty no such\n"
             "queue, 5 refused (token), 6 no item came in time, 7 without CMD, --all and\n"
             "--until-empty: the queue is closed and drained, and there was no item; 130\n"
             "interrupted, 141 the reader of the output has gone.\n");
}

struct taker {
    struct tool_words words;
    struct remote queue;
    uint64_t count, parallel;  // 0: not given
    bool takes_all, has_timeout;
    char separator;
    uint32_t timeout_ms;
    const char *results;
    struct item_work_options work;
};

static weft_err read_number(struct taker *taker, int id, const char *text)
{
    uint64_t number = 0;
    if (id == OPTION_COUNT)
        return tool_read_count("-n", text, UINT32_MAX, &taker->count);
    if (id == OPTION_PARALLEL)
        return tool_read_count("-P", text, WORKERS_MAX, &taker->parallel);
    const weft_err err = strcmp(text, "0") == 0
                             ? WEFT_OK
                             : tool_read_count("--deliveries", text, UINT32_MAX, &number);
    taker->work.deliveries_max = (uint32_t)number;
    return err;
}

static weft_err read_option(void *owner, int id, const char *text)
{
    struct taker *taker = owner;
    switch (id) {
    case OPTION_ALL:
        taker->takes_all = true;
        return WEFT_OK;
    case OPTION_UNTIL_EMPTY:
        taker->work.until_empty = true;
        return WEFT_OK;
    case OPTION_ZERO:
        taker->separator = 0;
        return WEFT_OK;
    case OPTION_TIMEOUT:
        taker->has_timeout = true;
        taker->timeout_ms = 1;
        return strcmp(text, "0") == 0 ? WEFT_OK
                                      : tool_read_time("--timeout", text, &taker->timeout_ms);
    case OPTION_STDIN:
        taker->work.by_stdin = true;
        return WEFT_OK;
    case OPTION_RESULTS:
        taker->results = text;
        return WEFT_OK;
    case OPTION_BACKOFF:
        return tool_read_time("--backoff", text, &taker->work.backoff_ms);
    case OPTION_ITEM_TIMEOUT:
        return tool_read_time("--item-timeout", text, &taker->work.item_timeout_ms);
    case OPTION_QUIET:
        taker->work.is_quiet = true;
        return WEFT_OK;
    default:
        return read_number(taker, id, text);
    }
}

// ---- Printing --------------------------------------------------------------------------------------------------

static weft_err print_items(struct taker *taker)
{
    const bool until_empty = taker->work.until_empty;
    const struct item_print_options options = {
        .wanted = taker->takes_all ? UINT64_MAX
                  : taker->count   ? taker->count
                  : until_empty    ? UINT64_MAX
                                   : 1,
        .separator = taker->separator,
        .has_timeout = taker->has_timeout,
        .timeout_ms = taker->timeout_ms,
        .until_empty = until_empty,
        .is_quiet = taker->work.is_quiet,
    };
    uint64_t printed;
    const weft_err end = item_print_run(&options, &taker->queue, &printed);
    if (end != WEFT_OUT_OF_RANGE && end != WEFT_DEADLINE_EXCEEDED)
        return end;
    // If nothing was taken at all, the exit code shows why.
    if (taker->takes_all || until_empty ? end == WEFT_OUT_OF_RANGE : printed > 0)
        return WEFT_OK;
    return end == WEFT_DEADLINE_EXCEEDED
               ? err_set(end, "%s: no item came in time", taker->queue.path)
               : end;
}

// ---- A command for each -----------------------------------------------------------------------------------------

static weft_err run_commands(struct taker *taker, int *exit_code)
{
    struct remote results = {0};
    taker->work.worker_count = taker->parallel ? (uint32_t)taker->parallel : 1;
    if (taker->count)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "-n is for items that are printed, not for items of a command\n"
                       "  try: -P %" PRIu64 ", for as many commands at a time",
                       taker->count);
    if (taker->takes_all || taker->has_timeout || !taker->separator)
        return err_set(
            WEFT_INVALID_ARGUMENT,
            "--all, --timeout and -0 are for items that are printed, not for items of a command");
    weft_err err = taker->results ? remote_open(taker->words.cluster, taker->results,
                                                CALL_KIND_QUEUE, weft_none(), &results)
                                  : WEFT_OK;
    if (!err)
        *exit_code = item_work_run(&taker->work, &taker->queue, taker->results ? &results : NULL);
    remote_fini(&results);
    return err;
}

// The words before "--" are ours, those after it are the command's.
static size_t split_words(char *const *words, size_t count, struct taker *taker)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(words[i], "--") != 0)
            continue;
        taker->work.command = (const char *const *)words + i + 1;
        return i;
    }
    return count;
}

static weft_err check(const struct taker *taker)
{
    if (taker->work.command && !taker->work.command[0])
        return err_set(WEFT_INVALID_ARGUMENT, "no command follows --\n"
                                              "  try: weft queue take PATH -- CMD");
    if (!taker->work.command && (taker->results || taker->work.by_stdin))
        return err_set(WEFT_INVALID_ARGUMENT, "--results and --stdin are for a command\n"
                                              "  try: weft queue take PATH -- CMD");
    if (!taker->work.command && taker->parallel)
        return err_set(WEFT_INVALID_ARGUMENT, "-P is for a command\n"
                                              "  try: weft queue take -P 4 PATH -- CMD");
    if (taker->work.until_empty && (taker->takes_all || taker->has_timeout))
        return err_set(WEFT_INVALID_ARGUMENT,
                       "--until-empty does not wait for items, and %s does\n  try: one of the two",
                       taker->takes_all ? "--all" : "--timeout");
    return WEFT_OK;
}

static int take(struct taker *taker, char *const *words, size_t count)
{
    int exit_code = 0;
    weft_err err = tool_words_read(&taker->words, words, split_words(words, count, taker), 1, 1,
                                   "weft queue take PATH [-- CMD]");
    if (!err && taker->words.wants_help) {
        exit_code = cmd_help((char *const[]){"queue", "take"}, 2);
    } else {
        if (!err)
            err = check(taker);
        if (!err)
            err = tool_words_open(&taker->words, CALL_KIND_QUEUE, weft_none(),
                                  taker->work.until_empty, &taker->queue);
        if (!err && taker->work.command)
            err = run_commands(taker, &exit_code);
        else if (!err)
            err = print_items(taker);
    }
    const int end_code = tool_words_end(&taker->words, &taker->queue, err);
    return end_code ? end_code : exit_code;
}

int cmd_queue_take(char *const *words, size_t count)
{
    struct taker *taker = calloc(1, sizeof *taker);
    // The command's words end with NULL; ours need not.
    char **copy = calloc(count + 1, sizeof *copy);
    if (!taker || !copy) {
        free(taker);
        free(copy);
        return cli_fail(err_no_memory("for the options"), false);
    }
    if (count)
        memcpy(copy, words, count * sizeof *copy);
    taker->separator = '\n';
    taker->work.backoff_ms = ITEM_BACKOFF_MS;
    taker->work.deliveries_max = ITEM_DELIVERIES_MAX;
    taker->words =
        (struct tool_words){.options = take_options, .read_option = read_option, .owner = taker};
    const int exit_code = take(taker, copy, count);
    free(copy);
    free(taker);
    return exit_code;
}
