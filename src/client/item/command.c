// One command for one item: its words, its pipes, its end.

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/text.h"
#include "client/item/work_state.h"
#include "sys/file/file.h"
#include "sys/time/clock.h"

enum {
    READ_BYTES = 64 << 10,
    OWN_VARIABLES = 3,               // WEFT_DELIVERY, WEFT_ITEM_KEY, WEFT_ITEM
    VARIABLE_BYTES_MAX = 128 << 10,  // the kernel's limit for one word
};

static const uint64_t ns_per_ms = 1000000;

// ---- Its words -----------------------------------------------------------------------------------------------

weft_err item_command_init(struct item_worker *worker)
{
    const struct item_work *work = worker->work;
    size_t count = 0;
    while (work->options->command[count])
        count++;
    worker->arguments = calloc(count + 2, sizeof *worker->arguments);
    worker->environment =
        calloc(work->environment_count + OWN_VARIABLES + 1, sizeof *worker->environment);
    if (!worker->arguments || !worker->environment)
        return err_no_memory("for a worker");
    memcpy(worker->environment, work->environment,
           work->environment_count * sizeof *worker->environment);
    return WEFT_OK;
}

void item_command_fini(struct item_worker *worker)
{
    free(worker->arguments);
    free(worker->environment);
    buf_fini(&worker->out);
    buf_fini(&worker->err);
    buf_fini(&worker->words);
    peer_call_fini(&worker->take);
    peer_call_fini(&worker->settle);
}

void item_write_key(const struct call_item *item, char key[ITEM_KEY_BYTES])
{
    snprintf(key, ITEM_KEY_BYTES, "%016llx-%llu", (unsigned long long)item->queue,
             (unsigned long long)item->id);
}

// Appends the word with the item for each {}; false when there was none.
static bool append_word(struct buf *words, const char *word, weft_bytes item)
{
    bool has_place = false;
    for (const char *place; (place = strstr(word, "{}")) != NULL; word = place + 2) {
        buf_append(words, word, (size_t)(place - word));
        buf_append(words, item.data, item.size);
        has_place = true;
    }
    buf_append(words, word, strlen(word) + 1);
    return has_place;
}

// Words are written one after the other, each with its zero; pointers follow when all are there.
static bool write_words(struct item_worker *worker, bool item_fits)
{
    const struct item_work_options *options = worker->work->options;
    struct buf *words = &worker->words;
    bool has_place = options->by_stdin;
    words->size = 0;
    for (const char *const *word = options->command; *word; word++)
        has_place |= append_word(words, *word, item_fits ? worker->item : weft_none());
    if (!has_place) {
        buf_append(words, worker->item.data, worker->item.size);
        buf_append(words, "", 1);
    }
    buf_format(words, "WEFT_DELIVERY=%u", worker->name.delivery);
    buf_append(words, "", 1);
    char key[ITEM_KEY_BYTES];
    item_write_key(&worker->name, key);
    buf_format(words, "WEFT_ITEM_KEY=%s", key);
    buf_append(words, "", 1);
    if (item_fits) {
        buf_append_text(words, "WEFT_ITEM=");
        buf_append(words, worker->item.data, worker->item.size);
        buf_append(words, "", 1);
    }
    return !words->has_failed;
}

static void point_at_words(struct item_worker *worker, bool item_fits)
{
    const struct item_work *work = worker->work;
    const char *at = worker->words.data, *end = at + worker->words.size;
    const size_t variable_count = item_fits ? OWN_VARIABLES : OWN_VARIABLES - 1;
    size_t word_count = 0, count = 0, variable = work->environment_count;
    for (const char *next = at; next < end; next += strlen(next) + 1)
        word_count++;
    for (; count < word_count - variable_count; at += strlen(at) + 1)
        worker->arguments[count++] = at;
    worker->arguments[count] = NULL;
    for (; at < end; at += strlen(at) + 1)
        worker->environment[variable++] = at;
    worker->environment[variable] = NULL;
}

// False: the item cannot be a word.
static bool make_words(struct item_worker *worker)
{
    const weft_bytes item = worker->item;
    const bool item_fits =
        item.size < VARIABLE_BYTES_MAX - 64 && !(item.size && memchr(item.data, 0, item.size));
    if (!item_fits && !worker->work->options->by_stdin) {
        snprintf(worker->reason, sizeof worker->reason, "%s: use --stdin",
                 item.size < VARIABLE_BYTES_MAX - 64
                     ? "an item with a zero byte cannot be an argument"
                     : "it is too long for an argument");
        return false;
    }
    if (!write_words(worker, item_fits)) {
        snprintf(worker->reason, sizeof worker->reason, "no memory for its arguments");
        return false;
    }
    point_at_words(worker, item_fits);
    return true;
}

// ---- Its pipes -----------------------------------------------------------------------------------------------

// Writes the output so far up to the last line's end, or all of it: lines of commands that run side by side
// do not mix.
static weft_err pass_on(struct item_worker *worker, struct buf *text, int fd, bool all)
{
    size_t size = text->size;
    if (!all)
        while (size > 0 && text->data[size - 1] != '\n')
            size--;
    if (size == 0)
        return WEFT_OK;
    mutex_lock(&worker->work->lock);
    const weft_err err = file_write(fd, fd == STDOUT_FILENO ? "standard output" : "standard error",
                                    text->data, size);
    if (err == WEFT_UNAVAILABLE)  // only a pipe or socket that the other side has closed
        atomic_store(&worker->work->is_unread, true);
    mutex_unlock(&worker->work->lock);
    memmove(text->data, text->data + size, text->size - size);
    text->size -= size;
    return err;
}

static weft_err read_pipe(struct item_worker *worker, unsigned which, bool *has_moved)
{
    struct buf *text = which == CHILD_OUT ? &worker->out : &worker->err;
    bool has_ended;
    size_t got = 0;
    char *to = buf_reserve(text, READ_BYTES);
    if (!to)
        return err_no_memory("for the output of a command");
    weft_err err = child_read(&worker->child, which, to, READ_BYTES, &got, &has_ended);
    text->size += got;
    *has_moved = got > 0;
    if (which == CHILD_OUT && worker->work->results) {
        if (!err && text->size > CALL_BYTES_MAX - CALL_NAME_BYTES_MAX)
            err = err_set(WEFT_RESOURCE_EXHAUSTED, "a result of more than %u MB",
                          CALL_BYTES_MAX >> 20);
        return err;
    }
    return err ? err
               : pass_on(worker, text, which == CHILD_OUT ? STDOUT_FILENO : STDERR_FILENO, false);
}

static weft_err feed(struct item_worker *worker, size_t *fed)
{
    size_t put = 0;
    bool has_ended = false;
    const weft_err err = child_write(&worker->child, worker->item.data + *fed,
                                     worker->item.size - *fed, &put, &has_ended);
    *fed += put;
    if (*fed == worker->item.size || has_ended)
        child_close_in(&worker->child);
    return err;
}

static int time_left(uint64_t deadline_ns)
{
    if (deadline_ns == UINT64_MAX)
        return -1;
    const uint64_t now_ns = clock_now_ns();
    return now_ns >= deadline_ns ? 0 : (int)((deadline_ns - now_ns) / ns_per_ms + 1);
}

// Until the command has ended and its pipes are empty; *is_late: its time was over first.
static weft_err pump(struct item_worker *worker, uint64_t deadline_ns, bool *is_late)
{
    size_t fed = 0;
    bool has_moved = false;
    weft_err err = WEFT_OK;
    *is_late = false;
    if (!worker->work->options->by_stdin || worker->item.size == 0)
        child_close_in(&worker->child);
    while (!err) {
        const unsigned wanted =
            CHILD_OUT | CHILD_ERR | CHILD_END | (worker->child.in >= 0 ? CHILD_IN : 0);
        const unsigned ready = child_wait_ready(&worker->child, wanted, time_left(deadline_ns));
        has_moved = false;
        if (ready & CHILD_IN)
            err = feed(worker, &fed);
        if (!err && ready & CHILD_OUT)
            err = read_pipe(worker, CHILD_OUT, &has_moved);
        if (!err && ready & CHILD_ERR) {
            bool has_talked = false;
            err = read_pipe(worker, CHILD_ERR, &has_talked);
            has_moved |= has_talked;
        }
        if (ready & CHILD_END && !has_moved)
            break;
        if (!ready && clock_now_ns() >= deadline_ns) {
            *is_late = true;
            break;
        }
    }
    return err;
}

// ---- Its end -------------------------------------------------------------------------------------------------

static bool judge(struct item_worker *worker, bool is_late)
{
    struct process_exit end = {0};
    if (is_late) {
        snprintf(worker->reason, sizeof worker->reason, "killed: it took longer than %.4g s",
                 worker->work->options->item_timeout_ms / 1000.0);
        return false;
    }
    if (!child_wait(&worker->child, -1, &end) || !end.is_known) {
        snprintf(worker->reason, sizeof worker->reason, "its exit status is not known");
        return false;
    }
    process_describe_exit(&end, worker->reason, sizeof worker->reason);
    return !end.was_signalled && end.number == 0;
}

// What makes no sense to try with the next item either.
static bool is_everybodys(weft_err err)
{
    return err == WEFT_NOT_FOUND || err == WEFT_PERMISSION_DENIED || err == WEFT_UNAVAILABLE;
}

static weft_err fail_start(struct item_worker *worker, weft_err err)
{
    if (is_everybodys(err))
        return err;
    snprintf(worker->reason, sizeof worker->reason, "%s", err_text());
    err_clear();
    return WEFT_OK;
}

weft_err item_command_run(struct item_worker *worker, bool *is_done)
{
    const uint32_t limit_ms = worker->work->options->item_timeout_ms;
    const uint64_t deadline_ns = limit_ms ? clock_now_ns() + limit_ms * ns_per_ms : UINT64_MAX;
    *is_done = false;
    worker->out.size = worker->err.size = 0;
    if (!make_words(worker))
        return WEFT_OK;
    const struct nursery_spec spec = {.arguments = worker->arguments,
                                      .environment = worker->environment};
    atomic_fetch_add(&worker->work->ran_count, 1);  // before it does: never to deny what has run
    weft_err err = nursery_start(worker->nursery, &spec, &worker->child);
    worker->has_run = !err;
    if (err) {
        atomic_fetch_sub(&worker->work->ran_count, 1);
        return fail_start(worker, err);
    }
    bool is_late;
    err = pump(worker, deadline_ns, &is_late);
    if (!err)
        *is_done = judge(worker, is_late);
    child_end(&worker->child);
    if (!err && !worker->work->results)
        err = pass_on(worker, &worker->out, STDOUT_FILENO, true);
    if (!err)
        err = pass_on(worker, &worker->err, STDERR_FILENO, true);
    return err;
}
