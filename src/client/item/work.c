// Workers that take, run and settle; and the thread that started them, which waits for signals.

#include "client/item/work.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/text.h"
#include "client/item/work_state.h"
#include "client/keeper.h"
#include "client/remote/ops.h"
#include "client/tool.h"
#include "sys/file/file.h"
#include "sys/loop/loop.h"
#include "sys/machine/machine.h"
#include "sys/process/signals.h"
#include "sys/time/clock.h"

extern char **environ;

enum {
    ITEM_SHOWN_BYTES = 80,
    PARKED_MS = 60000,
    DELAY_DOUBLINGS_MAX = 16,
    HOST_VARIABLES = 2,  // WEFT_AT, WEFT_TOKEN
    LOOK_MS = 20,        // without an item: then the host is asked if there is none,
    LOOK_MS_MAX = 500,   // and again after twice as long
    REST_MS_MORE = 2000  // that a host may be late with an item that rests
};

static const uint64_t ns_per_ms = 1000000;

// ---- Messages ------------------------------------------------------------------------------------------------

static void append_item(struct buf *text, weft_bytes item)
{
    const bool is_cut = item.size > ITEM_SHOWN_BYTES;
    buf_append_text(text, "'");
    text_append_escaped(text, (weft_bytes){item.data, is_cut ? ITEM_SHOWN_BYTES : item.size});
    buf_append_text(text, is_cut ? "...'" : "'");
}

static void tell(struct item_work *work, struct buf *text)
{
    mutex_lock(&work->lock);
    if (file_write(STDERR_FILENO, "standard error", text->data, text->size))
        err_clear();
    mutex_unlock(&work->lock);
    buf_fini(text);
}

// The smaller of our limit and the queue's own, which is known since it was opened; 0: there is none.
static uint32_t limit_of_deliveries(const struct item_work *work)
{
    const uint32_t ours = work->options->deliveries_max;
    const uint32_t its_own = remote_queue_deliveries_max(work->queue);
    if (its_own == 0)
        return ours;
    return ours && ours < its_own ? ours : its_own;
}

static void tell_failure(struct item_worker *worker, bool is_buried, uint32_t delay_ms)
{
    struct item_work *work = worker->work;
    const uint32_t delivery = worker->name.delivery;
    uint32_t max = limit_of_deliveries(work);
    const bool has_run = max == 0 || delivery <= max;  // else the reason has the numbers
    struct buf text = {0};
    if (work->options->is_quiet && !is_buried)
        return;
    if (is_buried && (max == 0 || delivery < max))
        max = delivery;  // the queue got its limit after we came
    buf_format(&text, "weft: %s: ", work->queue->path);
    append_item(&text, worker->item);
    buf_format(&text, ": %s", worker->reason);
    if (has_run)
        buf_format(&text, "; delivery %u", delivery);
    if (has_run && max)
        buf_format(&text, " of %u", max);
    if (is_buried)
        buf_format(&text, ", now in %s.dead\n", work->queue->path);
    else
        buf_format(&text, ", again in %.4g s\n", delay_ms / 1000.0);
    tell(work, &text);
}

// ---- One worker ------------------------------------------------------------------------------------------------

// The first failure ends all of them.
static void end_all(struct item_work *work, weft_err err)
{
    mutex_lock(&work->lock);
    if (!work->error && !atomic_load(&work->is_stopping)) {
        work->error = err;
        snprintf(work->sentence, sizeof work->sentence, "%s", err_text());
    }
    mutex_unlock(&work->lock);
    loop_wake(work->loop);
}

static weft_err start_take(struct item_worker *worker)
{
    return remote_queue_start_take(worker->work->queue, 0, &worker->take);
}

static weft_err read_item(struct item_worker *worker)
{
    struct ops_queue_taken taken;
    if (!ops_queue_taken_decode(buf_bytes(&worker->take.answer), &taken))
        return err_set(WEFT_DATA_LOSS, "the answer is cut");
    worker->name = taken.item;
    worker->item = taken.element;
    return WEFT_OK;
}

// What the last item's end became at the host. A lease that was lost there is no end of us.
static weft_err finish_settling(struct item_worker *worker, bool *has_lost)
{
    *has_lost = false;
    if (!worker->is_settling)
        return WEFT_OK;
    worker->is_settling = false;
    const weft_err err = remote_finish(worker->work->queue, &worker->settle, 0);
    if (err != WEFT_ABORTED)
        return err;
    *has_lost = true;
    struct buf text = {0};
    buf_format(&text, "weft: %s\n", err_text());
    err_clear();
    tell(worker->work, &text);
    return WEFT_OK;
}

static weft_err start_settling(struct item_worker *worker, struct ops_queue_settle settle)
{
    settle.item = worker->name;
    const weft_err err = remote_queue_start_settling(worker->work->queue, &settle, &worker->settle);
    worker->is_settling = !err;
    return err;
}

// 1, 2, 4, ... times the first pause.
static uint32_t pause_before_next(const struct item_worker *worker)
{
    const uint32_t doublings = worker->name.delivery - 1;
    const uint64_t pause_ms =
        (uint64_t)worker->work->options->backoff_ms
        << (doublings < DELAY_DOUBLINGS_MAX ? doublings : DELAY_DOUBLINGS_MAX);
    return pause_ms < ITEM_BACKOFF_MS_MAX ? (uint32_t)pause_ms : ITEM_BACKOFF_MS_MAX;
}

// Waits for what the host says: it may bury the item by a limit of its own.
static weft_err give_back(struct item_worker *worker)
{
    struct item_work *work = worker->work;
    const uint32_t max = limit_of_deliveries(work);
    const bool is_last = max && worker->name.delivery >= max;
    const uint32_t delay_ms = pause_before_next(worker);
    weft_err err = start_settling(worker, (struct ops_queue_settle){
                                              .op = CALL_QUEUE_GIVE_BACK,
                                              .is_buried = is_last,
                                              .ms = delay_ms,
                                              .has_when = true,
                                              .when_s = (uint64_t)clock_calendar_s(),
                                              .reason = weft_text(worker->reason),
                                          });
    bool has_lost = false;
    if (!err)
        err = finish_settling(worker, &has_lost);
    if (err || has_lost)
        return err;
    const bool is_buried = worker->settle.flags & ANSWER_FLAG_BURIED;
    tell_failure(worker, is_buried, delay_ms);
    const uint64_t until_ns = clock_now_ns() + (delay_ms + REST_MS_MORE) * ns_per_ms;
    mutex_lock(&work->lock);
    work->buried_count += is_buried;
    if (!is_buried && work->resting_until_ns < until_ns)
        work->resting_until_ns = until_ns;
    mutex_unlock(&work->lock);
    return WEFT_OK;
}

// The key is the item's own, so that a second delivery leaves no second result. It must be there before
// the item is done: we may end in between.
static weft_err push_result(struct item_worker *worker)
{
    char key[ITEM_KEY_BYTES];
    item_write_key(&worker->name, key);
    weft_bytes result = buf_bytes(&worker->out);
    if (result.size && result.data[result.size - 1] == '\n')
        result.size--;
    const struct ops_queue_push push = {.key = weft_text(key), .element = result};
    struct peer_call call = {0};
    weft_err err = remote_queue_start_push(worker->work->results, &push, &call);
    if (!err)
        err = remote_finish(worker->work->results, &call, 0);
    peer_call_fini(&call);
    return err;
}

static weft_err settle(struct item_worker *worker, bool is_done)
{
    if (!is_done)
        return give_back(worker);
    const weft_err err = worker->work->results ? push_result(worker) : WEFT_OK;
    return err ? err : start_settling(worker, (struct ops_queue_settle){.op = CALL_QUEUE_DONE});
}

static weft_err work_on_item(struct item_worker *worker)
{
    struct item_work *work = worker->work;
    const uint32_t max = limit_of_deliveries(work);
    bool is_done = false;
    weft_err err = read_item(worker);
    if (err)
        return err;
    atomic_fetch_add(&work->held_count, 1);
    worker->has_run = false;
    if (max && worker->name.delivery > max)
        snprintf(worker->reason, sizeof worker->reason,
                 "not run: delivered %u time%s before, and %u %s allowed",
                 worker->name.delivery - 1, worker->name.delivery == 2 ? "" : "s", max,
                 max == 1 ? "is" : "are");
    else
        err = item_command_run(worker, &is_done);
    // An item whose command was killed because all ends is given back by the goodbye.
    while (atomic_load(&work->is_stopping))
        clock_sleep_ms(PARKED_MS);
    if (!err)
        err = settle(worker, is_done);
    if (!err) {
        atomic_fetch_sub(&work->ran_count, worker->has_run);
        atomic_fetch_sub(&work->held_count, 1);
    }
    return err;
}

// No item came for a moment. OUT_OF_RANGE: none is left, neither in the queue nor with us. Leases count those
// that rest before another try, too: where there is none, no consumer has to wait for the last of ours.
static weft_err look_if_empty(struct item_worker *worker)
{
    struct item_work *work = worker->work;
    weft_queue_state state;
    err_clear();
    const uint32_t held = atomic_load(&work->held_count);
    const weft_err err = remote_queue_state(work->queue, &state);
    if (err)
        return err;
    mutex_lock(&work->lock);
    const bool may_rest = state.leased_count && clock_now_ns() < work->resting_until_ns;
    mutex_unlock(&work->lock);
    if (state.size == 0 && held == 0 && !may_rest)
        return WEFT_OUT_OF_RANGE;
    worker->pause_ms = worker->pause_ms < LOOK_MS_MAX / 2 ? 2 * worker->pause_ms : LOOK_MS_MAX;
    return WEFT_OK;
}

static weft_err await_item(struct item_worker *worker)
{
    struct item_work *work = worker->work;
    if (worker->tells_waiting) {
        worker->tells_waiting = false;
        if (peer_wait(work->queue->peer, &worker->take,
                      clock_now_ns() + TOOL_SILENCE_MS * ns_per_ms))
            err_clear();
        if (!peer_has_answer(work->queue->peer, &worker->take))
            tool_tell_waiting(work->queue);
    }
    return remote_finish(work->queue, &worker->take,
                         work->options->until_empty ? worker->pause_ms : 0);
}

static weft_err take_and_work(struct item_worker *worker)
{
    bool has_lost;
    weft_err err = start_take(worker);
    if (!err)
        err = finish_settling(worker, &has_lost);
    if (!err)
        err = await_item(worker);
    if (err == WEFT_DEADLINE_EXCEEDED && worker->work->options->until_empty)
        return look_if_empty(worker);
    worker->pause_ms = LOOK_MS;
    return err ? err : work_on_item(worker);
}

static void run_worker(void *argument)
{
    struct item_worker *worker = argument;
    struct item_work *work = worker->work;
    weft_err err = WEFT_OK;
    worker->pause_ms = LOOK_MS;
    while (!err)
        err = take_and_work(worker);
    if (err != WEFT_OUT_OF_RANGE) {
        end_all(work, err);
        for (;;)  // the process ends
            clock_sleep_ms(PARKED_MS);
    }
    err_clear();
    mutex_lock(&work->lock);
    work->alive_count--;
    mutex_unlock(&work->lock);
    loop_wake(work->loop);
}

// ---- All of them -------------------------------------------------------------------------------------------------

static void on_wake(void *owner)
{
    struct item_work *work = owner;
    mutex_lock(&work->lock);
    const bool is_over = work->alive_count == 0 || work->error;
    mutex_unlock(&work->lock);
    if (is_over)
        loop_stop(work->loop);
}

static int caught_signal;

static void on_signal(void *owner, int number)
{
    struct item_work *work = owner;
    caught_signal = number;
    loop_stop(work->loop);
}

static bool is_own_variable(const char *variable, bool is_token_given)
{
    return strncmp(variable, "WEFT_ITEM=", 10) == 0 ||
           strncmp(variable, "WEFT_ITEM_KEY=", 14) == 0 ||
           strncmp(variable, "WEFT_DELIVERY=", 14) == 0 || strncmp(variable, "WEFT_AT=", 8) == 0 ||
           (is_token_given && strncmp(variable, "WEFT_TOKEN=", 11) == 0);
}

// How to find the host from here, for commands that use it themselves.
static void name_host(struct item_work *work)
{
    const weft_cluster *cluster = work->queue->cluster;
    if (cluster->has_at) {
        char address[NET_ADDRESS_TEXT_BYTES];
        net_write_address(&cluster->at, address);
        snprintf(work->address, sizeof work->address, "WEFT_AT=%s", address);
        work->environment[work->environment_count++] = work->address;
    }
    if (cluster->is_token_given) {
        char token[SECRET_TEXT_BYTES];
        secret_write(&cluster->token, token);
        snprintf(work->token, sizeof work->token, "WEFT_TOKEN=%s", token);
        work->environment[work->environment_count++] = work->token;
    }
}

static weft_err make_environment(struct item_work *work)
{
    const bool is_token_given = work->queue->cluster->is_token_given;
    size_t count = 0;
    while (environ[count])
        count++;
    work->environment = calloc(count + HOST_VARIABLES + 1, sizeof *work->environment);
    if (!work->environment)
        return err_no_memory("for the environment");
    for (size_t i = 0; i < count; i++)
        if (!is_own_variable(environ[i], is_token_given))
            work->environment[work->environment_count++] = environ[i];
    name_host(work);
    return WEFT_OK;
}

// Before there are threads. More of them than cores start nothing faster.
static weft_err make_nurseries(struct item_work *work)
{
    const uint32_t cores = machine_core_count(), workers = work->options->worker_count;
    const size_t count = workers < cores ? workers : cores;
    work->nurseries = calloc(count, sizeof *work->nurseries);
    if (!work->nurseries)
        return err_no_memory("for workers");
    for (; work->nursery_count < count; work->nursery_count++) {
        work->nurseries[work->nursery_count] = nursery_new();
        if (!work->nurseries[work->nursery_count])
            return WEFT_RESOURCE_EXHAUSTED;
    }
    return WEFT_OK;
}

static weft_err prepare(struct item_work *work)
{
    const char *program = work->options->command[0];
    weft_err err = strstr(program, "{}") ? WEFT_OK : nursery_find(program);
    if (!err)
        err = make_environment(work);
    if (!err)
        err = make_nurseries(work);
    work->loop = err ? NULL : loop_new(on_wake, work);
    if (!err && !work->loop)
        err = WEFT_RESOURCE_EXHAUSTED;
    for (size_t i = 0; !err && signals_to_end[i]; i++)
        if (!signal_is_ignored(signals_to_end[i]) &&
            !loop_signal_new(work->loop, signals_to_end[i], on_signal, work))
            err = WEFT_RESOURCE_EXHAUSTED;
    return err;
}

static void clean_up(struct item_work *work)
{
    for (size_t i = 0; i < work->nursery_count; i++)
        nursery_free(work->nurseries[i]);
    free(work->nurseries);
    loop_free(work->loop);
    free(work->environment);
    mutex_fini(&work->lock);
}

static void append_given_back(const struct item_work *work, struct buf *text, uint32_t count,
                              const char *which)
{
    if (count)
        buf_format(text, "weft: %s: gave back %u item%s that %s\n", work->queue->path, count,
                   count == 1 ? "" : "s", which);
}

// Others have threads that wait for the host: they end with the process.
static _Noreturn void end_early(struct item_work *work)
{
    struct buf text = {0};
    const uint32_t ran = atomic_load(&work->ran_count), held = atomic_load(&work->held_count);
    int exit_code = 0;
    atomic_store(&work->is_stopping, true);
    for (size_t i = 0; i < work->nursery_count; i++)
        nursery_stop(work->nurseries[i]);
    tool_say_goodbye(work->queue->cluster);
    if (work->error == WEFT_UNAVAILABLE && atomic_load(&work->is_unread)) {
        exit_code = signal_exit_code_unread();
    } else if (work->error) {
        err_set(work->error, "%s", work->sentence);
        tool_explain(work->queue->cluster, work->error);
        exit_code = err_exit_code(work->error);
        buf_format(&text, "weft: %s\n", err_text());
    } else {
        exit_code = signal_exit_code(caught_signal);
    }
    append_given_back(work, &text, ran, "ran");
    append_given_back(work, &text, held > ran ? held - ran : 0, "did not run");
    if (file_write(STDERR_FILENO, "standard error", text.data, text.size))
        err_clear();
    _exit(exit_code);
}

static weft_err start_workers(struct item_work *work, struct item_worker *workers)
{
    const uint32_t count = work->options->worker_count;
    weft_err err = WEFT_OK;
    keeper_arm(work->queue->cluster);  // commands may take long
    for (uint32_t i = 0; i < count && !err; i++) {
        workers[i].work = work;
        workers[i].nursery = work->nurseries[i % work->nursery_count];
        workers[i].tells_waiting =
            i == 0 && !work->options->is_quiet && !work->options->until_empty;
        err = item_command_init(&workers[i]);
    }
    for (uint32_t i = 0; i < count && !err; i++) {
        mutex_lock(&work->lock);
        work->alive_count++;
        mutex_unlock(&work->lock);
        err = thread_start(&workers[i].thread, run_worker, &workers[i], 0);
    }
    if (err)
        end_all(work, err);
    return err;
}

static int tell_end(const struct item_work *work)
{
    if (work->buried_count == 0)
        return 0;
    struct buf text = {0};
    buf_format(&text, "weft: %s: ", work->queue->path);
    text_append_count(&text, work->buried_count);
    buf_format(&text,
               " item%s failed for good\n  look: weft queue peek -n 10 %s.dead\n  "
               "again: weft queue retry %s.dead\n",
               work->buried_count == 1 ? "" : "s", work->queue->path, work->queue->path);
    if (file_write(STDERR_FILENO, "standard error", text.data, text.size))
        err_clear();
    buf_fini(&text);
    return err_exit_code(WEFT_ABORTED);
}

int item_work_run(const struct item_work_options *options, struct remote *queue,
                  struct remote *results)
{
    struct item_work work = {.options = options, .queue = queue, .results = results};
    struct item_worker *workers = calloc(options->worker_count, sizeof *workers);
    mutex_init(&work.lock);
    weft_err err = workers ? prepare(&work) : err_no_memory("for workers");
    if (err) {
        fprintf(stderr, "weft: %s\n", err_text());
        clean_up(&work);
        free(workers);
        return err_exit_code(err);
    }
    err = start_workers(&work, workers);
    if (!err)
        loop_run(work.loop);
    if (err || work.error || caught_signal)
        end_early(&work);
    for (uint32_t i = 0; i < options->worker_count; i++) {
        thread_join(&workers[i].thread);
        item_command_fini(&workers[i]);
    }
    const int exit_code = tell_end(&work);
    free(workers);
    clean_up(&work);
    return exit_code;
}
