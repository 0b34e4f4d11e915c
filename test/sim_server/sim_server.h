// The simulation of a server and its clients: the real driver with its clients, and the real client with its porter, agent and
// copies, in a world whose time, chance, network, disks and workers are ours.
//
//   sim_server.c  seeds: a job, its machines and faults; lives of processes; the end
//   faults.c      what breaks, and when
//   damage.c      disks that change what lies on them
//   job.c         the job: options, inputs, what tasks make, the answer that must come out
//   worker.c, slot.c, cover.c  the processes in which tasks run
//   lives.c       processes with a loop
//   machine.c, disk.c, names.c  what a process sees of its machine
//   test/world/   chance, the clock, connections
//
// A seed is run by a process of its own: what a killed process had in memory goes with that.
#ifndef SIM_SERVER_H
#define SIM_SERVER_H

#include "run/talk/summary.h"
#include "sys/secure/secret.h"
#include "wire/messages.h"
#include "world/world.h"

enum {
    CLIENTS_OF_SIM_MAX = 6,
    TASKS_MAX = 64,
    STAGES_MAX = 4,
    INPUTS_MAX = 3,
    SERVER_PORT = 18125,
};

enum sim_count {
    COUNT_LIVES,  // of servers
    COUNT_SERVER_KILLS,
    COUNT_SERVER_FAILURES,
    COUNT_CLIENTS,
    COUNT_CLIENT_KILLS,
    COUNT_WORKERS,
    COUNT_TASKS,
    COUNT_SEALS,
    COUNT_REDUCES,
    COUNT_BLOCKS,
    COUNT_STOPS,
    COUNT_FULL,
    COUNT_TERMS,
    COUNT_HANDED,  // clients that left and handed all over
    COUNT_HASTY,   // clients that left and did not
    COUNT_FLIPS,
    COUNT_CUTS,
    COUNT_DAMAGES,  // bits that changed on disks
    COUNT_PARTS,    // that clients began to write
    COUNT_STEPS,
    SIM_COUNTS
};

// The job.
struct sim_options {
    uint32_t input_count, lines, lines_per_task, reducers, max_attempts, top;
    uint32_t stage_count, task_ms, task_timeout_ms;
    bool is_map_only, has_directory;
    bool is_shared;  // clients write parts into the directory, but for those that do not see it
    bool has_bad_record, crashes_at_bad_record;
    uint32_t skip_max, bad_input;
    uint64_t bad_offset;
    uint32_t client_count;
    uint64_t fault_ms;
};

struct sim_rates {
    uint32_t fail, crash, hang, stale;  // per mille of attempts
    uint32_t spawn;                     // per mille of starts
    uint32_t kill_client, kill_worker, kill_server, stop, block, full, term,
        damage;  // of strikes
};

struct machine {
    uint32_t slots, slowness;
    bool has_wrong_token, stays;
    bool sees_output;
    bool is_asked_to_end, has_joined;
    uint32_t grace_ms;
    uint64_t believes_end_ns;  // of the job, since then; 0: it does not
    uint64_t start_ns;         // of its next client
};

struct sim {
    struct sim_options options;
    struct sim_rates rates;
    struct machine machines[PROCESSES_MAX];
    bool
        is_peaceful;  // clients leave in good order, and nothing else happens: no sealed work is lost
    uint64_t kills_before_life;  // of the server, when it last began
    bool may_fail;               // something has happened that may end the job
    bool has_ended;              // the job has, well
    uint32_t server_ends;
    uint64_t *counts;
};

extern struct sim sim;
extern const struct secret sim_token;

// What a process says on its standard error.
void sim_take_words(int process, const char *text, size_t size);

// ---- faults.c -----------------------------------------------------------------------------------------------

void faults_draw(void);
void faults_calm(void);

// ---- damage.c -----------------------------------------------------------------------------------------------

void damage_some(void);
// Whether lines of map output were changed; false, too, when no bit ever was.
bool damage_is_in(const char *bytes, size_t size);

// ---- job.c --------------------------------------------------------------------------------------------------

void job_draw(void);
void job_make_inputs(void);
void job_run_server(void);  // a life of the server
void job_check_answer(void);

// What tasks see and make.
void sim_note_stage(const Weft__StageOpen *open);
void sim_note_task(const Weft__TaskRun *run);
void sim_note_sealed(uint32_t stage, uint32_t task);
const char *sim_input(uint32_t input, size_t *size);
// What a map task makes of its input, which was checked.
uint32_t sim_value(const Weft__TaskRun *run);
bool sim_meets_bad_record(const Weft__TaskRun *run);
// The text of a piece: of a map task, or of a range with the values of all map tasks.
struct sim_piece {
    uint32_t stage, piece;
    uint32_t cuts;  // of the keys of its stage
};
void sim_write_piece(struct buf *text, const struct sim_piece *piece, const uint32_t *values,
                     size_t count);
// A piece was committed; those of all attempts are the same.
void sim_note_piece(uint32_t stage, uint32_t piece, weft_bytes text);
weft_bytes sim_find_piece(uint32_t stage, uint32_t piece);

#endif
