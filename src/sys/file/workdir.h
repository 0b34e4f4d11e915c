// workdir: a directory for other people's commands to run in, which is gone afterwards, however we end.
//
// It is removed by workdir_close. When this process is killed (kill -9 too), a small process that does
// nothing but wait for that removes it, and ends. Thread: the one that opened it, while it is the only one
// of the process.
#ifndef SYS_FILE_WORKDIR_H
#define SYS_FILE_WORKDIR_H

#include "base/err.h"

#include <sys/types.h>

struct workdir {
    char *path;  // absolute; NULL: none is open
    int alive;   // the keeper's sign that we live; -1: none
    pid_t keeper;
};

// Makes an empty directory in `tmp`. workdir_close in every case.
MUST_CHECK weft_err workdir_open(struct workdir *workdir, const char *tmp);
void workdir_close(struct workdir *workdir);

// Puts a file or directory under that name (no slash in it) into the directory: as a link, or with
// `as_program` as a copy that may be executed, when the file itself may not. A name that is taken is
// ALREADY_EXISTS, a path that leads nowhere NOT_FOUND.
MUST_CHECK weft_err workdir_add(struct workdir *workdir, const char *path, const char *name,
                                bool as_program);

// The path made absolute, without looking at it; the caller frees it. NULL with the error set.
char *workdir_absolute(const char *path);

#endif
