// fetch_pack: whether blocks are compressed on their way, and the compressing. By lz4, block by block.
//
// It pays when the link is slow and the bytes shrink: compressing a byte and sending the rest of it takes less time than sending it. The rate of the
// link is measured while bytes wait for it, that of the compressor and the ratio with the blocks themselves. A link for which nothing ever waits is fast
// enough. A link may only seem slow, where the other side is: so the gain is measured, too, and compressing that does not make the bytes of the file
// arrive sooner ends, and is tried again ever more rarely. Pure state but for the clock that the compressor is measured with. Thread: one owner.
#ifndef TRANSPORT_FETCH_PACK_H
#define TRANSPORT_FETCH_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fetch_packing {
    FETCH_PACK_NEVER,  // the other side is on this machine
    FETCH_PACK_MEASURED,
    FETCH_PACK_ALWAYS,  // for tests
};

enum {
    FETCH_PACK_PROBE_BLOCKS = 64,  // while it does not pay, one of that many is compressed to see
    FETCH_PACK_ON_PERCENT = 80,    // of the time without: it begins below this,
    FETCH_PACK_OFF_PERCENT = 90,   // and ends above
    FETCH_PACK_SPAN_BYTES = 1 << 20,  // of a file, after which its rate is looked at
    FETCH_PACK_TRIAL_SPANS = 3,       // with compressing, before its rate is compared
    FETCH_PACK_GAIN_PERCENT = 110,    // of the rate without: less than that is not worth it
    FETCH_PACK_REST_SPANS = 16,       // without, until it is tried again; doubled each time up to
    FETCH_PACK_REST_SPANS_MAX = 4096,
};

// Starts zeroed but for `packing`.
struct fetch_pack {
    enum fetch_packing packing;
    double link_rate;  // bytes per second; 0: not known
    double pack_rate;  // of plain bytes; 0: not known
    double ratio;      // compressed to plain
    uint32_t skipped;  // blocks since the last one that was compressed
    bool is_on;
    double rates[2];      // of bytes of files, without and with compressing; 0: not known
    uint32_t spans;       // with the present state
    uint32_t rest_spans;  // that must pass without; 0: it may be tried
    uint32_t next_rest_spans;
    char *room;  // for one block; NULL: none was compressed yet
};

void fetch_pack_fini(struct fetch_pack *pack);

// That many bytes went over the link in that time, while others waited.
void fetch_pack_note_link(struct fetch_pack *pack, uint64_t bytes, uint64_t ns);
// That many bytes of files were sent in that time, and there was always one more to be sent.
void fetch_pack_note_span(struct fetch_pack *pack, uint64_t bytes, uint64_t ns);
void fetch_pack_note_block(struct fetch_pack *pack, size_t size, size_t packed_size, uint64_t ns);

// Whether the next block is to be compressed: because it pays, or to see whether it would.
bool fetch_pack_is_due(struct fetch_pack *pack);

// Compresses a block of at most FETCH_BLOCK_BYTES; returns its new size, and pack->room has the bytes. 0: its frame would not be shorter, or no memory.
size_t fetch_pack_block(struct fetch_pack *pack, const char *data, size_t size);

// The other side: *plain gets exactly `plain_size` bytes. False: these are not bytes that were compressed so.
bool fetch_unpack_block(const char *data, size_t size, char *plain, size_t plain_size);

#endif
