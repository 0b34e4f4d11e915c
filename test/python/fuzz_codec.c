// The codec of keys and values under libFuzzer: test/python/fuzz builds it with Python inside.
//
// Any bytes decode to an object or are refused. An object that came out has one encoding, which decodes to the same
// encoding again; two keys compare as their bytes do. Pickles are not loaded: random ones could run anything.

#include "codec.h"

#include <stdlib.h>

static const char hide_pickle[] =
    "import sys, types\n"
    "def refuse(*words): raise ValueError('no pickles here')\n"
    "sys.modules['pickle'] = types.SimpleNamespace(loads=refuse, dumps=refuse)\n";

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    Py_InitializeEx(0);
    codec_refused = PyExc_TypeError;
    if (PyRun_SimpleString(hide_pickle) != 0)
        abort();
    return 0;
}

// The object of the bytes, with its encoding; NULL: they are refused.
static PyObject *take(const char *data, size_t size, struct out *encoded)
{
    PyObject *object = codec_decode(data, size);
    if (object && !codec_encode(encoded, object, true))
        Py_CLEAR(object);  // it may be a str that cannot be encoded: none is made of bytes
    if (!object)
        PyErr_Clear();
    return object;
}

static int compare_bytes(const struct out *a, const struct out *b)
{
    const size_t common = a->size < b->size ? a->size : b->size;
    const int order = common ? memcmp(a->data, b->data, common) : 0;
    return order ? order : (a->size > b->size) - (a->size < b->size);
}

static void check_again(const struct out *once)
{
    struct out twice = {0};
    PyObject *object = take(once->data ? once->data : "", once->size, &twice);
    if (!object || compare_bytes(once, &twice) != 0)
        abort();
    Py_DECREF(object);
    out_fini(&twice);
}

// Of two ints, floats or bytes the smaller has the smaller encoding. Not of text with escaped bytes, nor of NaN.
static void check_order(PyObject *a, const struct out *first, PyObject *b, const struct out *second)
{
    if (Py_TYPE(a) != Py_TYPE(b) ||
        !(PyLong_CheckExact(a) || PyFloat_CheckExact(a) || PyBytes_CheckExact(a)))
        return;
    const int is_less = PyObject_RichCompareBool(a, b, Py_LT);
    const int is_more = PyObject_RichCompareBool(a, b, Py_GT);
    const int order = compare_bytes(first, second);
    if ((is_less == 1 && order >= 0) || (is_more == 1 && order <= 0))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct out first = {0}, second = {0};
    const size_t cut = size ? data[0] * size / 256 : 0;
    const char *text = (const char *)data + (size ? 1 : 0);
    const size_t rest = size ? size - 1 : 0, left = cut < rest ? cut : rest;
    PyObject *a = take(text, left, &first), *b = take(text + left, rest - left, &second);
    if (a)
        check_again(&first);
    if (b)
        check_again(&second);
    if (a && b)
        check_order(a, &first, b, &second);
    Py_XDECREF(a);
    Py_XDECREF(b);
    out_fini(&first);
    out_fini(&second);
    return 0;
}
