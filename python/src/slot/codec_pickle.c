// What the codec leaves to Python: pickles, and the text that people see.

#include "codec.h"

enum { SHOWN_MAX = 100 };  // characters of an object in an error

PyObject *codec_refused;

// Imported when they are first needed, as that takes milliseconds; never freed: the process has one interpreter.
static PyObject *modules[2];
enum { PICKLE, PICKLES };

static PyObject *find_pickle(int which, const char *name)
{
    if (!modules[which])
        modules[which] = PyImport_ImportModule(which == PICKLE ? "pickle" : "weft.pickles");
    return modules[which] ? PyObject_GetAttrString(modules[which], name) : NULL;
}

// The object is named: the message of pickle names its type alone, or a part of it.
static void refuse_object(PyObject *object)
{
    PyObject *type, *value, *trace, *shown = NULL;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    PyObject *text = PyObject_Repr(object);
    if (!text) {
        PyErr_Clear();
        text = PyObject_Repr((PyObject *)Py_TYPE(object));
    }
    if (text && PyUnicode_GetLength(text) > SHOWN_MAX)
        shown = PyUnicode_Substring(text, 0, SHOWN_MAX);
    if (text)
        PyErr_Format(codec_refused, "%U%s cannot be a key or value: %S", shown ? shown : text,
                     shown ? "..." : "", value ? value : Py_None);
    Py_XDECREF(shown);
    Py_XDECREF(text);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
}

// Equal keys have the same bytes, which pickle.dumps does not promise.
static PyObject *dump(PyObject *object, bool is_key)
{
    PyObject *dumps = is_key ? find_pickle(PICKLES, "dumps_key") : find_pickle(PICKLE, "dumps");
    PyObject *bytes = !dumps   ? NULL
                      : is_key ? PyObject_CallFunctionObjArgs(dumps, object, NULL)
                               : PyObject_CallFunction(dumps, "Oi", object, 4);
    Py_XDECREF(dumps);
    return bytes;
}

static bool is_of_pickle(void)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *error = find_pickle(PICKLE, "PicklingError");
    PyErr_Restore(type, value, trace);
    const bool is_so = error && PyErr_ExceptionMatches(error);
    Py_XDECREF(error);
    return is_so;
}

// The exception at hand stays if this does not help.
static PyObject *dump_named(PyObject *object, bool is_key)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *dumps = find_pickle(PICKLES, "dumps_named");
    PyObject *bytes = dumps ? PyObject_CallFunction(dumps, "Oi", object, is_key ? 1 : 0) : NULL;
    Py_XDECREF(dumps);
    if (!bytes) {
        PyErr_Restore(type, value, trace);
        return NULL;
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return bytes;
}

bool codec_append_pickle(struct out *out, PyObject *object, bool is_key)
{
    PyObject *bytes = dump(object, is_key);
    if (!bytes && is_of_pickle())
        bytes = dump_named(object, is_key);
    if (!bytes)
        refuse_object(object);
    const char mark = (char)CODEC_MARK_PICKLE;
    char *data;
    Py_ssize_t size;
    const bool is_good = bytes && PyBytes_AsStringAndSize(bytes, &data, &size) == 0 &&
                         out_append(out, &mark, 1) && out_append(out, data, (size_t)size);
    Py_XDECREF(bytes);
    return is_good;
}

PyObject *codec_load_pickle(const char *data, size_t size)
{
    PyObject *loads = find_pickle(PICKLE, "loads");
    PyObject *bytes = loads ? PyBytes_FromStringAndSize(data, (Py_ssize_t)size) : NULL;
    PyObject *object = bytes ? PyObject_CallFunctionObjArgs(loads, bytes, NULL) : NULL;
    Py_XDECREF(bytes);
    Py_XDECREF(loads);
    return object;
}

// ---- Text for people ------------------------------------------------------------------------------------

// str() of an int of more than 4,300 digits raises where sys.set_int_max_str_digits() has not been called.
static PyObject *show_without_limit(PyObject *object)
{
    PyObject *type, *value, *trace, *text = NULL;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *sys = PyImport_ImportModule("sys");
    PyObject *limit = sys ? PyObject_CallMethod(sys, "get_int_max_str_digits", NULL) : NULL;
    PyObject *done = limit ? PyObject_CallMethod(sys, "set_int_max_str_digits", "i", 0) : NULL;
    if (done) {
        text = PyObject_Str(object);
        Py_DECREF(done);
        done = PyObject_CallMethod(sys, "set_int_max_str_digits", "O", limit);
    }
    Py_XDECREF(done);
    Py_XDECREF(limit);
    Py_XDECREF(sys);
    if (!text) {
        PyErr_Restore(type, value, trace);
        return NULL;
    }
    PyErr_Clear();
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return text;
}

static PyObject *show(PyObject *object)
{
    PyObject *text = PyObject_Str(object);
    return text || !PyErr_ExceptionMatches(PyExc_ValueError) ? text : show_without_limit(object);
}

bool codec_append_shown(struct out *out, PyObject *object)
{
    char *data;
    Py_ssize_t size;
    if (Py_TYPE(object) == &PyBytes_Type)
        return PyBytes_AsStringAndSize(object, &data, &size) == 0 &&
               out_append(out, data, (size_t)size);
    PyObject *text = show(object);
    const bool is_good = text && codec_append_text(out, text);
    if (text && !is_good && PyErr_ExceptionMatches(PyExc_UnicodeError)) {
        PyErr_Clear();
        PyErr_Format(
            codec_refused,
            "%.200R cannot be written as text: it has surrogates, which are not characters",
            object);
    }
    Py_XDECREF(text);
    return is_good;
}
