// weft.Queue: a queue of a cluster, and the iterator of `for item in queue`. An exception in the body of a loop never
// reaches the iterator. So asking for the next item means that the one before is done, and an iterator that is freed
// gives the last one back: that happens at break, at an exception, and when the cluster is left.

#include "cluster.h"

#include <stdlib.h>

#include "client/no_handle.h"

struct queue_object {
    PyObject_HEAD struct cluster_object *cluster;
    weft_queue *queue;
};

struct items_object {
    PyObject_HEAD struct queue_object *queue;
    PyObject *item;  // the last one; NULL: none
};

static PyObject *queue_type, *items_type;

static int init(PyObject *object, PyObject *args, PyObject *names)
{
    struct queue_object *self = (struct queue_object *)object;
    static char *keywords[] = {"cluster",        "path",  "capacity", "capacity_bytes",
                               "deliveries_max", "lease", "timeout",  NULL};
    weft_queue_options options = {0};
    PyObject *cluster, *lease = NULL, *timeout = NULL;
    const char *path;
    long long capacity = 0;
    unsigned long long capacity_bytes = 0;
    unsigned int deliveries_max = 0;
    if (!PyArg_ParseTupleAndKeywords(args, names, "Os|LKIOO", keywords, &cluster, &path, &capacity,
                                     &capacity_bytes, &deliveries_max, &lease, &timeout) ||
        take_timeout(lease, &options.lease_ms) || take_timeout(timeout, &options.timeout_ms) ||
        !cluster_of(cluster) || call_begin(cluster_of(cluster)))
        return -1;
    options.capacity = capacity;
    options.capacity_bytes = capacity_bytes;
    options.deliveries_max = deliveries_max;
    self->cluster = (struct cluster_object *)new_reference(cluster);
    Py_BEGIN_ALLOW_THREADS self->queue = weft_queue_open(self->cluster->cluster, path, &options);
    Py_END_ALLOW_THREADS return call_end(self->cluster, self->queue ? WEFT_OK : no_handle_reason());
}

static void dealloc(PyObject *object)
{
    struct queue_object *self = (struct queue_object *)object;
    PyTypeObject *type = Py_TYPE(object);
    if (self->queue && cluster_is_usable(self->cluster)) {
        Py_BEGIN_ALLOW_THREADS weft_queue_free(self->queue);
        Py_END_ALLOW_THREADS
    }
    Py_DecRef((PyObject *)self->cluster);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DecRef((PyObject *)type);
}

// ---- Pushing -------------------------------------------------------------------------------------------------

static PyObject *push_bytes(struct queue_object *self, weft_bytes data, weft_bytes key,
                            uint32_t timeout_ms)
{
    weft_err err;
    if (call_begin(self->cluster))
        return NULL;
    Py_BEGIN_ALLOW_THREADS if (timeout_ms)
    {
        weft_call *call = weft_push_start(self->queue, data, key);
        err = call ? weft_call_wait(call, timeout_ms) : no_handle_reason();
    }
    else
    {
        err = weft_push(self->queue, data, key);
    }
    Py_END_ALLOW_THREADS return call_end(self->cluster, err) ? NULL : none();
}

static PyObject *push(PyObject *object, PyObject *args, PyObject *names)
{
    static char *keywords[] = {"data", "key", "timeout", NULL};
    PyObject *data, *key = NULL, *timeout = NULL, *result = NULL;
    struct borrowed_bytes data_bytes, key_bytes;
    uint32_t timeout_ms;
    if (!PyArg_ParseTupleAndKeywords(args, names, "O|OO", keywords, &data, &key, &timeout) ||
        take_timeout(timeout, &timeout_ms) || borrow_bytes(data, &data_bytes))
        return NULL;
    if (!borrow_optional(key, &key_bytes)) {
        result = push_bytes((struct queue_object *)object, data_bytes.bytes, key_bytes.bytes,
                            timeout_ms);
        release_bytes(&key_bytes);
    }
    release_bytes(&data_bytes);
    return result;
}

static weft_err push_all(struct queue_object *self, const struct borrowed_bytes *parts,
                         size_t count)
{
    weft_bytes *data = malloc((count ? count : 1) * sizeof *data);
    if (!data)
        return WEFT_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < count; i++)
        data[i] = parts[i].bytes;
    const weft_err err = weft_push_many(self->queue, data, count);
    free(data);
    return err;
}

static PyObject *push_many(PyObject *object, PyObject *many)
{
    struct queue_object *self = (struct queue_object *)object;
    PyObject *list = PySequence_List(many), *result = NULL;
    const Py_ssize_t count = list ? PyList_Size(list) : -1;
    struct borrowed_bytes *parts =
        count >= 0 ? PyMem_Malloc(((size_t)count + 1) * sizeof *parts) : NULL;
    Py_ssize_t taken = 0;
    while (parts && taken < count && !borrow_bytes(PyList_GetItem(list, taken), &parts[taken]))
        taken++;
    if (parts && taken == count && !call_begin(self->cluster)) {
        weft_err err;
        Py_BEGIN_ALLOW_THREADS err = push_all(self, parts, (size_t)count);
        Py_END_ALLOW_THREADS result = call_end(self->cluster, err) ? NULL : none();
    }
    while (taken > 0)
        release_bytes(&parts[--taken]);
    if (list && !parts)
        PyErr_NoMemory();
    PyMem_Free(parts);
    Py_DecRef(list);
    return result;
}

// ---- Taking --------------------------------------------------------------------------------------------------

enum take_how { TAKE, TAKE_NOW, TAKE_WITHIN, POP };

static weft_err take_item(struct queue_object *self, enum take_how how, uint32_t timeout_ms,
                          weft_item *item)
{
    switch (how) {
    case TAKE:
        return weft_take(self->queue, item) ? WEFT_OK : weft_queue_error(self->queue);
    case TAKE_NOW:
        return weft_take_now(self->queue, item);
    case TAKE_WITHIN: {
        weft_call *call = weft_take_start(self->queue);
        return call ? weft_call_item(call, timeout_ms, item) : no_handle_reason();
    }
    default:
        return weft_pop(self->queue, item);
    }
}

// *end: the queue is at its end, or has no element now.
static int take(struct queue_object *self, enum take_how how, uint32_t timeout_ms, weft_item *item,
                bool *end)
{
    weft_err err;
    *item = (weft_item){0};
    if (call_begin(self->cluster))
        return -1;
    Py_BEGIN_ALLOW_THREADS err = take_item(self, how, timeout_ms, item);
    Py_END_ALLOW_THREADS *end =
        err == WEFT_OUT_OF_RANGE || (how == TAKE_NOW && err == WEFT_CANCELLED);
    if (!call_end(self->cluster, *end ? WEFT_OK : err))
        return 0;
    if (!err) {  // a signal came with it
        Py_BEGIN_ALLOW_THREADS if (how == POP) weft_item_free(item);
        else weft_give_back(self->queue, item, 0);
        Py_END_ALLOW_THREADS
    }
    return -1;
}

static PyObject *take_one(PyObject *object, PyObject *args, PyObject *names)
{
    struct queue_object *self = (struct queue_object *)object;
    static char *keywords[] = {"timeout", NULL};
    PyObject *timeout = NULL;
    uint32_t timeout_ms;
    weft_item item;
    bool is_end;
    if (!PyArg_ParseTupleAndKeywords(args, names, "|O", keywords, &timeout) ||
        take_timeout(timeout, &timeout_ms) ||
        take(self, timeout_ms ? TAKE_WITHIN : TAKE, timeout_ms, &item, &is_end))
        return NULL;
    return is_end ? none() : item_new(object, self->cluster, self->queue, &item);
}

static PyObject *take_now(PyObject *object, PyObject *unused)
{
    (void)unused;
    struct queue_object *self = (struct queue_object *)object;
    weft_item item;
    bool is_end;
    if (take(self, TAKE_NOW, 0, &item, &is_end))
        return NULL;
    return is_end ? none() : item_new(object, self->cluster, self->queue, &item);
}

static PyObject *pop(PyObject *object, PyObject *unused)
{
    (void)unused;
    weft_item item;
    bool is_end;
    if (take((struct queue_object *)object, POP, 0, &item, &is_end))
        return NULL;
    if (is_end)
        return none();
    PyObject *data = PyBytes_FromStringAndSize(item.data, (Py_ssize_t)item.size);
    weft_item_free(&item);
    return data;
}

static PyObject *iterate(PyObject *object)
{
    const allocfunc alloc = (allocfunc)PyType_GetSlot((PyTypeObject *)items_type, Py_tp_alloc);
    struct items_object *items = (struct items_object *)alloc((PyTypeObject *)items_type, 0);
    if (items)
        items->queue = (struct queue_object *)new_reference(object);
    return (PyObject *)items;
}

static PyObject *items_next(PyObject *object)
{
    struct items_object *self = (struct items_object *)object;
    PyObject *before = self->item;
    weft_item item;
    bool is_end;
    if (before) {
        const int failed = item_settle_quietly(before);
        self->item = NULL;
        Py_DecRef(before);
        if (failed)
            return NULL;
    }
    if (take(self->queue, TAKE, 0, &item, &is_end) || is_end)
        return NULL;  // without an exception: the end
    self->item = item_new((PyObject *)self->queue, self->queue->cluster, self->queue->queue, &item);
    return self->item ? new_reference(self->item) : NULL;
}

static void items_dealloc(PyObject *object)
{
    struct items_object *self = (struct items_object *)object;
    PyTypeObject *type = Py_TYPE(object);
    if (self->item)
        item_return_quietly(self->item);
    Py_DecRef(self->item);
    Py_DecRef((PyObject *)self->queue);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DecRef((PyObject *)type);
}

// ---- The queue itself ----------------------------------------------------------------------------------------

static PyObject *change(PyObject *object, weft_err (*function)(weft_queue *queue), bool ends)
{
    struct queue_object *self = (struct queue_object *)object;
    weft_err err;
    if (call_begin(self->cluster))
        return NULL;
    Py_BEGIN_ALLOW_THREADS err = function(self->queue);
    Py_END_ALLOW_THREADS if (ends && err == WEFT_CANCELLED) err = WEFT_OK;  // it was closed before
    return call_end(self->cluster, err) ? NULL : none();
}

static PyObject *close_queue(PyObject *self, PyObject *unused)
{
    (void)unused;
    return change(self, weft_queue_close, true);
}

static PyObject *cancel(PyObject *self, PyObject *unused)
{
    (void)unused;
    return change(self, weft_queue_cancel, true);
}

static PyObject *remove_queue(PyObject *self, PyObject *unused)
{
    (void)unused;
    return change(self, weft_queue_remove, false);
}

static PyObject *look(PyObject *object, PyObject *unused)
{
    (void)unused;
    struct queue_object *self = (struct queue_object *)object;
    weft_queue_state state = {0};
    weft_err err;
    if (call_begin(self->cluster))
        return NULL;
    Py_BEGIN_ALLOW_THREADS err = weft_queue_look(self->queue, &state);
    Py_END_ALLOW_THREADS if (call_end(self->cluster, err)) return NULL;
    return Py_BuildValue("{sKsKsKsKsIsIsO}", "size", state.size, "bytes", state.bytes,
                         "pushed_count", state.pushed_count, "leased_count", state.leased_count,
                         "pusher_count", state.pusher_count, "taker_count", state.taker_count,
                         "is_closed", state.is_closed ? Py_True : Py_False);
}

static Py_ssize_t size(PyObject *self)
{
    PyObject *state = look(self, NULL);
    const Py_ssize_t count = state ? PyLong_AsSsize_t(PyDict_GetItemString(state, "size")) : -1;
    Py_DecRef(state);
    return count;
}

static PyMethodDef methods[] = {
    {"push", (PyCFunction)(void (*)(void))push, METH_VARARGS | METH_KEYWORDS,
     "push(data, key=None, timeout=None)\n\nAppends a str or bytes; waits while the queue is full. "
     "An element with a key counts once,\nhowever often it is pushed. Raises weft.Cancelled when the "
     "queue is closed.\n\n    queue.push('a.txt', key='a.txt')"},
    {"push_many", push_many, METH_O, "push_many(elements)\n\nAppends them all as one block."},
    {"take", (PyCFunction)(void (*)(void))take_one, METH_VARARGS | METH_KEYWORDS,
     "take(timeout=None) -> Item | None\n\nThe first element; waits for it. None: the queue is closed, "
     "and all is done.\nRaises weft.DeadlineExceeded after `timeout` seconds."},
    {"take_now", take_now, METH_NOARGS,
     "take_now() -> Item | None\n\nThe first element, if there is one."},
    {"pop", pop, METH_NOARGS,
     "pop() -> bytes | None\n\nTakes an element for good: if this process dies, it is lost. None: the end."},
    {"close", close_queue, METH_NOARGS,
     "close()\n\nNo element is pushed any more; its takers end when all is done."},
    {"cancel", cancel, METH_NOARGS, "cancel()\n\nThe same, and pushes that wait fail."},
    {"remove", remove_queue, METH_NOARGS,
     "remove()\n\nRemoves the queue and its elements, for everyone."},
    {"look", look, METH_NOARGS,
     "look() -> dict\n\nsize, bytes, pushed_count, leased_count, pusher_count, taker_count, is_closed."},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot slots[] = {
    {Py_tp_doc,
     "A queue of a cluster: c.queue(path).\n\n    for item in queue:\n        print(item.text)\n\n"
     "Asking for the next item means that the one before is done. An item at which the loop\nends "
     "early, by break or an exception, goes back to the queue."},
    {Py_tp_init, init},
    {Py_tp_dealloc, dealloc},
    {Py_tp_methods, methods},
    {Py_tp_iter, iterate},
    {Py_sq_length, size},
    {0, NULL},
};
static PyType_Spec spec = {
    .name = "weft.Queue",
    .basicsize = sizeof(struct queue_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};
static PyType_Slot items_slots[] = {
    {Py_tp_doc, "The items of a queue."},
    {Py_tp_dealloc, items_dealloc},
    {Py_tp_iter, PyObject_SelfIter},
    {Py_tp_iternext, items_next},
    {0, NULL},
};
static PyType_Spec items_spec = {
    .name = "weft.QueueItems",
    .basicsize = sizeof(struct items_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = items_slots,
};

int topic_queue_add(PyObject *module)
{
    queue_type = add_type(module, &spec);
    items_type = add_type(module, &items_spec);
    return queue_type && items_type ? 0 : -1;
}
