// store: the port to where bytes of inputs lie. Code that reads an input sees an open file with these calls, and not which of them it is:
//
//     plain   a file of this machine (plain.c)
//     lent    one of another machine, whose bytes come when they are asked for (lent.h)
//     hdfs    one in Hadoop's file system (hdfs/input.h)
//
// A read is one indirect call and no copy more than without the port. Thread: an open file belongs to one thread.
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "sys/file/file.h"

struct hdfs_input;
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

#endif
