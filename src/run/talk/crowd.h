// crowd: clients of a server that come and go, as the run shows it. Each has a line while they are few; when many come or go
// at once, one line counts the others. With --json each is an object (docs/json.md). Thread: one owner.
#ifndef RUN_TALK_CROWD_H
#define RUN_TALK_CROWD_H

#include "base/buf.h"

enum crowd_kind {
    CROWD_JOINED,
    CROWD_LEFT,     // it was asked to end
    CROWD_LOST,     // it does not answer, or broke its connection
    CROWD_ASIDE,    // it cannot work for this job
    CROWD_SILENT,   // it may be lost soon
    CROWD_BACK,     // it is not
    CROWD_LEAVING,  // it was asked to end, and hands its work over
    CROWD_HANDED,   // it has, and leaves
    CROWD_KIND_COUNT,
};

struct crowd_change {
    enum crowd_kind kind;
    const char *client;  // its name
    uint32_t amount;     // slots of one that has joined, tasks that one has handed over
    uint32_t count;      // of clients that are here now
    const char *text;    // a sentence for people
};

enum { CROWD_LINES_MAX = 10 };  // of each kind in a second

struct crowd {
    uint64_t since_ns;  // the second that is counted
    uint32_t shown[CROWD_KIND_COUNT], hidden[CROWD_KIND_COUNT];
    uint32_t count;  // as last reported
};

// A line for people, or nothing: then it is counted.
void crowd_append_line(struct crowd *crowd, const struct crowd_change *change, uint64_t now_ns,
                       struct buf *text);
// One line for the clients that were counted, once the second is over. True: there is something.
bool crowd_append_rest(struct crowd *crowd, uint64_t now_ns, struct buf *text);

// How a client ended, by the last change: "left", "lost", "aside"; "end" of one that was there at the end. The other
// one is for people: " (lost)", or nothing.
const char *crowd_name_end(enum crowd_kind last);
const char *crowd_describe_end(enum crowd_kind last);

// {"event":"joined",...} and a line end.
void crowd_append_json(const struct crowd_change *change, struct buf *text);

#endif
