// lines: connections for fetching that the side which serves the files has opened.
//
// A peer of a hub may be out of reach for others: a firewall, or a router that translates addresses. All of them reach the hub. So the hub asks the peer for a line, by a
// frame of their session, and the peer's spoke connects, names the number of the line and serves its files there.
//
//     hub                                                   spoke
//       FRAME_LINE  u64 number                          ->        in the session
//                <- HELLO_FOR_LINE, target: the number            a new connection
//       FETCH, FETCH_CREDIT                             ->        as in fetch.h
//                <- FETCH_BLOCK, FETCH_FAILED
//
// A line was asked for and has not come yet. Pure state. Thread: that of the loop.
#ifndef TRANSPORT_LINES_H
#define TRANSPORT_LINES_H

#include <stdint.h>

#include "base/list.h"

struct guest;
struct hub_peer;
struct line;

enum { LINE_FRAME_BYTES = 8 };

// It is there: the guest is proven, and is answered by door_welcome or door_refuse. NULL: the peer is gone, and no line will come. The line is
// void in both cases.
typedef void line_fn(void *owner, struct guest *guest);

struct lines {
    struct link list;
    uint64_t last;  // number
};

void lines_init(struct lines *lines);
void lines_fini(struct lines *lines);  // without any call

// NULL with a sentence.
struct line *lines_add(struct lines *lines, struct hub_peer *peer, line_fn *came, void *owner);
void line_free(
    struct line *line);  // it is not wanted any more: the call does not come. NULL is fine

uint64_t line_number(const struct line *line);
struct hub_peer *line_peer(const struct line *line);

struct line *lines_find(struct lines *lines, uint64_t number);  // NULL: there is none
void line_end(struct line *line, struct guest *guest);          // makes the call
void lines_lose(struct lines *lines, const struct hub_peer *peer);

#endif
