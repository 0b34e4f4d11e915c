// Bisecting: finding the one record that makes a task fail, by trying parts of its input. Pure:
// returns the part to try next and is given the result.
//
// The input of the task is a line of bytes 0..size; a try is a stretch of it, and means the records
// that begin in that stretch. A caller that has a better idea of the place gives a guess, which is
// tried first. It takes one try without any record, log2(size) tries, and one more to confirm: a
// record that does harm only together with others, or only now and then, is not blamed.
#ifndef MAPREDUCE_COORD_BISECT_H
#define MAPREDUCE_COORD_BISECT_H

#include <stdbool.h>
#include <stdint.h>

#define BISECT_NO_GUESS UINT64_MAX

enum bisect_state {
    BISECT_NOTHING,     // no record at all is tried: a script may not even start
    BISECT_GUESSING,    // the guess is tried
    BISECT_HALVING,     // the first half of the rest is tried
    BISECT_CONFIRMING,  // one byte is left; the record that begins there is tried alone
    BISECT_FOUND,       // it is the record that begins at `begin`
    BISECT_NOT_ONE,     // no single record does it
    BISECT_NO_RECORD,   // it takes none
};

struct bisect {
    enum bisect_state state;
    uint64_t size, guess;
    uint64_t begin, end;  // the harm is in here
    uint32_t try_count;
};

// Begins for a task whose input has `size` bytes.
void bisect_init(struct bisect *bisect, uint64_t size, uint64_t guess);

// What to try now, an empty stretch for no record at all; false: it is over.
bool bisect_next(const struct bisect *bisect, uint64_t *begin, uint64_t *end);

// How that went.
void bisect_take(struct bisect *bisect, bool has_failed);

#endif
