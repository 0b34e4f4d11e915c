// worker_process: the driver's end of one worker: its process, the socket to it and the page shared with it.
//
// A worker is this same program started again, or the program of a job that came from another machine; it finds its two
// descriptors in the environment variable below. Frames arrive through `frame`; any end of the worker is reported once
// by `lost`, after all frames it managed to send. Thread: that of the loop.
#ifndef RUN_DRIVER_WORKER_PROCESS_H
#define RUN_DRIVER_WORKER_PROCESS_H

#include "mapreduce/slot_page.h"
#include "run/worker_program.h"
#include "sys/loop/loop.h"
#include "sys/process/process.h"
#include "wire/messages.h"

#define WORKER_VARIABLE "WEFT_WORKER"  // "SOCKET:PAGE", numbers of descriptors
// The directory that stands first in LD_LIBRARY_PATH for the worker alone.
#define WORKER_LIBRARIES_VARIABLE "WEFT_WORKER_LIBRARIES"

struct worker_process_calls {
    // A frame, borrowed. May close it.
    void (*frame)(void *owner, const struct frame *frame);

    // The process is gone and waited for. `code` is a failure, with its sentence set, when we gave it
    // up because it sent bytes that are not a frame. May close it and open another one.
    void (*lost)(void *owner, const struct process_exit *exit, weft_err code);
};

struct worker_process {
    struct loop *loop;
    struct process process;
    struct loop_stream *stream;
    struct loop_watch *watch;
    struct frame_parser parser;
    struct worker_page *page;  // readable until worker_process_close, also after the worker's end
    struct worker_process_calls calls;
    void *owner;
    weft_err code;  // why we gave it up
    bool is_open, is_ending;
};

struct worker_process_spec {
    const struct worker_program *program;  // NULL: this one, here, with our environment
    int output_fd;                         // one more descriptor that it keeps; -1: none
};

// Starts the worker. The struct starts zeroed or closed. On failure nothing is left.
MUST_CHECK weft_err worker_process_open(struct worker_process *worker, struct loop *loop,
                                        const struct worker_process_spec *spec,
                                        const struct worker_process_calls *calls, void *owner);

// Sends a message, now or as soon as the worker reads.
MUST_CHECK weft_err worker_process_send(struct worker_process *worker, Weft__FrameType type,
                                        const ProtobufCMessage *message);

MUST_CHECK weft_err worker_process_send_bytes(struct worker_process *worker, Weft__FrameType type,
                                              weft_bytes payload);

// Kills the worker; `lost` follows.
void worker_process_kill(struct worker_process *worker);

// Kills it if it still lives, waits for it, and frees everything; `lost` is not called. Harmless when
// closed.
void worker_process_close(struct worker_process *worker);

// Reads the variable of a worker's own environment and removes it, with all else in the environment that is only for
// starting it; false: this is not a worker.
bool worker_process_find_own(int *socket_fd, int *page_fd);

#endif
