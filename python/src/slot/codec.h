// codec: keys and values of Python as bytes whose order is the order of the objects.
//
//   str                its UTF-8, nothing before it; escaped bytes (surrogateescape) as they were
//   0xF8 ...           a str that begins with an escaped byte from 0xF8 on; its bytes follow
//   0xF9 n             None (0), False (1), True (2)
//   0xFA ...           int: one byte 0x80 + length (negative: 0x7F - length), then the magnitude, most
//                      significant byte first (negative: complemented). From 127 bytes on the length
//                      follows that byte in eight bytes
//   0xFB 8 bytes       float, its sign bit turned so that bytes sort as numbers do
//   0xFC ...           bytes
//   0xFD ... 0x00      tuple: its items one after the other; a str has 0xF8 before it; str and bytes
//                      end with 0x00, and a zero in them is 0x00 0xFF
//   0xFE ...           everything else: pickle, protocol 4
//
// UTF-8 never has a byte from 0xF8 on, so a str needs no mark: sorting, grouping and text output see
// it as it is. Order: str by code point, None, False, True, int, float, bytes, tuple, pickles by their
// bytes. Types are exact: 1, 1.0 and True are three keys, and a subclass of int is a pickle. A key
// has one zero and one NaN.
#ifndef PYTHON_CODEC_H
#define PYTHON_CODEC_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { CODEC_MARK_PICKLE = 0xFE };

// Bytes that grow at the end.
struct out {
    char *data;
    size_t size, capacity;
};

// Makes room for `more` bytes; NULL with MemoryError set.
char *out_grow(struct out *out, size_t more);

static inline char *out_reserve(struct out *out, size_t more)
{
    return out->capacity - out->size < more ? out_grow(out, more) : out->data + out->size;
}

static inline bool out_append(struct out *out, const void *data, size_t size)
{
    char *to = size ? out_reserve(out, size) : NULL;
    if (!to)
        return size == 0;
    memcpy(to, data, size);
    out->size += size;
    return true;
}

void out_fini(struct out *out);

// A TypeError whose text is a sentence of this module, for users.
extern PyObject *codec_refused;

// Appends the object. False with an exception set: it cannot be pickled.
bool codec_encode(struct out *out, PyObject *object, bool is_key);

// Appends the bytes of a str: UTF-8, escaped bytes as they were. False with an exception set: it has
// surrogates that stand for nothing, or there is no memory.
bool codec_append_text(struct out *out, PyObject *text);

// The object that was encoded; NULL with ValueError set when the bytes are damaged.
PyObject *codec_decode(const char *data, size_t size);

// Appends the object as text for people: a str as it is, bytes as they are, all else as str() does.
bool codec_append_shown(struct out *out, PyObject *object);

// As the two above, of objects of any kind (codec_pickle.c).
bool codec_append_pickle(struct out *out, PyObject *object, bool is_key);
PyObject *codec_load_pickle(const char *data, size_t size);

// Functions of the module.
PyObject *codec_py_encode(PyObject *self, PyObject *args);
PyObject *codec_py_decode(PyObject *self, PyObject *bytes);
PyObject *codec_py_decode_pairs(PyObject *self, PyObject *bytes);
PyObject *codec_py_show_pair(PyObject *self, PyObject *args);

// Typed pairs as lines, which the engine can cut anywhere: line ends in them are escaped by a backslash.
PyObject *codec_py_pairs_to_lines(PyObject *self, PyObject *bytes);
PyObject *codec_py_pair_of_line(PyObject *self, PyObject *bytes);

#endif
