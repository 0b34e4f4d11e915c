// weft.h: the public interface of Weft. A program that includes it and links with -lweft is a job:
// the same binary is the driver a person starts and the worker that runs the map and reduce functions.
//
// Conventions: 0 (WEFT_OK) is success, weft_error() returns the message of this thread's last failure.
// Bytes handed to a callback are borrowed until it returns; emitted bytes are copied. Zero fields of an
// options struct mean the sensible default. Names that end in an underscore are for the inline functions of
// this header, not for you. Little-endian machines take the fast paths. Clusters are in <weft/cluster.h>, which
// this header includes.
//
// A program that was built with the header of 0.1.0 runs with every later 0.1.x. Structs grow only at their end:
// the functions that end in _sized are given the size that the program was built with, and the inline functions
// beside them give it. All jobs that a program passes to one call must be built with the same header. weft_bytes,
// weft_tensor, weft_words and weft_task never change.
#ifndef WEFT_H
#define WEFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_VERSION_MAJOR 0
#define WEFT_VERSION_MINOR 1
#define WEFT_VERSION_PATCH 0

#define WEFT_API __attribute__((visibility("default")))

// Define WEFT_NO_FAST_PATH before you include this header to run the program in Valgrind. weft_emit_int loads eight bytes
// of a shorter key at once, which is harmless but looks like an error there. The sanitizers of gcc and clang define it by
// themselves. The library itself reads only the bytes that it is given.
#ifndef WEFT_NO_FAST_PATH
#if defined(__SANITIZE_ADDRESS__)
#define WEFT_NO_FAST_PATH 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define WEFT_NO_FAST_PATH 1
#endif
#endif
#endif

// The version of the library at run time, such as "0.1.0".
WEFT_API const char *weft_version(void);

// ---- Errors -----------------------------------------------------------------------------------

typedef enum weft_err {
    WEFT_OK = 0,
#define WEFT_ERROR(name, number, exit_code, words) WEFT_##name = number,
#include <weft/errors.def>
#undef WEFT_ERROR
} weft_err;

// The message of this thread's last failure; "" when there was none. Valid until the next call.
WEFT_API const char *weft_error(void);

// The name of a code, such as "NOT_FOUND"; "OK" for WEFT_OK.
WEFT_API const char *weft_err_name(weft_err code);

// A log receives the library's lines for the user of the program: warnings and failures of runs, the lines of
// show_progress, and the failure that weft_leave reports. The function is called with each line, without its end, by the
// thread that has it, and the library itself prints nothing. NULL: no log, as at the beginning. Then weft_leave writes to
// standard error, so does a run with show_progress, and other runs write nothing: weft_run_wait returns their failure.
// weft_main and the functions of jobs, which run in processes of their own, always use standard error.
typedef void weft_log_fn(void *data, const char *line);
WEFT_API void weft_set_log(weft_log_fn *log, void *data);

// ---- Bytes ------------------------------------------------------------------------------------

// Borrowed bytes: no terminating zero, any content.
typedef struct weft_bytes {
    const char *data;
    size_t size;
} weft_bytes;

static inline weft_bytes weft_text(const char *text)
{
    weft_bytes bytes = {text, text ? strlen(text) : 0};
    return bytes;
}

// "No value": a pair emitted with it is written as its key alone, without a TAB.
static inline weft_bytes weft_none(void)
{
    weft_bytes bytes = {NULL, 0};
    return bytes;
}

// Takes the next line (without its end) off a block of text; false when the block is empty.
static inline bool weft_next_line(weft_bytes *block, weft_bytes *line)
{
    if (block->size == 0)
        return false;
    const char *end = (const char *)memchr(block->data, '\n', block->size);
    line->data = block->data;
    line->size = end ? (size_t)(end - block->data) : block->size;
    const size_t taken = line->size + (end ? 1 : 0);
    block->data += taken;
    block->size -= taken;
    return true;
}

// The words of a text, found a batch at a time at the speed of the vector unit. A word is a maximal
// run of bytes that are not ASCII white space (space, \t, \n, \v, \f, \r).
enum { WEFT_WORDS_PER_BATCH = 512 };

typedef struct weft_words {
    weft_bytes rest;    // not yet split
    const char *base_;  // starts_ and ends_ count from here
    uint32_t next_, count_;
    uint16_t starts_[WEFT_WORDS_PER_BATCH + 64], ends_[WEFT_WORDS_PER_BATCH + 64];
} weft_words;

// Splits the next batch of words->rest and takes its first word; false when no word is left.
WEFT_API bool weft_words_refill_(weft_words *words, weft_bytes *word);

// Starts at the beginning of the text, which must stay in place while words are taken.
static inline void weft_words_init(weft_words *words, weft_bytes text)
{
    words->rest = text;
    words->next_ = words->count_ = 0;
}

// The next word; false when there is none.
static inline bool weft_next_word(weft_words *words, weft_bytes *word)
{
    if (__builtin_expect(words->next_ == words->count_, 0))
        return weft_words_refill_(words, word);
    const uint32_t i = words->next_++;
    word->data = words->base_ + words->starts_[i];
    word->size = (size_t)words->ends_[i] - words->starts_[i];
    return true;
}

// ---- Inside a task: emitting, asking, failing ---------------------------------------------------

typedef struct weft_task weft_task;      // one attempt at one piece of work; belongs to one thread
typedef struct weft_values weft_values;  // the values of one key, in order
typedef struct weft_args weft_args;      // the job's own options and arguments, parsed

// Not for you: the part of a task that the inline functions below append to.
struct weft_task {
    uint64_t *queue_keys_;
    int64_t *queue_values_;
    uint32_t queue_count_, queue_limit_;  // limit 0: every emit takes the function call
};

WEFT_API void weft_task_flush_(weft_task *task);
WEFT_API void weft_emit_int_(weft_task *task, weft_bytes key, int64_t value);

// Emits a pair of key and bytes. Copies both. Does nothing after a failure, which the framework handles when
// the callback returns.
WEFT_API void weft_emit(weft_task *task, weft_bytes key, weft_bytes value);

// Emits a number; printed as decimal, or as the shortest text that reads back the same.
WEFT_API void weft_emit_double(weft_task *task, weft_bytes key, double value);

// Not for you: the first 8 bytes of a key of 1..8 bytes, zero padded, without touching a page that
// the key does not touch.
static inline uint64_t weft_load_key_(const char *data, size_t size)
{
    uint64_t key = 0;
#if defined(WEFT_NO_FAST_PATH)
    memcpy(&key, data, size);
    return key;
#else
    if (__builtin_expect(((uintptr_t)data & 4095) > 4088, 0)) {
        memcpy(&key, data, size);
        return key;
    }
    __asm__("" : "+r"(data));  // else compilers see the end of a short constant and warn
    memcpy(&key, data, 8);
    return key & (UINT64_MAX >> (64 - 8 * size));
#endif
}

// Emits an integer. Inline: with a counting combiner (weft_sum, weft_min, weft_max) short keys are
// appended to a queue and folded into the slot's table a thousand at a time.
static inline void weft_emit_int(weft_task *task, weft_bytes key, int64_t value)
{
    const uint32_t at = task->queue_count_;
    if (__builtin_expect(key.size - 1 < 8 && at < task->queue_limit_ && key.data[key.size - 1],
                         1)) {
        task->queue_keys_[at] = weft_load_key_(key.data, key.size);
        task->queue_values_[at] = value;
        task->queue_count_ = at + 1;
        if (__builtin_expect(at + 1 == task->queue_limit_, 0))
            weft_task_flush_(task);
    } else {
        weft_emit_int_(task, key, value);
    }
}

// Writes text to the output as it is: whole lines, each with its end. Only where emitted pairs are output:
// in reduce, and in the map of a job without reduce; elsewhere it fails the task.
WEFT_API void weft_write(weft_task *task, weft_bytes text, uint64_t line_count);

// Emits (word, 1) for every word of the text: the fastest way to count words.
WEFT_API void weft_emit_words(weft_task *task, weft_bytes text);

// Ends this attempt with a sentence. The attempt is tried again, up to --max-attempts.
WEFT_API void weft_fail(weft_task *task, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// The key that came with the record: set in the second and later stages of a job, else empty.
WEFT_API weft_bytes weft_input_key(const weft_task *task);

// Where the record (or the block's first record) comes from: the input's name as it was given or
// found, its number in input order, and the byte offset in it.
WEFT_API const char *weft_input_name(const weft_task *task);
WEFT_API uint32_t weft_input_index(const weft_task *task);
WEFT_API uint64_t weft_input_offset(const weft_task *task);

// The record's number in its input, from 1; for a block, the number of its first record. The first call in a task
// counts the records before it, so only a job that calls this pays for it.
WEFT_API uint64_t weft_input_record(weft_task *task);

// The job's config bytes, its options and arguments, and a pointer for setup() to leave state in,
// one per slot.
WEFT_API weft_bytes weft_task_config(const weft_task *task);
WEFT_API const weft_args *weft_task_args(const weft_task *task);
WEFT_API void weft_task_set_state(weft_task *task, void *state);
WEFT_API void *weft_task_state(const weft_task *task);

// Adds to a counter of the job, shown in the summary. Failed and discarded attempts are not counted.
WEFT_API void weft_counter_add(weft_task *task, const char *name, int64_t amount);

// Writes the fields of a csv record, unquoted, at most `max` of them; returns the number of fields in the record,
// which may be more. A stray quote fails the task. Valid until map returns; in reduce and combine until the next
// call of weft_csv_fields or weft_json.
WEFT_API size_t weft_csv_fields(weft_task *task, weft_bytes record, weft_bytes *fields, size_t max);

// The index of a column that the header of the record's file names; fails the task when there is none.
WEFT_API size_t weft_csv_column(weft_task *task, const char *name);

// The value at a path ("user.name", "tags.0") in a JSON object: a string unescaped, anything else as
// written; data is NULL when it is missing or null. Broken JSON fails the task. Valid as
// long as the result of weft_csv_fields.
WEFT_API weft_bytes weft_json(weft_task *task, weft_bytes object, const char *path);

// Reads a decimal number from a field or a JSON value; false when the text is not a number.
WEFT_API bool weft_read_int(weft_bytes text, int64_t *value);
WEFT_API bool weft_read_double(weft_bytes text, double *value);

// The next value of the key; false after the last one. The number forms fail the task on a value that is not
// a number (decimal text is a number).
WEFT_API bool weft_next(weft_values *values, weft_bytes *value);
WEFT_API bool weft_next_int(weft_values *values, int64_t *value);
WEFT_API bool weft_next_double(weft_values *values, double *value);

// The key of the last returned value. In a job with `group` it can differ from the key that reduce gets, which is the
// first one. Valid until the next value is read.
WEFT_API weft_bytes weft_value_key(const weft_values *values);

// Value `index` of option -letter ("" for a flag), NULL when it was not given that often; and
// positional argument `index` of the job (those before the inputs).
WEFT_API const char *weft_option(const weft_args *args, char letter, int index);
WEFT_API const char *weft_argument(const weft_args *args, int index);

// ---- A job --------------------------------------------------------------------------------------

typedef void weft_map_fn(weft_task *task, weft_bytes record);
typedef void weft_reduce_fn(weft_task *task, weft_bytes key, weft_values *values);

// Ready-made reducers, which may also be combiners. They are faster than the same function in a job.
WEFT_API weft_reduce_fn
    weft_sum;  // int64 (an overflow fails the job) or double (exact, rounded once)
WEFT_API weft_reduce_fn weft_count;  // how many values; as a combiner use weft_sum of ones
WEFT_API weft_reduce_fn weft_min;    // the smallest number
WEFT_API weft_reduce_fn weft_max;    // the largest number
WEFT_API weft_reduce_fn weft_mean;   // the mean as a double: exact sum, one division, rounded once
WEFT_API weft_reduce_fn weft_first;  // the first value in input order
WEFT_API weft_reduce_fn weft_collect;   // all values in input order, TAB between them
WEFT_API weft_reduce_fn weft_distinct;  // the different values, sorted by bytes, TAB between them
WEFT_API weft_reduce_fn
    weft_top;  // the job's top_k largest values, largest first, TAB between them
WEFT_API weft_reduce_fn weft_identity;  // every pair as it came, sorted by key

typedef struct weft_job {
    const char *name;
    weft_map_fn *map;  // per record (a line without its end, unless `format` says otherwise)
    // Or per block of whole records, line ends included: faster. An empty file is one empty block.
    // Only in the first stage: later stages get pairs, not lines.
    weft_map_fn *map_block;
    weft_reduce_fn *reduce;   // NULL: map-only, output in input order
    weft_reduce_fn *combine;  // NULL: none. May run any number of times on any grouping of values
    uint32_t (*partition)(weft_bytes key, uint32_t partition_count);  // NULL: ranges of keys
    int (*compare)(weft_bytes a,
                   weft_bytes b);        // NULL: bytewise. Orders groups; equal bytes are one
    weft_err (*setup)(weft_task *task);  // per slot, before its first record
    void (*teardown)(weft_task *task);   // per slot, after its last
    weft_bytes config;                   // copied to every worker
    const struct weft_job *next;  // the stage fed by this one: record = value, weft_input_key = key
    uint32_t rounds;              // run this stage that often, each fed by the previous; 0 means 1
    uint32_t top_k;               // for weft_top
    const char *options;          // the job's own options as getopt's letters, such as "ik:"
    uint32_t arguments;           // positional arguments before the inputs
    const char *usage;            // for -h: a line about the job, then its options
    // Called in driver and worker before anything runs: may change the job to suit its options.
    weft_err (*configure)(struct weft_job *job, const weft_args *args);
    const char *argument_names;  // for -h and errors, such as "PATTERN"; NULL: ARGUMENT
    // Per attempt at a map or reduce task: `begin` before its first record or key, `end` after the last one, where
    // it may still emit. Not around a combiner. `end` is not called for an attempt that has failed.
    weft_err (*begin)(weft_task *task);
    weft_err (*end)(weft_task *task);
    // How inputs are cut into records: "lines" (NULL), "chunks", "files", "csv", "csv:header", "jsonl",
    // "tfrecord", "fixed:N"; the option --format overrides it. Only in the first stage.
    const char *format;
    // A reduce task is a whole part instead of a range of keys in it: for a reducer that keeps something
    // from key to key. There is one part then, unless --reducers says otherwise.
    bool whole_parts;
    // Options that replace the arguments: with one of these letters given, no argument is expected. grep has
    // "e", for -e PATTERN.
    const char *argument_options;
    // Returns 0 when the two keys belong to one group. A group is one call of reduce, with the values in the order of
    // their keys (a secondary sort). NULL: a group is one key. Keys of a group must be adjacent in the order of
    // keys, and `partition` must give them the same part. Not used for a combiner.
    int (*group)(weft_bytes a, weft_bytes b);
} weft_job;

// A whole program: parses the command line as `weft run` does, runs the job, returns the exit code.
WEFT_API int weft_main_sized(int argc, char **argv, const weft_job *job, size_t job_size);
static inline int weft_main(int argc, char **argv, const weft_job *job)
{
    return weft_main_sized(argc, argv, job, sizeof(weft_job));
}

// ---- Running jobs from inside a program -----------------------------------------------------------

// What the library does to its process:
//   - weft_submit starts a thread, which ends with the run. That thread starts the worker by vfork and exec of this
//     program, again when it dies. A worker never outlives this process.
//   - weft_join starts a thread if this member has an address, with a journal a second one, and then forks at times to
//     write a snapshot. Each cluster, also of weft_connect, starts one more thread when the first handle is opened.
//   - weft_start, weft_main, weft_submit and weft_join open /dev/null in place of a standard descriptor that is closed, so
//     that none of the library's own gets its number. Reading and writing it fails as before.
//   - The first weft_queue_descriptor of a handle starts a thread, which ends with weft_queue_free.
//   - These threads block all signals but those of a fault. No signal handler is installed.
//   - Any thread may make any call. A task with its values and words, an item and a walk belong to one thread at a time.
//     weft_error() belongs to its thread.
//   - A child that the program forks may only exec or _exit: it has the handles, but not the threads that serve them.
//   - Nothing is printed but the lines that weft_set_log describes and the answer of a run without `output`.

typedef struct weft_run weft_run;

// Where a run is. It may grow: it is only passed to a function of the program.
typedef struct weft_progress {
    const char *step;                  // "sample", "map" or "reduce"; static text
    uint32_t stage, stage_count;       // the stage counts from 0
    uint32_t tasks_done, task_count;   // of this step
    uint64_t bytes_done, bytes_total;  // input of this step; bytes_total 0: only tasks are counted
    uint64_t records_in, spill_bytes, memory_bytes;  // of the whole run so far
} weft_progress;
typedef void weft_progress_fn(void *data, const weft_progress *progress);

typedef struct weft_options {
    const char *const *inputs;  // NULL-terminated: files, directories, globs, @names.txt
    const char *output;         // a file, a directory with '/' at its end; NULL: standard output
    bool force;                 // replace an existing output
    uint32_t slots;             // 0: the cores this process may use
    uint64_t memory_bytes;      // 0: half of the free memory
    uint32_t reducers;          // 0: from the size of the input
    const char *tmp;            // NULL: $TMPDIR or /var/tmp
    uint32_t timeout_ms, task_timeout_ms;
    uint32_t max_attempts;         // 0: 4
    bool show_progress;            // on standard error, as `weft run` does
    const char *const *arguments;  // NULL-terminated: the job's own options and arguments
    const char *format;            // of the inputs' records, as --format; NULL: the job's
    const char *output_format;     // "csv", "jsonl", "tfrecord"; NULL: text
    const char *compress;          // "zstd", "gzip", "lz4"; NULL: not at all
    uint64_t skip_bad;             // at most this many bad records may be left out
    const char *bad_records;       // the file that lists them; NULL: _weft-bad-records.jsonl
    // Called by the thread of the run at every step, and at most ten times a second. It should return soon, and may
    // cancel the run, but not wait for it.
    weft_progress_fn *progress;
    void *progress_data;
} weft_options;

// First in main() of a program that submits jobs: in a worker's copy it runs the job and never
// returns. `jobs` is NULL-terminated and lists every job the program may submit.
WEFT_API void weft_start_sized(int argc, char **argv, const weft_job *const *jobs, size_t job_size);
static inline void weft_start(int argc, char **argv, const weft_job *const *jobs)
{
    weft_start_sized(argc, argv, jobs, sizeof(weft_job));
}

// Starts a job and returns at once; NULL on failure, see weft_error(). Job and options are copied; options that
// are NULL are all zero. Relative names mean the present directory, also if the program changes it during the run
// (except in containers that forbid unshare).
WEFT_API weft_run *weft_submit_sized(const weft_job *job, size_t job_size,
                                     const weft_options *options, size_t options_size);
static inline weft_run *weft_submit(const weft_job *job, const weft_options *options)
{
    return weft_submit_sized(job, sizeof(weft_job), options, sizeof(weft_options));
}

// Waits for the end of the run and returns its result, with weft_error() set on failure. timeout_ms 0: no limit.
// DEADLINE_EXCEEDED: the run has not ended, and continues. NULL (a run that could not be started) gives
// FAILED_PRECONDITION, and all its counters are 0.
WEFT_API weft_err weft_run_wait(weft_run *run, uint32_t timeout_ms);

// Returns whether the run has ended; does not wait.
WEFT_API bool weft_run_is_done(weft_run *run);

// Ends the run soon, with CANCELLED; nothing happens to one that has ended. weft_run_wait waits for its end. Any thread.
WEFT_API void weft_run_cancel(weft_run *run);

// A descriptor that becomes readable when the run has ended, for poll and its kin; do not read or close it. It is valid
// until weft_run_free. -1: the run is NULL.
WEFT_API int weft_run_descriptor(const weft_run *run);

// A counter's value after weft_run_wait; 0 when the job never added to it. Also "weft.records_in" and the like.
WEFT_API int64_t weft_run_counter(const weft_run *run, const char *name);

// Frees the run; cancels it first if it has not ended.
WEFT_API void weft_run_free(weft_run *run);

#ifdef __cplusplus
}
#endif

#include <weft/cluster.h>  // members that share queues, variables, keys and barriers

#endif
