// What the files of `weft kv` share.
#ifndef CLI_CMD_KV_H
#define CLI_CMD_KV_H

#include "base/json.h"
#include "cli/tool_words.h"

struct kv_request {
    struct tool_words words;
    struct remote kv;
    bool has_condition, json, is_all;
    uint64_t version;  // that is expected; 0: absent
    uint64_t count;    // 0: no limit
    uint32_t timeout_ms;
};

// Appends {"key":...,"version":...,"value":...} and a newline.
void kv_append_entry(struct buf *out, weft_bytes key, uint64_t version, weft_bytes value);

// ---- cmd_kv_list.c: what a prefix selects ---------------------------------------------------------------

MUST_CHECK weft_err kv_list(struct kv_request *request, struct buf *out);
MUST_CHECK weft_err kv_watch_keys(struct kv_request *request, struct buf *out);

#endif
