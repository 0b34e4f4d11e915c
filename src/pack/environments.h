// environments: archives of `weft pack`, unpacked on this host, once each, by the hash of the archive.
//
// A program that has to run with an environment asks by its hash. When this host has it, it is there at once, for all processes of the
// user; when not, the caller gets the archive's bytes from somewhere, in order, and hands them over:
//
//     struct environments *all;
//     struct environment env;
//     weft_err code = environments_open(NULL, &all);
//     code = environments_find(all, hash, &env);              // have
//     if (code == WEFT_NOT_FOUND) {                           // want
//         struct environment_intake *intake;
//         code = environment_intake_new(all, hash, &intake);
//         while (there are bytes) code = environment_intake_put(intake, data, size);
//         code = environment_intake_end(intake, &env);        // compares the hash, unpacks, finds
//         environment_intake_free(intake);
//     }
//     ... start programs; env.directory is theirs until environment_release, or the end of this process
//
// They are kept in ${XDG_CACHE_HOME:-~/.cache}/weft/environments (store/cache/cache.h), 0700: those used last, 20 GiB and 30
// days. One that is in use stays. Two processes may take in the same one at once: both unpack it, the first one counts. A process that is
// killed leaves files that the next environments_open removes; a directory that is found is always complete.
// Thread: any; an intake belongs to one. environments_open, environment_intake_end and the functions that free may
// take seconds: not for the thread of an event loop.
#ifndef PACK_ENVIRONMENTS_H
#define PACK_ENVIRONMENTS_H

#include "base/buf.h"
#include "base/err.h"
#include "pack/label.h"

struct environments;
struct environment_intake;

struct environment {
    char *directory;     // absolute: the root of the packed files
    char *hash;          // 64 hexadecimal digits
    struct label label;  // its kind and size
    int lock;            // internal
};

// Opens or makes the place. `directory` NULL: the one above. Errors: those of cache_open.
MUST_CHECK weft_err environments_open(const char *directory, struct environments **environments);
void environments_close(struct environments *environments);  // NULL is fine

// INVALID_ARGUMENT: this is not a hash. NOT_FOUND: this host does not have it.
MUST_CHECK weft_err environments_find(struct environments *environments, const char *hash,
                                      struct environment *environment);
void environment_release(struct environment *environment);  // one that was never found is fine

MUST_CHECK weft_err environment_intake_new(struct environments *environments, const char *hash,
                                           struct environment_intake **intake);

// The next bytes of the archive. RESOURCE_EXHAUSTED: the disk is full. After a failure it only fails.
MUST_CHECK weft_err environment_intake_put(struct environment_intake *intake, const void *data,
                                           size_t size);

// All bytes have been put. DATA_LOSS: they do not have that hash, or are not an archive of weft pack; nothing of them is kept.
MUST_CHECK weft_err environment_intake_end(struct environment_intake *intake,
                                           struct environment *environment);
void environment_intake_free(struct environment_intake *intake);  // at any time; NULL is fine

// The same for an archive that lies here as a file: *environment has its hash.
MUST_CHECK weft_err environments_take_file(struct environments *environments, const char *path,
                                           struct environment *environment);

// Appends what a program started with the environment needs in its own variables, as "NAME=value" ended by a zero each: WEFT_ENVIRONMENT (the directory),
// PATH with its bin/ or with the directory in front of `path` (NULL: none), VIRTUAL_ENV for a venv.
void environment_append_variables(const struct environment *environment, const char *path,
                                  struct buf *variables);

#endif
