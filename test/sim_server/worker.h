// Workers as this simulation has them: they speak the real frames and write the real page, and make of each task what job.c says.
//
//   worker.c  their lives, and what they hear and say
//   slot.c    what their slots do: read, hold, seal, reduce, write
//   cover.c   the map output of all, as they read it
#ifndef SIM_SERVER_WORKER_H
#define SIM_SERVER_WORKER_H

#include "mapreduce/slot_page.h"
#include "mapreduce/work/run/run_index.h"
#include "sim_server/sim_server.h"
#include "sys/process/process.h"
#include "wire/messages.h"

struct node;

enum { WORKERS_MAX = 2 * PROCESSES_MAX, QUEUE_MAX = 8, SLOTS_OF_WORKER_MAX = 4, RUNS_MAX = 64 };

enum order_kind { ORDER_TASK, ORDER_SEAL, ORDER_CHECKPOINT };

struct order {
    enum order_kind kind;
    Weft__TaskRun *run;
};

// A map task that a slot holds, and what became of its input.
struct held {
    uint32_t task, value;
};

struct slot {
    struct order orders[QUEUE_MAX];
    size_t order_count;
    bool is_inside;
    uint64_t until_ns;  // the order takes as long
    bool fails, crashes, hangs;
    uint32_t needs;  // stretches of lent input that it waits for
    weft_err lent_code;
    struct held held[TASKS_MAX];
    uint32_t held_count;

    // Of this stage: all that it has sealed.
    struct spill spill;
    bool has_spill;
    struct run runs[RUNS_MAX];
    uint32_t run_count;
    uint32_t sealed[TASKS_MAX], sealed_count;
};

struct worker {
    bool is_used, is_alive, is_released;
    pid_t pid;
    struct loop own;  // by which it is known to its machine
    struct loop *parent;
    struct wire *wire;
    struct worker_page *page;
    struct frame_parser parser;
    struct process_exit exit;
    uint64_t ready_ns, stopped_until_ns;
    bool has_greeted, has_failed, is_leaving, has_plan;
    uint32_t slowness;  // how much longer it takes for a task
    Weft__JobStart *job;
    Weft__StageOpen *open;
    uint32_t cuts;
    struct run_index *seals[PROCESSES_MAX * SLOTS_OF_WORKER_MAX * 4];
    size_t seal_count;
    bool has_seals;
    uint32_t bad_seal;  // the number of one whose index is damaged; 0: none
    int shelf;          // -1: none
    uint64_t shelf_size;
    struct slot slots[SLOTS_OF_WORKER_MAX];
};

extern struct worker workers[WORKERS_MAX];

// ---- For the machine -----------------------------------------------------------------------------------------

pid_t worker_start(struct loop *parent, struct wire *wire, struct worker_page *page);
bool worker_is_alive(pid_t pid);
void worker_kill(pid_t pid);
void worker_bury(pid_t pid, struct process_exit *exit);  // waits for its end
struct node *worker_find_file(pid_t pid, uint32_t number);
uint32_t workers_count(const struct loop *parent);
void workers_kill_all(const struct loop *parent);
// It is killed in the middle of what it does.
void worker_die_here(const struct loop *own);

// ---- For the world -------------------------------------------------------------------------------------------

bool workers_move_some(void);
uint64_t workers_next_ns(void);
void workers_calm(void);
struct worker *workers_some(void);  // NULL: none lives

// ---- Between worker.c and slot.c -----------------------------------------------------------------------------

void worker_say(struct worker *worker, Weft__FrameType type, const ProtobufCMessage *message);
void worker_die(struct worker *worker, int signal);
void worker_fail(struct worker *worker,
                 weft_err code);  // it cannot continue, with this thread's sentence

void slot_take(struct worker *worker, uint32_t index, struct order order);
bool slot_can_move(const struct worker *worker, const struct slot *slot);
void slot_move(struct worker *worker, uint32_t index);
void slot_take_lent(struct worker *worker, const Weft__Lent *lent);
void slots_open_stage(struct worker *worker);

// ---- cover.c

void worker_take_seals(struct worker *worker, const Weft__Seals *seals);
void worker_forget_seals(struct worker *worker);
// A line of a segment: what a map task has for a range.
void sim_write_line(struct buf *text, uint32_t stage, uint32_t range, const struct held *held,
                    uint32_t cuts);
// The values of all map tasks in a range. Returns the number of map output that is damaged, or 0.
uint32_t worker_read_range(const struct worker *worker, uint32_t range, uint32_t *values);

#endif
