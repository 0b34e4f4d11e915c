// Pieces of the answer on their way from clients.

#include "run/driver/server/arrivals.h"

#include <stdlib.h>

#include "base/crc32c.h"
#include "base/list.h"
#include "sys/file/file.h"
#include "sys/loop/errands.h"

#include <stdatomic.h>
#include <stdio.h>

enum { CHECK_BYTES = 256 << 10 };

struct arrivals {
    struct clients *clients;
    const struct arrivals_calls *calls;
    void *owner;
    int fd;
    char name[300];  // of its file, for errors: it has none in the directory
    uint64_t next_offset;
    struct link waiting;
    struct errands *errands;

    // Of the thread that compares checksums.
    char *room;
    atomic_bool is_stopped;
};

struct waiting {
    struct arrivals *arrivals;
    struct link in_arrivals;
    struct arrival arrival;
    uint64_t offset;
    weft_err code;  // of the comparison, and its sentence
    char why[256];
};

struct arrivals *arrivals_new(struct clients *clients, struct loop *loop, const char *tmp,
                              const struct arrivals_calls *calls, void *owner)
{
    struct arrivals *arrivals = calloc(1, sizeof *arrivals);
    if (!arrivals) {
        (void)err_no_memory("for the output");
        return NULL;
    }
    *arrivals = (struct arrivals){.clients = clients, .calls = calls, .owner = owner, .fd = -1};
    list_init(&arrivals->waiting);
    snprintf(arrivals->name, sizeof arrivals->name, "output on its way in %.250s", tmp);
    arrivals->room = malloc(CHECK_BYTES);
    arrivals->errands = errands_new(loop);
    if (!arrivals->room)
        (void)err_no_memory("for the output");
    else if (arrivals->errands && file_create_nameless(tmp, &arrivals->fd) == WEFT_OK)
        return arrivals;
    arrivals_free(arrivals);
    return NULL;
}

void arrivals_free(struct arrivals *arrivals)
{
    if (!arrivals)
        return;
    atomic_store(&arrivals->is_stopped, true);
    errands_free(arrivals->errands);
    while (!list_is_empty(&arrivals->waiting)) {
        struct waiting *waiting = LIST_ITEM(arrivals->waiting.next, struct waiting, in_arrivals);
        list_take_out(&waiting->in_arrivals);
        free(waiting);
    }
    if (arrivals->fd >= 0)
        file_close(arrivals->fd);
    free(arrivals->room);
    free(arrivals);
}

static void end_arrival(struct waiting *waiting, weft_err code)
{
    struct arrivals *arrivals = waiting->arrivals;
    const struct arrival arrival = waiting->arrival;
    const struct draft draft = {.fd = arrivals->fd,
                                .offset = waiting->offset,
                                .as = arrival.as,
                                .worker = arrival.worker,
                                .holder = arrival.at.holder,
                                .is_spare = true};
    list_take_out(&waiting->in_arrivals);
    free(waiting);
    if (code == WEFT_OK)
        arrivals->calls->arrived(arrivals->owner, &arrival, &draft);
    else
        arrivals->calls->failed(arrivals->owner, &arrival, code);
}

// Whether it is what the worker has written: its client's disk may have changed it. Later would be too late: the task is done when its
// piece has arrived. In the thread beside the loop.
static void compare(void *owner)
{
    struct waiting *waiting = owner;
    struct arrivals *arrivals = waiting->arrivals;
    const struct output_piece *as = &waiting->arrival.as;
    uint32_t crc = 0;
    uint64_t done = 0;
    size_t got = 1;
    while (done < as->bytes && got > 0 && waiting->code == WEFT_OK &&
           !atomic_load(&arrivals->is_stopped)) {
        const uint64_t left = as->bytes - done;
        waiting->code = file_read_at(arrivals->fd, arrivals->name, arrivals->room,
                                     left < CHECK_BYTES ? (size_t)left : CHECK_BYTES,
                                     waiting->offset + done, &got);
        crc = crc32c(crc, arrivals->room, got);
        done += got;
    }
    if (waiting->code == WEFT_OK && (done != as->bytes || crc != as->crc32c))
        waiting->code =
            err_set(WEFT_DATA_LOSS, "the checksum is %08x instead of %08x", crc, as->crc32c);
    if (waiting->code != WEFT_OK)
        snprintf(waiting->why, sizeof waiting->why, "%s", err_text());
}

static void take_compared(void *owner)
{
    struct waiting *waiting = owner;
    const weft_err code = waiting->code;
    end_arrival(waiting, code == WEFT_OK ? WEFT_OK : err_set(code, "%s", waiting->why));
}

static void take_fetched(void *owner, weft_err code)
{
    struct waiting *waiting = owner;
    if (code == WEFT_OK)
        code = errands_do(waiting->arrivals->errands, compare, take_compared, waiting);
    if (code != WEFT_OK)
        end_arrival(waiting, code);
}

weft_err arrivals_fetch(struct arrivals *arrivals, const struct arrival *arrival)
{
    struct waiting *waiting = malloc(sizeof *waiting);
    if (!waiting)
        return err_no_memory("for the output");
    *waiting = (struct waiting){
        .arrivals = arrivals, .arrival = *arrival, .offset = arrivals->next_offset};
    arrivals->next_offset += arrival->at.size;
    list_append(&arrivals->waiting, &waiting->in_arrivals);
    if (arrival->at.size == 0) {
        end_arrival(waiting, WEFT_OK);
        return WEFT_OK;
    }
    const struct fetch_wanted wanted = {
        .file = arrival->at.file,
        .offset = arrival->at.offset,
        .size = arrival->at.size,
        .fd = arrivals->fd,
        .to_offset = waiting->offset,
        .path = arrivals->name,
        .done = take_fetched,
        .owner = waiting,
    };
    const weft_err code = clients_fetch(arrivals->clients, arrival->at.holder, &wanted);
    if (code != WEFT_OK) {
        list_take_out(&waiting->in_arrivals);
        free(waiting);
    }
    return code;
}
