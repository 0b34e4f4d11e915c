// properties: the settings of a Hadoop, from the files of $HADOOP_CONF_DIR (or $HADOOP_HOME/etc/hadoop). Thread: one.
#ifndef WIRE_HADOOP_PROPERTIES_H
#define WIRE_HADOOP_PROPERTIES_H

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "sys/machine/machine.h"

struct property_pair {
    char *name, *value;
};

struct properties {
    VEC(struct property_pair) all;
};

// Adds those of a file, such as "core-site.xml". No directory is named, or it has no such file: none are added. INVALID_ARGUMENT: it cannot be read.
MUST_CHECK weft_err properties_load(struct properties *properties, const char *file);
void properties_fini(struct properties *properties);  // zeroed is fine

// The value, without blanks around it, and with those that it refers to by ${NAME} in their places. "" when there is none.
void properties_find(const struct properties *properties, const char *name, char *value,
                     size_t size);

// Appends the directory of the files. False: none is named.
bool properties_directory(struct buf *directory);

// UNIMPLEMENTED: they ask for Kerberos, or for calls that are signed or encrypted.
MUST_CHECK weft_err properties_check_security(const struct properties *properties);

// "a, b,c": takes the next word; false at the end.
bool properties_next_word(const char **from, char *word, size_t size);

// By which name Hadoop knows this user: HADOOP_USER_NAME, or the user of this process.
void properties_find_user(char user[MACHINE_NAME_BYTES_MAX]);

#endif
