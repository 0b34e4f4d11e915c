// Producers and consumers of one queue, on links that break, with members and hosts that die: every
// element is delivered and done exactly once.
//
//   prop_queue [--seed N] [--seeds COUNT] [-v]
//
// A seed draws who there is, the capacity, how consumers take (leased, popped, popped by many), and
// which faults there are; then every step. Half of the faults are absent from a seed. After the faults
// all must end. Where no element can be delivered twice, each consumer sees those of a producer in
// their order. Pushes have keys where producers may be started again.

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prop/wire_member.h"
#include "wire/pack.h"

enum {
    SEEDS_DEFAULT = 10000,
    MEMBERS_MAX = 6,
    PRODUCERS_MAX = 3,
    ELEMENTS_MAX = 24,  // of a producer
    HELD_MAX = 8,
    QUIET_STEPS_MAX = 200000,
};

enum taking { TAKES, POPS, POPS_MANY };

// The call that an answer is for.
struct asked {
    uint64_t sequence;
    uint8_t op;
    uint32_t producer, number, count;
    struct call_item item;
};

struct held {
    struct call_item item;
    uint32_t producer, number;
};

struct actor {
    struct wire_member wire;
    bool is_producer, is_opening, has_opened, is_finished;
    uint32_t index;      // of a producer: which
    uint32_t next, put;  // of its elements: to be pushed next, pushed
    bool is_closing;
    VEC(struct asked) asked;
    struct held held[HELD_MAX];
    uint32_t held_count, taking_count;
    uint32_t last[PRODUCERS_MAX];  // the number that was seen last of each producer
};

static struct {
    uint64_t seed, random, next_id;
    bool is_verbose;
    uint32_t step, fault_steps;
    struct wire_world world;
    struct actor actors[MEMBERS_MAX];
    uint32_t actor_count, producer_count, element_count;
    enum taking taking;
    bool has_keys, has_twins, may_repeat, must_keep_order, by_many;
    int64_t capacity;
    uint32_t deliveries_max, lease_ms;
    uint32_t break_rate, crash_rate, snapshot_rate, death_rate, end_rate, refuse_rate, back_rate;
    uint32_t cancel_rate;
    // What became of each element.
    uint32_t delivered[PRODUCERS_MAX][ELEMENTS_MAX], done[PRODUCERS_MAX][ELEMENTS_MAX];
    uint32_t maybe[PRODUCERS_MAX][ELEMENTS_MAX];  // a DONE whose answer nobody got
    uint32_t dead[PRODUCERS_MAX][ELEMENTS_MAX];
} prop;

static struct {
    uint64_t steps, crashes, breaks, deaths, ends, deliveries, stale, dead;
} totals;

_Noreturn static void wrong(const char *what, uint32_t producer, uint32_t number)
{
    fprintf(stderr,
            "prop_queue: step %u: %s (element %u of producer %u)\nSEED=%" PRIu64
            "\nrepeat: prop_queue --seed %" PRIu64 " -v\n",
            prop.step, what, number, producer, prop.seed, prop.seed);
    exit(1);
}

// ---- Chance --------------------------------------------------------------------------------------------

static uint32_t draw(uint32_t limit)
{
    prop.random += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t value = prop.random;
    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return limit ? (uint32_t)((value ^ value >> 31) % limit) : 0;
}

static bool chance(uint32_t per_mille)
{
    return prop.step < prop.fault_steps && draw(1000) < per_mille;
}

static uint32_t draw_rate(uint32_t most)
{
    return draw(2) ? 0 : 1 + draw(most);
}

static void draw_options(void)
{
    prop.producer_count = 1 + draw(PRODUCERS_MAX);
    prop.actor_count = prop.producer_count + 1 + draw(3);
    prop.element_count = 1 + draw(ELEMENTS_MAX - 1);
    prop.capacity = draw(2) ? -1 : (int64_t)(1 + draw(5));
    prop.fault_steps = 200 + draw(3000);
    prop.break_rate = draw_rate(40);
    prop.crash_rate = draw_rate(20);
    prop.snapshot_rate = draw_rate(20);
    prop.death_rate = draw_rate(4);
    prop.end_rate = draw_rate(4);
    prop.refuse_rate = draw_rate(50);
    // What is popped is gone with who popped it: members that may be lost take leases.
    const bool loses_members = prop.death_rate || prop.end_rate;
    prop.taking = loses_members ? TAKES : (enum taking)draw(3);
    prop.has_keys = loses_members || draw(2);
    prop.has_twins = prop.has_keys && prop.producer_count > 1 && draw(2);
    prop.by_many = !prop.has_keys && draw(2);
    prop.lease_ms = draw(3) ? 0 : 20 + draw(200);
    prop.back_rate = draw_rate(300);
    prop.cancel_rate = draw_rate(100);
    prop.deliveries_max = draw(3) ? 0 : 2 + draw(4);
    prop.may_repeat = loses_members || prop.lease_ms || prop.back_rate;
    prop.must_keep_order = !prop.may_repeat && !prop.refuse_rate;
}

// ---- Calls ---------------------------------------------------------------------------------------------

static void ask(struct actor *actor, struct asked asked, uint8_t flags, weft_bytes payload)
{
    asked.sequence = wire_call(&actor->wire, asked.op, flags, 0, payload);
    ASSERT(VEC_PUSH(&actor->asked, asked));
}

static void ask_to_open(struct actor *actor)
{
    struct buf payload = {0};
    pack_write_u8(&payload, CALL_KIND_QUEUE);
    pack_write_text(&payload, weft_none());
    pack_write_text(&payload, weft_text("q"));
    pack_write_u64(&payload, (uint64_t)prop.capacity);
    pack_write_u64(&payload, 0);
    pack_write_u32(&payload, prop.deliveries_max);
    ask(actor, (struct asked){.op = CALL_OPEN}, 0, buf_bytes(&payload));
    buf_fini(&payload);
    actor->is_opening = true;
}

static void ask_to_push(struct actor *actor)
{
    const uint32_t left = prop.element_count - actor->next;
    const uint32_t count = prop.by_many ? 1 + draw(left < 4 ? left : 4) : 1;
    const struct asked asked = {.op = prop.by_many ? CALL_QUEUE_PUSH_MANY : CALL_QUEUE_PUSH,
                                .producer = actor->index,
                                .number = actor->next,
                                .count = count};
    struct buf payload = {0};
    if (prop.by_many)
        pack_write_u32(&payload, count);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t element[] = {actor->index, actor->next++};
        if (prop.by_many)
            pack_write_u32(&payload, sizeof element);
        if (prop.has_keys)
            pack_write_text(&payload, (weft_bytes){(const char *)element, sizeof element});
        buf_append(&payload, element, sizeof element);
    }
    ask(actor, asked, prop.has_keys ? CALL_FLAG_KEYED : 0, buf_bytes(&payload));
    buf_fini(&payload);
}

static void ask_for_elements(struct actor *actor)
{
    const uint32_t number = prop.taking == TAKES ? prop.lease_ms : 1 + draw(5);
    const weft_bytes payload = {(const char *)&number, prop.taking == POPS ? 0 : sizeof number};
    static const uint8_t ops[] = {CALL_QUEUE_TAKE, CALL_QUEUE_POP, CALL_QUEUE_POP_MANY};
    ask(actor, (struct asked){.op = ops[prop.taking]}, CALL_FLAG_UP_TO, payload);
    actor->taking_count++;
}

static bool is_taking(uint8_t op)
{
    return op == CALL_QUEUE_TAKE || op == CALL_QUEUE_POP || op == CALL_QUEUE_POP_MANY;
}

// One of those that may wait; it may be answered by now.
static void ask_to_cancel(struct actor *actor)
{
    const struct asked *asked = &actor->asked.items[draw((uint32_t)actor->asked.count)];
    const uint64_t sequence = asked->sequence;
    if (is_taking(asked->op))
        ask(actor, (struct asked){.op = CALL_CANCEL}, 0,
            (weft_bytes){(const char *)&sequence, sizeof sequence});
}

static void end_one(struct actor *actor)
{
    const uint32_t at = draw(actor->held_count);
    const struct held held = actor->held[at];
    const bool gives_back = chance(prop.back_rate), extends = !gives_back && chance(50);
    struct asked asked = {.op = gives_back ? CALL_QUEUE_GIVE_BACK
                                : extends  ? CALL_QUEUE_EXTEND
                                           : CALL_QUEUE_DONE,
                          .producer = held.producer,
                          .number = held.number,
                          .item = held.item};
    struct buf payload = {0};
    pack_write_item(&payload, &held.item);
    pack_write_u32(&payload, gives_back ? draw(2) * draw(40) : prop.lease_ms);
    ask(actor, asked, 0, buf_bytes(&payload));
    buf_fini(&payload);
    if (!extends)
        actor->held[at] = actor->held[--actor->held_count];
}

// ---- What members do -------------------------------------------------------------------------------------

static bool all_have_pushed(void)
{
    for (uint32_t i = 0; i < prop.producer_count; i++)
        if (prop.actors[i].put < prop.element_count)
            return false;
    return true;
}

static void act(struct actor *actor)
{
    if (!actor->has_opened) {
        if (!actor->is_opening)
            ask_to_open(actor);
    } else if (actor->is_producer) {
        if (actor->next < prop.element_count && actor->asked.count < 6)
            ask_to_push(actor);
        else if (actor == prop.actors && all_have_pushed() && !actor->is_closing) {
            ask(actor, (struct asked){.op = CALL_QUEUE_CLOSE}, 0, weft_none());
            actor->is_closing = true;
        }
    } else if (actor->asked.count && chance(prop.cancel_rate)) {
        ask_to_cancel(actor);
    } else if (actor->held_count && draw(2)) {
        end_one(actor);
    } else if (!actor->is_finished && actor->taking_count < 3 &&
               actor->held_count + actor->asked.count < HELD_MAX) {
        ask_for_elements(actor);
    }
}

static void hold(struct actor *actor, struct held held)
{
    ASSERT(actor->held_count < HELD_MAX);
    actor->held[actor->held_count++] = held;
}

static void deliver(struct actor *actor, weft_bytes bytes, const struct call_item *item)
{
    uint32_t element[2];
    if (bytes.size != sizeof element)
        wrong("an element that is none", 0, 0);
    memcpy(element, bytes.data, sizeof element);
    const uint32_t producer = element[0], number = element[1];
    if (producer >= prop.producer_count || number >= prop.element_count)
        wrong("an element that nobody pushed", producer, number);
    totals.deliveries++;
    if (prop.delivered[producer][number]++ && !prop.may_repeat)
        wrong("delivered twice", producer, number);
    if (prop.must_keep_order && number + 1 <= actor->last[producer])
        wrong("out of order", producer, number);
    actor->last[producer] = number + 1;
    if (item) {
        if (!prop.may_repeat && item->delivery != 1)
            wrong("not the first delivery", producer, number);
        hold(actor, (struct held){*item, producer, number});
    } else if (prop.done[producer][number]++) {
        wrong("popped twice", producer, number);
    }
}

static void take_elements(struct actor *actor, const struct answer *answer)
{
    struct pack_reader reader = {answer->payload, false};
    actor->taking_count--;
    if (answer->code == WEFT_OUT_OF_RANGE) {
        actor->is_finished = true;
    } else if (answer->code == WEFT_CANCELLED && prop.cancel_rate) {
        return;
    } else if (answer->code) {
        wrong(weft_err_name(answer->code), 0, 0);
    } else if (prop.taking == TAKES) {
        struct call_item item;
        pack_read_item(&reader, &item);
        deliver(actor, reader.rest, &item);
    } else if (prop.taking == POPS) {
        deliver(actor, answer->payload, NULL);
    } else {
        for (uint32_t left = pack_read_u32(&reader); left > 0; left--)
            deliver(actor, pack_read_blob(&reader), NULL);
    }
}

static void take_end_of_lease(const struct asked *asked, const struct answer *answer)
{
    if (answer->code == WEFT_ABORTED && prop.may_repeat)
        totals.stale++;
    else if (answer->code)
        wrong("a lease could not be ended", asked->producer, asked->number);
    else if (asked->op == CALL_QUEUE_DONE && prop.done[asked->producer][asked->number]++)
        wrong("done twice", asked->producer, asked->number);
}

static void take_answer(struct actor *actor, const struct asked *asked, const struct answer *answer)
{
    switch (asked->op) {
    case CALL_QUEUE_PUSH:
    case CALL_QUEUE_PUSH_MANY:
        if (answer->code || (answer->flags && !prop.has_keys))
            wrong("a push failed", asked->producer, asked->number);
        actor->put += asked->count;
        break;
    case CALL_QUEUE_CLOSE:
        actor->is_finished = true;
        break;
    case CALL_OPEN:
        if (answer->code)
            wrong("opening failed", 0, 0);
        actor->has_opened = true;
        break;
    case CALL_QUEUE_DONE:
    case CALL_QUEUE_GIVE_BACK:
    case CALL_QUEUE_EXTEND:
        take_end_of_lease(asked, answer);
        break;
    default:
        if (is_taking(asked->op))
            take_elements(actor, answer);
    }
}

static bool receive(struct actor *actor)
{
    struct answer answer;
    if (!wire_receive(&actor->wire, &answer))
        return false;
    if (actor->wire.is_confused)
        wrong("an answer that was not wanted", actor->index, (uint32_t)answer.sequence);
    size_t at = 0;
    while (at < actor->asked.count && actor->asked.items[at].sequence != answer.sequence)
        at++;
    if (at == actor->asked.count)
        wrong("an answer to nothing", 0, 0);
    const struct asked asked = actor->asked.items[at];
    actor->asked.count--;
    memmove(actor->asked.items + at, actor->asked.items + at + 1,
            (actor->asked.count - at) * sizeof asked);
    if (answer.code == WEFT_RESOURCE_EXHAUSTED)
        wrong("a call that is refused for good", actor->index, (uint32_t)answer.sequence);
    take_answer(actor, &asked, &answer);
    return true;
}

// ---- Faults ------------------------------------------------------------------------------------------------

// The process dies, or finds its session ended: it is started again and knows nothing.
static void start_again(struct actor *actor)
{
    for (size_t i = 0; i < actor->asked.count; i++)
        if (actor->asked.items[i].op == CALL_QUEUE_DONE)
            prop.maybe[actor->asked.items[i].producer][actor->asked.items[i].number]++;
    VEC_FINI(&actor->asked);
    wire_free(&actor->wire);
    *actor = (struct actor){.is_producer = actor->is_producer, .index = actor->index};
    actor->wire.id = ++prop.next_id;
    snprintf(actor->wire.name, sizeof actor->wire.name, "/work/%u",
             (unsigned)(actor - prop.actors));
}

static void break_all(void)
{
    for (uint32_t i = 0; i < prop.actor_count; i++)
        wire_break(&prop.actors[i].wire);
}

static void do_faults(struct actor *actor)
{
    if (chance(prop.break_rate)) {
        totals.breaks++;
        wire_break(&actor->wire);
    }
    if (chance(prop.crash_rate)) {
        totals.crashes++;
        wire_crash(&prop.world, draw(2) ? draw(400) : 0);
        break_all();
    }
    if (chance(prop.snapshot_rate))
        wire_snapshot(&prop.world);
    if (chance(prop.end_rate)) {
        totals.ends++;
        wire_end_session(&prop.world, &actor->wire);
    }
    // A member that dies is known to have died when it comes again: its earlier life is ended.
    if (chance(prop.death_rate) && wire_end_session(&prop.world, &actor->wire)) {
        totals.deaths++;
        start_again(actor);
    }
    prop.world.refuses = chance(prop.refuse_rate);
}

// ---- A run -------------------------------------------------------------------------------------------------

static bool move(struct actor *actor)
{
    switch (draw(8)) {
    case 0:
    case 1:
        return wire_send(&actor->wire);
    case 2:
    case 3:
        return wire_arrive(&prop.world, &actor->wire);
    case 4:
        return wire_answer(&prop.world, &actor->wire, 1 + draw(200));
    case 5:
    case 6:
        return receive(actor);
    default:
        act(actor);
        return true;
    }
}

static void do_step(void)
{
    struct actor *actor = &prop.actors[draw(prop.actor_count)];
    do_faults(actor);
    // When all is quiet time is slow: a lease is long enough for who is at work.
    if (draw(prop.step < prop.fault_steps ? 4 : 100) == 0) {
        host_set_time(prop.world.host, host_time(prop.world.host) + draw(4));
        host_expire(prop.world.host);
    }
    if (!actor->wire.is_connected && draw(4) == 0 && !wire_connect(&prop.world, &actor->wire))
        start_again(actor);
    move(actor);
}

static bool is_over(void)
{
    for (uint32_t i = 0; i < prop.actor_count; i++) {
        const struct actor *actor = &prop.actors[i];
        if (actor->asked.count || (!actor->is_finished && (!actor->is_producer || i == 0)))
            return false;
    }
    return true;
}

// What has had all its deliveries.
static void count_dead(void)
{
    struct resource *dead;
    if (host_open_resource(prop.world.host, CALL_KIND_QUEUE, weft_text("host"), weft_text("q.dead"),
                           weft_none(), &dead))
        wrong(err_text(), 0, 0);
    struct session *session = host_next_session(prop.world.host, NULL);
    const uint32_t all = UINT32_MAX;
    const struct call peek = {.op = CALL_QUEUE_PEEK,
                              .sequence = 1 | CALL_ASKS_BIT,
                              .payload = {(const char *)&all, sizeof all}};
    session_sent(session, session_unsent(session).size);
    dead->kind->apply(dead, session, &peek);
    weft_bytes answers = session_unsent(session);
    struct answer answer;
    ASSERT(!answer_next(&answers, &answer));
    struct pack_reader reader = {answer.payload, false};
    while (reader.rest.size) {
        pack_read_bytes(&reader, 8 + 4 + 1);
        const weft_bytes element = pack_read_blob(&reader);
        uint32_t name[2];
        ASSERT(element.size == sizeof name);
        memcpy(name, element.data, sizeof name);
        prop.dead[name[0]][name[1]]++;
        totals.dead++;
    }
}

static void check_end(void)
{
    if (!wire_check(&prop.world))
        wrong("a replay gives another host", 0, 0);
    if (prop.deliveries_max)
        count_dead();
    for (uint32_t producer = 0; producer < prop.producer_count - prop.has_twins; producer++) {
        for (uint32_t number = 0; number < prop.element_count; number++) {
            const uint32_t done = prop.done[producer][number], dead = prop.dead[producer][number];
            if (done + dead > 1)
                wrong("counted twice", producer, number);
            if (done + dead == 0 && !prop.maybe[producer][number])
                wrong("lost", producer, number);
            if (!dead && !prop.delivered[producer][number])
                wrong("never delivered", producer, number);
        }
    }
}

static void run_seed(uint64_t seed, bool is_verbose)
{
    memset(&prop, 0, sizeof prop);
    prop.seed = prop.random = seed;
    draw_options();
    wire_start(&prop.world);
    for (uint32_t i = 0; i < prop.actor_count; i++) {
        prop.actors[i].is_producer = i < prop.producer_count;
        // The last of the producers pushes the same, under the same keys, as the first.
        prop.actors[i].index = prop.has_twins && i + 1 == prop.producer_count ? 0 : i;
        start_again(&prop.actors[i]);
    }
    for (; !is_over(); prop.step++) {
        do_step();
        if (prop.step > prop.fault_steps + QUIET_STEPS_MAX)
            wrong("it does not end", 0, 0);
    }
    check_end();
    totals.steps += prop.step;
    if (is_verbose)
        printf("seed %" PRIu64 ": %u steps\n", seed, prop.step);
    for (uint32_t i = 0; i < prop.actor_count; i++) {
        VEC_FINI(&prop.actors[i].asked);
        wire_free(&prop.actors[i].wire);
    }
    wire_stop(&prop.world);
}

int main(int argc, char **argv)
{
    uint64_t seed = 1, seed_count = 0;
    bool is_verbose = false;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "-v")) {
            is_verbose = true;
        } else if (!strcmp(argv[i], "--seed") && i + 1 < argc) {
            seed = strtoull(argv[++i], NULL, 0);
            seed_count = seed_count ? seed_count : 1;
        } else if (!strcmp(argv[i], "--seeds") && i + 1 < argc) {
            seed_count = strtoull(argv[++i], NULL, 0);
        } else {
            fprintf(stderr, "usage: prop_queue [--seed N] [--seeds COUNT] [-v]\n");
            return 2;
        }
    }
    if (!seed_count)
        seed_count = SEEDS_DEFAULT;
    for (uint64_t i = 0; i < seed_count; i++)
        run_seed(seed + i, is_verbose);
    printf("%" PRIu64 " seeds, %" PRIu64 " steps: %" PRIu64 " breaks, %" PRIu64
           " crashes of hosts, %" PRIu64 " members died, %" PRIu64 " given up; %" PRIu64
           " deliveries, %" PRIu64 " stale, %" PRIu64 " dead letters\n",
           seed_count, totals.steps, totals.breaks, totals.crashes, totals.deaths, totals.ends,
           totals.deliveries, totals.stale, totals.dead);
    return 0;
}
