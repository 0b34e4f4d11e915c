// A cluster in the background: a process that does just what weft cluster run does, with its outputs in
// files. The holder of the lock looks after the cluster; everything else in the directory is only memory.

#include "crew/cluster_up.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "crew/cluster_keep.h"
#include "sys/file/file.h"
#include "sys/file/own.h"
#include "sys/process/daemon.h"

static weft_err no_memory(void)
{
    return err_no_memory("for the name of a directory");
}

static bool is_name(const char *name)
{
    if (!isalnum((unsigned char)*name))
        return false;
    for (; *name; name++)
        if (!isalnum((unsigned char)*name) && !strchr("._-", *name))
            return false;
    return true;
}

weft_err cluster_place_of_all(struct buf *path)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    if (state && state[0] == '/')
        buf_format(path, "%s/weft/clusters", state);
    else if (home && home[0])
        buf_format(path, "%s/.local/state/weft/clusters", home);
    else
        return err_set(WEFT_FAILED_PRECONDITION,
                       "there is no directory for the state of clusters: HOME is not set\n  try: "
                       "export XDG_STATE_HOME=DIR");
    return path->has_failed ? no_memory() : WEFT_OK;
}

weft_err cluster_place(struct buf *path, const char *name)
{
    if (!is_name(name))
        return err_set(
            WEFT_INVALID_ARGUMENT,
            "'%s' cannot be the name of a cluster: it has letters, digits and . _ - in it", name);
    const weft_err err = cluster_place_of_all(path);
    buf_format(path, "/%s", name);
    return err || !path->has_failed ? err : no_memory();
}

// ---- Up --------------------------------------------------------------------------------------------------

struct inside {
    struct daemon daemon;
    struct buf directory, lock;
    int lock_fd;
};

static void tell_started(void *owner)
{
    struct inside *inside = owner;
    daemon_report(&inside->daemon, WEFT_OK);
}

static weft_err remove_old(void *owner, const char *name)
{
    const struct buf *directory = owner;
    struct buf path = {0};
    if (strcmp(name, "lock") == 0)
        return WEFT_OK;
    buf_append(&path, directory->data, directory->size);
    buf_format(&path, "/%s", name);
    const weft_err err = file_remove(buf_text(&path));
    buf_fini(&path);
    return err;
}

// Becomes the one that looks after the cluster.
static weft_err take_over(struct inside *inside, const char *name)
{
    weft_err err = file_lock(buf_text(&inside->lock), &inside->lock_fd);
    if (err == WEFT_UNAVAILABLE)
        return err_set(WEFT_ALREADY_EXISTS,
                       "the cluster %s is up already\n"
                       "  try: weft cluster down %s, or --name for another one",
                       name, name);
    struct buf log = {0};
    buf_format(&log, "%s/weft.log", buf_text(&inside->directory));
    if (!err)
        err = file_list(buf_text(&inside->directory), remove_old, &inside->directory);
    if (!err)
        err = daemon_write_to(buf_text(&log));
    buf_fini(&log);
    return err;
}

static int look_after(struct inside *inside, const char *name, const struct crew_spec *spec,
                      struct cluster_run_options *options)
{
    int exit_code = 0;
    weft_err err = take_over(inside, name);
    if (!err) {
        options->state_directory = buf_text(&inside->directory);
        options->name = name;
        options->no_prefix = true;
        options->quiet = false;  // a log that says nothing is none
        options->started = tell_started;
        options->started_owner = inside;
        err = cluster_run(spec, options, &exit_code);
        // Nothing was started: nothing is to be remembered.
        if (err) {
            struct err_kept kept;
            err_keep(&kept);
            if (file_remove_tree(buf_text(&inside->directory)))
                err_clear();
            err_put_back(&kept);
            daemon_report(&inside->daemon, err);
            err_clear();
        }
    } else {
        daemon_report(&inside->daemon, err);
    }
    if (inside->lock_fd >= 0)
        file_close(inside->lock_fd);
    return err ? err_exit_code(err) : exit_code;
}

weft_err cluster_up(const char *name, const struct crew_spec *spec,
                    struct cluster_run_options *options, bool *is_inside, int *exit_code)
{
    struct inside inside = {.lock_fd = -1};
    pid_t pid;
    *is_inside = false;
    weft_err err = cluster_place(&inside.directory, name);
    if (!err && (err = own_make_directory(buf_text(&inside.directory))))
        err =
            err_set(err, "%s\n  try: export XDG_STATE_HOME=DIR, a directory that you may write to",
                    err_text());
    buf_format(&inside.lock, "%s/lock", buf_text(&inside.directory));
    if (!err && !daemon_is_alive(buf_text(&inside.lock), &pid))
        err = cluster_keep_check_name(name);
    else if (!err)
        err = err_set(WEFT_ALREADY_EXISTS,
                      "the cluster %s is up already, supervised by process %d\n"
                      "  try: weft cluster down %s, or --name for another one",
                      name, (int)pid, name);
    if (!err)
        err = daemon_fork(&inside.daemon);
    if (!err && inside.daemon.is_inside) {
        *is_inside = true;
        *exit_code = look_after(&inside, name, spec, options);
    } else if (!err) {
        err = daemon_await(&inside.daemon);
    }
    buf_fini(&inside.directory);
    buf_fini(&inside.lock);
    return err;
}

// ---- Down ------------------------------------------------------------------------------------------------

static weft_err down_here(const char *name)
{
    struct buf directory = {0}, lock = {0};
    struct file_stat stat = {0};
    int fd = -1;
    weft_err err = cluster_place(&directory, name);
    buf_format(&lock, "%s/lock", buf_text(&directory));
    if (!err)
        err = file_stat(buf_text(&lock), &stat);
    if (!err && stat.kind == FILE_MISSING)
        err = err_set(WEFT_NOT_FOUND, "there is no cluster %s\n  weft cluster status lists them",
                      name);
    if (!err)
        err = daemon_stop(buf_text(&lock));
    // While we hold the lock no process can put it up again.
    if (!err)
        err = file_lock(buf_text(&lock), &fd);
    if (!err)
        err = file_remove_tree(buf_text(&directory));
    if (fd >= 0)
        file_close(fd);
    buf_fini(&directory);
    buf_fini(&lock);
    return err;
}

weft_err cluster_down(const char *name, const char *on, struct buf *shelf)
{
    struct view view;
    weft_err err = view_open(&view, name, on);
    if (!err && view_is_kept(&view)) {
        buf_append(shelf, view.directory.data, view.directory.size);
        err = cluster_keep_end(&view);
    } else if (!err) {
        err = down_here(name);
    }
    view_close(&view);
    return err;
}
