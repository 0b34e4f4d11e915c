// The codec as functions of the module: for tests, for results that are read back, and for text.

#include "codec.h"

PyObject *codec_py_encode(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *object;
    int is_key = 1;
    struct out out = {0};
    if (!PyArg_ParseTuple(args, "O|p", &object, &is_key))
        return NULL;
    const bool is_good = codec_encode(&out, object, is_key);
    PyObject *bytes = is_good ? PyBytes_FromStringAndSize(out.data, (Py_ssize_t)out.size) : NULL;
    out_fini(&out);
    return bytes;
}

PyObject *codec_py_decode(PyObject *self, PyObject *bytes)
{
    (void)self;
    char *data;
    Py_ssize_t size;
    return PyBytes_AsStringAndSize(bytes, &data, &size) < 0 ? NULL
                                                            : codec_decode(data, (size_t)size);
}

// One pair of those that are written to a file: its tuple; NULL without an exception when it is not whole.
static PyObject *decode_pair(const char *data, size_t size, size_t *used)
{
    uint32_t sizes[2];
    if (size < sizeof sizes)
        return NULL;
    memcpy(sizes, data, sizeof sizes);
    if (size - sizeof sizes < (uint64_t)sizes[0] + sizes[1])
        return NULL;
    data += sizeof sizes;
    PyObject *key = codec_decode(data, sizes[0]);
    PyObject *value = key ? codec_decode(data + sizes[0], sizes[1]) : NULL;
    PyObject *pair = value ? PyTuple_Pack(2, key, value) : NULL;
    Py_XDECREF(key);
    Py_XDECREF(value);
    *used = sizeof sizes + (size_t)sizes[0] + sizes[1];
    return pair;
}

PyObject *codec_py_decode_pairs(PyObject *self, PyObject *bytes)
{
    (void)self;
    char *data;
    Py_ssize_t size, at = 0;
    size_t used;
    PyObject *list = PyBytes_AsStringAndSize(bytes, &data, &size) < 0 ? NULL : PyList_New(0);
    for (PyObject *pair; list && (pair = decode_pair(data + at, (size_t)(size - at), &used));) {
        if (PyList_Append(list, pair) < 0)
            Py_CLEAR(list);
        Py_DECREF(pair);
        at += (Py_ssize_t)used;
    }
    if (PyErr_Occurred())
        Py_CLEAR(list);
    return list ? Py_BuildValue("Nn", list, at) : NULL;
}

PyObject *codec_py_show_pair(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *key, *value, *line = NULL;
    struct out out = {0};
    if (!PyArg_ParseTuple(args, "OO", &key, &value))
        return NULL;
    if (codec_append_shown(&out, key) &&
        (value == Py_None || (out_append(&out, "\t", 1) && codec_append_shown(&out, value))) &&
        out_append(&out, "\n", 1))
        line = PyBytes_FromStringAndSize(out.data, (Py_ssize_t)out.size);
    out_fini(&out);
    return line;
}

// ---- Pairs as lines -----------------------------------------------------------------------------------

static bool append_escaped(struct out *out, const char *data, size_t size)
{
    char *to = out_reserve(out, 2 * size + 1);
    if (!to)
        return false;
    for (size_t i = 0; i < size; i++) {
        const char byte = data[i];
        const char stands = byte == '\n' ? 'n' : byte == '\r' ? 'r' : byte;
        if (byte == '\n' || byte == '\r' || byte == '\\')
            *to++ = '\\';
        *to++ = stands;
    }
    *to++ = '\n';
    out->size = (size_t)(to - out->data);
    return true;
}

PyObject *codec_py_pairs_to_lines(PyObject *self, PyObject *bytes)
{
    (void)self;
    struct out out = {0};
    char *data;
    Py_ssize_t size;
    size_t at = 0;
    if (PyBytes_AsStringAndSize(bytes, &data, &size) < 0)
        return NULL;
    bool is_good = true;
    for (uint32_t sizes[2]; is_good && (size_t)size - at >= sizeof sizes;) {
        memcpy(sizes, data + at, sizeof sizes);
        const uint64_t whole = sizeof sizes + (uint64_t)sizes[0] + sizes[1];
        if ((size_t)size - at < whole)
            break;
        is_good = append_escaped(&out, data + at, (size_t)whole);
        at += (size_t)whole;
    }
    PyObject *result = is_good ? Py_BuildValue("y#n", out.data ? out.data : "",
                                               (Py_ssize_t)out.size, (Py_ssize_t)at)
                               : NULL;
    out_fini(&out);
    return result;
}

PyObject *codec_py_pair_of_line(PyObject *self, PyObject *bytes)
{
    (void)self;
    struct out out = {0};
    char *data;
    Py_ssize_t size;
    size_t used = 0;
    if (PyBytes_AsStringAndSize(bytes, &data, &size) < 0)
        return NULL;
    char *to = out_reserve(&out, (size_t)size + 1);
    for (Py_ssize_t i = 0; to && i < size; i++) {
        const bool is_escaped = data[i] == '\\' && i + 1 < size;
        i += is_escaped;
        *to++ = is_escaped && data[i] == 'n' ? '\n' : is_escaped && data[i] == 'r' ? '\r' : data[i];
    }
    out.size = to ? (size_t)(to - out.data) : 0;
    PyObject *pair = to ? decode_pair(out.data, out.size, &used) : NULL;
    if (to && (!pair || used != out.size) && !PyErr_Occurred()) {
        Py_CLEAR(pair);
        PyErr_SetString(PyExc_ValueError, "a pair of the stage before is damaged");
    }
    out_fini(&out);
    return pair;
}
