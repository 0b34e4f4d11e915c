// vec: growable arrays of any type, as a pair of macros over {items, count, capacity}.
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

// struct with these three fields: `VEC(int) numbers;`
#define VEC(type)                                                                                  \
    struct {                                                                                       \
        type *items;                                                                               \
        size_t count, capacity;                                                                    \
    }

// Makes room for one more and points at it; NULL: out of memory. The item is not counted
// until the caller does `vec.count++`.
#define VEC_NEXT(vec)                                                                              \
    ((__typeof__((vec)->items))vec_next((void **)&(vec)->items, (vec)->count, &(vec)->capacity,    \
                                        sizeof *(vec)->items))

// Appends a copy; false: out of memory.
#define VEC_PUSH(vec, item) (VEC_NEXT(vec) ? ((vec)->items[(vec)->count++] = (item), true) : false)

#define VEC_FINI(vec) (free((vec)->items), (vec)->items = NULL, (vec)->count = (vec)->capacity = 0)

static inline void *vec_next(void **items, size_t count, size_t *capacity, size_t item_bytes)
{
    if (count == *capacity) {
        const size_t wanted = *capacity ? *capacity * 2 : 8;
        void *grown = realloc(*items, wanted * item_bytes);
        if (!grown)
            return NULL;
        *items = grown;
        *capacity = wanted;
    }
    return (char *)*items + count * item_bytes;
}

#endif
