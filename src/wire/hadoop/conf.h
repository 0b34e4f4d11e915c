// A configuration file of Hadoop. Pure. Thread: any.
//
//   <configuration>
//     <property><name>mapreduce.job.reduces</name><value>2</value></property>
//   </configuration>
#ifndef WIRE_HADOOP_CONF_H
#define WIRE_HADOOP_CONF_H

#include "base/err.h"

// One property; the bytes are there during the call only. A failure ends the reading.
typedef weft_err conf_visit_fn(void *owner, weft_bytes name, weft_bytes value);

// All properties in the order of the file. INVALID_ARGUMENT with the path, for sentences, and the line if something cannot be read.
MUST_CHECK weft_err conf_read(const char *path, weft_bytes text, conf_visit_fn *visit, void *owner);

#endif
