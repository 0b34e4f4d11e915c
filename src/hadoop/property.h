// The properties of Hadoop jobs that matter to streaming: their newer and older names, and which of
// them change a result. Data; thread: any.
#ifndef HADOOP_PROPERTY_H
#define HADOOP_PROPERTY_H

#include "hadoop/streaming.h"

enum property_kind {
    PROPERTY_KNOWN,      // has a meaning here
    PROPERTY_FRAMEWORK,  // a given value is replaced by the framework's own
    PROPERTY_HARMLESS,   // cannot change a byte of the result
    PROPERTY_OWN,        // not Hadoop's: the scripts' own
    PROPERTY_REFUSED,    // changes the result in a way that Weft does not support
};

// The newer name of a property; the name itself if it was not renamed. Borrowed.
const char *property_newer_name(const char *name);

enum property_kind property_kind_of(const char *newer_name);

// Advice for a refused property; NULL: there is none.
const char *property_advice(const char *newer_name);

// Values as Hadoop reads them. False: the text is not such a value.
bool property_read_bool(const char *text, bool *value);
bool property_read_number(const char *text, uint64_t max, uint64_t *value);

#endif
