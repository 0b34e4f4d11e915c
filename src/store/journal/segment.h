// A segment of a journal as bytes: its header and its records, checked. Pure: no files, no memory.
#ifndef STORE_JOURNAL_SEGMENT_H
#define STORE_JOURNAL_SEGMENT_H

#include "base/buf.h"
#include "store/journal/journal.h"

enum { SEGMENT_HEADER_BYTES = 64, SEGMENT_RECORD_BYTES = 20 };
enum { SEGMENT_GROWS = 1, SEGMENT_IS_PREWRITTEN = 2 };  // the versions

struct segment_header {
    uint32_t version;
    uint64_t number;          // as in the file's name
    uint64_t first_sequence;  // of its first record
    uint64_t whole_bytes;     // its size when it got its name, all of it a snapshot; 0: no snapshot
    char kind[JOURNAL_KIND_BYTES];
};

void segment_write_header(char *to, const struct segment_header *header);

// The salt of the records in a segment; 0: the version has none.
uint64_t segment_salt(const struct segment_header *header);

// Appends a record; false: out of memory, and nothing is appended. begins_commit: all records
// before it are on the disk. It needs a salt.
bool segment_append(struct buf *buf, uint64_t salt, bool begins_commit,
                    const struct journal_record *record);

// Whether the file was made and its header not yet written, or not all of it: the end of a journal.
bool segment_is_unbegun(weft_bytes bytes);

// Reads the header. FAILED_PRECONDITION: a newer version; DATA_LOSS: it is damaged. `path` is for the
// sentence.
MUST_CHECK weft_err segment_read_header(weft_bytes bytes, const char *path,
                                        struct segment_header *header);

// Where a walk over the records is.
struct segment_walk {
    weft_bytes bytes;
    size_t at;
    uint64_t sequence;  // that the next record must have
    uint64_t salt;
};

// The next record; false at the end, or where no sound record stands: then at < bytes.size.
bool segment_next(struct segment_walk *walk, struct journal_record *record);

// Whether something after the place where a walk ended says that more was there: then that is damage,
// and no torn tail. It is a sound record of this segment; where there is a salt only one that begins a
// commit, as the parts of the last commit reach the disk in any order.
bool segment_has_more(const struct segment_walk *walk);

// How much after that place seems to have been written in this life of the segment; 0: it ends cleanly,
// before zeros or before what an older life left. Adds to *count the sound records among it; NULL is fine.
size_t segment_torn_bytes(const struct segment_walk *walk, uint64_t *count);

#endif
