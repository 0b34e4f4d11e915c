// run_on: `weft run --on URL`: the clients of a job are members on other machines, and this process is their server.
//
// A process beside this one has the clients, as weft cluster run would: started by the launcher of the URL, each is a
// weft client that connects to this process. It ends with this process, also when that becomes another program.
#ifndef CLI_RUN_ON_H
#define CLI_RUN_ON_H

#include "base/err.h"
#include "sys/process/process.h"

struct run_on {
    char **
        words;  // those of the caller without --on, --ssh, --clients and --archive, and with --listen where there are clients
    size_t count;
    struct process clients;  // .pid 0: there are none
};

// Reads --on, --ssh, --clients and --archive, starts the clients that they ask for. INVALID_ARGUMENT. run_on_end in every case; `on` starts zeroed.
// Thread: the only one of the process.
MUST_CHECK weft_err run_on_start(struct run_on *on, char *const *words, size_t count);

// Waits until the clients have left their machines. `exit_code` is that of the job, and becomes that of the launcher when it could not
// start any client, which ended the job.
void run_on_end(struct run_on *on, int *exit_code);

#endif
