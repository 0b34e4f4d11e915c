// lean: a few places, in order.

#include "sys/process/lean.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sys/file/file.h"
#include "sys/process/command.h"

static const char name[] = "weft-lean";

#ifdef WEFT_STATIC
static const bool is_static = true;
#else
static const bool is_static = false;
#endif

// Whether there is such a program below the directory; *path is its.
static bool is_below(const char *folder, const char *below, char **path)
{
    struct file_stat status;
    if (asprintf(path, "%s/%s%s", folder, below, name) < 0)
        *path = NULL;
    if (*path && file_stat(*path, &status) == WEFT_OK && status.kind == FILE_REGULAR &&
        file_is_executable(*path))
        return true;
    free(*path);
    *path = NULL;
    return false;
}

static weft_err use_named(const char *named, char **path)
{
    if (!file_is_executable(named))
        return err_set(WEFT_NOT_FOUND, "WEFT_LEAN names %s, which is not a program", named);
    *path = strdup(named);
    return *path ? WEFT_OK : err_no_memory("for a path");
}

weft_err lean_find(char **path)
{
    char *own = NULL;
    const char *named = getenv("WEFT_LEAN");
    *path = NULL;
    if (named && *named)
        return use_named(named, path);
    weft_err code = command_own_path(&own);
    if (code != WEFT_OK)
        return code;
    if (is_static) {
        *path = own;
        return WEFT_OK;
    }
    char *slash = strrchr(own, '/');
    if (slash)
        *slash = 0;
    if (!is_below(own, "", path) && !is_below(own, "../lib/weft/", path))
        code = err_set(WEFT_NOT_FOUND,
                       "there is no %s, the command for other machines\n  looked in %s and "
                       "%s/../lib/weft\n  try: WEFT_LEAN=PATH, or make and make install again",
                       name, own, own);
    free(own);
    return code;
}
