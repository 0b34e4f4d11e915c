// Big memory: huge pages straight from the kernel, every byte counted against a budget that is a
// promise.
//
// Tables, sort buffers and output texts come from here. First touch of fresh memory is the dearest thing
// on the hot path, so users keep and reuse their memory. A budget belongs to a worker process; slots
// take from it side by side. Thread: any.
#ifndef SYS_MACHINE_MEM_H
#define SYS_MACHINE_MEM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#include <sys/types.h>

enum { MEM_HUGE_PAGE = 2 << 20 };

struct mem_budget {
    _Atomic uint64_t used;
    _Atomic uint64_t peak;
    uint64_t limit;           // 0: none
    atomic_bool was_refused;  // the last time there was none, it was the machine that had no more
};

// Rounds a size to what mem_get really takes: whole huge pages above 16 MiB, whole pages below. From
// 2 MiB on memory begins at a huge page and has them where it fills them.
size_t mem_round(size_t size);

// Zeroed memory of mem_round(size) bytes, or NULL when the budget or the machine has no more.
void *mem_get(struct mem_budget *budget, size_t size);

// What to try when mem_get gave NULL, for the end of a sentence: more of --memory, or less when it is the
// machine that has no more.
const char *mem_advice(const struct mem_budget *budget);

// Gives it back; `size` as it was asked for. NULL is fine.
void mem_put(struct mem_budget *budget, void *memory, size_t size);

// Whether `size` more would fit now, without taking it.
bool mem_would_fit(const struct mem_budget *budget, size_t size);

// A file mapped whole for reading, with at least 64 readable zero bytes after its end. A file that
// shrinks under us reads as zeros from there on and is recognized by mem_map_is_cut. A file whose last byte is
// zero is refused (FAILED_PRECONDITION), because a cut could not be recognized.
struct mem_map {
    const char *data;
    size_t size;
    size_t mapped_size;
    int registered;  // its place in the table of mappings
};

MUST_CHECK weft_err mem_map_open(struct mem_map *map, const char *path);
void mem_map_close(struct mem_map *map);
bool mem_map_is_cut(const struct mem_map *map);

// Brings part of a mapping in, with one call instead of a fault per page.
void mem_map_populate(const struct mem_map *map, size_t begin, size_t end);

// The same for memory that was never used and is about to be written. Its content does not change.
void mem_touch(void *memory, size_t size);

// Anonymous memory of this process that is really there (RssAnon + RssShmem), in bytes; 0 if unknown.
uint64_t mem_resident_bytes(void);

// The same of another process and all its descendants. Takes some microseconds for each.
uint64_t mem_resident_bytes_of(pid_t pid);

#endif
