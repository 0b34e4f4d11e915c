// journal: a list of events, record by record, so that a process that was killed continues where it was.
//
// One format for all uses. A journal is a directory of append-only segments; records have a
// type that is the caller's business, a sequence number and a checksum. Flushed records survive the
// process, synced ones survive the machine. The layout is drawn in segment.c.
//
// A tail that was only half written is cut off when the journal is opened. Damage that has sound records
// after it is another thing: DATA_LOSS with file and offset, unless the caller would rather continue
// with the good beginning. A wrong record is never handed out.
//
// An owner who waits for the disk all the time says so (syncs_often). The files are then longer than what
// they hold, and old ones are used again; the disk space of a few segments is the price.
//
// Thread: one owner. Process: one at a time, held by a lock; readers need none.
#ifndef STORE_JOURNAL_JOURNAL_H
#define STORE_JOURNAL_JOURNAL_H

#include "base/err.h"

enum {
    JOURNAL_VERSION = 2,                  // the newest; 1 is read, and written where few syncs are
    JOURNAL_KIND_BYTES = 24,              // the name of a kind and its end
    JOURNAL_PAYLOAD_BYTES_MAX = 1 << 28,  // 256 MiB: what a snapshot of anything may have as one
    JOURNAL_SEGMENT_BYTES_DEFAULT = 1 << 24  // a segment is read whole: this bounds the memory
};

struct journal;

struct journal_options {
    uint64_t segment_bytes_max;  // a new segment is begun above it; 0: the default
    size_t
        buffer_bytes;  // records wait in memory up to this size; 0: 64 KiB, or 1 MiB to sync often
    bool keeps_good_prefix;  // damage cuts the journal there instead of failing
    bool syncs_often;        // segments are written ahead, so that a sync is one write of blocks
};

// A record as it was appended; the payload is borrowed during the visit. Failures end the replay.
struct journal_record {
    uint32_t type;
    uint64_t sequence;  // 1, 2, 3, ... of the whole journal; after a snapshot it may begin anew
    weft_bytes payload;
};
typedef weft_err journal_visit_fn(void *owner, const struct journal_record *record);

// What a replay found.
struct journal_found {
    uint64_t record_count;  // handed out
    uint32_t segment_count;
    uint64_t torn_bytes;     // cut off the end: the writer was killed
    uint64_t lost_bytes;     // cut off with keeps_good_prefix
    uint64_t lost_records;   // sound ones among them: of no use without those that are missing
    uint32_t lost_segments;  // that are cut or go
};

// Makes the directory or opens the journal in it, locks it, hands all records to visit in order and is
// ready for more. `kind` says whose journal it is ("run"); the journal of another kind and one that a
// newer weft wrote are FAILED_PRECONDITION, one that is in use is UNAVAILABLE with the process that has
// it. options and found may be NULL.
MUST_CHECK weft_err journal_open(struct journal **journal, const char *directory, const char *kind,
                                 const struct journal_options *options, journal_visit_fn *visit,
                                 void *owner, struct journal_found *found);

// Only looks: no lock, nothing is cut or made, also while another process appends. A directory that
// is missing or holds no journal has no records. NOT_FOUND: it was rewritten during that time, try again.
MUST_CHECK weft_err journal_read(const char *directory, const char *kind,
                                 const struct journal_options *options, journal_visit_fn *visit,
                                 void *owner, struct journal_found *found);

// Damage, as journal_repair shows it before anything is changed. All texts are borrowed during the call.
struct journal_damage {
    const char *why;      // a sentence, with the file and the place in it
    const char *segment;  // the path of the file in which it is
    uint64_t offset;
    struct journal_found found;
    uint64_t kept_bytes;
    const char *copy;  // the directory that will have the files as they are
};

// The caller of a repair. A failure of any of these ends it, and nothing is changed.
struct journal_repairer {
    weft_err (*begin)(void *owner);  // records are handed out from the first on, perhaps again
    journal_visit_fn *visit;         // DATA_LOSS: the record does not fit, which is damage, too
    weft_err (*approve)(void *owner, const struct journal_damage *damage);
    void *owner;
};

// Cuts a journal at its damage, once approve has seen which records are kept and which are lost. The files that are cut or
// go are copied first, to DIR/damaged-N, for us alone. A journal without damage is not changed, and approve
// not called; nor is one that a newer weft wrote, of another kind or in use (as in journal_open), with a file that cannot be
// read, or with no room for the copy. NOT_FOUND: there is no journal. found may be NULL.
MUST_CHECK weft_err journal_repair(const char *directory, const char *kind,
                                   const struct journal_options *options,
                                   const struct journal_repairer *repairer,
                                   struct journal_found *found);

// Flushes, and frees in every case. NULL is fine.
weft_err journal_close(struct journal *journal);

// Adds a record; it waits in memory until flushed, or until the buffer is full. On failure nothing was
// added, and what waits still does: a full disk may be tried again. Any other failure of a write, and of a
// sync whatever it is, is for good: it is unknown what the disk has, and all calls after it give that failure.
// Opening the journal anew shows it.
MUST_CHECK weft_err journal_append(struct journal *journal, uint32_t type, weft_bytes payload);
bool journal_has_failed(const struct journal *journal);  // for good

// Hands what waits to the kernel: it survives kill -9.
MUST_CHECK weft_err journal_flush(struct journal *journal);

// Flushes and waits for the disk: it survives a power cut. Checks its name, too.
MUST_CHECK weft_err journal_sync(struct journal *journal);

// Whether the segment that is written still has its name. DATA_LOSS, for good: it was removed, moved or
// replaced, and a process that opens the journal anew does not find the records.
MUST_CHECK weft_err journal_check_name(struct journal *journal);

// Bytes of records and headers in all segments and waiting, whatever the files are: above some size its owner rewrites it.
uint64_t journal_size(const struct journal *journal);

// Replaces all records by those that snapshot appends, at once: until the moment of a rename the old
// ones are what a reader finds, then the new ones; also when killed in between. On failure, that of
// snapshot included, the old ones stay and the journal continues.
typedef weft_err journal_snapshot_fn(void *owner, struct journal *journal);
MUST_CHECK weft_err journal_rewrite(struct journal *journal, journal_snapshot_fn *snapshot,
                                    void *owner);

// The same beside a journal that syncs often and continues during that time. Start ends the segment; then a child is
// forked (process_fork), in which write brings the snapshot to the disk, and the copy of the journal is of
// no more use; finish, when the child has ended well, puts it in place of the records at the start, and
// cancel forgets it. Until then the old records are what a reader finds. A start that failed, and a finish,
// leave the journal as it was.
MUST_CHECK weft_err journal_rewrite_start(struct journal *journal);
MUST_CHECK weft_err journal_rewrite_write(struct journal *journal, journal_snapshot_fn *snapshot,
                                          void *owner);
MUST_CHECK weft_err journal_rewrite_finish(struct journal *journal);
void journal_rewrite_cancel(struct journal *journal);

#endif
