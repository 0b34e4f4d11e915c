// Clients: each is a process with a session of its own and one or two fibers that call.
#include "sim_host/client.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim_host/caller.h"
#include "sim_host/net.h"
#include "sys/env.h"
#include "wire/pack.h"

enum {
    CLIENTS_EVER_MAX = 24,  // lives of clients in one seed
    OPEN_TRIES_MAX = 1000,
    NS_PER_MS = 1000000,
};

struct client_plan client_plan;
struct history history;

const char *const op_names[] = {"push", "pop",  "take", "done", "give back", "close",  "add",
                                "swap", "read", "put",  "rm",   "get",       "vanish", "wait"};

static struct client clients[CLIENTS_EVER_MAX];
static int client_count;
static uint32_t lives[8];   // of each place: lives so far
static int present[8];      // of each place: who is there; -1: nobody
static uint32_t ops_of[8];  // of each place: calls that are left to its lives
static uint8_t last_element;
static enum { PHASE_WORK, PHASE_VERIFY, PHASE_OVER } phase;

static bool is_dead(const struct client *client)
{
    return world.dead_clients >> client->number & 1;
}

// ---- One call --------------------------------------------------------------------------------------

// A call with a deadline may ask the host once more what became of it: for as long again, within bounds.
static void check_time(const struct client *client, uint64_t given_ns, uint64_t took_ns)
{
    uint64_t more_ns = given_ns > 100 * NS_PER_MS ? given_ns : 100 * NS_PER_MS;
    if (more_ns > 1000 * NS_PER_MS)
        more_ns = 1000 * NS_PER_MS;
    if (took_ns > given_ns + more_ns + 50 * NS_PER_MS)
        world_wrong("client %d: a call took %" PRIu64 " ms, with a deadline of %" PRIu64 " ms",
                    client->number, took_ns / NS_PER_MS, given_ns / NS_PER_MS);
}

static weft_err ask(struct caller *caller, const struct peer_ask *what, uint64_t deadline_ns,
                    struct peer_call *call)
{
    const struct older_call begun = older_begin(caller->client, what->op);
    const uint64_t now_ns = world.now_ns, slept_ns = world.slept_ns;
    const weft_err err = peer_ask(caller->client->peer, what, call, deadline_ns);
    if (deadline_ns != UINT64_MAX)
        check_time(caller->client, deadline_ns - now_ns,
                   world.now_ns - now_ns - (world.slept_ns - slept_ns));
    older_end(caller->client, &begun, err);
    if (err)
        world_note("client %d: %s", caller->client->number, err_text());
    return err;
}

static weft_err open_one(struct caller *caller, enum call_kind kind, weft_bytes attributes,
                         uint16_t *handle)
{
    struct buf name = {0};
    struct peer_call call = {0};
    uint32_t life;
    ASSERT(!peer_new_handle(caller->client->peer, handle, &life));
    pack_write_u8(&name, (uint8_t)kind);
    pack_write_text(&name, weft_none());
    pack_write_text(&name, weft_text("r"));
    const struct peer_ask what = {.op = CALL_OPEN,
                                  .handle = *handle,
                                  .life = caller->life,
                                  .parts = {buf_bytes(&name), attributes}};
    const weft_err err = ask(caller, &what, UINT64_MAX, &call);
    peer_call_fini(&call);
    buf_fini(&name);
    return err;
}

static weft_err create(struct caller *caller)
{
    const int64_t zero = 0;
    struct peer_call call = {0};
    const struct peer_ask what = {.op = CALL_VAR_CREATE,
                                  .handle = caller->var,
                                  .life = caller->life,
                                  .parts = {{(const char *)&zero, sizeof zero}}};
    const weft_err err = ask(caller, &what, UINT64_MAX, &call);
    peer_call_fini(&call);
    return err;
}

// Handles of an earlier life are void.
static bool open_all(struct caller *caller)
{
    struct peer *peer = caller->client->peer;
    for (int i = 0; i < OPEN_TRIES_MAX && !is_dead(caller->client); i++) {
        if (caller->life == peer_life(peer))
            return true;
        caller->life = peer_life(peer);
        struct buf attributes = {0};
        if (client_plan.capacity) {
            pack_write_u64(&attributes, client_plan.capacity);
            pack_write_u64(&attributes, 0);
            pack_write_u32(&attributes, 0);
        }
        weft_err err = open_one(caller, CALL_KIND_QUEUE, buf_bytes(&attributes), &caller->queue);
        buf_fini(&attributes);
        if (!err)
            err = open_one(caller, CALL_KIND_VAR, weft_none(), &caller->var);
        if (!err)
            err = create(caller);
        if (!err)
            err = open_one(caller, CALL_KIND_KV, weft_none(), &caller->kv);
        if (!err)
            err = open_one(caller, CALL_KIND_BARRIER,
                           (weft_bytes){(const char *)&client_plan.barrier_count,
                                        sizeof client_plan.barrier_count},
                           &caller->barrier);
        if (err) {
            caller->life = 0;
            clock_sleep_ms(100);
        }
    }
    return false;
}

// Others of the client may get the numbers, before the host has heard of it.
static void release_all(struct caller *caller)
{
    const uint16_t handles[] = {caller->queue, caller->var, caller->kv, caller->barrier};
    for (size_t i = 0; i < sizeof handles / sizeof *handles; i++)
        peer_release_handle(caller->client->peer, handles[i], caller->life);
    caller->life = 0;
}

static enum op_outcome judge(const struct caller *caller, weft_err err)
{
    if (!err)
        return OUTCOME_OK;
    if (is_dead(caller->client) || caller->life != peer_life(caller->client->peer))
        return OUTCOME_UNKNOWN;
    switch (err) {
    case WEFT_CANCELLED:
        return OUTCOME_CLOSED;
    case WEFT_OUT_OF_RANGE:
        return OUTCOME_AT_END;
    case WEFT_ABORTED:
        return OUTCOME_FENCED;
    case WEFT_NOT_FOUND:
        return OUTCOME_ABSENT;
    case WEFT_RESOURCE_EXHAUSTED:
        return OUTCOME_NONE;
    case WEFT_DEADLINE_EXCEEDED:
    case WEFT_UNAVAILABLE:
        return OUTCOME_UNKNOWN;
    default:
        world_wrong("client %d: a call fails: %s", caller->client->number, err_text());
    }
}

static size_t begin_op(const struct caller *caller, const struct op *op)
{
    struct op begun = *op;
    begun.client = caller->client->number;
    begun.session = (uint32_t)caller->client->number << 16 | caller->life;
    begun.invoked = ++world.moment;
    begun.ended = UINT64_MAX;
    ASSERT(VEC_PUSH(&history.ops, begun));
    world.counts[COUNT_OPS]++;
    return history.ops.count - 1;
}

static uint64_t draw_deadline(const struct caller *caller, const struct op *op)
{
    const bool can_wait = op->kind <= OP_TAKE || op->kind == OP_CLOSE;
    // Who has a lease and waits for the end of the queue would wait for himself; at a barrier perhaps for
    // somebody who never comes.
    const bool may_wait_long = (can_wait && client_plan.has_leases) || op->kind == OP_WAIT;
    if (caller->client->is_verifier || (!may_wait_long && !world_chance(can_wait ? 700 : 200)))
        return UINT64_MAX;
    return world.now_ns + (uint64_t)world_between(50, 20000) * NS_PER_MS;
}

static uint16_t handle_of(const struct caller *caller, enum op_kind kind)
{
    if (kind <= OP_CLOSE)
        return caller->queue;
    if (kind <= OP_READ)
        return caller->var;
    return kind == OP_WAIT ? caller->barrier : caller->kv;
}

struct op *caller_do(struct caller *caller, const struct op *op, struct peer_ask *what,
                     struct peer_call *call)
{
    const size_t at = begin_op(caller, op);
    const char *name = op_names[op->kind];
    what->life = caller->life;
    what->handle = handle_of(caller, op->kind);
    world_note("client %d: %s %" PRId64 "...", caller->client->number, name, op->a);
    const weft_err err = ask(caller, what, draw_deadline(caller, op), call);
    struct op *ended = &history.ops.items[at];
    ended->outcome = judge(caller, err);
    ended->was_seen = !err && call->flags & ANSWER_FLAG_SEEN;
    ended->has_missed = !err && call->flags & ANSWER_FLAG_MISSED;
    if (ended->outcome != OUTCOME_UNKNOWN)
        ended->ended = ++world.moment;
    else
        world.counts[COUNT_UNKNOWN]++;
    world_note("client %d: ...%s %" PRId64 ": %s", caller->client->number, name, op->a,
               err ? weft_err_name(err) : "OK");
    return ended;
}

// ---- What may be done ------------------------------------------------------------------------------

static void push(struct caller *caller)
{
    const bool is_keyed = world_chance(300);
    const uint8_t element =
        is_keyed ? (uint8_t)(KEYED + world_below(client_plan.key_count)) : ++last_element;
    const char key[3] = {1, 0, (char)element};
    char text[300] = {(char)element};
    const size_t size = world_chance(800) ? 1 : 1 + world_below(sizeof text - 1);
    struct peer_ask what = {.op = CALL_QUEUE_PUSH, .flags = is_keyed ? CALL_FLAG_KEYED : 0};
    what.parts[0] = (weft_bytes){key, is_keyed ? sizeof key : 0};
    what.parts[1] = (weft_bytes){text, size};
    const struct op op = {.kind = OP_PUSH, .a = element};
    struct peer_call call = {0};
    caller_do(caller, &op, &what, &call);
    peer_call_fini(&call);
}

static enum op_outcome pop(struct caller *caller)
{
    struct peer_ask what = {.op = CALL_QUEUE_POP};
    const struct op op = {.kind = OP_POP};
    struct peer_call call = {0};
    struct op *ended = caller_do(caller, &op, &what, &call);
    if (ended->outcome == OUTCOME_OK)
        ended->value = (uint8_t)call.answer.data[0];
    const enum op_outcome outcome = ended->outcome;
    peer_call_fini(&call);
    return outcome;
}

static void change_var(struct caller *caller, struct op *op, uint8_t code, const weft_bytes *parts,
                       size_t count)
{
    struct peer_ask what = {.op = code, .flags = op->is_once ? CALL_FLAG_ONCE : 0};
    for (size_t i = 0; i < count; i++)
        what.parts[i] = parts[i];
    struct peer_call call = {0};
    struct op *ended = caller_do(caller, op, &what, &call);
    if (ended->outcome == OUTCOME_OK)
        memcpy(&ended->value, call.answer.data + 8, sizeof ended->value);
    peer_call_fini(&call);
}

static void add(struct caller *caller, const struct call_item *item, int64_t delta)
{
    struct op op = {.kind = OP_ADD, .a = delta, .is_once = item, .item = item ? item->id : 0};
    const weft_bytes parts[] = {{(const char *)item, item ? CALL_ITEM_BYTES : 0},
                                {(const char *)&delta, sizeof delta}};
    change_var(caller, &op, CALL_VAR_ADD, parts, 2);
}

static void swap(struct caller *caller)
{
    const uint32_t size = sizeof(int64_t);
    const int64_t expected = world_below(4), value = world_below(4);
    struct op op = {.kind = OP_SWAP, .a = expected, .b = value};
    const weft_bytes parts[] = {{(const char *)&size, sizeof size},
                                {(const char *)&expected, sizeof expected},
                                {(const char *)&value, sizeof value}};
    change_var(caller, &op, CALL_VAR_SWAP, parts, 3);
}

static void read_var(struct caller *caller)
{
    const uint64_t known = 0;
    const bool watches = world_chance(300);  // the first look of a watch
    struct op op = {.kind = OP_READ};
    const weft_bytes part = {(const char *)&known, sizeof known};
    change_var(caller, &op, watches ? CALL_VAR_WATCH : CALL_VAR_READ, &part, watches);
}

static void settle(struct caller *caller, const struct call_item *item, bool gives_back)
{
    const uint32_t delay_ms = world_chance(700) ? 0 : world_below(3000);
    struct peer_ask what = {.op = gives_back ? CALL_QUEUE_GIVE_BACK : CALL_QUEUE_DONE};
    what.parts[0] = (weft_bytes){(const char *)item, CALL_ITEM_BYTES};
    what.parts[1] = (weft_bytes){(const char *)&delay_ms, gives_back ? sizeof delay_ms : 0};
    const struct op op = {.kind = gives_back ? OP_GIVE_BACK : OP_DONE,
                          .a = (int64_t)item->id,
                          .item = item->id,
                          .delivery = item->delivery};
    struct peer_call call = {0};
    caller_do(caller, &op, &what, &call);
    peer_call_fini(&call);
}

static enum op_outcome take(struct caller *caller)
{
    const uint32_t lease_ms = caller->client->is_verifier ? 0 : client_plan.lease_ms;
    struct peer_ask what = {.op = CALL_QUEUE_TAKE,
                            .parts = {{(const char *)&lease_ms, sizeof lease_ms}}};
    const struct op op = {.kind = OP_TAKE};
    struct peer_call call = {0};
    struct call_item item = {0};
    struct op *ended = caller_do(caller, &op, &what, &call);
    const enum op_outcome outcome = ended->outcome;
    if (outcome == OUTCOME_OK) {
        memcpy(&item, call.answer.data, CALL_ITEM_BYTES);
        ended->value = (uint8_t)call.answer.data[CALL_ITEM_BYTES];
        ended->item = item.id;
        ended->delivery = item.delivery;
    }
    peer_call_fini(&call);
    if (outcome != OUTCOME_OK || is_dead(caller->client) || !open_all(caller))
        return outcome;
    if (!caller->client->is_verifier && world_chance(100))
        return outcome;  // kept until the session ends
    const bool gives_back = !caller->client->is_verifier && world_chance(200);
    if (lease_ms && world_chance(300))
        clock_sleep_ms(world_below(3 * lease_ms));  // it may be somebody else's by then
    if (!gives_back && open_all(caller))
        add(caller, &item, (int64_t)item.id * 1000);
    if (!is_dead(caller->client) && open_all(caller))
        settle(caller, &item, gives_back);
    return outcome;
}

static void close_queue(struct caller *caller)
{
    struct peer_ask what = {.op = CALL_QUEUE_CLOSE};
    const struct op op = {.kind = OP_CLOSE};
    struct peer_call call = {0};
    caller_do(caller, &op, &what, &call);
    peer_call_fini(&call);
}

static void do_something(struct caller *caller)
{
    const uint32_t what = world_below(100), also = world_below(100);
    if (also < 20)
        caller_change_kv(caller);
    else if (also < 30)
        caller_get(caller, (uint8_t)world_below(KEY_COUNT));
    else if (also < 35)
        caller_wait_at_barrier(caller);
    else if (what < 32)
        push(caller);
    else if (what < 60)
        client_plan.has_leases ? take(caller) : pop(caller);
    else if (what < 75)
        add(caller, NULL, world_between(1, 3));
    else if (what < 85)
        swap(caller);
    else if (what < 98)
        read_var(caller);
    else
        close_queue(caller);
}

// ---- Lives -----------------------------------------------------------------------------------------

static void leave(struct client *client)
{
    if (--client->fibers_left)
        return;
    const bool says_goodbye = !is_dead(client) && world_chance(700);
    history.goodbyes |= says_goodbye ? 1u << client->number : 0;
    peer_free(client->peer, says_goodbye);
    client->peer = NULL;
    if (client->is_local && !is_dead(client))
        local_end();
    world_note("client %d: gone", client->number);
    if (present[client->place] == client->number)
        present[client->place] = -1;
}

static void work(void *owner)
{
    struct caller *caller = owner;
    uint32_t *left = &ops_of[caller->client->place];
    while (open_all(caller) && *left > 0) {
        --*left;
        if (world_chance(50))
            release_all(caller);
        else
            do_something(caller);
    }
    leave(caller->client);
    free(caller);
}

static bool is_anybody_left(const struct client *except)
{
    for (int i = 0; i < client_count; i++)
        if (clients[i].peer && &clients[i] != except)
            return true;
    return false;
}

// All others have gone and are known to be: what they owned must have gone with them.
static void look_at_keys(struct caller *caller)
{
    while (is_anybody_left(caller->client))
        clock_sleep_ms(1000);
    clock_sleep_ms(4 * client_plan.session_ttl_ms + 20000);
    history.all_gone = ++world.moment;
    for (uint8_t key = 0; key < KEY_COUNT && open_all(caller); key++)
        caller_get(caller, key);
}

// Two of them: one closes, which may have to wait for the other, who takes all that is left.
static void verify(void *owner)
{
    struct caller *caller = owner;
    enum op_outcome outcome = OUTCOME_OK;
    if (!caller->is_drainer && open_all(caller))
        close_queue(caller);
    while (caller->is_drainer && outcome != OUTCOME_AT_END && open_all(caller))
        outcome = client_plan.has_leases ? take(caller) : pop(caller);
    if (caller->is_drainer && open_all(caller))
        read_var(caller);
    if (caller->is_drainer && open_all(caller))
        look_at_keys(caller);
    leave(caller->client);
    free(caller);
}

static void start_client(uint32_t place, uint32_t fiber_count, bool is_verifier)
{
    char member[32];
    struct client *client = &clients[client_count];
    *client = (struct client){.number = client_count++,
                              .place = place,
                              .fibers_left = fiber_count,
                              .is_verifier = is_verifier,
                              .is_local = client_plan.has_local && place == 0};
    snprintf(member, sizeof member, "/map/%u", place);
    struct peer_options options = {
        .address = {.host = "h", .port = 1},
        .host = "/files/0",
        .member = member,
        .incarnation = ++lives[place],
        .token = &sim_token,
        .patience_ms = is_verifier ? 3600000 : client_plan.patience_ms,
    };
    if (client->is_local)
        options.port = local_start();
    client->peer = peer_new(&options);
    ASSERT(client->peer);
    present[place] = client->number;
    world_note("client %d: starts as %s", client->number, member);
    for (uint32_t i = 0; i < fiber_count; i++) {
        struct caller *caller = calloc(1, sizeof *caller);
        ASSERT(caller);
        caller->client = client;
        caller->is_drainer = i == 0;
        fiber_start(is_verifier ? verify : work, caller)->client = client->number;
    }
}

static void kill_client(uint32_t place)
{
    const int number = present[place];
    world_note("client %d: killed", number);
    world.counts[COUNT_CLIENT_CRASHES]++;
    world.dead_clients |= 1u << number;
    net_end_client(number);
    present[place] = -1;
}

static void kill_some(void)
{
    const uint32_t place = world_below(client_plan.client_count);
    const int number = present[place];
    if (number >= 0 && !clients[number].is_local && world_chance(world.rates.client_crash))
        kill_client(place);
}

void client_end_local(void)
{
    if (!client_plan.has_local || present[0] < 0)
        return;
    kill_client(0);
    local_end();
}

void client_put_back(uint64_t appended)
{
    for (int i = 0; i < client_count; i++)
        if (clients[i].peer)
            older_put_back_for(&clients[i], appended);
}

bool client_manage(void)
{
    bool is_anybody_to_come = false;
    if (phase == PHASE_WORK && world.has_faults)
        kill_some();
    for (uint32_t place = 0; phase == PHASE_WORK && place < client_plan.client_count; place++) {
        if (present[place] >= 0 || ops_of[place] == 0 || client_count >= CLIENTS_EVER_MAX - 1)
            continue;
        is_anybody_to_come = true;
        if (client_plan.has_local && place == 0 && !world.host)
            continue;
        if (world_chance(50))
            start_client(place, world_between(1, client_plan.fiber_count), false);
    }
    const bool is_late = world.steps > 30000;  // somebody waits for what never comes
    if (phase == PHASE_WORK && ((!is_anybody_left(NULL) && !is_anybody_to_come) || is_late)) {
        phase = PHASE_VERIFY;
        world.has_faults = false;
        start_client(7, 2, true);
    }
    if (phase == PHASE_VERIFY && !is_anybody_left(NULL))
        phase = PHASE_OVER;
    return phase != PHASE_OVER;
}

void client_init(void)
{
    phase = PHASE_WORK;
    client_count = 0;
    last_element = 0;
    history.all_gone = history.goodbyes = 0;
    memset(clients, 0, sizeof clients);
    memset(lives, 0, sizeof lives);
    for (size_t i = 0; i < 8; i++) {
        present[i] = -1;
        ops_of[i] = i < client_plan.client_count ? client_plan.op_count : 0;
    }
}

void client_fini(void)
{
    VEC_FINI(&history.ops);
}
