// The parts of an application master.
//
//   master.c        what the owner calls, in the thread of the loop; reports
//   master_talk.c   the thread that talks to the resource manager: submits, registers, asks, and says how the run has ended
//   master_run.c    programs in containers: calls to node managers, by threads beside the loop
//   yarn_roster     asks and containers, and what becomes of them
//
// One mutex guards the roster; it is never held during a call. A thread that has events rings a bell, and the loop reports them.
#ifndef LAUNCH_YARN_MASTER_STATE_H
#define LAUNCH_YARN_MASTER_STATE_H

#include "launch/yarn/master.h"
#include "launch/yarn/yarn_link.h"
#include "launch/yarn/yarn_roster.h"
#include "sys/loop/errands.h"
#include "sys/machine/machine.h"
#include "sys/thread/bell.h"
#include "sys/thread/thread.h"

// A program that is being started or stopped.
struct master_job {
    struct yarn_master *master;
    struct yarn_grant *grant;
    Hadoop__LaunchContext *context;  // NULL: it is to be stopped
    Hadoop__Token *node_token, *container_token;
    weft_err err;
    char text[ERR_TEXT_BYTES_MAX];
};

struct yarn_master {
    // Never change after the beginning, or belong to the loop's thread.
    struct yarn_master_calls calls;
    void *owner;
    struct loop *loop;
    struct loop_watch *watch;
    struct bell bell;
    struct errands *nodes;
    VEC(struct master_job *) jobs;
    bool is_over;  // `failed` was called
    bool has_thread;
    bool is_reporting, is_closed;
    struct thread thread;
    char app_text[YARN_NAME_BYTES];  // as it was reported
    char user[MACHINE_NAME_BYTES_MAX];
    struct yarn_site site;
    bool is_managed;
    uint32_t patience_ms;
    struct buf credentials;  // for programs: a token file
    Hadoop__Submission *submission;
    Hadoop__Register *registration;

    // The talking thread's.
    struct yarn_link *client, *scheduler;
    Hadoop__Token *token;
    uint64_t figures_ns;  // when the queue is looked at next
    uint32_t logins;      // that were refused in a row
    uint32_t oddities;    // exceptions of no known kind, in a row

    struct mutex mutex;  // guards all below
    struct condition changed;
    struct yarn_roster roster;
    struct yarn_app_id app;
    bool has_app, is_registered;
    bool is_hurried;  // something is to be said now
    bool is_closing;
    bool is_cut;        // calls to node managers end now
    uint64_t close_ns;  // calls to the resource manager end then
    enum yarn_final final;
    char *final_text;
    char close_error[ERR_TEXT_BYTES_MAX + 100];  // a line; "": none
    char *waits;                                 // why the application is not registered yet
};

// Runs in its thread until the master is closed, or the application over.
void master_talk(void *master);

// With the mutex: the talking thread does not wait any longer.
void master_hurry(struct yarn_master *master);
// With the mutex: there are events.
void master_ring(struct yarn_master *master);

void master_stop_program(struct yarn_master *master, struct yarn_grant *grant);
void master_free_jobs(struct yarn_master *master);

#endif
