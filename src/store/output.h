// output: the driver's side of where a job's answer goes. The worker's sink writes the text; this
// says where, keeps count of the committed pieces, and makes the whole visible at once at the end.
//
//   FILE   .FILE.weft-PID-RANDOM beside it, renamed at the end
//   DIR/   .DIR.weft-PID-RANDOM/ beside it with part-00000..., then _manifest.json, then _SUCCESS;
//          renamed at the end. One that may be resumed is called .DIR.weft-unfinished/ instead, has its
//          journal and runs in folders beside the parts, and is left there when the run fails
//   URL    FILE or DIR/ in another store (store.h), made in the directory of --tmp and put there under a hidden name, part
//          by part as they are complete; renamed there at the end
//   stdout a pipe, a terminal, a file: the worker writes to a nameless file, and a thread copies the
//          committed prefix on as it grows, with write(), so that others may write to the same file.
//          A piece reaches stdout only when all before it are committed.
//
// Life: output_open (before any work: refuses), output_plan (when the pieces are known), the worker
// runs with output_place, output_piece_committed for every piece in any order, then output_commit or
// output_abort; output_free. Thread: one owner.
#ifndef STORE_OUTPUT_H
#define STORE_OUTPUT_H

#include "base/err.h"
#include "sys/file/wait_limit.h"

struct output;

struct output_options {
    const char *target;    // NULL or "-": standard output; '/' at its end: a directory
    bool force;            // replace an existing output, when the new one is complete
    const char *tmp;       // for the nameless file, and for answers that go to another store
    const char *job_name;  // for the manifest
    const char *suffix;    // of part files; NULL: none
    bool drops_empty;      // DIR/: parts without a record are not left there
    bool may_resume;       // DIR/: see output_resume_place; an existing one is not refused at once
    bool is_mute;          // the job writes nothing: standard output may be closed
    struct wait_limit wait;  // for the reader of a FIFO
    // Called from another thread when the copying to standard output came to a halt: everything that was
    // committed is out, or the reader left, or it failed. May be NULL. Must not call back in here.
    void (*halted)(void *owner);
    void *owner;
};

enum output_kind { OUTPUT_PLACE_FILE, OUTPUT_PLACE_PARTS, OUTPUT_PLACE_FD };

// The place as the worker gets it (message Output).
struct output_place {
    enum output_kind kind;
    const char *path;  // FILE: the temporary file; PARTS: the temporary directory, made already
    int fd;            // FD: as numbered in this process; the worker must inherit it
};

// Opens the output: an existing one without `force` is ALREADY_EXISTS, and so is one that a server works on; a place that cannot be written
// PERMISSION_DENIED, a missing parent directory NOT_FOUND. With `force` a directory is only accepted
// when it holds nothing but an earlier output. Call it before the inputs are read. *output is NULL on
// failure.
MUST_CHECK weft_err output_open(struct output **output, const struct output_options *options);

// Takes the target for a server alone, until output_free: while it works, every other output_open or output_claim of that target
// is ALREADY_EXISTS. Its clients would work for nothing if another run were faster. Leaves a hidden file beside the target
// until then: from here on a signal must not end the process without output_free. Nothing happens for standard output.
MUST_CHECK weft_err output_claim(struct output *output);

// Whether a target means standard output.
bool output_is_stdout(const char *target);

// The pipe or socket whose reader the answer is for; 0: there is none.
int output_answer_fd(const struct output *output);

// What this run writes, or replaces at its end: up to OUTPUT_OWN_MAX paths, which need not be there. Returns
// how many. Borrowed.
enum { OUTPUT_OWN_MAX = 3 };
size_t output_list_own(const struct output *output, const char *paths[OUTPUT_OWN_MAX]);

// ---- Resuming (DIR/ with may_resume)

#define OUTPUT_JOURNAL ".weft-journal"  // folders in the unfinished directory
#define OUTPUT_TOKEN "token"  // in the folder of the journal: nothing that travels with it
#define OUTPUT_RUNS ".weft-runs"
#define OUTPUT_PARTS ".weft-parts"  // that are being written by others

// The unfinished directory, which may be there from an earlier run; NULL when nothing can be resumed.
const char *output_resume_place(const struct output *output);

// Makes that directory. One that was not there yet goes away again when the run fails. Removes the rest of one that a run was
// killed while it threw it away.
MUST_CHECK weft_err output_make_unfinished(struct output *output);

// Removes that directory, which this run must have locked: at once for everybody else, who may be waiting to make
// one of that name. Until it is gone it is called .DIR.weft-discarded.
MUST_CHECK weft_err output_discard_unfinished(const struct output *output);

// Another run is at work there: this run gets a directory of its own and cannot be resumed.
MUST_CHECK weft_err output_work_aside(struct output *output);

// What the answer is made by and from, for the manifest. Borrowed; before output_commit.
struct manifest;
void output_set_origin(struct output *output, const struct manifest *origin);

// The answer lacks records that were bad: a user that does not allow that must not take it for the whole one.
void output_set_left_out(struct output *output);

// What to do with a target that exists already: it is the finished answer of the same job over the same
// inputs, whole and unchanged (*is_done), or it is refused by ALREADY_EXISTS with what differs; with `force`
// it will be replaced. One that lacks bad records is taken only if may_lack. No target: *is_done is false.
MUST_CHECK weft_err output_check_done(struct output *output, bool may_lack, bool *is_done);

// Removes what a run that was killed in its last moment has left in the finished target.
void output_tidy_done(struct output *output);

// Of an answer in another store: another process may have begun it, on this machine or another one, and not ended it. find comes after
// output_set_origin and changes nothing, but may wait for a few seconds to see whether that process works; bring puts its journal into
// the unfinished directory, before that is opened; output_plan takes its parts over. Where there is none nothing happens.
MUST_CHECK weft_err output_find_earlier(struct output *output);
MUST_CHECK weft_err output_bring_earlier(struct output *output);

// A piece of the answer that is written and committed.
struct output_piece {
    uint64_t bytes, records;
    uint32_t crc32c;
    bool is_done;
};

// Looks at the pieces that an earlier run has left, all of the plan: a piece that is not there as the journal has it is
// no longer done, nor are those after it in its part, since where a piece lies follows from those before it.
MUST_CHECK weft_err output_check_pieces(const struct output *output, struct output_piece *pieces);

// The failed run has made something that the next one can use: output_abort leaves the directory.
void output_keep_unfinished(struct output *output);

// The pieces of the last stage: which part each belongs to (increasing). Once, before the worker is
// sent the place. `part_of_piece` is copied; NULL: all in part 0. Makes the temporary file or directory:
// from here on a signal must not end the process without output_abort.
MUST_CHECK weft_err output_plan(struct output *output, uint32_t part_count, uint32_t piece_count,
                                const uint32_t *part_of_piece);

// Where the worker writes; borrowed, lives as long as the output.
const struct output_place *output_place(const struct output *output);

// A piece is completely written and will never be written again. In any order, once each.
MUST_CHECK weft_err output_piece_committed(struct output *output, uint32_t piece, uint64_t bytes,
                                           uint32_t crc32c, uint64_t records);

// The reader of stdout closed it (`| head`): the run should end quietly, exit 0.
bool output_reader_left(const struct output *output);

// Everything committed so far has left this process; output_commit will not wait.
bool output_is_drained(const struct output *output);

// How many bytes of the answer have reached stdout for good; 0 for FILE and DIR/. After a failure
// with more than 0 the user sees that the output is cut.
uint64_t output_bytes_out(const struct output *output);

// The committed bytes so far, in all parts.
uint64_t output_bytes(const struct output *output);
uint64_t output_records(const struct output *output);

// The end of a good run: waits for the copying, renames into place. Without `force`, a target that
// appeared in the meantime is ALREADY_EXISTS and stays as it is. After a failure call output_abort.
MUST_CHECK weft_err output_commit(struct output *output);

// The end of a bad one: temporary files go; what has reached stdout stays. Harmless after output_commit.
// Does not wait for a reader.
void output_abort(struct output *output);
void output_free(struct output *output);  // aborts first when neither was called

#endif
