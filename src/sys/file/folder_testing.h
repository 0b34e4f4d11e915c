// For tests that make files: an empty folder of their own, removed after them. A test may also stand in it, with
// other files as its standard input and output: leaving the folder brings the old ones back.
#ifndef SYS_FILE_FOLDER_TESTING_H
#define SYS_FILE_FOLDER_TESTING_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sys/file/file.h"

static char testing_folder[] = "/tmp/weft-test-XXXXXX";
static int testing_kept[2];  // the standard input and output from before

static inline int testing_make_folder(void **state)
{
    (void)state;
    snprintf(testing_folder, sizeof testing_folder, "/tmp/weft-test-XXXXXX");
    return mkdtemp(testing_folder) ? 0 : -1;
}

static inline int testing_remove_folder(void **state)
{
    (void)state;
    return file_remove_tree(testing_folder) == WEFT_OK ? 0 : -1;
}

// Of a file in the folder. The last four are valid.
static inline const char *testing_path(const char *name)
{
    static char paths[4][256];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", testing_folder, name);
    return path;
}

static inline int testing_enter_folder(void **state)
{
    fflush(stdout);
    for (int fd = STDIN_FILENO; fd <= STDOUT_FILENO; fd++)
        testing_kept[fd] = dup(fd);
    return testing_make_folder(state) == 0 ? chdir(testing_folder) : -1;
}

static inline int testing_leave_folder(void **state)
{
    for (int fd = STDIN_FILENO; fd <= STDOUT_FILENO; fd++) {
        dup2(testing_kept[fd], fd);
        close(testing_kept[fd]);
    }
    return chdir("/") == 0 ? testing_remove_folder(state) : -1;
}

#endif
