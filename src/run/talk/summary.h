// summary: what a run did, as a few lines for a person or one JSON object (docs/json.md). Plain
// numbers in, text out. Thread: any.
#ifndef RUN_TALK_SUMMARY_H
#define RUN_TALK_SUMMARY_H

#include "base/buf.h"
#include "base/err.h"
#include "mapreduce/slot_page.h"
#include "run/talk/crowd.h"

struct summary_counter {
    const char *name;
    int64_t value;
};

// What a client of a server has done.
struct summary_client {
    char name[128];
    uint32_t slots;
    enum crowd_kind end;               // how it came to its end; JOINED: it was there until the end
    uint64_t task_count, again_count;  // that ended well; of these, that had before
    uint64_t backup_count;             // second attempts that were begun there
    uint64_t bytes_in;                 // of the input, wherever it came from
    uint64_t lent_bytes;               // of the input, from the server
    uint64_t fetched_bytes;            // from other clients,
    uint64_t relayed_bytes;            // of these through the server
};

struct summary {
    const char *job;
    weft_err code;       // how it ended
    const char *error;   // its sentence when code is a failure, may have several lines
    int exit_code;       // 0: from the code. For signals (130, 143)
    const char *output;  // as given; NULL: standard output
    bool is_output_cut;  // it failed after a part of the answer was on standard output,
    bool is_output_out;  // or after all of it was

    uint64_t input_count;  // files
    uint64_t records_in, bytes_in, records_out, bytes_out;
    uint64_t elapsed_ns;
    uint32_t workers, slots;  // slots of all workers
    uint64_t memory_limit, memory_peak;
    uint64_t spill_bytes, spill_runs;
    uint64_t saved_bytes;    // map output for a later run or other workers
    uint64_t relayed_bytes;  // of it, what the server passed on between clients
    uint32_t stage_count, map_count, reduce_count;  // tasks of all stages
    bool is_already_done;                           // by an earlier run: nothing was done
    bool has_checkpoints;        // map output was made safe on disk: no lack of memory
    uint32_t resumed_count;      // tasks that an earlier run had done
    uint64_t bad_count;          // records that were left out
    const char *bad_records;     // where they are listed
    uint32_t whole_count;        // large inputs that could not be split,
    const char *whole_codec;     // and how they are compressed; NULL: they cannot by their format
    uint32_t retry_count;        // attempts that failed and were tried again
    uint32_t worker_lost_count;  // worker processes that died
    uint64_t phase_ns[PHASE_COUNT];  // summed over slots
    bool has_switched_to_sort;

    bool is_far;                           // by a server,
    const struct summary_client *clients;  // and these were its clients
    size_t client_count;
    const struct summary_counter *counters;  // the job's own
    size_t counter_count;
};

// A counter of the job; 0: nothing was added to it.
int64_t summary_find_counter(const struct summary *summary, const char *name);

// The lines for a person; `is_verbose` adds memory, tasks and every phase.
void summary_format_text(struct buf *buf, const struct summary *summary, bool is_verbose,
                         bool has_color);

// One object and a line end: {"event":"end",...}.
void summary_format_json(struct buf *buf, const struct summary *summary);

#endif
