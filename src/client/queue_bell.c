// The thread that waits for an element in the place of a program's loop.

#include "client/queue_bell.h"

void queue_bell_init(struct queue_bell *bell, struct prefetch *prefetch)
{
    *bell = (struct queue_bell){.prefetch = prefetch, .bell = {.fd = -1}};
    mutex_init(&bell->lock);
    condition_init(&bell->changed);
}

static void ring(struct queue_bell *bell)
{
    bell->state = BELL_RUNG;
    bell_ring(&bell->bell);
}

static void keep_watch(void *owner)
{
    struct queue_bell *bell = owner;
    mutex_lock(&bell->lock);
    while (!bell->is_stopping) {
        if (bell->state != BELL_WAITING) {
            condition_wait_until(&bell->changed, &bell->lock, UINT64_MAX);
            continue;
        }
        mutex_unlock(&bell->lock);
        prefetch_await(bell->prefetch, &bell->is_stopping);
        mutex_lock(&bell->lock);
        ring(bell);
    }
    mutex_unlock(&bell->lock);
}

static weft_err start(struct queue_bell *bell)
{
    weft_err err = bell_init(&bell->bell);
    if (err)
        return err;
    err = thread_start(&bell->thread, keep_watch, bell, 0);
    if (err) {
        bell_fini(&bell->bell);
        return err;
    }
    ring(bell);
    bell->has_started = true;
    return WEFT_OK;
}

weft_err queue_bell_descriptor(struct queue_bell *bell, int *fd)
{
    mutex_lock(&bell->lock);
    const weft_err err = bell->has_started ? WEFT_OK : start(bell);
    *fd = bell->bell.fd;
    mutex_unlock(&bell->lock);
    return err;
}

void queue_bell_begin_take(struct queue_bell *bell)
{
    if (!bell->has_started)
        return;
    mutex_lock(&bell->lock);
    if (bell->state == BELL_RUNG) {
        bell->state = BELL_QUIET;
        bell_hush(&bell->bell);
    }
    mutex_unlock(&bell->lock);
}

void queue_bell_end_take(struct queue_bell *bell, bool was_empty)
{
    if (!bell->has_started)
        return;
    mutex_lock(&bell->lock);
    if (bell->state == BELL_QUIET && was_empty) {
        bell->state = BELL_WAITING;
        condition_broadcast(&bell->changed);
    } else if (bell->state == BELL_QUIET) {
        ring(bell);
    }
    mutex_unlock(&bell->lock);
}

void queue_bell_fini(struct queue_bell *bell)
{
    mutex_lock(&bell->lock);
    bell->is_stopping = true;
    condition_broadcast(&bell->changed);
    mutex_unlock(&bell->lock);
    if (bell->has_started) {
        prefetch_stop_awaiting(bell->prefetch);
        thread_join(&bell->thread);
    }
    bell_fini(&bell->bell);
    condition_fini(&bell->changed);
    mutex_fini(&bell->lock);
}
