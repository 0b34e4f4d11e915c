// For tests: files of Hadoop's configuration in the folder of the test (sys/file/folder_testing.h).
#ifndef WIRE_HADOOP_PROPERTIES_TESTING_H
#define WIRE_HADOOP_PROPERTIES_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "sys/file/folder_testing.h"

static void write_file(const char *name, const char *text)
{
    FILE *file = fopen(testing_path(name), "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

#define PROPERTY(name, value) "<property><name>" name "</name><value>" value "</value></property>"
#define CONFIGURATION(properties)                                                                  \
    "<?xml version=\"1.0\"?><configuration>" properties "</configuration>"

#endif
