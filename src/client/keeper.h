// keeper: a thread that looks after what a program has left for a moment.
//
// Calls do their own sending and receiving, in the caller's thread. While the program does something else,
// three things would lie: calls that wait for company, elements that were asked for ahead and are not come
// for, and a connection that broke. The keeper looks every millisecond as long as there is something, less
// and less often while nothing happens, and once in a second at the connections. One for each cluster,
// started when it is first needed.
#ifndef CLIENT_KEEPER_H
#define CLIENT_KEEPER_H

#include "client/member.h"

struct prefetch;

void keeper_init(struct keeper *keeper);
void keeper_fini(struct keeper *keeper);

// There is something to look after. False: no thread could be started, the caller has to do without.
bool keeper_arm(weft_cluster *cluster);

// Looks after the prefetching of a queue, too, until it is forgotten. Any number of times.
void keeper_add(weft_cluster *cluster, struct prefetch *prefetch);
void keeper_forget(weft_cluster *cluster, struct prefetch *prefetch);

// Ends the thread; nothing is looked after from then on.
void keeper_stop(weft_cluster *cluster);

#endif
