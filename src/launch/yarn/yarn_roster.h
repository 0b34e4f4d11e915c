// yarn_roster: which containers an application of YARN has asked for, and which ones it has. Pure: no clock, no calls, no threads; master.c
// guards it.
//
//   roster_ask ... -> roster_make_request -> [allocate] -> roster_take_answer -> events -> roster_next_event
//
// Rules of YARN's that are kept here: asks are counts of outstanding containers, not of further ones; a grant may come for an ask that
// was withdrawn, and is given back; a resource manager that has restarted knows neither asks nor grants that were not used.
#ifndef LAUNCH_YARN_YARN_ROSTER_H
#define LAUNCH_YARN_YARN_ROSTER_H

#include "base/vec.h"
#include "launch/yarn/yarn_words.h"

// A container of ours. The part for the owner comes first.
struct yarn_grant {
    struct yarn_container shown;
    struct yarn_container_id id;
    char id_text[YARN_NAME_BYTES];
    char *host, *web;
    Hadoop__Token *token;  // proves to its node manager that it was granted
    enum {
        YARN_GRANT_IDLE,
        YARN_GRANT_STARTING,  // its node manager is being called
        YARN_GRANT_RUNNING,
        YARN_GRANT_GONE,  // its end is known, or reported
    } state;
    bool is_stopped;    // the owner wants it to end
    bool is_launched;   // the owner has brought its program
    bool is_busy;       // a thread calls its node manager
    bool is_preempted;  // it is going to be
    bool is_released;   // given back to the resource manager
    bool has_end;
    struct yarn_end end;
    char *end_text;
};

struct yarn_host {
    char *name, *rack;  // no rack: not known yet
};

struct yarn_ask {
    Hadoop__Resource *resource;
    char *label;
    VEC(struct yarn_host) hosts;
    bool is_strict;
    uint32_t outstanding;
    bool needs_racks;
    bool is_changed;    // its count is to be sent
    bool has_moved;     // counts of its hosts are to be sent
    bool is_in_flight;  // it is part of the request that is being answered
};

struct yarn_exclusion {
    char *host;
    bool is_excluded, is_sent;
};

// A container that is given back, until the resource manager has said that it has ended.
struct yarn_return {
    struct yarn_container_id id;
    uint32_t answers;  // to requests with it
};

struct yarn_node_token {
    char *host;
    uint16_t port;
    Hadoop__Token *token;
};

enum yarn_event_kind {
    YARN_EVENT_KNOWN,
    YARN_EVENT_REGISTERED,
    YARN_EVENT_GRANTED,
    YARN_EVENT_STARTED,
    YARN_EVENT_KEPT,
    YARN_EVENT_ENDED,
    YARN_EVENT_REFUSED,
    YARN_EVENT_FAILED,
    YARN_EVENT_NEWS,
};

struct yarn_event {
    enum yarn_event_kind kind;
    struct yarn_grant *grant;
    size_t ask;
    weft_err err;
    char *text;
};

// Figures of the queue, for sentences.
struct yarn_figures {
    uint64_t headroom_mb;  // that the application may still get
    uint32_t headroom_cores, node_count;
    bool has_headroom, has_queue;
    uint64_t queue_available_mb, queue_used_mb, queue_pending_mb;
    uint32_t queue_available_cores, applications;
};

struct yarn_roster {
    VEC(struct yarn_ask) asks;
    VEC(struct yarn_grant *) grants;
    VEC(struct yarn_exclusion) exclusions;
    VEC(struct yarn_return) returns;
    VEC(struct yarn_node_token) node_tokens;
    VEC(struct yarn_event) events;
    size_t next_event;
    bool is_registered;
    uint64_t memory_mb_max;
    uint32_t cores_max;
    char queue[YARN_QUEUE_BYTES];
    VEC(char *) types;  // of resources, besides memory and cores
    int32_t response;
    bool
        takes_kept;  // containers of the attempt before are for the owner; else they are given back
    bool asks_singly;    // one ask in each request, to find the one that is refused
    bool is_incomplete;  // out of memory: something that has come was lost
    struct yarn_figures figures;
};

void roster_fini(struct yarn_roster *roster);  // zeroed is fine

// Texts are copied. INVALID_ARGUMENT: no scheduler would grant that.
MUST_CHECK weft_err roster_ask(struct yarn_roster *roster, const struct yarn_want *want,
                               size_t *ask);
// The needs of one container as a message. INVALID_ARGUMENT as above; out of memory is the maker's flag.
MUST_CHECK weft_err yarn_make_resource(struct yarn_maker *maker, const struct yarn_want *want,
                                       Hadoop__Resource **resource);
void roster_withdraw(struct yarn_roster *roster, size_t ask);
MUST_CHECK weft_err roster_exclude(struct yarn_roster *roster, const char *host, bool is_excluded);
// Gives a container back.
void roster_release(struct yarn_roster *roster, struct yarn_grant *grant);
void roster_forget(struct yarn_roster *roster, struct yarn_grant *grant);  // and frees it
struct yarn_grant *roster_grant(struct yarn_container *shown);
uint32_t roster_outstanding(const struct yarn_roster *roster);
// Whether a request would say more than that we are alive.
bool roster_has_news(const struct yarn_roster *roster);

// Asks with hosts cannot be sent before these have racks: of the nodes of the cluster. Those without any such host are refused if they are strict.
bool roster_needs_nodes(const struct yarn_roster *roster);
void roster_take_nodes(struct yarn_roster *roster, const Hadoop__NodesAnswer *nodes);

void roster_take_queue(struct yarn_roster *roster, const Hadoop__Queue *queue);
void roster_take_registration(struct yarn_roster *roster, const Hadoop__RegisterAnswer *answer);
// The resource manager has restarted: everything is sent again, and containers that it does not know any more end.
void roster_resync(struct yarn_roster *roster);

// Freed by yarn_free; NULL: out of memory. The same request is to be sent until it is answered, and followed by one of these:
Hadoop__Allocate *roster_make_request(struct yarn_roster *roster);
void roster_take_answer(struct yarn_roster *roster, const Hadoop__AllocateAnswer *answer);
void roster_take_refusal(struct yarn_roster *roster,
                         const char *why);  // something in it cannot be granted
void roster_take_back(
    struct yarn_roster *roster);  // it was not carried out: the next one repeats it
// ... or roster_resync.

// The end of a container, unless one is known already.
void roster_end(struct yarn_roster *roster, struct yarn_grant *grant, int status,
                const char *diagnostics);
// The same in our own words.
void roster_end_as(struct yarn_roster *roster, struct yarn_grant *grant, const struct yarn_end *end,
                   const char *text);
// Makes the end an event, once no thread works with the container any more.
void roster_settle(struct yarn_roster *roster, struct yarn_grant *grant);

const Hadoop__Token *roster_node_token(const struct yarn_roster *roster, const char *host,
                                       uint16_t port);

void roster_push_event(struct yarn_roster *roster, const struct yarn_event *event);
void roster_tell(struct yarn_roster *roster, enum yarn_event_kind kind, weft_err err,
                 const char *text);
// The text becomes the caller's, to be freed. False: there is none.
bool roster_next_event(struct yarn_roster *roster, struct yarn_event *event);

void roster_describe(const struct yarn_roster *roster, size_t ask, struct buf *text);

#endif
