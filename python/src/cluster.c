// weft._weft.Cluster: a member of a cluster, or a program at a host. The package's class weft.Cluster is made of it.

#include "cluster.h"

#include <stdio.h>
#include <string.h>

#include "client/no_handle.h"

static PyObject *cluster_type;

// ---- Calls ---------------------------------------------------------------------------------------------------

static bool is_forked(const struct cluster_object *cluster)
{
    return cluster->fork_count != wait_fork_count();
}

bool cluster_is_usable(const struct cluster_object *cluster)
{
    return cluster->cluster && !is_forked(cluster);
}

int call_begin(struct cluster_object *cluster)
{
    if (is_forked(cluster)) {
        PyErr_SetString(PyExc_RuntimeError,
                        "this process was forked from the one that joined the cluster, and cannot "
                        "use its connections\n  try: join in the child, or start it with "
                        "subprocess or multiprocessing's \"spawn\"");
        return -1;
    }
    if (!cluster->cluster) {
        PyErr_SetString(PyExc_ValueError, "the cluster was left before");
        return -1;
    }
    cluster->call_count++;
    wait_begin();
    return 0;
}

int call_end(struct cluster_object *cluster, weft_err err)
{
    wait_end();
    cluster->call_count--;
    if (PyErr_Occurred())
        return -1;
    if (!err)
        return 0;
    cluster->has_raised = true;
    raise_error(err);
    return -1;
}

struct cluster_object *cluster_of(PyObject *object)
{
    const int is = PyObject_IsInstance(object, cluster_type);
    if (is == 0)
        PyErr_SetString(PyExc_TypeError, "a cluster is needed: weft.cluster() or weft.connect()");
    return is > 0 ? (struct cluster_object *)object : NULL;
}

// ---- Joining -------------------------------------------------------------------------------------------------

static int init(PyObject *self, PyObject *args, PyObject *names)
{
    struct cluster_object *cluster = (struct cluster_object *)self;
    weft_join_options options = {0};
    PyObject *patience = NULL;
    static char *keywords[] = {"config", "journal", "token_file", "patience", "at", NULL};
    if (!PyArg_ParseTupleAndKeywords(args, names, "|zzzOz", keywords, &options.config,
                                     &options.journal, &options.token_file, &patience,
                                     &options.at) ||
        take_timeout(patience, &options.patience_ms))
        return -1;
    if (cluster->cluster) {
        PyErr_SetString(PyExc_ValueError, "the cluster was joined before");
        return -1;
    }
    cluster->fork_count = wait_fork_count();
    wait_begin();
    Py_BEGIN_ALLOW_THREADS cluster->cluster = weft_join(&options);
    Py_END_ALLOW_THREADS wait_end();
    if (!cluster->cluster)
        raise_error(no_handle_reason());
    return cluster->cluster ? 0 : -1;
}

// ---- Leaving -------------------------------------------------------------------------------------------------

enum { LINE_BYTES_MAX = 2048 };
static _Thread_local char
    *said;  // where the reason goes that weft_leave reports; NULL: to standard error

static void take_line(void *unused, const char *line)
{
    (void)unused;
    if (!said) {
        fprintf(stderr, "%s\n", line);
        return;
    }
    const size_t size = strlen(said);
    snprintf(said + size, LINE_BYTES_MAX - size, "%s%s", size ? "\n" : "", line);
}

static PyObject *leave(PyObject *self, PyObject *unused)
{
    (void)unused;
    struct cluster_object *cluster = (struct cluster_object *)self;
    char line[LINE_BYTES_MAX] = "";
    if (!cluster->cluster)
        return none();
    if (cluster->call_count) {
        PyErr_Format(PyExc_RuntimeError, "%u calls of other threads still wait at the cluster",
                     cluster->call_count);
        return NULL;
    }
    if (call_begin(cluster))
        return NULL;
    weft_cluster *left = cluster->cluster;
    cluster->cluster = NULL;
    said = line;
    int code;
    Py_BEGIN_ALLOW_THREADS code = weft_leave(left);
    Py_END_ALLOW_THREADS said = NULL;
    if (call_end(cluster, WEFT_OK))
        return NULL;
    return Py_BuildValue("(isO)", code, line, cluster->has_raised ? Py_True : Py_False);
}

static void dealloc(PyObject *self)
{
    struct cluster_object *cluster = (struct cluster_object *)self;
    PyTypeObject *type = Py_TYPE(self);
    if (cluster_is_usable(cluster)) {
        Py_BEGIN_ALLOW_THREADS weft_leave(cluster->cluster);
        Py_END_ALLOW_THREADS
    }
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DecRef((PyObject *)type);
}

// ---- Who we are ----------------------------------------------------------------------------------------------

static PyObject *role(PyObject *self, void *unused)
{
    (void)unused;
    return PyUnicode_FromString(weft_member_role(((struct cluster_object *)self)->cluster));
}

static PyObject *member_index(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLong(weft_member_index(((struct cluster_object *)self)->cluster));
}

static PyObject *count(PyObject *self, PyObject *name)
{
    const char *text = PyUnicode_AsUTF8AndSize(name, NULL);
    if (!text)
        return NULL;
    return PyLong_FromUnsignedLong(
        weft_member_count(((struct cluster_object *)self)->cluster, text));
}

static PyMethodDef methods[] = {
    {"_leave", leave, METH_NOARGS,
     "Leaves: (exit code, the first failure, whether it was raised)."},
    {"count", count, METH_O,
     "count(role) -> int\n\nHow many members the role has; 0 when there is no such role."},
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef getters[] = {
    {"role", role, NULL, "The role of this member, such as \"map\"; \"\" at a host.", NULL},
    {"index", member_index, NULL, "Its number in the role, from 0.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyType_Slot slots[] = {
    {Py_tp_doc, "A member of a cluster, or a program at a host."},
    {Py_tp_init, init},
    {Py_tp_dealloc, dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, getters},
    {0, NULL},
};
static PyType_Spec spec = {
    .name = "weft.Cluster",
    .basicsize = sizeof(struct cluster_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = slots,
};

int topic_cluster_add(PyObject *module)
{
    cluster_type = add_type(module, &spec);
    if (!cluster_type || wait_install())
        return -1;
    weft_set_log(take_line, NULL);
    return 0;
}
