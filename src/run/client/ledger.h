// ledger: finished work of this client that others may read: map output, pairs between stages, and what their tasks counted. After a
// cut for good, or a restart of the server, it is offered to the server again.
//
// It is of one run: with the first note of another one all of it is forgotten. Thread: that of the loop.
#ifndef RUN_CLIENT_LEDGER_H
#define RUN_CLIENT_LEDGER_H

#include "base/vec.h"
#include "wire/messages.h"

enum { LEDGER_RUN_BYTES_MAX = 32, LEDGER_CUTS_BYTES_MAX = 32 };

// Map output of a slot: the last index in its file has all of it.
struct ledger_seal {
    uint32_t stage;
    uint64_t file, offset, size;
    uint8_t cuts[LEDGER_CUTS_BYTES_MAX];
    size_t cuts_size;
    VEC(uint32_t) tasks;
};

struct ledger_pairs {
    uint32_t stage, task, crc;
    uint64_t file, offset, size;
};

struct ledger_end {
    size_t number;  // later ones of the same task count
    Weft__TaskEnd *end;
};

// An attempt that the worker was asked for.
struct ledger_run {
    uint32_t stage, kind, task, attempt;
};

struct ledger_stage {
    uint8_t cuts[LEDGER_CUTS_BYTES_MAX];
    size_t cuts_size;
    bool is_known, keeps_pairs, is_map_only;
};

struct ledger {
    uint8_t run[LEDGER_RUN_BYTES_MAX];
    size_t run_size;  // 0: none
    VEC(struct ledger_stage) stages;
    VEC(struct ledger_seal) seals;
    VEC(struct ledger_pairs) pairs;
    VEC(struct ledger_end) ends;
    VEC(struct ledger_run) runs;  // that have not ended
};

// Zeroed: empty.
void ledger_fini(struct ledger *ledger);

bool ledger_is_of(const struct ledger *ledger, weft_bytes run);
// The run that all notes are of; notes of another one are forgotten.
void ledger_begin(struct ledger *ledger, weft_bytes run);

// ---- Notes. RESOURCE_EXHAUSTED: no memory, nothing noted.

MUST_CHECK weft_err ledger_note_open(struct ledger *ledger, const Weft__StageOpen *open);
MUST_CHECK weft_err ledger_note_plan(struct ledger *ledger, const Weft__StagePlan *plan);
// An attempt is handed to the worker; or all are over, with the worker.
MUST_CHECK weft_err ledger_note_run(struct ledger *ledger, const Weft__TaskRun *run);
void ledger_end_runs(struct ledger *ledger);
// An attempt that ended well; one that was not handed out is none.
MUST_CHECK weft_err ledger_note_end(struct ledger *ledger, const Weft__TaskEnd *end);
// Both with the number of the file by which others fetch it.
MUST_CHECK weft_err ledger_note_seal(struct ledger *ledger, const Weft__Checkpointed *done);
MUST_CHECK weft_err ledger_note_pairs(struct ledger *ledger, const Weft__Committed *committed);

// Work of another client, of which a copy is here in that file: one seal at the same places, or pairs one after the other.
MUST_CHECK weft_err ledger_note_taken(struct ledger *ledger, const Weft__ClientOffer *work,
                                      uint64_t file);

bool ledger_is_empty(const struct ledger *ledger);  // there is nothing to offer

// No task reads the file any more.
void ledger_forget(struct ledger *ledger, uint64_t file);

// ---- The offer

typedef weft_err ledger_send_fn(void *owner, const Weft__ClientOffer *offer);
// In several messages, the last one marked; also where there is nothing to offer. A failure is that of `send`, or no memory.
MUST_CHECK weft_err ledger_offer(struct ledger *ledger, ledger_send_fn *send, void *owner);

#endif
