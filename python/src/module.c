// The extension module weft._weft. Its content is in the files of topics.def; here they are put together.

#include "extension.h"

static int (*const topics[])(PyObject *module) = {
#define TOPIC(name) topic_##name##_add,
#include "topics.def"
#undef TOPIC
};

static PyObject *version(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyUnicode_FromString(weft_version());
}

static PyMethodDef functions[] = {
    {"version", version, METH_NOARGS, "version() -> str\n\nThe version of the library."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "weft._weft",
    .m_doc = "The part of weft that is written in C. Use the package weft.",
    .m_size = -1,
    .m_methods = functions,
};

PyMODINIT_FUNC PyInit__weft(void);
PyMODINIT_FUNC PyInit__weft(void)
{
    PyObject *module = PyModule_Create(&definition);
    for (size_t i = 0; module && i < sizeof topics / sizeof *topics; i++) {
        if (topics[i](module)) {
            Py_DecRef(module);
            return NULL;
        }
    }
    return module;
}
