// The members of a run as processes of this machine.
//
// Each readable member gets one read per turn of the loop: one that floods does not keep the others waiting. A stream
// that is paused is not watched, so its member waits in its turn.

#include "launch/local/local.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "sys/net/ports.h"
#include "sys/time/clock.h"

enum {
    READ_BYTES = 64 << 10,
    // The most that two pipes hold (sys/process/nursery.c): a member cannot have left more.
    LEFTOVER_READS_MAX = 2 * (1 << 20) / READ_BYTES,
};

// Unambiguous where a name may mean an IPv6 address to one program and an IPv4 address to another.
#define HERE "127.0.0.1"
#define HERE_INTERFACE "lo"

// One of a member's two outputs.
struct stream {
    struct member *member;
    unsigned which;  // CHILD_OUT or CHILD_ERR
    bool is_open, is_paused;
    struct loop_watch *readable;  // NULL while closed or paused
};

struct member {
    struct local *local;
    size_t number;
    uint16_t ports[LAUNCH_PORTS_MAX];
    struct port_hold holds[LAUNCH_PORTS_MAX];  // until it starts
    struct child child;                        // .nursery NULL: it does not run
    struct stream streams[2];
    struct loop_watch *ended;
    uint64_t started_ns;
};

struct local {
    struct launch base;
    struct launch_options options;
    struct member *members;
};

static weft_err check(const char *url)
{
    if (strcmp(url, "local:") == 0)
        return WEFT_OK;
    return err_set(WEFT_INVALID_ARGUMENT,
                   "--on %s: this machine has only one form\n  try: --on local:", url);
}

static void close_local(struct launch *launch)
{
    struct local *local = (struct local *)launch;
    for (size_t i = 0; local->members && i < local->options.count; i++) {
        struct member *member = &local->members[i];
        child_end(&member->child);
        loop_watch_free(member->ended);
        for (size_t k = 0; k < 2; k++)
            loop_watch_free(member->streams[k].readable);
        for (size_t k = 0; k < LAUNCH_PORTS_MAX; k++)
            port_release(&member->holds[k]);
    }
    free(local->members);
    free(local);
}

static weft_err open_local(struct launch **launch, const struct launch_options *options)
{
    struct local *local = calloc(1, sizeof *local);
    if (!local)
        return err_no_memory("for the members");
    *local = (struct local){.base = {&launch_local}, .options = *options};
    local->members = calloc(options->count, sizeof *local->members);
    for (size_t i = 0; local->members && i < options->count; i++) {
        struct member *member = &local->members[i];
        *member = (struct member){.local = local, .number = i};
        for (size_t k = 0; k < LAUNCH_PORTS_MAX; k++)
            member->holds[k].fd = -1;
    }
    if (!local->members) {
        free(local);
        return err_no_memory("for the members");
    }
    *launch = &local->base;
    return WEFT_OK;
}

// ---- Places ----------------------------------------------------------------------------------------------

// Asking for a host's port 0 shows whether the host is this machine.
static weft_err hold_ports(struct member *member, const struct launch_want *want)
{
    const uint32_t count = want->port_count ? want->port_count : 1;
    ASSERT(count <= LAUNCH_PORTS_MAX);
    member->ports[0] = want->port;
    weft_err err = want->host ? port_hold(&member->holds[0], want->host, want->port) : WEFT_OK;
    for (uint32_t i = 0; !err && i < count; i++) {
        if (i == 0 && want->port != 0)
            continue;
        port_release(&member->holds[i]);
        err = port_choose(&member->holds[i], &member->ports[i]);
    }
    return err_wrap(err, "/%s", want->name);
}

static weft_err place(struct launch *launch)
{
    struct local *local = (struct local *)launch;
    for (size_t i = 0; i < local->options.count; i++) {
        const weft_err err = hold_ports(&local->members[i], &local->options.wants[i]);
        if (err)
            return err;
    }
    local->options.calls->placed(local->options.owner);
    return WEFT_OK;
}

static void get(struct launch *launch, size_t number, struct launch_place *place)
{
    const struct local *local = (const struct local *)launch;
    const char *host = local->options.wants[number].host;
    *place = (struct launch_place){
        .host = "", .address = host ? host : HERE, .interface = host ? NULL : HERE_INTERFACE};
    memcpy(place->ports, local->members[number].ports, sizeof place->ports);
}

static void describe(struct launch *launch, size_t number, struct buf *text)
{
    (void)launch, (void)number;
    buf_append_text(text, "it has not been started");
}

// This machine is never lost.
static void move(struct launch *launch, size_t number)
{
    const struct local *local = (const struct local *)launch;
    local->options.calls->moved(local->options.owner, number);
}

// ---- Output ----------------------------------------------------------------------------------------------

static void watch_stream(struct stream *stream);

// One read. False: there is nothing now, or nothing any more.
static bool read_once(struct stream *stream)
{
    static char block[READ_BYTES];  // there is one thread, and nothing stays here
    struct member *member = stream->member;
    const struct launch_options *options = &member->local->options;
    size_t got;
    bool has_ended;
    if (child_read(&member->child, stream->which, block, sizeof block, &got, &has_ended)) {
        err_clear();
        has_ended = true;
    }
    if (got > 0)
        options->calls->output(options->owner, member->number, stream->which,
                               (weft_bytes){block, got});
    if (has_ended) {
        stream->is_open = false;
        watch_stream(stream);
    }
    return got > 0;
}

static void read_stream(void *owner)
{
    read_once(owner);
}

static void watch_stream(struct stream *stream)
{
    const bool is_wanted = stream->is_open && !stream->is_paused;
    if (is_wanted == (stream->readable != NULL))
        return;
    if (!is_wanted) {
        loop_watch_free(stream->readable);
        stream->readable = NULL;
        return;
    }
    const struct child *child = &stream->member->child;
    const int fd = stream->which == CHILD_OUT ? child->out : child->err;
    stream->readable = loop_watch_new(stream->member->local->options.loop, fd, read_stream, stream);
}

static void begin_streams(struct member *member)
{
    for (unsigned i = 0; i < 2; i++) {
        struct stream *stream = &member->streams[i];
        stream->member = member;
        stream->which = i == 0 ? CHILD_OUT : CHILD_ERR;
        stream->is_open = true;
        stream->is_paused = false;
        watch_stream(stream);
    }
}

// The member has ended, and so has the rest of its session: the pipes hold all there is.
static void end_streams(struct member *member)
{
    for (unsigned i = 0; i < 2; i++) {
        struct stream *stream = &member->streams[i];
        for (int k = 0; k < LEFTOVER_READS_MAX && stream->is_open && read_once(stream); k++)
            continue;
        stream->is_open = false;
        watch_stream(stream);
    }
}

static void pause_stream(struct launch *launch, size_t number, unsigned which, bool is_paused)
{
    struct local *local = (struct local *)launch;
    struct stream *stream = &local->members[number].streams[which == CHILD_OUT ? 0 : 1];
    stream->is_paused = is_paused;
    if (stream->is_open)
        watch_stream(stream);
}

// ---- Starts and ends -------------------------------------------------------------------------------------

static void member_ended(void *owner)
{
    struct member *member = owner;
    const struct launch_options *options = &member->local->options;
    struct launch_exit exit = {0};
    if (!child_wait(&member->child, 0, &exit.process))
        return;
    loop_watch_free(member->ended);
    member->ended = NULL;
    exit.lived_ns = clock_now_ns() - member->started_ns;
    end_streams(member);
    child_end(&member->child);
    options->calls->ended(options->owner, member->number, &exit);
}

static bool is_replaced(const char *variable, const char *const *by)
{
    const size_t length = strcspn(variable, "=") + 1;
    for (size_t i = 0; by[i]; i++)
        if (strncmp(by[i], variable, length) == 0)
            return true;
    return false;
}

// Our environment with the run's variables in place of ours; the strings are borrowed. NULL: no memory.
static const char **make_environment(const char *const *set)
{
    size_t count = 0, kept = 0, set_count = 0;
    while (environ[count])
        count++;
    while (set[set_count])
        set_count++;
    const char **list = calloc(count + set_count + 1, sizeof *list);
    if (!list)
        return NULL;
    for (size_t i = 0; i < count; i++)
        if (!is_replaced(environ[i], set))
            list[kept++] = environ[i];
    for (size_t i = 0; i < set_count; i++)
        list[kept++] = set[i];
    return list;
}

// Servers of TensorFlow bind with SO_REUSEPORT where this says so.
static bool shares_port(const char *const *environment)
{
    static const char name[] = "TF_GRPC_REUSE_PORT=";
    for (size_t i = 0; environment[i]; i++) {
        const char *value = environment[i] + sizeof name - 1;
        if (strncmp(environment[i], name, sizeof name - 1) == 0)
            return strcmp(value, "1") == 0 || strcasecmp(value, "true") == 0;
    }
    return false;
}

// The first one is the member's address. It can stay ours beside the member, also while the member is started again; the others
// are for programs of whom nothing is known.
static void release_ports(struct member *member, const char *const *environment)
{
    const bool is_shared = shares_port(environment) && port_share(&member->holds[0]);
    for (size_t k = is_shared; k < LAUNCH_PORTS_MAX; k++)
        port_release(&member->holds[k]);
}

static weft_err start_process(struct member *member, const struct launch_start *start,
                              const char *const *environment)
{
    // The script is a text of its own and the program its arguments, so that no word is quoted again.
    const char *shell[] = {"sh", "-ec", NULL, "sh"};
    struct buf script = {0};
    const char **arguments = NULL;
    struct nursery_spec spec = {
        .arguments = start->arguments,
        .environment = environment,
        .directory = start->directory,
        .input = start->input,
    };
    if (start->script) {
        size_t count = 0;
        while (start->arguments[count])
            count++;
        buf_format(&script, "%s\nexec \"$@\"", start->script);
        arguments = calloc(count + 5, sizeof *arguments);
        if (!arguments || script.has_failed) {
            free(arguments);
            buf_fini(&script);
            return err_no_memory("for a script");
        }
        shell[2] = buf_text(&script);
        memcpy(arguments, shell, sizeof shell);
        memcpy(arguments + 4, start->arguments, count * sizeof *arguments);
        spec.arguments = arguments;
    }
    release_ports(member, environment);
    const weft_err err = nursery_start(member->local->options.nursery, &spec, &member->child);
    free(arguments);
    buf_fini(&script);
    return err;
}

static weft_err start(struct launch *launch, size_t number, const struct launch_start *start)
{
    struct local *local = (struct local *)launch;
    struct member *member = &local->members[number];
    const char **environment = make_environment(start->environment);
    if (!environment)
        return err_no_memory("to start %s", local->options.wants[number].name);
    const weft_err err = start_process(member, start, environment);
    free(environment);
    if (err)
        return err;
    member->started_ns = clock_now_ns();
    member->ended = loop_watch_new(local->options.loop, member->child.status, member_ended, member);
    begin_streams(member);
    local->options.calls->started(local->options.owner, number, member->child.pid);
    return WEFT_OK;
}

static void signal_member(struct launch *launch, size_t number, int signal)
{
    struct local *local = (struct local *)launch;
    child_signal(&local->members[number].child, signal);
}

const struct launcher launch_local = {
    .scheme = "local",
    .form = "local:",
    .reads_input = true,
    .check = check,
    .open = open_local,
    .close = close_local,
    .place = place,
    .get = get,
    .describe = describe,
    .move = move,
    .start = start,
    .signal = signal_member,
    .pause = pause_stream,
};
