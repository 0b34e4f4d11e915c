// For tests: the calls of managers_testing.h, which includes this.
#ifndef LAUNCH_YARN_MANAGERS_CALLS_TESTING_H
#define LAUNCH_YARN_MANAGERS_CALLS_TESTING_H

#include "launch/yarn/managers_state_testing.h"

// ---- Clients ------------------------------------------------------------------------------------------------------

static Hadoop__Resource *fake_make_resource(struct yarn_maker *maker, int64_t mb, int32_t cores)
{
    Hadoop__Resource *resource = yarn_make(maker, &hadoop__resource__descriptor);
    resource->has_memory_mb = resource->has_cores = true;
    resource->memory_mb = mb;
    resource->cores = cores;
    return resource;
}

static void fake_new_app(weft_bytes request, struct fake_answer *answer)
{
    struct yarn_maker maker = {0};
    Hadoop__NewApp *app = yarn_make(&maker, &hadoop__new_app__descriptor);
    (void)request;
    app->app = yarn_make_app(&maker, &fake_app);
    app->maximum = fake_make_resource(&maker, 4096, 8);
    fake_put(answer, app);
    yarn_free(app);
}

static void fake_submit(weft_bytes request, struct fake_answer *answer)
{
    const Hadoop__Nothing nothing = HADOOP__NOTHING__INIT;
    struct yarn_maker maker = {0};
    Hadoop__Submit *submit = fake_read(&request, &hadoop__submit__descriptor);
    if (!submit->submission->context)
        fake_refuse(answer, "java.lang.NullPointerException", "");
    snprintf(fake.queue, sizeof fake.queue, "%s", submit->submission->queue);
    yarn_free(fake.submission);
    fake.submission = yarn_make_copy(&maker, submit->submission);
    fake.is_submitted = true;
    fake.submissions++;
    if (!fake.state)
        fake.state = YARN_APP_ACCEPTED;
    fake_put(answer, &nothing);
    yarn_free(submit);
}

static void fake_report(weft_bytes request, struct fake_answer *answer)
{
    struct yarn_maker maker = {0};
    Hadoop__ReportAnswer *report;
    (void)request;
    if (!fake.is_submitted) {
        fake_refuse(answer, "org.apache.hadoop.yarn.exceptions.ApplicationNotFoundException",
                    "Application with id 'application_1700000000000_0007' doesn't exist in RM.");
        return;
    }
    report = yarn_make(&maker, &hadoop__report_answer__descriptor);
    report->report = yarn_make(&maker, &hadoop__app_report__descriptor);
    report->report->app = yarn_make_app(&maker, &fake_app);
    report->report->has_state = true;
    report->report->state = fake.state;
    report->report->diagnostics = yarn_make_text(&maker, fake.diagnostics);
    report->report->host = yarn_make_text(&maker, fake.is_registered ? "master" : "N/A");
    report->report->has_port = report->report->has_final_status = true;
    report->report->port = fake.is_registered ? 4711 : -1;
    report->report->final_status = fake.final;
    if (!fake.token_is_late && fake.state < YARN_APP_FINISHED)
        report->report->master_token = fake_make_token(&maker, FAKE_MASTERS, fake.key);
    fake_put(answer, report);
    yarn_free(report);
}

static void fake_list(weft_bytes request, struct fake_answer *answer)
{
    static const int states[] = {YARN_APP_RUNNING, YARN_APP_ACCEPTED, YARN_APP_KILLED};
    struct yarn_maker maker = {0};
    Hadoop__GetReports *get = fake_read(&request, &hadoop__get_reports__descriptor);
    Hadoop__ReportsAnswer *reports = yarn_make(&maker, &hadoop__reports_answer__descriptor);
    for (int i = 0; i < 3; i++) {
        const struct yarn_app_id app = {fake_app.timestamp, i + 1};
        Hadoop__AppReport *one = yarn_make_next(&maker, &hadoop__app_report__descriptor,
                                                &reports->reports, &reports->n_reports);
        one->app = yarn_make_app(&maker, &app);
        one->type = yarn_make_text(&maker, get->n_types ? get->types[0] : "any");
        one->has_state = true;
        one->state = states[i];
        yarn_make_next_text(&maker, "tag", &one->tags, &one->n_tags);
    }
    fake_put(answer, reports);
    yarn_free(get);
    yarn_free(reports);
}

static void fake_kill(weft_bytes request, struct fake_answer *answer)
{
    Hadoop__KillAnswer done = HADOOP__KILL_ANSWER__INIT;
    (void)request;
    fake.state = YARN_APP_KILLED;
    done.has_is_complete = true;
    done.is_complete = ++fake.kills > 1;
    fake_put(answer, &done);
}

static void fake_nodes(weft_bytes request, struct fake_answer *answer)
{
    struct yarn_maker maker = {0};
    Hadoop__NodesAnswer *nodes = yarn_make(&maker, &hadoop__nodes_answer__descriptor);
    Hadoop__NodeReport *node =
        yarn_make_next(&maker, &hadoop__node_report__descriptor, &nodes->nodes, &nodes->n_nodes);
    (void)request;
    node->node = yarn_make(&maker, &hadoop__node_id__descriptor);
    node->node->host = yarn_make_text(&maker, "127.0.0.1");
    node->rack = yarn_make_text(&maker, "/rack");
    node->capability = fake_make_resource(&maker, 8192, 16);
    Hadoop__ResourceValue *gpu =
        yarn_make_next(&maker, &hadoop__resource_value__descriptor, &node->capability->others,
                       &node->capability->n_others);
    gpu->name = yarn_make_text(&maker, "yarn.io/gpu");
    gpu->has_value = true;
    gpu->value = 2;
    yarn_make_next_text(&maker, "x", &node->labels, &node->n_labels);
    yarn_make_next_text(&maker, "y", &node->labels, &node->n_labels);
    fake_put(answer, nodes);
    yarn_free(nodes);
}

static void fake_queue(weft_bytes request, struct fake_answer *answer)
{
    struct yarn_maker maker = {0};
    Hadoop__QueueAnswer *queue = yarn_make(&maker, &hadoop__queue_answer__descriptor);
    (void)request;
    queue->queue = yarn_make(&maker, &hadoop__queue__descriptor);
    queue->queue->figures = yarn_make(&maker, &hadoop__queue_figures__descriptor);
    queue->queue->figures->has_used_mb = true;
    queue->queue->figures->used_mb = 7777;
    fake_put(answer, queue);
    yarn_free(queue);
}

// ---- Masters ------------------------------------------------------------------------------------------------------

static void fake_register(weft_bytes request, struct fake_answer *answer)
{
    struct yarn_maker maker = {0};
    (void)request;
    if (fake.is_registered) {
        fake_refuse(answer,
                    "org.apache.hadoop.yarn.exceptions.InvalidApplicationMasterRequestException",
                    "Application Master is already registered");
        return;
    }
    Hadoop__RegisterAnswer *registered = yarn_make(&maker, &hadoop__register_answer__descriptor);
    fake.is_registered = true;
    fake.registrations++;
    fake.response = 0;
    fake.state = YARN_APP_RUNNING;
    registered->maximum = fake_make_resource(&maker, 4096, 8);
    registered->queue = yarn_make_text(&maker, "root.default");
    fake_put(answer, registered);
    yarn_free(registered);
}

static struct yarn_container_id fake_id(const struct fake_container *container)
{
    return (struct yarn_container_id){fake_app, 1, container->number};
}

static void fake_add_token(struct yarn_maker *maker, Hadoop__AllocateAnswer *answer)
{
    Hadoop__NodeToken *token = yarn_make_next(maker, &hadoop__node_token__descriptor,
                                              &answer->node_tokens, &answer->n_node_tokens);
    token->node = yarn_make(maker, &hadoop__node_id__descriptor);
    token->node->host = yarn_make_text(maker, "127.0.0.1");
    token->node->has_port = true;
    token->node->port = fake.ports[FAKE_PORTS - 1].port;
    token->token = fake_make_token(maker, FAKE_NODE, 0);
}

static void fake_grant(struct yarn_maker *maker, Hadoop__AllocateAnswer *answer, int32_t priority)
{
    int64_t number = 1;
    while (number < FAKE_CONTAINERS_MAX && fake.containers[number].is_there)
        number++;
    fake.containers[number] = (struct fake_container){
        .number = (fake.life << 40) + number, .is_there = true, .priority = priority};
    const struct yarn_container_id id = fake_id(&fake.containers[number]);
    Hadoop__Container *one = yarn_make_next(maker, &hadoop__container__descriptor,
                                            &answer->allocated, &answer->n_allocated);
    one->id = yarn_make(maker, &hadoop__container_id__descriptor);
    yarn_make_id(maker, &id, one->id);
    one->node = yarn_make(maker, &hadoop__node_id__descriptor);
    one->node->host = yarn_make_text(maker, "127.0.0.1");
    one->node->has_port = true;
    one->node->port = fake.ports[FAKE_PORTS - 1].port;
    one->priority = yarn_make(maker, &hadoop__priority__descriptor);
    one->priority->has_value = true;
    one->priority->value = priority;
    one->resource = fake_make_resource(maker, 512, 1);
    one->token = fake_make_token(maker, FAKE_NODE, 0);
    fake_add_token(maker, answer);
}

static void fake_take_asks(const Hadoop__Allocate *request)
{
    for (size_t i = 0; i < request->n_asks; i++)
        if (strcmp(request->asks[i]->place, "*") == 0)
            fake.counts[request->asks[i]->priority->value] = request->asks[i]->count;
    for (size_t i = 0; i < request->n_releases; i++) {
        struct fake_container *one =
            &fake.containers[request->releases[i]->number & (FAKE_CONTAINERS_MAX - 1)];
        fake.releases++;
        if (one->is_there && !one->has_ended) {
            one->has_ended = true;
            one->status = -100;
            fake.free++;
        }
    }
    for (size_t i = 0; request->blacklist && i < request->blacklist->n_additions; i++)
        snprintf(fake.excluded, sizeof fake.excluded, "%s", request->blacklist->additions[i]);
}

static void fake_add_ends(struct yarn_maker *maker, Hadoop__AllocateAnswer *answer)
{
    for (int64_t i = 0; i < FAKE_CONTAINERS_MAX; i++) {
        struct fake_container *one = &fake.containers[i];
        if (!one->is_there || !one->has_ended || one->is_reported)
            continue;
        const struct yarn_container_id id = fake_id(one);
        Hadoop__ContainerStatus *status = yarn_make_next(
            maker, &hadoop__container_status__descriptor, &answer->completed, &answer->n_completed);
        status->id = yarn_make(maker, &hadoop__container_id__descriptor);
        yarn_make_id(maker, &id, status->id);
        status->has_exit_status = true;
        status->exit_status = one->status;
        status->diagnostics = yarn_make_text(maker, one->diagnostics);
        one->is_reported = true;
    }
}

static void fake_schedule(struct yarn_maker *maker, Hadoop__AllocateAnswer *answer)
{
    for (int32_t i = 0; i < FAKE_ASKS_MAX; i++) {
        bool has_granted = false;
        for (; fake.counts[i] > 0 && fake.free > 0; fake.counts[i]--, fake.free--) {
            fake_grant(maker, answer, i);
            has_granted = true;
        }
        for (; has_granted && fake.surplus > 0; fake.surplus--)
            fake_grant(maker, answer, i);
    }
}

static void fake_answer_request(const Hadoop__Allocate *request, struct fake_answer *answer)
{
    struct yarn_maker maker = {0};
    Hadoop__AllocateAnswer *message = yarn_make(&maker, &hadoop__allocate_answer__descriptor);
    fake_take_asks(request);
    fake_schedule(&maker, message);
    fake_add_ends(&maker, message);
    message->has_response = true;
    message->response = ++fake.response;
    message->limit = fake_make_resource(&maker, 512 * fake.free, fake.free);
    if (fake.rolls)
        message->master_token = fake_make_token(&maker, FAKE_MASTERS, ++fake.key);
    fake.rolls = false;
    message->has_command = fake.shuts_down;
    message->command = 2;
    fake_put(answer, message);
    yarn_free(message);
    fake.last_answer.size = 0;
    buf_append(&fake.last_answer, answer->message.data, answer->message.size);
}

static void fake_allocate(weft_bytes request, struct fake_answer *answer)
{
    Hadoop__Allocate *allocate = fake_read(&request, &hadoop__allocate__descriptor);
    fake.allocations++;
    if (!fake.is_registered)
        fake_refuse(answer,
                    "org.apache.hadoop.yarn.exceptions.ApplicationMasterNotRegisteredException",
                    "AM is not registered");
    else if (fake.state >= YARN_APP_FINISHED)
        fake_refuse(answer, "org.apache.hadoop.yarn.exceptions.ApplicationAttemptNotFoundException",
                    "Application attempt doesn't exist in ApplicationMasterService cache.");
    else if (allocate->response == fake.response)
        fake_answer_request(allocate, answer);
    else if (allocate->response == fake.response - 1)
        buf_append(&answer->message, fake.last_answer.data, fake.last_answer.size);
    else
        fake_refuse(answer,
                    "org.apache.hadoop.yarn.exceptions.InvalidApplicationMasterRequestException",
                    "Invalid responseId");
    yarn_free(allocate);
}

static void fake_finish(weft_bytes request, struct fake_answer *answer)
{
    Hadoop__FinishAnswer done = HADOOP__FINISH_ANSWER__INIT;
    Hadoop__Finish *finish = fake_read(&request, &hadoop__finish__descriptor);
    if (!fake.is_registered) {
        fake_refuse(answer,
                    "org.apache.hadoop.yarn.exceptions.ApplicationMasterNotRegisteredException",
                    "AM is not registered");
    } else {
        done.has_is_complete = true;
        done.is_complete = fake.final != 0;
        fake.final = finish->final_status;
        snprintf(fake.final_text, sizeof fake.final_text, "%s", finish->diagnostics);
        fake_put(answer, &done);
    }
    yarn_free(finish);
}

// ---- The node manager ---------------------------------------------------------------------------------------------

static struct fake_container *fake_container(const Hadoop__ContainerId *id)
{
    return &fake.containers[id->number & (FAKE_CONTAINERS_MAX - 1)];
}

// A real one knows the container from its token; ours has one that is next to be started.
static struct fake_container *fake_next_start(void)
{
    for (int i = 0; i < FAKE_CONTAINERS_MAX; i++)
        if (fake.containers[i].is_there && !fake.containers[i].is_started &&
            !fake.containers[i].has_ended)
            return &fake.containers[i];
    return NULL;
}

// A program "exit N" ends at once.
static void fake_run(struct fake_container *container, const Hadoop__LaunchContext *context)
{
    snprintf(container->command, sizeof container->command, "%s", context->commands[0]);
    container->has_tokens = context->has_tokens;
    container->is_started = true;
    const char *at = strstr(container->command, "exit ");
    if (!at)
        return;
    container->has_ended = true;
    container->status = atoi(at + 5);
    fake.free++;
}

static void fake_start(weft_bytes request, struct fake_answer *answer)
{
    struct yarn_maker maker = {0};
    Hadoop__StartContainers *start = fake_read(&request, &hadoop__start_containers__descriptor);
    Hadoop__StartAnswer *done = yarn_make(&maker, &hadoop__start_answer__descriptor);
    struct fake_container *container = fake_next_start();
    if (container) {
        fake_run(container, start->containers[0]->context);
    } else {
        Hadoop__FailedContainer *failed = yarn_make_next(
            &maker, &hadoop__failed_container__descriptor, &done->failed, &done->n_failed);
        failed->why = yarn_make(&maker, &hadoop__node_exception__descriptor);
        failed->why->text = yarn_make_text(&maker, "Attempt to relaunch the same container");
    }
    fake_put(answer, done);
    yarn_free(start);
    yarn_free(done);
}

static void fake_stop(weft_bytes request, struct fake_answer *answer)
{
    const Hadoop__StopAnswer done = HADOOP__STOP_ANSWER__INIT;
    Hadoop__StopContainers *stop = fake_read(&request, &hadoop__stop_containers__descriptor);
    for (size_t i = 0; i < stop->n_ids; i++) {
        struct fake_container *container = fake_container(stop->ids[i]);
        if (!container->has_ended)
            container->status = -105;
        container->has_ended = true;
    }
    fake_put(answer, &done);
    yarn_free(stop);
}

#endif
