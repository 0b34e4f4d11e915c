// Inputs for clients that do not have them.

#include "run/driver/server/lender.h"

#include <stdio.h>
#include <stdlib.h>

#include "run/input_head.h"
#include "store/hdfs/url.h"
#include "sys/file/file.h"
#include "transport/fetch_files.h"

static weft_err has_changed(const struct input *input)
{
    return err_set(WEFT_DATA_LOSS,
                   "%s has changed since the job began"
                   "\n  try: run it again when nothing writes to the file",
                   input->name);
}

// No client can do anything about it, so none is set aside for it.
static weft_err is_gone(void)
{
    return err_set(
        WEFT_DATA_LOSS,
        "%s\n  it was there when the job began\n  try: put it back and run the job again",
        err_text());
}

static weft_err check(void *owner, uint64_t id, int fd)
{
    const struct run_plan *plan = owner;
    const struct input *input = &plan->inputs.items[id];
    struct file_stat status;
    if (input->inode == 0)
        return WEFT_OK;  // a copy of ours
    const weft_err code = file_stat_fd(fd, input->name, &status);
    if (code != WEFT_OK)
        return code;
    const bool has_grown = !plan->looks[id].is_indexed && status.size > input->size;
    return status.size < input->size || (status.mtime_ns != input->mtime_ns && !has_grown)
               ? has_changed(input)
               : WEFT_OK;
}

static weft_err open_input(void *owner, uint64_t id, struct fetch_file *file)
{
    const struct run_plan *plan = owner;
    const struct input *input = &plan->inputs.items[id];
    weft_err code = file_open(input->path, &file->fd);
    if (code == WEFT_OK)
        code = check(owner, id, file->fd);
    if (code != WEFT_OK) {
        if (file->fd >= 0)
            file_close(file->fd);
        if (code == WEFT_NOT_FOUND || code == WEFT_PERMISSION_DENIED)
            return is_gone();
        // A lack of ours, of descriptors: no client is to blame, and another try may do.
        return code == WEFT_RESOURCE_EXHAUSTED ? err_set(WEFT_UNAVAILABLE, "%s", err_text()) : code;
    }
    file->size = input->size;
    snprintf(file->name, sizeof file->name, "%s", input->name);
    return WEFT_OK;
}

void lender_serve(const struct run_plan *plan, struct fetch_files *files)
{
    const struct fetch_shelf shelf = {
        .end = plan->inputs.count, .open = open_input, .check = check, .owner = (void *)plan};
    fetch_files_set_shelf(files, &shelf);
}

weft_err lender_read_heads(struct run_plan *plan)
{
    weft_err code = WEFT_OK;
    if (plan->inputs.count > INPUT_HEADS_MAX)
        return WEFT_OK;  // looking into each takes longer than lending them
    plan->heads = calloc(plan->inputs.count + 1, sizeof *plan->heads);
    if (!plan->heads)
        return err_no_memory("for %zu inputs", plan->inputs.count);
    for (size_t i = 0; i < plan->inputs.count && code == WEFT_OK; i++) {
        const struct input *input = &plan->inputs.items[i];
        if (input->inode && !hdfs_is_url(input->path))
            code = input_head_read(input->path, &plan->heads[i]);
    }
    return code;
}
