// weft.Kv: a small sorted map, and weft.KvWalk: the entries of a range, or the changes of a watch.

#include "cluster.h"

#include "client/no_handle.h"

struct kv_object {
    PyObject_HEAD struct cluster_object *cluster;
    weft_kv *kv;
};

struct walk_object {
    PyObject_HEAD struct kv_object *kv;
    weft_kv_walk *walk;
    bool is_watch;
};

static PyObject *kv_type, *walk_type;

static int init(PyObject *object, PyObject *args, PyObject *names)
{
    struct kv_object *self = (struct kv_object *)object;
    static char *keywords[] = {"cluster", "path", "timeout", NULL};
    PyObject *cluster, *timeout = NULL;
    const char *path;
    uint32_t timeout_ms;
    if (!PyArg_ParseTupleAndKeywords(args, names, "Os|O", keywords, &cluster, &path, &timeout) ||
        take_timeout(timeout, &timeout_ms) || !cluster_of(cluster) ||
        call_begin(cluster_of(cluster)))
        return -1;
    self->cluster = (struct cluster_object *)new_reference(cluster);
    Py_BEGIN_ALLOW_THREADS self->kv = weft_kv_open(self->cluster->cluster, path);
    Py_END_ALLOW_THREADS weft_kv_set_timeout(self->kv, timeout_ms);
    return call_end(self->cluster, self->kv ? WEFT_OK : no_handle_reason());
}

static void dealloc(PyObject *object)
{
    struct kv_object *self = (struct kv_object *)object;
    PyTypeObject *type = Py_TYPE(object);
    if (self->kv && cluster_is_usable(self->cluster)) {
        Py_BEGIN_ALLOW_THREADS weft_kv_free(self->kv);
        Py_END_ALLOW_THREADS
    }
    Py_DecRef((PyObject *)self->cluster);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DecRef((PyObject *)type);
}

// ---- One key -------------------------------------------------------------------------------------------------

// (value, version, whether a member owns it), or None.
static PyObject *get(PyObject *object, PyObject *key)
{
    struct kv_object *self = (struct kv_object *)object;
    struct borrowed_bytes bytes;
    weft_kv_entry entry = {.version = 0};
    weft_err err;
    if (borrow_bytes(key, &bytes))
        return NULL;
    if (call_begin(self->cluster)) {
        release_bytes(&bytes);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS err = weft_kv_get(self->kv, bytes.bytes, &entry);
    Py_END_ALLOW_THREADS release_bytes(&bytes);
    PyObject *result = NULL;
    if (!call_end(self->cluster, err == WEFT_NOT_FOUND ? WEFT_OK : err))
        result =
            err ? none()
                : Py_BuildValue("(y#KO)", entry.value.size ? entry.value.data : "",
                                (Py_ssize_t)entry.value.size, (unsigned long long)entry.version,
                                entry.is_owned ? Py_True : Py_False);
    if (!err)
        weft_kv_entry_free(&entry);
    return result;
}

static int take_version(PyObject *version, weft_kv_options *options)
{
    if (version == Py_None)
        return 0;
    options->has_version = true;
    options->version = PyLong_AsUnsignedLongLong(version);
    return PyErr_Occurred() ? -1 : 0;
}

static PyObject *put_bytes(struct kv_object *self, weft_bytes key, weft_bytes value,
                           const weft_kv_options *options)
{
    uint64_t version = 0;
    weft_err err;
    if (call_begin(self->cluster))
        return NULL;
    Py_BEGIN_ALLOW_THREADS err = weft_kv_put(self->kv, key, value, options, &version);
    Py_END_ALLOW_THREADS return call_end(self->cluster, err) ? NULL
                                                             : PyLong_FromUnsignedLongLong(version);
}

static PyObject *put(PyObject *object, PyObject *args, PyObject *names)
{
    static char *keywords[] = {"key", "value", "owned", "version", NULL};
    PyObject *key, *value, *version = Py_None, *result = NULL;
    struct borrowed_bytes key_bytes, value_bytes;
    weft_kv_options options = {.version = 0};
    int is_owned = 0;
    if (!PyArg_ParseTupleAndKeywords(args, names, "OO|pO", keywords, &key, &value, &is_owned,
                                     &version) ||
        take_version(version, &options) || borrow_bytes(key, &key_bytes))
        return NULL;
    options.is_owned = is_owned;
    if (!borrow_bytes(value, &value_bytes)) {
        result =
            put_bytes((struct kv_object *)object, key_bytes.bytes, value_bytes.bytes, &options);
        release_bytes(&value_bytes);
    }
    release_bytes(&key_bytes);
    return result;
}

static PyObject *remove_key(PyObject *object, PyObject *args, PyObject *names)
{
    struct kv_object *self = (struct kv_object *)object;
    static char *keywords[] = {"key", "version", NULL};
    PyObject *key, *version = Py_None;
    struct borrowed_bytes bytes;
    weft_kv_options options = {.version = 0};
    weft_err err;
    if (!PyArg_ParseTupleAndKeywords(args, names, "O|O", keywords, &key, &version) ||
        take_version(version, &options) || borrow_bytes(key, &bytes))
        return NULL;
    if (call_begin(self->cluster)) {
        release_bytes(&bytes);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS err = weft_kv_remove(self->kv, bytes.bytes, &options);
    Py_END_ALLOW_THREADS release_bytes(&bytes);
    return call_end(self->cluster, err) ? NULL : none();
}

static PyObject *remove_all(PyObject *object, PyObject *unused)
{
    (void)unused;
    struct kv_object *self = (struct kv_object *)object;
    weft_err err;
    if (call_begin(self->cluster))
        return NULL;
    Py_BEGIN_ALLOW_THREADS err = weft_kv_remove_all(self->kv);
    Py_END_ALLOW_THREADS return call_end(self->cluster, err) ? NULL : none();
}

// ---- Many keys -----------------------------------------------------------------------------------------------

static PyObject *start_walk(struct kv_object *self, weft_bytes from, weft_bytes to, bool is_watch)
{
    const allocfunc alloc = (allocfunc)PyType_GetSlot((PyTypeObject *)walk_type, Py_tp_alloc);
    struct walk_object *walk = (struct walk_object *)alloc((PyTypeObject *)walk_type, 0);
    if (!walk)
        return NULL;
    walk->kv = (struct kv_object *)new_reference((PyObject *)self);
    walk->is_watch = is_watch;
    if (call_begin(self->cluster)) {
        Py_DecRef((PyObject *)walk);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS walk->walk =
        is_watch ? weft_kv_watch(self->kv, from) : weft_kv_range(self->kv, from, to);
    Py_END_ALLOW_THREADS if (!call_end(self->cluster,
                                       walk->walk ? WEFT_OK
                                                  : no_handle_reason())) return (PyObject *)walk;
    Py_DecRef((PyObject *)walk);
    return NULL;
}

static PyObject *range(PyObject *object, PyObject *args, PyObject *names)
{
    static char *keywords[] = {"start", "stop", NULL};
    PyObject *from = NULL, *to = NULL, *walk = NULL;
    struct borrowed_bytes from_bytes, to_bytes;
    if (!PyArg_ParseTupleAndKeywords(args, names, "|OO", keywords, &from, &to) ||
        borrow_optional(from, &from_bytes))
        return NULL;
    if (!borrow_optional(to, &to_bytes)) {
        walk = start_walk((struct kv_object *)object, from_bytes.bytes, to_bytes.bytes, false);
        release_bytes(&to_bytes);
    }
    release_bytes(&from_bytes);
    return walk;
}

static PyObject *watch(PyObject *object, PyObject *args, PyObject *names)
{
    static char *keywords[] = {"prefix", NULL};
    PyObject *prefix = NULL;
    struct borrowed_bytes bytes;
    if (!PyArg_ParseTupleAndKeywords(args, names, "|O", keywords, &prefix) ||
        borrow_optional(prefix, &bytes))
        return NULL;
    PyObject *walk = start_walk((struct kv_object *)object, bytes.bytes, weft_none(), true);
    release_bytes(&bytes);
    return walk;
}

// (key, value): the value is None when the key was removed; both are None when all keys are to be forgotten.
static PyObject *make_pair(const weft_kv_entry *entry)
{
    if (entry->what == WEFT_KV_RESET)
        return Py_BuildValue("(OO)", Py_None, Py_None);
    PyObject *key =
        PyUnicode_DecodeUTF8(entry->key.data, (Py_ssize_t)entry->key.size, "surrogateescape");
    if (entry->what == WEFT_KV_REMOVED)
        return Py_BuildValue("(NO)", key, Py_None);
    return Py_BuildValue("(Ny#)", key, entry->value.size ? entry->value.data : "",
                         (Py_ssize_t)entry->value.size);
}

static PyObject *walk_next(PyObject *object)
{
    struct walk_object *self = (struct walk_object *)object;
    weft_kv_entry entry = {.version = 0};
    bool has_one;
    if (call_begin(self->kv->cluster))
        return NULL;
    weft_err err = WEFT_OK;
    Py_BEGIN_ALLOW_THREADS has_one = weft_kv_next(self->walk, &entry);
    if (!has_one)
        err = weft_kv_walk_error(self->walk);
    Py_END_ALLOW_THREADS if (call_end(self->kv->cluster,
                                      err == WEFT_OUT_OF_RANGE ? WEFT_OK : err) ||
                             !has_one) return NULL;
    return make_pair(&entry);
}

static void walk_dealloc(PyObject *object)
{
    struct walk_object *self = (struct walk_object *)object;
    PyTypeObject *type = Py_TYPE(object);
    if (self->walk && cluster_is_usable(self->kv->cluster)) {
        Py_BEGIN_ALLOW_THREADS weft_kv_walk_free(self->walk);
        Py_END_ALLOW_THREADS
    }
    Py_DecRef((PyObject *)self->kv);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DecRef((PyObject *)type);
}

static PyMethodDef methods[] = {
    {"_get", get, METH_O, "_get(key) -> (value, version, is owned), or None"},
    {"put", (PyCFunction)(void (*)(void))put, METH_VARARGS | METH_KEYWORDS,
     "put(key, value, owned=False, version=None) -> int\n\nReturns the new version. `owned`: the key is "
     "removed when this member leaves or is lost.\n`version`: only if the key has it (0: only if there is "
     "no such key); otherwise raises\nweft.FailedPrecondition."},
    {"remove", (PyCFunction)(void (*)(void))remove_key, METH_VARARGS | METH_KEYWORDS,
     "remove(key, version=None)\n\nRemoves a key; one that does not exist is not an error."},
    {"remove_all", remove_all, METH_NOARGS,
     "remove_all()\n\nRemoves the map itself, for everyone."},
    {"range", (PyCFunction)(void (*)(void))range, METH_VARARGS | METH_KEYWORDS,
     "range(start=None, stop=None)\n\nAn iterator of (key, value) in bytewise order of the keys."},
    {"watch", (PyCFunction)(void (*)(void))watch, METH_VARARGS | METH_KEYWORDS,
     "watch(prefix=None)\n\nAn iterator of all (key, value) with the prefix, then of their changes. A value "
     "of None:\nthe key was removed. (None, None): changes were missed, forget all keys; the present ones\n"
     "follow. It ends when no other member can change the keys any more."},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot slots[] = {
    {Py_tp_doc, "A small sorted map."}, {Py_tp_init, init}, {Py_tp_dealloc, dealloc},
    {Py_tp_methods, methods},           {0, NULL},
};
static PyType_Spec spec = {
    .name = "weft.Kv",
    .basicsize = sizeof(struct kv_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = slots,
};
static PyType_Slot walk_slots[] = {
    {Py_tp_doc, "Entries of a map."},
    {Py_tp_dealloc, walk_dealloc},
    {Py_tp_iter, PyObject_SelfIter},
    {Py_tp_iternext, walk_next},
    {0, NULL},
};
static PyType_Spec walk_spec = {
    .name = "weft.KvWalk",
    .basicsize = sizeof(struct walk_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = walk_slots,
};

int topic_kv_add(PyObject *module)
{
    kv_type = add_type(module, &spec);
    walk_type = add_type(module, &walk_spec);
    return kv_type && walk_type ? 0 : -1;
}
