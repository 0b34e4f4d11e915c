// weft queue push PATH [ITEM...]: items go in batches, many in flight, so that a million lines take
// a second. The end waits until the host has all of them.

#include <stdlib.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/cmd_queue.h"
#include "client/remote/ops.h"
#include "sys/file/file.h"

enum {
    CALLS_MAX = 4096,  // in flight: a host with a journal brings them to its disk together,
    CALLS_BYTES_MAX = 4 << 20,  // if they are not more than that
    BATCH_BYTES = 64 << 10,
    READ_BYTES = 256 << 10,
    OPTION_ZERO = 1,
    OPTION_KEY,
    OPTION_KEY_LINES,
    OPTION_CAPACITY,
    OPTION_DELIVERIES,
    OPTION_TIMEOUT,
};

static const struct args_option push_options[] = {
    {OPTION_ZERO, '0', "null", NULL, "items of standard input end with a zero byte, not a newline"},
    {OPTION_KEY, 0, "key", "KEY",
     "the key of the one ITEM: a key that is pushed again counts once"},
    {OPTION_KEY_LINES, 0, "key-lines", NULL, "each item is its own key: the same item counts once"},
    {OPTION_CAPACITY, 0, "capacity", "N",
     "create a queue of at most N items; push waits while it is full"},
    {OPTION_DELIVERIES, 0, "deliveries", "N",
     "create a queue that hands an item out at most N times, then moves it to PATH.dead"},
    {OPTION_TIMEOUT, 0, "timeout", "TIME",
     "how long to wait for room in a full queue, 0: not at all; exit 6"},
    TOOL_OPTIONS,
};

void help_format_queue_push(struct buf *buf)
{
    buf_append_text(
        buf,
        "Puts items into a queue. The first command that names a queue creates it.\n"
        "\n"
        "  weft queue push jobs a.txt b.txt             two items\n"
        "  find . -name '*.log' | weft queue push jobs  a line each\n"
        "  find . -print0 | weft queue push -0 jobs     names with newlines in them\n"
        "  weft queue push --key 2024-06-01 days 'sunny'    once, however often it is run\n"
        "\n"
        "Usage: weft queue push [options] PATH [ITEM...]\n"
        "\n"
        "Without ITEM it pushes the lines of standard input. When it returns, the host has all\n"
        "items. An item has up to 62,913,536 bytes. A queue remembers its last 1,000,000 keys,\n"
        "or the last 64 MiB of them.\n"
        "\n"
        "Options:\n");
    args_format_help(buf, push_options, NULL);
    buf_append_text(
        buf,
        "\n"
        "Exit: 0 done, 1 the queue is closed, 2 wrong usage or other limits than the queue\n"
        "has, 3 the host is out of reach, 5 refused (token), 6 no room came in time: the items\n"
        "that are in the queue by then stay there.\n");
}

struct pusher {
    struct tool_words words;
    struct remote queue;
    const char *key;
    bool keys_lines;
    char separator;
    uint64_t capacity, deliveries;
    uint32_t timeout_ms;  // 0: none

    struct peer_call calls[CALLS_MAX];
    size_t sizes[CALLS_MAX], bytes;  // of each, and of those in flight
    uint64_t started, finished;
    struct remote_batch batch;
};

static weft_err read_option(void *owner, int id, const char *text)
{
    struct pusher *pusher = owner;
    switch (id) {
    case OPTION_ZERO:
        pusher->separator = 0;
        return WEFT_OK;
    case OPTION_KEY:
        pusher->key = text;
        return tool_check_key(text);
    case OPTION_KEY_LINES:
        pusher->keys_lines = true;
        return WEFT_OK;
    case OPTION_CAPACITY:
        return tool_read_count("--capacity", text, INT64_MAX, &pusher->capacity);
    case OPTION_TIMEOUT:
        pusher->timeout_ms = 1;
        return strcmp(text, "0") == 0 ? WEFT_OK
                                      : tool_read_time("--timeout", text, &pusher->timeout_ms);
    default:
        return tool_read_count("--deliveries", text, UINT32_MAX, &pusher->deliveries);
    }
}

// ---- Calls in flight ----------------------------------------------------------------------------

// The items of a batch go in one after the other, and the answer does not say how far it came.
static weft_err refuse_late(const struct pusher *pusher)
{
    const bool has_many = pusher->words.words.count != 2 && !pusher->keys_lines;
    return err_set(WEFT_DEADLINE_EXCEEDED, "%s: no room came in time%s", pusher->queue.path,
                   has_many ? "; some of the items may be in it"
                              "\n  try: --key-lines, so that the same items can be pushed again"
                            : "");
}

static weft_err finish_oldest(struct pusher *pusher)
{
    const size_t i = pusher->finished++ % CALLS_MAX;
    pusher->bytes -= pusher->sizes[i];
    const weft_err err = remote_finish(&pusher->queue, &pusher->calls[i], pusher->timeout_ms);
    return err == WEFT_DEADLINE_EXCEEDED ? refuse_late(pusher) : err;
}

static bool is_too_much(const struct pusher *pusher, size_t size)
{
    const uint64_t count = pusher->started - pusher->finished;
    return count == CALLS_MAX || (count > 0 && pusher->bytes + size > CALLS_BYTES_MAX);
}

// Makes room for another call of that size.
static weft_err begin_call(struct pusher *pusher, size_t size, struct peer_call **call)
{
    weft_err err = WEFT_OK;
    while (!err && is_too_much(pusher, size))
        err = finish_oldest(pusher);
    *call = &pusher->calls[pusher->started % CALLS_MAX];
    return err;
}

static weft_err end_call(struct pusher *pusher, size_t size, weft_err err)
{
    if (err)
        return err;
    pusher->sizes[pusher->started % CALLS_MAX] = size;
    pusher->bytes += size;
    pusher->started++;
    return WEFT_OK;
}

static weft_err send_batch(struct pusher *pusher)
{
    struct peer_call *call;
    const size_t size = pusher->batch.entries.size;
    if (pusher->batch.count == 0)
        return WEFT_OK;
    weft_err err = begin_call(pusher, size, &call);
    if (!err)
        err =
            end_call(pusher, size, remote_queue_start_batch(&pusher->queue, &pusher->batch, call));
    pusher->batch.entries.size = pusher->batch.count = 0;
    return err;
}

static weft_err push_keyed(struct pusher *pusher, weft_bytes item, weft_bytes key)
{
    struct peer_call *call;
    const struct ops_queue_push push = {.key = key, .element = item};
    const size_t size = key.size + item.size;
    const weft_err err = begin_call(pusher, size, &call);
    return err ? err : end_call(pusher, size, remote_queue_start_push(&pusher->queue, &push, call));
}

static weft_err push_item(struct pusher *pusher, weft_bytes item)
{
    _Static_assert(CALL_BYTES_MAX - CALL_NAME_BYTES_MAX == 62913536, "as the help and docs say");
    if (item.size > CALL_BYTES_MAX - CALL_NAME_BYTES_MAX)
        return err_set(WEFT_INVALID_ARGUMENT, "an item of %zu bytes is too long: at most %u",
                       item.size, CALL_BYTES_MAX - CALL_NAME_BYTES_MAX);
    if (pusher->key)
        return push_keyed(pusher, item, weft_text(pusher->key));
    if (pusher->keys_lines && item.size)
        return push_keyed(pusher, item, item);
    weft_err err =
        pusher->batch.entries.size + item.size > BATCH_BYTES ? send_batch(pusher) : WEFT_OK;
    remote_batch_add(&pusher->batch, item);
    return err;
}

// ---- Standard input --------------------------------------------------------------------------------------------

// Pushes the complete items of the bytes that were read and keeps the rest.
static weft_err push_whole(struct pusher *pusher, struct buf *in, size_t seen)
{
    size_t from = 0;
    weft_err err = WEFT_OK;
    while (!err) {
        const char *at = in->data + (from > seen ? from : seen);
        const char *end = memchr(at, pusher->separator, (size_t)(in->data + in->size - at));
        if (!end)
            break;
        err = push_item(pusher, (weft_bytes){in->data + from, (size_t)(end - in->data) - from});
        from = (size_t)(end - in->data) + 1;
    }
    if (from)
        memmove(in->data, in->data + from, in->size - from);
    in->size -= from;
    return err;
}

static weft_err push_input(struct pusher *pusher)
{
    struct buf in = {0};
    size_t got = 1;
    weft_err err = WEFT_OK;
    while (!err && got > 0) {
        char *to = buf_reserve(&in, READ_BYTES);
        const size_t seen = in.size;
        err = to ? file_read_some(STDIN_FILENO, "standard input", to, READ_BYTES, &got)
                 : err_no_memory("for an item");
        if (err)
            break;
        in.size += got;
        if (got)
            err = push_whole(pusher, &in, seen);
        // The items so far go now: more may come much later.
        if (!err)
            err = send_batch(pusher);
    }
    if (!err && in.size)
        err = push_item(pusher, buf_bytes(&in));
    buf_fini(&in);
    return err;
}

// ---- All of it ---------------------------------------------------------------------------------------------------

static weft_err push_all(struct pusher *pusher)
{
    weft_queue_state state;
    weft_err err = WEFT_OK;
    for (size_t i = 1; i < pusher->words.words.count && !err; i++)
        err = push_item(pusher, weft_text(pusher->words.words.items[i]));
    if (pusher->words.words.count == 1)
        err = push_input(pusher);
    if (!err)
        err = send_batch(pusher);
    while (!err && pusher->finished < pusher->started)
        err = finish_oldest(pusher);
    // So a queue exists from now on, even if nothing was pushed.
    return err || pusher->started ? err : remote_queue_state(&pusher->queue, &state);
}

static weft_err check(const struct pusher *pusher)
{
    if (!pusher->key || pusher->words.words.count == 2)
        return WEFT_OK;
    return err_set(WEFT_INVALID_ARGUMENT, "--key KEY is for one ITEM\n"
                                          "  try: --key-lines, where each item is its own key");
}

static weft_err write_attributes(const struct pusher *pusher, struct buf *out)
{
    return remote_queue_describe(
        out, &(weft_queue_options){.capacity = (int64_t)pusher->capacity,
                                   .deliveries_max = (uint32_t)pusher->deliveries});
}

int cmd_queue_push(char *const *words, size_t count)
{
    struct buf attributes = {0};
    struct pusher *pusher = calloc(1, sizeof *pusher);
    if (!pusher)
        return cli_fail(err_no_memory("for the options"), false);
    pusher->separator = '\n';
    pusher->words =
        (struct tool_words){.options = push_options, .read_option = read_option, .owner = pusher};
    weft_err err = tool_words_read(&pusher->words, words, count, 1, SIZE_MAX,
                                   "weft queue push PATH [ITEM...]");
    int exit_code = 0;
    if (!err && pusher->words.wants_help) {
        exit_code = cmd_help((char *const[]){"queue", "push"}, 2);
    } else {
        if (!err)
            err = check(pusher);
        if (!err)
            err = write_attributes(pusher, &attributes);
        if (!err)
            err = tool_words_open(&pusher->words, CALL_KIND_QUEUE, buf_bytes(&attributes), false,
                                  &pusher->queue);
        if (!err)
            err = push_all(pusher);
    }
    const int end_code = tool_words_end(&pusher->words, &pusher->queue, err);
    for (size_t i = 0; i < CALLS_MAX; i++)
        peer_call_fini(&pusher->calls[i]);
    remote_batch_fini(&pusher->batch);
    buf_fini(&attributes);
    free(pusher);
    return end_code ? end_code : exit_code;
}
