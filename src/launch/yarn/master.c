// An application master, as its owner sees it.

#include "launch/yarn/master.h"

#include <stdio.h>
#include <stdlib.h>

#include "launch/yarn/master_state.h"
#include "launch/yarn/yarn_client.h"
#include "launch/yarn/yarn_message.h"
#include "sys/file/load.h"
#include "sys/log.h"
#include "sys/time/clock.h"
#include "wire/hadoop/properties.h"
#include "wire/hadoop/token_file.h"

enum {
    PATIENCE_MS = 15 * 60 * 1000,
    CLOSE_MS = 20000,
    NODE_THREADS = 8,
    TOKEN_FILE_BYTES_MAX = 16 << 20,
    NS_PER_MS = 1000000,
    STDERR = 2,
};

void master_hurry(struct yarn_master *master)
{
    master->is_hurried = true;
    condition_broadcast(&master->changed);
}

void master_ring(struct yarn_master *master)
{
    bell_ring(&master->bell);
}

// ---- Reports ------------------------------------------------------------------------------------------------------

static void report_registered(struct yarn_master *master)
{
    mutex_lock(&master->mutex);
    char queue[YARN_QUEUE_BYTES];
    snprintf(queue, sizeof queue, "%s", master->roster.queue);
    const struct yarn_limits limits = {.memory_bytes = master->roster.memory_mb_max * YARN_MB,
                                       .cores = master->roster.cores_max,
                                       .queue = queue};
    mutex_unlock(&master->mutex);
    master->calls.registered(master->owner, &limits);
}

static void report_ended(struct yarn_master *master, struct yarn_grant *grant)
{
    master->calls.ended(master->owner, &grant->shown, &grant->end);
    mutex_lock(&master->mutex);
    roster_forget(&master->roster, grant);
    mutex_unlock(&master->mutex);
}

static void report(struct yarn_master *master, const struct yarn_event *event)
{
    const char *text = event->text ? event->text : "";
    if (event->err)
        err_set(event->err, "%s", text);
    switch (event->kind) {
    case YARN_EVENT_KNOWN:
        snprintf(master->app_text, sizeof master->app_text, "%s", text);
        master->calls.known(master->owner, master->app_text);
        break;
    case YARN_EVENT_REGISTERED:
        report_registered(master);
        break;
    case YARN_EVENT_GRANTED:
        master->calls.granted(master->owner, &event->grant->shown);
        break;
    case YARN_EVENT_STARTED:
        master->calls.started(master->owner, &event->grant->shown);
        break;
    case YARN_EVENT_KEPT:
        master->calls.kept(master->owner, &event->grant->shown);
        break;
    case YARN_EVENT_ENDED:
        report_ended(master, event->grant);
        break;
    case YARN_EVENT_REFUSED:
        master->calls.refused(master->owner, event->ask, event->err);
        break;
    case YARN_EVENT_FAILED:
        master->is_over = true;
        master->calls.failed(master->owner, event->err);
        break;
    case YARN_EVENT_NEWS:
        master->calls.news(master->owner, text);
        break;
    }
}

static void free_master(struct yarn_master *master);

// A report may close the master, which is freed after it then.
static void report_all(void *owner)
{
    struct yarn_master *master = owner;
    struct yarn_event event;
    bell_hush(&master->bell);
    master->is_reporting = true;
    while (!master->is_closed && !master->is_over) {
        mutex_lock(&master->mutex);
        const bool has_event = roster_next_event(&master->roster, &event);
        mutex_unlock(&master->mutex);
        if (!has_event)
            break;
        report(master, &event);
        free(event.text);
    }
    master->is_reporting = false;
    if (master->is_closed)
        free_master(master);
}

// ---- Opening ------------------------------------------------------------------------------------------------------

static void set_user(struct yarn_master *master, const struct yarn_master_options *options)
{
    const char *named = getenv("HADOOP_USER_NAME"), *user = getenv("USER");
    const char *given = options->application ? options->application->user : NULL;
    properties_find_user(master->user);
    // In a container the process may belong to another user than the application.
    if (!given && master->is_managed && !(named && named[0]) && user && user[0])
        given = user;
    if (given)
        snprintf(master->user, sizeof master->user, "%s", given);
}

static char *copy_bytes(struct yarn_maker *maker, weft_bytes bytes)
{
    struct buf text = {0};
    buf_append(&text, bytes.data, bytes.size);
    char *copy = yarn_make_text(maker, buf_text(&text));
    buf_fini(&text);
    return copy;
}

static weft_err keep_token(struct yarn_master *master, const struct hadoop_token *token)
{
    struct yarn_maker maker = {0};
    Hadoop__Token *kept = master->token = yarn_make(&maker, &hadoop__token__descriptor);
    if (kept) {
        kept->identifier = yarn_make_bytes(&maker, token->identifier);
        kept->password = yarn_make_bytes(&maker, token->password);
        kept->kind = copy_bytes(&maker, token->kind);
        kept->service = copy_bytes(&maker, token->service);
    }
    return maker.has_failed ? err_no_memory("for a token") : WEFT_OK;
}

// Programs get all tokens but that of the master.
static weft_err split_tokens(struct yarn_master *master, struct token_file *file, const char *path)
{
    static const char kind[] = "YARN_AM_RM_TOKEN";
    size_t kept = 0;
    const struct hadoop_token *token = token_file_find(file, kind);
    if (!token)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "%s has no token of an application master: YARN puts it there for the "
                       "master's container",
                       path);
    const weft_err err = keep_token(master, token);
    for (size_t i = 0; i < file->tokens.count; i++) {
        const weft_bytes name = file->tokens.items[i].kind;
        if (name.size != strlen(kind) || memcmp(name.data, kind, name.size) != 0)
            file->tokens.items[kept++] = file->tokens.items[i];
    }
    file->tokens.count = kept;
    token_file_write(&master->credentials, file);
    return err;
}

static weft_err take_tokens(struct yarn_master *master, const char *path)
{
    struct token_file file = {0};
    struct buf bytes = {0};
    struct yarn_container_id own;
    weft_err err = file_load(path, TOKEN_FILE_BYTES_MAX, &bytes);
    if (!err)
        err = err_wrap(token_file_read(buf_bytes(&bytes), &file), "%s", path);
    if (!err)
        err = split_tokens(master, &file, path);
    const char *container = getenv("CONTAINER_ID");
    if (!err && !(container && yarn_read_container(container, &own)))
        err = err_set(WEFT_INVALID_ARGUMENT, "CONTAINER_ID names no container of YARN");
    if (!err) {
        master->app = own.app;
        master->has_app = true;
    }
    token_file_fini(&file);
    buf_fini(&bytes);
    return err;
}

static weft_err make_submission(struct yarn_master *master,
                                const struct yarn_application *application)
{
    static const struct yarn_application usual;
    const struct token_file none = {0};
    struct yarn_maker maker = {0};
    master->submission = yarn_make(&maker, &hadoop__submission__descriptor);
    if (!master->submission)
        return err_no_memory("for an application of YARN");
    token_file_write(&master->credentials, &none);
    master->submission->has_is_unmanaged = master->submission->is_unmanaged = true;
    return yarn_set_submission(&maker, application ? application : &usual, master->site.queue,
                               master->submission);
}

static weft_err make_registration(struct yarn_master *master,
                                  const struct yarn_master_options *options)
{
    struct yarn_maker maker = {0};
    Hadoop__Register *message = master->registration =
        yarn_make(&maker, &hadoop__register__descriptor);
    if (message) {
        message->host = yarn_make_text(&maker, options->host ? options->host : "");
        message->url = yarn_make_text(&maker, options->tracking_url ? options->tracking_url : "");
        message->has_port = true;
        message->port = options->host ? options->port : -1;
    }
    return maker.has_failed ? err_no_memory("for an application of YARN") : WEFT_OK;
}

static void add_news(void *owner, const char *text)
{
    struct yarn_master *master = owner;
    mutex_lock(&master->mutex);
    roster_tell(&master->roster, YARN_EVENT_NEWS, WEFT_OK, text);
    master_ring(master);
    mutex_unlock(&master->mutex);
}

static weft_err open_links(struct yarn_master *master)
{
    struct yarn_link_options options = {.site = &master->site,
                                        .service = YARN_FOR_CLIENTS,
                                        .user = master->user,
                                        .patience_ms = master->patience_ms,
                                        .was_reached = master->is_managed,
                                        .news = add_news,
                                        .owner = master};
    weft_err err = yarn_link_new(&options, &master->client);
    options.service = YARN_FOR_MASTERS;
    options.was_reached = true;
    return err ? err : yarn_link_new(&options, &master->scheduler);
}

static weft_err start(struct yarn_master *master)
{
    enum { STACK_BYTES = 512 << 10 };
    weft_err err = bell_init(&master->bell);
    if (err)
        return err;
    master->watch = loop_watch_new(master->loop, master->bell.fd, report_all, master);
    master->nodes = errands_new_several(master->loop, NODE_THREADS);
    if (!master->watch || !master->nodes)
        return WEFT_RESOURCE_EXHAUSTED;
    err = thread_start(&master->thread, master_talk, master, STACK_BYTES);
    master->has_thread = !err;
    return err;
}

static void free_master(struct yarn_master *master)
{
    errands_free(master->nodes);
    master_free_jobs(master);
    if (master->watch)
        loop_watch_free(master->watch);
    bell_fini(&master->bell);
    yarn_link_free(master->client);
    yarn_link_free(master->scheduler);
    yarn_free(master->submission);
    yarn_free(master->registration);
    yarn_free(master->token);
    buf_fini(&master->credentials);
    roster_fini(&master->roster);
    free(master->final_text);
    free(master->waits);
    condition_fini(&master->changed);
    mutex_fini(&master->mutex);
    free(master);
}

weft_err yarn_master_open(struct yarn_master **opened, const struct yarn_master_options *options)
{
    struct yarn_master *master = calloc(1, sizeof *master);
    *opened = NULL;
    if (!master)
        return err_no_memory("for an application of YARN");
    mutex_init(&master->mutex);
    condition_init(&master->changed);
    master->bell.fd = -1;
    master->calls = *options->calls;
    master->owner = options->owner;
    master->roster.takes_kept = options->calls->kept != NULL;
    master->loop = options->loop;
    master->site = *options->site;
    master->is_managed = options->token_file != NULL;
    master->patience_ms = options->patience_ms ? options->patience_ms : PATIENCE_MS;
    set_user(master, options);
    weft_err err = master->is_managed ? take_tokens(master, options->token_file)
                                      : make_submission(master, options->application);
    if (!err)
        err = make_registration(master, options);
    if (!err)
        err = open_links(master);
    if (!err)
        err = start(master);
    if (!err) {
        *opened = master;
        return WEFT_OK;
    }
    struct err_kept kept;
    err_keep(&kept);
    free_master(master);
    err_put_back(&kept);
    return err;
}

// ---- Closing ------------------------------------------------------------------------------------------------------

void yarn_master_close(struct yarn_master *master, enum yarn_final final, const char *text)
{
    struct yarn_maker maker = {0};
    if (!master)
        return;
    mutex_lock(&master->mutex);
    master->is_closing = master->is_cut = true;
    master->close_ns = clock_now_ns() + (uint64_t)CLOSE_MS * NS_PER_MS;
    master->final = final;
    master->final_text = yarn_make_text(&maker, text);
    master_hurry(master);
    mutex_unlock(&master->mutex);
    if (master->has_thread)
        thread_join(&master->thread);
    if (master->close_error[0])
        log_lines(STDERR, master->close_error, strlen(master->close_error));
    master->is_closed = true;
    if (!master->is_reporting)
        free_master(master);
}

// ---- Asking -------------------------------------------------------------------------------------------------------

weft_err yarn_master_ask(struct yarn_master *master, const struct yarn_want *want, size_t *ask)
{
    mutex_lock(&master->mutex);
    const weft_err err = roster_ask(&master->roster, want, ask);
    master_hurry(master);
    master_ring(master);
    mutex_unlock(&master->mutex);
    return err;
}

void yarn_master_withdraw(struct yarn_master *master, size_t ask)
{
    mutex_lock(&master->mutex);
    roster_withdraw(&master->roster, ask);
    master_hurry(master);
    mutex_unlock(&master->mutex);
}

weft_err yarn_master_exclude(struct yarn_master *master, const char *host, bool is_excluded)
{
    mutex_lock(&master->mutex);
    const weft_err err = roster_exclude(&master->roster, host, is_excluded);
    master_hurry(master);
    mutex_unlock(&master->mutex);
    return err;
}

void yarn_master_describe(struct yarn_master *master, size_t ask, struct buf *text)
{
    mutex_lock(&master->mutex);
    if (master->is_registered)
        roster_describe(&master->roster, ask, text);
    else
        buf_append_text(text, master->waits ? master->waits : "YARN has not answered yet");
    mutex_unlock(&master->mutex);
}

void yarn_master_stop(struct yarn_master *master, struct yarn_container *container)
{
    struct yarn_grant *grant = roster_grant(container);
    mutex_lock(&master->mutex);
    const bool is_first = !grant->is_stopped;
    grant->is_stopped = true;
    const bool is_idle = grant->state == YARN_GRANT_IDLE;
    const bool is_running = grant->state == YARN_GRANT_RUNNING && !grant->is_busy;
    if (is_first && is_idle)
        roster_release(&master->roster, grant);
    master_hurry(master);
    mutex_unlock(&master->mutex);
    if (is_first && is_running)
        master_stop_program(master, grant);
}

const char *yarn_master_application(const struct yarn_master *master)
{
    return master->app_text;
}

const char *yarn_master_user(const struct yarn_master *master)
{
    return master->user;
}
