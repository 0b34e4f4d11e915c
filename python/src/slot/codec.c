// The codec. Scalars are written here; only rare types go through pickle.

#include "codec.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    MARK_ODD_STR = 0xF8,
    MARK_CONSTANT = 0xF9,
    MARK_INT = 0xFA,
    MARK_FLOAT = 0xFB,
    MARK_BYTES = 0xFC,
    MARK_TUPLE = 0xFD,
    INT_LENGTH_LONG = 0x7F,  // from here on the length has eight bytes of its own
    TUPLE_DEPTH_MAX = 100,   // deeper ones are pickled
    OUT_BYTES_MIN = 256,
};

char *out_grow(struct out *out, size_t more)
{
    size_t capacity = out->capacity ? out->capacity : OUT_BYTES_MIN;
    while (capacity - out->size < more)
        capacity *= 2;
    char *data = realloc(out->data, capacity);
    if (!data) {
        PyErr_NoMemory();
        return NULL;
    }
    out->data = data;
    out->capacity = capacity;
    return data + out->size;
}

void out_fini(struct out *out)
{
    free(out->data);
    *out = (struct out){0};
}

static bool out_byte(struct out *out, int byte)
{
    const char value = (char)byte;
    return out_append(out, &value, 1);
}

static bool is_exactly(PyObject *object, PyTypeObject *type)
{
    return Py_TYPE(object) == type;
}

// ---- Text -------------------------------------------------------------------------------------------

static PyObject *decode_text(const char *data, size_t size)
{
    return PyUnicode_DecodeUTF8(data, (Py_ssize_t)size, "surrogateescape");
}

// A str with surrogates. Escaped bytes that together are UTF-8 would come back as another str.
static bool append_escaped(struct out *out, PyObject *text)
{
    char *data;
    Py_ssize_t size;
    PyErr_Clear();
    PyObject *bytes = PyUnicode_AsEncodedString(text, "utf-8", "surrogateescape");
    if (!bytes || PyBytes_AsStringAndSize(bytes, &data, &size) < 0) {
        Py_XDECREF(bytes);
        return false;
    }
    PyObject *back = decode_text(data, (size_t)size);
    const int is_same = back ? PyObject_RichCompareBool(back, text, Py_EQ) : -1;
    bool is_good = is_same == 1 && out_append(out, data, (size_t)size);
    if (is_same == 0)
        PyErr_SetString(PyExc_UnicodeError, "the escaped bytes of a str are UTF-8 by themselves");
    Py_XDECREF(back);
    Py_DECREF(bytes);
    return is_good;
}

bool codec_append_text(struct out *out, PyObject *text)
{
    Py_ssize_t size;
    const char *data = PyUnicode_AsUTF8AndSize(text, &size);
    return data ? out_append(out, data, (size_t)size) : append_escaped(out, text);
}

// Bytes inside a tuple: a zero ends them, so their own are marked.
static bool append_ended(struct out *out, const char *data, size_t size)
{
    while (size > 0) {
        const char *zero = memchr(data, 0, size);
        const size_t plain = zero ? (size_t)(zero - data) + 1 : size;
        if (!out_append(out, data, plain) || (zero && !out_byte(out, 0xFF)))
            return false;
        data += plain;
        size -= plain;
    }
    return out_byte(out, 0);
}

static bool encode_str(struct out *out, PyObject *text, bool is_inside)
{
    const size_t begun = out->size;
    if (!is_inside) {
        if (!codec_append_text(out, text))
            return false;
        if (out->size == begun || (unsigned char)out->data[begun] < MARK_ODD_STR)
            return true;
        if (!out_reserve(out, 1))
            return false;
        memmove(out->data + begun + 1, out->data + begun, out->size - begun);
        out->data[begun] = (char)MARK_ODD_STR;
        out->size++;
        return true;
    }
    struct out plain = {0};
    const bool is_good = codec_append_text(&plain, text) && out_byte(out, MARK_ODD_STR) &&
                         append_ended(out, plain.data, plain.size);
    out_fini(&plain);
    return is_good;
}

// ---- Numbers ------------------------------------------------------------------------------------------

static bool append_magnitude(struct out *out, const unsigned char *bytes, size_t length,
                             bool is_negative)
{
    const unsigned char mask = is_negative ? 0xFF : 0;
    const size_t shown = length < INT_LENGTH_LONG ? length : INT_LENGTH_LONG;
    unsigned char *to = (unsigned char *)out_reserve(out, length + 10);
    if (!to)
        return false;
    *to++ = MARK_INT;
    *to++ = (unsigned char)(is_negative ? 0x7F - shown : 0x80 + shown);
    out->size += 2;
    if (length >= INT_LENGTH_LONG) {
        for (int i = 7; i >= 0; i--)
            *to++ = (unsigned char)(((uint64_t)length >> 8 * i) ^ mask);
        out->size += 8;
    }
    for (size_t i = 0; i < length; i++)
        *to++ = bytes[i] ^ mask;
    out->size += length;
    return true;
}

static bool encode_small(struct out *out, long long value)
{
    unsigned char bytes[8];
    uint64_t magnitude = value < 0 ? -(uint64_t)value : (uint64_t)value;
    size_t length = 0;
    for (uint64_t rest = magnitude; rest; rest >>= 8)
        length++;
    for (size_t i = 0; i < length; i++)
        bytes[i] = (unsigned char)(magnitude >> 8 * (length - 1 - i));
    return append_magnitude(out, bytes, length, value < 0);
}

// By its hexadecimal digits: int.to_bytes wants to know the length first.
static bool encode_large(struct out *out, PyObject *number)
{
    PyObject *digits = PyNumber_ToBase(number, 16);
    Py_ssize_t size;
    const char *text = digits ? PyUnicode_AsUTF8AndSize(digits, &size) : NULL;
    unsigned char *bytes = NULL;
    bool is_good = false;
    if (text) {
        const bool is_negative = text[0] == '-';
        text += 2 + is_negative;  // "0x"
        size -= 2 + is_negative;
        const size_t length = ((size_t)size + 1) / 2;
        bytes = calloc(1, length);
        for (Py_ssize_t i = 0; bytes && i < size; i++) {
            const int digit = text[i] <= '9' ? text[i] - '0' : text[i] - 'a' + 10;
            const size_t at = length * 2 - (size_t)size + (size_t)i;
            bytes[at / 2] = (unsigned char)(bytes[at / 2] | digit << (at % 2 ? 0 : 4));
        }
        if (!bytes)
            PyErr_NoMemory();
        is_good = bytes && append_magnitude(out, bytes, length, is_negative);
    }
    free(bytes);
    Py_XDECREF(digits);
    return is_good;
}

static bool encode_int(struct out *out, PyObject *number)
{
    int is_larger;
    const long long value = PyLong_AsLongLongAndOverflow(number, &is_larger);
    if (is_larger)
        return encode_large(out, number);
    if (value == -1 && PyErr_Occurred())
        return false;
    return encode_small(out, value);
}

static bool encode_float(struct out *out, PyObject *number, bool is_key)
{
    double value = PyFloat_AsDouble(number);
    if (is_key && value == 0)
        value = 0;  // not -0.0
    if (is_key && isnan(value))
        value = NAN;
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits ^= bits >> 63 ? UINT64_MAX : UINT64_C(1) << 63;
    char bytes[9] = {(char)MARK_FLOAT};
    for (int i = 0; i < 8; i++)
        bytes[1 + i] = (char)(bits >> 8 * (7 - i));
    return out_append(out, bytes, sizeof bytes);
}

// ---- Encoding -----------------------------------------------------------------------------------------

static bool encode_constant(struct out *out, int number)
{
    return out_byte(out, MARK_CONSTANT) && out_byte(out, number);
}

static bool encode_bytes(struct out *out, PyObject *object, bool is_inside)
{
    char *data;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(object, &data, &size) < 0 || !out_byte(out, MARK_BYTES))
        return false;
    return is_inside ? append_ended(out, data, (size_t)size) : out_append(out, data, (size_t)size);
}

enum encoded { ENCODED, NOT_OURS, FAILED };

static enum encoded encode_tuple(struct out *out, PyObject *tuple, bool is_key, int depth);

// Where the exception of a str says that it cannot be written as text, pickle can.
static enum encoded encode_plain(struct out *out, PyObject *object, bool is_key, int depth)
{
    const bool is_inside = depth > 0;
    bool is_good;
    if (is_exactly(object, &PyUnicode_Type)) {
        is_good = encode_str(out, object, is_inside);
        if (!is_good && PyErr_ExceptionMatches(PyExc_UnicodeError)) {
            PyErr_Clear();
            return NOT_OURS;
        }
    } else if (is_exactly(object, &PyLong_Type)) {
        is_good = encode_int(out, object);
    } else if (is_exactly(object, &PyFloat_Type)) {
        is_good = encode_float(out, object, is_key);
    } else if (is_exactly(object, &PyBytes_Type)) {
        is_good = encode_bytes(out, object, is_inside);
    } else if (object == Py_None || object == Py_False || object == Py_True) {
        is_good = encode_constant(out, object == Py_None ? 0 : object == Py_False ? 1 : 2);
    } else if (is_exactly(object, &PyTuple_Type) && depth < TUPLE_DEPTH_MAX) {
        return encode_tuple(out, object, is_key, depth);
    } else {
        return NOT_OURS;
    }
    return is_good ? ENCODED : FAILED;
}

static enum encoded encode_tuple(struct out *out, PyObject *tuple, bool is_key, int depth)
{
    const Py_ssize_t count = PyTuple_Size(tuple);
    if (!out_byte(out, MARK_TUPLE))
        return FAILED;
    for (Py_ssize_t i = 0; i < count; i++) {
        const enum encoded how = encode_plain(out, PyTuple_GetItem(tuple, i), is_key, depth + 1);
        if (how != ENCODED)
            return how;
    }
    return out_byte(out, 0) ? ENCODED : FAILED;
}

bool codec_encode(struct out *out, PyObject *object, bool is_key)
{
    const size_t begun = out->size;
    const enum encoded how = encode_plain(out, object, is_key, 0);
    if (how != NOT_OURS)
        return how == ENCODED;
    out->size = begun;
    return codec_append_pickle(out, object, is_key);
}

// ---- Decoding -----------------------------------------------------------------------------------------

struct reader {
    const unsigned char *at, *end;
};

static PyObject *refuse(void)
{
    if (!PyErr_Occurred())
        PyErr_SetString(PyExc_ValueError, "these bytes are not a key or value of Weft");
    return NULL;
}

static PyObject *decode_long(const unsigned char *bytes, size_t length, bool is_negative)
{
    char *digits = malloc(2 * length + 4), *to = digits;
    if (!digits)
        return PyErr_NoMemory();
    if (is_negative)
        *to++ = '-';
    *to++ = '0';
    for (size_t i = 0; i < length; i++)
        to += sprintf(to, "%02x", bytes[i] ^ (is_negative ? 0xFF : 0));
    *to = 0;
    PyObject *number = PyLong_FromString(digits, NULL, 16);
    free(digits);
    return number;
}

static PyObject *decode_int(struct reader *reader)
{
    if (reader->at == reader->end)
        return refuse();
    const int first = *reader->at++;
    const bool is_negative = first < 0x80;
    uint64_t length = (uint64_t)(is_negative ? 0x7F - first : first - 0x80);
    if (length == INT_LENGTH_LONG) {
        if (reader->end - reader->at < 8)
            return refuse();
        length = 0;
        for (int i = 0; i < 8; i++)
            length = length << 8 | (unsigned char)(*reader->at++ ^ (is_negative ? 0xFF : 0));
    }
    if (length > (uint64_t)(reader->end - reader->at))
        return refuse();
    const unsigned char *bytes = reader->at;
    reader->at += length;
    if (length > 7)
        return decode_long(bytes, (size_t)length, is_negative);
    long long value = 0;
    for (size_t i = 0; i < length; i++)
        value = value << 8 | (bytes[i] ^ (is_negative ? 0xFF : 0));
    return PyLong_FromLongLong(is_negative ? -value : value);
}

static PyObject *decode_float(struct reader *reader)
{
    uint64_t bits = 0;
    double value;
    if (reader->end - reader->at < 8)
        return refuse();
    for (int i = 0; i < 8; i++)
        bits = bits << 8 | *reader->at++;
    bits ^= bits >> 63 ? UINT64_C(1) << 63 : UINT64_MAX;
    memcpy(&value, &bits, sizeof value);
    return PyFloat_FromDouble(value);
}

static PyObject *decode_constant(struct reader *reader)
{
    PyObject *const constants[] = {Py_None, Py_False, Py_True};
    if (reader->at == reader->end || *reader->at > 2)
        return refuse();
    PyObject *object = constants[*reader->at++];
    Py_IncRef(object);
    return object;
}

// str or bytes inside a tuple.
static PyObject *decode_ended(struct reader *reader, bool is_str)
{
    struct out plain = {0};
    PyObject *object = NULL;
    for (;;) {
        const unsigned char *zero = memchr(reader->at, 0, (size_t)(reader->end - reader->at));
        if (!zero) {
            refuse();
            break;
        }
        const bool is_own = zero + 1 < reader->end && zero[1] == 0xFF;
        const size_t size = (size_t)(zero - reader->at) + is_own;
        if (!out_append(&plain, reader->at, size))
            break;
        reader->at = zero + 1 + is_own;
        if (is_own)
            continue;
        object = is_str ? decode_text(plain.data ? plain.data : "", plain.size)
                        : PyBytes_FromStringAndSize(plain.data, (Py_ssize_t)plain.size);
        break;
    }
    out_fini(&plain);
    return object;
}

static PyObject *decode_item(struct reader *reader, int depth);

static PyObject *decode_tuple(struct reader *reader, int depth)
{
    PyObject *list = depth < TUPLE_DEPTH_MAX ? PyList_New(0) : refuse();
    while (list) {
        if (reader->at == reader->end) {
            Py_DECREF(list);
            return refuse();
        }
        if (*reader->at == 0)
            break;
        PyObject *item = decode_item(reader, depth + 1);
        if (!item || PyList_Append(list, item) < 0)
            Py_CLEAR(list);
        Py_XDECREF(item);
    }
    reader->at += list != NULL;
    PyObject *tuple = list ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    return tuple;
}

// Everything but str, bytes and pickles at the top, which have no end of their own.
static PyObject *decode_item(struct reader *reader, int depth)
{
    if (reader->at == reader->end)
        return refuse();
    switch (*reader->at++) {
    case MARK_ODD_STR:
        return decode_ended(reader, true);
    case MARK_BYTES:
        return decode_ended(reader, false);
    case MARK_CONSTANT:
        return decode_constant(reader);
    case MARK_INT:
        return decode_int(reader);
    case MARK_FLOAT:
        return decode_float(reader);
    case MARK_TUPLE:
        return decode_tuple(reader, depth);
    default:
        return refuse();
    }
}

PyObject *codec_decode(const char *data, size_t size)
{
    if (size == 0 || (unsigned char)data[0] < MARK_ODD_STR)
        return decode_text(size ? data : "", size);
    switch ((unsigned char)data[0]) {
    case MARK_ODD_STR:
        return decode_text(data + 1, size - 1);
    case MARK_BYTES:
        return PyBytes_FromStringAndSize(data + 1, (Py_ssize_t)size - 1);
    case CODEC_MARK_PICKLE:
        return codec_load_pickle(data + 1, size - 1);
    default:
        break;
    }
    struct reader reader = {(const unsigned char *)data, (const unsigned char *)data + size};
    PyObject *object = decode_item(&reader, 0);
    if (object && reader.at != reader.end)
        Py_CLEAR(object);
    return object ? object : refuse();
}
