// Runs that YARN keeps: an application whose master is weft, in a container. Its files lie in HDFS: the program, which is there
// for every run, and a directory of the run, its shelf.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch/far/far.h"
#include "launch/keep.h"
#include "launch/yarn/application.h"
#include "launch/yarn/yarn.h"
#include "launch/yarn/yarn_inner.h"
#include "launch/yarn/yarn_settings.h"
#include "launch/yarn/yarn_stage.h"
#include "launch/yarn/yarn_words.h"
#include "store/hdfs/namenode.h"
#include "store/hdfs/upload.h"
#include "store/hdfs/url.h"
#include "store/store.h"
#include "sys/file/file.h"
#include "sys/secure/secret.h"
#include "wire/hadoop/token_file.h"

enum {
    HDFS_PATIENCE_MS = 15000,
    STEP_BYTES = 1 << 20,
    ATTEMPTS_DEFAULT = 2,
    KEEPER_MEMORY_DEFAULT_MB = 256,
    HASH_TEXT_BYTES = 65,
    WHY_BYTES_MAX = 400,
};

struct yarn_keep {
    struct keep base;
    struct yarn_settings settings;
    const char *name;  // of the run; NULL: none
    struct yarn_site site;
    struct yarn_client *client;
    char authority[HDFS_AUTHORITY_BYTES];
    struct site hdfs;
    struct namenode *namenode;  // NULL: nothing was sent yet
    bool may_run;               // the answer to a submission was lost
};

static struct yarn_keep *of(struct keep *keep)
{
    return (struct yarn_keep *)keep;
}

static weft_err no_memory(void)
{
    return err_no_memory("for an application of YARN");
}

// ---- Opening -------------------------------------------------------------------------------------------------

static void close_keep(struct keep *base)
{
    struct yarn_keep *keep = of(base);
    struct err_kept kept;
    err_keep(&kept);
    yarn_client_close(keep->client);
    namenode_free(keep->namenode);
    yarn_settings_fini(&keep->settings);
    free(keep);
    err_put_back(&kept);
}

static weft_err open_keep(struct keep **opened, const struct keep_options *options)
{
    struct yarn_keep *keep = calloc(1, sizeof *keep);
    if (!keep)
        return no_memory();
    keep->base.keeper = &yarn_keeper;
    keep->name = options->name;
    const struct yarn_client_options wanted = {.site = &keep->site};
    weft_err err = yarn_settings_read(options->settings, &keep->settings);
    if (!err)
        err = yarn_site_find(options->url, &keep->site);
    if (!err)
        err = yarn_client_open(&wanted, &keep->client);
    if (err)
        close_keep(&keep->base);
    else
        *opened = &keep->base;
    return err;
}

// ---- The shelf -----------------------------------------------------------------------------------------------

// The HDFS of the shelf is also that of the files of the run.
static weft_err find_hdfs(struct yarn_keep *keep)
{
    const char *named = keep->settings.shelf ? keep->settings.shelf : keep->settings.stage;
    struct hdfs_url *url = calloc(1, sizeof *url);
    weft_err err = url ? WEFT_OK : no_memory();
    if (!err && named)
        err = hdfs_url_read(named, url);
    if (!err && named)
        memcpy(keep->authority, url->authority, sizeof keep->authority);
    if (!err && !keep->authority[0])
        err = yarn_stage_find_default(keep->authority, sizeof keep->authority);
    free(url);
    return err ? err : site_find(keep->authority, &keep->hdfs);
}

static weft_err append_path(const struct yarn_keep *keep, const char *id, struct buf *path)
{
    struct hdfs_url *url = calloc(1, sizeof *url);
    weft_err err = url ? WEFT_OK : no_memory();
    if (!err && keep->settings.shelf)
        err = hdfs_url_read(keep->settings.shelf, url);
    if (!err && keep->settings.shelf)
        buf_format(path, "%s/%s", strcmp(url->path, "/") == 0 ? "" : url->path, id);
    else if (!err)
        buf_format(path, "/user/%s/.weft/runs/%s", yarn_client_user(keep->client), id);
    free(url);
    return err || !path->has_failed ? err : no_memory();
}

static weft_err find_shelf(struct keep *base, const char *id, struct buf *shelf)
{
    struct yarn_keep *keep = of(base);
    struct yarn_app_id number;
    if (!yarn_read_app(id, &number))
        return err_set(WEFT_INVALID_ARGUMENT,
                       "%s is not an application of YARN\n"
                       "  try: application_1700000000000_0007, as weft cluster up printed it",
                       id);
    const weft_err err = find_hdfs(keep);
    if (err)
        return err;
    buf_format(shelf, "hdfs://%s", keep->authority);
    return append_path(keep, id, shelf);
}

static weft_err make_directory(const char *url)
{
    struct store_place *place = NULL;
    weft_err err = store_open_place(url, HDFS_PATIENCE_MS, &place);
    if (!err)
        err = place->calls->make_directory(place, place->path);
    store_close_place(place);
    return err_wrap(err, "the directory of the run in HDFS");
}

static struct yarn_inner inner_of(const struct yarn_keep *keep)
{
    return (struct yarn_inner){.yarn = &keep->site,
                               .hdfs = &keep->hdfs,
                               .authority = keep->authority,
                               .user = yarn_client_user(keep->client)};
}

// YARN takes an application for any queue, and says later that there is none.
static weft_err check_queue(const struct yarn_keep *keep)
{
    struct yarn_queue *queue = keep->site.queue[0] ? malloc(sizeof *queue) : NULL;
    weft_err err = WEFT_OK;
    if (queue)
        err = yarn_client_queue(keep->client, keep->site.queue, queue);
    if (queue && !err && !queue->is_running)
        err = err_set(WEFT_FAILED_PRECONDITION, "the queue %s takes no applications at present",
                      keep->site.queue);
    free(queue);
    return err;
}

static weft_err begin(struct keep *base, struct keep_made *made)
{
    struct yarn_keep *keep = of(base);
    struct yarn_new *fresh = calloc(1, sizeof *fresh);
    weft_err err = check_queue(keep);
    if (!err)
        err = fresh ? yarn_client_name(keep->client, fresh) : no_memory();
    if (!err) {
        snprintf(made->id, sizeof made->id, "%s", fresh->id);
        err = find_shelf(base, made->id, &made->shelf);
    }
    free(fresh);
    if (err)
        return err;
    const struct yarn_inner inner = inner_of(keep);
    buf_append_text(&made->inner_shelf, "hdfs://");
    yarn_inner_name_hdfs(&inner, &made->inner_shelf);
    err = append_path(keep, made->id, &made->inner_shelf);
    yarn_inner_name_yarn(&inner, &made->inner_url);
    return err ? err : make_directory(buf_text(&made->shelf));
}

// ---- Files ---------------------------------------------------------------------------------------------------

// What the container of the master fetches; texts are in the list.
struct fetched {
    char *url;
    struct yarn_file file;
};

struct package {
    VEC(struct fetched) files;
    struct buf credentials, command;
};

static weft_err add_fetched(struct package *package, const char *target, const char *url,
                            int64_t size, int64_t mtime_ms, bool is_tree)
{
    struct fetched fetched = {.url = strdup(url)};
    if (!fetched.url)
        return no_memory();
    fetched.file = (struct yarn_file){.name = target,
                                      .url = fetched.url,
                                      .size = size,
                                      .mtime_ms = mtime_ms,
                                      .kind = is_tree ? YARN_ARCHIVE : YARN_FILE,
                                      .share = YARN_FOR_USER};
    if (VEC_PUSH(&package->files, fetched))
        return WEFT_OK;
    free(fetched.url);
    return no_memory();
}

// A file that is the same for many runs: under its hash.
static weft_err add_staged(const struct yarn_keep *keep, struct package *package, const char *path,
                           const char *hash, uint64_t bytes, const char *target)
{
    struct yarn_stage stage = {
        .directory = keep->settings.stage, .path = path, .hash = hash, .bytes = bytes};
    weft_err err = yarn_stage_put(&stage);
    if (!err)
        err = add_fetched(package, target, buf_text(&stage.url), (int64_t)bytes, stage.mtime_ms,
                          false);
    yarn_stage_fini(&stage);
    return err;
}

static weft_err add_program(const struct yarn_keep *keep, struct package *package)
{
    struct far_found_program program;
    weft_err err = far_look_for_program(&program);
    if (!err)
        err = add_staged(keep, package, program.path, program.hash, program.bytes, "weft");
    free(program.path);
    return err;
}

static weft_err copy_bytes(struct upload *upload, const struct keep_file *file)
{
    char *block = malloc(STEP_BYTES);
    weft_err err = block ? WEFT_OK : no_memory();
    uint64_t done = 0;
    for (size_t got = 1; !err && got > 0; done += got) {
        err = file_read_at(file->fd, file->name, block, STEP_BYTES, done, &got);
        if (!err && got > 0)
            err = upload_write(upload, block, got);
    }
    free(block);
    return err;
}

static weft_err connect_hdfs(struct yarn_keep *keep)
{
    return keep->namenode ? WEFT_OK
                          : namenode_new(&keep->hdfs, NULL, HDFS_PATIENCE_MS, &keep->namenode);
}

// Node managers unpack by the end of the name.
static weft_err add_own(struct yarn_keep *keep, struct package *package, const char *shelf,
                        const struct keep_file *file)
{
    struct buf url = {0};
    struct upload *upload = NULL;
    Hadoop__FileInfo *info = NULL;
    buf_format(&url, "%s/%s%s", shelf, file->target, file->is_tree ? ".tar" : "");
    const size_t before = strlen("hdfs://") + strlen(keep->authority);
    weft_err err = url.has_failed ? no_memory() : connect_hdfs(keep);
    const char *path = buf_text(&url) + (err ? 0 : before);
    if (!err)
        err = upload_open(keep->namenode, path, (int64_t)file->bytes, false, &upload);
    if (!err)
        err = copy_bytes(upload, file);
    if (!err)
        err = upload_finish(upload);
    upload_close(upload);
    if (!err)
        err = namenode_stat(keep->namenode, path, &info);
    if (!err)
        err = add_fetched(package, file->target, buf_text(&url), (int64_t)file->bytes,
                          (int64_t)info->status->mtime_ms, file->is_tree);
    hdfs_free(info);
    buf_fini(&url);
    return err;
}

static weft_err add_file(struct yarn_keep *keep, struct package *package, const char *shelf,
                         const struct keep_file *file)
{
    char hash[HASH_TEXT_BYTES] = "";
    if (!file->hash)
        return add_own(keep, package, shelf, file);
    for (size_t i = 0; i < (HASH_TEXT_BYTES - 1) / 2; i++)
        snprintf(hash + 2 * i, 3, "%02x", file->hash[i]);
    return add_staged(keep, package, file->name, hash, file->bytes, file->target);
}

// ---- Submitting ----------------------------------------------------------------------------------------------

static bool is_small(const struct keep_file *file)
{
    return file->is_tree && file->bytes <= YARN_INNER_FILES_BYTES_MAX;
}

// What a small archive becomes: its name and its content, as a secret of the credentials.
struct small {
    struct buf name, content;
};

static weft_err read_small(const struct keep_file *file, struct small *small)
{
    size_t got = 0;
    char *to = buf_reserve(&small->content, file->bytes);
    weft_err err = to ? file_read_at(file->fd, file->name, to, file->bytes, 0, &got) : no_memory();
    small->content.size = got;
    if (!err && got != file->bytes)
        err = err_set(WEFT_ABORTED, "%s has shrunk while it was read", file->name);
    buf_format(&small->name, YARN_INNER_FILES "%s", file->target);
    return err || !small->name.has_failed ? err : no_memory();
}

// The token by which members of this user prove themselves to each other, and one small archive. In no command and no variable: YARN
// shows those.
static weft_err write_credentials(const struct keep_run *run, struct buf *out)
{
    struct secret secret;
    struct token_file file = {0};
    struct small small = {0};
    char text[SECRET_TEXT_BYTES];
    weft_err err = secret_load(NULL, &secret);
    if (err)
        return err;
    secret_write(&secret, text);
    secret_clear(&secret);
    const struct hadoop_secret token = {weft_text(YARN_INNER_TOKEN), weft_text(text)};
    err = VEC_PUSH(&file.secrets, token) ? WEFT_OK : no_memory();
    if (!err && is_small(&run->files[0]))
        err = read_small(&run->files[0], &small);
    const struct hadoop_secret files = {buf_bytes(&small.name), buf_bytes(&small.content)};
    if (!err && small.name.size > 0 && !VEC_PUSH(&file.secrets, files))
        err = no_memory();
    if (!err)
        token_file_write(out, &file);
    token_file_fini(&file);
    buf_fini(&small.name);
    buf_fini(&small.content);
    return err || !out->has_failed ? err : no_memory();
}

static weft_err send(const struct yarn_keep *keep, const char *id, struct package *package)
{
    const struct yarn_settings *settings = &keep->settings;
    struct yarn_application application = settings->application;
    VEC(struct yarn_file) files = {0};
    weft_err err = WEFT_OK;
    if (!application.name)
        application.name = keep->name;
    if (*keep->site.queue)
        application.queue = keep->site.queue;
    for (size_t i = 0; !err && i < package->files.count; i++)
        err = VEC_PUSH(&files, package->files.items[i].file) ? WEFT_OK : no_memory();
    const struct yarn_submission submission = {
        .application = application,
        .want = {.memory_bytes = settings->keeper_bytes ? settings->keeper_bytes
                                                        : (uint64_t)KEEPER_MEMORY_DEFAULT_MB << 20,
                 .cores = settings->keeper_cores},
        .program = {.command = buf_text(&package->command),
                    .files = files.items,
                    .file_count = files.count,
                    .credentials = buf_bytes(&package->credentials)},
        .attempts = settings->attempts ? settings->attempts : ATTEMPTS_DEFAULT,
    };
    if (!err)
        err = yarn_client_submit(keep->client, id, &submission);
    VEC_FINI(&files);
    return err;
}

static weft_err submit(struct keep *base, const struct keep_made *made, const struct keep_run *run)
{
    struct yarn_keep *keep = of(base);
    const struct yarn_inner inner = inner_of(keep);
    struct package package = {0};
    struct buf shelf = {0};
    buf_append(&shelf, made->shelf.data, made->shelf.size);
    yarn_inner_write_command(&inner, run->words, &package.command);
    weft_err err = package.command.has_failed || shelf.has_failed ? no_memory() : WEFT_OK;
    if (!err)
        err = write_credentials(run, &package.credentials);
    if (!err)
        err = add_program(keep, &package);
    // The first one may be in the credentials.
    for (size_t i = is_small(&run->files[0]); !err && i < run->file_count; i++)
        err = add_file(keep, &package, buf_text(&shelf), &run->files[i]);
    if (!err) {
        err = send(keep, made->id, &package);
        keep->may_run = err == WEFT_UNAVAILABLE || err == WEFT_DEADLINE_EXCEEDED ||
                        err == WEFT_DATA_LOSS || err == WEFT_CANCELLED;
    }
    for (size_t i = 0; i < package.files.count; i++)
        free(package.files.items[i].url);
    VEC_FINI(&package.files);
    buf_fini(&package.command);
    buf_fini(&package.credentials);
    buf_fini(&shelf);
    return err;
}

static bool abandon(struct keep *base, const struct keep_made *made)
{
    struct store_place *place = NULL;
    struct buf url = {0};
    if (of(base)->may_run)
        return false;
    buf_append(&url, made->shelf.data, made->shelf.size);
    if (url.has_failed || store_open_place(buf_text(&url), HDFS_PATIENCE_MS, &place) ||
        place->calls->remove(place, place->path))
        err_clear();
    store_close_place(place);
    buf_fini(&url);
    return true;
}

// ---- Later ---------------------------------------------------------------------------------------------------

static weft_err report(struct keep *base, const char *id, struct keep_report *out)
{
    static const enum keep_state states[] = {
        [YARN_STATE_WAITING] = KEEP_WAITING,     [YARN_STATE_RUNNING] = KEEP_RUNNING,
        [YARN_STATE_SUCCEEDED] = KEEP_SUCCEEDED, [YARN_STATE_FAILED] = KEEP_FAILED,
        [YARN_STATE_KILLED] = KEEP_KILLED,
    };
    struct yarn_report found = {0};
    *out = (struct keep_report){0};
    const weft_err err = yarn_client_report(of(base)->client, id, &found);
    if (!err) {
        out->state = states[found.state];
        out->attempt = found.attempt;
        yarn_append_line(&out->why, found.diagnostics, WHY_BYTES_MAX);
        buf_append_text(&out->where, found.tracking_url);
    }
    yarn_report_fini(&found);
    return err;
}

static weft_err kill_run(struct keep *base, const char *id, const char *why)
{
    return yarn_client_kill(of(base)->client, id, why);
}

const struct keeper yarn_keeper = {
    .open = open_keep,
    .close = close_keep,
    .begin = begin,
    .submit = submit,
    .abandon = abandon,
    .find = find_shelf,
    .report = report,
    .kill = kill_run,
    .arrive = yarn_inner_take_files,
    .more = "yarn logs -applicationId",
};
