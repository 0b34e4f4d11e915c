// extension.h: what the files of weft._weft share. The module is compiled for the limited API of Python 3.11, so that
// one binary serves 3.11 and later; for older versions the same source is compiled as it is.
//
// The GIL: a call that may wait is made between Py_BEGIN_ALLOW_THREADS and Py_END_ALLOW_THREADS. Its error code is turned
// into an exception afterwards, by raise_error.
#ifndef PYTHON_EXTENSION_H
#define PYTHON_EXTENSION_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <weft/weft.h>

// The macros of 3.12 and later take these objects for immortal even when compiled for 3.11, which then frees them.
#undef Py_RETURN_NONE
#undef Py_RETURN_TRUE
#undef Py_RETURN_FALSE

static inline PyObject *new_reference(PyObject *object)
{
    Py_IncRef(object);
    return object;
}
static inline PyObject *none(void)
{
    return new_reference(Py_None);
}

// Sets the exception of the code, with the message of this thread's last failure. Always NULL.
PyObject *raise_error(weft_err code);

// The topics of topics.def: each adds its types and functions to the module. -1 with an exception.
#define TOPIC(name) int topic_##name##_add(PyObject *module);
#include "topics.def"
#undef TOPIC

#endif
