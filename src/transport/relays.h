// relays: a hub passes bytes between two of its peers that cannot reach each other.
//
//     peer A                            hub                                    peer B
//       HELLO_FOR_RELAY, target: B  ->    welcomes it, asks B for a line
//                                                                         <-   HELLO_FOR_LINE
//       FETCH, FETCH_CREDIT         ->    the bytes as they are           ->
//                                   <-    the bytes as they are           <-   FETCH_BLOCK, ...
//
// The hub does not look into the bytes: checksums and credit are between A and B. It reads from one side only what the other one takes: at most
// RELAY_BYTES_MAX wait for a side, and RELAYS_BYTES_MAX for all. A side that takes nothing for RELAY_STALL_MS ends its relay, as does a line that does not come.
// Thread: that of the loop.
#ifndef TRANSPORT_RELAYS_H
#define TRANSPORT_RELAYS_H

#include "transport/door.h"

enum {
    RELAY_BYTES_MAX = 512 << 10,  // and one read more
    RELAYS_BYTES_MAX = 64 << 20,  // and one read more of each
    RELAY_STALL_MS = 10000,
};

struct hub;
struct relays;

// NULL with a sentence. `side_bytes_max` 0: RELAY_BYTES_MAX.
struct relays *relays_new(struct hub *hub, size_t side_bytes_max);
void relays_free(struct relays *relays);  // and its guests; before the hub's lines. NULL is fine

// Welcomes a proven guest that came for files of the peer with that number, or refuses it: NOT_FOUND, the peer is gone.
void relays_adopt(struct relays *relays, struct guest *guest, uint64_t number);

// To be called about ten times a second, with the time that the process has lived (transport/lived.h).
void relays_tick(struct relays *relays, uint64_t now_ms);

size_t relays_bytes_max(const struct relays *relays);       // that wait for one side now, at most
uint64_t relays_passed_bytes(const struct relays *relays);  // of files, in all

#endif
