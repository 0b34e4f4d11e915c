// Arguments: texts, bytes and times of Python as the library wants them.

#include <limits.h>
#include <math.h>

#include "cluster.h"

int borrow_bytes(PyObject *object, struct borrowed_bytes *out)
{
    *out = (struct borrowed_bytes){.bytes = weft_none()};
    if (object == NULL || object == Py_None)
        return 0;
    if (PyUnicode_Check(object)) {
        Py_ssize_t size;
        const char *text = PyUnicode_AsUTF8AndSize(object, &size);
        if (!text)
            return -1;
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
