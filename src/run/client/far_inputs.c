// The same file on two machines.

#include "run/client/far_inputs.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/list.h"
#include "run/input_head.h"
#include "store/hdfs/url.h"
#include "sys/file/file.h"
#include "sys/loop/errands.h"
#include "sys/time/clock.h"

// Small files are lent sooner than they are looked at where each look takes long: after that time no other ones are looked at.
enum { SMALL_BYTES = 1 << 20, SMALL_MS = 2000 };

struct far_inputs {
    struct errands *errands;
    struct link looks;
};

// At the inputs of a job.
struct look {
    struct far_inputs *far;
    struct link in_far;
    Weft__JobStart *start;
    far_inputs_fn *done;
    void *owner;
    atomic_bool is_stopped;
    bool *is_here;
    weft_err code;
    char why[ERR_TEXT_BYTES_MAX];
};

// ---- One file -------------------------------------------------------------------------------------------

static char *path_of(const Weft__Input *input, const char *directory)
{
    const char *name = input->path[0] ? input->path : input->name;
    struct buf path = {0};
    if (name[0] != '/')
        buf_format(&path, "%s/", directory);
    buf_append_text(&path, name);
    char *copy = path.has_failed ? NULL : strdup(buf_text(&path));
    buf_fini(&path);
    return copy;
}

static bool is_same(const Weft__Input *input, const char *path, struct file_stat *status)
{
    const int64_t second = 1000000000;
    uint64_t head;
    return file_stat(path, status) == WEFT_OK && status->kind == FILE_REGULAR &&
           status->size == input->file_size &&
           status->mtime_ns / second == input->mtime_ns / second &&
           input_head_read(path, &head) == WEFT_OK && head == input->head;
}

static void set_path(Weft__Input *input, char *path)
{
    if (input->path[0])
        free(input->path);
    input->path = path;
}

static weft_err find(Weft__Input *input, const char *directory, bool *is_here)
{
    struct file_stat status;
    char *path = path_of(input, directory);
    *is_here = path && is_same(input, path, &status);
    if (!path)
        return err_no_memory("for an input");
    err_clear();
    if (*is_here) {
        input->inode = status.inode;
        input->mtime_ns = status.mtime_ns;
        set_path(input, path);
    } else {
        free(path);
    }
    return WEFT_OK;
}

// The name nodes that the server gives for the URL; NULL: it gives none, and our own configuration counts.
static const char *nodes_of(const Weft__JobStart *start, const char *url)
{
    const weft_bytes authority = hdfs_url_authority(url);
    for (size_t i = 0; i < start->n_file_systems; i++) {
        const Weft__FileSystem *system = start->file_systems[i];
        if (strlen(system->authority) == authority.size &&
            memcmp(system->authority, authority.data, authority.size) == 0)
            return system->nodes;
    }
    return NULL;
}

// Each client reads from HDFS itself, and looks there whether the file is the same.
static weft_err take_url(const Weft__JobStart *start, Weft__Input *input, const char *url)
{
    const char *nodes = nodes_of(start, url);
    struct buf path = {0};
    if (nodes)
        hdfs_url_append_at(url, nodes, &path);
    else
        buf_append_text(&path, url);
    char *copy = path.has_failed ? NULL : strdup(buf_text(&path));
    buf_fini(&path);
    if (!copy)
        return err_no_memory("for an input");
    set_path(input, copy);
    return WEFT_OK;
}

// ---- All of them, in the thread beside the loop -----------------------------------------------------------

static weft_err look_at(const struct look *look, size_t i, bool is_late)
{
    Weft__Input *input = look->start->inputs[i];
    const char *name = input->path[0] ? input->path : input->name;
    if (hdfs_is_url(name)) {
        look->is_here[i] = true;
        return take_url(look->start, input, name);
    }
    // A copy of the server's own, or its beginning is not known.
    if (input->inode == 0 || input->head == 0 || (is_late && input->file_size <= SMALL_BYTES))
        return WEFT_OK;
    return find(input, look->start->directory, &look->is_here[i]);
}

static void look_at_all(void *owner)
{
    struct look *look = owner;
    const uint64_t begun_ns = clock_now_ns();
    for (size_t i = 0; i < look->start->n_inputs && look->code == WEFT_OK; i++) {
        if (atomic_load(&look->is_stopped))
            return;
        const bool is_late = clock_now_ns() - begun_ns > SMALL_MS * UINT64_C(1000000);
        look->code = look_at(look, i, is_late);
    }
    if (look->code != WEFT_OK)
        snprintf(look->why, sizeof look->why, "%s", err_text());
}

// ---- Beginning and end ------------------------------------------------------------------------------------

static void free_look(struct look *look)
{
    list_take_out(&look->in_far);
    message_free(look->start);
    free(look->is_here);
    free(look);
}

static void end_look(void *owner)
{
    struct look *look = owner;
    Weft__JobStart *start = look->start;
    if (!atomic_load(&look->is_stopped)) {
        look->start = NULL;
        look->done(look->owner, start, look->is_here,
                   look->code == WEFT_OK ? WEFT_OK : err_set(look->code, "%s", look->why));
    }
    free_look(look);
}

weft_err far_inputs_look(struct far_inputs *far, Weft__JobStart *start, far_inputs_fn *done,
                         void *owner)
{
    struct look *look = calloc(1, sizeof *look);
    bool *is_here = calloc(start->n_inputs + 1, sizeof *is_here);
    if (!look || !is_here) {
        free(look);
        free(is_here);
        message_free(start);
        return err_no_memory("to look for inputs");
    }
    *look =
        (struct look){.far = far, .start = start, .done = done, .owner = owner, .is_here = is_here};
    list_append(&far->looks, &look->in_far);
    const weft_err code = errands_do(far->errands, look_at_all, end_look, look);
    if (code != WEFT_OK)
        free_look(look);
    return code;
}

void far_inputs_stop(struct far_inputs *far)
{
    for (struct link *at = far->looks.next; at != &far->looks; at = at->next)
        atomic_store(&LIST_ITEM(at, struct look, in_far)->is_stopped, true);
}

struct far_inputs *far_inputs_new(struct loop *loop)
{
    struct far_inputs *far = calloc(1, sizeof *far);
    if (!far) {
        (void)err_no_memory("for a client");
        return NULL;
    }
    list_init(&far->looks);
    far->errands = errands_new(loop);
    if (far->errands)
        return far;
    free(far);
    return NULL;
}

void far_inputs_free(struct far_inputs *far)
{
    if (!far)
        return;
    far_inputs_stop(far);
    errands_free(far->errands);
    while (!list_is_empty(&far->looks))
        free_look(LIST_ITEM(far->looks.next, struct look, in_far));
    free(far);
}
