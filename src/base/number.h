// Numbers as text: the fast way out, the strict way in.
#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H

#include <weft/weft.h>

enum { NUMBER_TEXT_MAX = 32 };  // room every writer below needs

// Write without a terminator and return the end.
char *number_write_int(char *to, int64_t value);
char *number_write_double(
    char *to, double value);  // the shortest text that reads back the same: 0.1, 3, 1e+300

// The whole text must be a number; leading and trailing blanks are refused.
bool number_read_int(weft_bytes text, int64_t *value);
bool number_read_double(weft_bytes text, double *value);

#endif
