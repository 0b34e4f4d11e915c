// Applications of YARN: submitted, looked at, killed.

#include "launch/yarn/yarn_client.h"

#include <stdio.h>

#include "launch/yarn/yarn_message.h"
#include "sys/thread/interrupt.h"
#include "sys/time/clock.h"

enum {
    TAGS_MAX = 10,
    TAG_BYTES_MAX = 100,
    TYPE_BYTES_MAX = 20,
    KILL_PAUSE_MS = 100,
    REASON_BYTES = 500
};

// ---- Calls --------------------------------------------------------------------------------------------------------

weft_err yarn_new_app(struct yarn_link *link, struct yarn_app_id *app, Hadoop__Resource *maximum)
{
    const Hadoop__Nothing nothing = HADOOP__NOTHING__INIT;
    Hadoop__NewApp *answer;
    const weft_err err =
        yarn_link_call(link, "getNewApplication", &nothing, &hadoop__new_app__descriptor, &answer);
    if (err)
        return err;
    const bool has_app = yarn_take_app(answer->app, app);
    if (maximum && answer->maximum) {
        maximum->memory_mb = answer->maximum->memory_mb;
        maximum->cores = answer->maximum->cores;
    }
    yarn_free(answer);
    return has_app ? WEFT_OK
                   : err_set(WEFT_DATA_LOSS, "the resource manager gives an application no number");
}

weft_err yarn_submit(struct yarn_link *link, const Hadoop__Submission *submission)
{
    Hadoop__Submit submit = HADOOP__SUBMIT__INIT;
    Hadoop__Nothing *answer;
    submit.submission = (Hadoop__Submission *)submission;
    const weft_err err =
        yarn_link_call(link, "submitApplication", &submit, &hadoop__nothing__descriptor, &answer);
    yarn_free(answer);
    return err;
}

static void set_app(const struct yarn_app_id *app, Hadoop__AppId *message)
{
    hadoop__app_id__init(message);
    message->has_number = message->has_timestamp = true;
    message->number = app->number;
    message->timestamp = app->timestamp;
}

weft_err yarn_get_report(struct yarn_link *link, const struct yarn_app_id *app,
                         Hadoop__ReportAnswer **answer)
{
    Hadoop__GetReport get = HADOOP__GET_REPORT__INIT;
    Hadoop__AppId id;
    set_app(app, &id);
    get.app = &id;
    const weft_err err = yarn_link_call(link, "getApplicationReport", &get,
                                        &hadoop__report_answer__descriptor, answer);
    if (err || (*answer)->report)
        return err;
    yarn_free(*answer);
    *answer = NULL;
    return err_set(WEFT_DATA_LOSS, "the resource manager reports nothing about the application");
}

weft_err yarn_kill(struct yarn_link *link, const struct yarn_app_id *app, const char *why,
                   uint64_t deadline_ns)
{
    Hadoop__Kill kill = HADOOP__KILL__INIT;
    Hadoop__AppId id;
    set_app(app, &id);
    kill.app = &id;
    kill.diagnostics = (char *)why;
    for (;;) {
        Hadoop__KillAnswer *answer;
        const weft_err err = yarn_link_call(link, "forceKillApplication", &kill,
                                            &hadoop__kill_answer__descriptor, &answer);
        const bool is_complete = !err && answer->is_complete;
        yarn_free(answer);
        if (err || is_complete)
            return err;
        if (clock_now_ns() >= deadline_ns || interrupt_ends(deadline_ns))
            return err_set(WEFT_DEADLINE_EXCEEDED, "YARN takes too long to kill the application");
        interrupt_sleep_ms(KILL_PAUSE_MS);
    }
}

weft_err yarn_get_nodes(struct yarn_link *link, Hadoop__NodesAnswer **answer)
{
    enum { STATE_RUNNING = 2 };
    Hadoop__GetNodes get = HADOOP__GET_NODES__INIT;
    int32_t states[] = {STATE_RUNNING};
    get.states = states;
    get.n_states = 1;
    return yarn_link_call(link, "getClusterNodes", &get, &hadoop__nodes_answer__descriptor, answer);
}

weft_err yarn_get_queue(struct yarn_link *link, const char *name, Hadoop__QueueAnswer **answer)
{
    Hadoop__GetQueue get = HADOOP__GET_QUEUE__INIT;
    get.name = (char *)name;
    get.has_includes_applications = get.has_includes_children = get.has_is_recursive = true;
    get.includes_children = true;
    const weft_err err =
        yarn_link_call(link, "getQueueInfo", &get, &hadoop__queue_answer__descriptor, answer);
    if (err || (*answer)->queue)
        return err;
    yarn_free(*answer);
    *answer = NULL;
    return err_set(WEFT_NOT_FOUND, "YARN has no queue %.200s", name);
}

weft_err yarn_judge_report(const Hadoop__AppReport *report)
{
    struct buf why = {0};
    char name[YARN_NAME_BYTES] = "the application";
    struct yarn_app_id id;
    if (yarn_take_app(report->app, &id))
        yarn_write_app(&id, name);
    yarn_append_line(&why, report->diagnostics ? report->diagnostics : "", REASON_BYTES);
    const char *colon = why.size ? ": " : "";
    weft_err err = WEFT_OK;
    if (report->state == YARN_APP_KILLED)
        err = err_set(WEFT_ABORTED, "%s was killed%s%s", name, colon, buf_text(&why));
    else if (report->state == YARN_APP_FAILED)
        err = err_set(WEFT_FAILED_PRECONDITION, "YARN calls %s failed%s%s", name, colon,
                      buf_text(&why));
    buf_fini(&why);
    return err;
}

// ---- Submissions --------------------------------------------------------------------------------------------------

static bool is_tag(const char *tag)
{
    const size_t size = strlen(tag);
    for (const char *at = tag; *at; at++)
        if (*at < ' ' || *at > '~')
            return false;
    return size > 0 && size <= TAG_BYTES_MAX;
}

static weft_err check_application(const struct yarn_application *application)
{
    size_t count = 0;
    for (const char *const *tag = application->tags; tag && *tag; tag++, count++)
        if (!is_tag(*tag))
            return err_set(
                WEFT_INVALID_ARGUMENT,
                "\"%.120s\" is not a tag of YARN: it has 1 to %d printable ASCII characters", *tag,
                TAG_BYTES_MAX);
    if (count > TAGS_MAX)
        return err_set(WEFT_INVALID_ARGUMENT, "YARN allows %d tags, not %zu", TAGS_MAX, count);
    if (application->type && strlen(application->type) > TYPE_BYTES_MAX)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "\"%.120s\" is not a type of YARN: it has more than %d characters",
                       application->type, TYPE_BYTES_MAX);
    return WEFT_OK;
}

static void add_acl(struct yarn_maker *maker, int32_t type, const char *users,
                    Hadoop__LaunchContext *context)
{
    Hadoop__Acl *acl =
        users ? yarn_make_next(maker, &hadoop__acl__descriptor, &context->acls, &context->n_acls)
              : NULL;
    if (!acl)
        return;
    acl->has_type = true;
    acl->type = type;
    acl->users = yarn_make_text(maker, users);
}

static void set_texts(struct yarn_maker *maker, const struct yarn_application *application,
                      const char *queue, Hadoop__Submission *submission)
{
    const char *name = application->name ? application->name : "weft";
    const char *type = application->type ? application->type : "weft";
    if (application->queue && application->queue[0])
        queue = application->queue;
    submission->name = yarn_make_text(maker, name);
    submission->type = yarn_make_text(maker, type);
    submission->queue = yarn_make_text(maker, queue && queue[0] ? queue : "default");
    submission->label = yarn_make_text(maker, application->label);
    for (const char *const *tag = application->tags; tag && *tag; tag++)
        yarn_make_next_text(maker, *tag, &submission->tags, &submission->n_tags);
}

static void set_lifetime(struct yarn_maker *maker, uint32_t seconds, Hadoop__Submission *submission)
{
    Hadoop__Lifetime *lifetime =
        seconds ? yarn_make_next(maker, &hadoop__lifetime__descriptor, &submission->lifetimes,
                                 &submission->n_lifetimes)
                : NULL;
    if (!lifetime)
        return;
    lifetime->has_type = lifetime->has_seconds = true;
    lifetime->type = 1;
    lifetime->seconds = seconds;
}

weft_err yarn_set_submission(struct yarn_maker *maker, const struct yarn_application *application,
                             const char *queue, Hadoop__Submission *submission)
{
    const weft_err err = check_application(application);
    if (err)
        return err;
    set_texts(maker, application, queue, submission);
    set_lifetime(maker, application->lifetime_s, submission);
    // YARN insists on a context, also when it is empty.
    submission->context = yarn_make(maker, &hadoop__launch_context__descriptor);
    submission->priority = yarn_make(maker, &hadoop__priority__descriptor);
    if (maker->has_failed)
        return err_no_memory("for an application of YARN");
    submission->priority->has_value = true;
    submission->priority->value = application->priority;
    add_acl(maker, 1, application->viewers, submission->context);
    add_acl(maker, 2, application->modifiers, submission->context);
    submission->has_attempts_max = true;
    submission->attempts_max = 1;
    return maker->has_failed ? err_no_memory("for an application of YARN") : WEFT_OK;
}
