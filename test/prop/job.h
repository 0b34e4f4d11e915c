// What a seed draws: a job, its input, and what a plain sequential program makes of them.
#ifndef PROP_JOB_H
#define PROP_JOB_H

#include "base/buf.h"
#include "mapreduce/work/sort/pair.h"

enum kind { SUM, MIN, MAX, COLLECT, FIRST, DISTINCT, IDENTITY, MEAN, OWN, COUNT, WORDS, KINDS };

struct prop {
    uint64_t seed;
    enum kind kind;
    weft_job job;
    weft_bytes text;  // lines of KEY SPACE VALUE; a key may hold any byte but space and newline
    bool is_line;     // whole lines are emitted, without a value
    uint32_t part_count;
};

// The random numbers of a seed, one after the other.
void draw_begin(uint64_t seed);
uint32_t draw(uint32_t limit);

// Draws job and text; the text stays until the next call.
void prop_draw(struct prop *prop, uint64_t seed);

// What the job writes, sequentially. False: a sum does not fit 64 bits, so the job has to fail.
bool prop_twin(const struct prop *prop, struct buf *out);

// A second stage that sorts what the first one wrote by key, and what comes out of it.
extern const weft_job prop_second_job;
void prop_second_twin(const struct buf *first, struct buf *out);

#endif
