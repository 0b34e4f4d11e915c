// Connections made of memory.
#ifndef SIM_HOST_NET_H
#define SIM_HOST_NET_H

#include "sim_host/world.h"

// Whether who waits for this channel has something to look at.
bool net_has_news(const void *channel, bool wants_to_send);

bool net_move_some(void);  // bytes arrive somewhere; false: there are none
void net_cut_some(void);
void net_end_all(void);            // the host is gone
void net_end_process(int client);  // what it has written still arrives
void net_end_client(int client);
void net_fini(void);

#endif
