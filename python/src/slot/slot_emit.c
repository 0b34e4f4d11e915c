// emit(key, value): pairs from mapfn by calls, also of several threads.
//
// A pair is taken by code that lets other threads run: it sends frames, and calls fold and objects that are pickled. So only
// one thread does that at a time. The GIL guards the mark.

#include "slot.h"

#include <time.h>

static void let_others_run(void)
{
    enum { PAUSE_NS = 50000 };
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    Py_BEGIN_ALLOW_THREADS nanosleep(&pause, NULL);
    Py_END_ALLOW_THREADS
}

static bool refuse_emit(void)
{
    PyErr_SetString(PyExc_RuntimeError, "emit() works inside mapfn only");
    return false;
}

bool slot_put_alone(struct slot *slot, PyObject *key, PyObject *value)
{
    const unsigned long self = PyThread_get_thread_ident();
    while (slot->is_putting) {
        if (slot->putter == self)
            return refuse_emit();  // inside fold, or an object that is pickled
        let_others_run();
    }
    if (!slot->is_mapping)
        return refuse_emit();
    slot->is_putting = true;
    slot->putter = self;
    const bool is_good = slot_put_now(slot, key, value);
    slot->is_putting = false;
    return is_good;
}

// Threads that still run when mapfn has returned emit no more.
void slot_end_mapping(struct slot *slot)
{
    slot->is_mapping = false;
    while (__builtin_expect(slot->is_putting, 0))
        let_others_run();
}

PyObject *slot_py_emit(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    struct slot *slot = slot_current;
    if (!slot || !slot->is_mapping) {
        refuse_emit();
        return NULL;
    }
    if (count < 1 || count > 2) {
        PyErr_SetString(PyExc_TypeError, "emit(key, value) or emit(key), which counts one");
        return NULL;
    }
    if (!slot_put_alone(slot, args[0], count == 2 ? args[1] : slot->one))
        return NULL;
    Py_IncRef(Py_None);
    return Py_None;
}
