// cache: what this machine keeps of other machines, by the SHA-256 of its content, so that it need not come twice: files, and directories
// that were unpacked from one; and private directories for jobs that are under way.
//
//     ${XDG_CACHE_HOME:-~/.cache}/weft/KIND/        0700
//         3a7bd3e2...                                a file by its hash, 0500; its time is that of its last use
//         9c56cc51.../                               a tree: a directory by the hash of the file that it was made of
//             info                                   its size and a text; its time is that of the last use, it is locked while in use
//             tree/                                  the unpacked files
//         jobs/4f1c9a.../                            the directory of a job; removed at its end
//         jobs/4f1c9a....lock                        locked while its process lives
//
// Nothing in it is trusted for its name: a file that is taken is hashed again, whichever process put it there. A tree is not hashed
// again, which would take longer than the start of its programs: it was made of bytes that were hashed, in a directory of ours.
// Links are not followed, and what belongs to other users, or what others may write to, is not used. All processes of one user
// share it. Thread: any; files may be taken and kept by several threads and processes at once.
#ifndef STORE_CACHE_CACHE_H
#define STORE_CACHE_CACHE_H

#include "store/cache/digest.h"

// A kind of cache: a directory of its own, in which the entries used last are kept, of at most that size together and not older.
struct cache_kind {
    const char *folder;
    const char *what;     // it keeps: "the code of jobs"
    const char *command;  // that a user calls with another directory: "weft client ..."
    uint64_t bytes_max;
    uint32_t days_max;
};

extern const struct cache_kind cache_of_code;  // 1 GiB, 30 days

struct cache;

// Opens or makes it; removes the directories of jobs whose processes were killed, and entries beyond the limits. `directory` is for tests; NULL: the
// one above. PERMISSION_DENIED: it is a place that others can write to. FAILED_PRECONDITION: there is no home.
MUST_CHECK weft_err cache_open(const struct cache_kind *kind, const char *directory,
                               struct cache **cache);
void cache_close(struct cache *cache);  // NULL is fine

// Opens the file with that content for reading. NOT_FOUND: it is not kept, or another content was kept there and is removed.
MUST_CHECK weft_err cache_find(struct cache *cache, const struct digest *digest, int *fd);

// Keeps a file, which the caller has hashed after its last change, and takes its name away. It must be on the cache's file
// system, in a job's directory.
MUST_CHECK weft_err cache_keep(struct cache *cache, const struct digest *digest, const char *path);

// Removes the least recently used entries until the limits hold. A file that a job uses, by another name, stays, and so does a tree in use.
void cache_prune(struct cache *cache, uint64_t bytes_max, uint32_t days_max);

// ---- Trees

// A tree that is in use: it is not removed until cache_release_tree, or the end of the process.
struct cache_tree {
    char *path;  // of the unpacked files, absolute
    int info;    // locked, for us to read
};

// Finds it and marks it as used now. NOT_FOUND: it is not kept, or not for us.
MUST_CHECK weft_err cache_find_tree(struct cache *cache, const uint8_t sha256[SHA256_BYTES],
                                    struct cache_tree *tree);
void cache_release_tree(struct cache_tree *tree);  // one that was never found is fine

// Keeps a directory with a tree/ in it, of that size, and takes its name away: it must be in a job's directory. `text` becomes the content
// of `info`, after its first line. One that another process has kept in the meantime stays, and this one remains where it is.
MUST_CHECK weft_err cache_keep_tree(struct cache *cache, const uint8_t sha256[SHA256_BYTES],
                                    const char *path, uint64_t bytes, const char *text);

// The text of cache_keep_tree; the caller frees it.
MUST_CHECK weft_err cache_read_tree(const struct cache_tree *tree, char **text);

// ---- The directory of a job

struct cache_job {
    char *path;  // absolute; NULL: none
    char *lock_path;
    int lock;
};

// Makes an empty one, for us alone. cache_close_job in every case, which removes it with everything in it.
MUST_CHECK weft_err cache_open_job(struct cache *cache, struct cache_job *job);
void cache_close_job(struct cache_job *job);

#endif
