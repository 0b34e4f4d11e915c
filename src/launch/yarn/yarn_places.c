// A container for each place, from the wish to the end.
//
//   UNASKED -> ASKED -> GRANTED -> LAUNCHED -> VACANT -> ASKED...
//
// Whether an agent has come, and what its members do, launch/far knows. What becomes of the container, YARN says: seconds later than
// the connection ends, so the two are put together here before members are lost.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch/far/host_agent.h"
#include "launch/yarn/yarn_state.h"
#include "sys/time/clock.h"
#include "wire/hadoop/token_file.h"

#define HOST_WORD "host="

// ---- Needs -------------------------------------------------------------------------------------------------

static weft_err add_amount(struct yarn_need *need, const char *name, uint64_t count)
{
    for (size_t i = 0; i < need->amounts.count; i++)
        if (strcmp(need->amounts.items[i].name, name) == 0) {
            need->amounts.items[i].count += (int64_t)count;
            return WEFT_OK;
        }
    const struct yarn_amount amount = {name, (int64_t)count};
    return VEC_PUSH(&need->amounts, amount) ? WEFT_OK : err_no_memory("for the containers");
}

static weft_err add_need(struct yarn_need *need, const struct launch_want *want)
{
    weft_err err = WEFT_OK;
    need->memory_bytes += want->memory_bytes;
    need->cores += want->cpus;
    if (want->constraint)
        need->constraint = want->constraint;
    if (want->gpus)
        err = add_amount(need, "yarn.io/gpu", want->gpus);
    for (size_t i = 0; !err && i < want->amount_count; i++)
        err = add_amount(need, want->amounts[i].name, want->amounts[i].count);
    return err;
}

weft_err yarn_make_places(struct yarn *yarn)
{
    const struct launch_options *options = &yarn->options;
    yarn->places = calloc(options->count, sizeof *yarn->places);
    yarn->place_of = calloc(options->count, sizeof *yarn->place_of);
    if (!yarn->places || !yarn->place_of)
        return err_no_memory("for the containers");
    for (size_t i = 0; i < options->count; i++) {
        const struct launch_want *want = &options->wants[i];
        yarn->place_of[i] = want->beside ? yarn->place_of[want->beside - 1] : yarn->place_count++;
        struct yarn_place *place = &yarn->places[yarn->place_of[i]];
        place->yarn = yarn;
        const weft_err err = add_need(&place->need, want);
        if (err)
            return err;
    }
    return WEFT_OK;
}

void yarn_free_places(struct yarn *yarn)
{
    for (size_t i = 0; yarn->places && i < yarn->place_count; i++) {
        struct yarn_place *place = &yarn->places[i];
        loop_timer_free(place->cut);
        VEC_FINI(&place->need.amounts);
        free(place->node);
        free(place->name);
    }
    free(yarn->places);
    free(yarn->place_of);
}

static bool is_same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool is_same_need(const struct yarn_need *a, const struct yarn_need *b)
{
    if (a->memory_bytes != b->memory_bytes || a->cores != b->cores ||
        a->amounts.count != b->amounts.count || !is_same_text(a->constraint, b->constraint))
        return false;
    for (size_t i = 0; i < a->amounts.count; i++)
        if (strcmp(a->amounts.items[i].name, b->amounts.items[i].name) != 0 ||
            a->amounts.items[i].count != b->amounts.items[i].count)
            return false;
    return true;
}

// ---- Asking ------------------------------------------------------------------------------------------------

// "host=a,b" names hosts; any other constraint is the label of nodes.
static weft_err ask_with_hosts(struct yarn *yarn, struct yarn_want *want, const char *list,
                               size_t *ask)
{
    VEC(const char *) hosts = {0};
    char *copy = strdup(list), *at = copy;
    bool has_room = copy != NULL;
    for (char *host; has_room && (host = strsep(&at, ","));)
        has_room = VEC_PUSH(&hosts, (const char *)host);
    has_room = has_room && VEC_PUSH(&hosts, NULL);
    want->hosts = hosts.items;
    want->is_strict = true;
    const weft_err err =
        has_room ? yarn_master_ask(yarn->master, want, ask) : err_no_memory("for the hosts");
    VEC_FINI(&hosts);
    free(copy);
    return err;
}

static weft_err ask(struct yarn *yarn, size_t from, size_t count)
{
    const struct yarn_need *need = &yarn->places[from].need;
    const size_t word = strlen(HOST_WORD);
    struct yarn_want want = {
        .count = (uint32_t)count,
        .memory_bytes =
            need->memory_bytes ? need->memory_bytes : (uint64_t)YARN_MEMORY_DEFAULT_MB << 20,
        .cores = need->cores,
        .amounts = need->amounts.items,
        .amount_count = need->amounts.count,
    };
    size_t number = 0;
    weft_err err;
    if (need->constraint && strncmp(need->constraint, HOST_WORD, word) == 0) {
        err = ask_with_hosts(yarn, &want, need->constraint + word, &number);
    } else {
        want.label = need->constraint;
        err = yarn_master_ask(yarn->master, &want, &number);
    }
    yarn->begun_ns = clock_now_ns();
    for (size_t i = from; !err && i < from + count; i++) {
        yarn->places[i].state = YARN_ASKED;
        yarn->places[i].ask = number;
    }
    return err;
}

weft_err yarn_ask_all(struct yarn *yarn)
{
    weft_err err = WEFT_OK;
    for (size_t i = 0, count; !err && i < yarn->place_count; i += count) {
        count = 1;
        while (i + count < yarn->place_count &&
               is_same_need(&yarn->places[i].need, &yarn->places[i + count].need))
            count++;
        err = ask(yarn, i, count);
    }
    return err;
}

// Members that were there still name their old place.
static void retire(struct yarn *yarn, char **text)
{
    if (*text && !VEC_PUSH(&yarn->retired, *text))
        err_clear();  // out of memory: it stays with us
    *text = NULL;
}

static void leave_container(struct yarn_place *place)
{
    struct yarn *yarn = place->yarn;
    loop_timer_free(place->cut);
    place->cut = NULL;
    retire(yarn, &place->node);
    retire(yarn, &place->name);
    if (place->container) {
        place->container->mark = NULL;
        yarn_master_stop(yarn->master, place->container);
    }
    place->container = NULL;
    place->state = YARN_VACANT;
}

static size_t number_of(const struct yarn_place *place)
{
    return (size_t)(place - place->yarn->places);
}

void yarn_replace(struct yarn_place *place)
{
    struct yarn *yarn = place->yarn;
    leave_container(place);
    place->tries = 0;
    const weft_err err = ask(yarn, number_of(place), 1);
    if (err) {
        struct err_kept kept;
        err_keep(&kept);
        far_end_host(yarn->far, number_of(place), err, kept.text, false);
    }
}

// ---- Hosts that are not trusted for a while --------------------------------------------------------------------

static void exclude(struct yarn *yarn, const char *host)
{
    char *copy = strdup(host);
    if (!copy || yarn_master_exclude(yarn->master, host, true) ||
        !VEC_PUSH(&yarn->excluded, copy)) {
        err_clear();
        free(copy);
        return;
    }
    yarn->excluded_ns = clock_now_ns();
}

void yarn_forgive(struct yarn *yarn)
{
    if (!yarn->excluded.count ||
        clock_now_ns() - yarn->excluded_ns < (uint64_t)YARN_FORGIVE_MS * 1000000)
        return;
    for (size_t i = 0; i < yarn->excluded.count; i++) {
        if (yarn_master_exclude(yarn->master, yarn->excluded.items[i], false))
            err_clear();
        free(yarn->excluded.items[i]);
    }
    yarn->excluded.count = 0;
}

// ---- Starting agents -------------------------------------------------------------------------------------------

// The secret is in no command and no variable: YARN shows those. `exec`: the agent gets the signals of the container. HOME is what YARN says,
// by default /home/, where most users may not write: caches are then where the application keeps its files on that node.
static weft_err launch(struct yarn_place *place)
{
    struct yarn *yarn = place->yarn;
    struct buf command = {0};
    buf_format(&command,
               "mkdir -p tmp && export TMPDIR=\"$PWD/tmp\" && "
               "{ [ -w \"$HOME\" ] || export XDG_CACHE_HOME=\"${LOCAL_DIRS%%%%,*}/cache\"; } && "
               "exec ./weft agent --join %s "
               "--token-file \"$HADOOP_TOKEN_FILE_LOCATION\" --place ",
               yarn->own);
    far_append_place(yarn->far, number_of(place), &command);
    const struct yarn_file file = {
        .name = "weft",
        .url = buf_text(&yarn->stage.url),
        .size = (int64_t)yarn->stage.bytes,
        .mtime_ms = yarn->stage.mtime_ms,
        .kind = YARN_FILE,
        .share = YARN_FOR_USER,
    };
    const struct yarn_program program = {
        .command = buf_text(&command),
        .files = &file,
        .file_count = 1,
        .credentials = buf_bytes(&yarn->credentials),
    };
    const weft_err err = command.has_failed
                             ? err_no_memory("for a container")
                             : yarn_master_launch(yarn->master, place->container, &program);
    buf_fini(&command);
    return err;
}

static void launch_or_end(struct yarn_place *place)
{
    struct yarn *yarn = place->yarn;
    place->state = YARN_LAUNCHED;
    const weft_err err = launch(place);
    if (err) {
        struct err_kept kept;
        err_keep(&kept);
        far_end_host(yarn->far, number_of(place), err, kept.text, false);
    }
}

void yarn_launch_granted(struct yarn *yarn)
{
    for (size_t i = 0; i < yarn->place_count && !yarn->is_closing; i++)
        if (yarn->places[i].state == YARN_GRANTED)
            launch_or_end(&yarn->places[i]);
}

static struct yarn_place *find_asked(struct yarn *yarn, size_t number)
{
    for (size_t i = 0; i < yarn->place_count; i++)
        if (yarn->places[i].state == YARN_ASKED && yarn->places[i].ask == number)
            return &yarn->places[i];
    return NULL;
}

static void name_container(struct yarn_place *place, const struct yarn_container *container)
{
    struct buf name = {0};
    buf_format(&name, "%s on %s", container->id, container->host);
    retire(place->yarn, &place->node);
    retire(place->yarn, &place->name);
    place->node = strdup(container->host);
    place->name = strdup(buf_text(&name));
    far_name_host(place->yarn->far, number_of(place), buf_text(&name));
    buf_fini(&name);
}

static void container_granted(void *owner, struct yarn_container *container)
{
    struct yarn *yarn = owner;
    struct yarn_place *place = yarn->is_closing ? NULL : find_asked(yarn, container->ask);
    container->mark = place;
    if (!place) {
        yarn_master_stop(yarn->master, container);
        return;
    }
    place->container = container;
    place->state = YARN_GRANTED;
    name_container(place, container);
    if (yarn->is_staged && yarn->is_rested)
        launch_or_end(place);
}

static void container_started(void *owner, struct yarn_container *container)
{
    (void)owner, (void)container;  // its agent will come
}

// ---- Ends ------------------------------------------------------------------------------------------------------

static weft_err code_of(enum yarn_end_kind kind)
{
    switch (kind) {
    case YARN_MEMORY:
        return WEFT_RESOURCE_EXHAUSTED;
    case YARN_KILLED:
        return WEFT_ABORTED;
    default:
        return WEFT_UNAVAILABLE;
    }
}

// The container has ended before its agent came. Another node may be better; a program that fails does so everywhere.
static void end_early(struct yarn_place *place, const struct yarn_end *end)
{
    struct yarn *yarn = place->yarn;
    struct buf why = {0};
    const bool is_programs = end->kind == YARN_EXITED || end->kind == YARN_MEMORY;
    if (!is_programs && ++place->tries < YARN_TRIES_MAX) {
        buf_format(&why, "%s: %s (another container is asked for)", place->name, end->text);
        yarn->options.calls->news(yarn->options.owner, buf_text(&why));
        buf_fini(&why);
        if (end->kind == YARN_NOT_STARTED)
            exclude(yarn, place->node);
        far_await_another(yarn->far, number_of(place));
        const weft_err err = ask(yarn, number_of(place), 1);
        if (err) {
            struct err_kept kept;
            err_keep(&kept);
            far_end_host(yarn->far, number_of(place), err, kept.text, false);
        }
        return;
    }
    buf_format(&why, "its agent has ended before it could connect to %s: %s", yarn->own, end->text);
    far_end_host(yarn->far, number_of(place), code_of(end->kind), buf_text(&why), false);
    buf_fini(&why);
}

static void container_ended(void *owner, struct yarn_container *container,
                            const struct yarn_end *end)
{
    struct yarn *yarn = owner;
    struct yarn_place *place = container->mark;
    if (!place)
        return;
    place->container = NULL;
    place->state = YARN_VACANT;
    loop_timer_free(place->cut);
    place->cut = NULL;
    if (yarn->is_closing || !far_has_host(yarn->far, number_of(place)))
        return;
    if (far_awaits(yarn->far, number_of(place)))
        end_early(place, end);
    else
        far_end_host(yarn->far, number_of(place), code_of(end->kind), end->text, end->is_charged);
}

static void reason_overdue(void *owner)
{
    struct yarn_place *place = owner;
    loop_timer_free(place->cut);
    place->cut = NULL;
    if (place->node)
        exclude(place->yarn, place->node);
    far_end_host(place->yarn->far, number_of(place), WEFT_UNAVAILABLE,
                 "the connection to its agent has ended, and YARN does not say why", false);
}

void yarn_note_cut(void *owner, size_t host)
{
    struct yarn *yarn = owner;
    struct yarn_place *place = &yarn->places[host];
    loop_timer_free(place->cut);
    place->cut = loop_timer_new(yarn->options.loop,
                                place->container && !yarn->has_failed ? YARN_REASON_MS : 0, 0,
                                reason_overdue, place);
}

// ---- The application -------------------------------------------------------------------------------------------

static void application_known(void *owner, const char *application)
{
    const struct yarn *yarn = owner;
    char text[200];
    if (yarn->options.is_kept)
        return;
    snprintf(text, sizeof text, "%.160s has been submitted to YARN", application);
    yarn->options.calls->news(yarn->options.owner, text);
}

static void application_registered(void *owner, const struct yarn_limits *limits)
{
    (void)owner, (void)limits;
}

// For this thread's reason.
static void ask_refused(void *owner, size_t number, weft_err err)
{
    struct yarn *yarn = owner;
    struct err_kept kept;
    err_keep(&kept);
    for (size_t i = 0; i < yarn->place_count && !yarn->is_closing; i++) {
        struct yarn_place *place = &yarn->places[i];
        if (place->state != YARN_ASKED || place->ask != number)
            continue;
        place->state = YARN_VACANT;
        far_end_host(yarn->far, i, err, kept.text, false);
    }
}

// A person who ends the application has interrupted the run.
static void application_failed(void *owner, weft_err err)
{
    struct yarn *yarn = owner;
    struct err_kept kept;
    if (yarn->is_closing || yarn->has_failed)
        return;
    yarn->has_failed = true;
    err_keep(&kept);
    if (err == WEFT_ABORTED)
        err = WEFT_CANCELLED;
    yarn->options.calls->failed(yarn->options.owner, err_set(err, "%s", kept.text));
}

static void news_came(void *owner, const char *text)
{
    const struct yarn *yarn = owner;
    yarn->options.calls->news(yarn->options.owner, text);
}

const struct yarn_master_calls yarn_calls = {
    .known = application_known,
    .registered = application_registered,
    .granted = container_granted,
    .started = container_started,
    .ended = container_ended,
    .refused = ask_refused,
    .failed = application_failed,
    .news = news_came,
};
