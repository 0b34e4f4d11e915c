// The members to be started: each one of the description with an address of this machine and the
// environment that names the member to its program.

#include "crew/cluster_run_state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cluster/address.h"
#include "sys/file/standard.h"

enum {
    VARIABLE_BYTES_MAX = 128 << 10,  // what Linux takes in one
    COLOR_COUNT = 6,
};

// Unambiguous where a name may mean an IPv6 address to one program and an IPv4 address to another.
#define HERE "127.0.0.1"

static weft_err no_memory(void)
{
    return err_no_memory("for the members");
}

// ---- Addresses -------------------------------------------------------------------------------------------

static weft_err choose_address(struct cluster_spec *spec, const struct cluster_role *role,
                               const struct cluster_member *given, struct port_hold *hold)
{
    uint16_t port = given->port;
    const char *host = given->host ? given->host : HERE;
    weft_err err = WEFT_OK;
    // Asking for a host's port 0 says whether the host is this machine.
    if (given->host)
        err = port_hold(hold, host, port);
    if (err || port != 0)
        return err;
    port_release(hold);
    err = port_choose(hold, &port);
    if (err)
        return err;
    struct buf text = {0};
    address_append(&text, host, port);
    err = text.has_failed
              ? no_memory()
              : cluster_spec_set_address(spec, role->name, given->index, buf_bytes(&text));
    buf_fini(&text);
    return err;
}

// ---- What a member is called -------------------------------------------------------------------------------

static char *format_text(struct buf *buf)
{
    char *text = buf->has_failed ? NULL : strdup(buf_text(buf));
    buf_fini(buf);
    return text;
}

static bool has_color(const struct run *run, int fd)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    return standard_is_terminal(fd) && !run->options->no_color && !(no_color && *no_color) &&
           !(term && strcmp(term, "dumb") == 0);
}

static char *make_prefix(const struct run_member *member, int fd, size_t width)
{
    struct buf text = {0};
    const bool is_colored = has_color(member->run, fd);
    if (member->run->options->no_prefix)
        return strdup("");
    if (is_colored)
        buf_format(&text, "\033[3%zum", 1 + member->number % COLOR_COUNT);
    buf_format(&text, "%-*s|", (int)width, member->name);
    buf_append_text(&text, is_colored ? "\033[0m " : " ");
    return format_text(&text);
}

static weft_err name_members(struct run *run)
{
    size_t width = 0;
    for (size_t i = 0; i < run->crew.count; i++) {
        struct run_member *member = &run->members[i];
        struct buf name = {0};
        buf_format(&name, "%s/%" PRIu32, member->role, member->index);
        member->name = format_text(&name);
        if (!member->name)
            return no_memory();
        width = strlen(member->name) > width ? strlen(member->name) : width;
    }
    for (size_t i = 0; i < run->crew.count; i++) {
        struct run_member *member = &run->members[i];
        member->prefixes[RUN_OUT] = make_prefix(member, STDOUT_FILENO, width);
        member->prefixes[RUN_ERR] = make_prefix(member, STDERR_FILENO, width);
        if (!member->prefixes[RUN_OUT] || !member->prefixes[RUN_ERR])
            return no_memory();
    }
    return WEFT_OK;
}

// ---- Environments --------------------------------------------------------------------------------------------

static weft_err describe_member(struct run_member *member, const struct cluster_spec *spec)
{
    const struct cluster_member *given =
        cluster_spec_find_member(spec, member->role, member->index);
    struct buf texts[4] = {0}, address = {0};
    address_append(&address, given->host, given->port);
    member->address = format_text(&address);
    buf_append_text(&texts[0], "TF_CONFIG=");
    const weft_err err =
        cluster_spec_write_tf_config(&texts[0], spec, member->role, member->index, CLUSTER_COMPACT);
    const size_t size = texts[0].size;
    buf_format(&texts[1], "WEFT_ROLE=%s", member->role);
    buf_format(&texts[2], "WEFT_INDEX=%" PRIu32, member->index);
    const struct run *run = member->run;
    if (run->kept_journal || run->journal.path)
        buf_format(&texts[3], "WEFT_JOURNAL=%s",
                   run->kept_journal ? run->kept_journal : run->journal.path);
    bool is_whole = member->address != NULL;
    for (size_t i = 0; i < 4; i++) {
        const bool is_set = texts[i].size > 0;
        member->variables[i] = format_text(&texts[i]);
        is_whole = is_whole && (member->variables[i] || !is_set);
    }
    if (!is_whole && !err)
        return no_memory();
    if (!err && size >= VARIABLE_BYTES_MAX)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "TF_CONFIG would have %zu bytes, and a variable holds no more than %d", size,
                       VARIABLE_BYTES_MAX - 1);
    return err;
}

// Whether one of the member's variables has the name of this one.
static bool is_replaced(const struct run_member *member, const char *variable)
{
    const size_t length = strcspn(variable, "=") + 1;
    for (size_t i = 0; i < 4; i++)
        if (member->variables[i] && strncmp(member->variables[i], variable, length) == 0)
            return true;
    return false;
}

const char **run_make_environment(const struct run_member *member)
{
    size_t count = 0, kept = 0;
    while (environ[count])
        count++;
    const char **list = calloc(count + 5, sizeof *list);
    if (!list)
        return NULL;
    for (size_t i = 0; i < count; i++)
        if (!is_replaced(member, environ[i]))
            list[kept++] = environ[i];
    for (size_t i = 0; i < 4; i++)
        if (member->variables[i] && *member->variables[i])
            list[kept++] = member->variables[i];
    return list;
}

// ---- All of them ---------------------------------------------------------------------------------------------

static weft_err check_roles(const struct cluster_spec *spec,
                            const struct cluster_run_options *options)
{
    for (size_t i = 0; i < options->restarts.count; i++) {
        const char *role = options->restarts.items[i].role;
        if (role && !cluster_spec_find_role(spec, role))
            return err_set(WEFT_INVALID_ARGUMENT, "--restart: there is no role %s", role);
    }
    for (size_t i = 0; i < options->until.count; i++)
        if (!cluster_spec_find_role(spec, options->until.items[i]))
            return err_set(WEFT_INVALID_ARGUMENT, "--until: there is no role %s",
                           options->until.items[i]);
    return WEFT_OK;
}

// An option for the role counts, otherwise one for all; the last of each.
static uint32_t find_restarts(const struct cluster_run_options *options, const char *role)
{
    uint32_t of_all = 0, of_role = 0;
    bool is_named = false;
    for (size_t i = 0; i < options->restarts.count; i++) {
        const struct cluster_run_restart *restart = &options->restarts.items[i];
        if (!restart->role)
            of_all = restart->count;
        else if (strcmp(restart->role, role) == 0) {
            of_role = restart->count;
            is_named = true;
        }
    }
    return is_named ? of_role : of_all;
}

static bool is_awaited(const struct cluster_run_options *options, const char *role)
{
    for (size_t i = 0; i < options->until.count; i++)
        if (strcmp(options->until.items[i], role) == 0)
            return true;
    return false;
}

static weft_err add_role(struct run *run, struct cluster_spec *spec,
                         const struct cluster_role *role, size_t *number)
{
    for (size_t i = 0; i < role->members.count; i++, ++*number) {
        struct run_member *member = &run->members[*number];
        const struct cluster_member *given = &role->members.items[i];
        *member = (struct run_member){
            .run = run, .number = *number, .role = role->name, .index = given->index, .hold = {-1}};
        run->crew.members[*number].restarts_max = find_restarts(run->options, role->name);
        run->crew.members[*number].is_awaited = is_awaited(run->options, role->name);
        const weft_err err = choose_address(spec, role, given, &member->hold);
        if (err)
            return err_wrap(err, "/%s/%" PRIu32, member->role, member->index);
    }
    return WEFT_OK;
}

static weft_err check_input_member(const struct run *run)
{
    const char *wanted = run->options->input_member;
    if (!wanted)
        return WEFT_OK;
    for (size_t i = 0; i < run->crew.count; i++)
        if (strcmp(run->members[i].name, wanted + (*wanted == '/')) == 0)
            return WEFT_OK;
    return err_set(WEFT_INVALID_ARGUMENT, "--stdin: there is no member %s", wanted);
}

weft_err run_make_members(struct run *run, struct cluster_spec *spec)
{
    const size_t count = cluster_spec_count_members(spec);
    if (count == 0 || count > CREW_MEMBERS_MAX)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "the cluster has %zu members; from 1 to %d can be started here", count,
                       CREW_MEMBERS_MAX);
    weft_err err = check_roles(spec, run->options);
    if (!err)
        err = crew_init(&run->crew, count);
    if (err)
        return err;
    run->members = calloc(count, sizeof *run->members);
    if (!run->members)
        return no_memory();
    size_t number = 0;
    for (size_t i = 0; i < count; i++)
        run->members[i].hold.fd = -1;
    for (size_t i = 0; !err && i < spec->roles.count; i++)
        err = add_role(run, spec, &spec->roles.items[i], &number);
    if (!err)
        err = cluster_spec_check(spec);
    if (!err)
        err = name_members(run);
    for (size_t i = 0; !err && i < count; i++)
        err = describe_member(&run->members[i], spec);
    return err ? err : check_input_member(run);
}

void run_free_members(struct run *run)
{
    for (size_t i = 0; run->members && i < run->crew.count; i++) {
        struct run_member *member = &run->members[i];
        port_release(&member->hold);
        for (int k = 0; k < 2; k++) {
            prefix_fini(&member->streams[k].prefix);
            free(member->prefixes[k]);
        }
        for (int k = 0; k < 4; k++)
            free(member->variables[k]);
        free(member->name);
        free(member->address);
    }
    free(run->members);
    crew_fini(&run->crew);
}
