// Calls of clients, and their answers in the words of application.h.

#include "launch/yarn/application.h"

#include <stdio.h>
#include <stdlib.h>

#include "launch/yarn/yarn_client.h"
#include "launch/yarn/yarn_message.h"
#include "launch/yarn/yarn_program.h"
#include "launch/yarn/yarn_roster.h"
#include "sys/machine/machine.h"
#include "sys/time/clock.h"
#include "wire/hadoop/properties.h"
#include "wire/hadoop/token_file.h"

enum { PATIENCE_MS = 60 * 1000, KILL_MS = 20000, NS_PER_MS = 1000000, PRIORITY_OF_MASTERS = 0 };

struct yarn_client {
    struct yarn_site site;
    struct yarn_link *link;
    char user[MACHINE_NAME_BYTES_MAX];
};

weft_err yarn_client_open(const struct yarn_client_options *options, struct yarn_client **opened)
{
    struct yarn_client *client = calloc(1, sizeof *client);
    *opened = NULL;
    if (!client)
        return err_no_memory("for a resource manager");
    client->site = *options->site;
    properties_find_user(client->user);
    if (options->user)
        snprintf(client->user, sizeof client->user, "%s", options->user);
    const struct yarn_link_options of_link = {
        .site = &client->site,
        .service = YARN_FOR_CLIENTS,
        .user = client->user,
        .patience_ms = options->patience_ms ? options->patience_ms : PATIENCE_MS};
    const weft_err err = yarn_link_new(&of_link, &client->link);
    if (err)
        free(client);
    else
        *opened = client;
    return err;
}

void yarn_client_close(struct yarn_client *client)
{
    if (!client)
        return;
    yarn_link_free(client->link);
    free(client);
}

const char *yarn_client_user(const struct yarn_client *client)
{
    return client->user;
}

static weft_err read_id(const char *id, struct yarn_app_id *app)
{
    return yarn_read_app(id, app)
               ? WEFT_OK
               : err_set(WEFT_INVALID_ARGUMENT,
                         "%.100s is not an application of YARN\n"
                         "  try: application_1700000000000_0007, as weft or YARN's page shows it",
                         id);
}

// ---- Submitting -----------------------------------------------------------------------------------------------------

static uint64_t in_bytes(int64_t mb)
{
    return mb > 0 ? (uint64_t)mb * YARN_MB : 0;
}

static uint32_t at_least_zero(int64_t count)
{
    return count > UINT32_MAX ? UINT32_MAX : count > 0 ? (uint32_t)count : 0;
}

weft_err yarn_client_name(struct yarn_client *client, struct yarn_new *made)
{
    struct yarn_app_id app;
    char text[YARN_NAME_BYTES];
    Hadoop__Resource maximum = HADOOP__RESOURCE__INIT;
    *made = (struct yarn_new){0};
    const weft_err err = yarn_new_app(client->link, &app, &maximum);
    if (err)
        return err;
    yarn_write_app(&app, text);
    snprintf(made->id, sizeof made->id, "%.63s", text);
    made->memory_bytes = in_bytes(maximum.memory_mb);
    made->cores = at_least_zero(maximum.cores);
    return WEFT_OK;
}

// With a label, the container of a master is asked for as any other.
static void set_label(struct yarn_maker *maker, const char *label, Hadoop__Submission *message)
{
    Hadoop__ResourceRequest *line =
        label ? yarn_make_next(maker, &hadoop__resource_request__descriptor, &message->places,
                               &message->n_places)
              : NULL;
    if (!line)
        return;
    line->place = yarn_make_text(maker, "*");
    line->label = yarn_make_text(maker, label);
    line->capability = yarn_make_copy(maker, message->resource);
    line->priority = yarn_make(maker, &hadoop__priority__descriptor);
    line->execution = yarn_make(maker, &hadoop__execution_type__descriptor);
    if (maker->has_failed)
        return;
    line->priority->has_value = line->execution->has_type = true;
    line->priority->value = PRIORITY_OF_MASTERS;
    line->execution->type = 1;
    line->has_count = line->has_relaxes_locality = true;
    line->count = 1;
    line->relaxes_locality = true;
}

static weft_err set_master(struct yarn_maker *maker, const struct yarn_submission *submission,
                           Hadoop__Submission *message)
{
    static const struct token_file none;
    struct buf credentials = {0};
    struct yarn_want want = submission->want;
    want.count = 1;
    message->has_attempts_max = message->has_keeps_containers = true;
    message->attempts_max = submission->attempts ? (int32_t)submission->attempts : 1;
    message->keeps_containers = submission->keeps_containers;
    weft_err err = yarn_make_resource(maker, &want, &message->resource);
    set_label(maker, want.label, message);
    token_file_write(&credentials, &none);
    if (!err)
        err = yarn_set_program(maker, &submission->program, buf_bytes(&credentials),
                               message->context);
    buf_fini(&credentials);
    return err;
}

weft_err yarn_client_submit(struct yarn_client *client, const char *id,
                            const struct yarn_submission *submission)
{
    struct yarn_maker maker = {0};
    struct yarn_app_id app;
    weft_err err = read_id(id, &app);
    if (err)
        return err;
    Hadoop__Submission *message = yarn_make(&maker, &hadoop__submission__descriptor);
    if (!message)
        return err_no_memory("for an application of YARN");
    message->app = yarn_make_app(&maker, &app);
    err = yarn_set_submission(&maker, &submission->application, client->site.queue, message);
    if (!err)
        err = set_master(&maker, submission, message);
    if (!err && maker.has_failed)
        err = err_no_memory("for an application of YARN");
    if (!err)
        err = yarn_submit(client->link, message);
    yarn_free(message);
    return err;
}

// ---- Looking --------------------------------------------------------------------------------------------------------

static enum yarn_state state_of(const Hadoop__AppReport *message)
{
    switch (message->state) {
    case YARN_APP_RUNNING:
        return YARN_STATE_RUNNING;
    case YARN_APP_FAILED:
        return YARN_STATE_FAILED;
    case YARN_APP_KILLED:
        return YARN_STATE_KILLED;
    case YARN_APP_FINISHED:
        return message->final_status == YARN_FINAL_FAILED   ? YARN_STATE_FAILED
               : message->final_status == YARN_FINAL_KILLED ? YARN_STATE_KILLED
                                                            : YARN_STATE_SUCCEEDED;
    default:
        return YARN_STATE_WAITING;
    }
}

static const char *text_of(const char *text)
{
    return text ? text : "";
}

// What Hadoop has in the place of a name that it does not know.
static const char *name_of(const char *text)
{
    return text && strcmp(text, "N/A") != 0 ? text : "";
}

struct report_texts {
    char id[YARN_NAME_BYTES];
    const char *tags[1];  // and more
};

// `message` stays the caller's. False: out of memory.
static bool read_report(const Hadoop__AppReport *message, struct yarn_report *report,
                        struct report_texts **texts)
{
    struct yarn_app_id app;
    *texts = calloc(1, sizeof **texts + message->n_tags * sizeof(char *));
    if (!*texts)
        return false;
    if (yarn_take_app(message->app, &app))
        yarn_write_app(&app, (*texts)->id);
    for (size_t i = 0; i < message->n_tags; i++)
        (*texts)->tags[i] = message->tags[i];
    *report = (struct yarn_report){
        .id = (*texts)->id,
        .name = text_of(message->name),
        .user = text_of(message->user),
        .queue = text_of(message->queue),
        .type = text_of(message->type),
        .state = state_of(message),
        .diagnostics = text_of(message->diagnostics),
        .tracking_url = name_of(message->url),
        .host = name_of(message->host),
        .port = message->port > 0 && message->port <= UINT16_MAX ? (uint16_t)message->port : 0,
        .progress = message->progress,
        .start_ms = message->start_ms,
        .finish_ms = message->finish_ms,
        .attempt = message->attempt ? at_least_zero(message->attempt->number) : 0,
        .tags = (*texts)->tags};
    if (message->usage && message->usage->used) {
        report->containers = at_least_zero(message->usage->containers);
        report->memory_bytes = in_bytes(message->usage->used->memory_mb);
        report->cores = at_least_zero(message->usage->used->cores);
    }
    return true;
}

// What a report of the caller keeps.
struct kept_report {
    Hadoop__ReportAnswer *answer;
    struct report_texts *texts;
};

weft_err yarn_client_report(struct yarn_client *client, const char *id, struct yarn_report *report)
{
    struct yarn_app_id app;
    struct kept_report *kept = calloc(1, sizeof *kept);
    *report = (struct yarn_report){0};
    if (!kept)
        return err_no_memory("for a report");
    weft_err err = read_id(id, &app);
    if (!err)
        err = yarn_get_report(client->link, &app, &kept->answer);
    if (err == WEFT_NOT_FOUND)
        err_set(err, "YARN does not know %s: it has never been there, or was forgotten", id);
    if (!err && !read_report(kept->answer->report, report, &kept->texts))
        err = err_no_memory("for a report");
    report->message = kept;
    if (err)
        yarn_report_fini(report);
    return err;
}

void yarn_report_fini(struct yarn_report *report)
{
    struct kept_report *kept = report->message;
    if (kept) {
        yarn_free(kept->answer);
        free(kept->texts);
        free(kept);
    }
    *report = (struct yarn_report){0};
}

static weft_err visit_all(const Hadoop__ReportsAnswer *answer, const struct yarn_filter *filter,
                          yarn_visit_fn *visit, void *owner)
{
    weft_err err = WEFT_OK;
    for (size_t i = 0; !err && i < answer->n_reports; i++) {
        struct yarn_report report;
        struct report_texts *texts;
        if (!read_report(answer->reports[i], &report, &texts))
            return err_no_memory("for a report");
        const bool is_ended = report.state >= YARN_STATE_SUCCEEDED;
        if (!is_ended || filter->has_ended_ones)
            err = visit(owner, &report);
        free(texts);
    }
    return err;
}

weft_err yarn_client_list(struct yarn_client *client, const struct yarn_filter *filter,
                          yarn_visit_fn *visit, void *owner)
{
    Hadoop__GetReports get = HADOOP__GET_REPORTS__INIT;
    Hadoop__ReportsAnswer *answer;
    char *types[] = {(char *)filter->type}, *users[] = {(char *)filter->user};
    get.types = types;
    get.n_types = filter->type ? 1 : 0;
    get.users = users;
    get.n_users = filter->user ? 1 : 0;
    weft_err err = yarn_link_call(client->link, "getApplications", &get,
                                  &hadoop__reports_answer__descriptor, &answer);
    if (err)
        return err;
    err = visit_all(answer, filter, visit, owner);
    yarn_free(answer);
    return err;
}

weft_err yarn_client_kill(struct yarn_client *client, const char *id, const char *why)
{
    struct yarn_app_id app;
    weft_err err = read_id(id, &app);
    if (!err)
        err = yarn_kill(client->link, &app, why, clock_now_ns() + (uint64_t)KILL_MS * NS_PER_MS);
    return err == WEFT_NOT_FOUND ? err_set(err, "YARN does not know %s", id) : err;
}

// ---- The cluster ----------------------------------------------------------------------------------------------------

static void join(char *text, size_t size, char *const *words, size_t count)
{
    size_t at = 0;
    text[0] = 0;
    for (size_t i = 0; i < count && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%s", i ? "," : "", words[i]);
}

static void read_queue(const Hadoop__Queue *message, struct yarn_queue *queue)
{
    enum { QUEUE_RUNNING = 2 };
    const Hadoop__QueueFigures *figures = message->figures;
    snprintf(queue->name, sizeof queue->name, "%s", text_of(message->name));
    join(queue->labels, sizeof queue->labels, message->labels, message->n_labels);
    queue->is_running = !message->has_state || message->state == QUEUE_RUNNING;
    queue->share = (double)message->share;
    queue->share_max = (double)message->share_max;
    queue->used = (double)message->used;
    if (!figures)
        return;
    queue->available_bytes = in_bytes(figures->available_mb);
    queue->used_bytes = in_bytes(figures->used_mb);
    queue->pending_bytes = in_bytes(figures->pending_mb);
    queue->available_cores = at_least_zero(figures->available_cores);
    queue->used_cores = at_least_zero(figures->used_cores);
    queue->pending_cores = at_least_zero(figures->pending_cores);
    queue->running = at_least_zero(figures->running);
    queue->pending = at_least_zero(figures->pending);
}

weft_err yarn_client_queue(struct yarn_client *client, const char *name, struct yarn_queue *queue)
{
    Hadoop__QueueAnswer *answer;
    *queue = (struct yarn_queue){0};
    const weft_err err = yarn_get_queue(client->link, name, &answer);
    if (err)
        return err;
    read_queue(answer->queue, queue);
    yarn_free(answer);
    return WEFT_OK;
}

static weft_err visit_node(const Hadoop__NodeReport *message, yarn_node_fn *visit, void *owner)
{
    enum { AMOUNTS_MAX = 32 };
    struct yarn_amount amounts[AMOUNTS_MAX];
    char labels[YARN_QUEUE_BYTES];
    struct yarn_node node = {.host = message->node ? text_of(message->node->host) : "",
                             .port = message->node ? (uint16_t)message->node->port : 0,
                             .web = text_of(message->web),
                             .rack = text_of(message->rack),
                             .containers = at_least_zero(message->container_count),
                             .labels = labels,
                             .amounts = amounts};
    join(labels, sizeof labels, message->labels, message->n_labels);
    if (message->used) {
        node.used_bytes = in_bytes(message->used->memory_mb);
        node.used_cores = at_least_zero(message->used->cores);
    }
    if (message->capability) {
        node.memory_bytes = in_bytes(message->capability->memory_mb);
        node.cores = at_least_zero(message->capability->cores);
    }
    for (size_t i = 0; message->capability && i < message->capability->n_others &&
                       node.amount_count < AMOUNTS_MAX;
         i++) {
        const Hadoop__ResourceValue *value = message->capability->others[i];
        if (strcmp(value->name, "memory-mb") != 0 && strcmp(value->name, "vcores") != 0)
            amounts[node.amount_count++] = (struct yarn_amount){value->name, value->value};
    }
    return visit(owner, &node);
}

weft_err yarn_client_nodes(struct yarn_client *client, yarn_node_fn *visit, void *owner)
{
    Hadoop__NodesAnswer *answer;
    weft_err err = yarn_get_nodes(client->link, &answer);
    if (err)
        return err;
    for (size_t i = 0; !err && i < answer->n_nodes; i++)
        err = visit_node(answer->nodes[i], visit, owner);
    yarn_free(answer);
    return err;
}
