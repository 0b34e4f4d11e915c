// The world that a host and its clients stand in when chance decides everything: a network of memory, a
// disk of memory, a clock that moves when nothing else does, and fibers instead of threads.
//
// The product is linked as it was compiled for the release. What it believes to be sockets, timers, locks and journals
// is here: the files of this folder define the functions of sys/env.h and of store/journal/journal.h that it calls, so
// that the linker leaves the real ones out. One seed is one history, whatever the machine.
#ifndef SIM_HOST_WORLD_H
#define SIM_HOST_WORLD_H

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "base/buf.h"
#include "base/list.h"
#include "base/vec.h"
#include "sys/loop/loop.h"
#include "sys/net/channel.h"

enum {
    WORLD_FIBERS_MAX = 64,
    WORLD_BELLS_MAX = 64,
    WORLD_STACK_BYTES = 256 << 10,
};

// ---- Chance ----------------------------------------------------------------------------------------

uint64_t world_draw(void);
uint32_t world_below(uint32_t limit);                 // 0 when limit is 0
uint32_t world_between(uint32_t low, uint32_t high);  // both included
bool world_chance(uint32_t per_mille);

// ---- What a seed decides ---------------------------------------------------------------------------

// All rates are per mille of a step.
struct world_rates {
    uint32_t cut, host_crash, client_crash, disk_full, hasty_clock, sync_crash, flush_crash;
    uint32_t io_error;  // of a sync: the journal has failed for good
    uint32_t mute;      // a connection breaks and only one side learns of it, for a while
};

// ---- Fibers ----------------------------------------------------------------------------------------

struct fiber {
    ucontext_t context;
    char *stack;
    void (*body)(void *owner);
    void *owner;
    int client;  // whose it is
    bool is_used, is_done;
    uint64_t wake_ns;       // it goes on then at the latest
    const void *waits_for;  // a condition or a channel; NULL: only for the clock
    bool is_woken, wants_to_send;
};

// A descriptor that a program polls; its number stands for it.
struct world_bell {
    bool is_used, is_rung;
};

// As poll does: until it is readable, or the clock says so.
void world_poll(int bell, uint64_t wake_ns);

struct fiber *fiber_start(void (*body)(void *), void *owner);
void fiber_wait(const void *what, uint64_t wake_ns);  // for a wake-up, or the clock

// ---- Connections -----------------------------------------------------------------------------------

struct wire {
    struct link in_world;
    int number;           // stands for a descriptor
    int client;           // whose it is
    struct buf up, down;  // on their way
    struct buf arrived;   // at the client, not read yet
    size_t room;          // bytes that may be on their way in one direction
    bool is_accepted, has_ended_up, has_ended_down;
    bool is_up_lost, is_down_lost;  // nothing more arrives in that direction
    struct channel *channel;        // the client's end; NULL: closed
    struct loop_stream *stream;     // the host's end; NULL: closed, or not accepted yet
};

struct channel {
    struct wire *wire;
    bool seals;         // takes more than the wire has room for
    struct buf sealed;  // which is here until then
};

struct loop_stream {
    struct wire *wire;
    struct loop_stream_calls calls;
    void *owner;
    struct buf out;  // appended, flushed or not
    size_t flushed;  // bytes of it that are to go
    bool is_paused, has_waited;
};

// ---- The disk --------------------------------------------------------------------------------------

struct disk_record {
    uint32_t type;
    struct buf payload;
};

struct disk {
    VEC(struct disk_record) records;
    size_t synced;  // of the records
    bool is_full;
    bool has_failed;    // for good, until it is opened anew
    uint64_t appended;  // records ever, those in front of a snapshot included
    uint64_t bytes;
    uint64_t rewrites;
};

// ---- All of it -------------------------------------------------------------------------------------

enum world_count {
    COUNT_CRASHES,
    COUNT_CUTS,
    COUNT_CLIENT_CRASHES,
    COUNT_OPS,
    COUNT_UNKNOWN,
    COUNT_REWRITES,
    COUNT_UNDECIDED,
    COUNT_ABORTED,
    COUNT_IO_ERRORS,
    COUNT_PUT_BACK,
    WORLD_COUNTS
};

struct world {
    uint64_t seed, state;
    const char *program;
    bool is_verbose;
    uint64_t now_ns, steps, moment;
    uint64_t slept_ns;  // by which the clock has jumped, because the host was late
    struct world_rates rates;
    bool has_faults;

    struct fiber fibers[WORLD_FIBERS_MAX];
    struct fiber *running;
    struct world_bell bells[WORLD_BELLS_MAX];
    ucontext_t scheduler;

    struct link wires;
    int last_wire;
    struct disk disk;
    bool has_older;     // a copy of the journal may be put back in this run
    bool was_put_back;  // which has happened

    // The host; `host` is NULL while it is down.
    struct host_server *host;
    bool is_dying;  // it was killed in the middle of something: nothing leaves it any more
    bool is_turn_due;
    uint64_t start_ns, tick_ns, tick_every_ns;
    struct loop_turn turn;
    loop_fn *tick;
    void *turn_owner, *tick_owner;
    loop_accept_fn *accept;
    void *accept_owner;

    // Clients whose process was killed: what they do no longer reaches anybody.
    uint32_t dead_clients;
    int stopped_client;  // which does nothing until then; -1: none
    uint64_t stopped_until_ns;
    int running_client;
    uint64_t counts[WORLD_COUNTS];
};

extern struct world world;

_Noreturn void world_wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));
void world_note(const char *format, ...) __attribute__((format(printf, 1, 2)));  // with -v

void world_init(uint64_t seed);
void world_fini(void);

// One step of somebody, chosen by chance; false: nothing is left to happen.
bool world_step(void);

// The process of a client is killed: its connections end.
void world_kill_client(int client);
void world_cut(struct wire *wire);

// ---- host_life.c -----------------------------------------------------------------------------------

void host_life_start(void);
void host_life_crash(void);

// ---- older.c ---------------------------------------------------------------------------------------

void older_init(void);
void older_copy_some(void);
void older_put_back_some(void);

// ---- disk.c ----------------------------------------------------------------------------------------

void disk_lose_tail(void);  // what was not synced, or some of it
void disk_fini(void);

#endif
