// The directories of agents whose host lost its power: nothing could remove them then. An agent holds a lock in its own, so
// the next one on the host knows which are left.

#include <string.h>

#include "launch/far/host_agent_state.h"
#include "sys/file/file.h"
#include "sys/file/own.h"

#define LOCK_NAME ".weft-alive"

static const char prefix[] = "weft-work-";  // as sys/file/workdir.h names them

struct tidy {
    const char *tmp, *own;
};

// Others' directories, those of other commands, and any trouble with one do not keep this agent from starting.
static weft_err look(void *owner, const char *name)
{
    const struct tidy *tidy = owner;
    struct buf path = {0}, lock = {0};
    if (strncmp(name, prefix, strlen(prefix)) != 0)
        return WEFT_OK;
    buf_format(&path, "%s/%s", tidy->tmp, name);
    buf_format(&lock, "%s/%s", buf_text(&path), LOCK_NAME);
    if (!path.has_failed && !lock.has_failed && strcmp(buf_text(&path), tidy->own) != 0 &&
        own_check_directory(buf_text(&path)) == WEFT_OK && file_is_left(buf_text(&lock)) &&
        file_remove_tree(buf_text(&path)))
        err_clear();
    err_clear();
    buf_fini(&path);
    buf_fini(&lock);
    return WEFT_OK;
}

// It gets its name when it is locked: an agent that starts at the same moment would take it for one that was left.
static weft_err lock_own(struct host_agent *agent)
{
    struct buf lock = {0}, early = {0};
    buf_format(&lock, "%s/%s", agent->directory.path, LOCK_NAME);
    buf_format(&early, "%s.new", buf_text(&lock));
    weft_err err = lock.has_failed || early.has_failed ? err_no_memory("for a path") : WEFT_OK;
    if (!err)
        err = file_create_held(buf_text(&early), &agent->lock);
    if (!err)
        err = file_rename(buf_text(&early), buf_text(&lock));
    buf_fini(&lock);
    buf_fini(&early);
    return err;
}

void host_agent_tidy(struct host_agent *agent, const char *tmp)
{
    struct tidy tidy = {.tmp = tmp, .own = agent->directory.path};
    // Without the lock the directory is not known as left later: that is all.
    if (lock_own(agent))
        err_clear();
    if (file_list(tmp, look, &tidy))
        err_clear();
    err_clear();
}
