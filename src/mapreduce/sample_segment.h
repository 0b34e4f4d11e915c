// Which pairs a sample task after the first stage looks at: coordinator and worker have to agree on it.
#ifndef MAPREDUCE_SAMPLE_SEGMENT_H
#define MAPREDUCE_SAMPLE_SEGMENT_H

#include <stdint.h>

// Sample task i of n looks at the beginning of a segment that stands for its share of them.
static inline uint32_t sample_segment(uint32_t task, uint32_t sample_count, uint32_t segment_count)
{
    return (uint32_t)((uint64_t)task * segment_count / sample_count);
}

#endif
