// weft.Barrier: members that wait for each other.

#include "cluster.h"

#include "client/no_handle.h"

struct barrier_object {
    PyObject_HEAD struct cluster_object *cluster;
    weft_barrier *barrier;
};

static int init(PyObject *object, PyObject *args, PyObject *names)
{
    struct barrier_object *self = (struct barrier_object *)object;
    static char *keywords[] = {"cluster", "path", "count", NULL};
    PyObject *cluster;
    const char *path;
    unsigned int count = 0;
    if (!PyArg_ParseTupleAndKeywords(args, names, "Os|I", keywords, &cluster, &path, &count) ||
        !cluster_of(cluster) || call_begin(cluster_of(cluster)))
        return -1;
    self->cluster = (struct cluster_object *)new_reference(cluster);
    Py_BEGIN_ALLOW_THREADS self->barrier = weft_barrier_open(self->cluster->cluster, path, count);
    Py_END_ALLOW_THREADS return call_end(self->cluster,
                                         self->barrier ? WEFT_OK : no_handle_reason());
}

static void dealloc(PyObject *object)
{
    struct barrier_object *self = (struct barrier_object *)object;
    PyTypeObject *type = Py_TYPE(object);
    if (self->barrier && cluster_is_usable(self->cluster)) {
        Py_BEGIN_ALLOW_THREADS weft_barrier_free(self->barrier);
        Py_END_ALLOW_THREADS
    }
    Py_DecRef((PyObject *)self->cluster);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DecRef((PyObject *)type);
}

static PyObject *wait_at(PyObject *object, PyObject *args, PyObject *names)
{
    struct barrier_object *self = (struct barrier_object *)object;
    static char *keywords[] = {"timeout", NULL};
    PyObject *timeout = NULL;
    uint32_t timeout_ms;
    uint64_t generation = 0;
    weft_err err;
    if (!PyArg_ParseTupleAndKeywords(args, names, "|O", keywords, &timeout) ||
        take_timeout(timeout, &timeout_ms) || call_begin(self->cluster))
        return NULL;
    Py_BEGIN_ALLOW_THREADS err = weft_barrier_wait(self->barrier, timeout_ms, &generation);
    Py_END_ALLOW_THREADS return call_end(self->cluster, err)
        ? NULL
        : PyLong_FromUnsignedLongLong(generation);
}

static PyObject *remove_barrier(PyObject *object, PyObject *unused)
{
    (void)unused;
    struct barrier_object *self = (struct barrier_object *)object;
    weft_err err;
    if (call_begin(self->cluster))
        return NULL;
    Py_BEGIN_ALLOW_THREADS err = weft_barrier_remove(self->barrier);
    Py_END_ALLOW_THREADS return call_end(self->cluster, err) ? NULL : none();
}

static PyMethodDef methods[] = {
    {"wait", (PyCFunction)(void (*)(void))wait_at, METH_VARARGS | METH_KEYWORDS,
     "wait(timeout=None) -> int\n\nWaits until `count` calls wait, then all return: 1 the first time, then 2, "
     "...\nRaises weft.DeadlineExceeded after `timeout` seconds; the barrier then needs another call."},
    {"remove", remove_barrier, METH_NOARGS, "remove()\n\nRemoves the barrier, for everyone."},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot slots[] = {
    {Py_tp_doc, "Makes members wait for each other: c.barrier(path, count)."},
    {Py_tp_init, init},
    {Py_tp_dealloc, dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};
static PyType_Spec spec = {
    .name = "weft.Barrier",
    .basicsize = sizeof(struct barrier_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};

int topic_barrier_add(PyObject *module)
{
    PyObject *type = add_type(module, &spec);
    Py_DecRef(type);
    return type ? 0 : -1;
}
