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
