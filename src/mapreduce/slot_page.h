// The page a worker shares with its driver: where each slot is right now, and its progress so far.
//
// Slots write it with relaxed stores, the driver reads it for the progress line, for task timeouts, and
// after a crash, to charge it to the attempt that was at it. Nothing here decides anything about
// committed work: that travels by frames. The memory outlives the worker.
#ifndef MAPREDUCE_SLOT_PAGE_H
#define MAPREDUCE_SLOT_PAGE_H

#include <stdatomic.h>
#include <stdint.h>

#include "mapreduce/slot_status.h"

enum { SLOTS_MAX = 256 };  // 256 slots x 512 bytes: the page is 128 KiB

enum phase {
    PHASE_READ,
    PHASE_MAP,
    PHASE_COMBINE,
    PHASE_SORT,
    PHASE_SPILL,
    PHASE_MERGE,
    PHASE_REDUCE,
    PHASE_WRITE,
    PHASE_IDLE,
    PHASE_COUNT
};

// The names of the phases as the summary and --json print them, in the order above.
#define PHASE_NAMES                                                                                \
    {                                                                                              \
        "read", "map", "combine", "sort", "spill", "merge", "reduce", "write", "idle"              \
    }

struct slot_page {
    _Alignas(128) _Atomic uint64_t
        attempt_serial;                           // odd while an attempt runs, +1 at begin and end
    _Atomic uint32_t stage, kind, task, attempt;  // what runs (TaskKind), valid while serial is odd
    _Atomic int32_t crash_signal;                 // set by the signal handler of a dying slot
    _Atomic uint32_t input_index;                 // the record it is at
    _Atomic uint64_t input_offset;
    _Atomic uint64_t
        counted_offset;        // of the record's block: from here on it is not in bytes_in yet
    _Atomic uint64_t fed_end;  // everything before it has been given to the job
    _Atomic uint64_t
        begun_ns;  // CLOCK_MONOTONIC when the attempt began, plus the time of its waits
    _Atomic uint64_t
        waits_since_ns;  // since when it waits for lent input, which is not its time; 0: it does not
    _Atomic uint64_t bytes_in, records_in;     // running totals, failed attempts included
    _Atomic uint64_t spill_bytes, spill_runs;  // pairs that did not fit in memory
    _Atomic uint64_t saved_bytes;              // pairs of checkpoints
    _Atomic uint64_t phase_ns[PHASE_COUNT];
    // The driver sets how long an attempt may stay at one record; 0: no limit. A slot whose user code runs in another process sets the
    // other: that process may be at an earlier record than the page says, so the slot itself ends such attempts.
    _Atomic uint32_t record_timeout_ms, times_records;
    struct slot_status status;  // what the attempt says of itself
};

struct worker_page {
    _Atomic uint64_t memory_used, memory_peak;  // what the worker's budget counts
    _Atomic uint32_t has_switched_to_sort;      // a slot found mostly distinct keys
    struct slot_page slots[SLOTS_MAX];
};

#endif
