// weft.Item: an element that was taken from a queue, and not yet done. One thread at a time may use it.

#include "cluster.h"

enum item_state { ITEM_OPEN, ITEM_BUSY, ITEM_SETTLED };

struct item_object {
    PyObject_HEAD PyObject *queue;  // keeps the handle
    struct cluster_object *cluster;
    weft_queue *handle;
    weft_item item;
    PyObject *data;  // bytes
    uint32_t delivery;
    enum item_state state;
};

static PyObject *item_type;

PyObject *item_new(PyObject *queue, struct cluster_object *cluster, weft_queue *handle,
                   const weft_item *item)
{
    const allocfunc alloc = (allocfunc)PyType_GetSlot((PyTypeObject *)item_type, Py_tp_alloc);
    struct item_object *self = (struct item_object *)alloc((PyTypeObject *)item_type, 0);
    weft_item own = *item;
    if (self) {
        self->queue = new_reference(queue);
        self->cluster = cluster;
        self->handle = handle;
        self->item = own;
        self->delivery = own.delivery;
        self->data = PyBytes_FromStringAndSize(own.data, (Py_ssize_t)own.size);
        if (self->data)
            return (PyObject *)self;
        Py_DecRef((PyObject *)self);  // which gives it back
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS weft_give_back(handle, &own, 0);
    Py_END_ALLOW_THREADS return NULL;
}

// ---- Using it ------------------------------------------------------------------------------------------------

weft_item *item_begin(PyObject *object)
{
    struct item_object *self = (struct item_object *)object;
    const int is = PyObject_IsInstance(object, item_type);
    if (is < 0)
        return NULL;
    if (!is) {
        PyErr_SetString(PyExc_TypeError, "an item of a queue is needed");
        return NULL;
    }
    if (self->state != ITEM_OPEN) {
        PyErr_SetString(PyExc_ValueError, self->state == ITEM_BUSY ? "another thread uses the item"
                                                                   : "the item was settled before");
        return NULL;
    }
    self->state = ITEM_BUSY;
    return &self->item;
}

void item_end(PyObject *object)
{
    ((struct item_object *)object)->state = ITEM_OPEN;
}

typedef weft_err settle_fn(weft_queue *queue, weft_item *item, uint32_t ms);

static weft_err settle_done(weft_queue *queue, weft_item *item, uint32_t ms)
{
    (void)ms;
    return weft_done(queue, item);
}

// Afterwards its data is freed, whatever came of it.
static int settle(PyObject *object, settle_fn *how, uint32_t ms)
{
    struct item_object *self = (struct item_object *)object;
    weft_item *item = item_begin(object);
    if (!item)
        return -1;
    if (call_begin(self->cluster)) {
        weft_item_free(item);
        self->state = ITEM_SETTLED;
        return -1;
    }
    weft_err err;
    Py_BEGIN_ALLOW_THREADS err = how(self->handle, item, ms);
    Py_END_ALLOW_THREADS self->state = ITEM_SETTLED;
    return call_end(self->cluster, err);
}

int item_settle_quietly(PyObject *object)
{
    struct item_object *self = (struct item_object *)object;
    if (self->state != ITEM_OPEN)
        return 0;
    if (call_begin(self->cluster))
        return -1;
    weft_err err;
    self->state = ITEM_SETTLED;
    Py_BEGIN_ALLOW_THREADS err = weft_done(self->handle, &self->item);
    Py_END_ALLOW_THREADS
        // It was marked as failed, or another member has it by now: a loop continues with the next one.
        return call_end(self->cluster, err == WEFT_ABORTED ? WEFT_OK : err);
}

void item_return_quietly(PyObject *object)
{
    struct item_object *self = (struct item_object *)object;
    if (self->state != ITEM_OPEN)
        return;
    self->state = ITEM_SETTLED;
    if (!cluster_is_usable(self->cluster)) {  // leaving has given it back
        weft_item_free(&self->item);
        return;
    }
    Py_BEGIN_ALLOW_THREADS weft_give_back(self->handle, &self->item, 0);
    Py_END_ALLOW_THREADS
}

// ---- What a program sees -------------------------------------------------------------------------------------

static PyObject *done(PyObject *self, PyObject *unused)
{
    (void)unused;
    return settle(self, settle_done, 0) ? NULL : none();
}

static PyObject *give_back(PyObject *self, PyObject *args, PyObject *names)
{
    static char *keywords[] = {"delay", NULL};
    PyObject *delay = NULL;
    uint32_t ms = 0;
    if (!PyArg_ParseTupleAndKeywords(args, names, "|O", keywords, &delay) ||
        (delay && PyObject_IsTrue(delay) && take_timeout(delay, &ms)))
        return NULL;
    return settle(self, weft_give_back, ms) ? NULL : none();
}

static PyObject *extend(PyObject *object, PyObject *lease)
{
    struct item_object *self = (struct item_object *)object;
    uint32_t ms;
    if (take_timeout(lease, &ms))
        return NULL;
    weft_item *item = item_begin(object);
    if (!item)
        return NULL;
    if (call_begin(self->cluster)) {
        item_end(object);
        return NULL;
    }
    weft_err err;
    Py_BEGIN_ALLOW_THREADS err = weft_extend(self->handle, item, ms);
    Py_END_ALLOW_THREADS item_end(object);
    return call_end(self->cluster, err) ? NULL : none();
}

static PyObject *fail(PyObject *self, PyObject *unused)
{
    (void)unused;
    weft_item *item = item_begin(self);
    if (!item)
        return NULL;
    weft_item_fail(item);
    item_end(self);
    return none();
}

static PyObject *enter(PyObject *self, PyObject *unused)
{
    (void)unused;
    return new_reference(self);
}

static PyObject *leave(PyObject *self, PyObject *args)
{
    PyObject *kind = NULL, *value = NULL, *traceback = NULL;
    if (!PyArg_ParseTuple(args, "OOO", &kind, &value, &traceback))
        return NULL;
    if (kind != Py_None)
        item_return_quietly(self);
    else if (((struct item_object *)self)->state != ITEM_SETTLED && item_settle_quietly(self))
        return NULL;
    return new_reference(Py_False);
}

static PyObject *data(PyObject *self, void *unused)
{
    (void)unused;
    return new_reference(((struct item_object *)self)->data);
}

static PyObject *text(PyObject *self, void *unused)
{
    (void)unused;
    return PyUnicode_FromEncodedObject(((struct item_object *)self)->data, "utf-8",
                                       "surrogateescape");
}

static PyObject *to_text(PyObject *self)
{
    return text(self, NULL);
}

static PyObject *delivery(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLong(((struct item_object *)self)->delivery);
}

static PyObject *is_settled(PyObject *self, void *unused)
{
    (void)unused;
    return new_reference(((struct item_object *)self)->state == ITEM_SETTLED ? Py_True : Py_False);
}

static void dealloc(PyObject *object)
{
    struct item_object *self = (struct item_object *)object;
    PyTypeObject *type = Py_TYPE(object);
    if (self->queue)
        item_return_quietly(object);
    Py_DecRef((PyObject *)self->queue);
    Py_DecRef(self->data);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DecRef((PyObject *)type);
}

static PyMethodDef methods[] = {
    {"done", done, METH_NOARGS,
     "done()\n\nThe item is finished and leaves the queue. Raises weft.Aborted when another member\n"
     "has it by now, or when it was marked as failed."},
    {"give_back", (PyCFunction)(void (*)(void))give_back, METH_VARARGS | METH_KEYWORDS,
     "give_back(delay=0)\n\nAnother member gets the item, after `delay` seconds."},
    {"extend", extend, METH_O,
     "extend(seconds)\n\nThe lease ends that number of seconds from now; None: when this member leaves."},
    {"fail", fail, METH_NOARGS,
     "fail()\n\nMarks the item as failed: at its end it goes back to the queue, or to NAME.dead."},
    {"__enter__", enter, METH_NOARGS, NULL},
    {"__exit__", leave, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef getters[] = {
    {"data", data, NULL, "The element, as bytes.", NULL},
    {"text", text, NULL, "The element, as a str (UTF-8, other bytes as surrogates).", NULL},
    {"delivery", delivery, NULL, "1 for its first taker, then 2, ...", NULL},
    {"is_settled", is_settled, NULL, "Whether it was done or given back.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyType_Slot slots[] = {
    {Py_tp_doc, "An element that was taken from a queue. It is this member's until it is done or "
                "given back.\n\n    with queue.take() as item:\n        print(item.text)"},
    {Py_tp_dealloc, dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, getters},
    {Py_tp_str, to_text},
    {0, NULL},
};
static PyType_Spec spec = {
    .name = "weft.Item",
    .basicsize = sizeof(struct item_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};

int topic_item_add(PyObject *module)
{
    item_type = add_type(module, &spec);
    return item_type ? 0 : -1;
}
