// output: an answer that goes to another store.
//
// Workers write at any place of a file, in any order, and a later run continues earlier work. No store of HDFS's or S3's kind can do that, so
// the answer is made in the directory of --tmp, as one on this machine is, and each part goes there when it is complete, by one writer. The name
// there is hidden until the end. It names the process and the machine, so that a later run removes what a killed one has left, and nothing else.
// The journal goes there, too (journal_copy.h), so that another machine can continue (output_far_earlier.c).

#include "store/output_far_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/crc32c.h"

enum {
    FIRST_MS = 10000,       // one that has just begun waits less
    FAREWELL_MS = 5000,     // one that failed does not
    HERE_BYTES_MAX = 4000,  // of a path there
};

static weft_err no_memory(void)
{
    return err_no_memory("for the output");
}

static weft_err explain(weft_err code, const struct output *output, const char *next)
{
    char why[ERR_TEXT_BYTES_MAX];
    snprintf(why, sizeof why, "%s", err_text());
    return err_set(code, "cannot write %s\n  %s%s%s", output->shown, why, next ? "\n  try: " : "",
                   next ? next : "");
}

// ---- Opening -------------------------------------------------------------------------------------------

struct other {
    const struct manifest *manifest;
    bool has_others;
};

static weft_err look_for_others(void *owner, const char *name, const struct store_entry *entry)
{
    struct other *other = owner;
    other->has_others |= !output_is_made(other->manifest, name, entry->kind);
    return WEFT_OK;
}

static weft_err read_manifest(const struct output *output, struct manifest *manifest)
{
    static const char *const names[] = {MANIFEST_NAME, MANIFEST_NAME_BEFORE};
    struct store_place *place = output->far->place;
    weft_err err = WEFT_NOT_FOUND;
    for (size_t i = 0; i < sizeof names / sizeof *names && err == WEFT_NOT_FOUND; i++) {
        struct buf path = {0}, text = {0};
        buf_format(&path, "%s/%s", place->path, names[i]);
        err = place->calls->read(place, buf_text(&path), MANIFEST_BYTES_MAX, &text);
        if (!err)
            err = err_wrap(manifest_parse(manifest, buf_bytes(&text)), "%s", buf_text(&path));
        buf_fini(&path);
        buf_fini(&text);
    }
    return err;
}

static weft_err check_replaceable(const struct output *output)
{
    struct store_place *place = output->far->place;
    struct manifest manifest = {0};
    struct other other = {.manifest = &manifest};
    weft_err err = read_manifest(output, &manifest);
    if (err == WEFT_NOT_FOUND || err == WEFT_DATA_LOSS) {
        err_clear();
        err = WEFT_OK;
    }
    if (!err)
        err = place->calls->list(place, place->path, look_for_others, &other);
    manifest_fini(&manifest);
    return err ? err : other.has_others ? output_refuse_others(output) : WEFT_OK;
}

static weft_err check_target(struct output *output, const struct store_entry *found)
{
    const bool is_there = found->kind != FILE_MISSING;
    if (output->kind == TARGET_FILE && found->kind == FILE_DIRECTORY)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "%s is a directory\n  try: -o %s/ for part files, --force to replace an "
                       "earlier output there; or the name of a file",
                       output->shown, output->shown);
    if (output->kind == TARGET_FILE)
        return is_there && !output->force ? output_refuse_existing(output) : WEFT_OK;
    if (is_there && found->kind != FILE_DIRECTORY)
        return err_set(
            WEFT_ALREADY_EXISTS,
            "%s exists and is not a directory\n  try: another name, or without the slash",
            output->shown);
    output->has_target = is_there;
    if (is_there && output->force)
        return check_replaceable(output);
    return is_there && !output->may_resume ? output_refuse_existing(output) : WEFT_OK;
}

static weft_err look_at_target(struct output *output)
{
    struct store_entry found;
    struct store_place *place = output->far->place;
    if (strcmp(place->path, "/") == 0)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "the root cannot be the output of a job\n  try: a name in it");
    if (strlen(place->path) > HERE_BYTES_MAX)
        return err_set(WEFT_INVALID_ARGUMENT, "the path of the output is too long");
    const weft_err err = place->calls->look(place, place->path, &found);
    return err ? explain(err, output, NULL) : check_target(output, &found);
}

weft_err output_far_open(struct output *output, const struct output_options *options)
{
    struct output_far *far = output->far = calloc(1, sizeof *far);
    const bool is_directory = output->shown[strlen(output->shown) - 1] == '/';
    if (!far)
        return no_memory();
    output->kind = is_directory ? TARGET_DIRECTORY : TARGET_FILE;
    output->place.kind = is_directory ? OUTPUT_PLACE_PARTS : OUTPUT_PLACE_FILE;
    output_far_name_machine(far->machine);
    weft_err err = store_open_place(options->target, FAR_PATIENCE_MS, &far->place);
    if (!err)
        err = look_at_target(output);
    if (!err)
        err = output_far_name_here(output, options);
    if (!err)
        err = output_far_name_there(far);
    far->next_number = 1;
    return err ? err : output_name_temporary(output);
}

// ---- Parts ---------------------------------------------------------------------------------------------

static weft_err put_small(const struct output *output, const char *name)
{
    const struct output_far *far = output->far;
    struct store_content content = {.fd = -1, .patience_ms = FAR_PATIENCE_MS};
    struct buf from = {0}, to = {0};
    buf_format(&from, "%s/%s", output->temporary, name);
    buf_format(&to, "%s/%s", far->temporary, name);
    weft_err err = from.has_failed || to.has_failed ? no_memory() : WEFT_OK;
    if (!err)
        err = file_open(buf_text(&from), &content.fd);
    content.name = buf_text(&from);
    if (!err)
        err = part_sum(content.fd, content.name, 0, UINT64_MAX, &content.bytes, &content.crc32c);
    if (!err)
        err = far->place->calls->put(far->place, buf_text(&to), &content);
    file_close(content.fd);
    buf_fini(&from);
    buf_fini(&to);
    return err;
}

// An empty file, written as parts will be: where that fails, it fails before the work.
static weft_err begin_there(struct output *output)
{
    struct output_far *far = output->far;
    struct store_content nothing = {
        .fd = -1, .name = "an empty file", .is_private = true, .patience_ms = FIRST_MS};
    struct buf path = {0};
    far->has_temporary = true;
    buf_append_text(&path, far->temporary);
    bool is_taken;
    weft_err err = output_far_take_earlier(output, &is_taken);
    if (!err && output->kind == TARGET_DIRECTORY) {
        if (!is_taken)
            err = far->place->calls->make_directory(far->place, far->temporary);
        buf_append_text(&path, "/.first");
    } else if (!err) {
        err = far->place->calls->make_above(far->place, far->temporary);
    }
    if (!err && path.has_failed)
        err = no_memory();
    if (!err)
        err = far->place->calls->put(far->place, buf_text(&path), &nothing);
    if (!err && output->kind == TARGET_DIRECTORY)
        err = far->place->calls->remove(far->place, buf_text(&path));
    buf_fini(&path);
    return err;
}

static weft_err start_shipper(struct output *output)
{
    struct output_far *far = output->far;
    const bool has_parts = output->kind == TARGET_DIRECTORY;
    far->from =
        (struct part_files){output->temporary, has_parts, output->part_count, output->suffix};
    far->to = far->from;
    far->to.path = far->temporary;
    const uint32_t wanted = output->part_count ? output->part_count : 1;
    const struct shipper_spec spec = {
        .url = output->shown,
        .from = far->from,
        .to = far->to,
        .has_names_when_whole = output->may_resume,
        .thread_count = wanted < SHIPPER_THREADS_MAX ? wanted : SHIPPER_THREADS_MAX,
        .patience_ms = FAR_PATIENCE_MS,
        .halted = output->halted,
        .owner = output->halted_owner,
    };
    return shipper_new(&spec, &far->shipper);
}

// What the journal is of stands beside it, here and there.
static weft_err write_origin(const struct output *output, const char *directory)
{
    struct buf path = {0}, text = {0};
    int fd = -1;
    buf_format(&path, "%s/" JOURNAL_COPY_ORIGIN, directory);
    manifest_format(&text, output->origin);
    weft_err err = path.has_failed || text.has_failed ? no_memory() : WEFT_OK;
    if (!err)
        err = file_create_private(buf_text(&path), &fd);
    if (!err)
        err = file_write(fd, buf_text(&path), text.data, text.size);
    file_close(fd);
    buf_fini(&path);
    buf_fini(&text);
    return err;
}

static weft_err start_journal(struct output *output)
{
    struct output_far *far = output->far;
    struct buf from = {0}, to = {0};
    if (!output->may_resume || !output->origin)
        return WEFT_OK;
    buf_format(&from, "%s/" OUTPUT_JOURNAL, output->temporary);
    buf_format(&to, "%s/" OUTPUT_JOURNAL, far->temporary);
    weft_err err =
        from.has_failed || to.has_failed ? no_memory() : write_origin(output, buf_text(&from));
    const struct journal_copy_spec spec = {
        .url = output->shown,
        .from = buf_text(&from),
        .to = buf_text(&to),
        .number = far->next_number,
    };
    if (!err)
        err = journal_copy_start(&spec, &far->journal);
    buf_fini(&from);
    buf_fini(&to);
    return err;
}

weft_err output_far_plan(struct output *output)
{
    struct output_far *far = output->far;
    const size_t count = output->part_count + (size_t)1;
    far->left = calloc(count, sizeof *far->left);
    far->is_there = calloc(count, sizeof *far->is_there);
    if (!far->left || !far->is_there)
        return no_memory();
    for (uint32_t i = 0; i < output->piece_count; i++)
        far->left[output->pieces[i].part]++;
    weft_err err = begin_there(output);
    if (!err)
        output_far_tidy(output);
    if (err == WEFT_PERMISSION_DENIED)
        return explain(err, output, "a directory that you may write in, or HADOOP_USER_NAME");
    if (!err)
        err = start_shipper(output);
    if (!err)
        err = start_journal(output);
    return err ? explain(err, output, NULL) : WEFT_OK;
}

static struct shipment sum_up(const struct output *output, uint32_t part, uint64_t *records)
{
    struct shipment shipment = {.part = part};
    uint32_t low = 0, high = output->piece_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (output->pieces[middle].part < part)
            low = middle + 1;
        else
            high = middle;
    }
    *records = 0;
    for (; low < output->piece_count && output->pieces[low].part == part; low++) {
        const struct planned_piece *piece = &output->pieces[low];
        shipment.crc32c = crc32c_join(shipment.crc32c, piece->crc32c, piece->bytes);
        shipment.bytes += piece->bytes;
        *records += piece->records;
    }
    return shipment;
}

static weft_err ship(const struct output *output, uint32_t part)
{
    uint64_t records;
    const struct shipment shipment = sum_up(output, part, &records);
    if (output_far_is_there(output, part) ||
        (output->kind == TARGET_DIRECTORY && output->drops_empty && records == 0))
        return WEFT_OK;
    return shipper_add(output->far->shipper, &shipment);
}

static weft_err refuse_lost(const struct output *output)
{
    return err_set(
        WEFT_ALREADY_EXISTS,
        "another run of the same command has taken over %s\n  nothing of this one had come through for some "
        "seconds, and it continues what this one has done\n  try: wait for its end",
        output->shown);
}

weft_err output_far_note(struct output *output, uint32_t part)
{
    struct output_far *far = output->far;
    ASSERT(far->left[part] > 0);
    weft_err err = --far->left[part] == 0 ? ship(output, part) : WEFT_OK;
    if (!err)
        err = shipper_error(far->shipper);
    if (journal_copy_is_lost(far->journal))
        return refuse_lost(output);
    return err ? explain(err, output, NULL) : WEFT_OK;
}

bool output_far_is_idle(const struct output *output)
{
    return !output->far->shipper || shipper_is_idle(output->far->shipper);
}

// ---- The end -------------------------------------------------------------------------------------------

struct check {
    const struct manifest *manifest;
    uint32_t found_count;
    bool has_success;
};

static weft_err check_entry(void *owner, const char *name, const struct store_entry *entry)
{
    struct check *check = owner;
    check->has_success |= strcmp(name, "_SUCCESS") == 0 && entry->kind == FILE_REGULAR;
    if (strncmp(name, "part-", 5) != 0 || !output_is_made(check->manifest, name, entry->kind))
        return WEFT_OK;
    const struct manifest_part *part = &check->manifest->parts[strtoul(name + 5, NULL, 10)];
    check->found_count += part->bytes > 0 || part->records > 0;
    if (entry->size == part->bytes)
        return WEFT_OK;
    return err_set(WEFT_DATA_LOSS,
                   "%s has %" PRIu64 " bytes, the manifest says %" PRIu64
                   "\n  it was changed after the job, or a copy is not complete",
                   name, entry->size, part->bytes);
}

static weft_err check_all(const struct output *output, const char *path,
                          const struct manifest *manifest)
{
    struct store_place *place = output->far->place;
    struct check check = {.manifest = manifest};
    uint32_t full_count = 0;
    for (size_t i = 0; i < manifest->part_count; i++)
        full_count += manifest->parts[i].bytes > 0 || manifest->parts[i].records > 0;
    weft_err err = place->calls->list(place, path, check_entry, &check);
    if (!err && !check.has_success)
        err = err_set(WEFT_NOT_FOUND, "%s is not a finished output: it has no _SUCCESS",
                      output->shown);
    if (!err && check.found_count < full_count)
        err = err_set(WEFT_DATA_LOSS, "%s lacks %" PRIu32 " of its parts", output->shown,
                      full_count - check.found_count);
    return err;
}

weft_err output_far_verify(const struct output *output, struct manifest *manifest)
{
    const weft_err err = read_manifest(output, manifest);
    return err ? err : check_all(output, output->far->place->path, manifest);
}

// Another process that took the directory over has taken its parts along.
static weft_err check_ours(const struct output *output)
{
    struct manifest manifest = {0};
    weft_err err = manifest_read(output->temporary, &manifest);
    if (!err)
        err = check_all(output, output->far->temporary, &manifest);
    manifest_fini(&manifest);
    return err == WEFT_NOT_FOUND || err == WEFT_DATA_LOSS ? refuse_lost(output) : err;
}

// Parts without a piece were never noted.
static weft_err ship_rest(const struct output *output)
{
    struct output_far *far = output->far;
    bool has_pieces = false;
    weft_err err = WEFT_OK;
    for (uint32_t part = 0, piece = 0; !err && part < output->part_count; part++) {
        has_pieces = piece < output->piece_count && output->pieces[piece].part == part;
        while (piece < output->piece_count && output->pieces[piece].part == part)
            piece++;
        if (!has_pieces)
            err = ship(output, part);
    }
    return err ? err : shipper_wait(far->shipper);
}

static weft_err move(const struct output *output)
{
    struct output_far *far = output->far;
    struct store_place *place = far->place;
    struct store_entry found;
    weft_err err = place->calls->look(place, place->path, &found);
    const bool is_directory = found.kind == FILE_DIRECTORY;
    if (!err && output->force && output->kind == TARGET_DIRECTORY && is_directory)
        err = check_replaceable(output);
    if (!err && output->kind == TARGET_FILE && is_directory)
        err = WEFT_ALREADY_EXISTS;
    if (!err)
        err = place->calls->move(place, far->temporary, place->path, output->force, far->aside);
    if (err == WEFT_ALREADY_EXISTS && !output->force)
        return err_set(err,
                       "%s appeared while the job was running\n  another run or program made it, "
                       "and it is not replaced\n  try: again with --force, or another name",
                       output->shown);
    return err;
}

void output_far_remove_work(const struct output *output)
{
    struct store_place *place = output->far->place;
    struct buf path = {0};
    buf_format(&path, "%s/" OUTPUT_JOURNAL, place->path);
    if (path.has_failed || place->calls->remove(place, buf_text(&path)) != WEFT_OK)
        err_clear();
    buf_fini(&path);
}

weft_err output_far_commit(struct output *output)
{
    struct output_far *far = output->far;
    weft_err err = ship_rest(output);
    if (!err && output->kind == TARGET_DIRECTORY)
        err = put_small(output, MANIFEST_NAME);
    if (!err && output->kind == TARGET_DIRECTORY)
        err = put_small(output, "_SUCCESS");
    if (journal_copy_is_lost(far->journal))
        return refuse_lost(output);
    if (!err && far->journal)
        err = check_ours(output);
    if (err)
        return err == WEFT_ALREADY_EXISTS ? err : explain(err, output, NULL);
    journal_copy_free(far->journal);
    far->journal = NULL;
    err = move(output);
    if (err)
        return err == WEFT_ALREADY_EXISTS ? err : explain(err, output, NULL);
    if (output->may_resume)
        output_far_remove_work(output);
    far->has_temporary = false;
    output_remove_temporary(output);
    output->has_temporary = false;
    return WEFT_OK;
}

// Whether the directory there stays, for another run. One that has lost against another answer leaves nothing: that answer would be in the way.
static bool end_journal(const struct output *output)
{
    struct output_far *far = output->far;
    struct journal_copy *journal = far->journal;
    const bool is_kept = journal && output->keeps_unfinished && !journal_copy_is_lost(journal);
    far->journal = NULL;
    if (is_kept)
        journal_copy_finish(journal);
    else
        journal_copy_free(journal);
    return is_kept;
}

void output_far_abort(const struct output *output)
{
    struct output_far *far = output->far;
    struct store_place *place = NULL;
    if (!far)
        return;
    shipper_free(far->shipper);
    far->shipper = NULL;
    struct err_kept kept;
    err_keep(&kept);
    if (end_journal(output))
        far->has_temporary = false;
    if (!far->has_temporary) {
        err_put_back(&kept);
        return;
    }
    // Another connection: this one may be waiting for a name node for a minute.
    if (store_open_place(output->shown, FAREWELL_MS, &place) != WEFT_OK ||
        place->calls->remove(place, far->temporary) != WEFT_OK)
        err_clear();
    store_close_place(place);
    far->has_temporary = false;
    err_put_back(&kept);
}

void output_far_free(struct output_far *far)
{
    if (!far)
        return;
    shipper_free(far->shipper);
    journal_copy_free(far->journal);
    store_close_place(far->place);
    free(far->temporary);
    free(far->aside);
    free(far->left);
    free(far->earlier);
    free(far->sizes);
    free(far->is_there);
    free(far);
}
