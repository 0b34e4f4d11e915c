// The loop of a slot's Python process: frames in, calls, frames out.
//
// The GIL is released while a frame is read or written, so that threads of the user's code run on.
// A failure is described by the function `fail` in Python and sent; the rest of the attempt is
// then passed over, up to its end.

#include "slot.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum {
    HEAD_BYTES = 5,
    FRAME_BYTES = 128 << 10,
    TABLE_BYTES = 64 << 20,
    REPORT_NS = 10000000,  // between two reports of records
};

// ---- A process that user code has forked ---------------------------------------------------------------

// It has the pipes of this one, and would answer in its place.
static bool is_forked;

static void on_fork(void)
{
    is_forked = true;
}

void slot_end_forked(void)
{
    static const char text[] =
        "weft: a process that was forked in mapfn or reducefn has returned from there, and ends\n"
        "  try: os._exit(0) at the end of its work, or subprocess, or multiprocessing\n";
    if (!is_forked)
        return;
    const ssize_t put = write(2, text, sizeof text - 1);
    _exit(put > 0 ? 1 : 2);
}

// ---- Sending ------------------------------------------------------------------------------------------

static bool write_all(int fd, const char *data, size_t size)
{
    bool is_good = true;
    slot_end_forked();
    Py_BEGIN_ALLOW_THREADS while (size > 0 && is_good)
    {
        const ssize_t put = write(fd, data, size);
        if (put > 0) {
            data += put;
            size -= (size_t)put;
        } else {
            is_good = put < 0 && errno == EINTR;
        }
    }
    Py_END_ALLOW_THREADS if (!is_good) PyErr_SetFromErrno(PyExc_OSError);
    return is_good;
}

bool slot_begin_frame(struct out *out, char kind)
{
    const char head[HEAD_BYTES] = {0, 0, 0, 0, kind};
    return out->size > 0 || out_append(out, head, sizeof head);
}

bool slot_send(struct slot *slot, struct out *out)
{
    if (out->size == 0)
        return true;
    const uint32_t size = (uint32_t)(out->size - HEAD_BYTES);
    memcpy(out->data, &size, 4);
    const bool is_good = write_all(slot->out, out->data, out->size);
    out->size = 0;
    return is_good;
}

bool slot_send_when_full(struct slot *slot, struct out *out)
{
    return out->size < FRAME_BYTES || slot_send(slot, out);
}

bool slot_put_pair(struct slot *slot, PyObject *key, PyObject *value)
{
    struct out *out = &slot->pairs;
    const bool is_text = slot->output == SLOT_OUT_TEXT;
    uint32_t sizes[2] = {0, UINT32_MAX};
    if (!slot_begin_frame(out, is_text ? 'T' : slot->output == SLOT_OUT_TYPED ? 'W' : 'P'))
        return false;
    const size_t begun = out->size;
    bool is_good = out_append(out, sizes, sizeof sizes) &&
                   (is_text ? codec_append_shown(out, key) : codec_encode(out, key, true));
    const size_t middle = out->size;
    sizes[0] = (uint32_t)(middle - begun - sizeof sizes);
    if (is_good && !(is_text && value == Py_None)) {
        is_good = is_text ? codec_append_shown(out, value) : codec_encode(out, value, false);
        sizes[1] = (uint32_t)(out->size - middle);
    }
    if (!is_good) {
        out->size = begun;
        return false;
    }
    memcpy(out->data + begun, sizes, sizeof sizes);
    return slot_send_when_full(slot, out);
}

static bool answer(struct slot *slot, char kind)
{
    struct out out = {0};
    const bool is_good = slot_begin_frame(&out, kind) && slot_send(slot, &out);
    out_fini(&out);
    return is_good;
}

// ---- Receiving ----------------------------------------------------------------------------------------

static bool read_all(int fd, char *data, size_t size, bool *has_ended)
{
    bool is_good = true;
    slot_end_forked();
    *has_ended = false;
    Py_BEGIN_ALLOW_THREADS while (size > 0 && is_good && !*has_ended)
    {
        const ssize_t got = read(fd, data, size);
        if (got > 0) {
            data += got;
            size -= (size_t)got;
        } else {
            *has_ended = got == 0;
            is_good = got == 0 || errno == EINTR;
        }
    }
    Py_END_ALLOW_THREADS if (!is_good) PyErr_SetFromErrno(PyExc_OSError);
    return is_good;
}

// *has_ended: the engine has closed its end, and there is no frame.
static bool read_frame(struct slot *slot, bool *has_ended)
{
    char head[HEAD_BYTES];
    uint32_t size;
    if (!read_all(slot->in, head, sizeof head, has_ended) || *has_ended)
        return !PyErr_Occurred();
    memcpy(&size, head, 4);
    slot->frame_kind = head[4];
    slot->frame_size = size;
    if ((size_t)size + 8 > slot->frame_capacity) {  // eight more may be read, never used
        free(slot->frame);
        slot->frame_capacity = (size_t)size + 8;
        slot->frame = malloc(slot->frame_capacity);
        if (!slot->frame) {
            slot->frame_capacity = 0;
            PyErr_NoMemory();
            return false;
        }
    }
    return read_all(slot->in, slot->frame, size, has_ended);
}

// ---- Failures -----------------------------------------------------------------------------------------

static bool send_failure(struct slot *slot, PyObject *text)
{
    const uint64_t offset = slot->is_reducing ? UINT64_MAX : slot->offset;
    struct out out = {0};
    const bool is_good = slot_begin_frame(&out, 'F') && out_append(&out, &offset, 8) &&
                         codec_append_text(&out, text) && slot_send(slot, &out);
    out_fini(&out);
    return is_good;
}

// The exception at hand becomes the failure of the attempt. False: it could not even be described.
static bool report_exception(struct slot *slot)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (trace && value)
        PyException_SetTraceback(value, trace);
    PyObject *where = slot->is_reducing ? slot->key : slot->record;
    PyObject *text = PyObject_CallFunction(
        slot->fail, "sOOOK", slot->phase, value ? value : Py_None, where ? where : Py_None,
        slot->is_reducing ? Py_None : slot->name, (unsigned long long)slot->offset);
    const bool is_good = text && PyUnicode_Check(text) && send_failure(slot, text);
    Py_XDECREF(text);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    slot->has_failed = true;
    return is_good;
}

// ---- Reports ------------------------------------------------------------------------------------------

// Some milliseconds old, for less than a call of the kernel.
static uint64_t coarse_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

// The key as people know it. A pickled key is not asked: its repr() is user code, too. That of a long int raises.
static bool append_key(const struct slot *slot, struct out *out)
{
    PyObject *text = slot->is_pickled ? NULL : PyUnicode_FromFormat("%.200R", slot->key);
    if (!text) {
        PyErr_Clear();
        text = PyUnicode_FromFormat("of %R", (PyObject *)Py_TYPE(slot->key));
    }
    const bool is_good = text && codec_append_text(out, text);
    Py_XDECREF(text);
    return is_good;
}

bool slot_report_call(struct slot *slot)
{
    struct out out = {0};
    if (!slot->reports)
        return true;
    // Each key is named. Records are not: they come fast, and a bad one is found by other means.
    const uint64_t now = coarse_ns();
    if (!slot->is_reducing && slot->is_at_work && slot->reported == slot->phase &&
        now - slot->reported_ns < REPORT_NS)
        return true;
    slot->reported_ns = now;
    slot->reported = slot->phase;
    slot->is_at_work = true;
    const bool is_good = slot_begin_frame(&out, 'A') &&
                         out_append(&out, slot->phase, strlen(slot->phase) + 1) &&
                         (!slot->is_reducing || append_key(slot, &out)) && slot_send(slot, &out);
    out_fini(&out);
    return is_good;
}

bool slot_report_rest(struct slot *slot)
{
    if (!slot->is_at_work)
        return true;
    slot->is_at_work = false;
    return answer(slot, 'A');
}

// ---- Frames -------------------------------------------------------------------------------------------

static bool begin(struct slot *slot)
{
    if (slot->frame_size < 3) {
        PyErr_SetString(PyExc_ValueError, "a frame that begins an attempt is too short");
        return false;
    }
    slot->is_reducing = slot->frame[0];
    slot->output = (enum slot_output)slot->frame[1];
    slot->holds = (enum slot_holds)slot->frame[2];
    slot->into = slot->holds == SLOT_HOLDS_MIXED ? &slot->held : &slot->table;
    slot->has_failed = slot->is_at_work = false;
    slot->phase = "mapfn";
    slot->offset = 0;
    Py_CLEAR(slot->record);
    Py_CLEAR(slot->key);
    Py_CLEAR(slot->values);
    return true;
}

static bool set_name(struct slot *slot)
{
    Py_XDECREF(slot->name);
    slot->name = PyUnicode_DecodeUTF8(slot->frame, (Py_ssize_t)slot->frame_size, "surrogateescape");
    Py_CLEAR(slot->header);
    return slot->name;
}

static bool set_header(struct slot *slot)
{
    PyObject *list = PyList_New(0);
    const char *data = slot->frame;
    size_t size = slot->frame_size;
    bool is_good = list;
    while (is_good && size >= 4) {
        uint32_t length;
        memcpy(&length, data, 4);
        if (length > size - 4)
            break;
        PyObject *name = PyUnicode_DecodeUTF8(data + 4, (Py_ssize_t)length, "surrogateescape");
        is_good = name && PyList_Append(list, name) == 0;
        Py_XDECREF(name);
        data += 4 + (size_t)length;
        size -= 4 + (size_t)length;
    }
    Py_XDECREF(slot->header);
    slot->header = is_good ? list : NULL;
    return is_good;
}

static bool set_memory(struct slot *slot)
{
    uint64_t bytes = 0;
    if (slot->frame_size >= 8)
        memcpy(&bytes, slot->frame, 8);
    slot->reports = slot->frame_size > 8 && slot->frame[8];
    slot->table.bytes_max = slot->held.bytes_max = (bytes ? (size_t)bytes : TABLE_BYTES) / 2;
    return true;
}

// Which group is at hand, for a message: nothing where there is none.
static bool tell_group(struct slot *slot)
{
    struct out out = {0};
    PyObject *text = NULL;
    bool is_good = slot_begin_frame(&out, 'V');
    if (is_good && slot->key && slot->values) {
        text = PyUnicode_FromFormat(
            "at the key %.200R, which has %zd values so far; a fold holds only a few", slot->key,
            PyList_Size(slot->values));
        is_good = text && codec_append_text(&out, text);
        Py_XDECREF(text);
    }
    is_good = is_good && slot_send(slot, &out);
    out_fini(&out);
    return is_good;
}

static bool take_frame(struct slot *slot)
{
    switch (slot->frame_kind) {
    case 'B':
        return begin(slot);
    case 'M':
        return set_memory(slot);
    case 'I':
        return set_name(slot);
    case 'H':
        return set_header(slot);
    case 'D':
        return slot->has_failed || (slot_map_frame(slot) && slot_report_rest(slot));
    case 'R':
        return slot->has_failed || slot_reduce_frame(slot);
    case 'E':
        return (slot->has_failed || (slot_flush(slot) && slot_report_rest(slot))) &&
               answer(slot, 'E');
    case 'S':
        return slot_send_held(slot) && answer(slot, 'S');
    case 'V':
        return tell_group(slot);
    default:
        PyErr_Format(PyExc_ValueError, "there is no frame of kind %d", slot->frame_kind);
        return false;
    }
}

static bool serve(struct slot *slot)
{
    for (bool has_ended = false; !has_ended;) {
        if (!read_frame(slot, &has_ended))
            return false;
        if (has_ended || take_frame(slot))
            continue;
        if (!report_exception(slot) || (slot->frame_kind == 'E' && !answer(slot, 'E')))
            return false;
    }
    return true;
}

// ---- In Python ----------------------------------------------------------------------------------------

static void fini(struct slot *slot)
{
    PyObject **const owned[] = {&slot->name,   &slot->header, &slot->record, &slot->key,
                                &slot->values, &slot->groups, &slot->one,    &slot->emit};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        Py_CLEAR(*owned[i]);
    struct out *const outs[] = {&slot->sums,      &slot->floats,     &slot->pairs,
                                &slot->held_sums, &slot->held_pairs, &slot->scratch};
    for (size_t i = 0; i < sizeof outs / sizeof *outs; i++)
        out_fini(outs[i]);
    fold_fini(&slot->table);
    fold_fini(&slot->held);
    free(slot->frame);
}

static bool append_number(struct out *pairs, char kind, const char *key, size_t size, int64_t sum)
{
    const uint32_t sizes[2] = {(uint32_t)size, 0};
    const size_t begun = pairs->size;
    PyObject *number = PyLong_FromLongLong(sum);
    bool is_good = number && slot_begin_frame(pairs, kind);
    const size_t at = begun ? begun : pairs->size;
    is_good = is_good && out_append(pairs, sizes, sizeof sizes) && out_append(pairs, key, size) &&
              codec_encode(pairs, number, false);
    Py_XDECREF(number);
    if (!is_good)
        return false;
    const uint32_t value_size = (uint32_t)(pairs->size - at - sizeof sizes - size);
    memcpy(pairs->data + at + 4, &value_size, 4);
    return true;
}

static bool set_aside(void *owner, const char *key, size_t size, int64_t sum)
{
    struct slot *slot = owner;
    return append_number(&slot->pairs, 'P', key, size, sum);
}

static bool set_held_aside(void *owner, const char *key, size_t size, int64_t sum)
{
    struct slot *slot = owner;
    return append_number(&slot->held_pairs, 'Q', key, size, sum);
}

static PyObject *py_serve(PyObject *self, PyObject *args)
{
    struct slot slot = {.phase = "mapfn"};
    int kind;
    if (!PyArg_ParseTuple(args, "iiiOOOOOppp", &slot.in, &slot.out, &kind, &slot.map, &slot.reduce,
                          &slot.fold, &slot.convert, &slot.fail, &slot.wants_name,
                          &slot.passes_emit, &slot.is_bytes))
        return NULL;
    slot.kind = (enum slot_kind)kind;
    if (slot.convert == Py_None)
        slot.convert = NULL;
    slot.one = PyLong_FromLong(1);
    slot.emit = PyObject_GetAttrString(self, "emit");
    slot.name = PyUnicode_FromString("");
    PyObject *words = PyObject_GetAttrString(self, "words");
    slot.counts_words =
        words == slot.map && slot.kind == SLOT_COUNT && !slot.convert && !slot.is_bytes;
    Py_XDECREF(words);
    slot.into = &slot.table;
    bool is_good = slot.one && slot.emit && slot.name;
    if (is_good && (!fold_init(&slot.table, TABLE_BYTES / 2, set_aside, &slot) ||
                    !fold_init(&slot.held, TABLE_BYTES / 2, set_held_aside, &slot))) {
        PyErr_NoMemory();
        is_good = false;
    }
    slot_current = &slot;
    if (is_good && pthread_atfork(NULL, NULL, on_fork) != 0) {
        PyErr_NoMemory();
        is_good = false;
    }
    is_good = is_good && serve(&slot);
    slot_current = NULL;
    fini(&slot);
    if (!is_good)
        return NULL;
    Py_IncRef(Py_None);
    return Py_None;
}

// read_frame(fd) -> (kind, bytes), or None at the end: for the first frame, before there is a job.
static PyObject *py_read_frame(PyObject *self, PyObject *args)
{
    (void)self;
    struct slot slot = {0};
    bool has_ended;
    PyObject *result = NULL;
    if (!PyArg_ParseTuple(args, "i", &slot.in))
        return NULL;
    if (read_frame(&slot, &has_ended) && !has_ended)
        result = PyBytes_FromStringAndSize(slot.frame, (Py_ssize_t)slot.frame_size);
    free(slot.frame);
    if (!result && !PyErr_Occurred()) {
        Py_IncRef(Py_None);
        return Py_None;
    }
    return result;
}

static PyMethodDef methods[] = {
    {"serve", py_serve, METH_VARARGS, "Runs the tasks of a slot until the engine ends."},
    {"read_frame", py_read_frame, METH_VARARGS, "Reads the payload of one frame."},
    {"emit", (PyCFunction)(void (*)(void))slot_py_emit, METH_FASTCALL,
     "emit(key, value): adds a pair, inside mapfn. emit(key) counts one."},
    {"words", slot_py_words, METH_O,
     "words(text) -> the words of a str or bytes: runs of other bytes than ASCII white space.\n\n"
     "As the map of a count, with fold=weft.count, it runs in C and never calls Python."},
    {"encode", codec_py_encode, METH_VARARGS, "encode(object, is_key=True) -> bytes"},
    {"decode", codec_py_decode, METH_O, "decode(bytes) -> object"},
    {"show_pair", codec_py_show_pair, METH_VARARGS, "show_pair(key, value) -> its line of text"},
    {"decode_pairs", codec_py_decode_pairs, METH_O,
     "decode_pairs(bytes) -> (pairs, number of bytes used): the whole pairs of a typed output"},
    {"pairs_to_lines", codec_py_pairs_to_lines, METH_O,
     "pairs_to_lines(bytes) -> (lines, number of bytes used): the same pairs, a line each"},
    {"pair_of_line", codec_py_pair_of_line, METH_O, "pair_of_line(bytes) -> (key, value)"},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef module = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "weft._slot",
    .m_doc = "The hot path of Weft's Python jobs.",
    .m_size = -1,
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__slot(void);

PyMODINIT_FUNC PyInit__slot(void)
{
    PyObject *made = PyModule_Create(&module);
    codec_refused = PyErr_NewExceptionWithDoc(
        "weft._slot.Refused", "What user code gave cannot be taken; the text says why.",
        PyExc_TypeError, NULL);
    Py_XINCREF(codec_refused);
    if (made && (!codec_refused || PyModule_AddObject(made, "Refused", codec_refused) < 0))
        Py_CLEAR(made);
    return made;
}
