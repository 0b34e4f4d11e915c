// own_loop QUEUE: a program with a loop of its own, which waits for a timer, a pipe and a queue at once; docs/cluster-api.md.
#include <poll.h>
#include <stdio.h>
#include <unistd.h>
#include <weft/weft.h>

enum { REPORT_MS = 1000 };

// Takes the elements that are there now. False: the queue has ended, or there was a failure.
static bool take_all(weft_queue *queue, long *count)
{
    for (weft_item item;;) {
        const weft_err err = weft_take_now(queue, &item);
        if (err)
            return err == WEFT_CANCELLED;  // none now: wait again
        printf("%s\n", item.data);
        if (weft_done(queue, &item) == WEFT_OK)
            ++*count;
    }
}

int main(int argc, char **argv)
{
    weft_cluster *cluster = weft_connect(NULL);  // the host that WEFT_AT names
    weft_queue *queue = weft_queue_open(cluster, argc > 1 ? argv[1] : "jobs", NULL);
    struct pollfd fds[] = {{.fd = weft_queue_descriptor(queue), .events = POLLIN},
                           {.fd = STDIN_FILENO, .events = POLLIN}};
    long count = 0;
    while (fds[0].fd >= 0) {
        fflush(stdout);
        const int ready = poll(fds, 2, REPORT_MS);
        if (ready == 0)
            fprintf(stderr, "%ld so far\n", count);
        if (fds[0].revents && !take_all(queue, &count))
            break;
        char line[256];
        const ssize_t got = fds[1].revents ? read(STDIN_FILENO, line, sizeof line) : 0;
        if (got > 0)
            fprintf(stderr, "you typed %.*s", (int)got, line);
        else if (fds[1].revents)
            fds[1].fd = -1;  // its end: poll leaves it out
    }
    return weft_leave(cluster);
}
