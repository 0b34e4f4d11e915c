// Arguments: texts, bytes and times of Python as the library wants them.

#include <limits.h>
#include <math.h>

#include "cluster.h"

// A str with escaped bytes, such as the name of a file that is not UTF-8.
static int borrow_escaped(PyObject *text, struct borrowed_bytes *out)
{
    PyErr_Clear();
    PyObject *encoded = PyUnicode_AsEncodedString(text, "utf-8", "surrogateescape");
    if (!encoded)
        return -1;
    const int failed = PyObject_GetBuffer(encoded, &out->view, PyBUF_SIMPLE);
    Py_DecRef(encoded);
    if (!failed)
        out->bytes = (weft_bytes){out->view.buf, (size_t)out->view.len};
    return failed;
}

int borrow_bytes(PyObject *object, struct borrowed_bytes *out)
{
    *out = (struct borrowed_bytes){.bytes = weft_none()};
    if (PyUnicode_Check(object)) {
        Py_ssize_t size;
        const char *text = PyUnicode_AsUTF8AndSize(object, &size);
        if (!text)
            return PyErr_ExceptionMatches(PyExc_UnicodeError) ? borrow_escaped(object, out) : -1;
        out->bytes = (weft_bytes){text, (size_t)size};
        return 0;
    }
    if (PyObject_GetBuffer(object, &out->view, PyBUF_SIMPLE)) {
        PyErr_SetString(PyExc_TypeError, "a str or bytes is needed");
        return -1;
    }
    out->bytes = (weft_bytes){out->view.buf, (size_t)out->view.len};
    return 0;
}

int borrow_optional(PyObject *object, struct borrowed_bytes *out)
{
    *out = (struct borrowed_bytes){.bytes = weft_none()};
    return object && object != Py_None ? borrow_bytes(object, out) : 0;
}

void release_bytes(struct borrowed_bytes *bytes)
{
    if (bytes->view.obj)
        PyBuffer_Release(&bytes->view);
}

int take_timeout(PyObject *seconds, uint32_t *timeout_ms)
{
    *timeout_ms = 0;
    if (seconds == NULL || seconds == Py_None)
        return 0;
    const double value = PyFloat_AsDouble(seconds);
    if (PyErr_Occurred())
        return -1;
    if (!(value >= 0 && value * 1000 < UINT32_MAX)) {
        PyErr_SetString(PyExc_ValueError, "a time is a number of seconds, 0 or more");
        return -1;
    }
    *timeout_ms = value * 1000 < 1 ? 1 : (uint32_t)ceil(value * 1000);
    return 0;
}

PyObject *add_type(PyObject *module, PyType_Spec *spec)
{
    PyObject *type = PyType_FromSpec(spec);
    if (!type)
        return NULL;
    if (PyObject_SetAttrString(module, strchr(spec->name, '.') + 1, type)) {
        Py_DecRef(type);
        return NULL;
    }
    return type;
}
