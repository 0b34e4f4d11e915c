// output: directories that a later run of the same command continues, or finds complete.

#include "store/output_state.h"

#include <stdio.h>
#include <stdlib.h>

#include "sys/file/file.h"
#include "sys/file/own.h"
#include "sys/file/place.h"

enum { TRIES_MAX = 20 };  // for one of several runs that throw away the same

static weft_err no_memory(void)
{
    return err_no_memory("for the output");
}

weft_err output_name_beside(const struct output *output, const char *what, char **name)
{
    const char *slash = strrchr(output->target, '/');
    const size_t parent = slash ? (size_t)(slash - output->target) + 1 : 0;
    struct buf text = {0};
    buf_format(&text, "%.*s.%s.weft-%s", (int)parent, output->target, output->target + parent,
               what);
    *name = text.has_failed ? NULL : strdup(buf_text(&text));
    buf_fini(&text);
    return *name ? WEFT_OK : no_memory();
}

weft_err output_name_unfinished(struct output *output)
{
    return output_name_beside(output, "unfinished", &output->temporary);
}

const char *output_resume_place(const struct output *output)
{
    return output->may_resume ? output->temporary : NULL;
}

// ---- Directories that are thrown away --------------------------------------------------------------

// Everything under this name is rubbish, also what another run puts there just now: so two may remove it at
// the same time, and the one finds names that the other has just added.
static weft_err remove_discarded(const char *discarded)
{
    weft_err err = own_check_directory(discarded);
    if (err)
        return err == WEFT_NOT_FOUND ? WEFT_OK : err;
    for (int tries = 0; tries < TRIES_MAX && (err = file_remove_tree(discarded)); tries++)
        ;
    return err;
}

// A run that was killed while it removed one has left the rest.
static void tidy_discarded(const struct output *output)
{
    char *discarded = NULL;
    if (output_name_beside(output, "discarded", &discarded) || remove_discarded(discarded))
        err_clear();
    free(discarded);
}

weft_err output_make_unfinished(struct output *output)
{
    enum place_kind found;
    tidy_discarded(output);
    weft_err err = place_look(output->temporary, &found);
    if (!err)
        err = own_make_directory(output->temporary);
    if (err == WEFT_PERMISSION_DENIED)
        err =
            err_set(err, "%s\n  try: another name for the output, or remove that one", err_text());
    output->has_temporary = !err && found == PLACE_FREE;
    return err;
}

// Under the name that the next run looks for. Where another user has put something there, under a new one.
static weft_err move_discarded(const struct output *output, char **discarded)
{
    weft_err err = output_name_beside(output, "discarded", discarded);
    for (int tries = 0; !err && tries < TRIES_MAX; tries++) {
        if (remove_discarded(*discarded))
            break;
        if (!file_rename(output->temporary, *discarded))
            return WEFT_OK;
        err_clear();  // another run was faster with a directory of its own
    }
    if (err)
        return err;
    free(*discarded);
    *discarded = NULL;
    err = place_make_name(output->target, discarded);
    return err ? err : file_rename(output->temporary, *discarded);
}

weft_err output_discard_unfinished(const struct output *output)
{
    char *discarded = NULL;
    // Of a directory that is another's, names could change under our hands while it is removed.
    weft_err err = own_check_directory(output->temporary);
    if (!err)
        err = move_discarded(output, &discarded);
    if (!err)
        err = remove_discarded(discarded);
    free(discarded);
    return err;
}

weft_err output_work_aside(struct output *output)
{
    // A server may have come since the output was opened, and is not raced.
    weft_err err = output_check_server(output);
    if (err)
        return err;
    output->may_resume = output->has_temporary = false;
    free(output->temporary);
    output->temporary = NULL;
    err = place_make_name(output->target, &output->temporary);
    output->place.path = output->temporary;
    return err;
}

void output_set_origin(struct output *output, const struct manifest *origin)
{
    output->origin = origin;
}

void output_set_left_out(struct output *output)
{
    output->has_left_out = true;
}

// An answer without its bad records has an identity of its own: the first digit is another one.
static void mark_left_out(struct manifest *manifest)
{
    static const char digits[] = "0123456789abcdef";
    const char *first = memchr(digits, manifest->identity[0], sizeof digits - 1);
    if (first)
        manifest->identity[0] = digits[(first - digits) ^ 8];
}

static bool is_of_origin(const struct output *output, struct manifest *found, bool may_lack,
                         struct buf *why)
{
    if (output->origin && manifest_is_same(found, output->origin, why))
        return true;
    if (!output->origin || !may_lack)
        return false;
    why->size = 0;
    mark_left_out(found);
    return manifest_is_same(found, output->origin, why);
}

weft_err output_check_done(struct output *output, bool may_lack, bool *is_done)
{
    *is_done = false;
    if (!output->has_target || output->force)
        return WEFT_OK;
    struct manifest found = {0};
    struct buf why = {0};
    weft_err err = WEFT_OK;
    if (output->far ? output_far_verify(output, &found) : manifest_verify(output->target, &found))
        buf_append_text(&why, err_text());
    else
        *is_done = is_of_origin(output, &found, may_lack, &why);
    if (!*is_done) {
        output_tidy_claim(output);
        err = err_set(WEFT_ALREADY_EXISTS,
                      "%s exists already\n  %s\n  try: --force to replace it, or another name",
                      output->shown, buf_text(&why));
    }
    buf_fini(&why);
    manifest_fini(&found);
    return err;
}

static bool is_whole(int fd, const char *path, uint64_t offset, const struct output_piece *piece)
{
    uint64_t bytes;
    uint32_t crc;
    return part_sum(fd, path, offset, piece->bytes, &bytes, &crc) == WEFT_OK &&
           bytes == piece->bytes && crc == piece->crc32c;
}

// The pieces of one part; returns the first of the next one.
static uint32_t check_part_here(const struct output *output, struct output_piece *pieces,
                                uint32_t first)
{
    const uint32_t part = output->pieces[first].part;
    struct buf path = {0};
    char name[PART_NAME_BYTES];
    int fd = -1;
    uint64_t offset = 0;
    part_format_name(name, part, output->suffix);
    buf_format(&path, "%s/%s", output->temporary, name);
    bool is_good = !path.has_failed && file_open(buf_text(&path), &fd) == WEFT_OK;
    uint32_t i = first;
    for (; i < output->piece_count && output->pieces[i].part == part; i++) {
        struct output_piece *piece = &pieces[i];
        is_good = is_good && piece->is_done && is_whole(fd, buf_text(&path), offset, piece);
        offset += piece->bytes;
        if (!is_good)
            *piece = (struct output_piece){0};
    }
    file_close(fd);
    buf_fini(&path);
    err_clear();
    return i;
}

static uint32_t check_part(const struct output *output, struct output_piece *pieces, uint32_t first)
{
    const uint32_t part = output->pieces[first].part;
    uint64_t bytes = 0;
    bool is_whole_part = true;
    uint32_t end = first;
    for (; end < output->piece_count && output->pieces[end].part == part; end++) {
        is_whole_part = is_whole_part && pieces[end].is_done;
        bytes += pieces[end].bytes;
    }
    if (is_whole_part && output->far && output_far_has_part(output, part, bytes))
        return end;
    return check_part_here(output, pieces, first);
}

weft_err output_check_pieces(const struct output *output, struct output_piece *pieces)
{
    for (uint32_t i = 0; i < output->piece_count;)
        i = check_part(output, pieces, i);
    return output->far ? output_far_remove_rest(output) : WEFT_OK;
}

void output_tidy_done(struct output *output)
{
    output_tidy_claim(output);
    if (output->far)
        output_far_remove_work(output);
    else
        output_remove_work(output->target);
}

void output_keep_unfinished(struct output *output)
{
    output->keeps_unfinished = output->may_resume;
}

weft_err output_copy_origin(struct manifest *manifest, const struct output *output)
{
    const struct manifest *origin = output->origin;
    weft_err err = WEFT_OK;
    memcpy(manifest->identity, origin->identity, sizeof manifest->identity);
    if (output->has_left_out)
        mark_left_out(manifest);
    for (size_t i = 0; !err && i < origin->input_count; i++)
        err = manifest_add_input(manifest, origin->inputs[i].name, origin->inputs[i].bytes,
                                 origin->inputs[i].mtime_ns);
    return err;
}

void output_remove_work(const char *directory)
{
    static const char *const folders[] = {OUTPUT_JOURNAL, OUTPUT_RUNS, OUTPUT_PARTS};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        struct buf path = {0};
        buf_format(&path, "%s/%s", directory, folders[i]);
        if (file_remove_tree(buf_text(&path)))
            err_clear();
        buf_fini(&path);
    }
}
