// log: where the lines go that the library has for the user of its program. Standard error, unless the program has
// asked for them by weft_set_log. Thread: any.
#ifndef SYS_LOG_H
#define SYS_LOG_H

#include "base/err.h"

bool log_is_taken(void);  // by the program

// Hands over whole lines, one at a time, without their ends; to standard error they are written as they are, by one call.
void log_lines(int fd, const char *text, size_t size);

#endif
