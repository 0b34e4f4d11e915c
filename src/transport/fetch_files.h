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

const struct fetch_file *fetch_files_find(const struct fetch_files *files,
                                          uint64_t id);  // NULL: no

#endif
