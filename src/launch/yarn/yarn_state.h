// The parts of the launcher of YARN.
//
//   yarn.c           the launcher: what comes from above goes to the agents of launch/far
//   yarn_places.c    a container for each place: asked for, granted, started, ended, replaced
//   yarn_talk.c      sentences about containers that are waited for
//   yarn_stage.c     the program in HDFS, from where node managers fetch it
//   yarn_settings.c  what a user says of the application
//
// A place is a container, for one member and those that want to be beside it. The program in it is an agent (launch/far), which connects to
// this process as soon as it is there; members start when all have come. When a container has ended, its members get a new one.
#ifndef LAUNCH_YARN_YARN_STATE_H
#define LAUNCH_YARN_YARN_STATE_H

#include "base/vec.h"
#include "launch/far/far.h"
#include "launch/yarn/master.h"
#include "launch/yarn/yarn.h"
#include "launch/yarn/yarn_settings.h"
#include "launch/yarn/yarn_stage.h"
#include "sys/loop/errands.h"
#include "sys/net/interface.h"

enum {
    YARN_TICK_MS = 500,
    YARN_NEWS_AFTER_MS = 2000,  // a wait that is shorter is not worth a line
    YARN_REASON_MS = 5000,      // in which YARN says why a container has ended
    YARN_FORGIVE_MS = 60000,    // a host without an explanation is not used for that long
    YARN_TRIES_MAX = 3,         // of a place, until its agent has come
    YARN_KEPT_PATIENCE_MS = 9 * 60 * 1000,
    YARN_MEMORY_DEFAULT_MB = 1024,  // of a container whose members say nothing
};

enum yarn_place_state {
    YARN_UNASKED,
    YARN_ASKED,
    YARN_GRANTED,   // its program waits to be in HDFS
    YARN_LAUNCHED,  // its agent starts, or runs
    YARN_VACANT,    // its container has ended
};

// What a container has to have, for all of its members.
struct yarn_need {
    uint64_t memory_bytes;
    uint32_t cores;
    const char *constraint;  // borrowed
    VEC(struct yarn_amount) amounts;
};

struct yarn_place {
    struct yarn *yarn;
    struct yarn_need need;
    enum yarn_place_state state;
    size_t ask;
    struct yarn_container *container;  // NULL: none
    char *node, *name;                 // of the container: its host, and both for people
    uint32_t tries;
    struct loop_timer *cut;  // until the reason is not waited for any more; NULL: it is not cut
};

struct yarn {
    struct launch base;
    struct launch_options options;
    struct yarn_settings settings;
    struct yarn_site site;
    struct far_route route;
    struct launch *far;
    struct yarn_master *master;  // NULL: not opened yet
    struct yarn_place *places;
    size_t place_count;
    size_t *place_of;  // of each member
    char own[INTERFACE_ADDRESS_BYTES +
             NET_ADDRESS_TEXT_BYTES];  // the address that agents connect to
    struct buf credentials;            // of containers

    struct errands *errands;
    struct yarn_stage stage;
    bool is_staged, is_rested;  // agents wait for both
    struct loop_timer *rest;
    weft_err stage_err;
    struct err_kept stage_text;

    struct loop_timer *tick;
    uint64_t begun_ns;     // when a container was asked for last
    VEC(char *) excluded;  // hosts
    uint64_t excluded_ns;  // when the last one was
    VEC(char *) retired;   // texts of containers that members have left
    char *said;            // the last news about waiting
    bool is_closing, has_failed;
    enum yarn_final final;
    char *final_text;
};

// ---- Places ------------------------------------------------------------------------------------------------

// One for each member, but for those that are to be beside another.
MUST_CHECK weft_err yarn_make_places(struct yarn *yarn);
void yarn_free_places(struct yarn *yarn);

// Asks for containers for all places.
MUST_CHECK weft_err yarn_ask_all(struct yarn *yarn);

// Gives up the container of a place, and asks for another one. A failure is reported to the members that wait for it.
void yarn_replace(struct yarn_place *place);

// Starts agents in the containers that have waited for the program.
void yarn_launch_granted(struct yarn *yarn);

// Hosts that were excluded may be used again after some time.
void yarn_forgive(struct yarn *yarn);

// The route of launch/far: the connection of an agent has ended.
void yarn_note_cut(void *owner, size_t host);

extern const struct yarn_master_calls yarn_calls;

// ---- Talk --------------------------------------------------------------------------------------------------

// Appends why a place has no agent yet: half a sentence.
void yarn_describe_place(const struct yarn_place *place, struct buf *text);

// From time to time: how many containers are waited for, and why. Each state of it once.
void yarn_say_news(struct yarn *yarn);

#endif
