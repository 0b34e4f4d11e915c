// The thread that talks to the resource manager.
//
//   submit -> wait for the token -> register -> allocate, allocate, ... -> finish
//                                      ^            |
//                                      +------------+  it has restarted, or another one is active
//
// Heartbeats are fast while answers are awaited, and slow down to one in a second.

#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "launch/yarn/master_state.h"
#include "launch/yarn/yarn_client.h"
#include "launch/yarn/yarn_message.h"
#include "sys/thread/interrupt.h"
#include "sys/time/clock.h"

enum {
    NS_PER_MS = 1000000,
    BEAT_FIRST_MS = 20,
    BEAT_MAX_MS = 1000,
    TOKEN_FIRST_MS = 10,
    TOKEN_MAX_MS = 500,
    FINISH_PAUSE_MS = 100,
    NEWS_AFTER_MS = 3000,
    FIGURES_EVERY_MS = 5000,
    LOGINS_MAX = 5,
    ODDITIES_MAX = 5,
    ODDITY_PAUSE_MS = 500,
    REASON_MS = 5000,
    REASON_PAUSE_MS = 100,
    COMMAND_SHUT_DOWN = 2,
    COMMAND_RESYNC = 1,
};

static bool is_exception(const struct yarn_link *link, const char *name)
{
    return strcmp(yarn_link_exception(link), name) == 0;
}

// Sleeps, at most that long; false: the master is being closed.
static bool rest(struct yarn_master *master, uint32_t milliseconds)
{
    const uint64_t until_ns = clock_now_ns() + (uint64_t)milliseconds * NS_PER_MS;
    mutex_lock(&master->mutex);
    while (!master->is_closing && !master->is_hurried && clock_now_ns() < until_ns)
        condition_wait_until(&master->changed, &master->mutex, until_ns);
    const bool is_open = !master->is_closing;
    mutex_unlock(&master->mutex);
    return is_open;
}

static void wait_for_close(struct yarn_master *master)
{
    mutex_lock(&master->mutex);
    while (!master->is_closing)
        condition_wait(&master->changed, &master->mutex);
    mutex_unlock(&master->mutex);
}

static bool is_closing(struct yarn_master *master)
{
    mutex_lock(&master->mutex);
    const bool is_now = master->is_closing;
    mutex_unlock(&master->mutex);
    return is_now;
}

// Ends waits for a resource manager when the time to close is over.
static bool is_too_late(void *owner)
{
    struct yarn_master *master = owner;
    mutex_lock(&master->mutex);
    const bool is_late = master->is_closing && clock_now_ns() >= master->close_ns;
    mutex_unlock(&master->mutex);
    return is_late;
}

static void add_event(struct yarn_master *master, enum yarn_event_kind kind, weft_err err,
                      const char *text)
{
    mutex_lock(&master->mutex);
    roster_tell(&master->roster, kind, err, text);
    master_ring(master);
    mutex_unlock(&master->mutex);
}

// ---- Submitting ---------------------------------------------------------------------------------------------------

static void note_app(struct yarn_master *master)
{
    char text[YARN_NAME_BYTES];
    yarn_write_app(&master->app, text);
    add_event(master, YARN_EVENT_KNOWN, WEFT_OK, text);
}

static weft_err submit(struct yarn_master *master)
{
    struct yarn_maker maker = {0};
    struct yarn_app_id app;
    weft_err err = yarn_new_app(master->client, &app, NULL);
    if (err)
        return err;
    master->submission->app = yarn_make_app(&maker, &app);
    if (!master->submission->app)
        return err_no_memory("for an application of YARN");
    mutex_lock(&master->mutex);
    master->app = app;
    master->has_app = true;
    mutex_unlock(&master->mutex);
    err = yarn_submit(master->client, master->submission);
    if (!err)
        note_app(master);
    return err;
}

// Why the application waits, for yarn_master_describe and, once, as news.
static void note_wait(struct yarn_master *master, const Hadoop__AppReport *report, bool is_news)
{
    struct yarn_maker maker = {0};
    struct buf text = {0};
    buf_append_text(&text, "YARN has not started the application yet");
    if (report->diagnostics && report->diagnostics[0]) {
        buf_append_text(&text, ": ");
        yarn_append_line(&text, report->diagnostics, 400);
    }
    mutex_lock(&master->mutex);
    free(master->waits);
    master->waits = yarn_make_text(&maker, buf_text(&text));
    mutex_unlock(&master->mutex);
    if (is_news)
        add_event(master, YARN_EVENT_NEWS, WEFT_OK, buf_text(&text));
    buf_fini(&text);
}

static weft_err keep_token(struct yarn_master *master, const Hadoop__Token *token)
{
    struct yarn_maker maker = {0};
    Hadoop__Token *copy = yarn_make_copy(&maker, token);
    if (!copy)
        return err_no_memory("for a token");
    yarn_free(master->token);
    master->token = copy;
    return yarn_link_set_token(master->scheduler, copy);
}

// One look; *has_token: the application may register.
static weft_err look_for_token(struct yarn_master *master, bool is_news, bool *has_token)
{
    Hadoop__ReportAnswer *answer;
    weft_err err = yarn_get_report(master->client, &master->app, &answer);
    // A resource manager that has taken over in this moment does not know it.
    if (err == WEFT_NOT_FOUND)
        return yarn_submit(master->client, master->submission);
    if (err)
        return err;
    const Hadoop__AppReport *report = answer->report;
    *has_token = report->master_token != NULL;
    err = *has_token ? keep_token(master, report->master_token) : yarn_judge_report(report);
    if (!err && !*has_token && report->state == YARN_APP_FINISHED)
        err = err_set(WEFT_FAILED_PRECONDITION, "the application has ended before it began");
    if (!err && !*has_token)
        note_wait(master, report, is_news);
    yarn_free(answer);
    return err;
}

static weft_err wait_for_token(struct yarn_master *master)
{
    const uint64_t news_ns = clock_now_ns() + (uint64_t)NEWS_AFTER_MS * NS_PER_MS;
    bool has_token = false, was_news = false;
    for (uint32_t pause_ms = TOKEN_FIRST_MS;;) {
        const bool is_news = !was_news && clock_now_ns() >= news_ns;
        const weft_err err = look_for_token(master, is_news, &has_token);
        was_news |= is_news;
        if (err || has_token)
            return err;
        mutex_lock(&master->mutex);
        master->is_hurried = false;
        mutex_unlock(&master->mutex);
        if (!rest(master, pause_ms))
            return WEFT_OK;
        pause_ms = pause_ms * 2 < TOKEN_MAX_MS ? pause_ms * 2 : TOKEN_MAX_MS;
    }
}

static weft_err begin(struct yarn_master *master)
{
    if (master->is_managed) {
        note_app(master);
        return yarn_link_set_token(master->scheduler, master->token);
    }
    const weft_err err = submit(master);
    return err ? err : wait_for_token(master);
}

// ---- Registering --------------------------------------------------------------------------------------------------

// The answer to a registration was lost, and the limits in it: those of clients are the same.
static weft_err make_up_registration(struct yarn_master *master)
{
    Hadoop__RegisterAnswer answer = HADOOP__REGISTER_ANSWER__INIT;
    Hadoop__Resource maximum = HADOOP__RESOURCE__INIT;
    struct yarn_app_id unused;
    const weft_err err = yarn_new_app(master->client, &unused, &maximum);
    if (err)
        return err;
    answer.maximum = &maximum;
    answer.queue = master->submission ? master->submission->queue : NULL;
    mutex_lock(&master->mutex);
    roster_take_registration(&master->roster, &answer);
    mutex_unlock(&master->mutex);
    return WEFT_OK;
}

static weft_err register_once(struct yarn_master *master)
{
    Hadoop__RegisterAnswer *answer;
    const weft_err err =
        yarn_link_call(master->scheduler, "registerApplicationMaster", master->registration,
                       &hadoop__register_answer__descriptor, &answer);
    if (err && is_exception(master->scheduler, "InvalidApplicationMasterRequestException"))
        return make_up_registration(master);
    if (err)
        return err;
    mutex_lock(&master->mutex);
    roster_take_registration(&master->roster, answer);
    mutex_unlock(&master->mutex);
    yarn_free(answer);
    return WEFT_OK;
}

static weft_err register_master(struct yarn_master *master)
{
    const weft_err err = register_once(master);
    if (err)
        return err;
    mutex_lock(&master->mutex);
    if (master->is_registered)
        roster_resync(&master->roster);
    master->is_registered = true;
    master_hurry(master);
    master_ring(master);
    mutex_unlock(&master->mutex);
    return WEFT_OK;
}

// ---- Why it is over -----------------------------------------------------------------------------------------------

static bool is_same_token(const Hadoop__Token *a, const Hadoop__Token *b)
{
    return a->identifier.len == b->identifier.len && a->password.len == b->password.len &&
           memcmp(a->identifier.data, b->identifier.data, a->identifier.len) == 0 &&
           memcmp(a->password.data, b->password.data, a->password.len) == 0;
}

// One look; *is_clear: the report says why, or has a token that is newer than ours.
static weft_err look_for_reason(struct yarn_master *master, bool *is_clear)
{
    Hadoop__ReportAnswer *answer;
    weft_err err = yarn_get_report(master->client, &master->app, &answer);
    *is_clear = err != WEFT_OK;
    if (err == WEFT_NOT_FOUND)
        return err_set(WEFT_FAILED_PRECONDITION,
                       "the resource manager does not know the application any more: it has "
                       "restarted without yarn.resourcemanager.recovery.enabled");
    if (err)
        return err;
    const Hadoop__AppReport *report = answer->report;
    err = yarn_judge_report(report);
    if (!err && report->state == YARN_APP_FINISHED)
        err = err_set(WEFT_ABORTED, "YARN has ended the application");
    *is_clear = err != WEFT_OK;
    if (!err && report->master_token && !is_same_token(report->master_token, master->token)) {
        err = keep_token(master, report->master_token);
        *is_clear = true;
    }
    yarn_free(answer);
    return err;
}

// A login was refused, or the attempt is not known. The report says why, some time later. OK: it is worth a further attempt.
static weft_err explain(struct yarn_master *master, weft_err err)
{
    const uint64_t deadline_ns = clock_now_ns() + (uint64_t)REASON_MS * NS_PER_MS;
    struct err_kept kept;
    err_keep(&kept);
    do {
        bool is_clear;
        const weft_err why = look_for_reason(master, &is_clear);
        if (is_clear)
            return why;
        clock_sleep_ms(REASON_PAUSE_MS);
    } while (clock_now_ns() < deadline_ns && !is_closing(master));
    err_put_back(&kept);
    return master->is_managed ? err_wrap(WEFT_ABORTED, "YARN has given the application to another "
                                                       "attempt")
                              : err;
}

// ---- Heartbeats ---------------------------------------------------------------------------------------------------

static weft_err find_nodes(struct yarn_master *master)
{
    Hadoop__NodesAnswer *nodes;
    mutex_lock(&master->mutex);
    const bool is_needed = roster_needs_nodes(&master->roster);
    mutex_unlock(&master->mutex);
    if (!is_needed)
        return WEFT_OK;
    const weft_err err = yarn_get_nodes(master->client, &nodes);
    if (err)
        return err;
    mutex_lock(&master->mutex);
    roster_take_nodes(&master->roster, nodes);
    master_ring(master);
    mutex_unlock(&master->mutex);
    yarn_free(nodes);
    return WEFT_OK;
}

static weft_err take_answer(struct yarn_master *master, const Hadoop__AllocateAnswer *answer,
                            bool *has_grants)
{
    mutex_lock(&master->mutex);
    roster_take_answer(&master->roster, answer);
    const bool is_incomplete = master->roster.is_incomplete;
    master_ring(master);
    mutex_unlock(&master->mutex);
    *has_grants = answer->n_allocated > 0 || answer->n_completed > 0;
    if (is_incomplete)
        return err_no_memory("for containers of YARN");
    // The connection stays good; the next one needs the new token.
    return answer->master_token ? keep_token(master, answer->master_token) : WEFT_OK;
}

// A request was not answered as it should. OK: it was dealt with.
static weft_err handle_refusal(struct yarn_master *master, weft_err err)
{
    if (is_exception(master->scheduler, "ApplicationMasterNotRegisteredException")) {
        add_event(master, YARN_EVENT_NEWS, WEFT_OK,
                  "the resource manager has restarted: registering again");
        return register_master(master);
    }
    if (err == WEFT_INVALID_ARGUMENT) {
        mutex_lock(&master->mutex);
        roster_take_refusal(&master->roster, err_text());
        master_ring(master);
        mutex_unlock(&master->mutex);
        return WEFT_OK;
    }
    mutex_lock(&master->mutex);
    roster_take_back(&master->roster);
    mutex_unlock(&master->mutex);
    // An exception of no kind that is known: a resource manager that is about to stop has many.
    if (err == WEFT_UNKNOWN && ++master->oddities < ODDITIES_MAX) {
        clock_sleep_ms(ODDITY_PAUSE_MS);
        return WEFT_OK;
    }
    if (err != WEFT_UNAUTHENTICATED && err != WEFT_NOT_FOUND)
        return err;
    const weft_err why = explain(master, err);
    if (why || ++master->logins < LOGINS_MAX)
        return why;
    return err_set(WEFT_UNAVAILABLE, "the resource manager does not let the application in");
}

static weft_err beat(struct yarn_master *master, bool *has_grants)
{
    Hadoop__AllocateAnswer *answer;
    weft_err err = find_nodes(master);
    if (err)
        return err;
    mutex_lock(&master->mutex);
    master->is_hurried = false;
    Hadoop__Allocate *request = roster_make_request(&master->roster);
    mutex_unlock(&master->mutex);
    if (!request)
        return err_no_memory("for a request to YARN");
    err = yarn_link_call(master->scheduler, "allocate", request,
                         &hadoop__allocate_answer__descriptor, &answer);
    yarn_free(request);
    if (err)
        return handle_refusal(master, err);
    master->logins = master->oddities = 0;
    const int32_t command = answer->command;
    err = take_answer(master, answer, has_grants);
    yarn_free(answer);
    if (err)
        return err;
    if (command == COMMAND_SHUT_DOWN)
        return explain(master, WEFT_ABORTED);
    return command == COMMAND_RESYNC ? register_master(master) : WEFT_OK;
}

// Figures of the queue, for yarn_master_describe, while asks wait.
static void look_at_queue(struct yarn_master *master)
{
    Hadoop__QueueAnswer *answer;
    char name[YARN_QUEUE_BYTES];
    const uint64_t now_ns = clock_now_ns();
    mutex_lock(&master->mutex);
    const bool is_waiting = roster_outstanding(&master->roster) > 0;
    snprintf(name, sizeof name, "%s", master->roster.queue);
    mutex_unlock(&master->mutex);
    if (!is_waiting || now_ns < master->figures_ns)
        return;
    master->figures_ns = now_ns + (uint64_t)FIGURES_EVERY_MS * NS_PER_MS;
    if (yarn_get_queue(master->client, name, &answer)) {
        err_clear();
        return;
    }
    mutex_lock(&master->mutex);
    roster_take_queue(&master->roster, answer->queue);
    mutex_unlock(&master->mutex);
    yarn_free(answer);
}

static weft_err beat_until_closed(struct yarn_master *master)
{
    uint32_t pause_ms = BEAT_FIRST_MS;
    for (;;) {
        bool has_grants = false;
        mutex_lock(&master->mutex);
        const bool was_hurried = master->is_hurried;
        mutex_unlock(&master->mutex);
        const weft_err err = beat(master, &has_grants);
        if (err)
            return err;
        mutex_lock(&master->mutex);
        const bool has_news = roster_has_news(&master->roster);
        mutex_unlock(&master->mutex);
        pause_ms = has_grants || was_hurried ? BEAT_FIRST_MS : pause_ms * 2;
        if (pause_ms > BEAT_MAX_MS)
            pause_ms = BEAT_MAX_MS;
        if (pause_ms == BEAT_MAX_MS)
            look_at_queue(master);
        if (!has_news && !rest(master, pause_ms))
            return WEFT_OK;
        if (is_closing(master))
            return WEFT_OK;
    }
}

// ---- The end ------------------------------------------------------------------------------------------------------

static weft_err finish_once(struct yarn_master *master, const Hadoop__Finish *finish, bool *is_done)
{
    Hadoop__FinishAnswer *answer;
    const weft_err err = yarn_link_call(master->scheduler, "finishApplicationMaster", finish,
                                        &hadoop__finish_answer__descriptor, &answer);
    *is_done = !err && answer->is_complete;
    yarn_free(answer);
    if (err && is_exception(master->scheduler, "ApplicationMasterNotRegisteredException"))
        return register_once(master);
    return err;
}

static weft_err finish(struct yarn_master *master)
{
    Hadoop__Finish message = HADOOP__FINISH__INIT;
    bool was_taken = false;
    message.diagnostics = master->final_text ? master->final_text : "";
    message.url = master->registration->url;
    message.has_final_status = true;
    message.final_status = (int32_t)master->final;
    for (;;) {
        bool is_done = false;
        const weft_err err = finish_once(master, &message, &is_done);
        // After a first one, the application may be gone before it is asked again.
        if (is_done || (err && was_taken))
            return WEFT_OK;
        if (err)
            return err;
        was_taken = true;
        if (is_too_late(master))
            return err_set(WEFT_DEADLINE_EXCEEDED, "YARN does not confirm the end");
        clock_sleep_ms(FINISH_PAUSE_MS);
    }
}

static weft_err say_goodbye(struct yarn_master *master)
{
    if (master->is_registered)
        return finish(master);
    if (master->is_managed)
        return WEFT_OK;
    const weft_err err = yarn_kill(
        master->client, &master->app,
        master->final_text ? master->final_text : "ended before it began", master->close_ns);
    return err == WEFT_NOT_FOUND ? WEFT_OK : err;
}

// `err` is why the application has failed; one that is over needs no end, and a resource manager that was waited for in vain is not waited for again.
static void note_goodbye(struct yarn_master *master, weft_err err)
{
    struct buf text = {0};
    char app[YARN_NAME_BYTES];
    if (err == WEFT_ABORTED || err == WEFT_FAILED_PRECONDITION || !master->has_app)
        return;
    const weft_err said = err == WEFT_UNAVAILABLE ? err : say_goodbye(master);
    if (!said)
        return;
    yarn_write_app(&master->app, app);
    err_wrap(said, "the end of %s could not be reported to YARN, which ends it by itself", app);
    text_append_message(&text, "weft", err_text());
    snprintf(master->close_error, sizeof master->close_error, "%s", buf_text(&text));
    buf_fini(&text);
}

void master_talk(void *owner)
{
    struct yarn_master *master = owner;
    interrupt_set_own(is_too_late, master);
    weft_err err = begin(master);
    if (!err && !is_closing(master))
        err = register_master(master);
    if (!err && !is_closing(master))
        err = beat_until_closed(master);
    if (err && !is_closing(master)) {
        add_event(master, YARN_EVENT_FAILED, err, err_text());
        wait_for_close(master);
    }
    note_goodbye(master, err);
    interrupt_set_own(NULL, NULL);
}
