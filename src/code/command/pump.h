// The pump: feeds one command and drains it, all from the slot's own thread. While it writes, it
// also reads the command's output and standard error, so that the two can never wait for each other
// forever.
//
// Input is written without a copy, from where it is. Output is read in pieces of up to a megabyte
// into one buffer, and passed on as blocks of whole lines. Thread: one owner.
#ifndef CODE_COMMAND_PUMP_H
#define CODE_COMMAND_PUMP_H

#include "code/command/stderr.h"
#include "sys/process/nursery.h"

// After the records of each task a kept command gets a line of this one byte, and answers with it.
#define COMMAND_MARKER "\x1e\n"
#define COMMAND_KEEP_PATIENCE_NS (UINT64_C(60) * 1000000000)  // for its answer, without any output

// Takes whole lines, each with its end: an end that the last line of the output lacks is added.
typedef void command_lines_fn(void *owner, weft_bytes lines);

// Where output may be read to without being searched: room for at least *size bytes, set to the
// actual size, or NULL; and how much of it was filled.
typedef char *command_room_fn(void *owner, size_t *size);
typedef void command_fill_fn(void *owner, weft_bytes filled);

// Called now and then while a command runs; false: give the command up.
typedef bool command_watch_fn(void *owner, pid_t pid);

struct command_pump {
    struct child child;
    bool is_running;  // started and not finished
    command_lines_fn *take;
    command_room_fn *room;  // may be NULL: then `take` gets all lines
    command_fill_fn *fill;
    bool is_line_open;        // the last filled part has no line end
    command_watch_fn *watch;  // may be NULL
    void *owner;
    uint64_t watched_ns;
    struct command_stderr *err;
    char *buffer;
    size_t capacity, size;     // `size` bytes of it are a line that has not ended
    bool is_kept;              // set by the owner: the marker, with nothing after it, ends a task
    unsigned char record_end;  // of the owner's records: output that ends with it lacks no end
    bool looks_for_marker, has_marker;
    bool has_stray;  // a marker that was not asked for, or lines after one
};

void command_pump_init(struct command_pump *pump, command_lines_fn *take, void *owner,
                       struct command_stderr *err);
void command_pump_fini(struct command_pump *pump);  // kills a command that still runs

MUST_CHECK weft_err command_pump_start(struct command_pump *pump, struct nursery *nursery,
                                       const struct nursery_spec *spec);

// Writes all of it. When the command has closed its input, the rest is dropped and *is_closed is true.
// is_lent: the bytes are a mapped file's and need not be copied.
MUST_CHECK weft_err command_pump_write(struct command_pump *pump, weft_bytes data, bool is_lent,
                                       bool *is_closed);

// Writes the marker and reads up to the command's answer to it. *is_kept false: it closed its
// output instead; command_pump_finish returns how it ended. DATA_LOSS, here and while it is written
// to: its answer was not the marker, so it is unknown which lines belong to which task.
MUST_CHECK weft_err command_pump_mark(struct command_pump *pump, bool *is_kept);

// Closes its input, reads until its end, and waits for that.
MUST_CHECK weft_err command_pump_finish(struct command_pump *pump, struct process_exit *exit);

// Kills the command and forgets its output. Harmless if none runs.
void command_pump_abort(struct command_pump *pump);

#endif
