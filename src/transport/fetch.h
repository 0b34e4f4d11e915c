// fetch: bytes of files that another process serves, over a connection that carries nothing else.
//
//     client                                                     server
//       FETCH_CREDIT  u64 bytes                             ->        it may send that many bytes of data more
//       FETCH         u64 request, file, offset, size       ->        many may be under way
//                  <- FETCH_BLOCK   u64 request, offset, checksum; data, at most FETCH_BLOCK_BYTES
//                  <- FETCH_PACKED  u64 request, offset, checksum, u32 size; its data, compressed (fetch_pack.h), and shorter
//                  <- FETCH_FAILED  u64 request, u32 code; sentence: this request only
//
// All numbers are little-endian. Requests are answered in their order, each by the blocks of its bytes in theirs. The offset is that in
// the file; the checksum is XXH3 (64 bits) of the data as it is in the file, and credit is for such bytes, too. The data of a FETCH_BLOCK is raw: the server reads it into the stream's buffer, the client
// writes it from the buffer of the socket to its place.
#ifndef TRANSPORT_FETCH_H
#define TRANSPORT_FETCH_H

#include "wire/frame.h"

enum {
    FETCH_BLOCK_BYTES = 256 << 10,
    FETCH_BLOCK_HEAD_BYTES = 24,
    FETCH_PACKED_HEAD_BYTES = 28,
    FETCH_REQUEST_BYTES = 32,
    FETCH_CREDIT_BYTES = 8,
    FETCH_FAILED_HEAD_BYTES = 12,
    FETCH_REQUESTS_MAX = 1024,     // of one connection under way
    FETCH_WINDOW_BYTES = 8 << 20,  // of data on its way to a client: 10 Gbit/s over 6 ms
    FETCH_SENTENCE_BYTES_MAX = 1024,
};

struct fetch_request {
    uint64_t request, file, offset, size;
};

struct fetch_block {
    uint64_t request, offset, checksum;
};

// The beginning of these frames as they are in memory: the same on every machine that weft runs on.
_Static_assert(sizeof(struct fetch_request) == FETCH_REQUEST_BYTES, "as on the wire");
_Static_assert(sizeof(struct fetch_block) == FETCH_BLOCK_HEAD_BYTES, "as on the wire");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers go as they are");

#endif
