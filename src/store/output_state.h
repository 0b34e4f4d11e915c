// What output.c (opening and counting), output_commit.c, output_far.c (places that are not on this machine), output_resume.c (directories
// that a later run continues), output_claim.c and output_tidy.c share.
#ifndef STORE_OUTPUT_STATE_H
#define STORE_OUTPUT_STATE_H

#include "store/manifest.h"
#include "store/output.h"
#include "store/store.h"

enum target_kind { TARGET_FILE, TARGET_DIRECTORY, TARGET_NULL, TARGET_STREAM };

struct planned_piece {
    uint64_t bytes, records;
    uint32_t crc32c;
    uint32_t part;
    bool is_committed;
};

struct output {
    enum target_kind kind;
    bool force, is_finished;
    bool may_resume;  // the temporary directory has a name that the next run finds
    bool drops_empty;
    bool has_target;  // the directory exists already: see output_check_done
    bool keeps_unfinished;
    const struct manifest *origin;
    bool has_left_out;
    bool has_temporary;  // it was made
    char *shown;         // the target as the user gave it, for errors
    char *target;        // FILE, DIRECTORY: links followed, no slash at the end
    char *temporary;     // FILE, DIRECTORY: what the worker writes
    int temporary_fd;    // FILE: keeps it locked, see output_tidy.c; -1: not made
    char *job_name;
    char *claim;     // the lock file of a server; NULL: not taken
    int claim_fd;    // while there is one
    char suffix[8];  // of part files
    struct output_place place;
    int to;                 // NULL, STREAM: where the answer goes
    struct copier *copier;  // STREAM
    struct output_far *
        far;  // FILE, DIRECTORY: where the answer goes from `temporary`; NULL: it stays on this machine
    void (*halted)(void *owner);
    void *halted_owner;

    struct planned_piece *pieces;
    uint32_t piece_count, part_count;
    uint32_t prefix_count;  // pieces from the first on that are all committed
    uint64_t prefix_bytes;
    uint64_t bytes, records;
};

// Makes the name beside the target that the worker writes to.
MUST_CHECK weft_err output_name_temporary(struct output *output);

MUST_CHECK weft_err output_refuse_existing(struct output *output);
MUST_CHECK weft_err output_refuse_others(const struct output *output);

// Whether an earlier output has made a file of that name: the manifest knows its parts. A directory or a link is
// the user's own, whatever it is called.
bool output_is_made(const struct manifest *manifest, const char *name, enum file_kind kind);

// --force must never cost more than an earlier answer: `-o ~/` is easily typed.
MUST_CHECK weft_err output_check_replaceable(const struct output *output);

MUST_CHECK weft_err output_commit_file(struct output *output);
MUST_CHECK weft_err output_commit_directory(struct output *output);

// The sentence of the run's failure stays.
void output_remove_temporary(const struct output *output);

// ---- Places that are not on this machine: the answer is made here, below --tmp, and put there part by part

MUST_CHECK weft_err output_far_open(struct output *output, const struct output_options *options);
// The directory or file there, under a hidden name: so a place where nothing can be written is found out before any work.
MUST_CHECK weft_err output_far_plan(struct output *output);
// A piece of the part was committed.
MUST_CHECK weft_err output_far_note(struct output *output, uint32_t part);
bool output_far_is_idle(const struct output *output);
// As manifest_verify; the place has checksums of its own, so only sizes are compared.
MUST_CHECK weft_err output_far_verify(const struct output *output, struct manifest *manifest);
// The content of `temporary` becomes visible there, and goes here.
MUST_CHECK weft_err output_far_commit(struct output *output);
// Whether the whole part is there already, by an earlier run whose journal has its pieces: then it needs no file here.
bool output_far_has_part(const struct output *output, uint32_t part, uint64_t bytes);
bool output_far_is_there(const struct output *output, uint32_t part);
// After all parts were asked for: those that no journal has go.
MUST_CHECK weft_err output_far_remove_rest(const struct output *output);
// What only a run that continues an answer needs; in one that is finished.
void output_far_remove_work(const struct output *output);
void output_far_abort(const struct output *output);
void output_far_free(struct output_far *far);  // NULL is fine

// The name that the next run of the same command finds.
MUST_CHECK weft_err output_name_unfinished(struct output *output);

// A hidden name beside the target: .TARGET.weft-WHAT. The caller frees it.
MUST_CHECK weft_err output_name_beside(const struct output *output, const char *what, char **name);

// ALREADY_EXISTS while a server works on the same target.
MUST_CHECK weft_err output_check_server(const struct output *output);
void output_let_go(struct output *output);

// Removes the mark of a server that was killed. Leaves that of one which works.
void output_tidy_claim(struct output *output);

// Removes the unfinished FILEs of runs that were killed. Leaves those of runs that work.
void output_tidy_left(const struct output *output);

// What the answer was made by and from, into a manifest.
MUST_CHECK weft_err output_copy_origin(struct manifest *manifest, const struct output *output);

// Removes from a finished directory the files that only a continued run would need.
void output_remove_work(const char *directory);

#endif
