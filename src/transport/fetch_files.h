// fetch_files: the files that a process serves, by number. Thread: that of the loop that serves them.
#ifndef TRANSPORT_FETCH_FILES_H
#define TRANSPORT_FETCH_FILES_H

#include "base/err.h"

struct fetch_files;

struct fetch_file {
    uint64_t id;
    int fd;         // stays the caller's, open until the file is removed here
    uint64_t size;  // that is served, from offset 0
    char name[64];  // for sentences
};

struct fetch_files *fetch_files_new(void);  // NULL with a sentence
void fetch_files_free(struct fetch_files *files);

// ALREADY_EXISTS: the number is taken. Quick when numbers grow.
MUST_CHECK weft_err fetch_files_add(struct fetch_files *files, const struct fetch_file *file);

// Requests under way fail. A number that is not there is fine.
void fetch_files_remove(struct fetch_files *files, uint64_t id);

// A file that is written to has more now.
void fetch_files_grow(struct fetch_files *files, uint64_t id, uint64_t size);

// More files than can be open at once: those with the numbers below `end` are opened when they are asked for, and closed
// again when others are. `open` fills in the file, whose descriptor is then ours, or fails with a sentence; `check`
// is called after each block that was read. To be set before any such number is asked for.
struct fetch_shelf {
    uint64_t end;
    weft_err (*open)(void *owner, uint64_t id, struct fetch_file *file);
    weft_err (*check)(void *owner, uint64_t id, int fd);
    void *owner;
};
void fetch_files_set_shelf(struct fetch_files *files, const struct fetch_shelf *shelf);
// OK: the bytes that were just read of the file are good.
MUST_CHECK weft_err fetch_files_check(const struct fetch_files *files,
                                      const struct fetch_file *file);

// NOT_FOUND: there is none; others as `open` has them. *file is NULL then, and otherwise good until the next call.
MUST_CHECK weft_err fetch_files_find(struct fetch_files *files, uint64_t id,
                                     const struct fetch_file **file);

#endif
