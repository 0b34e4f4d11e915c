// output: the end of a good run. The written files are compared with the committed pieces, described by the manifest, and moved.

#include "store/output_state.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/crc32c.h"
#include "sys/file/file.h"
#include "sys/file/own.h"
#include "sys/file/place.h"

static weft_err no_memory(void)
{
    return err_no_memory("for the output");
}

static weft_err check_size(const char *path, uint64_t expected)
{
    struct file_stat status;
    const weft_err err = file_stat(path, &status);
    if (err || (status.kind == FILE_REGULAR && status.size == expected))
        return err;
    return err_set(WEFT_DATA_LOSS,
                   "%s has %" PRIu64 " bytes in place of %" PRIu64
                   "\n  another program changed it while the job was running",
                   path, status.size, expected);
}

static weft_err move_into_place(struct output *output)
{
    enum place_kind found = PLACE_FREE;
    weft_err err = place_look(output->target, &found);
    if (!err && output->force && output->kind == TARGET_DIRECTORY && found == PLACE_DIRECTORY)
        err = output_check_replaceable(output);
    if (err)
        return err;
    err = output->force ? place_move_over(output->temporary, output->target)
                        : place_move_new(output->temporary, output->target);
    if (err == WEFT_ALREADY_EXISTS)
        return err_set(
            err,
            "%s appeared while the job was running\n  another run or program made it, and it is not replaced\n  try: again with --force, or another name",
            output->shown);
    return err;
}

// The parts as the manifest lists them: checksums of neighbours are joined.
static weft_err list_parts(const struct output *output, struct manifest *manifest)
{
    weft_err err = WEFT_OK;
    manifest->job = strdup(output->job_name);
    memcpy(manifest->suffix, output->suffix, sizeof manifest->suffix);
    if (!manifest->job)
        return no_memory();
    for (uint32_t part = 0, piece = 0; !err && part < output->part_count; part++) {
        uint64_t bytes = 0, records = 0;
        uint32_t crc = 0;
        for (; piece < output->piece_count && output->pieces[piece].part == part; piece++) {
            const struct planned_piece *one = &output->pieces[piece];
            crc = crc32c_join(crc, one->crc32c, one->bytes);
            bytes += one->bytes;
            records += one->records;
        }
        err = manifest_add(manifest, bytes, records, crc);
    }
    return err;
}

static weft_err write_file(const char *directory, const char *name, weft_bytes text)
{
    struct buf path = {0};
    int fd = -1;
    buf_format(&path, "%s/%s", directory, name);
    weft_err err = file_create(buf_text(&path), &fd);
    if (!err)
        err = file_write(fd, buf_text(&path), text.data, text.size);
    const weft_err closed = file_close_checked(fd, buf_text(&path));
    buf_fini(&path);
    return err ? err : closed;
}

static weft_err check_parts(const struct output *output, const struct manifest *manifest)
{
    weft_err err = WEFT_OK;
    for (size_t i = 0; !err && i < manifest->part_count; i++) {
        struct buf path = {0};
        if (output_far_is_there(output, (uint32_t)i))
            continue;
        buf_format(&path, "%s/%s", output->temporary, manifest->parts[i].name);
        err = check_size(buf_text(&path), manifest->parts[i].bytes);
        buf_fini(&path);
    }
    return err;
}

// Empty parts that the user did not want; the manifest still counts them.
static weft_err drop_empty_parts(const struct output *output, struct manifest *manifest)
{
    weft_err err = WEFT_OK;
    for (size_t i = 0; !err && i < manifest->part_count; i++) {
        struct manifest_part *part = &manifest->parts[i];
        struct buf path = {0};
        buf_format(&path, "%s/%s", output->temporary, part->name);
        if (part->records == 0) {
            err = file_remove_tree(buf_text(&path));
            manifest->bytes -= part->bytes;
            part->bytes = part->crc32c = 0;
        }
        buf_fini(&path);
    }
    return err;
}

weft_err output_commit_directory(struct output *output)
{
    struct manifest manifest = {0};
    struct buf text = {0};
    weft_err err = list_parts(output, &manifest);
    if (!err)
        err = check_parts(output, &manifest);
    if (!err && output->drops_empty)
        err = drop_empty_parts(output, &manifest);
    if (!err && output->origin)
        err = output_copy_origin(&manifest, output);
    manifest_format(&text, &manifest);
    if (!err && text.has_failed)
        err = no_memory();
    if (!err)
        err = write_file(output->temporary, MANIFEST_NAME, buf_bytes(&text));
    if (!err)
        err = write_file(output->temporary, "_SUCCESS", weft_none());
    buf_fini(&text);
    manifest_fini(&manifest);
    if (!err && output->far)
        return output_far_commit(output);
    if (!err)
        err = own_open_directory(output->temporary, output->force ? output->target : NULL);
    if (!err)
        err = move_into_place(output);
    if (!err && output->may_resume)
        output_remove_work(output->target);
    return err;
}

weft_err output_commit_file(struct output *output)
{
    weft_err err = check_size(output->temporary, output->bytes);
    if (!err)
        err = output->far ? output_far_commit(output) : move_into_place(output);
    return err;
}
