// weft queue take PATH [-- CMD]: items to standard output, or a command for each.
//
// An item that is printed was leased before and is done once it is written: who ends in between, or
// whose reader has gone, loses it to another instead of for ever. Many are under way at a time.

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "app/item_work.h"
#include "base/text.h"
#include "cli/cmd_queue.h"
#include "sys/file.h"

enum {
    TAKES_MAX = 256,  // under way
    OUT_BYTES = 64 << 10,
    WORKERS_MAX = 1024,
    OPTION_COUNT = 1,
    OPTION_ALL,
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
    {OPTION_COUNT, 'n', "count", "N", "N items, one per line; with CMD: N of them at a time"},
    {OPTION_ALL, 0, "all", NULL, "all items, until the queue is closed and drained"},
    {OPTION_ZERO, '0', "null", NULL, "items end with a zero byte, not a newline"},
    {OPTION_TIMEOUT, 0, "timeout", "TIME", "how long to wait for an item, 0: not at all; exit 6"},
    {ARGS_HEADING, 0, NULL, NULL, "With a command:"},
    {OPTION_STDIN, 0, "stdin", NULL, "CMD reads the item from its standard input"},
    {OPTION_RESULTS, 0, "results", "PATH", "what CMD prints goes into this queue, an item each"},
    {OPTION_BACKOFF, 0, "backoff", "TIME",
     "before an item is tried again: this, then twice as long, up to 1m (default 1s)"},
    {OPTION_DELIVERIES, 0, "deliveries", "N",
     "so often an item is tried, then it goes to PATH.dead (default 5; 0: no limit)"},
    {OPTION_ITEM_TIMEOUT, 0, "item-timeout", "TIME", "kill CMD, and all it started, after that"},
    {OPTION_QUIET, 'q', "quiet", NULL, "say nothing of items that will be tried again"},
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
        "  weft queue take -n 4 jobs -- gzip -k             gzip -k ITEM, four at a time\n"
        "  weft queue take jobs --results sums -- sh -c 'md5sum < \"$WEFT_ITEM\"'\n"
        "  weft queue take jobs --stdin --item-timeout 1m -- ./resize.py\n"
        "\n"
        "Usage: weft queue take [options] PATH\n"
        "       weft queue take [options] PATH -- CMD [ARG...]\n"
        "\n"
        "CMD gets the item as its last argument, or wherever {} stands, and as WEFT_ITEM; which\n"
        "delivery it is as WEFT_DELIVERY. Exit code 0: the item is done. Any other, a signal, or\n"
        "our own end: it goes back, and is tried again. CMD works until the queue is closed and\n"
        "drained.\n"
        "\n"
        "Options:\n");
    args_format_help(buf, take_options, NULL);
    buf_append_text(buf,
                    "\n"
                    "Exit: 0 done, 1 items went to PATH.dead, 2 wrong usage, 3 the host is out of\n"
                    "reach, 5 refused (token), 6 no item came in time, 7 the queue is closed and\n"
                    "drained, and no item was there; 130 interrupted.\n");
}

struct slot {
    struct peer_call take, done;
    struct call_item name;
    bool is_settling;
};

struct taker {
    struct tool_words words;
    struct remote queue;
    uint64_t count;  // 0: not said
    bool takes_all, has_timeout;
    char separator;
    uint32_t timeout_ms;
    const char *results;
    struct item_work_options work;

    struct slot slots[TAKES_MAX];
    uint64_t started, printed, settled;  // items, in their order
    struct buf out;
};

static weft_err take_number(struct taker *taker, int id, const char *text)
{
    uint64_t number = 0;
    if (id == OPTION_COUNT)
        return tool_read_count("-n", text, UINT32_MAX, &taker->count);
    const weft_err err = strcmp(text, "0") == 0
                             ? WEFT_OK
                             : tool_read_count("--deliveries", text, UINT32_MAX, &number);
    taker->work.deliveries_max = (uint32_t)number;
    return err;
}

static weft_err take_option(void *owner, int id, const char *text)
{
    struct taker *taker = owner;
    switch (id) {
    case OPTION_ALL:
        taker->takes_all = true;
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
        return take_number(taker, id, text);
    }
}

// ---- Printing --------------------------------------------------------------------------------------------------

static struct slot *slot_of(struct taker *taker, uint64_t number)
{
    return &taker->slots[number % TAKES_MAX];
}

static weft_err finish_settling(struct taker *taker, struct slot *slot)
{
    if (!slot->is_settling)
        return WEFT_OK;
    slot->is_settling = false;
    return remote_finish(&taker->queue, &slot->done, 0);
}

static weft_err start_take(struct taker *taker)
{
    const uint32_t no_end = 0;
    const weft_bytes part = {(const char *)&no_end, sizeof no_end};
    struct slot *slot = slot_of(taker, taker->started);
    weft_err err = finish_settling(taker, slot);
    if (!err)
        err = remote_start(&taker->queue, CALL_QUEUE_TAKE, 0, &part, 1, &slot->take);
    if (!err)
        taker->started++;
    return err;
}

// Writes what was taken; only then it is done.
static weft_err flush(struct taker *taker)
{
    weft_err err = file_write(STDOUT_FILENO, "standard output", taker->out.data, taker->out.size);
    taker->out.size = 0;
    for (; taker->settled < taker->printed && !err; taker->settled++) {
        struct slot *slot = slot_of(taker, taker->settled);
        struct buf payload = {0};
        call_write_item(&payload, &slot->name);
        const weft_bytes part = buf_bytes(&payload);
        err = remote_start(&taker->queue, CALL_QUEUE_DONE, 0, &part, 1, &slot->done);
        slot->is_settling = !err;
        buf_fini(&payload);
    }
    return err;
}

static weft_err print_next(struct taker *taker)
{
    struct slot *slot = slot_of(taker, taker->printed);
    weft_err err = WEFT_OK;
    if (taker->out.size &&
        (taker->out.size >= OUT_BYTES || !peer_is_done(taker->queue.peer, &slot->take)))
        err = flush(taker);
    if (!err)
        err = remote_finish(&taker->queue, &slot->take, taker->has_timeout ? taker->timeout_ms : 0);
    if (err)
        return err;
    struct call_reader reader = {buf_bytes(&slot->take.answer), false};
    call_read_item(&reader, &slot->name);
    if (reader.has_failed)
        return err_set(WEFT_DATA_LOSS, "the answer is cut");
    buf_append(&taker->out, reader.rest.data, reader.rest.size);
    buf_append(&taker->out, &taker->separator, 1);
    taker->printed++;
    return taker->out.has_failed ? err_set(WEFT_RESOURCE_EXHAUSTED, "no memory for items")
                                 : WEFT_OK;
}

static weft_err print_items(struct taker *taker)
{
    const uint64_t wanted = taker->takes_all ? UINT64_MAX : taker->count ? taker->count : 1;
    weft_err err = WEFT_OK;
    while (!err && taker->printed < wanted) {
        while (!err && taker->started < wanted && taker->started - taker->settled < TAKES_MAX)
            err = start_take(taker);
        if (!err)
            err = print_next(taker);
        if (!err && taker->printed - taker->settled >= TAKES_MAX / 2)
            err = flush(taker);
    }
    if (err != WEFT_OUT_OF_RANGE && err != WEFT_DEADLINE_EXCEEDED && err)
        return err;
    // What could not be taken shows in the exit code, if nothing was taken at all.
    const weft_err end = err;
    const bool is_fine = taker->takes_all ? end == WEFT_OUT_OF_RANGE : taker->printed > 0;
    err = flush(taker);
    for (size_t i = 0; i < TAKES_MAX && !err; i++)
        err = finish_settling(taker, &taker->slots[i]);
    if (!err && !is_fine && end == WEFT_DEADLINE_EXCEEDED)
        return err_set(end, "%s: no item came in time", taker->queue.path);
    return err || is_fine ? err : end;
}

// ---- A command for each -----------------------------------------------------------------------------------------

static weft_err run_commands(struct taker *taker, int *exit_code)
{
    struct remote results = {0};
    taker->work.worker_count = taker->count ? (uint32_t)taker->count : 1;
    if (taker->work.worker_count > WORKERS_MAX)
        return err_set(WEFT_INVALID_ARGUMENT, "-n %" PRIu64 ": at most %d run at a time",
                       taker->count, WORKERS_MAX);
    if (taker->takes_all || taker->has_timeout || !taker->separator)
        return err_set(WEFT_INVALID_ARGUMENT, "--all, --timeout and -0 are of items that are "
                                              "printed, not of those for a command");
    weft_err err = taker->results ? remote_open(taker->words.cluster, taker->results,
                                                CALL_KIND_QUEUE, weft_none(), &results)
                                  : WEFT_OK;
    if (!err)
        *exit_code = item_work_run(&taker->work, &taker->queue, taker->results ? &results : NULL);
    remote_fini(&results);
    return err;
}

// The words before "--" are ours, those behind it the command's.
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
        return err_set(WEFT_INVALID_ARGUMENT, "--results and --stdin are of a command\n"
                                              "  try: weft queue take PATH -- CMD");
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
            err =
                tool_words_open(&taker->words, CALL_KIND_QUEUE, weft_none(), false, &taker->queue);
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
    // The command's words end with NULL, which ours need not.
    char **copy = calloc(count + 1, sizeof *copy);
    if (!taker || !copy) {
        free(taker);
        free(copy);
        return cli_fail(err_set(WEFT_RESOURCE_EXHAUSTED, "no memory"), false);
    }
    if (count)
        memcpy(copy, words, count * sizeof *copy);
    taker->separator = '\n';
    taker->work.backoff_ms = ITEM_BACKOFF_MS;
    taker->work.deliveries_max = ITEM_DELIVERIES_MAX;
    taker->words =
        (struct tool_words){.options = take_options, .take = take_option, .owner = taker};
    const int exit_code = take(taker, copy, count);
    for (size_t i = 0; i < TAKES_MAX; i++) {
        peer_call_fini(&taker->slots[i].take);
        peer_call_fini(&taker->slots[i].done);
    }
    buf_fini(&taker->out);
    free(copy);
    free(taker);
    return exit_code;
}
