// weft.words, the splitter in C: as a function it gives a list of words; as the map function of a count it
// adds up the words of a whole block without calling Python.
//
// A word is a maximal run of bytes that are not ASCII white space, as for `weft run wordcount`.

#include "slot.h"

enum { MARK_ODD_TEXT = 0xF8 };  // before a str that begins with a byte from here on: see codec.h

static inline bool is_space(unsigned char byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

// The next word from *at on; false at the end.
static inline bool next_word(const char **at, const char *end, const char **word)
{
    const char *data = *at;
    while (data < end && is_space((unsigned char)*data))
        data++;
    *word = data;
    while (data < end && !is_space((unsigned char)*data))
        data++;
    *at = data;
    return data > *word;
}

bool slot_count_words(struct slot *slot, const char *data, size_t size)
{
    const char *const end = data + size, *word;
    while (next_word(&data, end, &word)) {
        size_t length = (size_t)(data - word);
        if (__builtin_expect((unsigned char)*word >= MARK_ODD_TEXT, 0)) {
            const char mark = (char)MARK_ODD_TEXT;
            slot->scratch.size = 0;
            if (!out_append(&slot->scratch, &mark, 1) || !out_append(&slot->scratch, word, length))
                return false;
            word = slot->scratch.data;
            length++;
        }
        if (!slot_add_number(slot, word, length, 1))
            return false;
    }
    return true;
}

static PyObject *list_words(const char *data, size_t size, bool is_bytes)
{
    const char *const end = data + size, *word;
    PyObject *list = PyList_New(0);
    while (list && next_word(&data, end, &word)) {
        const Py_ssize_t length = data - word;
        PyObject *one = is_bytes ? PyBytes_FromStringAndSize(word, length)
                                 : PyUnicode_DecodeUTF8(word, length, "surrogateescape");
        if (!one || PyList_Append(list, one) < 0)
            Py_CLEAR(list);
        Py_XDECREF(one);
    }
    return list;
}

PyObject *slot_py_words(PyObject *self, PyObject *text)
{
    (void)self;
    struct out out = {0};
    char *data;
    Py_ssize_t size;
    if (PyBytes_Check(text))
        return PyBytes_AsStringAndSize(text, &data, &size) < 0
                   ? NULL
                   : list_words(data, (size_t)size, true);
    if (!PyUnicode_Check(text)) {
        PyErr_Format(codec_refused, "weft.words splits str and bytes, not %R",
                     (PyObject *)Py_TYPE(text));
        return NULL;
    }
    PyObject *list = codec_append_text(&out, text)
                         ? list_words(out.data ? out.data : "", out.size, false)
                         : NULL;
    out_fini(&out);
    return list;
}
