// Values of items, between the process that has them and the tasks that want them.

#include "run/driver/server/items.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/text.h"
#include "base/vec.h"
#include "sys/file/file.h"
#include "sys/loop/loop.h"
#include "sys/net/net.h"
#include "transport/fetch_files.h"

enum { NUMBERS_BYTES = 16 };

// A task whose values are being read.
struct wanted {
    struct agent *agent;  // NULL: its worker is gone
    struct buf run;       // packed
};

// A task that has its values.
struct given {
    const struct agent *agent;
    uint32_t task;
    uint64_t offset, size;
};

struct items {
    struct items_options options;
    struct loop_stream *stream;
    int fd;
    char path[48];  // for workers
    uint64_t size;  // of the file, as far as it was announced
    struct buf in;
    VEC(struct wanted) wanted;  // in the order of the requests
    VEC(struct given) given;
};

// ---- Answers ------------------------------------------------------------------------------------

static void give_back(const struct items *items, uint64_t offset, uint64_t size)
{
    if (size)
        file_forget(items->fd, offset, size);
}

// The task with the place of its values.
static weft_err send(struct items *items, const struct wanted *wanted, uint64_t offset,
                     uint64_t size)
{
    Weft__Source values = WEFT__SOURCE__INIT;
    Weft__FarFile far = WEFT__FAR_FILE__INIT;
    Weft__TaskRun *run =
        weft__task_run__unpack(NULL, wanted->run.size, (const uint8_t *)wanted->run.data);
    const struct given given = {wanted->agent, run ? run->task : 0, offset, size};
    if (!run || !VEC_PUSH(&items->given, given)) {
        weft__task_run__free_unpacked(run, NULL);
        return err_no_memory("for a task");
    }
    far.file = items->options.file;
    far.size = items->size;
    values.path = items->path;
    values.offset = offset;
    values.size = size;
    if (agent_holder(wanted->agent))
        values.far = &far;
    run->values = &values;
    const weft_err code = agent_send(wanted->agent, WEFT__FRAME_TYPE__FRAME_TASK_RUN, &run->base);
    run->values = NULL;
    weft__task_run__free_unpacked(run, NULL);
    return code;
}

static weft_err take_answer(struct items *items, const char *bytes)
{
    uint64_t numbers[2];
    memcpy(numbers, bytes, sizeof numbers);
    if (items->wanted.count == 0 || numbers[1] > INT64_MAX || numbers[0] > INT64_MAX - numbers[1])
        return err_set(WEFT_INTERNAL, "the process with the values broke the rules");
    struct wanted first = items->wanted.items[0];
    memmove(items->wanted.items, items->wanted.items + 1,
            --items->wanted.count * sizeof *items->wanted.items);
    const uint64_t end = numbers[0] + numbers[1];
    if (end > items->size && items->options.files)
        fetch_files_grow(items->options.files, items->options.file, end);
    items->size = end > items->size ? end : items->size;
    weft_err code = WEFT_OK;
    if (first.agent)
        code = send(items, &first, numbers[0], numbers[1]);
    else
        give_back(items, numbers[0], numbers[1]);
    buf_fini(&first.run);
    return code;
}

static void take_bytes(void *owner, weft_bytes bytes)
{
    struct items *items = owner;
    size_t used = 0;
    weft_err code = WEFT_OK;
    buf_append(&items->in, bytes.data, bytes.size);
    if (items->in.has_failed)
        code = err_no_memory("for values");
    for (; code == WEFT_OK && items->in.size - used >= NUMBERS_BYTES; used += NUMBERS_BYTES)
        code = take_answer(items, items->in.data + used);
    if (code != WEFT_OK) {
        items->options.failed(items->options.owner, code);
        return;
    }
    memmove(items->in.data, items->in.data + used, items->in.size - used);
    items->in.size -= used;
}

static void take_end(void *owner, weft_err code)
{
    struct items *items = owner;
    (void)code;
    items->options.failed(
        items->options.owner,
        err_set(WEFT_UNAVAILABLE, "the process that has the values of the source is gone"));
}

// ---- Requests -----------------------------------------------------------------------------------

static uint64_t item_at(uint64_t offset)
{
    return (offset + ITEMS_LINE_BYTES - 1) / ITEMS_LINE_BYTES;
}

static weft_err pack(const Weft__TaskRun *run, struct buf *packed)
{
    const size_t size = weft__task_run__get_packed_size(run);
    char *room = buf_reserve(packed, size);
    if (!room)
        return err_no_memory("for a task");
    packed->size += weft__task_run__pack(run, (uint8_t *)room);
    return WEFT_OK;
}

weft_err items_send(struct items *items, struct agent *agent, Weft__TaskRun *run)
{
    if (!items || run->n_pieces == 0)
        return agent_send(agent, WEFT__FRAME_TYPE__FRAME_TASK_RUN, &run->base);
    struct wanted wanted = {.agent = agent};
    weft_err code = pack(run, &wanted.run);
    if (code == WEFT_OK && !VEC_PUSH(&items->wanted, wanted))
        code = err_no_memory("for a task");
    if (code != WEFT_OK) {
        buf_fini(&wanted.run);
        return code;
    }
    const uint64_t first = item_at(run->pieces[0]->begin);
    const uint64_t end = item_at(run->pieces[run->n_pieces - 1]->end);
    const uint64_t numbers[2] = {first, end - first};
    buf_append(loop_stream_out(items->stream), numbers, sizeof numbers);
    loop_stream_flush(items->stream);
    return WEFT_OK;
}

void items_end_task(struct items *items, const struct agent *agent, uint32_t task)
{
    size_t left = 0;
    for (size_t i = 0; items && i < items->given.count; i++) {
        const struct given *given = &items->given.items[i];
        if (given->agent == agent && given->task == task)
            give_back(items, given->offset, given->size);
        else
            items->given.items[left++] = *given;
    }
    if (items)
        items->given.count = left;
}

void items_forget(struct items *items, const struct agent *agent)
{
    size_t left = 0;
    for (size_t i = 0; items && i < items->wanted.count; i++)
        if (items->wanted.items[i].agent == agent)
            items->wanted.items[i].agent = NULL;
    for (size_t i = 0; items && i < items->given.count; i++) {
        const struct given *given = &items->given.items[i];
        if (given->agent == agent)
            give_back(items, given->offset, given->size);
        else
            items->given.items[left++] = *given;
    }
    if (items)
        items->given.count = left;
}

// ---- Its life -----------------------------------------------------------------------------------

static weft_err open_file(struct items *items, const char *path)
{
    weft_err code = file_open_kept(path, &items->fd);
    if (code != WEFT_OK)
        return code;
    snprintf(items->path, sizeof items->path, "/proc/%d/fd/%d", (int)getpid(), items->fd);
    struct fetch_file file = {.id = items->options.file, .fd = items->fd};
    snprintf(file.name, sizeof file.name, "values");
    return items->options.files ? fetch_files_add(items->options.files, &file) : WEFT_OK;
}

static weft_err open_all(struct items *items)
{
    static const struct loop_stream_calls calls = {.data = take_bytes, .ended = take_end};
    const char *from = items->options.from, *path = strchr(from, ':');
    char number[16] = "";
    uint64_t fd = 0;
    if (path && (size_t)(path - from) < sizeof number)
        memcpy(number, from, (size_t)(path - from));
    if (!path || !text_read_count(number, INT32_MAX, &fd))
        return err_set(WEFT_INVALID_ARGUMENT, "no process has values at %s", from);
    weft_err code = net_adopt((int)fd);
    if (code == WEFT_OK)
        code = open_file(items, path + 1);
    if (code != WEFT_OK)
        return code;
    items->stream = loop_stream_new(items->options.loop, (int)fd, &calls, items);
    return items->stream ? WEFT_OK : WEFT_RESOURCE_EXHAUSTED;
}

struct items *items_new(const struct items_options *options)
{
    struct items *items = calloc(1, sizeof *items);
    if (!items) {
        (void)err_no_memory("for values");
        return NULL;
    }
    items->options = *options;
    items->fd = -1;
    if (open_all(items) == WEFT_OK)
        return items;
    items_free(items);
    return NULL;
}

void items_free(struct items *items)
{
    if (!items)
        return;
    loop_stream_free(items->stream);
    if (items->options.files)
        fetch_files_remove(items->options.files, items->options.file);
    if (items->fd >= 0)
        file_close(items->fd);
    for (size_t i = 0; i < items->wanted.count; i++)
        buf_fini(&items->wanted.items[i].run);
    VEC_FINI(&items->wanted);
    VEC_FINI(&items->given);
    buf_fini(&items->in);
    free(items);
}
