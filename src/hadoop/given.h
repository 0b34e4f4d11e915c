// The values that streaming.c takes from the words and settings.c interprets. Internal to both.
#ifndef HADOOP_GIVEN_H
#define HADOOP_GIVEN_H

#include "hadoop/streaming.h"

// Values of options that may be given once, unchanged; NULL: not given. Borrowed from the words, or
// from `room` of streaming_parse.
struct streaming_given {
    const char *mapper, *combiner, *reducer, *reduce_count;
    const char *partitioner, *input_format, *output_format, *io;
};

// Fills in all settings of the options from these and the properties.
MUST_CHECK weft_err streaming_settle(struct streaming_options *options,
                                     const struct streaming_given *given);

// "NAME is not supported...": UNIMPLEMENTED. `advice` may be NULL.
weft_err streaming_refuse(const char *what, const char *advice);

#endif
