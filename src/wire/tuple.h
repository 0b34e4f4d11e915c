// tuple: an element of a queue in TensorFlow's form, and the types that a queue declares for its
// elements.
//
//     tuple       u16 count, then of each component: u8 dtype, u8 rank, u32 size, i64 dims[rank], content
//     signature   u16 count, then of each component: u8 dtype, i8 rank (-1: any), i64 dims[rank] (-1: any)
//
// The content is that of TensorFlow's tensor_content: numbers one after the other; of an array of
// strings all lengths as varints, then all bytes; of one string (rank 0) its bytes and nothing
// else. Little-endian, not aligned. All bytes that are read here come from untrusted peers: invalid
// ones are INVALID_ARGUMENT with a message that names the component.
#ifndef WIRE_TUPLE_H
#define WIRE_TUPLE_H

#include "wire/call.h"

// TensorFlow's DataType, as far as it has a content that can be shared.
enum tuple_dtype {
    TUPLE_FLOAT = 1,
    TUPLE_DOUBLE = 2,
    TUPLE_INT32 = 3,
    TUPLE_UINT8 = 4,
    TUPLE_INT16 = 5,
    TUPLE_INT8 = 6,
    TUPLE_STRING = 7,
    TUPLE_COMPLEX64 = 8,
    TUPLE_INT64 = 9,
    TUPLE_BOOL = 10,
    TUPLE_BFLOAT16 = 14,
    TUPLE_UINT16 = 17,
    TUPLE_COMPLEX128 = 18,
    TUPLE_HALF = 19,
    TUPLE_UINT32 = 22,
    TUPLE_UINT64 = 23,
};

enum {
    TUPLE_COMPONENTS_MAX = 128,
    TUPLE_RANK_MAX = 32,
    TUPLE_TYPE_BYTES = 128,  // of the text of a type; longer ones are cut
};

struct tuple_component {
    uint8_t dtype, rank;
    const void *dims;  // rank int64s, which need not be aligned; borrowed
    weft_bytes bytes;  // the content; borrowed
};

struct tuple_declared {
    uint8_t dtype;
    int8_t rank;       // -1: any
    const void *dims;  // -1 in there: any; borrowed
};

const char *tuple_dtype_name(uint8_t dtype);  // "float"; NULL: there is no such dtype
size_t tuple_dtype_size(uint8_t dtype);       // of one number; 0: string, or no such dtype

// "int64[2,?]", "float of any shape", "string".
void tuple_write_type(char text[TUPLE_TYPE_BYTES], uint8_t dtype, int rank, const void *dims);

// How many elements a shape has; false: a dimension is below 0, or they are more than 2^63 - 1.
bool tuple_count_elements(unsigned rank, const void *dims, uint64_t *count);

// Appends the encoding. INVALID_ARGUMENT: it could not be read back; then nothing is appended.
MUST_CHECK weft_err tuple_append(struct buf *out, const struct tuple_component *components,
                                 size_t count);

// The components of an encoded tuple; they borrow from `bytes`, all of which must be the tuple.
MUST_CHECK weft_err tuple_read(weft_bytes bytes,
                               struct tuple_component components[TUPLE_COMPONENTS_MAX],
                               size_t *count);

MUST_CHECK weft_err tuple_append_signature(struct buf *out, const struct tuple_declared *declared,
                                           size_t count);

// Takes a signature off the bytes; the bytes after it belong to the caller.
MUST_CHECK weft_err tuple_read_signature(weft_bytes *bytes,
                                         struct tuple_declared declared[TUPLE_COMPONENTS_MAX],
                                         size_t *count);

// Whether components have the declared types; INVALID_ARGUMENT names both where they differ.
MUST_CHECK weft_err tuple_match(const struct tuple_declared *declared, size_t declared_count,
                                const struct tuple_component *components, size_t count);

#endif
