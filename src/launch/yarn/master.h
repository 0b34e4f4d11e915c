// master: an application of YARN, as its application master sees it: containers are asked for, granted, started and stopped.
//
//   yarn_master_open -> KNOWN (the id) -> REGISTERED -> yarn_master_ask -> GRANTED
//   yarn_master_launch in a granted container -> STARTED -> ENDED, or ENDED at once with the reason
//   yarn_master_close: says to YARN how the run has ended, and returns all containers
//
// The application master is this process. Unmanaged: the process of the user, which submits the application itself. Managed: one that YARN
// has started in a container; it finds its token in the file of HADOOP_TOKEN_FILE_LOCATION. All else is the same.
// Calls of YARN wait for answers, so threads make them: one for the resource manager, a few for node managers. They report to the loop.
// A resource manager that restarts, or gives way to another one, is waited for, and gets each outstanding ask again; containers run on.
// Clusters with Kerberos are refused. Thread: that of the loop; reports come from the loop, never from inside a call.
#ifndef LAUNCH_YARN_MASTER_H
#define LAUNCH_YARN_MASTER_H

#include "base/buf.h"
#include "launch/yarn/yarn_site.h"
#include "sys/loop/loop.h"

struct yarn_master;

// A resource besides memory and cores: "yarn.io/gpu".
struct yarn_amount {
    const char *name;
    int64_t count;
};

// How the application appears in YARN. Zero: Hadoop's defaults. Texts are borrowed until the master is open.
struct yarn_application {
    const char *user;                 // NULL: HADOOP_USER_NAME, or the user of this process
    const char *name;                 // NULL: "weft"
    const char *queue;                // NULL: "default"
    const char *type;                 // NULL: "weft"; at most 20 characters
    const char *const *tags;          // at most 10; NULL-terminated; NULL: none
    const char *label;                // of the nodes of all containers whose asks name none
    const char *viewers, *modifiers;  // acls: "alice,bob group"; NULL: the user alone
    int32_t priority;                 // among the applications of a queue
    uint32_t lifetime_s;              // YARN kills it after that; 0: never
};

// A container that is wanted, or several of the same kind. Texts are copied.
struct yarn_want {
    uint32_t count;
    uint64_t memory_bytes;  // rounded up to MB; 0: the least that YARN grants
    uint32_t cores;         // 0 means 1
    const struct yarn_amount *amounts;
    size_t amount_count;
    const char *label;         // of its node; NULL: that of the application
    const char *const *hosts;  // names of node managers' hosts, NULL-terminated; NULL: any
    bool is_strict;            // there or nowhere; else these hosts are a preference
};

#define YARN_ASK_KEPT SIZE_MAX  // none of this attempt

// One that was granted. It stays until its end was reported.
struct yarn_container {
    size_t ask;        // by which yarn_master_ask
    const char *id;    // "container_1700000000000_0007_01_000002"
    const char *host;  // its node manager, and the port of it
    uint16_t port;
    const char *web;  // where its logs are shown: "host:8042"
    uint64_t memory_bytes;
    uint32_t cores;
    void *mark;  // the owner's
};

enum yarn_end_kind {
    YARN_EXITED,       // its program: `exit_code`, 128 and more after a signal
    YARN_STOPPED,      // by yarn_master_stop
    YARN_NOT_STARTED,  // a file could not be fetched, the node manager did not take it
    YARN_MEMORY,       // its node manager has killed it, as it took more than it was granted
    YARN_LOST,         // its node manager was lost, or the disks there are bad
    YARN_PREEMPTED,    // the scheduler gives its place to another application
    YARN_KILLED,       // by YARN, for another reason: the application was ended, logs too large
};

struct yarn_end {
    enum yarn_end_kind kind;
    int exit_code;     // of YARN_EXITED; of others Hadoop's own number, less than 0
    bool is_charged;   // the program is at fault, not the cluster
    const char *text;  // a sentence for people, with figures and advice
};

// What a container fetches before its program starts. Node managers compare the time with that of the file.
enum yarn_file_kind { YARN_FILE = 2, YARN_ARCHIVE = 1 };  // an archive is unpacked into a directory
enum yarn_file_share { YARN_FOR_ALL = 1, YARN_FOR_USER = 2, YARN_FOR_APPLICATION = 3 };
struct yarn_file {
    const char *name;  // in the working directory of the container
    const char *url;   // hdfs://, webhdfs://, file://, http:// (that with time 0 and size -1)
    int64_t size, mtime_ms;
    enum yarn_file_kind kind;
    enum yarn_file_share share;
};

// A program for a container. Texts are copied.
struct yarn_program {
    // For bash, as it is: nothing has to be quoted for YARN. Its output goes to the files stdout and stderr among the logs. `exec` makes
    // exit codes and signals those of the program itself.
    const char *command;
    const char *const *environment;  // "NAME=value", as they are; NULL-terminated; NULL: none
    const struct yarn_file *files;
    size_t file_count;
    weft_bytes
        credentials;  // a token file (wire/hadoop/token_file.h); none: those of the application, without the master's own
};

// What the scheduler allows, once registered.
struct yarn_limits {
    uint64_t memory_bytes;  // of one container
    uint32_t cores;
    const char *queue;
};

struct yarn_master_calls {
    void (*known)(void *owner, const char *application);  // "application_1700000000000_0007"
    void (*registered)(void *owner, const struct yarn_limits *limits);
    void (*granted)(void *owner, struct yarn_container *container);
    void (*started)(void *owner,
                    struct yarn_container *container);  // accepted: it may still fetch files
    // A container of the attempt before this one, which runs; its ask is YARN_ASK_KEPT. NULL: such ones are given back.
    void (*kept)(void *owner, struct yarn_container *container);
    void (*ended)(void *owner, struct yarn_container *container, const struct yarn_end *end);
    // An ask that cannot be granted: it is withdrawn. The thread's error says why.
    void (*refused)(void *owner, size_t ask, weft_err err);
    // The application is over, or YARN cannot be reached any more: nothing else is reported, and it is to be closed. The thread's error
    // says why. ABORTED: a person or YARN has killed it; FAILED_PRECONDITION: YARN calls it failed; UNAVAILABLE: not reached.
    void (*failed)(void *owner, weft_err err);
    void (*news)(void *owner, const char *text);  // for people
};

struct yarn_master_options {
    const struct yarn_site *site;                // copied
    const struct yarn_application *application;  // unmanaged: what to submit
    const char *token_file;                      // managed: its token is there; NULL: unmanaged
    const char *host;  // where clients of ours find this process; NULL: nowhere
    uint16_t port;
    const char *tracking_url;  // for YARN's pages; NULL: none
    struct loop *loop;
    uint32_t patience_ms;  // with a resource manager that was reached and is away; 0: 15 minutes
    const struct yarn_master_calls *calls;
    void *owner;
};

// Starts to submit, or to register. INVALID_ARGUMENT: the application or the token file is not as it has to be.
MUST_CHECK weft_err yarn_master_open(struct yarn_master **master,
                                     const struct yarn_master_options *options);

enum yarn_final { YARN_SUCCEEDED = 1, YARN_FAILED = 2, YARN_ENDED_BY_USER = 3 };

// Says how the run has ended, with which all containers end; waits for it, 20 s at most. `text` is shown in YARN; NULL: none. An application
// that has not come to registering is killed. NULL is fine. An error of that is a message in the log: the run is over.
void yarn_master_close(struct yarn_master *master, enum yarn_final final, const char *text);

// May be called before the registration. *ask is its number. INVALID_ARGUMENT: no scheduler would grant that.
MUST_CHECK weft_err yarn_master_ask(struct yarn_master *master, const struct yarn_want *want,
                                    size_t *ask);

// Containers that are still outstanding will not be granted any more.
void yarn_master_withdraw(struct yarn_master *master, size_t ask);

// Appends why an ask is not granted yet, with figures of the queue: half a sentence.
void yarn_master_describe(struct yarn_master *master, size_t ask, struct buf *text);

// No further container on that host, or again. It is about asks of the future and those that are outstanding.
MUST_CHECK weft_err yarn_master_exclude(struct yarn_master *master, const char *host,
                                        bool is_excluded);

// Once for each container. STARTED or ENDED follows.
MUST_CHECK weft_err yarn_master_launch(struct yarn_master *master, struct yarn_container *container,
                                       const struct yarn_program *program);

// Kills what runs in it (SIGTERM, SIGKILL 250 ms later), or gives it back unused. ENDED follows.
void yarn_master_stop(struct yarn_master *master, struct yarn_container *container);

const char *yarn_master_application(const struct yarn_master *master);  // its id; "": not known yet
const char *yarn_master_user(const struct yarn_master *master);

#endif
