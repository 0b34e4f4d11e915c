// fetch_serve: the serving side of one connection: requests and credits in, blocks out. No sockets and no clock; files are read.
#ifndef TRANSPORT_FETCH_SERVE_H
#define TRANSPORT_FETCH_SERVE_H

#include "transport/fetch.h"
#include "transport/fetch_files.h"
#include "transport/fetch_pack.h"

// Starts zeroed but for `files` and `pack.packing`.
struct fetch_serve {
    struct fetch_files *files;
    struct fetch_request *requests;  // a ring, made with the first request
    uint32_t first, count;
    uint64_t credit;      // bytes of data that may be sent
    uint64_t data_bytes;  // of files, sent so far
    size_t block_bytes;   // of a block at most; 0: FETCH_BLOCK_BYTES
    struct fetch_pack pack;
};

void fetch_serve_fini(struct fetch_serve *serve);

// Takes a frame of the client. DATA_LOSS, RESOURCE_EXHAUSTED: it breaks the rules, and its connection is to be closed.
MUST_CHECK weft_err fetch_serve_receive(struct fetch_serve *serve, const struct frame *frame);

// Appends answers until `out` has `bytes_max` or more, or nothing more may be sent now.
void fetch_serve_put(struct fetch_serve *serve, struct buf *out, size_t bytes_max);

// Whether fetch_serve_put would append something.
bool fetch_serve_has_more(const struct fetch_serve *serve);

#endif
