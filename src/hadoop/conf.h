// A configuration file of Hadoop (-conf FILE), turned into the words -D NAME=VALUE. Pure. Thread: any.
//
//   <configuration>
//     <property><name>mapreduce.job.reduces</name><value>2</value></property>
//   </configuration>
#ifndef HADOOP_CONF_H
#define HADOOP_CONF_H

#include "hadoop/streaming.h"

// Appends two words for each property, in the order of the file. INVALID_ARGUMENT with the path and
// the line if something cannot be read.
MUST_CHECK weft_err streaming_read_conf(const char *path, weft_bytes text,
                                        struct streaming_list *words);

#endif
