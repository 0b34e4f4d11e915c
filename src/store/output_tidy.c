// output: files beside a target that runs before this one were killed over.
//
// A run writes FILE under a name of its own and holds a lock on it (sys/file/file.h). The kernel takes the lock away however the
// run ends, so a file of such a name that is not locked belongs to a run that was killed.

#include "store/output_state.h"

#include <stdlib.h>

#include "base/buf.h"
#include "sys/file/file.h"
#include "sys/file/place.h"

enum {
    NAMES_MAX = 100000
};  // looked at: a directory of millions must not cost each run half a second

struct search {
    const char *target;
    const char *parent;
    uint32_t seen;
};

static weft_err remove_left(void *owner, const char *name)
{
    struct search *search = owner;
    if (++search->seen > NAMES_MAX)
        return WEFT_OUT_OF_RANGE;
    if (!place_is_made_name(search->target, name))
        return WEFT_OK;
    struct buf path = {0};
    buf_format(&path, "%s/%s", search->parent, name);
    // Another user's may not be ours to remove; a directory is not a FILE.
    if (!path.has_failed && file_is_left(buf_text(&path)) && file_remove(buf_text(&path)))
        err_clear();
    buf_fini(&path);
    return WEFT_OK;
}

void output_tidy_left(const struct output *output)
{
    char *parent = NULL;
    if (output->kind != TARGET_FILE || output->may_resume || !output->target)
        return;
    if (place_parent(output->target, &parent) == WEFT_OK) {
        struct search search = {.target = output->target, .parent = parent};
        if (file_list(parent, remove_left, &search))
            err_clear();
    }
    free(parent);
    err_clear();
}
