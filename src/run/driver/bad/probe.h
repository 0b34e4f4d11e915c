// probe: looking for the record that makes a task fail.
//
//   a task is stuck -> its input is bisected -> the record is found, or it is clear that no single one does it
//
// Tries run in a worker of their own, one slot, beside the one at work: a record that crashes it costs no other
// attempt anything. One task is looked into at a time, the others wait. The probe reports the record; whether
// it is left out or ends the job is for the owner to decide. Thread: that of the loop.
#ifndef RUN_DRIVER_PROBE_H
#define RUN_DRIVER_PROBE_H

#include "mapreduce/coord/bisect.h"
#include "run/driver/bad/bad.h"

// A task that keeps failing, and the words on its last failure.
struct probe_task {
    struct sched_attempt at;
    weft_err code;
    char why[ERR_TEXT_BYTES_MAX], next[ERR_TEXT_BYTES_MAX];
};

// Each task ends in one `found` or `not_found`, unless the search itself fails. Their arguments are valid until the
// owner hands in another task.
struct probe_calls {
    void (*begun)(void *owner);  // one more task is looked into
    // This record does it; `how` is the sentence of its failure, of which the record's reason is the short form.
    void (*found)(void *owner, const struct probe_task *task, const struct bad_record *record,
                  const char *how);
    // BISECT_NOT_ONE, BISECT_NO_RECORD, or any other: the search did not come to an end.
    void (*not_found)(void *owner, const struct probe_task *task, enum bisect_state state);
    // Tries are not possible, with this thread's sentence.
    void (*failed)(void *owner, weft_err code);
};

struct probe_options {
    const struct run_plan *plan;
    const struct bad_records *bad;  // those found before are left out of tries
    struct loop *loop;
    struct items *const
        *items;  // where the coordinator has them; NULL there: records are all there is
    const struct probe_calls *calls;
    void *owner;
};

// Where an attempt at a task last failed.
struct probe_harm {
    enum sched_kind kind;
    uint32_t task;
    struct place place;
    uint64_t fed_end;
};

struct probe {
    struct probe_options options;
    VEC(struct probe_harm) harms;
    VEC(struct probe_task) waiting;
    bool is_active, is_looking, has_timed_out, is_stopped;
    struct probe_task task;        // whose input is searched
    char how[ERR_TEXT_BYTES_MAX];  // the last try failed
    VEC(struct plan_piece) ranges;
    struct bisect bisect;
    struct bad_record found;
    struct agent agent;  // of a worker of its own
    struct loop_timer *timer;
    uint64_t seen_offset;  // where the try was when the timer was set
};

void probe_init(struct probe *probe, const struct probe_options *options);
void probe_fini(struct probe *probe);

// Remembers where an attempt at a task of the first stage failed: the search begins there.
void probe_note_harm(struct probe *probe, enum sched_kind kind, uint32_t task, struct place place,
                     uint64_t fed_end);
// Looks into a sample or map task of the first stage, now or when those before it are done.
void probe_look_into(struct probe *probe, const struct probe_task *task);
// Nothing new is begun from now on.
void probe_stop(struct probe *probe);
// Ends the worker, whatever it is at.
void probe_end_worker(struct probe *probe);

#endif
