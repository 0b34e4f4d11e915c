// The files that a job's commands bring along (--file): commands run in a directory that has them, by their names without a path; on
// this machine as on the others that work for the job, so that one command line means the same everywhere.
#ifndef CODE_COMMAND_FILES_H
#define CODE_COMMAND_FILES_H

#include "base/err.h"
#include "sys/file/workdir.h"

// Whether the options name files that can be brought along, and commands do not name them by a path that is not there.
// NOT_FOUND, INVALID_ARGUMENT.
MUST_CHECK weft_err command_check_files(const weft_args *args);

// Makes the directory for a run on this machine, in `tmp` (NULL: where temporary files go), with links to the files. Without any
// it makes none: commands run where we are. workdir_close in every case. Thread: as workdir_open.
MUST_CHECK weft_err command_put_files(const weft_args *args, const char *tmp,
                                      struct workdir *workdir);

// Whether the commands can run on other machines: a program that is named by a relative path must be brought along.
// INVALID_ARGUMENT names it and the option.
MUST_CHECK weft_err command_check_travel(const weft_args *args);

#endif
