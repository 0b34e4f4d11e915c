// A host behind links that break, and members that call it as wire/call.h says: whoever connects again
// tells how many answers it has, is told how many of its calls have arrived, and both send the rest.
// No sockets and no clock: whoever runs it decides what moves next.
#ifndef PROP_WIRE_MEMBER_H
#define PROP_WIRE_MEMBER_H

#include "resource/host.h"

struct wire_world {
    struct host *host;
    struct host_options options;
    struct buf journal;
    size_t synced;  // what of the journal survives a crash; answers are sent when all of it does
    bool refuses;   // the journal
};

struct wire_call {
    uint64_t sequence;
    struct buf bytes;
};

struct wire_member {
    char name[16];
    uint64_t id;
    uint64_t sequence, answered;
    VEC(struct wire_call) calls;  // without an answer yet, in order
    size_t sent;                  // of these, on this connection
    bool is_connected, had_session;
    bool is_confused;     // it was answered what it had not asked, or had an answer to
    struct buf up, down;  // on their way; up: {u64 answered, call}
    struct buf taken;     // the payload that was received last
};

void wire_start(struct wire_world *world);
void wire_stop(struct wire_world *world);

// The host dies and comes back. What was not synced is lost, except for the first `lucky` bytes or so.
void wire_crash(struct wire_world *world, size_t lucky);
void wire_snapshot(struct wire_world *world);  // replaces the journal

// A replay of the journal is the host.
bool wire_check(struct wire_world *world);

void wire_free(struct wire_member *member);

// False: its session was ended meanwhile, it has to begin anew. When the journal refuses, it is not
// connected afterwards.
bool wire_connect(struct wire_world *world, struct wire_member *member);
void wire_break(struct wire_member *member);

// The host gives the member up; it may or may not be connected. False: the journal refused.
bool wire_end_session(struct wire_world *world, struct wire_member *member);

uint64_t wire_call(struct wire_member *member, uint8_t op, uint8_t flags, uint16_t handle,
                   weft_bytes payload);

// What moves, one step each; false: there was nothing.
bool wire_send(struct wire_member *member);                              // a call sets out
bool wire_arrive(struct wire_world *world, struct wire_member *member);  // and is done
bool wire_answer(struct wire_world *world, struct wire_member *member, size_t bytes_max);
bool wire_receive(struct wire_member *member, struct answer *answer);  // borrowed until the next

#endif
