// weft queue VERB: queues from the command line. The verbs that only ask or make one call are here.

#include <inttypes.h>

#include "base/json.h"
#include "base/text.h"
#include "cli/cmd_queue.h"
#include "client/remote/ops.h"
#include "sys/time/calendar.h"

enum { OPTION_COUNT = 1, OPTION_ZERO, OPTION_JSON, OPTION_CANCEL };

struct request {
    struct tool_request all;  // first
    uint64_t count;           // 0: not given
    bool json, cancels, ends_with_zero;
};

static weft_err read_option(void *owner, int id, const char *text)
{
    struct request *request = owner;
    switch (id) {
    case OPTION_COUNT:
        return tool_read_count("-n", text, UINT32_MAX, &request->count);
    case OPTION_ZERO:
        request->ends_with_zero = true;
        return WEFT_OK;
    case OPTION_JSON:
        request->json = true;
        return WEFT_OK;
    default:
        request->cancels = true;
        return WEFT_OK;
    }
}

// ---- peek --------------------------------------------------------------------------------------------------------

// Why a dead letter failed, and when, if that is known.
static void append_note_object(const struct ops_queue_note *note, struct buf *out)
{
    char when[CALENDAR_TEXT_BYTES];
    buf_append_text(out, ",\"failed\":{\"reason\":");
    json_append_string(out, note->reason);
    json_append_uint(out, "deliveries", note->deliveries);
    if (note->when_s) {
        calendar_write((int64_t)note->when_s, when);
        json_append_text(out, "at", when);
    }
    buf_append_text(out, "}");
}

static void append_note(const struct ops_queue_note *note, struct buf *out)
{
    char when[CALENDAR_TEXT_BYTES] = "";
    if (note->when_s)
        calendar_write((int64_t)note->when_s, when);
    buf_append_text(out, "\t");
    text_append_escaped(out, note->reason);
    buf_format(out, "; delivery %" PRIu32 "%s%s", note->deliveries, when[0] ? ", " : "", when);
}

static void append_element(const struct request *request, const struct remote_peeked *peeked,
                           struct buf *out)
{
    const weft_bytes item = peeked->stored.element;
    if (request->json) {
        json_open(out, NULL, '{');
        json_append_uint(out, "id", peeked->stored.id);
        json_append_uint(out, "deliveries", peeked->stored.deliveries);
        buf_append_text(out, ",\"item\":");
        json_append_string(out, item);
        if (peeked->has_note)
            append_note_object(&peeked->note, out);
        json_close(out, '}');
        buf_append_text(out, "\n");
    } else {
        buf_append(out, item.data, item.size);
        if (!request->ends_with_zero && peeked->has_note)
            append_note(&peeked->note, out);
        buf_append(out, request->ends_with_zero ? "" : "\n", 1);
    }
}

static weft_err peek(struct tool_request *asked, struct buf *out)
{
    const struct request *request = (const struct request *)asked;
    const struct ops_queue_peek wish = {.count = request->count ? (uint32_t)request->count : 1,
                                        .with_notes = true};
    struct remote_peek peek = {0};
    struct remote_peeked peeked;
    weft_err err = remote_queue_peek(&asked->remote, &wish, &peek);
    while (!err) {
        err = remote_peek_next(&peek, &peeked);
        if (!err)
            append_element(request, &peeked, out);
    }
    remote_peek_fini(&peek);
    return err == WEFT_OUT_OF_RANGE ? WEFT_OK : err;
}

// ---- retry -------------------------------------------------------------------------------------------------------

static weft_err retry(struct tool_request *asked, struct buf *out)
{
    const struct request *request = (const struct request *)asked;
    uint64_t moved;
    const weft_err err = remote_queue_retry(&asked->remote, request->count, &moved);
    if (!err)
        buf_format(out, "%" PRIu64 "\n", moved);
    return err;
}

// ---- size --------------------------------------------------------------------------------------------------------

static void append_state(struct buf *out, const weft_queue_state *state)
{
    json_append_uint(out, "size", state->size);
    json_append_uint(out, "bytes", state->bytes);
    json_append_uint(out, "pushed", state->pushed_count);
    json_append_uint(out, "leased", state->leased_count);
    json_append_uint(out, "pushers_waiting", state->pusher_count);
    json_append_uint(out, "takers_waiting", state->taker_count);
    json_append_bool(out, "closed", state->is_closed);
}

static weft_err size(struct tool_request *asked, struct buf *out)
{
    const struct request *request = (const struct request *)asked;
    weft_queue_state state;
    const weft_err err = remote_queue_state(&asked->remote, &state);
    if (err)
        return err;
    if (!request->json) {
        buf_format(out, "%" PRIu64 "\n", state.size);
        return WEFT_OK;
    }
    json_open(out, NULL, '{');
    append_state(out, &state);
    json_close(out, '}');
    buf_append_text(out, "\n");
    return WEFT_OK;
}

// ---- close and rm ------------------------------------------------------------------------------------------------

static weft_err close_queue(struct tool_request *asked, struct buf *out)
{
    const struct request *request = (const struct request *)asked;
    (void)out;
    const weft_err err = remote_queue_close(&asked->remote, request->cancels);
    if (err != WEFT_CANCELLED)
        return err;
    err_clear();  // it was closed before
    return WEFT_OK;
}

static weft_err rm(struct tool_request *asked, struct buf *out)
{
    (void)out;
    return remote_remove(&asked->remote);
}

// ---- ls ----------------------------------------------------------------------------------------------------------

static weft_err append_resource(void *owner, const struct tool_resource *resource, struct buf *out)
{
    const struct request *request = owner;
    struct remote queue = {0};
    weft_queue_state state = {0};
    const bool is_queue = resource->kind == CALL_KIND_QUEUE;
    const char *kind = tool_kind_name(resource->kind);
    weft_err err = WEFT_OK;
    if (is_queue) {
        err = remote_open(request->all.words.cluster, resource->path, CALL_KIND_QUEUE, weft_none(),
                          &queue);
        if (!err)
            err = remote_queue_state(&queue, &state);
        remote_fini(&queue);
    }
    if (request->json) {
        json_open(out, NULL, '{');
        json_append_text(out, "kind", kind);
        json_append_text(out, "path", resource->path);
        if (is_queue)
            append_state(out, &state);
        json_close(out, '}');
        buf_append_text(out, "\n");
    } else {
        buf_format(out, "%s\t%s", kind, resource->path);
        if (is_queue)
            buf_format(out, "\t%" PRIu64 "%s", state.size, state.is_closed ? "\tclosed" : "");
        buf_append_text(out, "\n");
    }
    return err;
}

static weft_err ls(struct tool_request *asked, struct buf *out)
{
    return tool_words_list(&asked->words, 0, append_resource, out);
}

// ---- The verbs ---------------------------------------------------------------------------------------------------

static const struct args_option peek_options[] = {
    {OPTION_COUNT, 'n', "count", "N", "the number of items (default 1)"},
    {OPTION_ZERO, '0', "null", NULL, "items end with a zero byte, not a newline"},
    {OPTION_JSON, 0, "json", NULL,
     "an object per line: id, deliveries, item, and of dead letters failed"},
    TOOL_OPTIONS,
};
static const struct args_option retry_options[] = {
    {OPTION_COUNT, 'n', "count", "N", "only the first N"},
    TOOL_OPTIONS,
};
static const struct args_option size_options[] = {
    {OPTION_JSON, 0, "json", NULL, "all of its state, as an object"},
    TOOL_OPTIONS,
};
static const struct args_option close_options[] = {
    {OPTION_CANCEL, 0, "cancel", NULL, "waiting pushes fail, instead of being done first"},
    TOOL_OPTIONS,
};
static const struct args_option rm_options[] = {TOOL_OPTIONS};
static const struct args_option ls_options[] = {
    {OPTION_JSON, 0, "json", NULL, "an object per line"},
    TOOL_OPTIONS,
};

#define ONE_QUEUE .arguments = "PATH", .fewest = 1, .most = 1, .must_exist = true

static const struct tool_verb verbs[] = {
    {"push", "put items in: words, or the lines of standard input", .run = cmd_queue_push,
     .format_help = help_format_queue_push},
    {"take", "take items out, or run a command for each", .run = cmd_queue_take,
     .format_help = help_format_queue_take},
    {"peek", "show the first items, which stay", .act = peek, ONE_QUEUE, .options = peek_options,
     .what =
         "Shows the first items of a queue. They stay in the queue. After a dead letter "
         "and a tab\nfollow the reason, the delivery, and the time if its consumer gave it back: for a\n"
         "consumer that was lost, or whose lease ended, there is no time.",
     .examples = "weft queue peek jobs             the next one\n"
                 "  weft queue peek -n 10 jobs.dead  failed items, with the reason",
     .exits = "0 also when it is empty, 3 the host is out of reach, 4 there is no such queue."},
    {"retry", "put dead letters back into their queue", .act = retry, ONE_QUEUE,
     .options = retry_options,
     .what =
         "Puts dead letters back into their old places in their queue, also in a closed one.\n"
         "Deliveries start again from 1; a change that counted once for an item is not repeated.\n"
         "Items that were never in that queue go to its end. Prints the number of items.",
     .examples = "weft queue retry jobs.dead         all of them\n"
                 "  weft queue retry -n 1 jobs.dead    the first"},
    {"size", "how many items it holds", .act = size, ONE_QUEUE, .options = size_options,
     .what = "Prints the number of items in a queue; items that are being worked on do not count.",
     .examples =
         "weft queue size jobs\n"
         "  weft queue size --json jobs    also leased items, waiting calls, if it is closed"},
    {"close", "end of input: takers end when it is empty", .act = close_queue, ONE_QUEUE,
     .options = close_options,
     .what = "Closes a queue: nothing more can be pushed. Its items can still be taken; after the "
             "last one\ntakers end.",
     .examples = "weft queue close jobs",
     .exits = "0 done, also when it was closed before; 3 the host is out of reach, 4 there is "
              "no\nsuch queue."},
    {"rm", "remove it, for everyone", .act = rm, ONE_QUEUE, .options = rm_options,
     .what = "Removes a queue with its items. Calls that wait for it fail.",
     .examples = "weft queue rm jobs.dead"},
    {"ls", "everything the host holds, of all kinds", .act = ls, .arguments = "[MEMBER]", .most = 1,
     .is_list = true, .options = ls_options,
     .what =
         "Lists everything a host holds, not only queues, or the members of the cluster of "
         "TF_CONFIG,\nor the one that MEMBER names, such as /files/0: kind, path, and of queues "
         "how many items.",
     .examples = "weft queue ls", .exits = "0 done, 3 the host is out of reach."},
    {0},
};

const struct tool_group queue_group = {
    .name = "queue",
    .introduction =
        "Queues that programs and scripts share, on a host (weft host) or a member of a cluster.\n"
        "\n"
        "  weft queue push jobs a.txt b.txt    two items\n"
        "  ls *.txt | weft queue push jobs     an item per line\n"
        "  while item=$(weft queue take jobs); do wc \"$item\"; done\n"
        "  weft queue take jobs -P 4 -- wc     four at a time, with retries\n"
        "  weft queue close jobs               both of these end when it is empty\n",
    .end =
        "PATH is the queue's name on the host, or /ROLE/INDEX/NAME in the cluster of TF_CONFIG.\n"
        "The host is that of --at, else of WEFT_AT, else localhost:18125.\n",
    .verbs = verbs,
    .exits = "0 done, 3 the host is out of reach, 4 there is no such queue.",
    .kind = CALL_KIND_QUEUE,
    .request_bytes = sizeof(struct request),
    .read_option = read_option,
};

int cmd_queue(char *const *words, size_t count)
{
    return tool_group_run(&queue_group, words, count);
}
