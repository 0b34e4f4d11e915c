// handovers: finished work of clients that leave is copied to others, or to the server when no other can take it.
//
// A client that leaves lists its work: seals, and pairs between stages. Each item of the list is ordered from another client, which copies it and answers; one that
// cannot (its disk is full, it does not reach the first) is not asked again, and one that goes is replaced. Nothing moves before all of it is copied: until
// then the client that leaves still has it, and a receiver that dies costs nothing. If the client is lost before, the copies that are complete count.
//
// Knows nothing of the coordinator, which chooses the receivers and carries out what has moved. Thread: that of the loop.
#ifndef RUN_DRIVER_HANDOVERS_H
#define RUN_DRIVER_HANDOVERS_H

#include "run/driver/server/holdings.h"
#include "transport/fetch_client.h"

struct handovers;

// Work that is at another place now.
struct handed {
    uint32_t from, to;  // clients; `to` may be HOLDER_SERVER
    const Weft__ClientOffer *work;
    uint64_t file;  // at `to`; places in it as ClientTaken says
};

struct handover_wish {
    uint32_t from;
    uint64_t bytes;
    const uint32_t *refused;  // clients that could not
    size_t refused_count;
};

struct handovers_calls {
    // A client that can take the work; 0: there is none.
    uint32_t (*choose)(void *owner, const struct handover_wish *wish);
    // Whether it still can: it is here, answers, and does not leave itself.
    bool (*can_take)(void *owner, uint32_t holder);
    void (*order)(void *owner, uint32_t holder, const Weft__ClientTake *order);
    void (*forget)(void *owner, uint32_t holder, uint64_t file);
    holdings_place_fn *place;
    // For the server: fetches from a client (clients_fetch), and serves a file, which is taken over on success.
    weft_err (*fetch)(void *owner, uint32_t holder, const struct fetch_wanted *wanted);
    weft_err (*serve)(void *owner, int fd, uint64_t size, uint64_t *file);
    // The server has a copy: look at it again.
    void (*changed)(void *owner, uint32_t from);
    void (*moved)(void *owner, const struct handed *handed);
};

struct handovers_options {
    const char *tmp;  // stays the caller's
    const struct handovers_calls *calls;
    void *owner;
};

enum handover_state {
    HANDOVER_UNDER_WAY,
    HANDOVER_COMPLETE,  // the whole list is copied
    HANDOVER_FAILED,    // some of it cannot be: handover_why
};

struct handovers *handovers_new(const struct handovers_options *options);  // NULL with a sentence
// After the clients, of whose requests the end does not come any more; NULL is fine.
void handovers_free(struct handovers *handovers);

// A client leaves, and will list its work. RESOURCE_EXHAUSTED: no memory.
MUST_CHECK weft_err handovers_begin(struct handovers *handovers, uint32_t from);
// One item of the list: a seal or pairs, checked and with something in it; copied. RESOURCE_EXHAUSTED: no memory.
MUST_CHECK weft_err handovers_add(struct handovers *handovers, uint32_t from,
                                  const Weft__ClientOffer *work);
// The list is complete.
void handovers_close_list(struct handovers *handovers, uint32_t from);
// Looks after it: gives orders, also again.
enum handover_state handovers_look(struct handovers *handovers, uint32_t from);
const char *handovers_why(const struct handovers *handovers, uint32_t from);
// All copies that are complete count now, and the rest is dropped; also when the client is lost.
void handovers_end(struct handovers *handovers, uint32_t from);

// The answer of a client. INTERNAL, with words for "sent ...": it may not send that.
MUST_CHECK weft_err handovers_answer(struct handovers *handovers, uint32_t holder,
                                     const Weft__ClientTaken *taken);

#endif
