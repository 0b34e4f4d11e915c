// One exception class for each error code of include/weft/errors.def: NOT_FOUND is weft.NotFound. All are weft.Error.

#include "extension.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { CODE_MAX = 16, NAME_BYTES_MAX = 64 };

static PyObject *base_class;
static PyObject *classes[CODE_MAX + 1];

// Some codes are also exceptions that Python programs know.
static PyObject *builtin_of(weft_err code)
{
    switch ((int)code) {
    case WEFT_DEADLINE_EXCEEDED:
        return PyExc_TimeoutError;
    case WEFT_PERMISSION_DENIED:
        return PyExc_PermissionError;
    case WEFT_UNAVAILABLE:
        return PyExc_ConnectionError;
    case WEFT_INVALID_ARGUMENT:
        return PyExc_ValueError;
    case WEFT_UNIMPLEMENTED:
        return PyExc_NotImplementedError;
    default:
        return NULL;
    }
}

// "weft.NotFound" of "NOT_FOUND".
static void write_class_name(const char *name, char *out)
{
    static const char prefix[] = "weft.";
    memcpy(out, prefix, sizeof prefix - 1);
    out += sizeof prefix - 1;
    for (bool starts_word = true; *name; name++) {
        if (*name != '_')
            *out++ = starts_word ? *name : (char)tolower((unsigned char)*name);
        starts_word = *name == '_';
    }
    *out = 0;
}

static int add_class(PyObject *module, weft_err code, const char *words)
{
    char name[NAME_BYTES_MAX], doc[2 * NAME_BYTES_MAX];
    write_class_name(weft_err_name(code), name);
    snprintf(doc, sizeof doc, "The error %s: %s.", weft_err_name(code), words);
    PyObject *builtin = builtin_of(code);
    PyObject *bases = builtin ? PyTuple_Pack(2, base_class, builtin) : PyTuple_Pack(1, base_class);
    PyObject *number = PyLong_FromLong((long)code);
    PyObject *code_name = PyUnicode_FromString(weft_err_name(code));
    PyObject *class = bases ? PyErr_NewExceptionWithDoc(name, doc, bases, NULL) : NULL;
    int failed = !class || !number || !code_name || PyObject_SetAttrString(class, "code", number) ||
                 PyObject_SetAttrString(class, "code_name", code_name) ||
                 PyObject_SetAttrString(module, strchr(name, '.') + 1, class);
    Py_DecRef(bases);
    Py_DecRef(number);
    Py_DecRef(code_name);
    classes[code] = class;
    return failed ? -1 : 0;
}

int topic_errors_add(PyObject *module)
{
    base_class = PyErr_NewExceptionWithDoc(
        "weft.Error",
        "A failure that weft reports. `code` is its number, `code_name` its name, such as "
        "NOT_FOUND.",
        NULL, NULL);
    if (!base_class || PyObject_SetAttrString(base_class, "code", Py_None) ||
        PyObject_SetAttrString(base_class, "code_name", Py_None) ||
        PyObject_SetAttrString(module, "Error", base_class))
        return -1;
#define WEFT_ERROR(name, number, exit_code, words)                                                 \
    if (add_class(module, WEFT_##name, words))                                                     \
        return -1;
#include <weft/errors.def>
#undef WEFT_ERROR
    return 0;
}

PyObject *raise_error(weft_err code)
{
    PyObject *class = (unsigned)code <= CODE_MAX ? classes[code] : NULL;
    const char *message = weft_error();
    PyErr_SetString(class ? class : base_class, *message ? message : weft_err_name(code));
    return NULL;
}
