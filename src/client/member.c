// Joining and leaving a cluster. What a member hosts runs in a loop of its own thread; calls to others
// are made by the threads of the program (member_links.c).

#include "client/member.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/sized.h"
#include "base/text.h"
#include "client/connect.h"
#include "client/keeper.h"
#include "client/tool.h"
#include "sys/file/own.h"
#include "sys/log.h"
#include "sys/process/process.h"
#include "sys/thread/interrupt.h"
#include "sys/time/clock.h"

enum {
    GOODBYES_MS = 3000,  // for all of them
    FREE_MS = 1000,      // for all handles together, where a host does not answer
    STARTING_MS = 250,   // members that are started together are all there by then
    RETRY_MS = 20,
    GOODBYES_AGAIN_MS = 500,
    TELL_NEXT_MS = 10000,
    STDERR = 2
};

static const uint64_t ns_per_ms = 1000000;

// ---- Hosting --------------------------------------------------------------------------------------------

static void stop_hosting(void *owner)
{
    weft_cluster *cluster = owner;
    loop_stop(cluster->loop);
}

// A library does not end its program: the host in it has ended, calls to it fail, and so does
// weft_leave. A program that leaves then ends with a code by which it is started again.
static void stop_broken(void *owner, weft_err code)
{
    weft_cluster *cluster = owner;
    member_say(cluster, err_text());
    member_keep_error(cluster, code);
    net_listener_close(&cluster->listener);  // a client that comes shall not wait for an answer
    loop_stop(cluster->loop);
}

static void on_wake(void *owner)
{
    weft_cluster *cluster = owner;
    if (cluster->is_hurried)
        loop_stop(cluster->loop);
    else if (cluster->is_leaving)
        host_server_leave(cluster->server);
}

// A call that waits for others at the host here, at a full or empty queue for example.
static void tell_who_is_missing(weft_cluster *cluster)
{
    struct buf awaited = {0}, sentence = {0};
    if (!host_server_waits_alone(cluster->server))
        return;
    host_server_name_awaited(cluster->server, &awaited);
    if (awaited.size)
        buf_format(&sentence,
                   "a call to a resource of this member waits for others, and none has come: %s",
                   buf_text(&awaited));
    else
        buf_append_text(&sentence,
                        "a call to a resource of this member waits, and all other members "
                        "are gone: only another thread of this program could end that");
    member_say(cluster, buf_text(&sentence));
    buf_fini(&awaited);
    buf_fini(&sentence);
}

static void tell_who_stays(weft_cluster *cluster)
{
    struct buf sentence = {0};
    buf_append_text(&sentence, "done; waits for members that use its resources: ");
    host_server_name_users(cluster->server, &sentence);
    member_say(cluster, buf_text(&sentence));
    buf_fini(&sentence);
}

static void tell_for_whom_we_wait(void *owner)
{
    weft_cluster *cluster = owner;
    if (cluster->is_leaving)
        tell_who_stays(cluster);
    else
        tell_who_is_missing(cluster);
}

static void run_host(void *owner)
{
    weft_cluster *cluster = owner;
    loop_run(cluster->loop);
    mutex_lock(&cluster->lock);
    cluster->has_stopped = true;
    condition_broadcast(&cluster->stopped);
    mutex_unlock(&cluster->lock);
}

static weft_err name_expected(weft_cluster *cluster)
{
    for (size_t i = 0; i < cluster->spec.roles.count; i++) {
        const struct cluster_role *role = &cluster->spec.roles.items[i];
        for (size_t j = 0; j < role->members.count; j++) {
            struct buf name = {0};
            member_path_append(&name, role->name, role->members.items[j].index);
            char *text = strdup(buf_text(&name));
            buf_fini(&name);
            if (!text || !VEC_PUSH(&cluster->expected, text))
                return err_no_memory("for the names of members");
            if (strcmp(text, cluster->me) == 0)
                free(cluster->expected.items[--cluster->expected.count]);
        }
    }
    return VEC_PUSH(&cluster->expected, NULL) ? WEFT_OK : err_no_memory("for the names of members");
}

static weft_err read_time(const char *variable, uint32_t *milliseconds)
{
    const char *text = getenv(variable);
    if (!text || !*text || text_read_duration(text, milliseconds))
        return WEFT_OK;
    return err_set(WEFT_INVALID_ARGUMENT, "%s is '%s', not a time such as 90s", variable, text);
}

// Settings of a host from the environment.
static weft_err read_host_settings(struct host_server_options *options)
{
    const char *bytes = getenv("WEFT_JOURNAL_REWRITE");
    weft_err err = read_time("WEFT_EXPECT", &options->expect_ms);
    if (!err)
        err = read_time("WEFT_SESSION_TTL", &options->session_ttl_ms);
    if (!err && bytes && *bytes && !text_read_size(bytes, &options->rewrite_bytes))
        err = err_set(WEFT_INVALID_ARGUMENT, "WEFT_JOURNAL_REWRITE is '%s', not a size such as 64M",
                      bytes);
    return err;
}

static weft_err make_server(weft_cluster *cluster, const char *journal)
{
    struct host_server_options options = {
        .member = cluster->me,
        .listener = &cluster->listener,
        .token = &cluster->token,
        .journal = journal,
        .expected = (const char *const *)cluster->expected.items,
        .say = member_say,
        .idle = stop_hosting,
        .broken = stop_broken,
        .owner = cluster,
    };
    weft_err err = read_host_settings(&options);
    if (err)
        return err;
    cluster->loop = loop_new(on_wake, cluster);
    if (!cluster->loop)
        return WEFT_RESOURCE_EXHAUSTED;
    err = host_server_new(&cluster->server, cluster->loop, &options);
    cluster->local = err ? NULL : host_local_new(cluster->server);
    if (!err && !cluster->local)
        err = WEFT_RESOURCE_EXHAUSTED;
    if (!err &&
        !loop_timer_new(cluster->loop, TELL_NEXT_MS, TELL_NEXT_MS, tell_for_whom_we_wait, cluster))
        err = WEFT_RESOURCE_EXHAUSTED;
    return err ? err : thread_start(&cluster->thread, run_host, cluster, 0);
}

static void drop_server(weft_cluster *cluster)
{
    host_local_free(cluster->local);
    host_server_free(cluster->server);
    loop_free(cluster->loop);
    cluster->local = NULL;
    cluster->server = NULL;
    cluster->loop = NULL;
    net_listener_close(&cluster->listener);
}

// The journal of this member inside the directory that all members of the run may share.
static weft_err name_journal(const weft_cluster *cluster, const char *directory, struct buf *path)
{
    buf_format(path, "%s/%s-%u", directory, cluster->spec.my_role, cluster->spec.my_index);
    return path->has_failed ? err_no_memory("for a path") : WEFT_OK;
}

static weft_err start_hosting(weft_cluster *cluster, const char *directory)
{
    const struct cluster_member *me =
        cluster_spec_find_member(&cluster->spec, cluster->spec.my_role, cluster->spec.my_index);
    if (!me || !me->host)
        return WEFT_OK;
    struct net_address address = {.port = me->port};
    struct buf journal = {0};
    snprintf(address.host, sizeof address.host, "%s", me->host);
    weft_err err = net_listen(&address, &cluster->listener);
    if (!err)
        err = name_expected(cluster);
    if (!err && directory && *directory)
        err = name_journal(cluster, directory, &journal);
    if (!err && journal.size)
        err = own_make_named_directory(directory);
    if (!err)
        err = make_server(cluster, journal.size ? buf_text(&journal) : NULL);
    buf_fini(&journal);
    if (err)
        drop_server(cluster);
    return err;
}

// ---- Joining --------------------------------------------------------------------------------------------

static weft_err read_spec(weft_cluster *cluster, const weft_join_options *options)
{
    const char *text = options->config ? options->config : getenv("TF_CONFIG");
    const char *source = options->config ? "the cluster's description" : "TF_CONFIG";
    if (!text || !*text)
        return err_set(WEFT_FAILED_PRECONDITION,
                       "%s is not set: this program does not know its cluster\n  try: weft cluster "
                       "run --role ROLE=N PROGRAM, or . config_ROLE_0.sh from weft cluster config",
                       source);
    weft_err err = cluster_spec_read_tf_config(&cluster->spec, weft_text(text), source);
    if (!err && !cluster->spec.my_role)
        err = err_set(WEFT_INVALID_ARGUMENT, "%s does not name this member: it has no \"task\"",
                      source);
    if (err)
        return err;
    struct buf name = {0};
    member_path_append(&name, cluster->spec.my_role, cluster->spec.my_index);
    if (name.size >= sizeof cluster->me)
        err = err_set(WEFT_INVALID_ARGUMENT, "the role %s has too long a name",
                      cluster->spec.my_role);
    else
        snprintf(cluster->me, sizeof cluster->me, "%s", buf_text(&name));
    buf_fini(&name);
    return err;
}

weft_cluster *member_new(void)
{
    weft_cluster *cluster = calloc(1, sizeof *cluster);
    if (!cluster) {
        err_no_memory("for a cluster");
        return NULL;
    }
    secret_random(&cluster->incarnation, sizeof cluster->incarnation);
    keeper_init(&cluster->keeper);
    mutex_init(&cluster->lock);
    condition_init(&cluster->stopped);
    return cluster;
}

void member_free(weft_cluster *cluster)
{
    for (size_t i = 0; i < cluster->expected.count; i++)
        free(cluster->expected.items[i]);
    VEC_FINI(&cluster->expected);
    VEC_FINI(&cluster->links);
    VEC_FINI(&cluster->remotes);
    cluster_spec_fini(&cluster->spec);
    secret_clear(&cluster->token);
    keeper_fini(&cluster->keeper);
    condition_fini(&cluster->stopped);
    mutex_fini(&cluster->lock);
    free(cluster);
}

static weft_err join(weft_cluster *cluster, const weft_join_options *options)
{
    cluster->patience_ms = options->at ? TOOL_PATIENCE_MS : MEMBER_PATIENCE_MS;
    weft_err err = read_time("WEFT_PATIENCE", &cluster->patience_ms);
    if (options->patience_ms)
        cluster->patience_ms = options->patience_ms;
    cluster->joined_ns = clock_now_ns();
    if (options->at) {
        cluster->patience_again_ms =
            cluster->patience_ms > MEMBER_PATIENCE_MS ? cluster->patience_ms : MEMBER_PATIENCE_MS;
        return err ? err : connect_open(cluster, options);
    }
    if (!err)
        err = read_spec(cluster, options);
    if (!err)
        err = secret_load(options->token_file, &cluster->token);
    if (!err)
        err = start_hosting(cluster, options->journal ? options->journal : getenv("WEFT_JOURNAL"));
    return err;
}

weft_cluster *weft_join_sized(const weft_join_options *options, size_t options_size)
{
    weft_join_options all;
    // Else what the program prints might get into a connection, or into the journal.
    process_open_standard_descriptors();
    weft_cluster *cluster = member_new();
    if (!cluster) {
        no_handle_keep(WEFT_RESOURCE_EXHAUSTED);
        return NULL;
    }
    weft_err err = sized_take(&all, sizeof all, options, options_size, "weft_join_options");
    err = no_handle_keep(err ? err : join(cluster, &all));
    if (!err) {
        cluster->is_looked_after = true;
        return cluster;
    }
    member_free(cluster);
    return NULL;
}

// ---- Leaving ----------------------------------------------------------------------------------------------

// False: it is not there at the moment.
static bool say_goodbye(weft_cluster *cluster, const char *name, uint64_t deadline_ns)
{
    struct member_path path;
    if (member_path_parse(name, &path))
        return true;
    const struct cluster_member *member =
        cluster_spec_find_member(&cluster->spec, path.role, path.index);
    struct peer *peer = member && member->host ? member_make_peer(cluster, name, member, 0) : NULL;
    struct peer_call call = {0};
    const struct peer_ask ask = {.op = CALL_LEAVE};
    const bool is_gone = peer && peer_ask(peer, &ask, &call, deadline_ns);
    err_clear();
    peer_call_fini(&call);
    peer_free(peer, false);
    return !is_gone;
}

// Those we never spoke to may be waiting for us: they need not. A member that was notified leaves the list; true: all.
static bool say_goodbye_to_strangers(weft_cluster *cluster)
{
    const uint64_t deadline_ns = clock_now_ns() + GOODBYES_MS * ns_per_ms;
    char **names = cluster->expected.items;
    size_t left = 0;
    for (size_t i = 0; i + 1 < cluster->expected.count; i++) {
        if (member_has_spoken_to(cluster, names[i]) ||
            (clock_now_ns() < deadline_ns && say_goodbye(cluster, names[i], deadline_ns)))
            free(names[i]);
        else
            names[left++] = names[i];
    }
    if (cluster->expected.count)
        names[left] = NULL;
    cluster->expected.count = left + (cluster->expected.count > 0);
    return left == 0;
}

// Waits for the end of the host here. During that time members that were absent may come: a host that
// starts when we are done would wait for us.
static void stay(weft_cluster *cluster, bool have_all_been_told)
{
    uint64_t again_ns = clock_now_ns() + GOODBYES_AGAIN_MS * ns_per_ms;
    mutex_lock(&cluster->lock);
    while (!cluster->has_stopped) {
        if (have_all_been_told)
            again_ns = UINT64_MAX;
        condition_wait_until(&cluster->stopped, &cluster->lock, interrupt_slice(again_ns));
        if (!cluster->is_hurried && interrupt_ends(UINT64_MAX)) {
            cluster->is_hurried = true;
            loop_wake(cluster->loop);
        }
        if (cluster->has_stopped || cluster->is_hurried || clock_now_ns() < again_ns)
            continue;
        mutex_unlock(&cluster->lock);
        have_all_been_told = say_goodbye_to_strangers(cluster);
        again_ns = clock_now_ns() + GOODBYES_AGAIN_MS * ns_per_ms;
        mutex_lock(&cluster->lock);
    }
    mutex_unlock(&cluster->lock);
    thread_join(&cluster->thread);
}

static void leave(weft_cluster *cluster)
{
    cluster->leave_by_ns = clock_now_ns() + FREE_MS * ns_per_ms;
    remote_free_all(cluster);
    keeper_stop(cluster);
    bool have_all_been_told = say_goodbye_to_strangers(cluster);
    // In the first moments of a cluster, who is not there has not come yet.
    const uint64_t started_ns = cluster->joined_ns + STARTING_MS * ns_per_ms;
    while (!have_all_been_told && clock_now_ns() < started_ns) {
        clock_sleep_ms(RETRY_MS);
        have_all_been_told = say_goodbye_to_strangers(cluster);
    }
    for (size_t i = 0; i < cluster->links.count; i++) {
        member_keep_error(cluster, peer_leave(cluster->links.items[i]->peer));
        peer_free(cluster->links.items[i]->peer, false);
        free(cluster->links.items[i]);
    }
    cluster->links.count = 0;
    if (cluster->server) {
        cluster->is_leaving = true;
        loop_wake(cluster->loop);
        stay(cluster, have_all_been_told);
        drop_server(cluster);
    }
}

int weft_leave(weft_cluster *cluster)
{
    if (!cluster) {
        const weft_err why = no_handle_reason();
        struct buf line = {0};
        buf_format(&line, "weft: %s\n", err_text());
        log_lines(STDERR, line.data, line.size);
        buf_fini(&line);
        return err_exit_code(why);
    }
    leave(cluster);
    const weft_err err = cluster->first_error;
    if (err)
        member_say(cluster, cluster->first_sentence);
    member_free(cluster);
    return err ? err_exit_code(err) : 0;
}
