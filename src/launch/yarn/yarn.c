// The launcher: the application and its places first, then agents as they come.

#include "launch/yarn/yarn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch/far/host_agent.h"
#include "launch/yarn/yarn_inner.h"
#include "launch/yarn/yarn_state.h"
#include "wire/hadoop/token_file.h"

static struct yarn *yarn_of(struct launch *launch)
{
    return (struct yarn *)launch;
}

// ---- Opening -----------------------------------------------------------------------------------------------

static weft_err open_far(struct yarn *yarn)
{
    static const char *const keep[] = {"HADOOP_*",
                                       "YARN_*",
                                       "JAVA_HOME",
                                       "CONTAINER_ID",
                                       "NM_*",
                                       "LOCAL_DIRS",
                                       "LOG_DIRS",
                                       "XDG_CACHE_HOME",
                                       "CLASSPATH",
                                       "CUDA_VISIBLE_DEVICES",
                                       "NVIDIA_VISIBLE_DEVICES",
                                       NULL};
    const char **names = calloc(yarn->place_count, sizeof *names);
    if (!names)
        return err_no_memory("for the containers");
    for (size_t i = 0; i < yarn->place_count; i++)
        names[i] = "YARN";
    yarn->route =
        (struct far_route){.cut = yarn_note_cut, .keep = keep, .connecting_max = UINT32_MAX};
    const weft_err err = far_open(&yarn->far, &launch_yarn, &yarn->options, &yarn->route, yarn,
                                  names, yarn->place_count);
    if (err)
        yarn->far = NULL;
    free(names);
    return err;
}

// The address that the way to the resource manager begins with, unless the user knows a better one.
static weft_err find_own(struct yarn *yarn)
{
    struct net_address own = {.port = far_port(yarn->far)};
    char number[INTERFACE_ADDRESS_BYTES] = "";
    const bool is_given = yarn->settings.address && !yarn->options.is_kept;
    weft_err err = is_given ? WEFT_OK : interface_find_own(&yarn->site.managers[0].client, number);
    // One of several may be gone for good, with its name.
    for (size_t i = 1; err && i < yarn->site.count; i++)
        err = interface_find_own(&yarn->site.managers[i].client, number);
    if (err)
        return err_wrap(err, "the resource manager");
    err_clear();
    snprintf(own.host, sizeof own.host, "%.250s", is_given ? yarn->settings.address : number);
    net_write_address(&own, yarn->own);
    return WEFT_OK;
}

static weft_err write_credentials(struct yarn *yarn)
{
    char text[SECRET_TEXT_BYTES];
    struct token_file file = {0};
    secret_write(far_secret(yarn->far), text);
    const struct hadoop_secret secret = {{HOST_AGENT_SECRET, strlen(HOST_AGENT_SECRET)},
                                         {text, strlen(text)}};
    weft_err err = VEC_PUSH(&file.secrets, secret) ? WEFT_OK : err_no_memory("for the containers");
    if (!err) {
        token_file_write(&yarn->credentials, &file);
        err = yarn->credentials.has_failed ? err_no_memory("for the containers") : WEFT_OK;
    }
    token_file_fini(&file);
    return err;
}

static void free_yarn(struct yarn *yarn)
{
    loop_timer_free(yarn->tick);
    loop_timer_free(yarn->rest);
    errands_free(yarn->errands);
    yarn_free_places(yarn);
    yarn_stage_fini(&yarn->stage);
    yarn_settings_fini(&yarn->settings);
    buf_fini(&yarn->credentials);
    for (size_t i = 0; i < yarn->excluded.count; i++)
        free(yarn->excluded.items[i]);
    VEC_FINI(&yarn->excluded);
    for (size_t i = 0; i < yarn->retired.count; i++)
        free(yarn->retired.items[i]);
    VEC_FINI(&yarn->retired);
    free(yarn->said);
    free(yarn->final_text);
    free(yarn);
}

// Agents first, so that members end as they do everywhere; with the application end their containers.
static void close_yarn(struct launch *launch)
{
    struct yarn *yarn = yarn_of(launch);
    yarn->is_closing = true;
    // The program may be on its way into HDFS: its path is that of the agents' launcher.
    errands_free(yarn->errands);
    yarn->errands = NULL;
    far_close(yarn->far);
    yarn_master_close(yarn->master, yarn->final, yarn->final_text);
    free_yarn(yarn);
}

// YARN has started this process. The token of the user has come with it.
static weft_err prepare_inside(struct yarn *yarn)
{
    yarn->options.token_file = "weft-token";
    return yarn_inner_take_token(yarn->options.token_file);
}

static weft_err open_yarn(struct launch **launch, const struct launch_options *options)
{
    struct yarn *yarn = calloc(1, sizeof *yarn);
    if (!yarn)
        return err_no_memory("for the containers");
    *yarn = (struct yarn){.base = {&launch_yarn}, .options = *options, .final = YARN_ENDED_BY_USER};
    weft_err err = yarn_site_find(options->url, &yarn->site);
    if (!err && options->is_kept)
        err = prepare_inside(yarn);
    if (!err)
        err = yarn_settings_read(options->settings, &yarn->settings);
    if (!err)
        err = yarn_make_places(yarn);
    if (!err)
        err = open_far(yarn);
    if (!err)
        err = find_own(yarn);
    if (!err)
        err = write_credentials(yarn);
    if (!err && !(yarn->errands = errands_new(options->loop)))
        err = WEFT_RESOURCE_EXHAUSTED;
    if (err) {
        struct err_kept kept;
        err_keep(&kept);
        if (yarn->far)
            far_close(yarn->far);
        free_yarn(yarn);
        err_put_back(&kept);
    } else {
        *launch = &yarn->base;
    }
    return err;
}

// ---- The program -------------------------------------------------------------------------------------------

static void stage_program(void *owner)
{
    struct yarn *yarn = owner;
    yarn->stage_err = yarn_stage_put(&yarn->stage);
    err_keep(&yarn->stage_text);
}

static void program_staged(void *owner)
{
    struct yarn *yarn = owner;
    if (yarn->is_closing || yarn->has_failed)
        return;
    if (yarn->stage_err) {
        yarn->has_failed = true;
        err_put_back(&yarn->stage_text);
        yarn->options.calls->failed(yarn->options.owner, yarn->stage_err);
        return;
    }
    yarn->is_staged = true;
    if (yarn->is_rested)
        yarn_launch_granted(yarn);
}

static weft_err begin_staging(struct yarn *yarn)
{
    const struct far_program program = far_get_program(yarn->far);
    yarn->stage = (struct yarn_stage){
        .directory = yarn->settings.stage,
        .path = program.path,
        .hash = program.hash,
        .bytes = program.bytes,
    };
    return errands_do(yarn->errands, stage_program, program_staged, yarn);
}

// ---- Places ------------------------------------------------------------------------------------------------

static void rest_over(void *owner)
{
    struct yarn *yarn = owner;
    yarn->is_rested = true;
    if (!yarn->is_closing && !yarn->has_failed && yarn->is_staged)
        yarn_launch_granted(yarn);
}

// Agents of an attempt that was lost end by themselves, but not at once where they are cut off: no member runs twice.
static weft_err rest(struct yarn *yarn)
{
    const uint32_t attempt = yarn->options.is_kept ? yarn_inner_attempt() : 1;
    char text[160];
    yarn->is_rested = attempt <= 1;
    if (yarn->is_rested)
        return WEFT_OK;
    snprintf(text, sizeof text,
             "this is attempt %u: all members start again, in %d s, when none of the last attempt "
             "can be alive",
             attempt, FAR_LOST_REST_MS / 1000);
    yarn->options.calls->news(yarn->options.owner, text);
    yarn->rest = loop_timer_new(yarn->options.loop, FAR_LOST_REST_MS, 0, rest_over, yarn);
    return yarn->rest ? WEFT_OK : WEFT_RESOURCE_EXHAUSTED;
}

// The resource manager takes a master for lost that it has not heard for ten minutes, and starts another one: this one has given up by then.
static weft_err open_master(struct yarn *yarn)
{
    struct yarn_application application = yarn->settings.application;
    if (!application.name)
        application.name = yarn->options.name;
    if (*yarn->site.queue)
        application.queue = yarn->site.queue;
    return yarn_master_open(
        &yarn->master,
        &(struct yarn_master_options){
            .site = &yarn->site,
            .application = &application,
            .token_file = yarn->options.is_kept ? getenv("HADOOP_TOKEN_FILE_LOCATION") : NULL,
            .patience_ms = yarn->options.is_kept ? YARN_KEPT_PATIENCE_MS : 0,
            .loop = yarn->options.loop,
            .calls = &yarn_calls,
            .owner = yarn,
        });
}

static void tick(void *owner)
{
    struct yarn *yarn = owner;
    if (yarn->is_closing || yarn->has_failed)
        return;
    yarn_say_news(yarn);
    yarn_forgive(yarn);
}

static weft_err place(struct launch *launch)
{
    struct yarn *yarn = yarn_of(launch);
    weft_err err = open_master(yarn);
    if (!err)
        err = rest(yarn);
    if (!err)
        err = begin_staging(yarn);
    if (!err)
        err = yarn_ask_all(yarn);
    if (!err)
        yarn->tick = loop_timer_new(yarn->options.loop, YARN_TICK_MS, YARN_TICK_MS, tick, yarn);
    return err ? err : far_place(yarn->far);
}

static void get(struct launch *launch, size_t member, struct launch_place *place)
{
    const struct yarn *yarn = yarn_of(launch);
    far_get(yarn->far, member, place);
    const char *node = yarn->places[yarn->place_of[member]].node;
    if (node && *place->host)
        place->host = node;
}

static void describe(struct launch *launch, size_t member, struct buf *text)
{
    const struct yarn *yarn = yarn_of(launch);
    const size_t number = yarn->place_of[member];
    if (far_awaits(yarn->far, number))
        yarn_describe_place(&yarn->places[number], text);
    else
        far_describe(yarn->far, member, text);
}

// Members beside it may have asked for another container before.
static void move(struct launch *launch, size_t member)
{
    struct yarn *yarn = yarn_of(launch);
    const size_t number = yarn->place_of[member];
    const bool is_gone = !far_has_host(yarn->far, number);
    far_move_to(yarn->far, member, number, "YARN");
    if (is_gone)
        yarn_replace(&yarn->places[number]);
}

static weft_err start(struct launch *launch, size_t member, const struct launch_start *start)
{
    return far_start(yarn_of(launch)->far, member, start);
}

static void signal_member(struct launch *launch, size_t member, int number)
{
    far_signal(yarn_of(launch)->far, member, number);
}

static void pause_stream(struct launch *launch, size_t member, unsigned which, bool is_paused)
{
    far_pause(yarn_of(launch)->far, member, which, is_paused);
}

static void conclude(struct launch *launch, enum launch_verdict verdict, const char *text)
{
    static const enum yarn_final finals[] = {
        [LAUNCH_SUCCEEDED] = YARN_SUCCEEDED,
        [LAUNCH_FAILED] = YARN_FAILED,
        [LAUNCH_STOPPED] = YARN_ENDED_BY_USER,
    };
    struct yarn *yarn = yarn_of(launch);
    yarn->final = finals[verdict];
    free(yarn->final_text);
    yarn->final_text = text ? strdup(text) : NULL;
}

const struct launcher launch_yarn = {
    .scheme = "yarn",
    .form = "yarn://HOST[:PORT][/QUEUE]",
    .is_far = true,
    .is_metered = true,
    .check = yarn_site_check,
    .check_setting = yarn_settings_check,
    .open = open_yarn,
    .close = close_yarn,
    .place = place,
    .get = get,
    .describe = describe,
    .move = move,
    .start = start,
    .signal = signal_member,
    .pause = pause_stream,
    .conclude = conclude,
    .lost_rest_ms = FAR_LOST_REST_MS,
    .keeper = &yarn_keeper,
};
