// application: applications of YARN as a client sees them: submitted, looked at, killed. Their masters run in containers.
//
//   yarn_client_open -> yarn_client_name (a number, for directories of files) -> yarn_client_submit -> yarn_client_report ...
//
// A client needs nothing else to survive it. Calls wait for answers; a resource manager that gives way to another one is waited for.
// Thread: one at a time.
#ifndef LAUNCH_YARN_APPLICATION_H
#define LAUNCH_YARN_APPLICATION_H

#include "launch/yarn/master.h"

struct yarn_client;

struct yarn_client_options {
    const struct yarn_site *site;  // copied
    const char *user;              // NULL: HADOOP_USER_NAME, or the user of this process
    uint32_t patience_ms;  // with a resource manager that was reached and is away; 0: 1 minute
};

// Connects with the first call.
MUST_CHECK weft_err yarn_client_open(const struct yarn_client_options *options,
                                     struct yarn_client **client);
void yarn_client_close(struct yarn_client *client);  // NULL is fine
const char *yarn_client_user(const struct yarn_client *client);

// ---- Submitting -----------------------------------------------------------------------------------------------------

enum { YARN_APPLICATION_BYTES = 64 };

// What this YARN grants to one container at most.
struct yarn_new {
    char id[YARN_APPLICATION_BYTES];  // "application_1700000000000_0007"
    uint64_t memory_bytes;
    uint32_t cores;
};

// A number for an application, which is not there yet.
MUST_CHECK weft_err yarn_client_name(struct yarn_client *client, struct yarn_new *made);

struct yarn_submission {
    struct yarn_application application;
    // The container of the master: its memory, cores, amounts and label. The rest is not looked at.
    struct yarn_want want;
    // In the container, YARN adds the token of the master to the credentials. Its files may be fetched by YARN alone.
    struct yarn_program program;
    uint32_t attempts;      // of the master, if it fails; 0: 1. YARN may allow fewer
    bool keeps_containers;  // of an attempt that has failed, for the next one
};

// May be repeated. YARN may find out later that it cannot take it, for instance as there is no such queue: yarn_client_report says so.
// INVALID_ARGUMENT: it is not as it has to be.
MUST_CHECK weft_err yarn_client_submit(struct yarn_client *client, const char *id,
                                       const struct yarn_submission *submission);

// ---- Looking --------------------------------------------------------------------------------------------------------

enum yarn_state {
    YARN_STATE_WAITING,  // not accepted, or no place for its master yet
    YARN_STATE_RUNNING,  // its master has registered
    YARN_STATE_SUCCEEDED,
    YARN_STATE_FAILED,
    YARN_STATE_KILLED,
};

// Texts are never NULL, and belong to the report.
struct yarn_report {
    const char *id, *name, *user, *queue, *type;
    enum yarn_state state;
    const char *diagnostics;  // why it waits, or has failed
    const char *tracking_url;
    const char *host;  // of its master, as this has registered; "": it has not
    uint16_t port;
    float progress;               // 0 to 1
    int64_t start_ms, finish_ms;  // since 1970; 0: not yet
    uint32_t attempt;             // of its master, from 1; 0: none yet
    uint32_t containers;          // that it has now, with its master's
    uint64_t memory_bytes;        // of these
    uint32_t cores;
    const char *const *tags;  // NULL-terminated
    void *message;
};

// NOT_FOUND: YARN does not know it, or has forgotten it.
MUST_CHECK weft_err yarn_client_report(struct yarn_client *client, const char *id,
                                       struct yarn_report *report);
void yarn_report_fini(struct yarn_report *report);  // zeroed is fine

// Applications of a type that have not ended, or also those that have, as long as YARN remembers them. A failure of `visit` ends the walk.
typedef weft_err yarn_visit_fn(void *owner, const struct yarn_report *report);
struct yarn_filter {
    const char *type;  // NULL: any
    const char *user;  // NULL: any
    bool has_ended_ones;
};
MUST_CHECK weft_err yarn_client_list(struct yarn_client *client, const struct yarn_filter *filter,
                                     yarn_visit_fn *visit, void *owner);

// Waits until YARN has ended it, for 20 s at most. `why` is shown in YARN.
MUST_CHECK weft_err yarn_client_kill(struct yarn_client *client, const char *id, const char *why);

// ---- The cluster ----------------------------------------------------------------------------------------------------

struct yarn_queue {
    char name[YARN_QUEUE_BYTES];
    bool is_running;          // it takes applications
    double share, share_max;  // of the cluster, 0 to 1
    double used;              // of its share, 0 to 1 and more
    uint64_t available_bytes, used_bytes, pending_bytes;
    uint32_t available_cores, used_cores, pending_cores;
    uint32_t running, pending;      // applications
    char labels[YARN_QUEUE_BYTES];  // of nodes that it may use, with commas
};

// NOT_FOUND: there is no such queue.
MUST_CHECK weft_err yarn_client_queue(struct yarn_client *client, const char *name,
                                      struct yarn_queue *queue);

// A node manager that runs. Borrowed texts.
struct yarn_node {
    const char *host;
    uint16_t port;
    const char *web, *rack;
    uint64_t memory_bytes, used_bytes;
    uint32_t cores, used_cores, containers;
    const char *labels;                 // with commas
    const struct yarn_amount *amounts;  // besides memory and cores
    size_t amount_count;
};
typedef weft_err yarn_node_fn(void *owner, const struct yarn_node *node);
MUST_CHECK weft_err yarn_client_nodes(struct yarn_client *client, yarn_node_fn *visit, void *owner);

#endif
