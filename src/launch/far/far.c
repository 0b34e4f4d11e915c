// Hosts and members: who is placed where, what happens when a host has gone, and the end.
//
// Members go to hosts round robin, in the order of the roles; one that wants to be beside another goes where that is. Hosts
// without members are not connected to. They are for members whose host is lost.

#include "launch/far/far.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch/far/far_state.h"
#include "sys/file/file.h"
#include "sys/secure/secret.h"
#include "sys/time/clock.h"

enum { CLOSING_MS = 5000 };

// ---- Words -------------------------------------------------------------------------------------------------

void far_command_add(struct far_command *words, const char *word)
{
    char *copy = word ? strdup(word) : NULL;
    if (word ? copy && VEC_PUSH(&words->list, copy) : VEC_PUSH(&words->list, copy))
        return;
    free(copy);
    words->has_failed = true;
}

weft_err far_command_end(struct far_command *words)
{
    far_command_add(words, NULL);
    return words->has_failed ? err_no_memory("for a command") : WEFT_OK;
}

void far_command_fini(struct far_command *words)
{
    for (size_t i = 0; i < words->list.count; i++)
        free(words->list.items[i]);
    VEC_FINI(&words->list);
}

// ---- Opening -----------------------------------------------------------------------------------------------

void *far_owner(const struct launch *launch)
{
    return ((const struct far *)launch)->owner;
}

static weft_err load_token(struct far *far)
{
    struct secret secret;
    char text[SECRET_TEXT_BYTES] = "";
    if (secret_load(far->options.token_file, &secret)) {
        if (far->options.token_file)
            return WEFT_INVALID_ARGUMENT;
        err_clear();  // there is none: members that need one say so
    } else {
        secret_write(&secret, text);
        secret_clear(&secret);
    }
    far->token = strdup(text);
    return far->token ? WEFT_OK : err_no_memory("for the token");
}

static weft_err add_hosts(struct far *far, const char *const *hosts, size_t count)
{
    far->hosts = calloc(count, sizeof *far->hosts);
    far->members = calloc(far->options.count, sizeof *far->members);
    if (!far->hosts || !far->members)
        return err_no_memory("for the hosts");
    for (size_t i = 0; i < count; i++) {
        far->host_count++;
        far->hosts[i] = (struct far_host){
            .far = far,
            .name = strdup(hosts[i]),
            .fd = -1,
            .parser = {.payload_bytes_max = FAR_FRAME_BYTES_MAX},
        };
        if (!far->hosts[i].name)
            return err_no_memory("for the hosts");
    }
    return WEFT_OK;
}

static weft_err check_wants(const struct launch_options *options)
{
    for (size_t i = 0; i < options->count; i++)
        if (options->wants[i].host || options->wants[i].port)
            return err_set(
                WEFT_INVALID_ARGUMENT,
                "/%s has an address of its own, and on other machines addresses are those of its host\n"
                "  try: --role instead of --cluster",
                options->wants[i].name);
    return WEFT_OK;
}

weft_err far_open(struct launch **launch, const struct launcher *launcher,
                  const struct launch_options *options, const struct far_route *route, void *owner,
                  const char *const *hosts, size_t host_count)
{
    uint8_t chance[12];
    struct far *far = calloc(1, sizeof *far);
    if (!far)
        return err_no_memory("for the hosts");
    *far = (struct far){
        .base = {launcher}, .options = *options, .route = route, .owner = owner, .program_fd = -1};
    secret_random(chance, sizeof chance);
    int at = snprintf(far->mark, sizeof far->mark, "weft-");
    for (size_t i = 0; i < sizeof chance; i++)
        at += snprintf(far->mark + at, sizeof far->mark - (size_t)at, "%02x", chance[i]);
    weft_err err = check_wants(options);
    if (!err)
        err = add_hosts(far, hosts, host_count);
    if (!err)
        err = load_token(far);
    if (!err && !route->make_command)
        err = far_open_door(far);
    if (!err)
        err = far_find_program(far);
    if (!err) {
        far->tick = loop_timer_new(options->loop, FAR_TICK_MS, FAR_TICK_MS, far_tick, far);
        err = far->tick ? WEFT_OK : WEFT_RESOURCE_EXHAUSTED;
    }
    if (err) {
        struct err_kept kept;
        err_keep(&kept);
        far_close(&far->base);
        err_put_back(&kept);
    } else {
        *launch = &far->base;
    }
    return err;
}

// ---- Places ------------------------------------------------------------------------------------------------

static struct far_host *choose_host(struct far *far, size_t number)
{
    const size_t beside = far->options.wants[number].beside;
    struct far_host *best = NULL;
    size_t best_count = SIZE_MAX;
    if (beside > 0 && far->members[beside - 1].host &&
        far->members[beside - 1].host->state != FAR_GONE)
        return far->members[beside - 1].host;
    for (size_t i = 0; i < far->host_count; i++) {
        size_t count = 0;
        for (size_t k = 0; k < far->options.count; k++)
            count += far->members[k].host == &far->hosts[i];
        if (far->hosts[i].state != FAR_GONE && count < best_count) {
            best = &far->hosts[i];
            best_count = count;
        }
    }
    return best;
}

weft_err far_place(struct launch *launch)
{
    struct far *far = (struct far *)launch;
    far->unplaced = far->options.count;
    far->is_placing = true;
    for (size_t i = 0; i < far->options.count; i++) {
        far->members[i].port_count = far->options.wants[i].port_count;
        if (far->members[i].port_count == 0)
            far->members[i].port_count = 1;
        far->members[i].host = choose_host(far, i);
    }
    far_connect_more(far);
    return WEFT_OK;
}

void far_reserve(struct far_host *host)
{
    const struct far *far = host->far;
    for (size_t i = 0; i < far->options.count; i++) {
        struct far_member *member = &far->members[i];
        Weft__AgentReserve request = WEFT__AGENT_RESERVE__INIT;
        if (member->host != host || member->state != FAR_UNPLACED)
            continue;
        member->state = FAR_RESERVING;
        request.member = (uint32_t)i;
        request.count = member->port_count;
        far_say(host, WEFT__FRAME_TYPE__FRAME_AGENT_RESERVE, &request.base);
    }
}

void far_reserved(struct far_host *host, const Weft__AgentReserved *message)
{
    struct far *far = host->far;
    struct far_member *member = &far->members[message->member];
    const struct launch_calls *calls = far->options.calls;
    if (message->code) {
        far_lose(host, far_set_error(message->code, message->text), message->text);
        return;
    }
    for (size_t i = 0; i < message->n_ports && i < LAUNCH_PORTS_MAX; i++)
        member->ports[i] = (uint16_t)message->ports[i];
    member->state = FAR_PLACED;
    if (member->is_moving) {
        member->is_moving = false;
        calls->moved(far->options.owner, message->member);
    } else if (--far->unplaced == 0) {
        far->is_placing = false;
        calls->placed(far->options.owner);
    }
}

void far_get(struct launch *launch, size_t number, struct launch_place *place)
{
    const struct far *far = (const struct far *)launch;
    const struct far_member *member = &far->members[number];
    *place = (struct launch_place){.host = ""};
    if (!member->host || !member->host->address)
        return;
    place->host = member->host->name;
    place->address = member->host->address;
    place->directory = member->host->directory;
    place->interface = member->host->interface;
    memcpy(place->ports, member->ports, sizeof place->ports);
}

void far_describe(struct launch *launch, size_t number, struct buf *text)
{
    const struct far *far = (const struct far *)launch;
    const struct far_host *host = far->members[number].host;
    static const char *const states[] = {
        [FAR_IDLE] = "waits for its turn to be connected to",
        [FAR_RESTING] = "has closed the connection, and is tried again",
        [FAR_CONNECTING] = "does not answer",
        [FAR_COPYING] = "is being sent the program",
        [FAR_GREETING] = "has not started its agent",
        [FAR_READY] = "has not started it",
        [FAR_CUT] = "has closed the connection",
        [FAR_LEAVING] = "ends",
        [FAR_GONE] = "is lost",
    };
    if (!host)
        buf_append_text(text, "it has no host");
    else
        buf_format(text, "%s %s", host->name, states[host->state]);
}

static void move_to(struct far *far, size_t number, struct far_host *host)
{
    struct far_member *member = &far->members[number];
    member->host = host;
    member->state = FAR_UNPLACED;
    member->is_moving = true;
    if (!member->host) {
        member->is_moving = false;
        far->options.calls->not_moved(
            far->options.owner, number,
            err_set(WEFT_UNAVAILABLE, "there is no other host for it: all are lost"));
    } else if (member->host->state == FAR_READY) {
        far_reserve(member->host);
    } else {
        far_connect_more(far);
    }
}

void far_move(struct launch *launch, size_t number)
{
    struct far *far = (struct far *)launch;
    far->members[number].host = NULL;
    move_to(far, number, choose_host(far, number));
}

// ---- Hosts that come and go ----------------------------------------------------------------------------------

void far_name_host(struct launch *launch, size_t host, const char *name)
{
    struct far *far = (struct far *)launch;
    char *copy = strdup(name);
    if (!copy)
        return;
    free(far->hosts[host].name);
    far->hosts[host].name = copy;
}

bool far_has_host(const struct launch *launch, size_t host)
{
    return ((const struct far *)launch)->hosts[host].state != FAR_GONE;
}

void far_move_to(struct launch *launch, size_t member, size_t host, const char *name)
{
    struct far *far = (struct far *)launch;
    if (far->hosts[host].state == FAR_GONE) {
        far_renew_host(&far->hosts[host]);
        far_name_host(launch, host, name);
    }
    move_to(far, member, &far->hosts[host]);
}

// ---- Losses ------------------------------------------------------------------------------------------------

static void lose_member(struct far *far, size_t number, weft_err err, const char *why)
{
    struct far_member *member = &far->members[number];
    const struct launch_calls *calls = far->options.calls;
    const bool was_begun = member->state >= FAR_STARTING;
    const bool was_running = member->state == FAR_RUNNING;
    const struct launch_exit end = {.lost = why,
                                    .is_charged = member->host && member->host->is_charged,
                                    .lived_ns =
                                        was_running ? clock_now_ns() - member->started_ns : 0};
    member->state = FAR_UNPLACED;
    member->start.size = 0;
    if (was_begun)
        calls->ended(far->options.owner, number, &end);
    else if (member->is_moving) {
        member->is_moving = false;
        calls->not_moved(far->options.owner, number, err_set(err, "%s", why));
    }
}

// While places are sought, a host that is missing ends the run: it cannot have all of its members.
void far_lose_members(struct far_host *host, weft_err err)
{
    struct far *far = host->far;
    const struct launch_calls *calls = far->options.calls;
    if (far->is_closing)
        return;
    if (far->is_placing) {
        far->is_placing = false;
        calls->failed(far->options.owner,
                      err_set(err, "cannot start members on %s: %s", host->name, host->why));
        return;
    }
    calls->lost(far->options.owner, host->name, host->why ? host->why : "out of memory");
    for (size_t i = 0; i < far->options.count; i++)
        if (far->members[i].host == host)
            lose_member(far, i, err, host->why ? host->why : "out of memory");
}

// ---- The end -----------------------------------------------------------------------------------------------

static void closing_over(void *owner)
{
    struct far *far = owner;
    loop_stop(far->options.loop);
}

static bool has_connections(const struct far *far)
{
    for (size_t i = 0; i < far->host_count; i++)
        if (far_is_connected(&far->hosts[i]))
            return true;
    return false;
}

// Agents remove their files before they end: when this returns, nothing is left on hosts that can be reached.
static void dismiss_agents(struct far *far)
{
    struct loop *loop = far->options.loop;
    const uint64_t until_ns = clock_now_ns() + (uint64_t)CLOSING_MS * 1000000;
    far->is_closing = true;
    for (size_t i = 0; i < far->host_count; i++) {
        struct far_host *host = &far->hosts[i];
        if (host->state == FAR_READY || host->state == FAR_GREETING) {
            host->state = FAR_LEAVING;
            host->sending = 0;
            far_say(host, WEFT__FRAME_TYPE__FRAME_AGENT_STOP, NULL);
        } else {
            far_drop_connection(host);
        }
    }
    struct loop_timer *limit = loop_timer_new(loop, CLOSING_MS, 0, closing_over, far);
    while (has_connections(far) && clock_now_ns() < until_ns)
        loop_run(loop);
    loop_timer_free(limit);
}

static void free_host(struct far_host *host)
{
    far_drop_connection(host);
    loop_timer_free(host->rest);
    buf_fini(&host->greeting);
    buf_fini(&host->errors);
    VEC_FINI(&host->files);
    free(host->name);
    free(host->address);
    free(host->directory);
    free(host->interface);
    free(host->why);
}

void far_close(struct launch *launch)
{
    struct far *far = (struct far *)launch;
    if (far->hosts)
        dismiss_agents(far);
    for (size_t i = 0; i < far->host_count; i++)
        free_host(&far->hosts[i]);
    far_close_door(far);
    for (size_t i = 0; far->members && i < far->options.count; i++) {
        buf_fini(&far->members[i].start);
        VEC_FINI(&far->members[i].files);
    }
    for (size_t i = 0; i < far->files.count; i++) {
        free(far->files.items[i].path);
        free(far->files.items[i].target);
    }
    VEC_FINI(&far->files);
    for (size_t i = 0; i < far->retired.count; i++)
        free(far->retired.items[i]);
    VEC_FINI(&far->retired);
    loop_timer_free(far->tick);
    if (far->program_fd >= 0)
        file_close(far->program_fd);
    free(far->program);
    free(far->token);
    free(far->hosts);
    free(far->members);
    free(far);
}
