// weft kv ls and watch: the keys under a prefix, now and as they change.

#include <unistd.h>

#include "cli/cmd_kv.h"
#include "sys/file/file.h"

enum { PRINT_BYTES = 256 << 10 };  // are printed before more is read

static weft_bytes prefix_of(const struct kv_request *request)
{
    const char *prefix = tool_words_at(&request->all.words, 1);
    return prefix ? weft_text(prefix) : weft_none();
}

static weft_err print(struct buf *out)
{
    const weft_err err =
        out->size ? file_write(STDOUT_FILENO, "standard output", out->data, out->size) : WEFT_OK;
    out->size = 0;
    return err;
}

// ---- ls ----------------------------------------------------------------------------------------------------------

static void list_entry(const struct kv_request *request, const weft_kv_entry *entry,
                       struct buf *out)
{
    if (request->json) {
        kv_append_entry(out, entry->key, entry->version, entry->value);
        return;
    }
    buf_append(out, entry->key.data, entry->key.size);
    buf_append_text(out, "\t");
    buf_append(out, entry->value.data, entry->value.size);
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
    weft_kv_walk *walk = remote_kv_range_of_prefix(&request->all.remote, prefix_of(request));
    weft_kv_entry entry;
    weft_err err = walk ? WEFT_OK : WEFT_RESOURCE_EXHAUSTED;
    while (!err && weft_kv_next(walk, &entry)) {
        list_entry(request, &entry, out);
        if (out->size >= PRINT_BYTES)
            err = print(out);
    }
    if (!err)
        err = weft_kv_walk_error(walk);
    weft_kv_walk_free(walk);
    return err == WEFT_OUT_OF_RANGE ? WEFT_OK : err;
}

// ---- watch -------------------------------------------------------------------------------------------------------

static void tell(const struct kv_request *request, const weft_kv_entry *entry, struct buf *out)
{
    const bool is_put = entry->what == WEFT_KV_PUT;
    if (request->json) {
        json_open(out, NULL, '{');
        json_append_text(out, "event", is_put ? "put" : "rm");
        buf_append_text(out, ",\"key\":");
        json_append_string(out, entry->key);
        json_append_uint(out, "version", entry->version);
        if (is_put) {
            buf_append_text(out, ",\"value\":");
            json_append_string(out, entry->value);
        }
        json_close(out, '}');
    } else {
        buf_format(out, "%s %.*s", is_put ? "put" : "rm", (int)entry->key.size, entry->key.data);
        if (is_put) {
            buf_append_text(out, " ");
            buf_append(out, entry->value.data, entry->value.size);
        }
    }
    buf_append_text(out, "\n");
}

// Prints the present entries, then each change; everything is printed before the next wait.
static weft_err watch_on(struct kv_request *request, weft_kv_walk *walk, uint64_t *left,
                         struct buf *out)
{
    weft_kv_entry entry;
    if (!weft_kv_next(walk, &entry))
        return weft_kv_walk_error(walk);
    if (entry.what != WEFT_KV_RESET) {  // then all present entries follow
        tell(request, &entry, out);
        --*left;
    }
    return remote_kv_has_next(walk) && *left > 0 && out->size < PRINT_BYTES ? WEFT_OK : print(out);
}

weft_err kv_watch_keys(struct tool_request *asked, struct buf *out)
{
    struct kv_request *request = (struct kv_request *)asked;
    uint64_t left = request->count ? request->count : UINT64_MAX;
    request->all.remote.timeout_ms = request->timeout_ms;
    weft_kv_walk *walk = remote_kv_watch(&request->all.remote, prefix_of(request));
    weft_err err = walk ? WEFT_OK : WEFT_RESOURCE_EXHAUSTED;
    while (!err && left > 0)
        err = watch_on(request, walk, &left, out);
    weft_kv_walk_free(walk);
    if (err == WEFT_DEADLINE_EXCEEDED)
        err = err_set(err, "%s: no change came in time", request->all.remote.path);
    if (err == WEFT_OUT_OF_RANGE) {  // no member is left that could write
        err_clear();
        err = WEFT_OK;
    }
    return err;
}
