// Each input is looked up once: tasks and their pieces are in the order of the inputs.

#include "run/driver/machines.h"

#include <stdio.h>
#include <stdlib.h>

#include "store/store.h"
#include "sys/net/net.h"
#include "sys/time/clock.h"

enum { ALL_MAX = 1 << 14 };
#define LIMIT_NS UINT64_C(5000000000)

static const struct task_homes nowhere = {{HOMES_NONE, HOMES_NONE, HOMES_NONE}};

// ---- Names --------------------------------------------------------------------------------------------------------

static bool is_same(const struct machine *a, const struct store_machine *b)
{
    return strcmp(a->name, b->name) == 0 && strcmp(a->number, b->number) == 0;
}

bool machines_number(struct machines *machines, const struct store_machine *machine,
                     uint32_t *number)
{
    for (*number = 0; *number < machines->all.count; ++*number)
        if (is_same(&machines->all.items[*number], machine))
            return true;
    if (machines->all.count == ALL_MAX) {
        *number = HOMES_NONE;
        return true;
    }
    const struct machine one = {strdup(machine->name), strdup(machine->number)};
    if (one.name && one.number && VEC_PUSH(&machines->all, one))
        return true;
    free(one.name);
    free(one.number);
    return false;
}

// "node7" and "node7.cluster.example" are the same machine.
static bool is_same_name(const char *a, const char *b)
{
    const size_t size = strlen(a) < strlen(b) ? strlen(a) : strlen(b);
    return size > 0 && strncasecmp(a, b, size) == 0 && (a[size] == 0 || a[size] == '.') &&
           (b[size] == 0 || b[size] == '.');
}

// Every machine has a loopback address.
static bool is_same_number(const struct machine *machine, const struct net_address *client)
{
    struct net_address number = {.port = 1};
    snprintf(number.host, sizeof number.host, "%s", machine->number);
    return machine->number[0] && strcmp(number.host, client->host) == 0 &&
           !net_address_is_loopback(&number);
}

uint32_t machines_of_client(const struct machines *machines, const char *name, const char *address)
{
    char host[256];
    struct net_address client = {0};
    snprintf(host, sizeof host, "%.*s", (int)strcspn(name, "/"), name);
    if (net_read_address(address, 1, &client) != WEFT_OK)
        err_clear();
    for (uint32_t i = 0; i < machines->all.count; i++)
        if (is_same_name(machines->all.items[i].name, host))
            return i + 1;
    for (uint32_t i = 0; i < machines->all.count; i++)
        if (is_same_number(&machines->all.items[i], &client))
            return i + 1;
    return 0;
}

// ---- One task -----------------------------------------------------------------------------------------------------

void machines_add(struct machines_sum *sum, const struct machines_stretch *stretch, uint64_t begin,
                  uint64_t end)
{
    begin = begin > stretch->begin ? begin : stretch->begin;
    end = end < stretch->end ? end : stretch->end;
    for (int i = 0; i < HOMES_OF_TASK && end > begin; i++) {
        const uint32_t machine = stretch->machines.numbers[i];
        uint32_t at = 0;
        if (machine == HOMES_NONE)
            return;
        while (at < sum->count && sum->machines[at] != machine)
            at++;
        if (at == MACHINES_SUM_MAX)
            continue;
        if (at == sum->count) {
            sum->machines[sum->count] = machine;
            sum->bytes[sum->count++] = 0;
        }
        sum->bytes[at] += end - begin;
    }
}

// Of equals the one that came first.
struct task_homes machines_choose(const struct machines_sum *sum)
{
    struct task_homes homes = nowhere;
    struct machines_sum left = *sum;
    for (int i = 0; i < HOMES_OF_TASK; i++) {
        uint32_t best = 0;
        for (uint32_t at = 1; at < left.count; at++)
            if (left.bytes[at] > left.bytes[best])
                best = at;
        if (best >= left.count || left.bytes[best] == 0)
            break;
        homes.numbers[i] = left.machines[best];
        left.bytes[best] = 0;
    }
    return homes;
}

// ---- All of them --------------------------------------------------------------------------------------------------

struct look {
    struct machines *machines;
    struct store_locator locator;
    VEC(struct machines_stretch) stretches;  // of the current input
    uint64_t deadline_ns;
    uint32_t input;
    bool has_given_up;
};

static weft_err take_stretch(void *owner, const struct store_stretch *stretch)
{
    struct look *look = owner;
    struct machines_stretch one = {stretch->begin, stretch->end, nowhere};
    for (size_t i = 0; i < stretch->count && i < HOMES_OF_TASK; i++)
        if (!machines_number(look->machines, &stretch->machines[i], &one.machines.numbers[i]))
            return err_no_memory("for the machines of inputs");
    return VEC_PUSH(&look->stretches, one) ? WEFT_OK : err_no_memory("for the machines of inputs");
}

static weft_err look_up(struct look *look, const struct input *input)
{
    look->stretches.count = 0;
    look->has_given_up |= clock_now_ns() > look->deadline_ns;
    if (look->has_given_up)
        return WEFT_OK;
    const weft_err code = store_locate(&look->locator, input->path, take_stretch, look);
    if (code == WEFT_OK || code == WEFT_RESOURCE_EXHAUSTED)
        return code;
    look->has_given_up = true;
    err_clear();
    return WEFT_OK;
}

// Pieces of compressed inputs count plain bytes: their places are about where the same share of the file is.
static uint64_t place_in_file(const struct run_plan *plan, uint32_t input, uint64_t offset)
{
    const uint64_t plain = plan->looks[input].size, size = plan->inputs.items[input].size;
    return plain == size || plain == 0 ? offset
                                       : (uint64_t)((double)offset / (double)plain * (double)size);
}

static weft_err look_at_task(struct look *look, const struct run_plan *plan, uint32_t task)
{
    size_t count;
    struct machines_sum sum = {0};
    const struct plan_piece *pieces = plan_pieces(&plan->split, task, &count);
    for (size_t i = 0; i < count; i++) {
        const uint32_t input = pieces[i].input;
        const weft_err code =
            input == look->input ? WEFT_OK : look_up(look, &plan->inputs.items[input]);
        if (code != WEFT_OK)
            return code;
        look->input = input;
        const uint64_t begin = place_in_file(plan, input, pieces[i].begin);
        const uint64_t end = place_in_file(plan, input, pieces[i].end);
        for (size_t j = 0; j < look->stretches.count; j++)
            machines_add(&sum, &look->stretches.items[j], begin, end);
    }
    look->machines->homes[task] = machines_choose(&sum);
    return WEFT_OK;
}

static bool has_far_input(const struct run_plan *plan)
{
    for (size_t i = 0; i < plan->inputs.count; i++)
        if (store_is_far(plan->inputs.items[i].path))
            return true;
    return false;
}

weft_err machines_find(struct machines *machines, const struct run_plan *plan)
{
    const uint32_t count = plan->split.map_count;
    struct look look = {
        .machines = machines, .deadline_ns = clock_now_ns() + LIMIT_NS, .input = UINT32_MAX};
    weft_err code = WEFT_OK;
    if (!has_far_input(plan))
        return WEFT_OK;
    machines->homes = calloc((size_t)count + 1, sizeof *machines->homes);
    if (!machines->homes)
        return err_no_memory("for the machines of inputs");
    for (uint32_t task = 0; task < count && code == WEFT_OK; task++)
        code = look_at_task(&look, plan, task);
    store_locator_fini(&look.locator);
    VEC_FINI(&look.stretches);
    return code;
}

void machines_fini(struct machines *machines)
{
    for (size_t i = 0; i < machines->all.count; i++) {
        free(machines->all.items[i].name);
        free(machines->all.items[i].number);
    }
    VEC_FINI(&machines->all);
    free(machines->homes);
    *machines = (struct machines){0};
}
