// Map: records out of a frame, mapfn called for each, and where its pairs go.
//
// The loop over what mapfn returns is the hot path of every Python job. It takes a generator, a list,
// a dict or any other iterable; exact 2-tuples and str keys cost no Python call.

#include "slot.h"

enum {
    CHUNK_BYTES = 16 << 10,  // of a block at a time: what mapfn makes of it stays in the cache
    GROUP_VALUES_MAX = 256,  // of one key, before they are folded
    GROUPS_MAX = 1 << 16,    // keys, before they are sent
    SMALL_SUM_BITS = 40,     // larger sums go as exact ints: the engine adds in 64 bits
};

struct slot *slot_current;

// ---- Keys ---------------------------------------------------------------------------------------------

// The encoded key: of most str it is there already. Borrowed until the next call.
static inline bool find_key(struct slot *slot, PyObject *key, const char **data, size_t *size)
{
    if (__builtin_expect(Py_TYPE(key) == &PyUnicode_Type, 1)) {
        Py_ssize_t length;
        *data = PyUnicode_AsUTF8AndSize(key, &length);
        *size = (size_t)length;
        if (__builtin_expect(*data != NULL, 1))
            return true;
        PyErr_Clear();
    }
    slot->scratch.size = 0;
    if (!codec_encode(&slot->scratch, key, true))
        return false;
    *data = slot->scratch.data ? slot->scratch.data : "";
    *size = slot->scratch.size;
    return true;
}

// ---- Sums ---------------------------------------------------------------------------------------------

static bool put_sum(struct slot *slot, struct out *out, const char *key, size_t size, int64_t sum)
{
    const uint32_t key_size = (uint32_t)size;
    return slot_begin_frame(out, out == &slot->sums ? 'N' : 'K') && out_append(out, &key_size, 4) &&
           out_append(out, &sum, 8) && out_append(out, key, size) && slot_send_when_full(slot, out);
}

static bool put_encoded(struct slot *slot, struct out *out, const char *key, size_t size,
                        PyObject *value)
{
    if (!slot_begin_frame(out, out == &slot->pairs ? 'P' : 'Q'))
        return false;
    const uint32_t sizes[2] = {(uint32_t)size, 0};
    const size_t begun = out->size;
    if (!out_append(out, sizes, sizeof sizes) || !out_append(out, key, size) ||
        !codec_encode(out, value, false)) {
        out->size = begun;
        return false;
    }
    const uint32_t value_size = (uint32_t)(out->size - begun - sizeof sizes - size);
    memcpy(out->data + begun + 4, &value_size, 4);
    return slot_send_when_full(slot, out);
}

static bool put_any_sum(struct slot *slot, struct out *sums, struct out *pairs, const char *key,
                        size_t size, int64_t sum)
{
    const int64_t limit = INT64_C(1) << SMALL_SUM_BITS;
    if (sum < limit && sum > -limit)
        return put_sum(slot, sums, key, size, sum);
    PyObject *number = PyLong_FromLongLong(sum);
    const bool is_good = number && put_encoded(slot, pairs, key, size, number);
    Py_XDECREF(number);
    return is_good;
}

static bool visit_sum(void *owner, const char *key, size_t size, int64_t sum)
{
    struct slot *slot = owner;
    return put_any_sum(slot, &slot->sums, &slot->pairs, key, size, sum);
}

static bool visit_held(void *owner, const char *key, size_t size, int64_t sum)
{
    struct slot *slot = owner;
    return put_any_sum(slot, &slot->held_sums, &slot->held_pairs, key, size, sum);
}

static bool check_memory(bool is_good)
{
    if (!is_good && !PyErr_Occurred())
        PyErr_NoMemory();
    return is_good;
}

static bool flush_table(struct slot *slot)
{
    return check_memory(
        fold_take(slot->into, slot->into == &slot->held ? visit_held : visit_sum, slot));
}

// The attempt has ended well: its sums join those of the ones before it, or are sent.
static bool end_table(struct slot *slot)
{
    if (slot->holds == SLOT_HOLDS_NOT)
        return flush_table(slot);
    return slot->holds == SLOT_HOLDS_MIXED ||
           check_memory(fold_move(&slot->table, &slot->held, visit_held, slot));
}

bool slot_send_held(struct slot *slot)
{
    return check_memory(fold_take(&slot->held, visit_held, slot)) &&
           slot_send(slot, &slot->held_sums) && slot_send(slot, &slot->held_pairs);
}

static inline bool add_number(struct slot *slot, const char *key, size_t size, int64_t number)
{
    struct fold *table = slot->into;
    fold_add(table, key, size, number);
    if (__builtin_expect(table->has_failed, 0)) {
        if (!PyErr_Occurred())
            PyErr_NoMemory();
        return false;
    }
    return __builtin_expect(!table->is_full, 1) || flush_table(slot);
}

bool slot_add_number(struct slot *slot, const char *key, size_t size, int64_t number)
{
    return add_number(slot, key, size, number);
}

static bool put_float(struct slot *slot, const char *key, size_t size, double value)
{
    const uint32_t key_size = (uint32_t)size;
    return slot_begin_frame(&slot->floats, 'G') && out_append(&slot->floats, &key_size, 4) &&
           out_append(&slot->floats, &value, 8) && out_append(&slot->floats, key, size) &&
           slot_send_when_full(slot, &slot->floats);
}

static bool is_summable(PyObject *value)
{
    const bool is_text = PyUnicode_Check(value) || PyBytes_Check(value);
    if (is_text)
        PyErr_Format(codec_refused, "mapfn gave the value %R, and fold = sum adds numbers", value);
    return !is_text;
}

static bool add_value(struct slot *slot, PyObject *key, PyObject *value)
{
    const char *data;
    size_t size;
    if (!find_key(slot, key, &data, &size))
        return false;
    if (__builtin_expect(value == slot->one, 1))
        return add_number(slot, data, size, 1);
    if (PyLong_Check(value)) {
        int is_larger;
        const long long number = PyLong_AsLongLongAndOverflow(value, &is_larger);
        if (!is_larger)
            return (number != -1 || !PyErr_Occurred()) && add_number(slot, data, size, number);
    } else if (Py_TYPE(value) == &PyFloat_Type) {
        return put_float(slot, data, size, PyFloat_AsDouble(value));
    }
    return is_summable(value) && put_encoded(slot, &slot->pairs, data, size, value);
}

// ---- A fold of the user's -----------------------------------------------------------------------------

// The values of a key become one.
static PyObject *fold_list(struct slot *slot, PyObject *list)
{
    const char *phase = slot->phase;
    slot->phase = "fold";
    if (!slot_report_call(slot))
        return NULL;
    PyObject *value = PyObject_CallFunctionObjArgs(slot->fold, list, NULL);
    if (value)
        slot->phase = phase;
    return value;
}

static bool flush_groups(struct slot *slot)
{
    PyObject *key, *list;
    Py_ssize_t at = 0;
    bool is_good = true;
    while (is_good && slot->groups && PyDict_Next(slot->groups, &at, &key, &list)) {
        char *data;
        Py_ssize_t size;
        PyObject *value;
        if (PyList_Size(list) > 1) {
            value = fold_list(slot, list);
        } else {
            value = PyList_GetItem(list, 0);
            Py_XINCREF(value);
        }
        is_good = value && PyBytes_AsStringAndSize(key, &data, &size) == 0 &&
                  put_encoded(slot, &slot->pairs, data, (size_t)size, value);
        Py_XDECREF(value);
    }
    if (slot->groups && is_good)
        PyDict_Clear(slot->groups);
    return is_good;
}

static bool shorten_group(struct slot *slot, PyObject *list)
{
    PyObject *value = fold_list(slot, list);
    const bool is_good = value && PyList_SetSlice(list, 0, PyList_Size(list), NULL) == 0 &&
                         PyList_Append(list, value) == 0;
    Py_XDECREF(value);
    return is_good;
}

static bool add_to_group(struct slot *slot, PyObject *key, PyObject *value)
{
    const char *data;
    size_t size;
    if (!slot->groups && !(slot->groups = PyDict_New()))
        return false;
    if (!find_key(slot, key, &data, &size))
        return false;
    PyObject *name = PyBytes_FromStringAndSize(data, (Py_ssize_t)size);
    PyObject *list = name ? PyDict_GetItemWithError(slot->groups, name) : NULL;
    bool is_good = name && (list || !PyErr_Occurred());
    if (is_good && list) {
        is_good = PyList_Append(list, value) == 0 &&
                  (PyList_Size(list) < GROUP_VALUES_MAX || shorten_group(slot, list));
    } else if (is_good) {
        list = PyList_New(0);
        is_good = list && PyList_Append(list, value) == 0 &&
                  PyDict_SetItem(slot->groups, name, list) == 0;
        Py_XDECREF(list);
    }
    Py_XDECREF(name);
    return is_good && (PyDict_Size(slot->groups) < GROUPS_MAX || flush_groups(slot));
}

// ---- Pairs --------------------------------------------------------------------------------------------

// What mapfn gives is the output. Where that is only so because one record is looked at alone, the pair
// must be one that could travel: else a record that fails would not fail here.
static bool put_output(struct slot *slot, PyObject *key, PyObject *value)
{
    slot->scratch.size = 0;
    if (slot->kind == SLOT_SUM && !is_summable(value))
        return false;
    if (slot->kind != SLOT_MAP_ONLY &&
        (!codec_encode(&slot->scratch, key, true) || !codec_encode(&slot->scratch, value, false)))
        return false;
    if (slot->output < SLOT_OUT_NO_TEXT)
        return slot_put_pair(slot, key, value);
    if (slot->kind != SLOT_MAP_ONLY)
        return true;
    if (slot->output == SLOT_OUT_NO_TEXT)
        return codec_append_shown(&slot->scratch, key) &&
               (value == Py_None || codec_append_shown(&slot->scratch, value));
    return codec_encode(&slot->scratch, key, true) && codec_encode(&slot->scratch, value, false);
}

static inline __attribute__((always_inline)) bool put_now(struct slot *slot, PyObject *key,
                                                          PyObject *value)
{
    if (__builtin_expect(slot->output != SLOT_OUT_PAIRS, 0))
        return put_output(slot, key, value);
    switch (slot->kind) {
    case SLOT_SUM:
    case SLOT_COUNT:
        return add_value(slot, key, value);
    case SLOT_FOLD:
        return add_to_group(slot, key, value);
    default: {
        const char *data;
        size_t size;
        return find_key(slot, key, &data, &size) &&
               put_encoded(slot, &slot->pairs, data, size, value);
    }
    }
}

bool slot_put_now(struct slot *slot, PyObject *key, PyObject *value)
{
    return put_now(slot, key, value);
}

static inline bool put(struct slot *slot, PyObject *key, PyObject *value)
{
    return __builtin_expect(slot->passes_emit, 0) ? slot_put_alone(slot, key, value)
                                                  : put_now(slot, key, value);
}

bool slot_flush(struct slot *slot)
{
    return flush_groups(slot) && end_table(slot) && slot_send(slot, &slot->sums) &&
           slot_send(slot, &slot->floats) && slot_send(slot, &slot->pairs);
}

static bool refuse_item(const struct slot *slot, PyObject *item)
{
    const Py_ssize_t count = PyTuple_Check(item) ? PyTuple_Size(item) : -1;
    if (count >= 0)
        PyErr_Format(codec_refused, "%s gave a tuple of %zd items, not (key, value)", slot->phase,
                     count);
    else
        PyErr_Format(codec_refused,
                     "%s gave %R, not (key, value); for keys that count one each: fold = "
                     "weft.count",
                     slot->phase, item);
    return false;
}

// One item of what mapfn gave; borrowed.
static inline bool put_item(struct slot *slot, PyObject *item)
{
    if (slot->kind == SLOT_COUNT)
        return put(slot, item, slot->one);
    // PyTuple_Check and PyTuple_Size are calls in the limited API: they are for subclasses.
    const bool is_tuple = Py_TYPE(item) == &PyTuple_Type || PyTuple_Check(item);
    if (__builtin_expect(is_tuple && Py_SIZE(item) == 2, 1))
        return put(slot, PyTuple_GetItem(item, 0), PyTuple_GetItem(item, 1));
    if (slot->kind == SLOT_MAP_ONLY && !PyTuple_Check(item))
        return put(slot, item, Py_None);
    return refuse_item(slot, item);
}

static bool put_dict(struct slot *slot, PyObject *dict)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    bool is_good = true;
    while (is_good && PyDict_Next(dict, &at, &key, &value)) {
        Py_INCREF(key);
        Py_INCREF(value);
        is_good = put(slot, key, value);
        Py_DECREF(key);
        Py_DECREF(value);
    }
    return is_good;
}

// Item i of a list, borrowed; NULL after its end. Pickling an item can run code that changes the list.
static inline PyObject *item_of(PyObject *list, Py_ssize_t i, Py_ssize_t count)
{
    PyObject *item = i < count ? PyList_GetItem(list, i) : NULL;
    if (i < count && !item)
        PyErr_Clear();
    return item;
}

// A list of keys that count one each: the shortest way from Python to the table.
static bool count_list(struct slot *slot, PyObject *list)
{
    struct fold *table = slot->into;
    const Py_ssize_t count = PyList_Size(list);
    PyObject *key;
    bool is_good = true;
    for (Py_ssize_t i = 0; is_good && (key = item_of(list, i, count)); i++) {
        const bool is_str = Py_TYPE(key) == &PyUnicode_Type;
        Py_ssize_t length;
        const char *data = is_str ? PyUnicode_AsUTF8AndSize(key, &length) : NULL;
        if (__builtin_expect(!data, 0)) {
            PyErr_Clear();
            Py_INCREF(key);
            is_good = add_value(slot, key, slot->one);
            Py_DECREF(key);
            continue;
        }
        fold_add(table, data, (size_t)length, 1);
        if (__builtin_expect(table->is_full | table->has_failed, 0))
            is_good = check_memory(!table->has_failed) && flush_table(slot);
    }
    return is_good;
}

static bool put_list(struct slot *slot, PyObject *list)
{
    PyObject *item;
    bool is_good = true;
    if (slot->kind == SLOT_COUNT && slot->output == SLOT_OUT_PAIRS && !slot->passes_emit)
        return count_list(slot, list);
    const Py_ssize_t count = PyList_Size(list);
    for (Py_ssize_t i = 0; is_good && (item = item_of(list, i, count)); i++) {
        Py_INCREF(item);
        is_good = put_item(slot, item);
        Py_DECREF(item);
    }
    return is_good;
}

static void refuse_result(PyObject *result)
{
    PyErr_Format(codec_refused,
                 "mapfn returned %R; it must yield or return pairs (key, value), or a list of keys",
                 (PyObject *)Py_TYPE(result));
}

static bool put_all(struct slot *slot, PyObject *iterable)
{
    PyObject *iterator = PyObject_GetIter(iterable), *item;
    bool is_good = iterator;
    if (!iterator && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear();
        refuse_result(iterable);
    }
    while (is_good && (item = PyIter_Next(iterator))) {
        is_good = put_item(slot, item);
        Py_DECREF(item);
    }
    Py_XDECREF(iterator);
    return is_good && !PyErr_Occurred();
}

// What mapfn returned; takes it.
static bool take_result(struct slot *slot, PyObject *result)
{
    bool is_good = false;
    if (!result)
        return false;
    if (PyList_Check(result))
        is_good = put_list(slot, result);
    else if (PyDict_Check(result))
        is_good = put_dict(slot, result);
    else if (result == Py_None && slot->passes_emit)
        is_good = true;
    else if (result == Py_None)
        PyErr_SetString(codec_refused, "mapfn returned None; it must yield or return pairs "
                                       "(key, value), if only an empty list");
    else if (PyUnicode_Check(result) || PyBytes_Check(result))
        refuse_result(result);
    else
        is_good = put_all(slot, result);
    Py_DECREF(result);
    return is_good;
}

// ---- Records ------------------------------------------------------------------------------------------

static PyObject *make_record(const struct slot *slot, const char *data, size_t size)
{
    PyObject *text = slot->is_bytes
                         ? PyBytes_FromStringAndSize(data, (Py_ssize_t)size)
                         : PyUnicode_DecodeUTF8(data, (Py_ssize_t)size, "surrogateescape");
    if (!text || !slot->convert)
        return text;
    PyObject *record = PyObject_CallFunctionObjArgs(slot->convert, text,
                                                    slot->header ? slot->header : Py_None, NULL);
    Py_DECREF(text);
    return record;
}

static bool map_record(struct slot *slot, const char *data, size_t size, uint64_t offset)
{
    slot->offset = offset;
    if (__builtin_expect(slot->reports, 0) && !slot_report_call(slot))
        return false;
    PyObject *record = make_record(slot, data, size);
    if (!record)
        return false;
    slot->record = record;
    slot->is_mapping = true;
    PyObject *result;
    if (!slot->wants_name && !slot->passes_emit)
        result = PyObject_CallFunctionObjArgs(slot->map, record, NULL);
    else if (!slot->wants_name)
        result = PyObject_CallFunctionObjArgs(slot->map, record, slot->emit, NULL);
    else
        result = PyObject_CallFunctionObjArgs(slot->map, slot->name, record,
                                              slot->passes_emit ? slot->emit : NULL, NULL);
    const bool is_good = take_result(slot, result);
    slot_end_mapping(slot);
    slot_end_forked();
    if (!is_good)
        return false;  // the record is shown
    slot->record = NULL;
    Py_DECREF(record);
    return true;
}

// A line ends with the delimiter; a \r before \n is part of its end.
static bool map_lines(struct slot *slot, const char *data, size_t size, uint64_t offset,
                      char delimiter)
{
    const char *at = data, *const end = data + size;
    while (at < end) {
        const char *stop = memchr(at, delimiter, (size_t)(end - at));
        size_t length = (size_t)((stop ? stop : end) - at);
        if (stop && delimiter == '\n' && length && at[length - 1] == '\r')
            length--;
        if (!map_record(slot, at, length, offset + (uint64_t)(at - data)))
            return false;
        at = stop ? stop + 1 : end;
    }
    return true;
}

static bool map_chunks(struct slot *slot, const char *data, size_t size, uint64_t offset,
                       char delimiter)
{
    const char *at = data, *const end = data + size;
    while (at < end) {
        const char *stop = end;
        if (end - at > CHUNK_BYTES) {
            stop = memchr(at + CHUNK_BYTES, delimiter, (size_t)(end - at) - CHUNK_BYTES);
            stop = stop ? stop + 1 : end;
        }
        if (!map_record(slot, at, (size_t)(stop - at), offset + (uint64_t)(at - data)))
            return false;
        at = stop;
    }
    return true;
}

static bool map_framed(struct slot *slot, const char *data, size_t size)
{
    while (size >= 12) {
        uint64_t offset;
        uint32_t length;
        memcpy(&offset, data, 8);
        memcpy(&length, data + 8, 4);
        if (length > size - 12)
            break;
        if (!map_record(slot, data + 12, length, offset))
            return false;
        data += 12 + (size_t)length;
        size -= 12 + (size_t)length;
    }
    return true;
}

bool slot_map_frame(struct slot *slot)
{
    enum { HEAD_BYTES = 10 };
    uint64_t offset;
    if (slot->frame_size < HEAD_BYTES) {
        PyErr_SetString(PyExc_ValueError, "a frame of records is too short");
        return false;
    }
    memcpy(&offset, slot->frame, 8);
    const char *data = slot->frame + HEAD_BYTES;
    const size_t size = slot->frame_size - HEAD_BYTES;
    const char delimiter = slot->frame[9];
    slot->phase = "mapfn";
    slot->offset = offset;
    if (slot->counts_words && slot->output == SLOT_OUT_PAIRS)
        return slot_count_words(slot, data, size);
    switch ((enum slot_cut)slot->frame[8]) {
    case SLOT_CUT_LINES:
        return map_lines(slot, data, size, offset, delimiter);
    case SLOT_CUT_WHOLE:
        return map_record(slot, data, size, offset);
    case SLOT_CUT_CHUNKS:
        return map_chunks(slot, data, size, offset, delimiter);
    default:
        return map_framed(slot, data, size);
    }
}
