// The status text of the attempt in a slot, in the page that the worker shares with its driver.
// Only the last text counts, so that an attempt may write as many as it likes and the driver need
// not read them all.
//
// A writer, any number of readers, in different processes; a reader that meets a writer at work sees
// nothing new and comes again.
#ifndef MAPREDUCE_SLOT_STATUS_H
#define MAPREDUCE_SLOT_STATUS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { STATUS_BYTES_MAX = 120 };  // longer ones are cut

struct slot_status {
    _Atomic uint32_t serial;      // odd while it is written; 0: nothing was said
    _Atomic uint32_t kind, task;  // of the attempt (TaskKind)
    _Atomic uint64_t words[STATUS_BYTES_MAX / 8];
};

struct status_words {
    uint32_t serial, kind, task;
    char text[STATUS_BYTES_MAX + 1];
};

static inline void slot_status_write(struct slot_status *status, uint32_t kind, uint32_t task,
                                     const char *text, size_t size)
{
    uint64_t words[STATUS_BYTES_MAX / 8] = {0};
    const uint32_t serial = atomic_load_explicit(&status->serial, memory_order_relaxed);
    memcpy(words, text, size < STATUS_BYTES_MAX ? size : STATUS_BYTES_MAX);
    atomic_store_explicit(&status->serial, serial + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&status->kind, kind, memory_order_relaxed);
    atomic_store_explicit(&status->task, task, memory_order_relaxed);
    for (size_t i = 0; i < STATUS_BYTES_MAX / 8; i++)
        atomic_store_explicit(&status->words[i], words[i], memory_order_relaxed);
    atomic_store_explicit(&status->serial, serial + 2, memory_order_release);
}

// Whether there is something else than when `serial` was seen; then *words is set.
static inline bool slot_status_read(const struct slot_status *status, uint32_t serial,
                                    struct status_words *words)
{
    words->serial = atomic_load_explicit(&status->serial, memory_order_acquire);
    if (words->serial == serial || words->serial & 1)
        return false;
    words->kind = atomic_load_explicit(&status->kind, memory_order_relaxed);
    words->task = atomic_load_explicit(&status->task, memory_order_relaxed);
    for (size_t i = 0; i < STATUS_BYTES_MAX / 8; i++) {
        const uint64_t word = atomic_load_explicit(&status->words[i], memory_order_relaxed);
        memcpy(words->text + 8 * i, &word, sizeof word);
    }
    words->text[STATUS_BYTES_MAX] = 0;
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(&status->serial, memory_order_relaxed) == words->serial;
}

#endif
