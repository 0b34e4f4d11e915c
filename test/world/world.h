// A world of processes with a loop each, connections between them, and one clock. Simulators of programs that talk
// to each other share it: they link these files, and define what else their programs need of the outside (sys/env.h).
//
// Everything that happens is drawn from the seed: which connection moves how many bytes, which timer is next, what breaks. A process may be
// killed (its connections break) or stopped (nothing of it runs, its connections stay). No call comes while another is under way.
#ifndef WORLD_WORLD_H
#define WORLD_WORLD_H

#include "base/list.h"
#include "base/vec.h"
#include "sys/loop/loop.h"

enum { PROCESSES_MAX = 16, NS_PER_MS = 1000000 };

// A process is its loop; each is on a machine of its own.
struct loop {
    int number;
    uint64_t stopped_until_ns;
    struct link timers;
    int last_wire;          // that it has dialed, but for lines:
    uint32_t last_attempt;  // these have the number of the attempt before
};

struct world_rates {  // per mille of a strike, but for flips
    uint32_t cut, silence, flip;
};

struct world {
    const char *name, *program;  // of the simulator
    bool is_verbose;
    uint64_t seed, state;
    uint64_t now_ns, steps;
    bool has_faults;
    struct world_rates rates;
    int process_count;
    struct loop processes[PROCESSES_MAX];
    struct loop *running;  // whose code runs; NULL: none
    struct loop *dying;    // its streams are freed, and send nothing any more
    struct link wires, listeners;
    int last_wire, last_descriptor;
    uint16_t last_port;
    uint32_t room;  // bytes that fit into a direction of a connection
    // Nothing arrives from one machine at another until then.
    uint64_t blocked_until_ns[PROCESSES_MAX][PROCESSES_MAX];
    uint32_t slow_ms[PROCESSES_MAX][PROCESSES_MAX];  // from one arrival to the next; 0: none
    uint64_t cuts, silences, flips;
};

extern struct world world;

void world_init(uint64_t seed, int process_count);
void world_init_process(struct loop *process);
void world_fini(void);  // all streams and timers are freed by then

// ---- Chance -------------------------------------------------------------------------------------------------

uint64_t world_draw(void);
uint32_t world_below(uint32_t limit);                 // 0 when limit is 0
uint32_t world_between(uint32_t low, uint32_t high);  // both included
bool world_chance(uint32_t per_mille);

// ---- Showing ------------------------------------------------------------------------------------------------

_Noreturn void world_wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));
void world_note(const char *format, ...) __attribute__((format(printf, 1, 2)));  // with -v

// ---- The clock ----------------------------------------------------------------------------------------------

bool world_is_stopped(const struct loop *process);

// Something happens: bytes arrive, a timer elapses, something of the simulator's own, or time passes. True: the last.
bool world_step(void);

// ---- net.c --------------------------------------------------------------------------------------------------

// Which side of a connection: the one that has dialed, or the one that was there.
enum { DIALER, LISTENER };

struct wire;

int world_new_descriptor(void);
bool net_move_some(void);  // false: nothing can move now
void net_break_some(void);
void net_silence_some(void);
uint64_t net_next_ns(void);  // when a silence ends
void net_calm(void);         // silences end
void net_kill(struct loop *process);
// Whether the descriptor was a connection, which is closed then.
bool net_close(int fd);
// No stream of the process is left.
void net_check_closed(const struct loop *process);
void net_fini(void);

// A pair of connected sockets of one process. The second becomes that of a child without a loop: it takes and puts bytes itself.
void net_make_pair(int fds[2]);
struct wire *net_give_to_child(int fd);
struct buf *net_child_arrived(struct wire *wire);  // what the child has not read
void net_child_put(struct wire *wire, weft_bytes bytes);
void net_child_end(struct wire *wire);

// ---- the simulator's own ------------------------------------------------------------------------------------

bool sim_move_some(void);    // false: nothing else can happen now
uint64_t sim_next_ns(void);  // when something can; UINT64_MAX: never by itself
void sim_strike(void);       // its own faults, while there are any
// Bytes of the process have arrived where it has dialed last.
void sim_heard(const struct loop *from);
// Whether what is on its way to the dialer may be changed: the rest is for TLS to protect.
bool sim_may_flip(const struct loop *dialer, uint16_t port);

#endif
