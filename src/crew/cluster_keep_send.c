// What a cluster needs to live without us goes in one archive: job.json, in which files have numbers, and those files.

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sha256.h"
#include "base/text.h"
#include "crew/cluster_keep.h"
#include "crew/own_program.h"
#include "pack/tar.h"
#include "sys/file/file.h"
#include "sys/file/find.h"

// Beside the process that looks after the run.
#define FILES_NAME "weft-files"
#define ARCHIVE_NAME "weft-archive"
#define JOB_NAME "job.json"

enum { COPY_BYTES = 1 << 20 };

struct sent_archive {
    const char *path;  // borrowed from the spec
    char target[40];
    uint8_t hash[SHA256_BYTES];
    uint64_t bytes;
    int fd;
};

struct sending {
    const struct crew_spec *spec;
    const struct cluster_run_options *options;
    int tar;  // the archive of files
    uint64_t tar_bytes;
    size_t file_count;
    json_t *job;
    VEC(struct sent_archive) archives;
    VEC(char *) words;
};

static weft_err no_memory(void)
{
    return err_no_memory("to send a cluster");
}

// ---- The archive of files ------------------------------------------------------------------------------------

static weft_err append_bytes(struct sending *sending, const void *data, size_t size)
{
    const weft_err err =
        file_write_at(sending->tar, "the files of the run", data, size, sending->tar_bytes);
    sending->tar_bytes += err ? 0 : size;
    return err;
}

static weft_err append_head(struct sending *sending, const struct tar_entry *entry)
{
    struct buf head = {0};
    tar_write_entry(entry, &head);
    const weft_err err =
        head.has_failed ? no_memory() : append_bytes(sending, head.data, head.size);
    buf_fini(&head);
    return err;
}

static weft_err append_zeros(struct sending *sending, uint64_t count)
{
    static const char zeros[TAR_END_BYTES];
    return append_bytes(sending, zeros, (size_t)count);
}

static weft_err append_content(struct sending *sending, int fd, const char *path, uint64_t size)
{
    char *block = malloc(COPY_BYTES);
    weft_err err = block ? WEFT_OK : no_memory();
    for (uint64_t done = 0; !err && done < size;) {
        const uint64_t left = size - done;
        size_t got = 0;
        err = file_read_at(fd, path, block, left < COPY_BYTES ? (size_t)left : COPY_BYTES, done,
                           &got);
        if (!err && got == 0)
            err = err_set(WEFT_ABORTED, "%s has shrunk while it was read", path);
        if (!err)
            err = append_bytes(sending, block, got);
        done += got;
    }
    free(block);
    return err ? err : append_zeros(sending, tar_pad(size));
}

static weft_err append_file(struct sending *sending, const char *path, const char *name)
{
    struct file_stat stat = {0};
    int fd = -1;
    weft_err err = file_open(path, &fd);
    if (!err)
        err = file_stat_fd(fd, path, &stat);
    const struct tar_entry entry = {
        .path = name, .kind = TAR_FILE, .size = stat.size, .is_executable = stat.is_executable};
    if (!err)
        err = append_head(sending, &entry);
    if (!err)
        err = append_content(sending, fd, path, stat.size);
    if (fd >= 0)
        file_close(fd);
    return err;
}

// A directory that is being sent, and the number that is its name there.
struct tree {
    struct sending *sending;
    const char *root;
    size_t number;
};

static weft_err append_below(void *owner, const struct found *found)
{
    const struct tree *tree = owner;
    const char *below = found->path + strlen(tree->root);
    struct buf name = {0};
    buf_format(&name, "%zu/%s", tree->number, below + strspn(below, "/"));
    const weft_err err =
        name.has_failed ? no_memory() : append_file(tree->sending, found->path, buf_text(&name));
    buf_fini(&name);
    return err;
}

static weft_err append_directory(struct sending *sending, const char *path, const char *name)
{
    const struct tree tree = {sending, path, sending->file_count};
    const struct tar_entry entry = {.path = name, .kind = TAR_DIRECTORY, .is_executable = true};
    const struct find_calls calls = {.visit = append_below};
    const weft_err err = append_head(sending, &entry);
    return err ? err : find_walk(path, &calls, (void *)&tree);
}

// Sends what stands at a path; *value is its name there, for job.json.
static weft_err append_named(struct sending *sending, const char *path, json_t **value)
{
    char name[24];
    struct found found;
    snprintf(name, sizeof name, "%zu", sending->file_count);
    *value = NULL;
    weft_err err = find_look(path, &found);
    if (!err && found.kind == FILE_MISSING)
        err = err_set(WEFT_NOT_FOUND, "there is no %s", path);
    else if (!err && found.kind == FILE_DIRECTORY)
        err = append_directory(sending, path, name);
    else if (!err)
        err = append_file(sending, path, name);
    sending->file_count++;
    *value = err ? NULL : json_string(name);
    return err || *value ? err : no_memory();
}

// ---- The description -----------------------------------------------------------------------------------------

static weft_err write_job(struct sending *sending, const char *url)
{
    struct buf text = {0};
    crew_spec_write(&text, sending->spec);
    sending->job = text.has_failed ? NULL : json_loadb(text.data, text.size, 0, NULL);
    buf_fini(&text);
    if (!sending->job || json_object_set_new(sending->job, "on", json_string(url)))
        return no_memory();
    return WEFT_OK;
}

static weft_err send_program(struct sending *sending, const struct crew_role *role, json_t *files)
{
    const char *program = role->command.items[0], *target;
    json_t *value;
    weft_err err = own_program_find(program, sending->options->directory, &target);
    if (err || !target || json_object_get(files, target))
        return err;
    err = append_named(sending, program, &value);
    return err || !json_object_set_new(files, target, value) ? err : no_memory();
}

static weft_err send_files(struct sending *sending, const struct crew_role *role, json_t *there)
{
    json_t *files = json_object();
    weft_err err = files ? WEFT_OK : no_memory();
    for (size_t i = 0; !err && i < role->files.count; i++) {
        json_t *value;
        err = append_named(sending, role->files.items[i].value, &value);
        if (!err && json_object_set_new(files, role->files.items[i].name, value))
            err = no_memory();
    }
    if (!err)
        err = send_program(sending, role, files);
    if (!err && json_object_size(files) > 0)
        err = json_object_set(there, "files", files) ? no_memory() : WEFT_OK;
    json_decref(files);
    return err;
}

// ---- Environments --------------------------------------------------------------------------------------------

static weft_err add_word(struct sending *sending, const char *word)
{
    char *copy = strdup(word);
    if (copy && VEC_PUSH(&sending->words, copy))
        return WEFT_OK;
    free(copy);
    return no_memory();
}

static weft_err measure(struct sent_archive *archive)
{
    char *block = malloc(COPY_BYTES);
    struct sha256 sha;
    size_t got = 1;
    weft_err err = block ? file_open(archive->path, &archive->fd) : no_memory();
    sha256_init(&sha);
    while (!err && got > 0) {
        err = file_read_at(archive->fd, archive->path, block, COPY_BYTES, archive->bytes, &got);
        sha256_add(&sha, block, err ? 0 : got);
        archive->bytes += err ? 0 : got;
    }
    sha256_end(&sha, archive->hash);
    free(block);
    return err;
}

static weft_err find_archive(struct sending *sending, const char *path, const char **target)
{
    for (size_t i = 0; i < sending->archives.count; i++)
        if (strcmp(sending->archives.items[i].path, path) == 0) {
            *target = sending->archives.items[i].target;
            return WEFT_OK;
        }
    struct sent_archive archive = {.path = path, .fd = -1};
    snprintf(archive.target, sizeof archive.target, ARCHIVE_NAME "-%zu", sending->archives.count);
    const weft_err err = measure(&archive);
    if (!err && VEC_PUSH(&sending->archives, archive)) {
        *target = sending->archives.items[sending->archives.count - 1].target;
        return WEFT_OK;
    }
    if (archive.fd >= 0)
        file_close(archive.fd);
    return err ? err : no_memory();
}

// Its path is relative to the process, not to job.json: a flag says it.
static weft_err send_archive(struct sending *sending, const struct crew_role *role, json_t *there)
{
    const char *target = NULL;
    struct buf flag = {0};
    if (!role->archive)
        return WEFT_OK;
    weft_err err = find_archive(sending, role->archive, &target);
    json_object_del(there, "archive");
    if (!err) {
        buf_format(&flag, "--archive=%s=%s", role->name, target);
        err = flag.has_failed ? no_memory() : add_word(sending, buf_text(&flag));
    }
    buf_fini(&flag);
    return err;
}

static weft_err send_roles(struct sending *sending)
{
    json_t *roles = json_object_get(sending->job, "roles");
    weft_err err = WEFT_OK;
    for (size_t i = 0; !err && i < sending->spec->roles.count; i++) {
        const struct crew_role *role = &sending->spec->roles.items[i];
        json_t *there = json_object_get(roles, role->name);
        if (role->instances == 0)
            continue;
        err = err_wrap(send_files(sending, role, there), "roles.%s: files", role->name);
        if (!err)
            err = err_wrap(send_archive(sending, role, there), "roles.%s: archive", role->name);
    }
    return err;
}

static weft_err end_archive(struct sending *sending)
{
    char *text = json_dumps(sending->job, JSON_COMPACT);
    if (!text)
        return no_memory();
    const size_t size = strlen(text);
    const struct tar_entry entry = {.path = JOB_NAME, .kind = TAR_FILE, .size = size};
    weft_err err = append_head(sending, &entry);
    if (!err)
        err = append_bytes(sending, text, size);
    if (!err)
        err = append_zeros(sending, tar_pad(size));
    free(text);
    return err ? err : append_zeros(sending, TAR_END_BYTES);
}

// ---- The words of the process there --------------------------------------------------------------------------

static weft_err add_time(struct sending *sending, const char *flag, uint32_t milliseconds)
{
    char text[64];
    if (milliseconds == 0)
        return WEFT_OK;
    snprintf(text, sizeof text, "--%s=%" PRIu32 "ms", flag, milliseconds);
    return add_word(sending, text);
}

static weft_err add_text(struct sending *sending, const char *flag, const char *value)
{
    struct buf text = {0};
    if (!value)
        return WEFT_OK;
    buf_format(&text, "--%s=%s", flag, value);
    const weft_err err = text.has_failed ? no_memory() : add_word(sending, buf_text(&text));
    buf_fini(&text);
    return err;
}

// Those of archives follow.
static weft_err add_words(struct sending *sending, const char *name, const char *shelf)
{
    const struct cluster_run_options *options = sending->options;
    weft_err err = add_word(sending, "keep");
    if (!err)
        err = add_text(sending, "shelf", shelf);
    if (!err)
        err = add_text(sending, "logs", KEEP_LOGS);
    if (!err)
        err = add_text(sending, "spec", FILES_NAME "/" JOB_NAME);
    if (!err)
        err = add_text(sending, "name", name);
    if (!err)
        err = add_text(sending, "journal", options->journal);
    if (!err)
        err = add_text(sending, "cd", options->directory);
    if (!err)
        err = add_time(sending, "timeout", options->timeout_ms);
    if (!err)
        err = add_time(sending, "grace", options->grace_ms);
    if (!err)
        err = add_time(sending, "start-deadline", options->start_deadline_ms);
    if (!err && options->keep_going)
        err = add_word(sending, "--keep-going");
    return err || !options->verbose ? err : add_word(sending, "--verbose");
}

// ---- Texts ---------------------------------------------------------------------------------------------------

// JSON and the messages of launchers have no other texts: bytes that are not UTF-8 would arrive as others.
static weft_err check_text(const char *where, const char *text)
{
    const char *end = text ? text + strlen(text) : text;
    for (const char *at = text; at < end;) {
        const size_t size = text_utf8_length(at, end);
        if (size == 0)
            return err_set(WEFT_INVALID_ARGUMENT,
                           "%s: %.200s is not UTF-8, and cannot be sent to the launcher\n"
                           "  try: a script that is sent by --file: it may have any bytes",
                           where, text);
        at += size;
    }
    return WEFT_OK;
}

static weft_err check_role(const struct crew_role *role)
{
    weft_err err = check_text("pre_script", role->pre_script);
    for (size_t i = 0; !err && i < role->command.count; i++)
        err = check_text("command", role->command.items[i]);
    for (size_t i = 0; !err && i < role->variables.count; i++)
        err = check_text("env", role->variables.items[i].value);
    for (size_t i = 0; !err && i < role->files.count; i++)
        err = check_text("files", role->files.items[i].name);
    return err;
}

static weft_err check_texts(const struct crew_spec *spec, const struct cluster_run_options *options)
{
    weft_err err = check_text("--cd", options->directory);
    if (!err)
        err = check_text("--journal", options->journal);
    for (size_t i = 0; !err && i < spec->roles.count; i++)
        err = err_wrap(check_role(&spec->roles.items[i]), "roles.%s", spec->roles.items[i].name);
    return err;
}

// ---- Sending -------------------------------------------------------------------------------------------------

static weft_err submit(struct sending *sending, struct keep *keep, const struct keep_made *made)
{
    struct keep_file *files = calloc(sending->archives.count + 1, sizeof *files);
    if (!files || !VEC_PUSH(&sending->words, NULL)) {
        free(files);
        return no_memory();
    }
    files[0] = (struct keep_file){.fd = sending->tar,
                                  .name = "the files of the run",
                                  .target = FILES_NAME,
                                  .bytes = sending->tar_bytes,
                                  .is_tree = true};
    for (size_t i = 0; i < sending->archives.count; i++) {
        const struct sent_archive *archive = &sending->archives.items[i];
        files[i + 1] = (struct keep_file){.fd = archive->fd,
                                          .name = archive->path,
                                          .target = archive->target,
                                          .bytes = archive->bytes,
                                          .hash = archive->hash};
    }
    const struct keep_run run = {.words = (const char *const *)sending->words.items,
                                 .files = files,
                                 .file_count = sending->archives.count + 1};
    const weft_err err = keep_submit(keep, made, &run);
    free(files);
    return err;
}

static weft_err prepare(struct sending *sending, const char *name, const struct keep_made *made)
{
    struct buf url = {0}, shelf = {0};
    const char *tmp = sending->options->tmp ? sending->options->tmp : getenv("TMPDIR");
    buf_append(&url, made->inner_url.data, made->inner_url.size);
    buf_append(&shelf, made->inner_shelf.data, made->inner_shelf.size);
    weft_err err = file_create_nameless(tmp && *tmp ? tmp : "/tmp", &sending->tar);
    if (!err)
        err = write_job(sending, buf_text(&url));
    if (!err)
        err = add_words(sending, name, buf_text(&shelf));
    if (!err)
        err = send_roles(sending);
    if (!err)
        err = end_archive(sending);
    buf_fini(&url);
    buf_fini(&shelf);
    return err;
}

static void end_sending(struct sending *sending)
{
    struct err_kept kept;
    err_keep(&kept);
    if (sending->tar >= 0)
        file_close(sending->tar);
    for (size_t i = 0; i < sending->archives.count; i++)
        file_close(sending->archives.items[i].fd);
    for (size_t i = 0; i < sending->words.count; i++)
        free(sending->words.items[i]);
    VEC_FINI(&sending->archives);
    VEC_FINI(&sending->words);
    json_decref(sending->job);
    err_put_back(&kept);
}

static weft_err give_up(struct keep *keep, const struct keep_made *made, const char *on,
                        weft_err err)
{
    struct err_kept kept;
    err_keep(&kept);
    const bool is_gone = keep_abandon(keep, made);
    err_put_back(&kept);
    return is_gone ? err
                   : err_set(err,
                             "%s\n  the launcher may have taken it nevertheless, as %s\n"
                             "  try: weft cluster down --on %s %s",
                             kept.text, made->id, on, made->id);
}

weft_err cluster_keep_give(struct keep *keep, const char *name, const struct crew_spec *spec,
                           const struct cluster_run_options *options, struct keep_made *made)
{
    struct sending sending = {.spec = spec, .options = options, .tar = -1};
    weft_err err = check_texts(spec, options);
    if (!err)
        err = keep_begin(keep, made);
    if (err)
        return err;
    err = prepare(&sending, name ? name : made->id, made);
    if (!err)
        err = submit(&sending, keep, made);
    end_sending(&sending);
    return err ? give_up(keep, made, options->on, err) : WEFT_OK;
}
