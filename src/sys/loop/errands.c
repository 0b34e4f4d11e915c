// Threads beside the loop, with a list of work and a list of finished work.

#include "sys/loop/errands.h"

#include <stdlib.h>

#include "sys/loop/loop_state.h"
#include "sys/thread/thread.h"

enum { STACK_BYTES = 256 << 10 };

struct errand {
    struct errand *next;
    loop_fn *work, *done;
    void *owner;
};

struct errand_list {
    struct errand *first, *last;
};

// The handle outlives the rest by the time that libuv takes to close it.
struct errands {
    uv_async_t uv;  // first: freed as the loop frees every handle
    struct loop *loop;
    struct thread threads[ERRANDS_THREADS_MAX];
    uint32_t thread_count, thread_max;
    struct mutex mutex;  // guards all below
    struct condition changed;
    struct errand_list todo, done;
    uint32_t waiting;  // errands that no thread has begun
    uint32_t idle;     // threads without one
    bool is_stopped;
};

static void put(struct errand_list *list, struct errand *errand)
{
    errand->next = NULL;
    if (list->last)
        list->last->next = errand;
    else
        list->first = errand;
    list->last = errand;
}

static struct errand *take(struct errand_list *list)
{
    struct errand *errand = list->first;
    if (errand)
        list->first = errand->next;
    if (!list->first)
        list->last = NULL;
    return errand;
}

static struct errand *wait_for_errand(struct errands *errands)
{
    struct errand *errand = NULL;
    mutex_lock(&errands->mutex);
    errands->idle++;
    while (!errands->is_stopped && !(errand = take(&errands->todo)))
        condition_wait(&errands->changed, &errands->mutex);
    errands->idle--;
    errands->waiting -= errand != NULL;
    mutex_unlock(&errands->mutex);
    return errand;
}

static void run_errands(void *owner)
{
    struct errands *errands = owner;
    for (struct errand *errand; (errand = wait_for_errand(errands));) {
        errand->work(errand->owner);
        mutex_lock(&errands->mutex);
        put(&errands->done, errand);
        mutex_unlock(&errands->mutex);
        uv_async_send(&errands->uv);
    }
}

static struct errand *take_done(struct errands *errands)
{
    mutex_lock(&errands->mutex);
    struct errand *errand = take(&errands->done);
    mutex_unlock(&errands->mutex);
    return errand;
}

// A callback may free the errands: libuv's memory of them stays until the loop has turned.
static void report_done(uv_async_t *uv)
{
    struct errands *errands = (struct errands *)uv;
    loop_begin_event(errands->loop);
    for (struct errand *errand;
         !uv_is_closing((uv_handle_t *)uv) && (errand = take_done(errands));) {
        const struct errand copy = *errand;
        free(errand);
        copy.done(copy.owner);
    }
}

struct errands *errands_new(struct loop *loop)
{
    return errands_new_several(loop, 1);
}

struct errands *errands_new_several(struct loop *loop, uint32_t threads)
{
    ASSERT(threads > 0 && threads <= ERRANDS_THREADS_MAX);
    struct errands *errands = loop_allocate(sizeof *errands);
    if (!errands)
        return NULL;
    errands->loop = loop;
    errands->thread_max = threads;
    mutex_init(&errands->mutex);
    condition_init(&errands->changed);
    const int code = uv_async_init(&loop->uv, &errands->uv, report_done);
    if (code == 0)
        return errands;
    loop_refuse(code, "start a thread beside the event loop");
    free(errands);
    return NULL;
}

// One more thread, unless those that are idle are enough. With one thread at least, a failure only makes it slower.
static weft_err start_thread(struct errands *errands)
{
    mutex_lock(&errands->mutex);
    const bool is_needed = errands->thread_count < errands->thread_max &&
                           (errands->thread_count == 0 || errands->waiting >= errands->idle);
    mutex_unlock(&errands->mutex);
    if (!is_needed)
        return WEFT_OK;
    const weft_err code =
        thread_start(&errands->threads[errands->thread_count], run_errands, errands, STACK_BYTES);
    if (code == WEFT_OK)
        errands->thread_count++;
    else if (errands->thread_count > 0)
        err_clear();
    return errands->thread_count > 0 ? WEFT_OK : code;
}

weft_err errands_do(struct errands *errands, loop_fn *work, loop_fn *done, void *owner)
{
    const weft_err code = start_thread(errands);
    if (code != WEFT_OK)
        return code;
    struct errand *errand = malloc(sizeof *errand);
    if (!errand)
        return err_no_memory("for work beside the event loop");
    *errand = (struct errand){.work = work, .done = done, .owner = owner};
    mutex_lock(&errands->mutex);
    put(&errands->todo, errand);
    errands->waiting++;
    condition_broadcast(&errands->changed);
    mutex_unlock(&errands->mutex);
    return WEFT_OK;
}

static void free_list(struct errand_list *list)
{
    for (struct errand *errand; (errand = take(list));)
        free(errand);
}

static void free_errands(uv_handle_t *uv)
{
    struct errands *errands = (struct errands *)uv;
    mutex_fini(&errands->mutex);
    condition_fini(&errands->changed);
    free(errands);
}

void errands_free(struct errands *errands)
{
    if (!errands)
        return;
    mutex_lock(&errands->mutex);
    errands->is_stopped = true;
    condition_broadcast(&errands->changed);
    mutex_unlock(&errands->mutex);
    for (uint32_t i = 0; i < errands->thread_count; i++)
        thread_join(&errands->threads[i]);
    free_list(&errands->todo);
    free_list(&errands->done);
    uv_close((uv_handle_t *)&errands->uv, free_errands);
}
