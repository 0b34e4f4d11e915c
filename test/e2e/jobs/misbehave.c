// Does what -m says when it meets a line that starts with "boom"; other lines it counts as they are.
#include <weft/weft.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile int has_end = 0;  // a compiler that saw no end would complain

static int recurse(volatile char *above)
{
    volatile char here[4096];
    here[0] = above[0];
    return has_end ? 0 : recurse(here) + here[0];
}

static void misbehave(weft_task *task, const char *how)
{
    if (strcmp(how, "segv") == 0)
        *(volatile int *)8 = 1;
    else if (strcmp(how, "abort") == 0)
        abort();
    else if (strcmp(how, "exit0") == 0)
        exit(0);
    else if (strcmp(how, "exit7") == 0)
        exit(7);
    else if (strcmp(how, "_exit") == 0)
        _exit(0);
    else if (strcmp(how, "kill") == 0)
        kill(getpid(), SIGKILL);
    else if (strcmp(how, "stack") == 0)
        recurse((volatile char *)how);
    else if (strcmp(how, "fail") == 0)
        weft_fail(task, "the moon is in line %d", 42);
    else if (strcmp(how, "print") == 0)
        printf("this does not belong into the answer\n");
    else
        for (volatile int forever = 1; forever;)
            continue;
}

static void map(weft_task *task, weft_bytes line)
{
    const char *how = weft_option(weft_task_args(task), 'm', 0);
    if (line.size >= 4 && memcmp(line.data, "boom", 4) == 0)
        misbehave(task, how ? how : "fail");
    weft_emit_int(task, line, 1);
}

static void reduce(weft_task *task, weft_bytes key, weft_values *values)
{
    const char *how = weft_option(weft_task_args(task), 'r', 0);
    if (how && key.size >= 4 && memcmp(key.data, "bang", 4) == 0)
        misbehave(task, how);
    weft_sum(task, key, values);
}

int main(int argc, char **argv)
{
    const weft_job job = {.name = "misbehave", .map = map, .reduce = reduce, .options = "m:r:"};
    return weft_main(argc, argv, &job);
}
