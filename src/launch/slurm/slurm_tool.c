// A command of Slurm. Its output is a few lines; one that hangs, because the controller does not answer, is killed in time.

#include <stdlib.h>

#include "launch/slurm/slurm_state.h"
#include "sys/time/clock.h"

enum { READ_BYTES = 16 << 10 };

// True: there was something.
static bool read_once(struct child *child, unsigned which, struct buf *out)
{
    size_t got = 0;
    bool has_ended = false;
    char *room = buf_reserve(out, READ_BYTES);
    if (!room || child_read(child, which, room, READ_BYTES, &got, &has_ended)) {
        err_clear();
        return false;
    }
    out->size += got;
    return got > 0;
}

static void drop_watch(struct slurm_tool *tool, int which)
{
    loop_watch_free(tool->watches[which]);
    tool->watches[which] = NULL;
}

static void read_out(void *owner)
{
    struct slurm_tool *tool = owner;
    if (!read_once(&tool->child, CHILD_OUT, &tool->out) && tool->child.out < 0)
        drop_watch(tool, 0);
}

static void read_errors(void *owner)
{
    struct slurm_tool *tool = owner;
    if (!read_once(&tool->child, CHILD_ERR, &tool->errors) && tool->child.err < 0)
        drop_watch(tool, 1);
}

static void ended(void *owner)
{
    struct slurm_tool *tool = owner;
    struct process_exit exit;
    if (!child_wait(&tool->child, 0, &exit))
        return;
    while (tool->child.out >= 0 && read_once(&tool->child, CHILD_OUT, &tool->out))
        continue;
    while (tool->child.err >= 0 && read_once(&tool->child, CHILD_ERR, &tool->errors))
        continue;
    slurm_tool_stop(tool);
    tool->done(tool->owner, exit.is_known && !exit.was_signalled ? exit.number : -1);
}

static void limit_over(void *owner)
{
    struct slurm_tool *tool = owner;
    child_signal(&tool->child, 9);
}

weft_err slurm_tool_start(struct slurm_tool *tool, struct far_command *words, uint32_t limit_ms,
                          slurm_tool_fn *done, void *owner)
{
    const struct nursery_spec spec = {.arguments = (const char *const *)words->list.items,
                                      .input = NURSERY_INPUT_NONE};
    tool->out.size = tool->errors.size = 0;
    tool->done = done;
    tool->owner = owner;
    const weft_err err = nursery_start(tool->nursery, &spec, &tool->child);
    far_command_fini(words);
    if (err)
        return err;
    tool->watches[0] = loop_watch_new(tool->loop, tool->child.out, read_out, tool);
    tool->watches[1] = loop_watch_new(tool->loop, tool->child.err, read_errors, tool);
    tool->watches[2] = loop_watch_new(tool->loop, tool->child.status, ended, tool);
    tool->limit = loop_timer_new(tool->loop, limit_ms, 0, limit_over, tool);
    return WEFT_OK;
}

void slurm_tool_stop(struct slurm_tool *tool)
{
    for (int i = 0; i < 3; i++)
        drop_watch(tool, i);
    loop_timer_free(tool->limit);
    tool->limit = NULL;
    child_end(&tool->child);
}

bool slurm_tool_run(struct nursery *nursery, struct far_command *words, uint32_t limit_ms,
                    struct buf *out)
{
    const struct nursery_spec spec = {.arguments = (const char *const *)words->list.items,
                                      .input = NURSERY_INPUT_NONE};
    const uint64_t until_ns = clock_now_ns() + (uint64_t)limit_ms * 1000000;
    struct child child = {0};
    struct process_exit exit = {0};
    struct buf errors = {0};
    bool has_ended = false;
    const weft_err err = nursery_start(nursery, &spec, &child);
    far_command_fini(words);
    if (err) {
        err_clear();
        return false;
    }
    while (!has_ended && clock_now_ns() < until_ns) {
        child_wait_ready(&child, CHILD_OUT | CHILD_ERR | CHILD_END, 100);
        while (child.out >= 0 && read_once(&child, CHILD_OUT, out))
            continue;
        while (child.err >= 0 && read_once(&child, CHILD_ERR, &errors))
            continue;
        has_ended = child_wait(&child, 0, &exit);
    }
    while (child.out >= 0 && read_once(&child, CHILD_OUT, out))
        continue;
    child_end(&child);
    buf_fini(&errors);
    return has_ended && exit.is_known && !exit.was_signalled && exit.number == 0;
}
