// The client that lives in the host's process, and dies with it. What the product's port does is the
// product's; only its sleep is the world's, as a fiber must not be asleep in memory of a host that is gone.
#include "host/local.h"
#include "sim_host/client.h"

enum { LOOKS_AFTER_NS = 10000000 };

static struct host_local *local;  // NULL: nobody lives there

static weft_err refuse_gone(weft_err code)
{
    return err_set(code, "the process is gone");
}

static weft_err open_session(void *owner, const struct hello *hello, struct hello_welcome *welcome)
{
    (void)owner;
    return local ? host_local_port.open(local, hello, welcome) : refuse_gone(WEFT_UNAVAILABLE);
}

static void close_session(void *owner)
{
    (void)owner;
    if (local)
        host_local_port.close(local);
}

static weft_err exchange(void *owner, const struct peer_batch *batch, struct buf *answers)
{
    (void)owner;
    return local ? host_local_port.exchange(local, batch, answers) : refuse_gone(WEFT_ABORTED);
}

static void wait_for_answers(void *owner, const _Atomic(uint64_t) *fetched, uint64_t before,
                             uint64_t deadline_ns)
{
    const uint64_t look_ns = world.now_ns + LOOKS_AFTER_NS;
    (void)owner;
    if (*fetched == before)
        fiber_wait(NULL, look_ns < deadline_ns ? look_ns : deadline_ns);
}

static void poke(void *owner)
{
    (void)owner;
}

const struct peer_port *local_start(void)
{
    static const struct peer_port port = {open_session, close_session, exchange, wait_for_answers,
                                          poke};
    local = host_local_new(world.host);
    ASSERT(local);
    return &port;
}

void local_end(void)
{
    host_local_free(local);
    local = NULL;
}
