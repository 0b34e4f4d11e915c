// packet: the layout of what a data node sends. Pure. Thread: any.
//
//   size    4 bytes, the largest first: its own 4, the checksums and the data
//   header  2 bytes for its size, then a message
//   checksums of chunks, 4 bytes each, then the data
#ifndef STORE_HDFS_PACKET_H
#define STORE_HDFS_PACKET_H

#include "base/err.h"

enum {
    PACKET_FRONT_BYTES = 6,
    PACKET_HEADER_BYTES_MAX = 1024,
    PACKET_DATA_BYTES_MAX = 16 << 20,  // Hadoop's own limit
};

enum packet_checksum { PACKET_PLAIN = 0, PACKET_CRC32 = 1, PACKET_CRC32C = 2 };

struct packet {
    uint64_t offset;  // in the block
    uint32_t checksum_bytes, data_bytes;
    bool is_last;
};

// The sizes of PACKET_FRONT_BYTES. DATA_LOSS: they are none.
MUST_CHECK weft_err packet_read_front(const char front[PACKET_FRONT_BYTES], uint32_t *packet_bytes,
                                      uint16_t *header_bytes);
// The header, compared with the size of the packet, and with the checksums that its data must have.
MUST_CHECK weft_err packet_read_header(weft_bytes header, uint32_t packet_bytes,
                                       enum packet_checksum checksum, uint32_t chunk_bytes,
                                       struct packet *packet);
// Whether all checksums are right.
bool packet_is_sound(enum packet_checksum checksum, uint32_t chunk_bytes, const char *checksums,
                     const char *data, size_t size);

#endif
