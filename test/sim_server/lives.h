// Lives of processes with a loop: the server and its clients. The code between two runs of a loop is on a stack of its own, so
// that many of them can be under way; what a loop calls is called from outside, one call at a time.
#ifndef SIM_SERVER_LIVES_H
#define SIM_SERVER_LIVES_H

#include "world/world.h"

enum { SERVER = 0 };  // the first process; all others are clients

typedef void life_fn(void);

// The process must not live. `body` is its main(); it may not free what it has on its stack by longjmp.
void life_start(int number, life_fn *body);
bool life_is_alive(int number);
pid_t life_pid(int number);
// At once, with all that it has: its worker, connections, descriptors.
void life_kill(int number);
// The same for the process whose code runs.
_Noreturn void life_kill_running(void);
void life_signal(int number, int signal);  // which it has taken over, or dies of

// The living process with that number for others; NULL: none.
const struct loop *life_find(pid_t pid);

// One call, or what follows the end of a loop; false: nothing can happen.
bool lives_move_some(void);

// Whether the descriptor was of shared memory, which is closed then.
bool life_close_page(int fd);

// One step of the world, in which processes may die in the middle of something.
bool lives_step(void);

#endif
