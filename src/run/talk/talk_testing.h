// For tests of lines that are printed: a file that the lines go to.
#ifndef RUN_TALK_TALK_TESTING_H
#define RUN_TALK_TALK_TESTING_H

#include <unistd.h>

#include "sys/file/file.h"

static int testing_file;

static inline int testing_make_file(void **state)
{
    (void)state;
    return file_create_nameless("/tmp", &testing_file) == WEFT_OK ? 0 : -1;
}

static inline int testing_close_file(void **state)
{
    (void)state;
    close(testing_file);
    return 0;
}

// The lines since the last call.
static inline const char *printed(void)
{
    static char text[4096];
    size_t got;
    assert_int_equal(file_read_at(testing_file, "f", text, sizeof text - 1, 0, &got), WEFT_OK);
    text[got] = 0;
    assert_int_equal(ftruncate(testing_file, 0), 0);
    lseek(testing_file, 0, SEEK_SET);
    return text;
}

#endif
