// The inputs of a streaming job: names, patterns and directories as Hadoop looks at them.
//
// A directory stands for the files in it, not for those below: a directory in it is an error, unless
// is_recursive. What begins with '.' or '_' is left out, also where it is named. A pattern knows * ? [ ]
// and { }, and its matches are in the order of their names; so are the files of a directory here (Hadoop
// takes them as the file system has them). Thread: any.
#ifndef HADOOP_INPUTS_H
#define HADOOP_INPUTS_H

#include "hadoop/streaming.h"

// Appends the absolute names of all files that the inputs of the options mean, in order. What is missing,
// or left nothing, is NOT_FOUND by its name. The output of an earlier run (options->output), found in a directory
// or by a pattern, is left out and appended to `left_out`; named, it is INVALID_ARGUMENT.
MUST_CHECK weft_err streaming_find_inputs(const struct streaming_options *options,
                                          struct streaming_list *paths,
                                          struct streaming_list *left_out);

// Appends the patterns without braces that a pattern stands for: "a{b,c{d,e}}" is "ab", "acd", "ace".
// Pure. A brace that is not closed is INVALID_ARGUMENT; more than 10,000 are RESOURCE_EXHAUSTED.
MUST_CHECK weft_err streaming_expand_braces(const char *pattern, struct streaming_list *patterns);

#endif
