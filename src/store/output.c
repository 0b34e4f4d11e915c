// output: three kinds of target, one struct. What differs is how it is opened, committed and given up;
// counting the pieces is the same.

#include "store/output_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "store/manifest.h"
#include "sys/file/copier.h"
#include "sys/file/file.h"
#include "sys/file/find.h"
#include "sys/file/own.h"
#include "sys/file/place.h"
#include "sys/file/standard.h"

static weft_err no_memory(void)
{
    return err_no_memory("for the output");
}

// Puts the failed step before the sentence and the next step after it; the code stays.
static weft_err explain(weft_err code, const struct output *output, const char *next)
{
    char why[ERR_TEXT_BYTES_MAX];
    snprintf(why, sizeof why, "%s", err_text());
    return err_set(code, "cannot write %s\n  %s\n  try: %s", output->shown, why, next);
}

// ---- Opening -------------------------------------------------------------------------------------------

static weft_err open_copier(struct output *output, const struct output_options *options)
{
    int spool;
    const weft_err err = file_create_nameless(options->tmp, &spool);
    if (err)
        return err_wrap(err, "cannot keep the answer for %s", output->shown);
    output->kind = TARGET_STREAM;
    output->place = (struct output_place){.kind = OUTPUT_PLACE_FD, .fd = spool};
    output->copier = copier_new(&(struct copier_spec){.from = spool,
                                                      .to = output->to,
                                                      .to_name = output->shown,
                                                      .halted = options->halted,
                                                      .owner = options->owner});
    return output->copier ? WEFT_OK : WEFT_RESOURCE_EXHAUSTED;
}

// The answer that there is none goes nowhere.
static weft_err open_nowhere(struct output *output)
{
    output->kind = TARGET_NULL;
    const weft_err err = standard_open_stream("/dev/null", &(struct wait_limit){0}, &output->to);
    output->place = (struct output_place){.kind = OUTPUT_PLACE_FD, .fd = output->to};
    return err;
}

// A descriptor of ours, by its number. Opened by its name it would be a file to replace, or to begin anew.
static weft_err open_number(struct output *output, int number, const struct output_options *options)
{
    enum standard_kind kind;
    const weft_err err = standard_look(number, &kind);
    if (err)
        return err;
    if (kind == STANDARD_CLOSED && number == STDOUT_FILENO && options->is_mute)
        return open_nowhere(output);
    if (kind == STANDARD_CLOSED && number == STDOUT_FILENO)
        return err_set(WEFT_FAILED_PRECONDITION,
                       "standard output is closed: the answer cannot be written\n  try: -o FILE");
    if (kind == STANDARD_CLOSED)
        return err_set(WEFT_FAILED_PRECONDITION, "%s is not open for writing\n  try: -o FILE",
                       output->shown);
    // Under another number: a worker's own 1 and 2 are where user code prints.
    output->to = standard_duplicate(number);
    if (output->to < 0)
        return WEFT_RESOURCE_EXHAUSTED;
    if (kind == STANDARD_STREAM)
        return open_copier(output, options);
    output->kind = TARGET_NULL;
    output->place = (struct output_place){.kind = OUTPUT_PLACE_FD, .fd = output->to};
    return WEFT_OK;
}

// The server that made the answer may have been killed right after it put it there. No later run comes further than here, so the
// rest of that server is removed here, too.
weft_err output_refuse_existing(struct output *output)
{
    output_tidy_claim(output);
    output_tidy_left(output);
    return err_set(WEFT_ALREADY_EXISTS,
                   "%s exists already\n  try: --force to replace it, or another name",
                   output->shown);
}

// Makes the name beside the target that the worker writes to.
weft_err output_name_temporary(struct output *output)
{
    char *parent;
    weft_err err = place_parent(output->target, &parent);
    if (err)
        return err;
    err = place_check_parent(parent);
    free(parent);
    if (err == WEFT_NOT_FOUND)
        return explain(err, output, "make that directory first (mkdir -p)");
    if (err)
        return explain(err, output, "a directory that you may write in");
    if (output->may_resume)
        err = output_name_unfinished(output);
    else
        err = place_make_name(output->target, &output->temporary);
    output->place.path = output->temporary;
    return err;
}

static weft_err open_file(struct output *output, enum place_kind found)
{
    output->kind = TARGET_FILE;
    output->place.kind = OUTPUT_PLACE_FILE;
    if (found == PLACE_DIRECTORY)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "%s is a directory\n  try: -o %s/ for part files, --force to replace an "
                       "earlier output there; or the name of a file",
                       output->shown, output->shown);
    // A link that leads nowhere is replaced itself.
    const weft_err err = place_follow(output->shown, &output->target);
    if (err == WEFT_PERMISSION_DENIED)
        return err;
    if (err && !(output->target = strdup(output->shown)))
        return no_memory();
    if (found != PLACE_FREE && !output->force)
        return output_refuse_existing(output);
    const weft_err refused = place_check_replaceable(output->target);
    return refused ? refused : output_name_temporary(output);
}

static bool is_part_name(const char *name)
{
    if (strncmp(name, "part-", 5) != 0 || !name[5])
        return false;
    const char *rest = name + 5 + strspn(name + 5, "0123456789");
    return !rest[0] || strcmp(rest, ".gz") == 0 || strcmp(rest, ".zst") == 0 ||
           strcmp(rest, ".lz4") == 0;
}

static bool is_output_name(const char *name)
{
    return strcmp(name, "_SUCCESS") == 0 || strcmp(name, MANIFEST_NAME) == 0 ||
           strcmp(name, MANIFEST_NAME_BEFORE) == 0 || strcmp(name, OUTPUT_JOURNAL) == 0 ||
           strcmp(name, OUTPUT_RUNS) == 0 || strcmp(name, OUTPUT_PARTS) == 0 || is_part_name(name);
}

bool output_is_made(const struct manifest *manifest, const char *name, enum file_kind kind)
{
    if (strcmp(name, OUTPUT_JOURNAL) == 0 || strcmp(name, OUTPUT_RUNS) == 0 ||
        strcmp(name, OUTPUT_PARTS) == 0)
        return kind == FILE_DIRECTORY;
    if (kind != FILE_REGULAR || !is_output_name(name))
        return false;
    if (!is_part_name(name))
        return true;
    const unsigned long part = strtoul(name + 5, NULL, 10);
    return part < manifest->part_count && strcmp(manifest->parts[part].name, name) == 0;
}

static bool is_of_output(const void *owner, const char *name, enum file_kind kind)
{
    return output_is_made(owner, name, kind);
}

weft_err output_refuse_others(const struct output *output)
{
    return err_set(WEFT_ALREADY_EXISTS,
                   "%s holds other files than those that the manifest of an earlier output "
                   "lists\n  --force would remove them\n"
                   "  try: another name, or remove the directory yourself",
                   output->shown);
}

weft_err output_check_replaceable(const struct output *output)
{
    struct manifest manifest = {0};
    bool has_only;
    // Without one, or with one that is broken, no part is known to be ours.
    if (manifest_read(output->target, &manifest))
        err_clear();
    const weft_err err = find_has_only(output->target, is_of_output, &manifest, &has_only);
    manifest_fini(&manifest);
    return err || has_only ? err : output_refuse_others(output);
}

static weft_err follow_directory(struct output *output, const char *path)
{
    weft_err err = place_follow(path, &output->target);
    if (err || !output->has_target)
        return err;
    free(output->target);
    output->target = file_real_path(path);
    return output->target ? WEFT_OK : err_errno("cannot follow %s", path);
}

static weft_err open_directory(struct output *output)
{
    char *trimmed = strdup(output->shown);
    if (!trimmed)
        return no_memory();
    for (size_t size = strlen(trimmed); size > 1 && trimmed[size - 1] == '/';)
        trimmed[--size] = 0;
    output->kind = TARGET_DIRECTORY;
    output->place.kind = OUTPUT_PLACE_PARTS;
    enum place_kind found;
    weft_err err = place_look(trimmed, &found);
    if (!err && found != PLACE_FREE && found != PLACE_DIRECTORY)
        err = err_set(WEFT_ALREADY_EXISTS,
                      "%s exists and is not a directory\n  try: another name, or without the slash",
                      trimmed);
    output->has_target = !err && found == PLACE_DIRECTORY;
    if (!err)
        err = follow_directory(output, trimmed);
    free(trimmed);
    if (!err && output->has_target && !output->force && !output->may_resume)
        err = output_refuse_existing(output);
    if (!err && output->has_target && output->force)
        err = place_check_replaceable(output->target);
    if (!err && output->has_target && output->force)
        err = output_check_replaceable(output);
    return err ? err : output_name_temporary(output);
}

static weft_err open_path(struct output *output, const struct output_options *options)
{
    if (output->shown[0] && output->shown[strlen(output->shown) - 1] == '/')
        return open_directory(output);
    enum place_kind found;
    weft_err err = place_look(output->shown, &found);
    if (err || found != PLACE_STREAM)
        return err ? err : open_file(output, found);
    err = place_check_stream(output->shown);
    if (!err)
        err = standard_open_stream(output->shown, &options->wait, &output->to);
    // Again, as it may be another by now; nothing was written.
    if (!err)
        err = place_check_stream(output->shown);
    return err ? err : open_copier(output, options);
}

bool output_is_stdout(const char *target)
{
    return !target || strcmp(target, "-") == 0 || standard_number(target) == STDOUT_FILENO;
}

int output_answer_fd(const struct output *output)
{
    return output->kind == TARGET_STREAM && standard_has_reader(output->to) ? output->to : 0;
}

size_t output_list_own(const struct output *output, const char *paths[OUTPUT_OWN_MAX])
{
    size_t count = 0;
    if (output->target)
        paths[count++] = output->target;
    if (output->temporary)
        paths[count++] = output->temporary;
    if (output->far)
        paths[count++] = output->shown;
    return count;
}

weft_err output_open(struct output **output, const struct output_options *options)
{
    const char *target = options->target;
    const int number = output_is_stdout(target) ? STDOUT_FILENO : standard_number(target);
    struct output *opened = calloc(1, sizeof *opened);
    *output = NULL;
    if (!opened)
        return no_memory();
    opened->to = opened->place.fd = opened->temporary_fd = -1;
    opened->force = options->force;
    opened->drops_empty = options->drops_empty;
    opened->halted = options->halted;
    opened->halted_owner = options->owner;
    opened->may_resume =
        options->may_resume && target && target[0] && target[strlen(target) - 1] == '/';
    snprintf(opened->suffix, sizeof opened->suffix, "%s", options->suffix ? options->suffix : "");
    opened->shown = strdup(number == STDOUT_FILENO ? "standard output" : target);
    opened->job_name = strdup(options->job_name ? options->job_name : "");
    weft_err err = WEFT_OK;
    if (!opened->shown || !opened->job_name)
        err = no_memory();
    else if (number >= 0)
        err = open_number(opened, number, options);
    else if (store_is_far(target))
        err = output_far_open(opened, options);
    else
        err = open_path(opened, options);
    if (!err)
        err = output_check_server(opened);
    if (err) {
        output_free(opened);
        return err;
    }
    *output = opened;
    return WEFT_OK;
}

// ---- Pieces --------------------------------------------------------------------------------------------

const struct output_place *output_place(const struct output *output)
{
    return &output->place;
}

// Made only now: until here the process may be killed without leaving anything.
static weft_err make_temporary(struct output *output)
{
    weft_err err = WEFT_OK;
    if (output->kind == TARGET_DIRECTORY && output->may_resume)
        err = own_make_directory(output->temporary);
    else if (output->kind == TARGET_DIRECTORY)
        err = place_make_directory(output->temporary);
    else if (output->kind == TARGET_FILE)
        err = file_create_held(output->temporary, &output->temporary_fd);
    output->has_temporary = output->temporary && !err;
    if (!err && output->kind == TARGET_FILE && output->force)
        err = own_copy_permissions(output->temporary_fd, output->target);
    return err;
}

weft_err output_plan(struct output *output, uint32_t part_count, uint32_t piece_count,
                     const uint32_t *part_of_piece)
{
    ASSERT(!output->pieces && (part_count > 0 || piece_count == 0));
    output->pieces = calloc(piece_count ? piece_count : 1, sizeof *output->pieces);
    if (!output->pieces)
        return no_memory();
    output->piece_count = piece_count;
    output->part_count = part_count;
    for (uint32_t i = 0; part_of_piece && i < piece_count; i++) {
        ASSERT(part_of_piece[i] < part_count &&
               (i == 0 || part_of_piece[i] >= part_of_piece[i - 1]));
        output->pieces[i].part = part_of_piece[i];
    }
    output_tidy_claim(output);
    output_tidy_left(output);
    const weft_err err = make_temporary(output);
    return !err && output->far ? output_far_plan(output) : err;
}

weft_err output_piece_committed(struct output *output, uint32_t piece, uint64_t bytes, uint32_t crc,
                                uint64_t records)
{
    ASSERT(piece < output->piece_count && !output->pieces[piece].is_committed);
    struct planned_piece *done = &output->pieces[piece];
    *done = (struct planned_piece){bytes, records, crc, done->part, true};
    output->bytes += bytes;
    output->records += records;
    for (; output->prefix_count < output->piece_count &&
           output->pieces[output->prefix_count].is_committed;
         output->prefix_count++)
        output->prefix_bytes += output->pieces[output->prefix_count].bytes;
    if (output->far)
        return output_far_note(output, done->part);
    if (!output->copier)
        return WEFT_OK;
    copier_extend(output->copier, output->prefix_bytes);
    return copier_error(output->copier);
}

bool output_reader_left(const struct output *output)
{
    return output->copier && copier_reader_left(output->copier);
}

bool output_is_drained(const struct output *output)
{
    return output->far ? output_far_is_idle(output)
                       : !output->copier || copier_is_idle(output->copier);
}

uint64_t output_bytes_out(const struct output *output)
{
    return output->copier ? copier_bytes_out(output->copier) : 0;
}

uint64_t output_bytes(const struct output *output)
{
    return output->bytes;
}

uint64_t output_records(const struct output *output)
{
    return output->records;
}

// ---- The end -------------------------------------------------------------------------------------------

weft_err output_commit(struct output *output)
{
    ASSERT(output->pieces && output->prefix_count == output->piece_count && !output->is_finished);
    weft_err err = WEFT_OK;
    switch (output->kind) {
    case TARGET_FILE:
        err = output_commit_file(output);
        break;
    case TARGET_DIRECTORY:
        err = output_commit_directory(output);
        break;
    case TARGET_NULL:
        break;
    case TARGET_STREAM:
        err = copier_wait(output->copier);
        // Network file systems report some errors only now.
        if (!err) {
            err = file_close_checked(output->to, output->shown);
            output->to = -1;
        }
        break;
    }
    output->is_finished = !err;
    // Early: a server that is killed between here and its end leaves nothing.
    if (!err)
        output_let_go(output);
    return err;
}

void output_remove_temporary(const struct output *output)
{
    char sentence[ERR_TEXT_BYTES_MAX];
    snprintf(sentence, sizeof sentence, "%s", err_text());
    const weft_err err = output->may_resume ? output_discard_unfinished(output)
                                            : file_remove_tree(output->temporary);
    if (err)
        err_set(err, "%s", sentence);
}

void output_abort(struct output *output)
{
    if (output->is_finished)
        return;
    output->is_finished = true;
    output_far_abort(output);
    if (output->has_temporary && !output->keeps_unfinished)
        output_remove_temporary(output);
    // A stream's copier stops in output_free; until then it may report how far it came.
}

void output_free(struct output *output)
{
    if (!output)
        return;
    output_abort(output);
    output_let_go(output);
    output_far_free(output->far);
    copier_free(output->copier);
    if (output->place.fd != output->to)
        file_close(output->place.fd);
    file_close(output->to);
    file_close(output->temporary_fd);
    free(output->shown);
    free(output->target);
    free(output->temporary);
    free(output->job_name);
    free(output->pieces);
    free(output);
}
