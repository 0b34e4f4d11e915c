// item_work: a command for every item of a queue, under a lease that its end settles.
//
// Each worker is a thread that takes an item, runs the command for it, and says what became of it: done,
// or back to the queue after a pause that doubles, or to the dead letters. Results go to another queue
// before that, keyed by the item, so that one delivered twice leaves one result. "Done" and the next
// take travel together.
#ifndef CLIENT_ITEM_WORK_H
#define CLIENT_ITEM_WORK_H

#include "client/member.h"

enum { ITEM_BACKOFF_MS = 1000, ITEM_BACKOFF_MS_MAX = 60000, ITEM_DELIVERIES_MAX = 5 };

struct item_work_options {
    const char *const *command;  // NULL-terminated; {} stands for the item
    bool by_stdin;               // the item is what the command reads
    uint32_t worker_count;
    uint32_t deliveries_max;  // then an item goes to the dead letters; 0: no limit
    uint32_t backoff_ms;
    uint32_t item_timeout_ms;  // 0: none
    bool is_quiet;             // says nothing of waiting, nor of failures that will be tried again
    bool until_empty;          // ends when none is left but what others have
};

// Works until the queue is closed and drained, or empty if that is the end, and returns the exit code: 1 when items went to the dead
// letters. `results` may be NULL. At SIGINT and its kin what runs is killed and given back, and the process ends
// here. To be called while the process has one thread.
int item_work_run(const struct item_work_options *options, struct remote *queue,
                  struct remote *results);

#endif
