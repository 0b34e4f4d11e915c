// No items: the records of this simulation are all there is. Stands in the place of run/driver/server/items.c, which reads from a process that is
// none of its world.

#include "run/driver/server/items.h"

#include "sim_run/sim_run.h"

struct items *items_new(const struct items_options *options)
{
    (void)options;
    sim_wrong("a run without items opens them");
}

void items_free(struct items *items)
{
    (void)items;
}

weft_err items_send(struct items *items, struct agent *agent, Weft__TaskRun *run)
{
    (void)items;
    return agent_send(agent, WEFT__FRAME_TYPE__FRAME_TASK_RUN, &run->base);
}

void items_end_task(struct items *items, const struct agent *agent, uint32_t task)
{
    (void)items, (void)agent, (void)task;
}

void items_forget(struct items *items, const struct agent *agent)
{
    (void)items, (void)agent;
}
