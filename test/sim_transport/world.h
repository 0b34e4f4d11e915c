// The world of a hub and its spokes: processes with a loop each, connections between them, one clock.
//
// Everything that happens is drawn from the seed: which connection moves how many bytes, which timer is late, what breaks. A process may be
// killed (its connections break) or stopped (nothing of it runs, its connections stay). No call comes while another is under way.
#ifndef SIM_TRANSPORT_WORLD_H
#define SIM_TRANSPORT_WORLD_H

#include "base/list.h"
#include "sys/loop/loop.h"

// Process 0 is the hub, then come spokes, then processes that fetch. Only what is fetched is changed on its way: the rest is
// for TLS to protect.
enum { HUB_PROCESS = 0, FIRST_FETCHER = 4, PROCESSES_MAX = 6, NS_PER_MS = 1000000 };

// A process is its loop.
struct loop {
    int number;
    uint64_t stopped_until_ns;
    struct link timers;
    loop_accept_fn *accept;  // NULL: it does not listen
    void *accept_owner;
};

struct world_rates {  // per mille of a step, but for flips
    uint32_t cut, silence, stop, crash, flip;
};

struct world {
    const char *program;
    bool is_verbose;
    uint64_t seed, state;
    uint64_t now_ns, steps;
    uint64_t healthy_ns;  // from then on no fault has any effect left
    bool has_faults;
    int dialed[PROCESSES_MAX];  // the last connection of each process
    struct world_rates rates;
    struct loop processes[PROCESSES_MAX];
    struct link wires;
    int last_wire;
    struct loop *dying;  // its streams are freed, and send nothing any more
    uint32_t room;       // bytes that fit into a direction of a connection
    uint64_t cuts, silences, stops, flips;
};

extern struct world world;

void world_init(uint64_t seed);
void world_fini(void);  // all streams and timers are freed by then

uint64_t world_draw(void);
uint32_t world_below(uint32_t limit);
uint32_t world_between(uint32_t low, uint32_t high);
bool world_chance(uint32_t per_mille);
_Noreturn void world_wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));
void world_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

// Something happens: bytes arrive, a timer elapses, or time passes. True: the last.
bool world_step(void);
bool world_is_stopped(const struct loop *process);

// ---- net.c --------------------------------------------------------------------------------------------------

bool net_move_some(void);  // false: nothing can move now
void net_break_some(void);
void net_silence_some(void);
uint64_t net_next_ns(void);  // when a silence ends
void net_calm(void);         // silences end
void net_fini(void);

// ---- the simulator's own ------------------------------------------------------------------------------------

// Bytes of that process have arrived at the hub, by its last connection.
void sim_heard(int process);

// False: the descriptor is no file but a connection.
bool sim_close_file(int fd);

// The hub stands still for that much longer.
void sim_hub_stops(uint64_t ns);

#endif
