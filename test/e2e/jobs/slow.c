// Counts lines, sleeping -u microseconds at each, or $SLOW_US, which is no part of what the job is.
#include <weft/weft.h>

#include <stdlib.h>
#include <unistd.h>

static void map(weft_task *task, weft_bytes line)
{
    const char *pause = weft_option(weft_task_args(task), 'u', 0);
    pause = pause ? pause : getenv("SLOW_US");
    if (pause)
        usleep((useconds_t)atoi(pause));
    weft_emit_int(task, line, 1);
}

int main(int argc, char **argv)
{
    const weft_job job = {
        .name = "slow", .map = map, .combine = weft_sum, .reduce = weft_sum, .options = "u:"};
    return weft_main(argc, argv, &job);
}
