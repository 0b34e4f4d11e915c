// cluster.h: what the types of the cluster API share: the cluster object, and how a call that may wait is made.
//
//     if (call_begin(cluster)) return NULL;
//     Py_BEGIN_ALLOW_THREADS err = weft_...; Py_END_ALLOW_THREADS
//     if (call_end(cluster, err)) return NULL;
//
// In between, Ctrl-C ends the call: the library asks wait.c now and then. A cluster that was left, or that belongs to
// the process that forked this one, is refused before.
#ifndef PYTHON_CLUSTER_H
#define PYTHON_CLUSTER_H

#include "extension.h"

struct cluster_object {
    PyObject_HEAD weft_cluster *cluster;  // NULL: left
    unsigned fork_count;                  // of the process that joined
    unsigned call_count;                  // under way, guarded by the GIL
    bool has_raised;                      // a failure of a call has reached the program
};

// 0, or -1 with an exception.
int call_begin(struct cluster_object *cluster);

// -1 with an exception: the call failed, or a signal handler raised. The exception of that comes first.
int call_end(struct cluster_object *cluster, weft_err err);

// Whether handles of the cluster may still be freed: not after a fork, and not after it was left.
bool cluster_is_usable(const struct cluster_object *cluster);

// wait.c: the calling thread is in a call that a signal may end.
int wait_install(void);
unsigned wait_fork_count(void);
void wait_begin(void);
void wait_end(void);

// text.c: bytes of a str (as UTF-8), or of an object with a buffer. None means no bytes. release_bytes frees them.
struct borrowed_bytes {
    weft_bytes bytes;
    Py_buffer view;
};
int borrow_bytes(PyObject *object, struct borrowed_bytes *out);     // -1 with an exception
int borrow_optional(PyObject *object, struct borrowed_bytes *out);  // NULL and None: none
void release_bytes(struct borrowed_bytes *bytes);

// Seconds of a float or int to milliseconds, at least 1; None is 0. -1 with an exception.
int take_timeout(PyObject *seconds, uint32_t *timeout_ms);

// A type of the module: its name is after the dot of the spec's.
PyObject *add_type(PyObject *module, PyType_Spec *spec);

// The object as a cluster. NULL with an exception: it is of another type.
struct cluster_object *cluster_of(PyObject *object);

// item.c
struct item_object;
weft_item *item_begin(PyObject *item);  // of a weft.Item for a call; NULL with an exception
void item_end(PyObject *item);
PyObject *item_new(PyObject *queue, struct cluster_object *cluster, weft_queue *handle,
                   const weft_item *item);  // takes the item in all cases
int item_settle_quietly(PyObject *item);    // done, unless it was settled before
void item_return_quietly(PyObject *item);   // given back, unless it was settled before

#endif
