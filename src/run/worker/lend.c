// lend: bytes of inputs that are lent. A slot that needs some asks the agent of this worker and waits; the control thread takes the
// answer and wakes it (store/lent.h).

#include "store/lent.h"

#include "run/worker/worker_state.h"

// The thread of a slot.
static void ask(void *owner, uint32_t file, uint64_t offset, uint64_t size)
{
    struct worker *worker = owner;
    Weft__Need need = WEFT__NEED__INIT;
    need.input = file;
    need.offset = offset;
    need.size = size;
    mutex_lock(&worker->send_lock);
    frames_note_need(&worker->told, file, offset, size);
    mutex_unlock(&worker->send_lock);
    worker_send(worker, WEFT__FRAME_TYPE__FRAME_NEED, &need.base);
}

weft_err worker_begin_lending(struct worker *worker)
{
    const Weft__JobStart *start = worker->start;
    for (size_t i = 0; i < start->n_inputs; i++) {
        if (!start->inputs[i]->is_lent)
            continue;
        if (!worker->lending)
            worker->lending = lending_new((uint32_t)start->n_inputs, ask, worker);
        if (!worker->lending)
            return WEFT_RESOURCE_EXHAUSTED;
        if (start->inputs[i]->is_packed)
            lending_place(worker->lending, (uint32_t)i, start->inputs[i]->packed_at,
                          start->inputs[i]->file_size);
        worker->inputs[i].lending = worker->lending;
        worker->inputs[i].inode = 0;  // the file here is not the one that the driver has seen
    }
    return WEFT_OK;
}

void worker_take_lent(struct worker *worker, const Weft__Lent *lent)
{
    const weft_err code = (weft_err)lent->code;
    if (code)
        err_set(code, "%s", lent->text);
    lending_settle(worker->lending, lent->input, lent->offset, lent->size, code);
    err_clear();
}

void worker_end_lending(struct worker *worker)
{
    if (worker->lending)
        lending_stop(worker->lending);
}
