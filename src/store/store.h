// store: the port to where bytes of inputs lie. Code that reads an input sees an open file with these calls, and not which of them it is:
//
//     plain   a file of this machine (plain.c)
//     lent    one of another machine, whose bytes come when they are asked for (lent.h)
//     hdfs    one in Hadoop's file system (hdfs/input.h)
//
// A read is one indirect call and no copy more than without the port. Thread: an open file belongs to one thread.
//
// Answers have a port, too: a place that is not on this machine, into which files are put (hdfs/place.h). Answers on this
// machine need none: workers write where they are to be (output.h).
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "base/buf.h"
#include "sys/file/file.h"

struct hdfs_input;
struct hdfs_locator;
struct lent;
struct store_file;

struct store_calls {
    MUST_CHECK weft_err (*read_at)(struct store_file *file, void *data, size_t size,
                                   uint64_t offset, size_t *got);
    MUST_CHECK weft_err (*stat)(struct store_file *file, struct file_stat *status);
    void (*close)(struct store_file *file);
};

struct store_file {
    const struct store_calls *calls;  // NULL: closed
    const char *name;                 // for sentences; stays the caller's
    int fd;
    uint64_t ahead_end;  // up to there the caller means to read on: for implementations that wait

    // Of lent files.
    struct lent *lent;
    uint64_t next;          // where the last read ended
    uint32_t ahead_blocks;  // to ask for ahead

    struct hdfs_input *hdfs;
};

// Opens a file by its path or URL: one of this machine, or the one that the URL names.
MUST_CHECK weft_err store_open(const char *path, const char *name, struct store_file *file);

// Opens a file of this machine.
MUST_CHECK weft_err store_open_plain(const char *path, const char *name, struct store_file *file);

// The same of a descriptor that stays the caller's: it is not to be closed by store_close.
struct store_file store_plain(int fd, const char *name);

// Up to size bytes at offset, fewer only at the end of the file; *got says how many.
MUST_CHECK static inline weft_err store_read_at(struct store_file *file, void *data, size_t size,
                                                uint64_t offset, size_t *got)
{
    return file->calls->read_at(file, data, size, offset, got);
}

MUST_CHECK static inline weft_err store_stat(struct store_file *file, struct file_stat *status)
{
    return file->calls->stat(file, status);
}

// A file that is closed, or all zeros, is fine.
static inline void store_close(struct store_file *file)
{
    if (file->calls)
        file->calls->close(file);
    file->calls = NULL;
}

// ---- Where bytes are -----------------------------------------------------------------------------------

// By its name and by its number, as the store knows them; "": it does not.
struct store_machine {
    const char *name, *number;
};

// Borrowed.
struct store_stretch {
    uint64_t begin, end;                   // of the file
    const struct store_machine *machines;  // each of which has all of it
    size_t count;
};
typedef weft_err store_stretch_fn(void *owner, const struct store_stretch *stretch);

// Keeps connections from one file to the next.
struct store_locator {
    struct hdfs_locator *hdfs;
};

// Calls take with each stretch of a file whose place is known; of a file on this machine there is none. Thread: one.
MUST_CHECK weft_err store_locate(struct store_locator *locator, const char *path,
                                 store_stretch_fn *take, void *owner);
void store_locator_fini(struct store_locator *locator);  // zeroed is fine

// ---- Places of answers ---------------------------------------------------------------------------------

struct store_place;

// FILE_MISSING is not a failure.
struct store_entry {
    enum file_kind kind;
    uint64_t size;
    uint64_t mtime_ms;  // by the clock of the place
};
typedef weft_err store_visit_fn(void *owner, const char *name, const struct store_entry *entry);

// A stretch of a file of this machine that is to be put somewhere.
struct store_content {
    int fd;
    const char *name;  // for sentences
    uint64_t offset;   // where it begins
    uint64_t bytes;
    uint32_t crc32c;
    bool is_private;       // until it is moved, only its owner may read it
    uint32_t patience_ms;  // with a place that does not take it
};

// Paths are those of the place, not URLs. A place that does not answer is tried again for as long as its patience lasts, unless
// the calling thread is interrupted (sys/thread/interrupt.h); then it is UNAVAILABLE.
struct store_place_calls {
    MUST_CHECK weft_err (*look)(struct store_place *place, const char *path,
                                struct store_entry *entry);
    MUST_CHECK weft_err (*list)(struct store_place *place, const char *path, store_visit_fn *visit,
                                void *owner);
    // A whole file. RESOURCE_EXHAUSTED: it has more than bytes_max.
    MUST_CHECK weft_err (*read)(struct store_place *place, const char *path, size_t bytes_max,
                                struct buf *text);
    // The directories above a path, for all.
    MUST_CHECK weft_err (*make_above)(struct store_place *place, const char *path);
    // For its owner alone, until it is moved; those above it for all.
    MUST_CHECK weft_err (*make_directory)(struct store_place *place, const char *path);
    // Makes the file, with these bytes and no others; one that is there goes. Its size is compared afterwards.
    // DATA_LOSS: the content does not have its checksum, or the size is another one.
    MUST_CHECK weft_err (*put)(struct store_place *place, const char *path,
                               const struct store_content *content);
    // Adds bytes to the end of a file, which is made when it is missing. They begin at `offset`; those that the file has
    // already are left out, so a call that has failed can be repeated. One writer at a time. NOT_FOUND: the file was
    // removed; DATA_LOSS: it is shorter than `offset`.
    MUST_CHECK weft_err (*append)(struct store_place *place, const char *path, uint64_t offset,
                                  weft_bytes bytes);
    // Gives a file or directory another name, and the permissions of the one that it replaces, or the usual ones. ALREADY_EXISTS: the name is taken, and not `replaces`. A
    // directory that is replaced is first moved `aside`.
    MUST_CHECK weft_err (*move)(struct store_place *place, const char *from, const char *to,
                                bool replaces, const char *aside);
    // Gives a file or directory another name and changes nothing else; a file that has the name goes. NOT_FOUND: it is gone.
    MUST_CHECK weft_err (*rename)(struct store_place *place, const char *from, const char *to);
    // With all in it. Missing is fine.
    MUST_CHECK weft_err (*remove)(struct store_place *place, const char *path);
    void (*close)(struct store_place *place);
};

struct store_place {
    const struct store_place_calls *calls;
    const char *path;  // that the URL names; without a slash at its end
};

// Whether a name is one of another store, and not of this machine.
bool store_is_far(const char *name);

// The place that the URL names, with its calls. Thread: one.
MUST_CHECK weft_err store_open_place(const char *url, uint32_t patience_ms,
                                     struct store_place **place);

static inline void store_close_place(struct store_place *place)
{
    if (place)
        place->calls->close(place);
}

#endif
