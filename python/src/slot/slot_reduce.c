// Reduce: groups out of frames, and reducefn or fold called for each. A group may lie in several
// frames; its values are a list.

#include "slot.h"

static bool refuse_frame(void)
{
    PyErr_SetString(PyExc_ValueError, "a frame of groups is damaged");
    return false;
}

// ---- Results ------------------------------------------------------------------------------------------

static bool put_reduced(struct slot *slot, PyObject *item)
{
    if (PyTuple_Check(item) && PyTuple_Size(item) == 2)
        return slot_put_pair(slot, PyTuple_GetItem(item, 0), PyTuple_GetItem(item, 1));
    PyErr_Format(codec_refused, "reducefn yielded %R, not (key, value)", item);
    return false;
}

// An iterator gives pairs, a generator above all; anything else is the value of the key.
static bool take_result(struct slot *slot, PyObject *result)
{
    if (!result)
        return false;
    bool is_good = true;
    if (slot->kind == SLOT_REDUCE && PyIter_Check(result)) {
        PyObject *item;
        while (is_good && (item = PyIter_Next(result))) {
            is_good = put_reduced(slot, item);
            Py_DECREF(item);
        }
        is_good = is_good && !PyErr_Occurred();
    } else {
        is_good = slot_put_pair(slot, slot->key, result);
    }
    Py_DECREF(result);
    return is_good;
}

static bool end_group(struct slot *slot)
{
    PyObject *result;
    if (!slot->key || !slot->values)
        return refuse_frame();
    slot->phase = slot->kind == SLOT_REDUCE ? "reducefn" : "fold";
    if (!slot_report_call(slot))
        return false;
    if (slot->kind == SLOT_REDUCE) {
        result = PyObject_CallFunctionObjArgs(slot->reduce, slot->key, slot->values, NULL);
    } else {
        result = PyObject_CallFunctionObjArgs(slot->fold, slot->values, NULL);
    }
    const bool is_good = take_result(slot, result);
    slot_end_forked();
    if (!is_good || !slot_report_rest(slot))
        return false;  // the key is shown
    Py_CLEAR(slot->key);
    Py_CLEAR(slot->values);
    return true;
}

// ---- Items --------------------------------------------------------------------------------------------

static bool add_value(struct slot *slot, PyObject *value)
{
    const bool is_good =
        value && (slot->values ? PyList_Append(slot->values, value) == 0 : refuse_frame());
    Py_XDECREF(value);
    return is_good;
}

// A key or value of its own size; returns the size of the item, 0 for a failure.
static size_t read_sized(struct slot *slot, const char *data, size_t size)
{
    uint32_t length;
    if (size < 5)
        return refuse_frame();
    memcpy(&length, data + 1, 4);
    if (length > size - 5)
        return refuse_frame();
    if (data[0] == 'v')
        return add_value(slot, codec_decode(data + 5, length)) ? 5 + (size_t)length : 0;
    Py_CLEAR(slot->key);
    Py_CLEAR(slot->values);
    slot->is_pickled = length && (unsigned char)data[5] == CODEC_MARK_PICKLE;
    slot->key = codec_decode(data + 5, length);
    slot->values = PyList_New(0);
    return slot->key && slot->values ? 5 + (size_t)length : 0;
}

static size_t read_number(struct slot *slot, const char *data, size_t size)
{
    int64_t number;
    double real;
    if (size < 9)
        return refuse_frame();
    memcpy(&number, data + 1, 8);
    memcpy(&real, data + 1, 8);
    PyObject *value = data[0] == 'i' ? PyLong_FromLongLong(number) : PyFloat_FromDouble(real);
    return add_value(slot, value) ? 9 : 0;
}

bool slot_reduce_frame(struct slot *slot)
{
    const char *data = slot->frame;
    size_t size = slot->frame_size;
    slot->phase = "reducefn";
    while (size > 0) {
        size_t used;
        if (*data == 'k' || *data == 'v')
            used = read_sized(slot, data, size);
        else if (*data == 'i' || *data == 'd')
            used = read_number(slot, data, size);
        else
            used = *data == 'e' ? end_group(slot) : refuse_frame();
        if (!used)
            return false;
        data += used;
        size -= used;
    }
    return true;
}
