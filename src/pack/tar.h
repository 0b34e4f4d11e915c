// tar: the format of archives: ustar, with pax headers for what that has no room for. Other forms are read, too: those of GNU tar (long names,
// large sizes).
//
// Written entries have no owner, one time for all, and only the two modes that matter: they depend on nothing but the content.
// Thread: a reader belongs to one.
#ifndef PACK_TAR_H
#define PACK_TAR_H

#include "base/buf.h"
#include "base/err.h"

enum tar_kind {
    TAR_FILE,
    TAR_DIRECTORY,
    TAR_LINK,       // symbolic
    TAR_HARD_LINK,  // `link` is the path of an entry before it
    TAR_OTHER,      // devices, FIFOs, sparse files
};

enum {
    TAR_BLOCK_BYTES = 512,
    TAR_PATH_BYTES_MAX = 4095,
    TAR_END_BYTES = 2 * TAR_BLOCK_BYTES,
};
#define TAR_TIME_S INT64_C(946684800)  // 2000-01-01: zip cannot say earlier than 1980

struct tar_entry {
    const char *path;  // of a reader: borrowed until the next entry; no slash at its end
    const char *link;  // where it leads; NULL: none
    enum tar_kind kind;
    uint64_t size;  // of a file's content
    bool is_executable;
};

// ---- Writing

// The bytes before the content of an entry. Content is followed by zeros up to the next block, the last entry by TAR_END_BYTES of them.
void tar_write_entry(const struct tar_entry *entry, struct buf *buf);
uint64_t tar_pad(uint64_t size);  // the zeros after content of that size

// ---- Reading

// Up to `size` bytes of the archive, fewer only at its end.
typedef weft_err tar_read_fn(void *owner, void *data, size_t size, size_t *got);

struct tar_reader;

// `name` is for sentences; borrowed. NULL: no memory.
struct tar_reader *tar_reader_new(tar_read_fn *read, void *owner, const char *name);
void tar_reader_free(struct tar_reader *reader);

// The next entry; the rest of the one before is skipped. *is_end: there is none. DATA_LOSS: this is not a tar archive, or was cut, or a name
// in it has more than TAR_PATH_BYTES_MAX bytes or a zero. Paths are as they are written: absolute ones and ".." are the caller's to refuse.
MUST_CHECK weft_err tar_reader_next(struct tar_reader *reader, struct tar_entry *entry,
                                    bool *is_end);

// The next bytes of a file's content, fewer only at its end.
MUST_CHECK weft_err tar_reader_read(struct tar_reader *reader, void *data, size_t size,
                                    size_t *got);

// How many bytes of the archive it has read: after tar_reader_next, where the content begins.
uint64_t tar_reader_offset(const struct tar_reader *reader);

#endif
