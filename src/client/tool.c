// Tools: finding the host, and leaving it without a trace.

#include "client/tool.h"

#include "client/keeper.h"
#include "client/remote/ops.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/args.h"
#include "base/bytes.h"
#include "sys/time/clock.h"
#include "wire/ops/host.h"

enum { GOODBYE_MS = 1000, NAMES_MAX = 64 };

static const uint64_t ns_per_ms = 1000000;

// ---- The token of the command line --------------------------------------------------------------------------

static struct {
    struct secret token;
    weft_err error;
    bool is_given;
} hidden;

// Takes "#TOKEN" off an address and keeps it; the text is overwritten.
static void cut_token(char *address)
{
    char *mark = strchr(address, '#');
    if (!mark)
        return;
    hidden.is_given = true;
    hidden.error = secret_read(mark + 1, &hidden.token);
    const size_t size = strlen(mark);
    volatile char *at = mark;
    for (size_t i = 0; i < size; i++)
        at[i] = 0;
}

void tool_hide_tokens(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--") == 0)
            return;
        if (strncmp(argv[i], "--at=", 5) == 0)
            cut_token(argv[i] + 5);
        else if (strcmp(argv[i], "--at") == 0 && i + 1 < argc)
            cut_token(argv[++i]);
    }
}

static weft_err load_token(const char *token_file, weft_cluster *cluster)
{
    cluster->is_token_given = token_file || hidden.is_given;
    if (token_file || !hidden.is_given)
        return secret_load(token_file, &cluster->token);
    if (hidden.error)
        return err_set(hidden.error, "the text after # in --at is not a token\n"
                                     "  a token is 32 to 128 hexadecimal digits, as weft host "
                                     "prints it");
    cluster->token = hidden.token;
    return WEFT_OK;
}

// ---- Opening --------------------------------------------------------------------------------------------------

static weft_err read_environment_address(weft_cluster *cluster, const char *text)
{
    char *copy = strdup(text);
    if (!copy)
        return err_no_memory("for an address");
    if (!hidden.is_given)
        cut_token(copy);
    cluster->has_at = true;
    const weft_err err = net_read_address(copy, ADDRESS_PORT_OF_HOSTS, &cluster->at);
    free(copy);
    return err_wrap(err, "WEFT_AT");
}

static weft_err find_hosts(weft_cluster *cluster, const char *at)
{
    const char *from_environment = getenv("WEFT_AT");
    const char *config = getenv("TF_CONFIG");
    if (at) {
        cluster->has_at = true;
        return err_wrap(net_read_address(at, ADDRESS_PORT_OF_HOSTS, &cluster->at), "--at");
    }
    if (from_environment && *from_environment)
        return read_environment_address(cluster, from_environment);
    if (config && *config)
        return cluster_spec_read_tf_config(&cluster->spec, weft_text(config), "TF_CONFIG");
    cluster->has_at = cluster->is_at_assumed = true;
    return net_read_address(TOOL_HOST_DEFAULT, ADDRESS_PORT_OF_HOSTS, &cluster->at);
}

weft_err tool_open(const struct tool_options *options, weft_cluster **made)
{
    weft_cluster *cluster = member_new();
    if (!cluster)
        return WEFT_RESOURCE_EXHAUSTED;
    cluster->patience_ms = options->patience_ms ? options->patience_ms : TOOL_PATIENCE_MS;
    cluster->patience_again_ms =
        cluster->patience_ms > MEMBER_PATIENCE_MS ? cluster->patience_ms : MEMBER_PATIENCE_MS;
    weft_err err = find_hosts(cluster, options->at);
    if (!err)
        err = load_token(options->token_file, cluster);
    if (err)
        member_free(cluster);
    else
        *made = cluster;
    return err;
}

void tool_close(weft_cluster *cluster)
{
    if (!cluster)
        return;
    keeper_stop(cluster);
    for (size_t i = 0; i < cluster->links.count; i++) {
        peer_free(cluster->links.items[i]->peer, true);
        free(cluster->links.items[i]);
    }
    member_free(cluster);
}

void tool_say_goodbye(weft_cluster *cluster)
{
    mutex_lock(&cluster->lock);
    for (size_t i = 0; i < cluster->links.count; i++) {
        struct peer *peer = cluster->links.items[i]->peer;
        struct peer_call call = {0};
        const struct peer_ask ask = {.op = CALL_LEAVE};
        if (peer_has_spoken(peer) &&
            peer_ask(peer, &ask, &call, clock_now_ns() + GOODBYE_MS * ns_per_ms))
            err_clear();
        peer_call_fini(&call);
    }
    mutex_unlock(&cluster->lock);
}

weft_err tool_explain(weft_cluster *cluster, weft_err err)
{
    char sentence[ERR_TEXT_BYTES_MAX], address[NET_ADDRESS_TEXT_BYTES];
    if (err != WEFT_UNAVAILABLE || !cluster || !cluster->has_at || strchr(err_text(), '\n'))
        return err;
    snprintf(sentence, sizeof sentence, "%s", err_text());
    net_write_address(&cluster->at, address);
    if (cluster->is_at_assumed)
        return err_set(
            err,
            "%s\n  try: weft host, in another shell; or name a host by --at HOST:PORT or "
            "WEFT_AT, or a cluster by TF_CONFIG",
            sentence);
    return err_set(
        err, "%s\n  try: weft host --listen %s there, or another --at; --wait 5m waits longer",
        sentence, address);
}

// ---- Lists of resources ----------------------------------------------------------------------------------

const char *tool_kind_name(uint8_t kind)
{
    static const char *const names[] = {"?", "queue", "var", "kv", "barrier"};
    return kind < sizeof names / sizeof *names ? names[kind] : names[0];
}

void tool_list_fini(struct tool_list *list)
{
    for (size_t i = 0; i < list->items.count; i++)
        free(list->items.items[i].path);
    VEC_FINI(&list->items);
}

// How this tool names a resource: by its member, or at an address by its name, or by a path whose role
// is its container.
static char *name_resource(const char *member, weft_bytes container, weft_bytes name)
{
    struct buf path = {0};
    if (*member)
        buf_format(&path, "%s/", member);
    else if (!bytes_equal(container, weft_text("localhost")))
        buf_format(&path, "/%.*s/0/", (int)container.size, container.data);
    buf_append(&path, name.data, name.size);
    char *text = path.has_failed ? NULL : strdup(buf_text(&path));
    buf_fini(&path);
    return text;
}

static weft_err add_resources(struct tool_list *list, const char *member, weft_bytes answer)
{
    struct ops_listed listed;
    while (answer.size) {
        if (!ops_listed_next(&answer, &listed))
            return err_set(WEFT_DATA_LOSS, "the answer is cut");
        const struct tool_resource one = {listed.kind,
                                          name_resource(member, listed.container, listed.name)};
        if (!one.path || !VEC_PUSH(&list->items, one)) {
            free(one.path);
            return err_no_memory("for names");
        }
    }
    return WEFT_OK;
}

static weft_err list_peer(struct peer *peer, const char *member, struct tool_list *list)
{
    struct peer_call call = {0};
    const struct peer_ask ask = {.op = CALL_LIST};
    weft_err err = peer_ask(peer, &ask, &call, UINT64_MAX);
    if (!err)
        err = add_resources(list, member, buf_bytes(&call.answer));
    peer_call_fini(&call);
    return err;
}

static weft_err list_member(weft_cluster *cluster, const char *role, uint32_t index,
                            struct tool_list *list)
{
    struct buf name = {0};
    struct peer *peer;
    member_path_append(&name, role, index);
    weft_err err = member_find_peer(cluster, role, index, &peer);
    if (!err)
        err = list_peer(peer, buf_text(&name), list);
    buf_fini(&name);
    return err;
}

static weft_err list_members(weft_cluster *cluster, struct tool_list *list)
{
    weft_err err = WEFT_OK;
    for (size_t i = 0; i < cluster->spec.roles.count && !err; i++) {
        const struct cluster_role *role = &cluster->spec.roles.items[i];
        for (size_t j = 0; j < role->members.count && !err; j++)
            if (role->members.items[j].host)
                err = list_member(cluster, role->name, role->members.items[j].index, list);
    }
    return err;
}

static int compare(const void *a, const void *b)
{
    const struct tool_resource *x = a, *y = b;
    const int order = strcmp(x->path, y->path);
    return order ? order : x->kind - y->kind;
}

weft_err tool_list(weft_cluster *cluster, const char *member, struct tool_list *list)
{
    struct member_path path;
    struct peer *peer;
    weft_err err;
    if (cluster->has_at && member) {
        err = err_set(WEFT_INVALID_ARGUMENT,
                      "%s is a member of a cluster, and only TF_CONFIG names one, without --at and "
                      "WEFT_AT\n  try: ls without a member",
                      member);
    } else if (cluster->has_at) {
        const struct cluster_member at = {.port = cluster->at.port, .host = cluster->at.host};
        err = member_find_peer_at(cluster, "", &at, &peer);
        if (!err)
            err = list_peer(peer, "", list);
    } else if (member) {
        err = member_path_parse(member, &path);
        if (!err)
            err = list_member(cluster, path.role, path.index, list);
    } else {
        err = list_members(cluster, list);
    }
    if (list->items.count)
        qsort(list->items.items, list->items.count, sizeof *list->items.items, compare);
    return err;
}

// ---- Whether it is there ---------------------------------------------------------------------------------

// One of that kind whose name is close; NULL: none is.
static const char *guess_path(const struct remote *remote, const struct tool_list *list)
{
    const char *names[NAMES_MAX + 1];
    size_t count = 0;
    for (size_t i = 0; i < list->items.count && count < NAMES_MAX; i++)
        if (list->items.items[i].kind == remote->kind &&
            strcmp(list->items.items[i].path, remote->path) != 0)
            names[count++] = list->items.items[i].path;
    names[count] = NULL;
    return args_guess(remote->path, names);
}

static weft_err refuse_missing(const struct remote *remote, const struct tool_list *list)
{
    const char *kind = remote->kind == CALL_KIND_VAR  ? "variable"
                       : remote->kind == CALL_KIND_KV ? "map"
                                                      : tool_kind_name((uint8_t)remote->kind);
    const char *guess = guess_path(remote, list);
    if (guess)
        return err_set(WEFT_NOT_FOUND, "there is no %s %s\n  did you mean: %s", kind, remote->path,
                       guess);
    return err_set(WEFT_NOT_FOUND, "there is no %s %s", kind, remote->path);
}

weft_err tool_check(const struct remote *remote)
{
    struct tool_list list = {0};
    struct peer_call call = {0};
    const struct peer_ask ask = {.op = CALL_LIST};
    weft_err err = peer_ask(remote->peer, &ask, &call, UINT64_MAX);
    const weft_bytes wanted = weft_text(remote->container);
    weft_bytes rest = buf_bytes(&call.answer);
    struct ops_listed listed;
    bool is_found = false;
    while (!err && rest.size && !is_found && ops_listed_next(&rest, &listed)) {
        // A member's own container is its role: whose name it is we need not know.
        is_found = listed.kind == remote->kind &&
                   bytes_equal(listed.name, weft_text(remote->name)) &&
                   (wanted.size == 0 || bytes_equal(listed.container, wanted));
    }
    if (!err && !is_found)
        err = add_resources(&list, "", buf_bytes(&call.answer));
    if (!err && !is_found)
        err = refuse_missing(remote, &list);
    tool_list_fini(&list);
    peer_call_fini(&call);
    return err;
}

void tool_tell_waiting(struct remote *queue)
{
    struct tool_list list = {0};
    weft_queue_state state;
    weft_err err = remote_queue_state(queue, &state);
    if (!err && (state.pushed_count || state.is_closed))
        return;
    if (!err)
        err = list_peer(queue->peer, "", &list);
    const char *guess = err ? NULL : guess_path(queue, &list);
    if (err)
        err_clear();  // the take itself meets it
    else if (guess)
        fprintf(stderr,
                "weft: %s: nothing was pushed to this queue so far: waiting\n  did you mean: %s\n",
                queue->path, guess);
    else
        fprintf(stderr,
                "weft: %s: nothing was pushed to this queue so far: waiting\n"
                "  try: weft queue push %s ITEM, or weft queue ls, which lists all queues\n",
                queue->path, queue->path);
    tool_list_fini(&list);
}
