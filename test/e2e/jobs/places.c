// A map-only job: prints each line as `name:offset:line`, counting what it sees; -s makes it skip
// empty lines. Setup and teardown run per slot; a slot without setup would fail.
#include <weft/weft.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static weft_err setup(weft_task *task)
{
    int *ready = malloc(sizeof *ready);
    if (!ready)
        return WEFT_RESOURCE_EXHAUSTED;
    *ready = 7;
    weft_task_set_state(task, ready);
    return WEFT_OK;
}

static void teardown(weft_task *task)
{
    free(weft_task_state(task));
}

static void map(weft_task *task, weft_bytes line)
{
    const int *ready = weft_task_state(task);
    if (!ready || *ready != 7)
        weft_fail(task, "the slot was not set up");
    if (line.size == 0)
        weft_counter_add(task, "empty lines", 1);
    weft_counter_add(task, "lines", 1);
    char *text = malloc(line.size + 512);
    int size = snprintf(text, line.size + 512, "%s:%" PRIu64 ":", weft_input_name(task),
                        weft_input_offset(task));
    memcpy(text + size, line.data, line.size);
    weft_emit(task, (weft_bytes){text, (size_t)size + line.size}, weft_none());
    free(text);
}

int main(int argc, char **argv)
{
    const weft_job job = {.name = "places", .map = map, .setup = setup, .teardown = teardown};
    return weft_main(argc, argv, &job);
}
