// pack: makes the archive of an environment, named by its hash. Thread: one owner; it starts others.
#ifndef PACK_PACK_H
#define PACK_PACK_H

#include "pack/label.h"

enum { PACK_LEVEL = 3 };

struct pack_options {
    const char *source;  // a directory, a venv, a pex or a tar archive
    const char *output;  // the archive; a directory, or NULL for this one: NAME-HASH.tar.zst in it
    const char *const *excludes;  // ended by NULL; NULL: none
    bool keeps_all;               // leaves nothing out by default
    int level;                    // of zstd; 0: PACK_LEVEL
    uint32_t threads;             // 0: those that the cores can keep busy
    bool (*is_cancelled)(void);   // asked now and then; NULL: it is not
};

struct packed {
    char *path;  // of the archive
    char hash[65];
    struct label label;
    uint64_t size;      // of the archive
    uint64_t left_out;  // files and directories
    char **notes;       // what the user should know of; NULL: none
    size_t note_count;
};

// The same content gives the same bytes and the same hash, by the same version of weft. The archive appears when it is complete; one that is there with
// the same name is replaced. INVALID_ARGUMENT: this cannot be packed, and the sentence has what to do. NOT_FOUND, PERMISSION_DENIED,
// RESOURCE_EXHAUSTED, CANCELLED.
MUST_CHECK weft_err pack_make(const struct pack_options *options, struct packed *packed);
void packed_fini(struct packed *packed);

#endif
