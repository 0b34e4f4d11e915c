// What a client knows of itself. Private to:
//   client.c        its life: joining, sessions, signals, the end
//   client_talk.c   its messages
//   client_leave.c  leaving in good order
#ifndef RUN_CLIENT_CLIENT_STATE_H
#define RUN_CLIENT_CLIENT_STATE_H

#include "run/client/client.h"
#include "run/client/estate.h"
#include "run/client/porter.h"
#include "run/options.h"
#include "sys/loop/loop.h"
#include "sys/machine/machine.h"

enum { SIGNALS_MAX = 5 };

struct client {
    const struct client_options *options;
    struct run_options machine;  // slots, memory and tmp, as weft run chooses them
    struct net_address server;
    struct secret token;
    char name[MACHINE_NAME_BYTES_MAX + 32];
    struct loop *loop;
    struct loop_signal *signals[SIGNALS_MAX];
    struct loop_timer *progress;
    uint32_t ticks;
    struct porter_figures told;
    struct spoke *spoke;
    struct estate estate;
    struct porter *porter;
    bool has_joined;        // this time, or before
    bool has_ended;         // the server has said so
    bool is_joined;         // now
    bool is_broken;         // this machine cannot work for the job
    bool has_told_waiting;  // that it waits for a server
    bool must_rejoin;       // the server took us for lost, or was started again

    // Asked to end.
    bool is_leaving;
    bool must_go;         // at once
    bool is_handed_over;  // nothing of its finished work is needed here
    uint32_t handed_count, quiet_looks;
    struct loop_timer *grace, *half_grace, *linger;
    int signal;
    weft_err code;
    char why[ERR_TEXT_BYTES_MAX];
};

// ---- client.c

// Ends the session with this thread's sentence; the first one counts.
void client_stop(struct client *client, weft_err code);

// ---- client_talk.c

void client_say(const struct client *client, const char *event, const char *sentence);
void client_tell_joined(const struct client *client);
void client_tell_end(const struct client *client, weft_err code, const char *why);
void client_tell_progress(void *client);  // from a timer

// ---- client_leave.c

// The user has asked it to end. False: there is nothing to wait for.
bool client_begin_to_leave(struct client *client);
// The server needs it no more.
void client_take_released(struct client *client, const struct frame *frame);
// It ends at once.
void client_go(struct client *client);
void client_tell_left(const struct client *client);
void client_free_leaving(struct client *client);

#endif
