// code: the port to user code. It says what runs a job's functions, and what the engine and a run
// must know about that.
//
// The functions of a native job are in this program, and the engine calls them directly. Those of a
// job of commands are other programs: a task starts them, writes its records to them and reads its
// pairs from them. The differences are here, so that no other module asks which kind of job it is.
// One const instance each; code/codes.c lists them all.
//
// The life of a job's code in a worker, by thread:
//
//   control    start once, before there are slots                            ... stop once, after them
//   slot         open                                                   ... close
//   slot           begin, batches, end                                             of each attempt
//   slot           begin, batches, cancel                                          of one that failed
//
// Batches are whole records, by the job's own map_block or map; keys with their values by its
// reduce. They are members of the job, not of the port: the engine calls them directly, at most
// once per batch unless the function is one of ours that wants every record. A batch is valid until
// the call returns. task_record_format gives how it was cut, weft_input_offset where it lies,
// task_describe the task (mapreduce/task.h).
#ifndef MAPREDUCE_CODE_H
#define MAPREDUCE_CODE_H

#include "base/args.h"
#include "base/err.h"

struct workdir;

enum { CODE_TITLE_BYTES = 48 };  // with its zero

// What the value of a job's own option stands for, when it is asked whether an earlier run was of the same job.
enum code_word {
    CODE_WORD_TEXT,     // itself
    CODE_WORD_PROGRAM,  // the words of a command line: the program and the files that they name
    CODE_WORD_FILE,     // a file
    CODE_WORD_FOLDER,   // all files in a directory, whose own name changes every time
};

// Members that are NULL or false are as native jobs want it.
struct code {
    const char *name;
    uint32_t number;  // from 1: names it to other machines, and never changes

    // ---- properties
    // Functions run in other processes: when one fails, the record we are at says nothing.
    bool is_outside;
    // A task starts a process, a sample too: few and large ones are better.
    bool is_dear;
    // It is loaded by the first attempt of a slot, whose FAILED_PRECONDITION means that it cannot be: on another machine it may.
    bool loads_late;
    // Batches go out as they are: large inputs are mapped, so that nothing is copied.
    bool lends_input;
    // Why it does not take tfrecords, whose blocks have frames, and what to try; NULL: it does.
    const char *frames_refusal;

    // ---- whose job it is
    const weft_job *job;  // its only one; NULL: all jobs that no other code claims
    // Options of `weft run` that mean its job, NULL-terminated, without dashes.
    const char *const *claims;
    // The letter by which its job knows an option of `weft run`; 0: it does not.
    char (*letter)(const char *option);
    // Adds to the words of a command line what follows from them.
    weft_err (*complete)(struct weft_args *args);

    // Whether the job counts, so that --top may sort its output. NULL: only by weft_sum and weft_count.
    bool (*counts)(const weft_args *args);

    // ---- before it runs
    // What to call the job, so that who started it knows it again.
    void (*title)(const weft_args *args, char title[CODE_TITLE_BYTES]);
    enum code_word (*word)(char letter);
    // Makes a directory in `tmp` (NULL: the usual place) where the code runs on this machine, with the files that its options
    // bring along, which becomes the value of the option `directory_letter`. None of them: no directory is made.
    weft_err (*put_files)(const weft_args *args, const char *tmp, struct workdir *workdir);
    char directory_letter;
    weft_err (*check_travel)(const weft_args *args);  // whether it can run on other machines
    // What a file of the job is called there, a part of its path. NULL: its last name.
    const char *(*name_there)(const char *path);
    bool (*starts_per_file)(const weft_args *args);  // every input file means starting a process
    // The process that has the values, where records are numbers of items (run/driver/server/items.h). NULL, function or answer: there is none.
    const char *(*values_from)(const weft_args *args);
    // Key number i, ascending, of those that cut all keys into about even ranges, as far as one can say without seeing any: a sample would
    // read values twice. False: there are no more. Where values_from may answer.
    bool (*cut)(size_t i, weft_bytes *key);
    // How much of the worker's memory is left to the process of each slot, and how much it needs; NULL
    // and 0: nothing.
    uint64_t (*outside_bytes)(uint64_t memory_bytes, uint32_t slot_count);
    uint64_t outside_bytes_min;

    // ---- on another machine, before a worker is started there
    // Finds there what jobs of this code need besides their files. `version` is that of Weft at the server. May take as long as starting
    // a program. *here is for the next two; free_here in every case.
    weft_err (*find_here)(const char *version, void **here);
    // Changes the words of the job, which were spelled at the server: the job's files are in `directory`. A word that changes is
    // freed.
    weft_err (*settle_words)(const void *here, const char *directory, char **words, size_t count);
    void (*free_here)(void *here);  // NULL is fine

    // ---- weft replay
    // Whether the inputs are still there when the run has ended. NULL: they are.
    bool (*has_lasting_inputs)(const weft_args *args);
    const char *debugger;  // that --debug starts; NULL: gdb, with the program or the command
    // Copies the options for a job that leaves its record in the file at `path` and calls nothing.
    weft_err (*capture)(const weft_args *args, const char *path, struct weft_args *to);
    // Becomes the debugger, at the call of the map function with the record in the file. Returns only on failure.
    weft_err (*debug)(const weft_args *args, int record_fd);

    // ---- in the process that runs it
    weft_err (*start)(void);  // while there is only this thread
    void (*stop)(void);       // whatever it has started is gone then; harmless without start

    // ---- in a slot's thread. NULL: setup, begin, end and teardown of the job
    weft_err (*open)(weft_task *task);
    weft_err (*begin)(weft_task *task);
    weft_err (*end)(weft_task *task);  // may still emit; not called for an attempt that has failed
    // Emits the pairs that were kept back by ended attempts, before the slot's map tasks are committed.
    // NULL: nothing is. When it fails, the worker is lost, as by a crash.
    weft_err (*flush)(weft_task *task);
    // Instead of end: stops at once what the attempt has running.
    void (*cancel)(weft_task *task);
    void (*close)(weft_task *task);
};

#endif
