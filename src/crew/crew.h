// crew: the members of a cluster that one process has started, and the decisions about them.
//
//   crew_begin -> START of each -> MEMBER_ENDED...
//       well: nothing, until all have ended
//       with a failure: START_LATER while it has restarts left, then START_DUE -> START
//                       otherwise GIVEN_UP, and the others are asked to end (unless they may continue)
//   MEMBER_LOST with its host: likewise, but that start is not counted
//       when every member that is waited for has ended, the others are asked to end, and that is not a failure
//   STOP_ASKED: TERMINATE all, SET_GRACE; asked again by a person, or GRACE_ENDED: KILL all
//   -> FINISHED, once, when no member runs and none is to be started
//
// The owner turns exits, signals and timers into events, hands them in one at a time in the order they
// happened, and carries out the actions in the order they come out. Pure: no clock, no I/O, no
// allocation after crew_init. Thread: one owner.
#ifndef CREW_CREW_H
#define CREW_CREW_H

#include "base/err.h"

enum {
    CREW_MEMBERS_MAX = 1024,  // five descriptors each
    CREW_BACKOFF_FIRST_MS = 50,
    CREW_BACKOFF_MAX_MS = 1000,
    CREW_GRACE_DEFAULT_MS = 5000,
};

enum crew_state {
    CREW_IDLE,  // not started yet
    CREW_RUNNING,
    CREW_RESTING,  // failed, and will be started again
    CREW_DONE,     // ended well
    CREW_FAILED,   // ended with a failure, for good
    CREW_STOPPED,  // ended because it was asked to
};

struct crew_member {
    enum crew_state state;
    uint32_t restarts, restarts_max;
    int exit_code;    // of its last end: its own, or 128 + signal
    bool is_awaited;  // the crew is done when all of these have ended; when there is none, all
    bool may_fail;  // its failure is reported, and neither ends the others nor is that of the crew
};

struct crew {
    struct crew_member *members;
    size_t count;
    bool keeps_going;   // the failure of one does not end the others
    uint32_t grace_ms;  // between asking to end and killing
    bool is_stopping, is_killing, is_finished;
    bool has_failed;
    int exit_code;  // of the first failure, or of what made it stop
};

enum crew_event_kind {
    CREW_MEMBER_ENDED,  // `member` with `exit_code`
    CREW_START_FAILED,  // `member` could not be started; `exit_code` is for the report
    CREW_MEMBER_LOST,  // the host of `member` has gone, and it with that; `exit_code` is for the report
    CREW_START_DUE,   // the time of a START_LATER has come
    CREW_STOP_ASKED,  // with `exit_code`; `is_person`: when asked twice, they are killed
    CREW_GRACE_ENDED,
};

struct crew_event {
    enum crew_event_kind kind;
    size_t member;
    int exit_code;
    bool is_person;
};

enum crew_action_kind {
    CREW_START,
    CREW_START_LATER,  // after `delay_ms`, say START_DUE; or START_FAILED, when it has no place any more
    CREW_GIVEN_UP,  // to be reported: it failed for good
    CREW_TERMINATE,
    CREW_KILL,
    CREW_SET_GRACE,  // after `delay_ms`, say GRACE_ENDED
    CREW_FINISHED,   // with `exit_code`
};

struct crew_action {
    enum crew_action_kind kind;
    size_t member;
    uint32_t delay_ms;
    int exit_code;
};

// What one event can bring about: each member is started or ended, and three more.
struct crew_actions {
    struct crew_action items[CREW_MEMBERS_MAX + 3];
    size_t count;
};

// `count` members from 1 to CREW_MEMBERS_MAX, without restarts; set restarts_max, is_awaited,
// keeps_going and grace_ms afterwards. RESOURCE_EXHAUSTED.
MUST_CHECK weft_err crew_init(struct crew *crew, size_t count);
void crew_fini(struct crew *crew);

// Both empty `actions` first. An event that is late (a START_DUE after the end was asked for) does nothing.
void crew_begin(struct crew *crew, struct crew_actions *actions);
void crew_step(struct crew *crew, const struct crew_event *event, struct crew_actions *actions);

// Restarts of all members.
uint64_t crew_count_restarts(const struct crew *crew);

// How long a member rests before its restart number `restart` (from 1).
uint32_t crew_backoff_ms(uint32_t restart);

#endif
