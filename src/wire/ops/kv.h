// The calls of a kv, which has no attributes.
//
//     KV_GET      text key                          -> u64 version, u8 owned, value
//     KV_PUT      [u64 expected,] text key, value   -> u64 version
//     KV_REMOVE   [u64 expected,] text key          -> nothing; SEEN: it was not there
//     KV_RANGE    text from, text to, u32 limit     -> u64 revision, {text key, u64 version, u8 owned, blob value}
//     KV_WATCH    text prefix, u64 known revision   -> u64 revision, {u8 what, text key, u64 version, blob value}
//
// With IF a change names the version that it expects, 0 for a missing key. If the version is
// another one, the answer is MISSED: u64 version (0: absent), the present value.
#ifndef WIRE_OPS_KV_H
#define WIRE_OPS_KV_H

#include "wire/ops/ops.h"

enum ops_kv_what { OPS_KV_PUT = 1, OPS_KV_REMOVED = 2 };

struct ops_kv_get {
    weft_bytes key;
};

// KV_PUT, KV_REMOVE.
struct ops_kv_change {
    uint8_t op;
    bool has_expected, is_owned;
    uint64_t expected;
    weft_bytes key;
    weft_bytes value;  // of a put
};

struct ops_kv_range {
    weft_bytes from, to;
    uint32_t limit;
};

struct ops_kv_watch {
    weft_bytes prefix;
    uint64_t known;
};

struct ops_kv_got {
    uint64_t version;
    bool is_owned;
    weft_bytes value;
};

// The answer to a change: the version that it made, or, MISSED, the present entry.
struct ops_kv_changed {
    uint64_t version;
    weft_bytes value;
};

struct ops_kv_entry {
    enum ops_kv_what what;  // of a watch
    bool is_owned;          // of a range
    uint64_t version;
    weft_bytes key, value;
};

void ops_kv_get_make(struct ops_call *call, const struct ops_kv_get *from);
MUST_CHECK bool ops_kv_get_decode(weft_bytes bytes, struct ops_kv_get *to);

void ops_kv_change_make(struct ops_call *call, const struct ops_kv_change *from);
MUST_CHECK bool ops_kv_change_decode(const struct call *call, struct ops_kv_change *to);

void ops_kv_range_encode(struct buf *out, const struct ops_kv_range *from);
MUST_CHECK bool ops_kv_range_decode(weft_bytes bytes, struct ops_kv_range *to);

void ops_kv_watch_encode(struct buf *out, const struct ops_kv_watch *from);
MUST_CHECK bool ops_kv_watch_decode(weft_bytes bytes, struct ops_kv_watch *to);

// ---- Answers -----------------------------------------------------------------------------------------------------

size_t ops_kv_got_size(const struct ops_kv_got *got);
void ops_kv_got_put(char *to, const struct ops_kv_got *from);  // in place
MUST_CHECK bool ops_kv_got_decode(weft_bytes bytes, struct ops_kv_got *to);

size_t ops_kv_changed_size(const struct ops_kv_changed *changed);
void ops_kv_changed_put(char *to, const struct ops_kv_changed *from);  // in place
MUST_CHECK bool ops_kv_changed_decode(weft_bytes bytes, struct ops_kv_changed *to);

// A list of entries begins with a revision, which can be set again after its entries.
void ops_kv_list_begin(struct buf *out, uint64_t revision);
void ops_kv_list_set_revision(struct buf *out, uint64_t revision);
bool ops_kv_list_is_empty(const struct buf *list);
void ops_kv_range_entry_encode(struct buf *out, const struct ops_kv_entry *from);
void ops_kv_watch_entry_encode(struct buf *out, const struct ops_kv_entry *from);

// Take the revision, or an entry, off the list.
MUST_CHECK bool ops_kv_revision_next(weft_bytes *list, uint64_t *revision);
MUST_CHECK bool ops_kv_range_entry_next(weft_bytes *list, struct ops_kv_entry *to);
MUST_CHECK bool ops_kv_watch_entry_next(weft_bytes *list, struct ops_kv_entry *to);

#endif
