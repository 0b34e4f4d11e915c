// Work at a queue of Weft, by the public C API, on a member that only hosts it. PORTS: two, of the members;
// what is kept is kept in the directory JOURNAL of the environment.

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weft/weft.h>

#include "work.h"

static weft_cluster *cluster;
static weft_queue *queue;
static weft_var *sum;
static weft_call **calls;  // a ring of those under way
static uint64_t first, last;
static pid_t host;

static void must(weft_err err)
{
    if (err)
        work_fail(weft_error());
}

static void join(const char *role, const char *journal)
{
    char config[512];
    snprintf(config, sizeof config,
             "{\"cluster\":{\"host\":[\"localhost:%u\"],\"work\":[\"localhost:%u\"]},"
             "\"task\":{\"type\":\"%s\",\"index\":0}}",
             work_setup.ports[0], work_setup.ports[1], role);
    cluster = weft_join(&(weft_join_options){.config = config, .journal = journal});
    queue = weft_queue_open(cluster, "/host/0/queue", NULL);
    sum = weft_var_open(cluster, "/host/0/sum");
    if (!cluster || !queue || !sum)
        work_fail(weft_error());
}

void broker_open(void)
{
    host = fork();
    if (host < 0)
        work_fail("no more processes");
    if (host == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        join("host", work_setup.is_kept ? getenv("JOURNAL") : NULL);
        weft_leave(cluster);
        _exit(0);
    }
    weft_queue_state state;
    join("work", NULL);
    must(weft_queue_look(queue, &state));
    calls = calloc(work_setup.window, sizeof *calls);
    if (!calls)
        work_fail("no memory");
}

void broker_push(void)
{
    weft_call *call =
        weft_push_start(queue, (weft_bytes){work_element, WORK_ELEMENT_BYTES}, weft_none());
    if (!call)
        work_fail(weft_error());
    calls[last++ % work_setup.window] = call;
}

void broker_settle(void)
{
    must(weft_call_wait(calls[first++ % work_setup.window], 0));
}

void broker_open_takes(void)
{
}

void broker_take(bool adds_one)
{
    weft_item item;
    if (!weft_take(queue, &item))
        work_fail(weft_error());
    if (adds_one)
        must(weft_var_add(sum, 1, &item, NULL));
    if (work_setup.window == 1) {
        must(weft_done(queue, &item));
        return;
    }
    if (last - first == work_setup.window)
        broker_settle();
    calls[last++ % work_setup.window] = weft_done_start(queue, &item);
}

void broker_close(void)
{
    kill(host, SIGKILL);
    waitpid(host, NULL, 0);
}
