// weft kv ls and watch: the keys under a prefix, now and as they change.

#include <unistd.h>

#include "cli/cmd_kv.h"
#include "sys/file.h"
#include "wire/pack.h"

enum { WHAT_PUT = 1 };  // resource/kv_state.h

static weft_bytes prefix_of(const struct kv_request *request)
{
    const char *prefix = tool_words_at(&request->all.words, 1);
    return prefix ? weft_text(prefix) : weft_none();
}

// The first key behind all that have the prefix: empty when there is none.
static void append_successor(struct buf *out, weft_bytes prefix)
{
    while (prefix.size && (unsigned char)prefix.data[prefix.size - 1] == 0xff)
        prefix.size--;
    buf_append(out, prefix.data, prefix.size);
    if (prefix.size)
        out->data[out->size - 1]++;
}

// What is to be done with each entry that is read.
typedef void entry_fn(struct kv_request *request, weft_bytes key, uint64_t version,
                      weft_bytes value, struct buf *out);

// Reads one answer of KV_RANGE; the last key goes to `from`, so that the next is asked behind it.
static weft_err take_range(struct kv_request *request, weft_bytes answer, entry_fn *take,
                           struct buf *from, struct buf *out)
{
    struct pack_reader reader = {answer, false};
    pack_read_u64(&reader);
    while (reader.rest.size && !reader.has_failed) {
        const weft_bytes key = pack_read_text(&reader);
        const uint64_t version = pack_read_u64(&reader);
        pack_read_u8(&reader);
        const weft_bytes value = pack_read_blob(&reader);
        if (reader.has_failed)
            break;
        take(request, key, version, value, out);
        from->size = 0;
        buf_append(from, key.data, key.size);
        buf_append(from, "", 1);
    }
    return reader.has_failed ? err_set(WEFT_DATA_LOSS, "the answer is cut") : WEFT_OK;
}

// All entries from `from` on that have the prefix.
static weft_err read_range(struct kv_request *request, struct buf *from, entry_fn *take,
                           struct buf *out)
{
    struct buf to = {0}, payload = {0};
    bool has_more = true;
    weft_err err = WEFT_OK;
    append_successor(&to, prefix_of(request));
    while (!err && has_more) {
        struct peer_call call = {0};
        payload.size = 0;
        pack_write_text(&payload, buf_bytes(from));
        pack_write_text(&payload, buf_bytes(&to));
        pack_write_u32(&payload, 0);
        const weft_bytes part = buf_bytes(&payload);
        err = remote_ask(&request->all.remote, CALL_KV_RANGE, 0, &part, 1, &call);
        has_more = call.flags & ANSWER_FLAG_MORE;
        if (!err)
            err = take_range(request, buf_bytes(&call.answer), take, from, out);
        peer_call_fini(&call);
        if (!err && has_more)
            err = file_write(STDOUT_FILENO, "standard output", out->data, out->size);
        if (has_more)
            out->size = 0;
    }
    buf_fini(&to);
    buf_fini(&payload);
    return err;
}

// ---- ls ----------------------------------------------------------------------------------------------------------

static void list_entry(struct kv_request *request, weft_bytes key, uint64_t version,
                       weft_bytes value, struct buf *out)
{
    if (request->json) {
        kv_append_entry(out, key, version, value);
        return;
    }
    buf_append(out, key.data, key.size);
    buf_append_text(out, "\t");
    buf_append(out, value.data, value.size);
    buf_append_text(out, "\n");
}

static weft_err append_map(void *owner, const struct tool_resource *resource, struct buf *out)
{
    const struct kv_request *request = owner;
    if (request->json) {
        json_open(out, NULL, '{');
        json_append_text(out, "path", resource->path);
        json_close(out, '}');
    } else {
        buf_append_text(out, resource->path);
    }
    buf_append_text(out, "\n");
    return WEFT_OK;
}

weft_err kv_list(struct tool_request *asked, struct buf *out)
{
    struct kv_request *request = (struct kv_request *)asked;
    if (!request->all.words.words.count)
        return tool_words_list(&request->all.words, CALL_KIND_KV, append_map, out);
    struct buf from = {0};
    const weft_bytes prefix = prefix_of(request);
    buf_append(&from, prefix.data, prefix.size);
    const weft_err err = read_range(request, &from, list_entry, out);
    buf_fini(&from);
    return err;
}

// ---- watch -------------------------------------------------------------------------------------------------------

static void tell(const struct kv_request *request, bool is_put, weft_bytes key, uint64_t version,
                 weft_bytes value, struct buf *out)
{
    if (request->json) {
        json_open(out, NULL, '{');
        json_append_text(out, "event", is_put ? "put" : "rm");
        buf_append_text(out, ",\"key\":");
        json_append_string(out, key);
        json_append_uint(out, "version", version);
        if (is_put) {
            buf_append_text(out, ",\"value\":");
            json_append_string(out, value);
        }
        json_close(out, '}');
    } else {
        buf_format(out, "%s %.*s", is_put ? "put" : "rm", (int)key.size, key.data);
        if (is_put) {
            buf_append_text(out, " ");
            buf_append(out, value.data, value.size);
        }
    }
    buf_append_text(out, "\n");
}

static void tell_put(struct kv_request *request, weft_bytes key, uint64_t version, weft_bytes value,
                     struct buf *out)
{
    tell(request, true, key, version, value, out);
}

// One answer of KV_WATCH; `last` gets the last key of it.
static weft_err take_changes(struct kv_request *request, weft_bytes answer, uint64_t *revision,
                             uint64_t *left, struct buf *last, struct buf *out)
{
    struct pack_reader reader = {answer, false};
    *revision = pack_read_u64(&reader);
    while (reader.rest.size && !reader.has_failed && *left > 0) {
        const uint8_t what = pack_read_u8(&reader);
        const weft_bytes key = pack_read_text(&reader);
        const uint64_t version = pack_read_u64(&reader);
        const weft_bytes value = pack_read_blob(&reader);
        if (reader.has_failed)
            break;
        tell(request, what == WHAT_PUT, key, version, value, out);
        --*left;
        last->size = 0;
        buf_append(last, key.data, key.size);
        buf_append(last, "", 1);
    }
    return reader.has_failed ? err_set(WEFT_DATA_LOSS, "the answer is cut") : WEFT_OK;
}

static weft_err watch_once(struct kv_request *request, uint64_t *revision, uint64_t *left,
                           struct buf *out)
{
    struct buf payload = {0}, last = {0};
    struct peer_call call = {0};
    pack_write_text(&payload, prefix_of(request));
    pack_write_u64(&payload, *revision);
    const weft_bytes part = buf_bytes(&payload);
    weft_err err = remote_ask(&request->all.remote, CALL_KV_WATCH, 0, &part, 1, &call);
    if (!err)
        err = take_changes(request, buf_bytes(&call.answer), revision, left, &last, out);
    if (!err && call.flags & ANSWER_FLAG_MORE && *left > 0)
        err = read_range(request, &last, tell_put, out);
    if (!err)
        err = file_write(STDOUT_FILENO, "standard output", out->data, out->size);
    out->size = 0;
    peer_call_fini(&call);
    buf_fini(&payload);
    buf_fini(&last);
    return err;
}

weft_err kv_watch_keys(struct tool_request *asked, struct buf *out)
{
    struct kv_request *request = (struct kv_request *)asked;
    uint64_t revision = 0, left = request->count ? request->count : UINT64_MAX;
    weft_err err = WEFT_OK;
    request->all.remote.timeout_ms = request->timeout_ms;
    while (!err && left > 0)
        err = watch_once(request, &revision, &left, out);
    if (err == WEFT_DEADLINE_EXCEEDED)
        err = err_set(err, "%s: no change came in time", request->all.remote.path);
    if (err == WEFT_OUT_OF_RANGE) {  // nobody is left who could write
        err_clear();
        err = WEFT_OK;
    }
    return err;
}
