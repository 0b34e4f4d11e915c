// Counts lines, sleeping -u microseconds at each.
#include <weft/weft.h>

#include <stdlib.h>
#include <unistd.h>

static void map(weft_task *task, weft_bytes line)
{
    const char *pause = weft_option(weft_task_args(task), 'u', 0);
    usleep(pause ? (useconds_t)atoi(pause) : 0);
    weft_emit_int(task, line, 1);
}

int main(int argc, char **argv)
{
    const weft_job job = {
        .name = "slow", .map = map, .combine = weft_sum, .reduce = weft_sum, .options = "u:"};
    return weft_main(argc, argv, &job);
}
