// The insides of a kv, shared by kv.c (calls), watch.c (watches) and keep.c (how it is
// saved).
#ifndef RESOURCE_KV_KV_STATE_H
#define RESOURCE_KV_KV_STATE_H

#include "resource/host.h"
#include "resource/kv/kv_map.h"
#include "wire/ops/kv.h"

enum {
    KV_VALUE_BYTES_MAX = 1 << 20,
    KV_BYTES_MAX = 1 << 30,          // of all keys and values, with what each costs besides
    KV_ENTRY_COST_BYTES = 128,       // besides its key and value, on whatever machine
    KV_ANSWER_BYTES_MAX = 16 << 20,  // an answer is cut after the entry that goes beyond
    KV_HISTORY_MAX = 4096,           // changes that can still be reported one by one
    KV_HISTORY_BYTES_MAX = 1 << 20,  // of their keys
};

struct kv_change {
    enum ops_kv_what what;
    char *key;
    size_t key_size;
};

struct kv {
    struct resource resource;
    struct kv_map map;
    uint64_t revision;  // how many changes there were
    uint64_t bytes;     // as KV_BYTES_MAX counts
    struct link watches;

    // The last history_count changes; that of revision r is at r % KV_HISTORY_MAX.
    struct kv_change *history;
    size_t history_count, history_bytes;
};

static inline struct kv *kv_of(struct resource *resource)
{
    return (struct kv *)resource;
}

static inline uint64_t kv_cost(weft_bytes key, size_t value_size)
{
    return KV_ENTRY_COST_BYTES + key.size + value_size;
}

// A key of an entry has changed: counts it, remembers it, and notifies the watchers. An entry that was put
// has its new value and gets its new version here; one that was removed is out of the map already.
void kv_changed(struct kv *kv, enum ops_kv_what what, struct kv_entry *entry);

void kv_watch(struct kv *kv, struct session *session, const struct call *call);
void kv_cancel_watch(struct wait *wait, weft_err code, const char *why);
void kv_writers_gone(struct resource *resource);
void kv_forget_history(struct kv *kv);

weft_err kv_save(const struct resource *resource, struct host_saver *saver);
weft_err kv_load(struct resource *resource, struct pack_reader *part);

#endif
