// Whether what clients saw could have happened one call after the other (Wing and Gong's search), each
// between its beginning and its end; and what must hold for elements with leases, whose returns nobody
// sees.
//
// Calls of which nobody knows how they ended may have happened at any time from their beginning on, or
// never.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim_host/client.h"

enum { OPS_MAX = 64, SEEN_BITS = 18, SEEN_MAX = 1 << (SEEN_BITS - 1) };

struct model_key {
    uint64_t version;  // 0: it is not there
    int64_t value;
    uint32_t owner;  // a session; 0: nobody
};

// The thing as a sequential program has it.
struct model {
    int64_t value;
    uint8_t stored[OPS_MAX];
    uint32_t count;
    bool is_closed;
    uint64_t revision;  // of the kv
    struct model_key keys[KEY_COUNT];
};

struct search {
    const struct op *ops[OPS_MAX];
    uint32_t count;
    uint64_t definite;  // ops that must have happened
    uint64_t *seen;     // hashes of (done, model) that lead nowhere
    uint32_t seen_count;
    bool is_undecided;
    bool (*apply)(const struct search *search, uint64_t done, const struct op *op,
                  struct model *model);
};

// ---- The var ---------------------------------------------------------------------------------------

static bool is_counted(const struct search *search, uint64_t done, uint64_t item)
{
    for (uint32_t i = 0; i < search->count; i++)
        if (done >> i & 1 && search->ops[i]->is_once && search->ops[i]->item == item)
            return true;
    return false;
}

// Does it if it can be done here with the answer that it had.
static bool apply_to_var(const struct search *search, uint64_t done, const struct op *op,
                         struct model *model)
{
    const bool is_known = op->outcome == OUTCOME_OK;
    const bool was_seen = op->is_once && is_counted(search, done, op->item);
    const bool misses = op->kind == OP_SWAP && model->value != op->a;
    if (is_known && (op->was_seen != was_seen || op->has_missed != misses))
        return false;
    if (op->kind == OP_ADD && !was_seen)
        model->value += op->a;
    if (op->kind == OP_SWAP && !misses)
        model->value = op->b;
    return !is_known || op->value == model->value;
}

// ---- The queue -------------------------------------------------------------------------------------

static bool is_key_seen(const struct search *search, uint64_t done, int64_t element)
{
    for (uint32_t i = 0; element >= KEYED && i < search->count; i++) {
        const struct op *op = search->ops[i];
        if (done >> i & 1 && op->kind == OP_PUSH && op->a == element &&
            (op->outcome == OUTCOME_OK || op->outcome == OUTCOME_UNKNOWN))
            return true;
    }
    return false;
}

static bool apply_push(const struct search *search, uint64_t done, const struct op *op,
                       struct model *model)
{
    if (op->outcome == OUTCOME_CLOSED)
        return model->is_closed;
    const bool was_seen = is_key_seen(search, done, op->a);
    if (op->outcome == OUTCOME_OK && op->was_seen != was_seen)
        return false;
    if (was_seen)
        return true;
    if (model->is_closed || (client_plan.capacity && model->count >= client_plan.capacity))
        return false;
    model->stored[model->count++] = (uint8_t)op->a;
    return true;
}

static bool apply_pop(const struct op *op, struct model *model)
{
    if (op->outcome == OUTCOME_AT_END)
        return model->is_closed && model->count == 0;
    if (model->count == 0 || (op->outcome == OUTCOME_OK && model->stored[0] != op->value))
        return false;
    memmove(model->stored, model->stored + 1, --model->count);
    return true;
}

static bool apply_to_queue(const struct search *search, uint64_t done, const struct op *op,
                           struct model *model)
{
    if (op->kind == OP_PUSH)
        return apply_push(search, done, op, model);
    if (op->kind == OP_POP)
        return apply_pop(op, model);
    if (op->outcome == OUTCOME_CLOSED)
        return model->is_closed;
    if (op->outcome == OUTCOME_OK && model->is_closed)
        return false;
    model->is_closed = true;
    return true;
}

// ---- The kv ----------------------------------------------------------------------------------------

// A session that has ended does nothing more, and all that it is known to have done was before its end.
static bool is_in_session(const struct search *search, uint64_t done, const struct op *op)
{
    for (uint32_t i = 0; i < search->count; i++) {
        const struct op *other = search->ops[i];
        const bool is_done = done >> i & 1;
        if (other->session != op->session || other == op)
            continue;
        if (op->kind == OP_VANISH ? !is_done && other->outcome != OUTCOME_UNKNOWN
                                  : is_done && other->kind == OP_VANISH)
            return false;
    }
    return true;
}

static void vanish(struct model *model, uint32_t session)
{
    for (size_t i = 0; i < KEY_COUNT; i++) {
        if (model->keys[i].version == 0 || model->keys[i].owner != session)
            continue;
        model->keys[i] = (struct model_key){0};
        model->revision++;
    }
}

static bool apply_get(const struct op *op, const struct model_key *key)
{
    if (op->outcome == OUTCOME_ABSENT)
        return key->version == 0;
    return key->version == (uint64_t)op->value && key->value == op->b &&
           op->is_owned == (key->owner != 0);
}

static bool apply_to_kv(const struct search *search, uint64_t done, const struct op *op,
                        struct model *model)
{
    if (!is_in_session(search, done, op))
        return false;
    if (op->kind == OP_VANISH) {
        vanish(model, op->session);
        return true;
    }
    struct model_key *key = &model->keys[op->a];
    if (op->kind == OP_GET)
        return apply_get(op, key);
    const bool is_known = op->outcome == OUTCOME_OK;
    const bool misses = op->is_if && op->expected != key->version;
    if (is_known && op->has_missed != misses)
        return false;
    if (misses)
        return !is_known || (uint64_t)op->value == key->version;
    const bool is_absent = op->kind == OP_RM && key->version == 0;
    if (is_known && op->was_seen != is_absent)
        return false;
    if (is_absent)
        return true;
    model->revision++;
    *key = op->kind == OP_RM
               ? (struct model_key){0}
               : (struct model_key){model->revision, op->b, op->is_owned ? op->session : 0};
    return !is_known || op->kind == OP_RM || (uint64_t)op->value == model->revision;
}

// ---- The search ------------------------------------------------------------------------------------

static uint64_t hash(uint64_t done, const struct model *model)
{
    uint64_t value =
        done * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)model->value << 1 ^ model->is_closed;
    for (uint32_t i = 0; i < KEY_COUNT; i++)
        value = (value ^ model->keys[i].version) * UINT64_C(0xbf58476d1ce4e5b9) + model->revision;
    for (uint32_t i = 0; i < model->count; i++)
        value = (value ^ model->stored[i]) * UINT64_C(0xbf58476d1ce4e5b9) + i;
    value = (value ^ value >> 31) * UINT64_C(0x94d049bb133111eb);
    return (value ^ value >> 29) | 1;
}

// True: it was here before.
static bool remember(struct search *search, uint64_t what)
{
    const uint32_t mask = (1u << SEEN_BITS) - 1;
    uint32_t at = (uint32_t)what & mask;
    for (; search->seen[at]; at = (at + 1) & mask)
        if (search->seen[at] == what)
            return true;
    search->seen[at] = what;
    search->is_undecided |= ++search->seen_count > SEEN_MAX;
    return false;
}

static bool find_order(struct search *search, uint64_t done, const struct model *model)
{
    if ((done & search->definite) == search->definite)
        return true;
    if (search->is_undecided || remember(search, hash(done, model)))
        return search->is_undecided;
    uint64_t first_end = UINT64_MAX;
    for (uint32_t i = 0; i < search->count; i++)
        if (!(done >> i & 1) && search->ops[i]->ended < first_end)
            first_end = search->ops[i]->ended;
    for (uint32_t i = 0; i < search->count; i++) {
        const struct op *op = search->ops[i];
        struct model next = *model;
        if (done >> i & 1 || op->invoked > first_end || !search->apply(search, done, op, &next))
            continue;
        if (find_order(search, done | UINT64_C(1) << i, &next))
            return true;
    }
    return false;
}

static void show(const struct search *search)
{
    static const char *const outcomes[] = {"unknown", "ok",   "closed", "at end",
                                           "fenced",  "none", "absent"};
    for (uint32_t i = 0; i < search->count; i++) {
        const struct op *op = search->ops[i];
        fprintf(stderr,
                "  %4" PRIu64 "..%-4" PRId64 " client %d: %s %" PRId64 " %" PRId64
                "%s: %s%s %" PRId64 "\n",
                op->invoked, (int64_t)op->ended, op->client, op_names[op->kind], op->a, op->b,
                op->is_once ? " once" : "", outcomes[op->outcome],
                op->was_seen     ? " seen"
                : op->has_missed ? " missed"
                                 : "",
                op->value);
    }
}

static void check_order(struct search *search, const char *what)
{
    static uint64_t *seen;
    if (!seen)
        seen = malloc(sizeof *seen << SEEN_BITS);
    ASSERT(seen);
    memset(seen, 0, sizeof *seen << SEEN_BITS);
    search->seen = seen;
    const struct model start = {0};
    if (!find_order(search, 0, &start)) {
        show(search);
        world_wrong("no order of the calls explains what the %s answered", what);
    }
    if (search->is_undecided)
        world.counts[COUNT_UNDECIDED]++;
}

// False: too many for the search.
static bool add_op(struct search *search, const struct op *op)
{
    if (search->count == OPS_MAX)
        return false;
    if (op->outcome != OUTCOME_UNKNOWN)
        search->definite |= UINT64_C(1) << search->count;
    search->ops[search->count++] = op;
    return true;
}

static bool collect(struct search *search, enum op_kind first, enum op_kind last)
{
    for (size_t i = 0; i < history.ops.count; i++) {
        const struct op *op = &history.ops.items[i];
        const bool only_asks = op->kind == OP_READ || op->kind == OP_GET;
        const bool says_nothing =
            op->outcome == OUTCOME_NONE || (op->outcome == OUTCOME_UNKNOWN && only_asks);
        if (op->kind < first || op->kind > last || says_nothing)
            continue;
        if (!add_op(search, op))
            return false;
    }
    return true;
}

// Each session that may own a key ends at some time before the verifier's last look.
static bool collect_ends(struct search *search, struct op ends[OPS_MAX])
{
    uint32_t end_count = 0;
    const uint32_t count = search->count;
    for (uint32_t i = 0; i < count; i++) {
        const struct op *op = search->ops[i];
        bool is_known = false;
        for (uint32_t j = 0; j < end_count; j++)
            is_known |= ends[j].session == op->session;
        if (!op->is_owned || op->kind != OP_PUT || is_known)
            continue;
        struct op *end = &ends[end_count++];
        *end = (struct op){.kind = OP_VANISH,
                           .outcome = OUTCOME_OK,
                           .client = op->client,
                           .session = op->session,
                           .invoked = op->invoked,
                           .ended = history.all_gone};
        if (!add_op(search, end))
            return false;
    }
    return true;
}

// ---- Leases ----------------------------------------------------------------------------------------

// All there is to know of one element.
struct fate {
    uint32_t pushed, pushed_for_sure, done, maybe_done;
    uint64_t done_at;  // when the answer to DONE was there
    uint64_t item;
};

static void add_push(struct fate *fate, const struct op *op)
{
    if (op->outcome == OUTCOME_OK && !op->was_seen)
        fate->pushed_for_sure++;
    if (op->outcome == OUTCOME_OK || op->outcome == OUTCOME_UNKNOWN)
        fate->pushed++;
}

// Who took it, the last time before this call; elements are told apart by the number of the queue.
static const struct op *find_take(const struct op *settled)
{
    for (size_t i = 0; i < history.ops.count; i++) {
        const struct op *op = &history.ops.items[i];
        if (op->kind == OP_TAKE && op->outcome == OUTCOME_OK && op->item == settled->item &&
            op->delivery == settled->delivery)
            return op;
    }
    world_wrong("element %" PRIu64 " is settled and was never taken", settled->item);
}

static void gather_fates(struct fate fates[256])
{
    for (size_t i = 0; i < history.ops.count; i++) {
        const struct op *op = &history.ops.items[i];
        if (op->kind == OP_PUSH)
            add_push(&fates[op->a], op);
        if (op->kind != OP_DONE)
            continue;
        struct fate *fate = &fates[find_take(op)->value];
        fate->maybe_done += op->outcome == OUTCOME_UNKNOWN;
        fate->done += op->outcome == OUTCOME_OK;
        if (op->outcome == OUTCOME_OK)
            fate->done_at = op->ended;
    }
}

static void check_take(const struct op *take, struct fate *fate)
{
    const uint64_t element = (uint64_t)take->value;
    if (fate->pushed == 0)
        world_wrong("element %" PRIu64 " comes from nowhere", element);
    if (fate->item && fate->item != take->item)
        world_wrong("element %" PRIu64 " is there twice", element);
    fate->item = take->item;
    if (fate->done && take->invoked > fate->done_at)
        world_wrong("element %" PRIu64 " was done, and is handed out", element);
    for (const struct op *other = history.ops.items; other < take; other++)
        if (other->kind == OP_TAKE && other->outcome == OUTCOME_OK && other->item == take->item &&
            other->delivery == take->delivery &&
            (other->client == take->client ||  // else the one who had it first may have left
             !(history.goodbyes & (1u << other->client | 1u << take->client))))
            world_wrong("delivery %u of element %" PRIu64 " has two holders", take->delivery,
                        element);
}

// Whoever has lost his lease to another cannot be done with it.
static void check_fence(const struct op *done)
{
    for (size_t i = 0; i < history.ops.count; i++) {
        const struct op *op = &history.ops.items[i];
        if (op->kind == OP_TAKE && op->outcome == OUTCOME_OK && op->item == done->item &&
            op->delivery > done->delivery && op->ended < done->invoked)
            world_wrong("delivery %u of element %" PRIu64 " is done, and %u was handed out",
                        done->delivery, done->item, op->delivery);
    }
}

// A take that nobody knows the end of may have brought an element that was given back, unseen, at any time.
static bool may_have_been_back(uint64_t before)
{
    for (size_t i = 0; i < history.ops.count; i++) {
        const struct op *op = &history.ops.items[i];
        if (op->kind == OP_TAKE && op->invoked < before &&
            (op->outcome == OUTCOME_UNKNOWN || op->outcome == OUTCOME_NONE))
            return true;
    }
    return false;
}

// The end of one push before the beginning of the other decides who is handed out first.
static void check_fifo(const struct op *a, const struct op *b)
{
    if (a->kind != OP_PUSH || b->kind != OP_PUSH || a->outcome != OUTCOME_OK || a->was_seen ||
        b->outcome != OUTCOME_OK || b->was_seen || a->ended > b->invoked)
        return;
    uint64_t begun = UINT64_MAX, ended = UINT64_MAX;
    bool is_a_known = false;
    for (size_t i = 0; i < history.ops.count; i++) {
        const struct op *op = &history.ops.items[i];
        if (op->kind != OP_TAKE || op->outcome != OUTCOME_OK)
            continue;
        if (op->value == a->a && op->delivery == 1) {
            is_a_known = true;
            begun = op->invoked < begun ? op->invoked : begun;
        }
        if (op->value == b->a && op->ended < ended)
            ended = op->ended;
    }
    if (is_a_known && ended < begun && !may_have_been_back(begun))
        world_wrong("element %" PRId64 " overtakes %" PRId64, b->a, a->a);
}

static void check_leases(void)
{
    struct fate fates[256] = {{0}};
    gather_fates(fates);
    for (size_t i = 0; i < history.ops.count; i++) {
        const struct op *op = &history.ops.items[i];
        if (op->kind == OP_TAKE && op->outcome == OUTCOME_OK)
            check_take(op, &fates[op->value]);
        if (op->kind == OP_DONE && op->outcome == OUTCOME_OK)
            check_fence(op);
        for (size_t j = 0; j < history.ops.count; j++)
            check_fifo(op, &history.ops.items[j]);
    }
    for (int element = 0; element < 256; element++) {
        const struct fate *fate = &fates[element];
        if (fate->pushed_for_sure > 1)
            world_wrong("element %d counts twice, by its key", element);
        if (fate->done > 1)
            world_wrong("element %d was done %u times", element, fate->done);
        if (fate->pushed_for_sure && !fate->done && !fate->maybe_done)
            world_wrong("element %d was acknowledged, and never dealt with", element);
    }
}

static void check_kv(void)
{
    struct search kv = {.apply = apply_to_kv};
    struct op ends[OPS_MAX];
    if (collect(&kv, OP_PUT, OP_GET) && collect_ends(&kv, ends))
        check_order(&kv, "kv");
    else
        world.counts[COUNT_UNDECIDED]++;
}

void check_history(void)
{
    struct search var = {.apply = apply_to_var}, queue = {.apply = apply_to_queue};
    if (collect(&var, OP_ADD, OP_READ))
        check_order(&var, "var");
    else
        world.counts[COUNT_UNDECIDED]++;
    if (client_plan.has_leases)
        check_leases();
    else if (collect(&queue, OP_PUSH, OP_CLOSE))
        check_order(&queue, "queue");
    else
        world.counts[COUNT_UNDECIDED]++;
    check_kv();
    check_barrier();
}
