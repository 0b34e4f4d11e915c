// output: a server has its target for itself.
//
// Two runs of one machine may race for an output: the loser has wasted its own time. A server that loses has wasted the time of
// many machines, so none is let near its output. The mark is a locked file beside the target: the kernel takes the lock away however
// the server ends, and a file that is not locked means nothing.

#include "store/output_state.h"

#include <stdlib.h>

#include "sys/file/file.h"
#include "sys/file/place.h"

enum { TRIES_MAX = 20 };  // against servers that end just now, and take the file with them

static const char mark[] = "server";

static weft_err refuse(const struct output *output)
{
    return err_set(WEFT_ALREADY_EXISTS,
                   "a server is at work on %s\n  try: another name, or wait until it has ended",
                   output->shown);
}

weft_err output_check_server(const struct output *output)
{
    char *path = NULL;
    if (!output->target || output->claim)
        return WEFT_OK;
    weft_err err = output_name_beside(output, mark, &path);
    if (!err && file_is_locked(path))
        err = refuse(output);
    free(path);
    return err;
}

// Where nothing can be locked or made, the server works without the mark: writing the answer will say what is wrong with the place.
static weft_err give_up_claim(const char *path, weft_err why)
{
    err_clear();
    // A file that another user has put there stays.
    if (why != WEFT_PERMISSION_DENIED && file_remove(path))
        err_clear();
    return WEFT_OK;
}

weft_err output_claim(struct output *output)
{
    char *path = NULL;
    int fd = -1;
    if (!output->target)
        return WEFT_OK;
    weft_err err = output_name_beside(output, mark, &path);
    if (err)
        return err;
    for (int tries = 0; fd < 0 && tries < TRIES_MAX; tries++) {
        err = file_lock(path, &fd);
        if (err != WEFT_NOT_FOUND)
            break;
    }
    if (!err) {
        output->claim = path;
        output->claim_fd = fd;
        return WEFT_OK;
    }
    err = err == WEFT_UNAVAILABLE ? refuse(output) : give_up_claim(path, err);
    free(path);
    return err;
}

void output_tidy_claim(struct output *output)
{
    char *path = NULL;
    enum place_kind found;
    if (!output->target || output->claim)
        return;
    // Only who has the lock may remove the file: another server may be about to take it.
    if (output_name_beside(output, mark, &path) == WEFT_OK && place_look(path, &found) == WEFT_OK &&
        found != PLACE_FREE && output_claim(output) == WEFT_OK)
        output_let_go(output);
    free(path);
    err_clear();
}

// The name goes first: until the lock is gone, another server that has opened the file finds that it is no longer there.
void output_let_go(struct output *output)
{
    struct err_kept kept;
    if (!output->claim)
        return;
    err_keep(&kept);
    if (file_remove(output->claim))
        err_clear();
    err_put_back(&kept);
    file_close(output->claim_fd);
    free(output->claim);
    output->claim = NULL;
}
