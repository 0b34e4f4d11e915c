// cluster_run: all members of a cluster, from the first start to the last end. crew/crew.h decides, a launcher
// (launch/launch.h) has the processes, and this joins the two over the event loop.
// Thread: the only one of the process, because of sys/process/nursery.h.
#ifndef CREW_CLUSTER_RUN_H
#define CREW_CLUSTER_RUN_H

#include "base/err.h"
#include "base/vec.h"
#include "crew/spec/spec.h"
#include "store/store.h"

// Zero means the default. All texts are borrowed.
struct cluster_run_options {
    const char *on;         // the URL of the launcher; NULL: this machine
    const char *ssh;        // the command that reaches a host; NULL: WEFT_SSH, or ssh
    const char *directory;  // where the programs run; NULL: here
    const char *journal;    // a directory that stays; NULL: one of the run when there are restarts
    const char *tmp;        // where that is made; NULL: $TMPDIR or /tmp
    const char *input_member;    // "map/0": reads our standard input; NULL: no member
    uint32_t timeout_ms;         // 0: none
    uint32_t grace_ms;           // between SIGTERM and SIGKILL
    uint32_t start_deadline_ms;  // in which all members have to start; 0: any
    bool keep_going;
    bool is_told;  // SIGTERM is from our own parent, and is taken where it was ignored
    bool quiet, verbose, json;
    bool no_prefix, no_color;

    // In the background (crew/cluster_up.h): the state of the members is written to state.json in this
    // directory, and their output to ROLE_INDEX.log. NULL: in the foreground.
    const char *state_directory;
    const char *name;                      // of the cluster, in that file
    void (*started)(void *started_owner);  // all have been started for the first time
    void *started_owner;

    // This process was started by the launcher, which keeps the run (launch/keep.h): its state and logs are put there as well. It is to be
    // in the background. NULL: it was not.
    struct store_place *shelf;

    size_t
        *ended_well;  // how many members have ended with 0; NULL: the caller does not want to know
};

// Finds a place with an address for every member of the spec, which is resolved, starts all, waits for the end of all. Their output goes to our standard output and error, reports of events go to the latter.
// *exit_code: 0, or that of the first failure, 128 + N after signal N, 6 when time was over.
// An error means that nothing has been started: INVALID_ARGUMENT (an address of another machine, more memory than
// there is), NOT_FOUND (no such program)...
MUST_CHECK weft_err cluster_run(const struct crew_spec *spec,
                                const struct cluster_run_options *options, int *exit_code);

#endif
