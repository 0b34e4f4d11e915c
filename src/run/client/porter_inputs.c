// Inputs: the worker reads those that this machine has, and mirrors of the others, into which the server's bytes come when the worker needs them.

#include "run/client/porter_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sys/file/file.h"
#include "transport/mirror.h"

#define ROOM_BYTES_MAX (UINT64_C(1) << 40)

enum { PLACE_BYTES = 4096 };  // mirrors begin at whole pages

struct want {
    struct porter *porter;
    uint32_t life;  // of the worker that asked
    uint32_t input;
    uint64_t offset, size;
};

weft_err porter_set_text(char **field, const char *text)
{
    char *copy = strdup(text);
    if (!copy)
        return err_no_memory("for a job");
    if ((*field)[0])
        free(*field);
    *field = copy;
    return WEFT_OK;
}

static void forget_mirrors(struct porter *porter)
{
    for (size_t i = 0; i < porter->mirror_count; i++) {
        if (porter->mirrors[i])
            porter->figures.lent_bytes += mirror_fetched_bytes(porter->mirrors[i]);
        mirror_free(porter->mirrors[i]);
    }
    free(porter->mirrors);
    porter->mirrors = NULL;
    porter->mirror_count = 0;
    for (size_t i = 0; i < porter->rooms.count; i++)
        file_close(porter->rooms.items[i]);
    VEC_FINI(&porter->rooms);
}

void porter_free_inputs(struct porter *porter)
{
    forget_mirrors(porter);
}

uint64_t porter_lent_bytes(const struct porter *porter)
{
    uint64_t sum = porter->figures.lent_bytes + copies_lent_bytes(porter->copies);
    for (size_t i = 0; i < porter->mirror_count; i++)
        if (porter->mirrors[i])
            sum += mirror_fetched_bytes(porter->mirrors[i]);
    return sum;
}

static int last_room(const struct porter *porter)
{
    return porter->rooms.items[porter->rooms.count - 1];
}

static weft_err open_room(struct porter *porter)
{
    int fd;
    const weft_err code = file_create_nameless(porter->options.tmp, &fd);
    if (code != WEFT_OK)
        return code;
    if (!VEC_PUSH(&porter->rooms, fd)) {
        file_close(fd);
        return err_no_memory("for inputs");
    }
    porter->room_used = 0;
    return WEFT_OK;
}

static weft_err grow_room(struct porter *porter, uint64_t begin, uint64_t size)
{
    const weft_err code = file_truncate(last_room(porter), porter->options.tmp, begin + size);
    if (code == WEFT_OK)
        porter->room_used = begin;
    return err_wrap(code, "cannot make a file of %llu bytes", (unsigned long long)(begin + size));
}

// Mirrors share a file up to a size that most file systems allow: ten thousand small ones must not need ten thousand descriptors. Where less is allowed,
// another file begins sooner.
static weft_err find_room(struct porter *porter, uint64_t size)
{
    const uint64_t used = porter->room_used + (PLACE_BYTES - 1);
    const uint64_t begin = used - used % PLACE_BYTES;
    if (porter->rooms.count && size <= ROOM_BYTES_MAX && begin <= ROOM_BYTES_MAX - size) {
        if (grow_room(porter, begin, size) == WEFT_OK)
            return WEFT_OK;
        err_clear();
    }
    const weft_err code = open_room(porter);
    return code == WEFT_OK ? grow_room(porter, 0, size) : code;
}

static weft_err make_mirror(struct porter *porter, uint32_t number, uint64_t size)
{
    const weft_err code = find_room(porter, size);
    if (code != WEFT_OK)
        return code;
    const struct mirror_options options = {.client = porter->server,
                                           .file = number,
                                           .size = size,
                                           .tmp = porter->options.tmp,
                                           .room = last_room(porter),
                                           .room_offset = porter->room_used};
    porter->mirrors[number] = mirror_new(&options);
    porter->room_used += size;
    return porter->mirrors[number] ? WEFT_OK : WEFT_RESOURCE_EXHAUSTED;
}

// A worker that is started again finds what the one before has read.
static weft_err lend(struct porter *porter, uint32_t number, Weft__Input *input)
{
    char path[48];
    const weft_err code =
        porter->mirrors[number] ? WEFT_OK : make_mirror(porter, number, input->file_size);
    if (code != WEFT_OK)
        return code;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(),
             mirror_fd(porter->mirrors[number]));
    input->is_lent = input->is_packed = true;
    input->packed_at = mirror_place(porter->mirrors[number]);
    return porter_set_text(&input->path, path);
}

// Those that are not on this machine are lent.
static weft_err lend_others(struct porter *porter, Weft__JobStart *start, const bool *is_here)
{
    weft_err code = WEFT_OK;
    uint64_t total = 0;
    if (!porter->mirrors) {
        porter->mirrors = calloc(start->n_inputs + 1, sizeof *porter->mirrors);
        porter->mirror_count = porter->mirrors ? start->n_inputs : 0;
    }
    if (!porter->mirrors || porter->mirror_count != start->n_inputs)
        return err_no_memory("for %zu inputs", start->n_inputs);
    for (size_t i = 0; i < start->n_inputs && code == WEFT_OK; i++) {
        if (!is_here[i])
            code = lend(porter, (uint32_t)i, start->inputs[i]);
        total += start->inputs[i]->file_size;
    }
    start->may_map_input = total <= start->memory_bytes;
    return code;
}

static void take_found(void *owner, Weft__JobStart *start, const bool *is_here, weft_err code)
{
    struct porter *porter = owner;
    if (code == WEFT_OK)
        code = lend_others(porter, start, is_here);
    porter_start_job(porter, start, code);
}

// The frames that follow the job wait for it.
weft_err porter_adapt_inputs(struct porter *porter, Weft__JobStart *start)
{
    deliveries_hold(porter->deliveries);
    return far_inputs_look(porter->far_inputs, start, take_found, porter);
}

static void take_lent(void *owner, weft_err code)
{
    struct want want = *(struct want *)owner;
    struct porter *porter = want.porter;
    free(owner);
    if (want.life != porter->life || !agent_is_ready(&porter->agent))
        return;                             // the worker that asked is gone
    if (code == WEFT_RESOURCE_EXHAUSTED) {  // no room here; it would end the job of all
        porter_tell_failed(porter, code);
        return;
    }
    code = agent_lend(&porter->agent, want.input, want.offset, want.size, code);
    if (code != WEFT_OK)
        porter_break(porter, code);
}

void porter_take_need(struct porter *porter, const Weft__Need *need)
{
    struct want *want = malloc(sizeof *want);
    const bool is_lent = need->input < porter->mirror_count && porter->mirrors[need->input];
    if (!want || !is_lent) {
        free(want);
        agent_kill(&porter->agent);
        return;
    }
    *want = (struct want){porter, porter->life, need->input, need->offset, need->size};
    mirror_want(porter->mirrors[need->input], need->offset, need->size, take_lent, want);
}
