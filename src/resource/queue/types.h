// queue_types: what a queue declares of its elements, and whether one is that.
//
// A queue without a signature holds texts: each element is one string, stored as its bytes. So does one
// whose signature says just that; a tuple of one string is a text there, also when it was pushed as a tuple. In all others
// elements are tuples (wire/tuple.h).
#ifndef RESOURCE_QUEUE_TYPES_H
#define RESOURCE_QUEUE_TYPES_H

#include "wire/tuple.h"

struct queue_types {
    struct tuple_declared *declared;  // borrows from the signature; NULL: texts
    size_t count;
    bool has_shapes;  // of all components, to the last dimension
};

// INVALID_ARGUMENT: the signature is none. One that says what is so without it becomes empty.
MUST_CHECK weft_err queue_types_check_signature(weft_bytes *signature);

// Reads a signature that was checked and stays where it is; false: no memory.
MUST_CHECK bool queue_types_init(struct queue_types *types, weft_bytes signature);
void queue_types_fini(struct queue_types *types);

// Whether an element may go in; INVALID_ARGUMENT says what was declared and what came.
MUST_CHECK weft_err queue_types_check(const struct queue_types *types, weft_bytes element,
                                      bool is_tuple);

// The stored bytes of an element that was checked.
weft_bytes queue_types_unwrap(const struct queue_types *types, weft_bytes element, bool *is_tuple);

#endif
