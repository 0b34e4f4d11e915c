// What a server costs with many clients: agents ADDRESS [CLIENTS [SLOTS]], of a server that runs with the same WEFT_TOKEN.
//
// One process stands in for all clients. Each is a session of its own, with real frames; their workers do no work: every task ends well as soon as
// it comes, and its output is empty. So the rate is what the server can do: its sessions, frames, scheduler and notes, with half of the machine for
// the other side. bench/many starts both, and has the CPU time of the server.
//
//   cc -O3 -D_GNU_SOURCE -std=gnu17 -Isrc -Iinclude bench/agents.c build/internal/libweft_internal.a -lpthread -lm -lssl -lcrypto
//      -luv -lprotobuf-c -o /tmp/agents
#include <stdio.h>
#include <stdlib.h>

#include "base/vec.h"
#include "mapreduce/coord/sched.h"
#include "mapreduce/slot_page.h"
#include "sys/loop/loop.h"
#include "sys/process/process.h"
#include "sys/secure/secret.h"
#include "sys/time/clock.h"
#include "transport/spoke.h"

enum { STATUS_MS = 500 };

struct slot {
    VEC(uint32_t) held;
};

struct agent {
    struct spoke *spoke;
    struct slot *slots;
    uint32_t number, stage;
    bool has_task, has_ended;
    char name[32];
};

static struct loop *loop;
static struct agent *agents;
static uint32_t agent_count = 1000, slot_count = 8;
static uint32_t joined_count, begun_count, ended_count;
static uint64_t map_count, reduce_count;
static uint64_t start_ns, joined_ns, first_ns, all_begun_ns, last_map_ns;

static void die(const char *what)
{
    fprintf(stderr, "agents: %s: %s\n", what, err_text());
    exit(1);
}

static void send(struct agent *agent, Weft__FrameType type, const ProtobufCMessage *message)
{
    if (spoke_send(agent->spoke, type, message) != WEFT_OK)
        die("send");
}

static void on_joined(void *owner)
{
    struct agent *agent = owner;
    Weft__ClientJoin join = WEFT__CLIENT_JOIN__INIT;
    join.slots = slot_count;
    join.memory_bytes = 1 << 30;
    join.port = 1;
    join.host = agent->name;
    join.pid = agent->number + 1;
    send(agent, WEFT__FRAME_TYPE__FRAME_CLIENT_JOIN, &join.base);
    if (++joined_count == agent_count)
        joined_ns = clock_now_ns();
}

static void commit(struct agent *agent, const Weft__TaskRun *run)
{
    Weft__Committed committed = WEFT__COMMITTED__INIT;
    uint32_t task = run->task, crc = 0;
    uint64_t zero = 0;
    committed.kind = run->kind;
    committed.stage = run->stage;
    committed.shelf = 1;
    committed.tasks = &task;
    committed.output_bytes = committed.output_records = committed.shelf_offsets = &zero;
    committed.output_crc = &crc;
    committed.n_tasks = committed.n_output_bytes = committed.n_output_crc = 1;
    committed.n_output_records = committed.n_shelf_offsets = 1;
    send(agent, WEFT__FRAME_TYPE__FRAME_COMMITTED, &committed.base);
}

static void note_begun(struct agent *agent)
{
    const uint64_t now = clock_now_ns();
    first_ns = first_ns ? first_ns : now;
    if (!agent->has_task && ++begun_count == agent_count)
        all_begun_ns = now;
    agent->has_task = true;
}

static void run_task(struct agent *agent, const Weft__TaskRun *run)
{
    Weft__TaskEnd end = WEFT__TASK_END__INIT;
    note_begun(agent);
    end.kind = run->kind;
    end.task = run->task;
    end.attempt = run->attempt;
    end.slot = run->slot;
    end.stage = agent->stage = run->stage;
    send(agent, WEFT__FRAME_TYPE__FRAME_TASK_END, &end.base);
    if (run->kind == WEFT__TASK_KIND__TASK_MAP) {
        map_count++;
        last_map_ns = clock_now_ns();
        if (!VEC_PUSH(&agent->slots[run->slot].held, run->task))
            die("memory");
    } else if (run->kind == WEFT__TASK_KIND__TASK_REDUCE) {
        reduce_count++;
        commit(agent, run);
    }
}

static void seal(struct agent *agent, uint32_t slot)
{
    Weft__Checkpointed done = WEFT__CHECKPOINTED__INIT;
    done.slot = slot;
    done.tasks = agent->slots[slot].held.items;
    done.n_tasks = agent->slots[slot].held.count;
    done.path = "";
    done.stage = agent->stage;
    done.is_seal = true;
    done.file = slot + 1;
    done.file_size = 1;
    send(agent, WEFT__FRAME_TYPE__FRAME_CHECKPOINTED, &done.base);
    agent->slots[slot].held.count = 0;
}

static void end_worker(struct agent *agent)
{
    Weft__ClientLost lost = WEFT__CLIENT_LOST__INIT;
    lost.was_ready = lost.is_released = lost.is_exit_known = true;
    send(agent, WEFT__FRAME_TYPE__FRAME_CLIENT_LOST, &lost.base);
}

static void on_end(struct agent *agent)
{
    if (!agent->has_ended && ++ended_count == agent_count)
        loop_stop(loop);
    agent->has_ended = true;
}

static void on_frame(void *owner, const struct frame *frame)
{
    struct agent *agent = owner;
    Weft__TaskRun *run = NULL;
    Weft__Seal *order = NULL;
    switch (frame->type) {
    case WEFT__FRAME_TYPE__FRAME_CLIENT_START:
        send(agent, WEFT__FRAME_TYPE__FRAME_CLIENT_READY, NULL);
        break;
    case WEFT__FRAME_TYPE__FRAME_TASK_RUN:
        if (message_unpack(frame, &weft__task_run__descriptor, &run) != WEFT_OK)
            die("TASK_RUN");
        run_task(agent, run);
        message_free(run);
        break;
    case WEFT__FRAME_TYPE__FRAME_SEAL:
        if (message_unpack(frame, &weft__seal__descriptor, &order) != WEFT_OK)
            die("SEAL");
        seal(agent, order->slot);
        message_free(order);
        break;
    case WEFT__FRAME_TYPE__FRAME_BYE:
        send(agent, WEFT__FRAME_TYPE__FRAME_BYE, NULL);
        end_worker(agent);
        break;
    case WEFT__FRAME_TYPE__FRAME_CLIENT_END:
        on_end(agent);
        break;
    default:
        break;
    }
}

static void ignore(void *owner)
{
    (void)owner;
}

static void on_lost(void *owner, weft_err code)
{
    const struct agent *agent = owner;
    (void)code;
    if (!agent->has_ended)
        die(agent->name);
}

// As real clients do.
static void report(void *owner)
{
    (void)owner;
    Weft__ClientStatus status = WEFT__CLIENT_STATUS__INIT;
    uint64_t phases[PHASE_COUNT] = {0};
    status.phase_ns = phases;
    status.n_phase_ns = PHASE_COUNT;
    for (uint32_t i = 0; i < agent_count; i++)
        if (agents[i].has_task && !agents[i].has_ended)
            send(&agents[i], WEFT__FRAME_TYPE__FRAME_CLIENT_STATUS, &status.base);
}

static void open_agent(uint32_t i, const struct net_address *address, const struct secret *token)
{
    static const struct spoke_calls calls = {on_joined, on_frame, ignore, ignore, on_lost};
    struct agent *agent = &agents[i];
    agent->number = i;
    agent->slots = calloc(slot_count, sizeof *agent->slots);
    snprintf(agent->name, sizeof agent->name, "fake/%u", i + 1);
    const struct spoke_options options = {.loop = loop,
                                          .address = *address,
                                          .token = token,
                                          .name = agent->name,
                                          .calls = &calls,
                                          .owner = agent};
    agent->spoke = agent->slots ? spoke_new(&options) : NULL;
    if (!agent->spoke)
        die("join");
}

static double ms(uint64_t from_ns, uint64_t to_ns)
{
    return to_ns > from_ns ? (double)(to_ns - from_ns) / 1e6 : 0;
}

int main(int count, char **words)
{
    struct net_address address;
    struct secret token;
    if (count < 2)
        die("usage: agents ADDRESS [CLIENTS [SLOTS]]");
    agent_count = count > 2 ? (uint32_t)atoi(words[2]) : agent_count;
    slot_count = count > 3 ? (uint32_t)atoi(words[3]) : slot_count;
    process_allow_descriptors();
    agents = calloc(agent_count, sizeof *agents);
    loop = loop_new(ignore, NULL);
    if (!agents || !loop || secret_load(NULL, &token) != WEFT_OK ||
        net_read_address(words[1], 0, &address) != WEFT_OK)
        die("start");
    start_ns = clock_now_ns();
    for (uint32_t i = 0; i < agent_count; i++)
        open_agent(i, &address, &token);
    struct loop_timer *status = loop_timer_new(loop, STATUS_MS, STATUS_MS, report, NULL);
    loop_run(loop);
    loop_timer_free(status);
    const double seconds = ms(first_ns, last_map_ns) / 1e3;
    printf("{\"clients\":%u,\"slots\":%u,\"maps\":%llu,\"reduces\":%llu,\"map_seconds\":%.3f,"
           "\"maps_per_second\":%.0f,\"join_ms\":%.1f,\"first_task_ms\":%.1f,\"all_begun_ms\":%.1f,"
           "\"joined_to_first_ms\":%.1f,\"total_ms\":%.1f}\n",
           agent_count, slot_count, (unsigned long long)map_count, (unsigned long long)reduce_count,
           seconds, seconds > 0 ? (double)map_count / seconds : 0, ms(start_ns, joined_ns),
           ms(start_ns, first_ns), ms(start_ns, all_begun_ns), ms(joined_ns, first_ns),
           ms(start_ns, clock_now_ns()));
    return 0;
}
