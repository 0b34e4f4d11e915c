// Messages between a process and its nursery (nursery.c and nursery_inside.c): one socket for
// requests, one pipe per command for what happens to it. Both ends are the same program, so structs
// travel as they are.
#ifndef SYS_PROCESS_NURSERY_STATE_H
#define SYS_PROCESS_NURSERY_STATE_H

#include <stdint.h>

enum nursery_request_kind { NURSERY_START = 1, NURSERY_KILL, NURSERY_SIGNAL, NURSERY_LEASH };

// The descriptors that come with a start. The nursery keeps only the last.
enum { NURSERY_IN, NURSERY_OUT, NURSERY_ERR, NURSERY_STATUS, NURSERY_FD_COUNT };

enum { NURSERY_BODY_BYTES_MAX = 16 << 20 };

// A start is followed by its body: the directory ("": none), the arguments, the environment, each ended
// by a zero.
struct nursery_request {
    uint32_t kind;
    uint32_t body_bytes;
    uint64_t number;  // of the command
    uint32_t argument_count, environment_count;
    int32_t signal;     // of NURSERY_SIGNAL
    uint32_t leash_ms;  // of NURSERY_LEASH
};

enum nursery_report_kind { NURSERY_STARTED = 1, NURSERY_FAILED, NURSERY_ENDED };

// The reason why a start failed.
enum nursery_fault {
    NURSERY_FAULT_SYSTEM,     // the system refused; `value` is its errno
    NURSERY_FAULT_DIRECTORY,  // the directory; errno
    NURSERY_FAULT_PROGRAM,    // the program cannot be executed; errno
    NURSERY_FAULT_IS_DIRECTORY,
    NURSERY_FAULT_INTERPRETER,  // the program is there, what should execute it is not
};

// Written to the pipe of a command; smaller than PIPE_BUF, so that it arrives whole.
struct nursery_report {
    uint32_t kind;
    int32_t value;  // process number, errno, or wait status
    uint32_t fault;
    char path[512];         // the program as it was found, cut
    char interpreter[256];  // that its first line names; "": it is not a script
};

// The nursery's life, in the forked child.
_Noreturn void nursery_inside_run(int socket);

#endif
