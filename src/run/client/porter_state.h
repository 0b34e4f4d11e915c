// What a porter knows. Private to:
//   porter.c         its life, and what the server says
//   porter_worker.c  what the worker says and does
//   porter_code.c    the program that workers are started from
//   porter_inputs.c  the inputs of the job
#ifndef RUN_CLIENT_PORTER_STATE_H
#define RUN_CLIENT_PORTER_STATE_H

#include "run/client/copies.h"
#include "run/client/deliveries.h"
#include "run/client/estate.h"
#include "run/client/far_inputs.h"
#include "run/client/part_writer.h"
#include "run/client/porter.h"
#include "run/client/takings.h"
#include "run/package/take.h"

struct porter {
    struct porter_options options;
    struct agent agent;
    struct loop_timer *tick;
    uint32_t ticks, life;  // which worker it is

    // Of the server.
    struct fetch_client *server;
    struct cache *cache;
    struct take *code;  // NULL: not asked for yet
    bool has_code, is_starting;
    struct far_inputs *far_inputs;
    struct mirror **mirrors;  // by input; NULL: it is on this machine
    size_t mirror_count;
    VEC(int) rooms;      // files that the mirrors are in
    uint64_t room_used;  // of the last one

    struct estate *estate;  // for others; borrowed

    // Of others.
    struct copies *copies;
    struct deliveries *deliveries;
    struct part_writer *part_writer;
    struct takings *takings;

    struct porter_figures figures;
    struct agent_figures told;  // to the server
    bool is_broken, is_leaving;
    bool lacks_job;  // the worker never heard of it: nothing else is for the worker then
};

// Ends this client, with this thread's sentence.
void porter_break(struct porter *porter, weft_err code);
// The job for the worker, whose inputs were found or are lent; takes it. With a code and this thread's sentence: they are not.
void porter_start_job(struct porter *porter, Weft__JobStart *start, weft_err code);
// Sends to the server.
void porter_send(struct porter *porter, Weft__FrameType type, const ProtobufCMessage *message);

// ---- porter_code.c
MUST_CHECK weft_err porter_open_cache(struct porter *porter);

// Gets the code, if that has not been done, and starts a worker.
void porter_start_worker(struct porter *porter, const Weft__CodePackage *package);
void porter_kill_worker(struct porter *porter);

// ---- porter_inputs.c

MUST_CHECK weft_err porter_set_text(char **field, const char *text);
// Takes the job, also when it fails; porter_start_job follows otherwise.
MUST_CHECK weft_err porter_adapt_inputs(struct porter *porter, Weft__JobStart *start);
void porter_take_need(struct porter *porter, const Weft__Need *need);
uint64_t porter_lent_bytes(const struct porter *porter);
void porter_free_inputs(struct porter *porter);

// ---- porter_worker.c

extern const struct agent_calls porter_agent_calls;

// The worker could not be started, with this thread's sentence.
void porter_tell_unstarted(struct porter *porter, weft_err code);
void porter_tell_status(struct porter *porter);
// The server sets this client aside, with this thread's sentence.
void porter_tell_failed(struct porter *porter, weft_err code);
void porter_tell_undone(struct porter *porter, const Weft__TaskRun *run, weft_err code,
                        uint32_t bad_seal);

#endif
