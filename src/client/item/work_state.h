// The insides of work on items, shared by its files.
#ifndef CLIENT_ITEM_WORK_STATE_H
#define CLIENT_ITEM_WORK_STATE_H

#include <stdatomic.h>

#include "client/item/work.h"
#include "sys/process/nursery.h"

struct item_work {
    const struct item_work_options *options;
    struct remote *queue, *results;
    struct loop *loop;
    struct nursery **nurseries;
    size_t nursery_count;
    const char **environment;  // of commands, without the item's own variables
    size_t environment_count;
    char address[sizeof "WEFT_AT=" + NET_ADDRESS_TEXT_BYTES];
    char token[sizeof "WEFT_TOKEN=" + SECRET_TEXT_BYTES];

    struct mutex lock;     // guards what follows, and standard output and error
    uint32_t alive_count;  // workers
    uint64_t buried_count;
    uint64_t resting_until_ns;  // the last of the items that we gave back is in the queue again
    weft_err error;             // the first that ends all
    char sentence[ERR_TEXT_BYTES_MAX];
    _Atomic bool is_stopping;
    _Atomic bool is_unread;                  // the reader of our output has gone, as `head` does
    _Atomic uint32_t held_count, ran_count;  // items; those whose command was started
};

struct item_worker {
    struct item_work *work;
    struct thread thread;
    struct nursery *nursery;
    struct peer_call take, settle;
    bool is_settling, has_run;
    bool tells_waiting;  // with its first item
    uint32_t pause_ms;   // until the queue is looked at again

    struct call_item name;
    weft_bytes item;  // inside take.answer
    struct child child;
    struct buf out, err;  // what the command has printed and we have not
    struct buf words;     // memory of arguments
    const char **arguments, **environment;
    char reason[256];  // why it failed
};

// What names the item whatever delivery it is, as text: for a key that counts once.
enum { ITEM_KEY_BYTES = 64 };
void item_write_key(const struct call_item *item, char key[ITEM_KEY_BYTES]);

// Runs the command for the worker's item. False: it failed for `reason`. An error ends all: the command
// cannot be started, our output is closed.
MUST_CHECK weft_err item_command_run(struct item_worker *worker, bool *is_done);

// Memory for the command's arguments and environment.
MUST_CHECK weft_err item_command_init(struct item_worker *worker);
void item_command_fini(struct item_worker *worker);

#endif
