// Attempts at the heads of slots, and a window of how long others took.

#include "run/driver/coordinator/lateness.h"

#include <stdlib.h>
#include <string.h>

enum {
    WINDOW = 256,
    ENDED_MIN = 3,
    FACTOR = 2,
};

static const uint64_t slack_ns = UINT64_C(300) * 1000000;

struct head {
    struct sched_attempt queue[SCHED_QUEUE_MAX];
    uint32_t count;
    uint64_t since_ns;  // the first of them runs
};

struct place {
    struct head *slots;  // as far as they were used
    uint32_t slot_count;
    uint64_t made_ns;
};

struct lateness {
    struct place *places;
    uint32_t place_count;
    // Of the stage and kind of the attempt that ended last.
    uint32_t stage;
    enum sched_kind kind;
    uint64_t durations[WINDOW];
    uint32_t duration_count, next;
    bool is_known;  // enough of them
};

struct lateness *lateness_new(uint32_t place_count)
{
    struct lateness *lateness = calloc(1, sizeof *lateness);
    struct place *places = calloc(place_count + (size_t)1, sizeof *places);
    if (!lateness || !places) {
        free(lateness);
        free(places);
        (void)err_no_memory("to watch attempts");
        return NULL;
    }
    lateness->places = places;
    lateness->place_count = place_count;
    return lateness;
}

void lateness_free(struct lateness *lateness)
{
    if (!lateness)
        return;
    for (uint32_t i = 0; i < lateness->place_count; i++)
        free(lateness->places[i].slots);
    free(lateness->places);
    free(lateness);
}

// A place of which 8 slots are used should not cost as much as one with 256: there may be 10,000 places.
static struct head *make_head(struct place *place, uint32_t slot)
{
    if (slot < place->slot_count)
        return &place->slots[slot];
    const uint32_t count = slot < 8 ? 8 : slot < SLOTS_MAX / 2 ? 2 * slot : SLOTS_MAX;
    struct head *grown = realloc(place->slots, count * sizeof *grown);
    if (!grown)
        return NULL;
    memset(grown + place->slot_count, 0, (count - place->slot_count) * sizeof *grown);
    place->slots = grown;
    place->slot_count = count;
    return &grown[slot];
}

static struct head *find_head(const struct place *place, uint32_t slot)
{
    return slot < place->slot_count ? &place->slots[slot] : NULL;
}

// Without memory for it nothing is late there.
void lateness_begin(struct lateness *lateness, uint32_t index, const struct sched_attempt *at,
                    uint64_t now_ns)
{
    struct place *place = &lateness->places[index];
    struct head *head = make_head(place, at->slot);
    if (!head || head->count == SCHED_QUEUE_MAX)
        return;
    if (head->count == 0)
        head->since_ns = now_ns;
    head->queue[head->count++] = *at;
}

static void note_duration(struct lateness *lateness, const struct lateness_end *end,
                          uint64_t duration_ns)
{
    if (lateness->stage != end->at->stage || lateness->kind != end->at->kind)
        lateness->duration_count = lateness->next = 0;
    lateness->stage = end->at->stage;
    lateness->kind = end->at->kind;
    lateness->durations[lateness->next] = duration_ns;
    lateness->next = (lateness->next + 1) % WINDOW;
    lateness->duration_count += lateness->duration_count < WINDOW;
    const uint32_t count = lateness->duration_count;
    lateness->is_known = count >= ENDED_MIN || count >= (end->task_count + 1) / 2;
}

void lateness_end(struct lateness *lateness, uint32_t index, const struct lateness_end *end,
                  uint64_t now_ns)
{
    struct place *place = &lateness->places[index];
    struct head *head = find_head(place, end->at->slot);
    for (uint32_t i = 0; head && i < head->count; i++) {
        const struct sched_attempt *in = &head->queue[i];
        if (in->stage != end->at->stage || in->kind != end->at->kind || in->task != end->at->task ||
            in->attempt != end->at->attempt)
            continue;
        const uint64_t duration = now_ns - head->since_ns;
        if (end->is_good && i == 0)
            note_duration(lateness, end, duration);
        if (end->is_kept && i == 0)
            place->made_ns += duration;
        head->count--;
        memmove(&head->queue[i], &head->queue[i + 1], (head->count - i) * sizeof *head->queue);
        if (i == 0)
            head->since_ns = now_ns;
        return;
    }
}

void lateness_forget(struct lateness *lateness, uint32_t index, bool is_machine)
{
    struct place *place = &lateness->places[index];
    for (uint32_t i = 0; i < place->slot_count; i++)
        place->slots[i].count = 0;
    if (is_machine)
        place->made_ns = 0;
}

uint64_t lateness_made_ns(const struct lateness *lateness, uint32_t place)
{
    return lateness->places[place].made_ns;
}

static int compare(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

// Sorted when it is asked for, a few times a second: a server may see 200,000 ends in that time.
static uint64_t find_limit_ns(const struct lateness *lateness)
{
    uint64_t sorted[WINDOW];
    const uint32_t count = lateness->duration_count;
    memcpy(sorted, lateness->durations, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare);
    return FACTOR * sorted[count / 2] + slack_ns;
}

void lateness_look(const struct lateness *lateness, uint64_t now_ns, lateness_fn *late, void *owner)
{
    if (!lateness->is_known)
        return;
    const uint64_t limit_ns = find_limit_ns(lateness);
    for (uint32_t i = 0; i < lateness->place_count; i++)
        for (uint32_t k = 0; k < lateness->places[i].slot_count; k++) {
            const struct head *head = &lateness->places[i].slots[k];
            const struct sched_attempt at = head->queue[0];
            if (head->count > 0 && at.stage == lateness->stage && at.kind == lateness->kind &&
                now_ns - head->since_ns > limit_ns)
                late(owner, i, &at);
        }
}
