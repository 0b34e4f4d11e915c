// fetch_server: serves files to guests of a door. Memory: one buffer of two blocks for each guest that is slower than the disk, and no
// more than FETCH_SERVER_BYTES_MAX together; others wait. A guest that takes nothing of what waits for it for FETCH_STALL_MS is
// dropped, so that processes that stand still do not keep this memory from others; its next connection continues. Files are read by the thread of the loop: a slow disk delays everything
// else there, so a process that serves much gives this a loop of its own.
#ifndef TRANSPORT_FETCH_SERVER_H
#define TRANSPORT_FETCH_SERVER_H

#include "transport/door.h"
#include "transport/fetch_serve.h"

enum {
    FETCH_SERVER_BYTES_MAX = 64 << 20,
    FETCH_GUEST_BYTES_MAX = 2 * FETCH_BLOCK_BYTES,
    FETCH_STALL_MS = 10000,
    // A guest that gives credit without end must not keep the loop from the others: more than that between two ticks is sent after the
    // second.
    FETCH_TICK_BYTES_MAX = 256 << 20,
};

struct fetch_server;

struct fetch_server *fetch_server_new(struct fetch_files *files);  // NULL with a sentence
void fetch_server_free(struct fetch_server *server);               // and its guests; NULL is fine

// Welcomes a proven guest that came for files.
void fetch_server_adopt(struct fetch_server *server, struct guest *guest);

// Serves guests that had to wait for memory, and drops those that stall. To be called about ten times a second, with the time that
// the process has lived (transport/lived.h).
void fetch_server_tick(struct fetch_server *server, uint64_t now_ms);

// Bytes that wait to be sent to guests.
size_t fetch_server_buffered_bytes(const struct fetch_server *server);

#endif
