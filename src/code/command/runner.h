// The part of a slot that runs commands: the processes of the current attempt, their input and
// output, and the failure to be reported at its end. Thread: the slot's own.
#ifndef CODE_COMMAND_RUNNER_H
#define CODE_COMMAND_RUNNER_H

#include "code/command/aggregate.h"
#include "code/command/combine.h"
#include "code/command/config.h"
#include "code/command/environment.h"
#include "code/command/pump.h"
#include "mapreduce/task.h"

struct command_runner {
    struct command_config config;
    struct command_stderr err;
    struct command_pump pump;      // the mapper or reducer
    struct command_pump combiner;  // beside a mapper
    struct command_combine combine;
    struct command_environment environment;
    struct aggregate aggregate;
    struct buf lines;          // on their way to the reducer, or made by us for the output
    struct buf input, output;  // rewritten
    struct buf cut;            // output split and joined
    struct buf key;            // as it travels

    // the attempt
    weft_task *task;
    struct task_facts facts;
    bool has_started;        // a process ran, or runs, for it
    bool drops_output;       // of a reducer without input
    uint32_t input_index;    // of the file that the process was started for
    const char *input_name;  // likewise; NULL: for none
    uint32_t more_inputs;    // inputs that it got after that one
    weft_err failure;        // reported at the end of the attempt, with its message
    struct buf failure_text;

    // the process of `pump`, when it is kept
    enum command_role role;
    bool is_idle;  // it answered the last task and waits for the next
};

MUST_CHECK weft_err command_runner_new(const weft_args *args, struct command_runner **runner);
void command_runner_free(struct command_runner *runner);  // lets a kept process end by itself

// Begins an attempt; ends what a failed one before it left running.
void command_runner_begin(struct command_runner *runner, weft_task *task);

// Sees to it that the command of the role runs, for the input at hand; ends that of the input before.
// False: the attempt has failed.
bool command_runner_start(struct command_runner *runner, enum command_role role);

// What ends a record of the input.
unsigned char command_record_end(const struct command_runner *runner);

// Writes to it.
void command_runner_write(struct command_runner *runner, weft_bytes data);

// Adds a pair for the combiner; the key in its encoded form.
void command_runner_combine(struct command_runner *runner, weft_bytes key, weft_bytes value);

// Ends the attempt: its process, and the pairs that are left to combine. Returns the failure, with
// its message set.
MUST_CHECK weft_err command_runner_end(struct command_runner *runner);

// Lets go of an attempt that has failed: its processes are killed.
void command_runner_cancel(struct command_runner *runner);

// Remembers the thread's sentence as the failure of the attempt, unless there is one.
void command_runner_fail(struct command_runner *runner, weft_err code);

// The end of an attempt, and where lines that commands print go (command.c).
MUST_CHECK weft_err command_end(weft_task *task);
void command_take_output(void *runner, weft_bytes lines);
void command_take_combined(void *runner, weft_bytes lines);
char *command_find_room(void *runner, size_t *size);
void command_fill_room(void *runner, weft_bytes filled);

#endif
