// A queue of parts, and threads that take the next one from it.

#include "store/shipper.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "store/store.h"
#include "sys/thread/interrupt.h"
#include "sys/thread/thread.h"

enum { STACK_BYTES = 512 << 10 };

struct shipper {
    struct shipper_spec spec;
    struct thread threads[SHIPPER_THREADS_MAX];
    uint32_t started_count;
    atomic_bool is_stopped;

    struct mutex mutex;  // guards what follows
    struct condition changed;
    VEC(struct shipment) queue;
    size_t next;          // of the queue
    uint32_t busy_count;  // threads
    weft_err code;
    char text[ERR_TEXT_BYTES_MAX];
};

static bool is_stopped(void *owner)
{
    struct shipper *shipper = owner;
    return atomic_load(&shipper->is_stopped);
}

// ---- The threads ---------------------------------------------------------------------------------------

// A run that is killed leaves a file that looks complete: so it gets its name afterwards.
static weft_err put_whole(struct store_place *place, const char *to,
                          const struct store_content *content)
{
    char hidden[PATH_MAX];
    const char *name = strrchr(to, '/') + 1;
    if (snprintf(hidden, sizeof hidden, "%.*s.%s", (int)(name - to), to, name) >= PATH_MAX)
        return err_set(WEFT_INVALID_ARGUMENT, "the path %s is too long", to);
    const weft_err code = place->calls->put(place, hidden, content);
    return code == WEFT_OK ? place->calls->rename(place, hidden, to) : code;
}

static weft_err ship(struct shipper *shipper, struct store_place *place,
                     const struct shipment *shipment)
{
    char from[PATH_MAX], to[PATH_MAX];
    struct store_content content = {.name = from,
                                    .bytes = shipment->bytes,
                                    .crc32c = shipment->crc32c,
                                    .patience_ms = shipper->spec.patience_ms,
                                    .is_private = !shipper->spec.to.has_parts};
    part_files_name(&shipper->spec.from, shipment->part, from, sizeof from);
    part_files_name(&shipper->spec.to, shipment->part, to, sizeof to);
    weft_err code = file_open(from, &content.fd);
    if (code != WEFT_OK)
        return code;
    code = shipper->spec.has_names_when_whole ? put_whole(place, to, &content)
                                              : place->calls->put(place, to, &content);
    file_close(content.fd);
    return code;
}

static weft_err open_place(struct shipper *shipper, struct store_place **place)
{
    struct store_entry entry;
    weft_err code = store_open_place(shipper->spec.url, shipper->spec.patience_ms, place);
    // A place that has answered once is waited for when it goes away for a while.
    if (code == WEFT_OK)
        code = (*place)->calls->look(*place, shipper->spec.to.path, &entry);
    return code;
}

static bool is_at_end(const struct shipper *shipper)
{
    return shipper->code != WEFT_OK || shipper->next == shipper->queue.count;
}

static bool is_idle(const struct shipper *shipper)
{
    return shipper->busy_count == 0 && is_at_end(shipper);
}

// With the mutex.
static void note_end(struct shipper *shipper, weft_err code)
{
    shipper->busy_count--;
    if (code != WEFT_OK && shipper->code == WEFT_OK) {
        shipper->code = code;
        snprintf(shipper->text, sizeof shipper->text, "%s", err_text());
    }
    if (!is_idle(shipper))
        return;
    condition_broadcast(&shipper->changed);
    mutex_unlock(&shipper->mutex);
    if (shipper->spec.halted)
        shipper->spec.halted(shipper->spec.owner);
    mutex_lock(&shipper->mutex);
}

static void shipper_run(void *argument)
{
    struct shipper *shipper = argument;
    struct store_place *place = NULL;
    interrupt_set_own(is_stopped, shipper);
    weft_err opened = open_place(shipper, &place);
    mutex_lock(&shipper->mutex);
    while (!is_stopped(shipper)) {
        if (is_at_end(shipper)) {
            condition_wait(&shipper->changed, &shipper->mutex);
            continue;
        }
        const struct shipment shipment = shipper->queue.items[shipper->next++];
        shipper->busy_count++;
        mutex_unlock(&shipper->mutex);
        if (!place || opened != WEFT_OK) {
            store_close_place(place);
            opened = open_place(shipper, &place);
        }
        const weft_err code = opened == WEFT_OK ? ship(shipper, place, &shipment) : opened;
        mutex_lock(&shipper->mutex);
        note_end(shipper, code);
    }
    mutex_unlock(&shipper->mutex);
    store_close_place(place);
}

// ---- The owner -----------------------------------------------------------------------------------------

weft_err shipper_new(const struct shipper_spec *spec, struct shipper **made)
{
    struct shipper *shipper = calloc(1, sizeof *shipper);
    weft_err code = WEFT_OK;
    *made = NULL;
    if (!shipper)
        return err_no_memory("to write to %s", spec->url);
    ASSERT(spec->thread_count > 0 && spec->thread_count <= SHIPPER_THREADS_MAX);
    shipper->spec = *spec;
    mutex_init(&shipper->mutex);
    condition_init(&shipper->changed);
    while (code == WEFT_OK && shipper->started_count < spec->thread_count) {
        code = thread_start(&shipper->threads[shipper->started_count], shipper_run, shipper,
                            STACK_BYTES);
        shipper->started_count += code == WEFT_OK;
    }
    if (code == WEFT_OK)
        *made = shipper;
    else
        shipper_free(shipper);
    return code;
}

void shipper_free(struct shipper *shipper)
{
    if (!shipper)
        return;
    struct err_kept kept;
    err_keep(&kept);
    mutex_lock(&shipper->mutex);
    atomic_store(&shipper->is_stopped, true);
    condition_broadcast(&shipper->changed);
    mutex_unlock(&shipper->mutex);
    for (uint32_t i = 0; i < shipper->started_count; i++)
        thread_join(&shipper->threads[i]);
    condition_fini(&shipper->changed);
    mutex_fini(&shipper->mutex);
    VEC_FINI(&shipper->queue);
    free(shipper);
    err_put_back(&kept);
}

weft_err shipper_add(struct shipper *shipper, const struct shipment *shipment)
{
    mutex_lock(&shipper->mutex);
    const bool has_room = VEC_PUSH(&shipper->queue, *shipment);
    condition_broadcast(&shipper->changed);
    mutex_unlock(&shipper->mutex);
    return has_room ? WEFT_OK : err_no_memory("to write to %s", shipper->spec.url);
}

weft_err shipper_wait(struct shipper *shipper)
{
    mutex_lock(&shipper->mutex);
    while (!is_idle(shipper))
        condition_wait(&shipper->changed, &shipper->mutex);
    mutex_unlock(&shipper->mutex);
    return shipper_error(shipper);
}

bool shipper_is_idle(const struct shipper *shipper)
{
    struct mutex *mutex = (struct mutex *)&shipper->mutex;
    mutex_lock(mutex);
    const bool is = is_idle(shipper);
    mutex_unlock(mutex);
    return is;
}

weft_err shipper_error(const struct shipper *shipper)
{
    struct mutex *mutex = (struct mutex *)&shipper->mutex;
    mutex_lock(mutex);
    const weft_err code = shipper->code;
    mutex_unlock(mutex);
    return code == WEFT_OK ? code : err_set(code, "%s", shipper->text);
}
