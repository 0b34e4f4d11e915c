// Counts lines; one that says `boom HOW` makes it fail that way: segv, abort, exit, kill, fail, loop, or
// loud (it says something before it crashes). With -f NAME it is harmless once the file NAME is there. The
// lines come one by one, in mines_block.c as blocks; -u makes it sleep so many microseconds at each.
#include <weft/weft.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void blow_up(weft_task *task, const char *how, size_t size)
{
    char name[16] = "";
    for (size_t i = 0; i < size && i < sizeof name - 1 && how[i] >= 'a' && how[i] <= 'z'; i++)
        name[i] = how[i];
    if (strcmp(name, "segv") == 0)
        *(volatile int *)8 = 1;
    else if (strcmp(name, "abort") == 0)
        abort();
    else if (strcmp(name, "exit") == 0)
        exit(7);
    else if (strcmp(name, "kill") == 0)
        kill(getpid(), SIGKILL);
    else if (strcmp(name, "loop") == 0)
        for (volatile int forever = 1; forever;)
            usleep(1000);
    else if (strcmp(name, "loud") == 0) {
        fprintf(stderr, "first word on stderr\nlast word on stderr\n");
        *(volatile int *)8 = 1;
    } else
        weft_fail(task, "it said %s", name);
}

static void take_line(weft_task *task, weft_bytes line)
{
    const char *harmless = weft_option(weft_task_args(task), 'f', 0);
    const char *pause = weft_option(weft_task_args(task), 'u', 0);
    if (pause)
        usleep((useconds_t)atoi(pause));
    if (line.size > 5 && memcmp(line.data, "boom ", 5) == 0 &&
        (!harmless || access(harmless, F_OK) != 0))
        blow_up(task, line.data + 5, line.size - 5);
    weft_emit_int(task, line, 1);
}

#ifdef TAKES_BLOCKS
static void map(weft_task *task, weft_bytes block)
{
    for (size_t at = 0; at < block.size;) {
        const char *end = memchr(block.data + at, '\n', block.size - at);
        const size_t size = end ? (size_t)(end - block.data) - at : block.size - at;
        take_line(task, (weft_bytes){block.data + at, size});
        at += size + 1;
    }
}
#define MAP .map_block = map
#else
#define MAP .map = take_line
#endif

int main(int argc, char **argv)
{
    const weft_job job = {
        .name = "mines", MAP, .combine = weft_sum, .reduce = weft_sum, .options = "f:u:"};
    return weft_main(argc, argv, &job);
}
