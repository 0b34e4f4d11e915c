// What the files of `weft kv` share.
#ifndef CLI_CMD_KV_H
#define CLI_CMD_KV_H

#include "base/json.h"
#include "cli/tool_group.h"
#include "client/remote/ops.h"

struct kv_request {
    struct tool_request all;  // first
    bool has_condition, json, is_all;
    uint64_t version;  // that is expected; 0: absent
    uint64_t count;    // 0: no limit
    uint32_t timeout_ms;
};

// Appends {"key":...,"version":...,"value":...} and a newline.
void kv_append_entry(struct buf *out, weft_bytes key, uint64_t version, weft_bytes value);

// ---- cmd_kv_list.c: what a prefix selects ---------------------------------------------------------------

tool_act_fn kv_list, kv_watch_keys;

#endif
