// items: the values of inputs whose records are numbers of items. Another process has them, such as a Python script with a `source`: it
// reads a value when its task is handed out, and again when the task is tried again. That process is at the other end of a socket:
//
//     u64 first, u64 count     ->     the values of these items are wanted
//     u64 offset, u64 size     <-     they are in that stretch of its file
//
// Little-endian, answered in order. Only the code of the job knows how a stretch is laid out. The input has a line of
// ITEMS_LINE_BYTES for each item, so that a piece of it names items. A task waits here until its values are read; workers read
// them from the file, clients fetch them from it, and when the attempt has ended its disk space is given back.
// Thread: that of the loop.
#ifndef RUN_DRIVER_ITEMS_H
#define RUN_DRIVER_ITEMS_H

#include "run/driver/agent/agent.h"

enum { ITEMS_LINE_BYTES = 12 };  // as python/weft/job.py writes them

struct items;
struct fetch_files;

struct items_options {
    struct loop *loop;
    const char *from;  // "FD:PATH": the socket, as it was inherited, and the file
    struct fetch_files
        *files;  // where clients find the file, as number `file`; NULL: there are none
    uint64_t file;
    // The process is gone, or a task could not be sent, with this thread's sentence.
    void (*failed)(void *owner, weft_err code);
    void *owner;
};

// NULL with a sentence.
struct items *items_new(const struct items_options *options);
void items_free(struct items *items);  // NULL is fine

// Sends a map task to the agent's worker once its values are there. The message is copied. NULL: records have no values, and it is
// sent at once.
MUST_CHECK weft_err items_send(struct items *items, struct agent *agent, Weft__TaskRun *run);
// An attempt at the task has ended there: its values are not needed any more. NULL is fine, here and below.
void items_end_task(struct items *items, const struct agent *agent, uint32_t task);
// The worker is gone: tasks that wait for it are not sent.
void items_forget(struct items *items, const struct agent *agent);

#endif
