// Takes an element for which there is no memory, then again with more memory.
//
//     short_memory QUEUE take|start|pop|many MEGABYTES
//
// It prints the code of the first attempt, with the count of stored and leased elements after it, and the size of the
// element at the second.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <weft/weft.h>

static void allow(rlim_t bytes)
{
    struct rlimit limit;
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = bytes;
    setrlimit(RLIMIT_AS, &limit);
}

// What this process has mapped now.
static rlim_t used_bytes(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file && fscanf(file, "%lu", &pages) != 1)
        pages = 0;
    if (file)
        fclose(file);
    return (rlim_t)pages * 4096;
}

static weft_err get(weft_queue *queue, const char *how, weft_item *item)
{
    uint32_t count = 0;
    if (strcmp(how, "take") == 0)
        return weft_take(queue, item) ? WEFT_OK : weft_queue_error(queue);
    if (strcmp(how, "start") == 0)
        return weft_call_item(weft_take_start(queue), 3000, item);
    if (strcmp(how, "pop") == 0)
        return weft_pop(queue, item);
    return weft_pop_many(queue, item, 1, false, &count);
}

// An element on its way back is counted a moment later.
static void await_unleased(weft_queue *queue, weft_queue_state *state)
{
    const struct timespec pause = {.tv_nsec = 20000000};
    for (int i = 0; i < 100; i++) {
        weft_queue_look(queue, state);
        if (state->leased_count == 0)
            break;
        nanosleep(&pause, NULL);
    }
}

int main(int argc, char **argv)
{
    weft_item item = {0};
    weft_queue_state state;
    weft_cluster *host = weft_connect(NULL);
    weft_queue *queue =
        weft_queue_open(host, argv[argc - 3], &(weft_queue_options){.timeout_ms = 10000});
    if (!queue || weft_queue_look(queue, &state))  // connects
        return weft_leave(host);
    weft_queue *small = weft_queue_open(host, "small", NULL);
    weft_push(small, weft_text("x"), weft_none());
    if (weft_take(small, &item))  // starts the library's thread
        weft_done(small, &item);
    allow(used_bytes() + ((rlim_t)atoi(argv[argc - 1]) << 20));
    const weft_err err = get(queue, argv[argc - 2], &item);
    allow(RLIM_INFINITY);
    if (!err) {
        puts("there was memory");
        return 1;
    }
    await_unleased(queue, &state);
    printf("%s: %llu stored, %llu leased\n", weft_err_name(err), (unsigned long long)state.size,
           (unsigned long long)state.leased_count);
    const weft_err again = get(queue, argv[argc - 2], &item);
    printf("%s: %zu bytes\n", weft_err_name(again), again ? 0 : item.size);
    return 0;
}
