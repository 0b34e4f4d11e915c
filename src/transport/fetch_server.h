// fetch_server: serves files to guests of a door. Memory: one buffer of two blocks for each guest that is slower than the disk, and no
// more than FETCH_SERVER_BYTES_MAX together; others wait. Files are read by the thread of the loop: a slow disk delays everything
// else there, so a process that serves much gives this a loop of its own.
#ifndef TRANSPORT_FETCH_SERVER_H
#define TRANSPORT_FETCH_SERVER_H

#include "transport/door.h"
#include "transport/fetch_serve.h"

enum { FETCH_SERVER_BYTES_MAX = 64 << 20, FETCH_GUEST_BYTES_MAX = 2 * FETCH_BLOCK_BYTES };

struct fetch_server;

struct fetch_server *fetch_server_new(const struct fetch_files *files);  // NULL with a sentence
void fetch_server_free(struct fetch_server *server);  // and its guests; NULL is fine

// Welcomes a proven guest that came for files.
void fetch_server_adopt(struct fetch_server *server, struct guest *guest);

// Serves guests that had to wait for memory. To be called now and then.
void fetch_server_tick(struct fetch_server *server);

#endif
