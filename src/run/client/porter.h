// porter: stands between a server and the worker on this machine. Frames pass through it both ways; where they name files, it puts
// others in their place: of the worker's files the numbers by which others fetch them, of other clients' files copies
// that the worker can open. It looks after the worker with an agent (run/driver/agent/agent.h), and reports how that one fares.
//
// It decides nothing: orders come from the server. Thread: that of the loop.
#ifndef RUN_CLIENT_PORTER_H
#define RUN_CLIENT_PORTER_H

#include "run/driver/agent/agent.h"
#include "sys/net/net.h"
#include "sys/secure/secret.h"

struct porter;
struct estate;

struct porter_calls {
    // A frame for the server.
    weft_err (*send)(void *owner, Weft__FrameType type, const ProtobufCMessage *message);
    weft_err (*send_bytes)(void *owner, Weft__FrameType type, weft_bytes payload);
    // This client cannot continue, with this thread's sentence. The porter is freed later.
    void (*broken)(void *owner, weft_err code);
};

struct porter_options {
    struct loop *loop;
    const struct secret *token;  // stays the caller's
    const char *name;            // of this client; likewise
    struct net_address server;
    struct estate *estate;  // stays the caller's: finished work outlives the porter
    uint32_t slot_count;
    uint64_t memory_bytes;  // of the worker
    const char *tmp;        // stays the caller's
    const struct porter_calls *calls;
    void *owner;
};

// NULL with a sentence.
struct porter *porter_new(const struct porter_options *options);
void porter_free(struct porter *porter);  // and its worker; NULL is fine

// A frame of the server, but for CLIENT_END.
void porter_take(struct porter *porter, const struct frame *frame);

// This client is about to leave: the server hears of it, and no worker is started any more. Attempts that run may end; then the
// server has finished work copied to others.
void porter_leave(struct porter *porter, uint32_t grace_ms);
// What runs is given back to the server: the worker is killed, and its finished work stays.
void porter_give_back(struct porter *porter);

struct porter_figures {
    uint64_t task_count;     // that ended well here
    uint64_t code_bytes;     // from the server: the job's code,
    uint64_t lent_bytes;     // and inputs
    uint64_t fetched_bytes;  // from other clients,
    uint64_t relayed_bytes;  // and of them through the server
};
void porter_read_figures(const struct porter *porter, struct porter_figures *figures);

#endif
