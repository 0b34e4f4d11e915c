// output: an answer that goes to another store.
//
// Workers write at any place of a file, in any order, and a later run continues earlier work. No store of HDFS's or S3's kind can do that, so
// the answer is made in the directory of --tmp, as one on this machine is, and each part goes there when it is complete, by one writer. The name
// there is hidden until the end. It names the process and the machine, so that a later run removes what a killed one has left, and nothing else.

#include "store/output_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/crc32c.h"
#include "base/sha256.h"
#include "base/vec.h"
#include "store/shipper.h"
#include "sys/file/find.h"
#include "sys/machine/kin.h"
#include "sys/machine/machine.h"
#include "sys/secure/secret.h"

enum {
    PATIENCE_MS = 60000,    // a job waits for a name node that restarts
    FIRST_MS = 10000,       // one that has just begun waits less
    FAREWELL_MS = 5000,     // one that failed does not
    HERE_BYTES_MAX = 4000,  // of a path there
    NAME_BYTES_MAX = 180,   // of its last name: with what we add it must stay under 255
    HASH_BYTES = 8,
    MACHINE_BYTES = 9,  // 8 hexadecimal digits and their end
    LEFT_MAX = 1000,    // of what killed runs have left; the next run takes the others
};

struct output_far {
    struct store_place *place;
    struct shipper *shipper;
    char *temporary, *aside;  // names there
    bool has_temporary;
    struct part_files from, to;
    uint32_t *left;  // for each part: pieces that are not committed
    char machine[MACHINE_BYTES];
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

static weft_err keep(struct buf *text, char **kept)
{
    *kept = text->has_failed ? NULL : strdup(buf_text(text));
    buf_fini(text);
    return *kept ? WEFT_OK : no_memory();
}

// ---- Names ---------------------------------------------------------------------------------------------

static const char *last_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

// Where process numbers mean the same processes: a machine since it was started, and in it a container.
static void name_machine(char machine[MACHINE_BYTES])
{
    char text[200] = "", space[100] = "", host[MACHINE_NAME_BYTES_MAX];
    size_t got = 0;
    int fd = -1;
    if (file_open("/proc/sys/kernel/random/boot_id", &fd) != WEFT_OK ||
        file_read_at(fd, "boot_id", text, sizeof text - 1, 0, &got) != WEFT_OK)
        err_clear();
    file_close(fd);
    if (!find_link_target("/proc/self/ns/pid", space, sizeof space))
        space[0] = 0;
    machine_host_name(host);
    uint32_t crc = crc32c(0, text, got);
    crc = crc32c(crc, space, strlen(space));
    crc = crc32c(crc, host, strlen(host));
    snprintf(machine, MACHINE_BYTES, "%08" PRIx32, crc);
}

// ".NAME.weft-MACHINE-", and then the process and a random number: the names of the runs of this machine.
static void append_hidden(const struct output_far *far, struct buf *text)
{
    buf_format(text, ".%.*s.weft-%s-", NAME_BYTES_MAX, last_name(far->place->path), far->machine);
}

static weft_err name_there(struct output_far *far)
{
    const char *path = far->place->path;
    struct buf text = {0}, aside = {0};
    uint32_t random;
    secret_random(&random, sizeof random);
    buf_append(&text, path, (size_t)(last_name(path) - path));
    append_hidden(far, &text);
    buf_format(&text, "%ld-%08" PRIx32, (long)getpid(), random);
    weft_err err = keep(&text, &far->temporary);
    if (!err) {
        buf_format(&aside, "%s-old", far->temporary);
        err = keep(&aside, &far->aside);
    }
    return err;
}

// The name here: the same for every run of the user's that writes there, so that the next one continues this one.
static weft_err name_here(struct output *output, const struct output_options *options)
{
    char user[MACHINE_NAME_BYTES_MAX];
    uint8_t digest[SHA256_BYTES];
    struct sha256 sha;
    struct buf text = {0};
    const char *path = output->far->place->path;
    // hdfs://HOST of hdfs://HOST/path/
    const size_t origin = strlen("hdfs://") + strcspn(output->shown + strlen("hdfs://"), "/");
    machine_user_name(user);
    sha256_init(&sha);
    sha256_add(&sha, user, strlen(user) + 1);
    sha256_add(&sha, output->shown, origin);
    sha256_add(&sha, path, strlen(path));
    sha256_end(&sha, digest);
    buf_format(&text, "%s/weft-", options->tmp);
    for (size_t i = 0; i < HASH_BYTES; i++)
        buf_format(&text, "%02x", digest[i]);
    buf_format(&text, "-%.*s", NAME_BYTES_MAX, last_name(path));
    return keep(&text, &output->target);
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
    name_machine(far->machine);
    weft_err err = store_open_place(options->target, PATIENCE_MS, &far->place);
    if (!err)
        err = look_at_target(output);
    if (!err)
        err = name_here(output, options);
    if (!err)
        err = name_there(far);
    return err ? err : output_name_temporary(output);
}

// ---- What killed runs have left ------------------------------------------------------------------------

struct left {
    const struct output_far *far;
    struct buf prefix;
    bool has_target;
    VEC(char *) names;
};

// An earlier answer that was moved aside, by a run that was killed before it had put its own in the place: it is all there is.
static bool is_precious(const struct left *left, const char *name)
{
    const size_t size = strlen(name);
    return !left->has_target && size > 4 && strcmp(name + size - 4, "-old") == 0;
}

// Another run has a process of its own, and several of one process have random numbers of their own.
static bool is_left(const char *rest)
{
    struct kin_stat ignored;
    char *end;
    const long pid = strtol(rest, &end, 10);
    return pid > 0 && *end == '-' && pid != (long)getpid() && !kin_read_stat((pid_t)pid, &ignored);
}

static weft_err note_left(void *owner, const char *name, const struct store_entry *entry)
{
    struct left *left = owner;
    const size_t size = left->prefix.size;
    (void)entry;
    if (strncmp(name, buf_text(&left->prefix), size) != 0 || !is_left(name + size) ||
        is_precious(left, name) || left->names.count == LEFT_MAX)
        return WEFT_OK;
    char *copy = strdup(name);
    if (copy && VEC_PUSH(&left->names, copy))
        return WEFT_OK;
    free(copy);
    return no_memory();
}

// Nothing that fails here keeps the run from its work.
static void tidy(const struct output_far *far)
{
    struct store_place *place = far->place;
    struct left left = {.far = far};
    const size_t parent = (size_t)(last_name(place->path) - place->path);
    char *above = strndup(place->path, parent > 1 ? parent - 1 : 1);
    struct store_entry found = {.kind = FILE_MISSING};
    append_hidden(far, &left.prefix);
    if (place->calls->look(place, place->path, &found) != WEFT_OK)
        err_clear();
    left.has_target = found.kind != FILE_MISSING;
    if (above && !left.prefix.has_failed &&
        place->calls->list(place, above, note_left, &left) != WEFT_OK)
        err_clear();
    for (size_t i = 0; i < left.names.count; i++) {
        struct buf path = {0};
        buf_format(&path, "%.*s%s", (int)parent, place->path, left.names.items[i]);
        if (!path.has_failed && place->calls->remove(place, buf_text(&path)) != WEFT_OK)
            err_clear();
        buf_fini(&path);
        free(left.names.items[i]);
    }
    VEC_FINI(&left.names);
    buf_fini(&left.prefix);
    free(above);
}

// ---- Parts ---------------------------------------------------------------------------------------------

static weft_err put_small(const struct output *output, const char *name)
{
    const struct output_far *far = output->far;
    struct store_content content = {.fd = -1, .patience_ms = PATIENCE_MS};
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
    weft_err err = WEFT_OK;
    if (output->kind == TARGET_DIRECTORY) {
        err = far->place->calls->make_directory(far->place, far->temporary);
        buf_append_text(&path, "/.first");
    } else {
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
        .thread_count = wanted < SHIPPER_THREADS_MAX ? wanted : SHIPPER_THREADS_MAX,
        .patience_ms = PATIENCE_MS,
        .halted = output->halted,
        .owner = output->halted_owner,
    };
    return shipper_new(&spec, &far->shipper);
}

weft_err output_far_plan(struct output *output)
{
    struct output_far *far = output->far;
    far->left = calloc(output->part_count ? output->part_count : 1, sizeof *far->left);
    if (!far->left)
        return no_memory();
    for (uint32_t i = 0; i < output->piece_count; i++)
        far->left[output->pieces[i].part]++;
    tidy(far);
    weft_err err = begin_there(output);
    if (err == WEFT_PERMISSION_DENIED)
        return explain(err, output, "a directory that you may write in, or HADOOP_USER_NAME");
    if (!err)
        err = start_shipper(output);
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
    if (output->kind == TARGET_DIRECTORY && output->drops_empty && records == 0)
        return WEFT_OK;
    return shipper_add(output->far->shipper, &shipment);
}

weft_err output_far_note(struct output *output, uint32_t part)
{
    struct output_far *far = output->far;
    ASSERT(far->left[part] > 0);
    weft_err err = --far->left[part] == 0 ? ship(output, part) : WEFT_OK;
    if (!err)
        err = shipper_error(far->shipper);
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

weft_err output_far_verify(const struct output *output, struct manifest *manifest)
{
    struct store_place *place = output->far->place;
    struct check check = {.manifest = manifest};
    uint32_t full_count = 0;
    weft_err err = read_manifest(output, manifest);
    for (size_t i = 0; !err && i < manifest->part_count; i++)
        full_count += manifest->parts[i].bytes > 0 || manifest->parts[i].records > 0;
    if (!err)
        err = place->calls->list(place, place->path, check_entry, &check);
    if (!err && !check.has_success)
        err = err_set(WEFT_NOT_FOUND, "%s is not a finished output: it has no _SUCCESS",
                      output->shown);
    if (!err && check.found_count < full_count)
        err = err_set(WEFT_DATA_LOSS, "%s lacks %" PRIu32 " of its parts", output->shown,
                      full_count - check.found_count);
    return err;
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

weft_err output_far_commit(struct output *output)
{
    weft_err err = ship_rest(output);
    if (!err && output->kind == TARGET_DIRECTORY)
        err = put_small(output, MANIFEST_NAME);
    if (!err && output->kind == TARGET_DIRECTORY)
        err = put_small(output, "_SUCCESS");
    if (err)
        return explain(err, output, NULL);
    err = move(output);
    if (err)
        return err == WEFT_ALREADY_EXISTS ? err : explain(err, output, NULL);
    output->far->has_temporary = false;
    output_remove_temporary(output);
    output->has_temporary = false;
    return WEFT_OK;
}

void output_far_abort(const struct output *output)
{
    struct output_far *far = output->far;
    struct store_place *place = NULL;
    if (!far)
        return;
    shipper_free(far->shipper);
    far->shipper = NULL;
    if (!far->has_temporary)
        return;
    struct err_kept kept;
    err_keep(&kept);
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
    store_close_place(far->place);
    free(far->temporary);
    free(far->aside);
    free(far->left);
    free(far);
}
