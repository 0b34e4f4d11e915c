// The inputs of a streaming job: names, patterns and directories, with Hadoop's rules.
//
// A directory stands for the files in it, not for those below: a directory in it is an error,
// unless is_recursive. Names that begin with '.' or '_' are left out, also where they are named. A
// pattern knows * ? [ ] and { }, and its matches are in the order of their names; so are the files
// of a directory here (Hadoop takes them in the order of the file system). Thread: any.
#ifndef HADOOP_INPUTS_H
#define HADOOP_INPUTS_H

#include "hadoop/streaming.h"

// Appends the absolute names of all files of the inputs of the options, in order. A missing input,
// or one without files, is NOT_FOUND by its name. The output of an earlier run (options->output),
// found in a directory or by a pattern, is left out and appended to `left_out`; named, it is
// INVALID_ARGUMENT.
MUST_CHECK weft_err streaming_find_inputs(const struct streaming_options *options,
                                          struct streaming_list *paths,
                                          struct streaming_list *left_out);

// Appends the patterns without braces that a pattern stands for: "a{b,c{d,e}}" is "ab", "acd", "ace".
// Pure. A brace that is not closed is INVALID_ARGUMENT; more than 10,000 are RESOURCE_EXHAUSTED.
MUST_CHECK weft_err streaming_expand_braces(const char *pattern, struct streaming_list *patterns);

#endif
