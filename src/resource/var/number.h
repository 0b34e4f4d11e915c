// var_number: arithmetic on the contents of vars, element by element, all or nothing.
#ifndef RESOURCE_VAR_NUMBER_H
#define RESOURCE_VAR_NUMBER_H

#include "wire/call.h"

// Whether values of this dtype can be added and compared: int32, int64, float and double can.
bool var_number_is_one(uint8_t dtype);

// Writes `now` combined with `operand` to `to`; each has `count` elements of the dtype and need not be
// aligned. op is CALL_VAR_ADD, _MIN or _MAX.
//
// An integer that does not fit is FAILED_PRECONDITION, and `to` is rubbish. (OUT_OF_RANGE would read
// better, but here it says that nothing more will come: loops and scripts take it for a good end, and a
// count that has overflowed is none.) Floating point numbers follow IEEE 754; of a number and a
// NaN, MIN and MAX take the number.
MUST_CHECK weft_err var_number_combine(uint8_t dtype, uint8_t op, char *to, const char *now,
                                       const char *operand, size_t count);

// Appends a value of the dtype, alone, as people read it; a long string is cut.
void var_number_tell(uint8_t dtype, weft_bytes value, struct buf *text);

#endif
