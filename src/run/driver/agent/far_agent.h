// far_agent: an agent whose worker is on another machine. What its owner asks for goes as frames to the client there
// (run/client/porter.h), which looks after the worker with an agent of its own; its reports come back as frames
// and reach the owner by the same calls.
//
// A place waits for a client as long as there is none: a start that was asked for is carried out when one joins. The loss of a
// client is the loss of its worker, and of all files that it had. Private to agent.c and clients.c. Thread: that of the loop.
#ifndef RUN_DRIVER_FAR_AGENT_H
#define RUN_DRIVER_FAR_AGENT_H

#include "run/driver/agent/agent.h"

struct hub_peer;

struct far_agent {
    struct agent *agent;    // whose calls are made; NULL: not in use yet
    struct hub_peer *peer;  // of the client that is here; NULL: none
    uint32_t holder;        // the number of that client; no two have the same, and none has 0
    uint32_t slot_count;    // as it announced
    char *address;          // where it serves files; the client's
    const Weft__CodePackage *package;  // that workers are started from; borrowed
    weft_bytes run;                    // which one it is; likewise
    bool has_offered;                  // all finished work that it brought along,
    bool is_listing;                   // or leaves, and is asked for once more
    bool is_wanted;                    // a worker was asked for, and has not been lost since
    bool is_started;                   // and the client knows it
    bool awaits_end;               // of a worker that was given up: frames before that do not count
    struct agent_figures figures;  // of this client, as it reported them last
    uint64_t fetched_bytes, lent_bytes, relayed_bytes;
    uint32_t backup_count;  // second attempts that were sent to it
};

// ---- For agent.c: see agent.h

MUST_CHECK weft_err far_agent_start(struct far_agent *far);
void far_agent_fini(struct far_agent *far);
MUST_CHECK weft_err far_agent_send(struct far_agent *far, Weft__FrameType type,
                                   const ProtobufCMessage *message);
MUST_CHECK weft_err far_agent_tell_client(struct far_agent *far, Weft__FrameType type,
                                          const ProtobufCMessage *message);
void far_agent_kill(struct far_agent *far);
// See agent_ask_work.
MUST_CHECK weft_err far_agent_ask_work(struct far_agent *far);
// No task reads this file of the client any more.
void far_agent_forget(struct far_agent *far, uint64_t file);
// Forgets the worker, without a call: its client is to end it when it hears of that. The next one is started then.
void far_agent_abandon(struct far_agent *far);

// ---- For clients.c

// INTERNAL, with words for "sent ...": no client joins like that.
MUST_CHECK weft_err far_agent_check(const Weft__ClientJoin *join);
// A client takes the place.
void far_agent_attach(struct far_agent *far, struct hub_peer *peer, uint32_t holder,
                      const Weft__ClientJoin *join, char *address);
// A frame of the client. INTERNAL, with words for "sent ...": it may not send that.
MUST_CHECK weft_err far_agent_take(struct far_agent *far, const struct frame *frame);
// The client is gone, for this thread's reason.
void far_agent_detach(struct far_agent *far, weft_err code);

#endif
