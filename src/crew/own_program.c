// Looks at the path, and whether a file is there.

#include "crew/own_program.h"

#include <string.h>

#include "sys/file/file.h"

static bool is_file(const char *path)
{
    struct file_stat stat;
    if (file_stat(path, &stat)) {
        err_clear();
        return false;
    }
    return stat.kind == FILE_REGULAR;
}

weft_err own_program_find(const char *program, const char *directory, const char **target)
{
    *target = NULL;
    if (directory || *program == '/' || !strchr(program, '/') || !is_file(program))
        return WEFT_OK;
    const char *below = program;
    while (strncmp(below, "./", 2) == 0)
        below += 2;
    if (strncmp(below, "../", 3) == 0)
        return err_set(
            WEFT_INVALID_ARGUMENT,
            "%s is not below this directory, and cannot have that path on another machine\n"
            "  try: --file %s, and the program ./%s",
            program, program, strrchr(program, '/') + 1);
    *target = below;
    return WEFT_OK;
}
