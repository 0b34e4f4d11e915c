// weft._weft.Var: a variable of any type, as bytes. weft.Var, in Python, turns them into numbers and arrays.

#include "cluster.h"

#include <stdlib.h>

#include "client/no_handle.h"

struct var_object {
    PyObject_HEAD struct cluster_object *cluster;
    weft_var *var;
    Py_ssize_t size;  // of a value in bytes; -1: values have any size
};

static PyObject *var_type;

// ---- Opening -------------------------------------------------------------------------------------------------

enum { RANK_MAX = 8, VALUE_BYTES_MAX = 28 << 20 };

static int take_shape(PyObject *shape, int64_t dims[RANK_MAX], int32_t *rank)
{
    const Py_ssize_t count = PyTuple_Size(shape);
    if (count < 0)
        return -1;
    if (count > RANK_MAX) {
        PyErr_Format(PyExc_ValueError, "a variable has at most %d dimensions", RANK_MAX);
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        dims[i] = PyLong_AsLongLong(PyTuple_GetItem(shape, i));
        if (dims[i] == -1 && PyErr_Occurred())
            return -1;
    }
    *rank = (int32_t)count;
    return 0;
}

static int open_var(struct var_object *self, PyObject *cluster, const char *path,
                    weft_var_options *options, PyObject *value)
{
    struct borrowed_bytes initial;
    if (!cluster_of(cluster) || borrow_optional(value, &initial))
        return -1;
    if (call_begin(cluster_of(cluster))) {
        release_bytes(&initial);
        return -1;
    }
    options->type.data = initial.bytes.data;
    options->type.size = initial.bytes.size;
    self->cluster = (struct cluster_object *)new_reference(cluster);
    Py_BEGIN_ALLOW_THREADS self->var = weft_var_open_as(self->cluster->cluster, path, options);
    Py_END_ALLOW_THREADS release_bytes(&initial);
    return call_end(self->cluster, self->var ? WEFT_OK : no_handle_reason());
}

static int init(PyObject *object, PyObject *args, PyObject *names)
{
    struct var_object *self = (struct var_object *)object;
    static char *keywords[] = {"cluster", "path",     "dtype",   "shape", "size",
                               "value",   "is_unset", "timeout", NULL};
    PyObject *cluster, *shape, *value = NULL, *timeout = NULL;
    const char *path;
    int dtype, is_unset = 0;
    int64_t dims[RANK_MAX];
    weft_var_options options = {0};
    if (!PyArg_ParseTupleAndKeywords(args, names, "OsiO!n|OpO", keywords, &cluster, &path, &dtype,
                                     &PyTuple_Type, &shape, &self->size, &value, &is_unset,
                                     &timeout) ||
        take_shape(shape, dims, &options.type.rank) || take_timeout(timeout, &options.timeout_ms))
        return -1;
    options.type.dtype = (weft_dtype)dtype;
    options.type.dims = dims;
    options.is_unset = is_unset;
    return open_var(self, cluster, path, &options, value);
}

static void dealloc(PyObject *object)
{
    struct var_object *self = (struct var_object *)object;
    PyTypeObject *type = Py_TYPE(object);
    if (self->var && cluster_is_usable(self->cluster)) {
        Py_BEGIN_ALLOW_THREADS weft_var_free(self->var);
        Py_END_ALLOW_THREADS
    }
    Py_DecRef((PyObject *)self->cluster);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DecRef((PyObject *)type);
}

// ---- Reading -------------------------------------------------------------------------------------------------

// Into memory of the caller; *got is the size of the value. With `next`, waits for the next value; *is_end: there is none.
static int read_into(struct var_object *self, void *memory, size_t size, bool next, size_t *got,
                     bool *is_end, bool *is_too_small)
{
    weft_err err;
    *got = 0;
    if (call_begin(self->cluster))
        return -1;
    Py_BEGIN_ALLOW_THREADS if (next) err =
        weft_var_read_next(self->var, memory, size, got) ? WEFT_OK : weft_var_error(self->var);
    else err = weft_var_read(self->var, memory, size, got);
    Py_END_ALLOW_THREADS *is_end = next && err == WEFT_OUT_OF_RANGE;
    *is_too_small = err == WEFT_INVALID_ARGUMENT && *got > size;
    return call_end(self->cluster, *is_end || *is_too_small ? WEFT_OK : err);
}

// A new bytes object of the value; NULL without an exception: the end of a watch.
static PyObject *read_bytes(struct var_object *self, bool next)
{
    size_t room = self->size >= 0 ? (size_t)self->size : 4096;
    for (;;) {
        size_t got;
        bool is_end, is_too_small;
        PyObject *value = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)room);
        if (!value)
            return NULL;
        if (read_into(self, PyBytes_AsString(value), room, next, &got, &is_end, &is_too_small)) {
            Py_DecRef(value);
            return NULL;
        }
        if (!is_end && !is_too_small && got == room)
            return value;
        PyObject *part = is_end || is_too_small
                             ? NULL
                             : PyBytes_FromStringAndSize(PyBytes_AsString(value), (Py_ssize_t)got);
        Py_DecRef(value);
        if (!is_too_small)
            return part;
        room = got;
    }
}

static PyObject *read_value(PyObject *object, PyObject *args, PyObject *names)
{
    struct var_object *self = (struct var_object *)object;
    static char *keywords[] = {"out", NULL};
    PyObject *out = NULL;
    Py_buffer view;
    size_t got;
    bool is_end, is_too_small;
    if (!PyArg_ParseTupleAndKeywords(args, names, "|O", keywords, &out))
        return NULL;
    if (!out || out == Py_None)
        return read_bytes(self, false);
    if (PyObject_GetBuffer(out, &view, PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS))
        return NULL;
    int failed = read_into(self, view.buf, (size_t)view.len, false, &got, &is_end, &is_too_small);
    if (!failed && (is_too_small || got != (size_t)view.len)) {
        PyErr_Format(PyExc_ValueError, "the value has %zu bytes, and `out` has %zd", got, view.len);
        failed = -1;
    }
    PyBuffer_Release(&view);
    return failed ? NULL : new_reference(out);
}

static PyObject *next_value(PyObject *object, PyObject *unused)
{
    (void)unused;
    PyObject *value = read_bytes((struct var_object *)object, true);
    return value || PyErr_Occurred() ? value : none();
}

// ---- Changing ------------------------------------------------------------------------------------------------

static PyObject *write_value(PyObject *object, PyObject *value)
{
    struct var_object *self = (struct var_object *)object;
    struct borrowed_bytes bytes;
    weft_err err;
    if (borrow_bytes(value, &bytes))
        return NULL;
    if (call_begin(self->cluster)) {
        release_bytes(&bytes);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS err =
        weft_var_write(self->var, bytes.bytes.size ? bytes.bytes.data : "", bytes.bytes.size);
    Py_END_ALLOW_THREADS release_bytes(&bytes);
    return call_end(self->cluster, err) ? NULL : none();
}

static PyObject *change(struct var_object *self, weft_var_op op, weft_bytes operand, PyObject *item)
{
    PyObject *now = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)operand.size);
    weft_item *once_per = NULL;
    weft_err err;
    if (!now)
        return NULL;
    if ((item != Py_None && !(once_per = item_begin(item))) || call_begin(self->cluster)) {
        if (once_per)
            item_end(item);
        Py_DecRef(now);
        return NULL;
    }
    char *memory = PyBytes_AsString(now);
    Py_BEGIN_ALLOW_THREADS err =
        weft_var_accumulate(self->var, op, operand.data, operand.size, once_per, memory);
    Py_END_ALLOW_THREADS if (once_per) item_end(item);
    if (call_end(self->cluster, err)) {
        Py_DecRef(now);
        return NULL;
    }
    return now;
}

static PyObject *accumulate(PyObject *object, PyObject *args)
{
    PyObject *value, *item, *now;
    struct borrowed_bytes operand;
    int op;
    if (!PyArg_ParseTuple(args, "iOO", &op, &value, &item) || borrow_bytes(value, &operand))
        return NULL;
    now = change((struct var_object *)object, (weft_var_op)op, operand.bytes, item);
    release_bytes(&operand);
    return now;
}

static PyObject *compare_write(PyObject *object, PyObject *args)
{
    struct var_object *self = (struct var_object *)object;
    PyObject *expected, *value, *result = NULL;
    struct borrowed_bytes from, to;
    weft_err err;
    if (!PyArg_ParseTuple(args, "OO", &expected, &value) || borrow_bytes(expected, &from))
        return NULL;
    if (!borrow_bytes(value, &to)) {
        if (!call_begin(self->cluster)) {
            Py_BEGIN_ALLOW_THREADS err = weft_var_compare_write(self->var, from.bytes, to.bytes);
            Py_END_ALLOW_THREADS result =
                call_end(self->cluster, err == WEFT_FAILED_PRECONDITION ? WEFT_OK : err)
                    ? NULL
                    : new_reference(err ? Py_False : Py_True);
        }
        release_bytes(&to);
    }
    release_bytes(&from);
    return result;
}

static PyObject *remove_var(PyObject *object, PyObject *unused)
{
    (void)unused;
    struct var_object *self = (struct var_object *)object;
    weft_err err;
    if (call_begin(self->cluster))
        return NULL;
    Py_BEGIN_ALLOW_THREADS err = weft_var_remove(self->var);
    Py_END_ALLOW_THREADS return call_end(self->cluster, err) ? NULL : none();
}

static PyMethodDef methods[] = {
    {"_read", (PyCFunction)(void (*)(void))read_value, METH_VARARGS | METH_KEYWORDS,
     "_read(out=None) -> bytes, or `out`"},
    {"_next", next_value, METH_NOARGS, "_next() -> bytes, or None at the end"},
    {"_write", write_value, METH_O, "_write(bytes)"},
    {"_accumulate", accumulate, METH_VARARGS, "_accumulate(op, operand, item) -> bytes"},
    {"_compare_write", compare_write, METH_VARARGS, "_compare_write(expected, value) -> bool"},
    {"remove", remove_var, METH_NOARGS, "remove()\n\nRemoves the variable, for everyone."},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot slots[] = {
    {Py_tp_doc, "A variable as bytes."},
    {Py_tp_init, init},
    {Py_tp_dealloc, dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};
static PyType_Spec spec = {
    .name = "weft.Var",
    .basicsize = sizeof(struct var_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = slots,
};

int topic_var_add(PyObject *module)
{
    var_type = add_type(module, &spec);
    return var_type ? 0 : -1;
}
