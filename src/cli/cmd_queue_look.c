// weft queue peek, size, close, rm, ls: what asks a question or does one thing.

#include <inttypes.h>

#include "base/json.h"
#include "cli/cmd_queue.h"

enum { OPTION_COUNT = 1, OPTION_ZERO, OPTION_JSON, OPTION_CANCEL };

struct request {
    struct tool_words words;
    struct remote queue;
    uint64_t count;
    bool json, cancels;
    char separator;
};

static weft_err take_option(void *owner, int id, const char *text)
{
    struct request *request = owner;
    switch (id) {
    case OPTION_COUNT:
        return tool_read_count("-n", text, UINT32_MAX, &request->count);
    case OPTION_ZERO:
        request->separator = 0;
        return WEFT_OK;
    case OPTION_JSON:
        request->json = true;
        return WEFT_OK;
    default:
        request->cancels = true;
        return WEFT_OK;
    }
}

// What a verb does with the queue, once it is open; what it prints goes into `out`.
typedef weft_err act_fn(struct request *request, struct buf *out);

static int run(char *const *words, size_t count, const struct args_option *options,
               const char *verb, act_fn *act)
{
    struct request request = {.count = 1, .separator = '\n'};
    struct buf usage = {0}, out = {0};
    request.words = (struct tool_words){.options = options, .take = take_option, .owner = &request};
    buf_format(&usage, "weft queue %s PATH", verb);
    weft_err err = tool_words_read(&request.words, words, count, 1, 1, buf_text(&usage));
    buf_fini(&usage);
    if (!err && request.words.wants_help) {
        VEC_FINI(&request.words.words);
        return cmd_help((char *const[]){"queue", (char *)verb}, 2);
    }
    if (!err)
        err = tool_words_open(&request.words, CALL_KIND_QUEUE, weft_none(), true, &request.queue);
    if (!err)
        err = act(&request, &out);
    return tool_words_print(&request.words, &request.queue, err, &out);
}

// ---- peek --------------------------------------------------------------------------------------------------------

static const struct args_option peek_options[] = {
    {OPTION_COUNT, 'n', "count", "N", "so many (default 1)"},
    {OPTION_ZERO, '0', "null", NULL, "items end with a zero byte, not a newline"},
    {OPTION_JSON, 0, "json", NULL, "an object per line: id, deliveries, item"},
    TOOL_OPTIONS,
};

void help_format_queue_peek(struct buf *buf)
{
    buf_append_text(buf, "Shows the first items of a queue. They stay where they are.\n"
                         "\n"
                         "  weft queue peek jobs             the next one\n"
                         "  weft queue peek -n 10 jobs.dead  what failed\n"
                         "\n"
                         "Usage: weft queue peek [options] PATH\n"
                         "\n"
                         "Options:\n");
    args_format_help(buf, peek_options, NULL);
    buf_append_text(buf,
                    "\nExit: 0 also when it is empty, 3 the host is out of reach, 4 there is no "
                    "such queue.\n");
}

static void append_element(const struct request *request, struct call_reader *reader,
                           struct buf *out)
{
    const uint64_t id = call_read_u64(reader);
    const uint32_t deliveries = call_read_u32(reader);
    call_read_u8(reader);
    const weft_bytes item = call_read_blob(reader);
    if (request->json) {
        json_open(out, NULL, '{');
        json_append_uint(out, "id", id);
        json_append_uint(out, "deliveries", deliveries);
        buf_append_text(out, ",\"item\":");
        json_append_string(out, item);
        json_close(out, '}');
        buf_append_text(out, "\n");
    } else {
        buf_append(out, item.data, item.size);
        buf_append(out, &request->separator, 1);
    }
}

static weft_err peek(struct request *request, struct buf *out)
{
    const uint32_t count = (uint32_t)request->count;
    const weft_bytes part = {(const char *)&count, sizeof count};
    struct peer_call call = {0};
    weft_err err = remote_ask(&request->queue, CALL_QUEUE_PEEK, 0, &part, 1, &call);
    struct call_reader reader = {buf_bytes(&call.answer), false};
    while (!err && reader.rest.size && !reader.has_failed)
        append_element(request, &reader, out);
    if (!err && reader.has_failed)
        err = err_set(WEFT_DATA_LOSS, "the answer is cut");
    peer_call_fini(&call);
    return err;
}

int cmd_queue_peek(char *const *words, size_t count)
{
    return run(words, count, peek_options, "peek", peek);
}

// ---- size --------------------------------------------------------------------------------------------------------

static const struct args_option size_options[] = {
    {OPTION_JSON, 0, "json", NULL, "all of its state, as an object"},
    TOOL_OPTIONS,
};

void help_format_queue_size(struct buf *buf)
{
    buf_append_text(buf, "Prints how many items a queue holds; those that are being worked on do "
                         "not count.\n"
                         "\n"
                         "  weft queue size jobs\n"
                         "  weft queue size --json jobs    also what is leased, who waits, if it "
                         "is closed\n"
                         "\n"
                         "Usage: weft queue size [options] PATH\n"
                         "\n"
                         "Options:\n");
    args_format_help(buf, size_options, NULL);
    buf_append_text(buf, "\nExit: 0 done, 3 the host is out of reach, 4 there is no such queue.\n");
}

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

static weft_err size(struct request *request, struct buf *out)
{
    weft_queue_state state;
    const weft_err err = remote_ask_queue_state(&request->queue, &state);
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

int cmd_queue_size(char *const *words, size_t count)
{
    return run(words, count, size_options, "size", size);
}

// ---- close and rm ------------------------------------------------------------------------------------------------

static const struct args_option close_options[] = {
    {OPTION_CANCEL, 0, "cancel", NULL,
     "those who wait to push fail, instead of being let in first"},
    TOOL_OPTIONS,
};

void help_format_queue_close(struct buf *buf)
{
    buf_append_text(buf, "Closes a queue: nothing can be pushed any more. What is in it can be "
                         "taken; who takes\n"
                         "then comes to the end.\n"
                         "\n"
                         "  weft queue close jobs\n"
                         "\n"
                         "Usage: weft queue close [options] PATH\n"
                         "\n"
                         "Options:\n");
    args_format_help(buf, close_options, NULL);
    buf_append_text(buf, "\nExit: 0 done, also when it was closed before; 3 the host is out of "
                         "reach, 4 there is no\nsuch queue.\n");
}

static weft_err close_queue(struct request *request, struct buf *out)
{
    (void)out;
    struct peer_call call = {0};
    const weft_err err =
        remote_ask(&request->queue, CALL_QUEUE_CLOSE,
                   request->cancels ? CALL_FLAG_CANCEL_PENDING : 0, NULL, 0, &call);
    peer_call_fini(&call);
    if (err != WEFT_CANCELLED)
        return err;
    err_clear();  // it was closed before
    return WEFT_OK;
}

int cmd_queue_close(char *const *words, size_t count)
{
    return run(words, count, close_options, "close", close_queue);
}

static const struct args_option rm_options[] = {
    TOOL_OPTIONS,
};

void help_format_queue_rm(struct buf *buf)
{
    buf_append_text(buf, "Removes a queue with all that is in it. Who waits for it fails.\n"
                         "\n"
                         "  weft queue rm jobs.dead\n"
                         "\n"
                         "Usage: weft queue rm [options] PATH\n"
                         "\n"
                         "Options:\n");
    args_format_help(buf, rm_options, NULL);
    buf_append_text(buf, "\nExit: 0 done, 3 the host is out of reach, 4 there is no such queue.\n");
}

static weft_err rm(struct request *request, struct buf *out)
{
    (void)out;
    return remote_remove(&request->queue);
}

int cmd_queue_rm(char *const *words, size_t count)
{
    return run(words, count, rm_options, "rm", rm);
}

// ---- ls ----------------------------------------------------------------------------------------------------------

static const struct args_option ls_options[] = {
    {OPTION_JSON, 0, "json", NULL, "an object per line"},
    TOOL_OPTIONS,
};

void help_format_queue_ls(struct buf *buf)
{
    buf_append_text(buf, "Lists what a host holds: kind, path, and of queues how many items.\n"
                         "\n"
                         "  weft queue ls --at localhost\n"
                         "  weft queue ls /files/0         one member of the cluster of TF_CONFIG\n"
                         "\n"
                         "Usage: weft queue ls [options] [MEMBER]\n"
                         "\n"
                         "Options:\n");
    args_format_help(buf, ls_options, NULL);
    buf_append_text(buf, "\nExit: 0 done, 3 the host is out of reach.\n");
}

static weft_err append_resource(void *owner, const struct tool_resource *resource, struct buf *out)
{
    const struct request *request = owner;
    struct remote queue = {0};
    weft_queue_state state = {0};
    const bool is_queue = resource->kind == CALL_KIND_QUEUE;
    const char *kind = tool_kind_name(resource->kind);
    weft_err err = WEFT_OK;
    if (is_queue) {
        err = remote_open(request->words.cluster, resource->path, CALL_KIND_QUEUE, weft_none(),
                          &queue);
        if (!err)
            err = remote_ask_queue_state(&queue, &state);
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

int cmd_queue_ls(char *const *words, size_t count)
{
    struct request request = {0};
    struct buf out = {0};
    request.words =
        (struct tool_words){.options = ls_options, .take = take_option, .owner = &request};
    weft_err err = tool_words_read(&request.words, words, count, 0, 1, "weft queue ls [MEMBER]");
    if (!err && request.words.wants_help) {
        VEC_FINI(&request.words.words);
        return cmd_help((char *const[]){"queue", "ls"}, 2);
    }
    if (!err)
        err = tool_words_list(&request.words, 0, append_resource, &out);
    return tool_words_print(&request.words, NULL, err, &out);
}
