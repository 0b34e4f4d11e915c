// fetch_server: serves files to guests of a door, and on lines that a hub has asked for (lines.h). Memory: one buffer of two blocks for each guest that is slower than the disk, up to
// FETCH_SERVER_BYTES_MAX, or what the owner gives, together; when that is taken, a short block at a time for each of the others. A guest that takes nothing of what waits for it for FETCH_STALL_MS is
// dropped, so that processes that stand still do not keep this memory from others; its next connection continues. Files are read by the thread of the loop: a slow disk delays everything
// else there, so a process that serves much gives this a loop of its own.
#ifndef TRANSPORT_FETCH_SERVER_H
#define TRANSPORT_FETCH_SERVER_H

#include "transport/dial.h"
#include "transport/door.h"
#include "transport/fetch_serve.h"

enum {
    FETCH_SERVER_BYTES_MAX = 64 << 20,
    FETCH_GUEST_BYTES_MAX = 2 * FETCH_BLOCK_BYTES,
    FETCH_SCARCE_BYTES = 32 << 10,  // of one block, when the memory for all is taken
    FETCH_STALL_MS = 10000,
    // A guest that gives credit without end must not keep the loop from the others: more than that between two ticks is sent after the
    // second.
    FETCH_TICK_BYTES_MAX = 256 << 20,
    FETCH_LINE_MS = 5000,  // a line that has not been welcomed by then is given up
};

struct fetch_server;

// NULL with a sentence. `packs_always`: compresses without measuring, for tests. `bytes_max`: for all guests; 0: FETCH_SERVER_BYTES_MAX.
struct fetch_server *fetch_server_new(struct fetch_files *files, bool packs_always,
                                      size_t bytes_max);
void fetch_server_free(struct fetch_server *server);  // and its guests; NULL is fine

// Welcomes a proven guest that came for files. By `epoch` it knows which server it has met.
void fetch_server_adopt(struct fetch_server *server, struct guest *guest, uint64_t epoch);

// Opens a line, and serves the other side. Calls and owner of the options are ours. A line that cannot be opened, or breaks, is forgotten:
// the other side asks for another one.
// `is_near`: the other side is on this machine.
void fetch_server_open_line(struct fetch_server *server, const struct dial_options *options,
                            bool is_near);

// Serves guests that had to wait for memory, and drops those that stall. To be called about ten times a second, with the time that
// the process has lived (transport/lived.h).
void fetch_server_tick(struct fetch_server *server, uint64_t now_ms);

// Whether a guest has asked for bytes that it has not got yet.
bool fetch_server_is_busy(const struct fetch_server *server);

// Bytes that wait to be sent to guests.
size_t fetch_server_buffered_bytes(const struct fetch_server *server);

#endif
