// Cuts the file it is reading to -s bytes at the first line it meets, then counts lines.
#include <weft/weft.h>

#include <stdlib.h>
#include <unistd.h>

static void map(weft_task *task, weft_bytes line)
{
    const char *size = weft_option(weft_task_args(task), 's', 0);
    if (size && truncate(weft_input_name(task), atol(size)) != 0)
        weft_fail(task, "truncate");
    weft_emit_int(task, line, 1);
}

int main(int argc, char **argv)
{
    const weft_job job = {
        .name = "shrink", .map = map, .combine = weft_sum, .reduce = weft_sum, .options = "s:"};
    return weft_main(argc, argv, &job);
}
