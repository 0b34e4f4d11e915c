// The members to be started: each one of the description with the address of its place and the
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

static weft_err no_memory(void)
{
    return err_no_memory("for the members");
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
        run->wants[i].name = member->name;
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

static void append_journal(struct buf *text, const struct run *run,
                           const struct launch_place *place)
{
    if (run->kept_journal)
        buf_format(text, "WEFT_JOURNAL=%s", run->kept_journal);
    else if (run->journal.path)
        buf_format(text, "WEFT_JOURNAL=%s", run->journal.path);
    else if (place->directory && run->has_restarts)
        buf_format(text, "WEFT_JOURNAL=%s/journal", place->directory);
}

static void free_variables(struct run_member *member)
{
    for (size_t i = 0; i < 4; i++) {
        free(member->variables[i]);
        member->variables[i] = NULL;
    }
    free(member->address);
    member->address = NULL;
}

static weft_err describe_member(struct run_member *member)
{
    const struct cluster_spec *spec = member->run->spec;
    const struct cluster_member *given =
        cluster_spec_find_member(spec, member->role, member->index);
    const struct launch_place place = launch_get_place(member->run->launch, member->number);
    struct buf texts[4] = {0}, address = {0};
    free_variables(member);
    address_append(&address, given->host, given->port);
    member->address = format_text(&address);
    buf_append_text(&texts[0], "TF_CONFIG=");
    const weft_err err =
        cluster_spec_write_tf_config(&texts[0], spec, member->role, member->index, CLUSTER_COMPACT);
    const size_t size = texts[0].size;
    buf_format(&texts[1], "WEFT_ROLE=%s", member->role);
    buf_format(&texts[2], "WEFT_INDEX=%" PRIu32, member->index);
    append_journal(&texts[3], member->run, &place);
    bool is_whole = member->address != NULL;
    for (size_t i = 0, at = 0; i < 4; i++) {
        const bool is_set = texts[i].size > 0;
        char *text = format_text(&texts[i]);
        is_whole = is_whole && (text || !is_set);
        if (text && is_set)
            member->variables[at++] = text;
        else
            free(text);
    }
    if (!is_whole && !err)
        return no_memory();
    if (!err && size >= VARIABLE_BYTES_MAX)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "TF_CONFIG would have %zu bytes, and a variable holds no more than %d", size,
                       VARIABLE_BYTES_MAX - 1);
    return err;
}

// The place's address into the description, unless the user has given the member one.
static weft_err give_address(struct run_member *member)
{
    const struct launch_place place = launch_get_place(member->run->launch, member->number);
    struct buf text = {0};
    address_append(&text, place.address, place.ports[0]);
    const weft_err err = text.has_failed
                             ? no_memory()
                             : cluster_spec_set_address(member->run->spec, member->role,
                                                        member->index, buf_bytes(&text));
    buf_fini(&text);
    return err;
}

weft_err run_settle_member(struct run_member *member)
{
    const weft_err err = give_address(member);
    return err ? err : describe_member(member);
}

weft_err run_settle_members(struct run *run)
{
    weft_err err = WEFT_OK;
    for (size_t i = 0; !err && i < run->crew.count; i++)
        if (run->wants[i].port == 0)
            err = give_address(&run->members[i]);
    if (!err)
        err = cluster_spec_check(run->spec);
    for (size_t i = 0; !err && i < run->crew.count; i++)
        err = describe_member(&run->members[i]);
    return err;
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

static void add_role(struct run *run, const struct cluster_role *role, size_t *number)
{
    for (size_t i = 0; i < role->members.count; i++, ++*number) {
        struct run_member *member = &run->members[*number];
        const struct cluster_member *given = &role->members.items[i];
        *member = (struct run_member){
            .run = run, .number = *number, .role = role->name, .index = given->index};
        run->crew.members[*number].restarts_max = find_restarts(run->options, role->name);
        run->crew.members[*number].is_awaited = is_awaited(run->options, role->name);
        run->wants[*number] = (struct launch_want){.host = given->host, .port = given->port};
    }
}

static weft_err check_input_member(const struct run *run)
{
    const char *wanted = run->options->input_member;
    if (!wanted)
        return WEFT_OK;
    if (!run->launcher->reads_input)
        return err_set(
            WEFT_INVALID_ARGUMENT,
            "--stdin: a member on another machine cannot read the standard input of this one");
    for (size_t i = 0; i < run->crew.count; i++)
        if (strcmp(run->members[i].name, wanted + (*wanted == '/')) == 0)
            return WEFT_OK;
    return err_set(WEFT_INVALID_ARGUMENT, "--stdin: there is no member %s", wanted);
}

weft_err run_make_members(struct run *run)
{
    const struct cluster_spec *spec = run->spec;
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
    run->wants = calloc(count, sizeof *run->wants);
    if (!run->members || !run->wants)
        return no_memory();
    size_t number = 0;
    for (size_t i = 0; i < spec->roles.count; i++)
        add_role(run, &spec->roles.items[i], &number);
    err = name_members(run);
    return err ? err : check_input_member(run);
}

void run_free_members(struct run *run)
{
    for (size_t i = 0; run->members && i < run->crew.count; i++) {
        struct run_member *member = &run->members[i];
        for (int k = 0; k < 2; k++) {
            prefix_fini(&member->streams[k].prefix);
            free(member->prefixes[k]);
        }
        free_variables(member);
        free(member->name);
    }
    free(run->members);
    free(run->wants);
    crew_fini(&run->crew);
}
