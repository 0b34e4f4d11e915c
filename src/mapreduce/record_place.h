// The place where a record begins, as the name of a record that is left out. Both sides know it.
#ifndef MAPREDUCE_RECORD_PLACE_H
#define MAPREDUCE_RECORD_PLACE_H

#include <stdint.h>

// Where a record begins.
struct place {
    uint32_t input;
    uint64_t offset;
};

enum { BAD_TEXT_BYTES = 256 };

// A record that was left out: where, how long, its first bytes, and why.
struct bad_record {
    struct place place;
    uint64_t size;
    uint32_t text_size;
    char text[BAD_TEXT_BYTES];
    char reason[256];
};

#endif
