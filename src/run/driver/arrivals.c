// Pieces of the answer on their way from clients.

#include "run/driver/arrivals.h"

#include <stdlib.h>

#include "base/list.h"
#include "sys/file/file.h"

struct arrivals {
    struct clients *clients;
    const struct arrivals_calls *calls;
    void *owner;
    int fd;
    uint64_t next_offset;
    struct link waiting;
};

struct waiting {
    struct arrivals *arrivals;
    struct link in_arrivals;
    struct arrival arrival;
    uint64_t offset;
};

struct arrivals *arrivals_new(struct clients *clients, const char *tmp,
                              const struct arrivals_calls *calls, void *owner)
{
    struct arrivals *arrivals = calloc(1, sizeof *arrivals);
    if (!arrivals) {
        (void)err_no_memory("for the output");
        return NULL;
    }
    *arrivals = (struct arrivals){.clients = clients, .calls = calls, .owner = owner, .fd = -1};
    list_init(&arrivals->waiting);
    if (file_create_nameless(tmp, &arrivals->fd) == WEFT_OK)
        return arrivals;
    arrivals_free(arrivals);
    return NULL;
}

void arrivals_free(struct arrivals *arrivals)
{
    if (!arrivals)
        return;
    while (!list_is_empty(&arrivals->waiting)) {
        struct waiting *waiting = LIST_ITEM(arrivals->waiting.next, struct waiting, in_arrivals);
        list_take_out(&waiting->in_arrivals);
        free(waiting);
    }
    if (arrivals->fd >= 0)
        file_close(arrivals->fd);
    free(arrivals);
}

static void take_fetched(void *owner, weft_err code)
{
    struct waiting *waiting = owner;
    struct arrivals *arrivals = waiting->arrivals;
    const struct arrival arrival = waiting->arrival;
    const struct draft draft = {arrivals->fd, waiting->offset, arrival.as, arrival.worker};
    list_take_out(&waiting->in_arrivals);
    free(waiting);
    if (code == WEFT_OK)
        arrivals->calls->arrived(arrivals->owner, &arrival, &draft);
    else
        arrivals->calls->failed(arrivals->owner, &arrival, code);
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
        take_fetched(waiting, WEFT_OK);
        return WEFT_OK;
    }
    const struct fetch_wanted wanted = {
        .file = arrival->at.file,
        .offset = arrival->at.offset,
        .size = arrival->at.size,
        .fd = arrivals->fd,
        .to_offset = waiting->offset,
        .path = "output on its way",
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
