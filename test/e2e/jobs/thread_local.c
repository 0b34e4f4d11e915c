// A job with more thread-local data than a small thread has stack: counts lines.

#include <weft/weft.h>

static _Thread_local char scratch[200 << 10];

static void map(weft_task *task, weft_bytes line)
{
    scratch[line.size % sizeof scratch]++;
    weft_emit_int(task, line, 1);
}

static const weft_job job = {.name = "thread_local", .map = map, .reduce = weft_sum};

int main(int argc, char **argv)
{
    return weft_main(argc, argv, &job);
}
