// The members to be started: each one of the description with the address of its place and the
// environment that names the member to its program.

#include "crew/cluster_run_state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cluster/address.h"
#include "crew/here.h"
#include "sys/file/standard.h"
#include "sys/process/command.h"

enum { COLOR_COUNT = 6 };

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
        buf_format(&name, "%s/%" PRIu32, member->seat.role->name, member->seat.index);
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

// ---- Addresses and environments --------------------------------------------------------------------------------

static weft_err settle(struct run_member *member)
{
    struct run *run = member->run;
    const struct launch_want *want = &run->wants[member->number];
    const struct launch_place place = launch_get_place(run->launch, member->number);
    struct crew_place *at = &run->places[member->number];
    struct buf address = {0};
    // An address that the user has given is written as the user wrote it.
    at->host = want->host ? want->host : place.address;
    at->port = want->port ? want->port : place.ports[0];
    at->interface = place.interface;
    address_append(&address, at->host, at->port);
    free(member->address);
    member->address = format_text(&address);
    return member->address ? WEFT_OK : no_memory();
}

static weft_err describe(struct run *run)
{
    cluster_spec_fini(&run->cluster);
    const weft_err err = crew_describe_cluster(&run->cluster, run->spec, run->places);
    return err ? err : cluster_spec_check(&run->cluster);
}

weft_err run_settle_member(struct run_member *member)
{
    const weft_err err = settle(member);
    return err ? err : describe(member->run);
}

weft_err run_settle_members(struct run *run)
{
    weft_err err = WEFT_OK;
    for (size_t i = 0; !err && i < run->crew.count; i++)
        err = settle(&run->members[i]);
    return err ? err : describe(run);
}

static void append_journal(struct buf *text, const struct run *run,
                           const struct launch_place *place)
{
    if (run->kept_journal)
        buf_format(text, "WEFT_JOURNAL=%s", run->kept_journal);
    else if (run->journal.path)
        buf_format(text, "WEFT_JOURNAL=%s", run->journal.path);
    else if (place->directory && run->has_restarts)
        buf_format(text, "WEFT_JOURNAL=%s/" LAUNCH_JOURNAL_NAME, place->directory);
}

// Agents name it on their hosts.
static weft_err add_program(const struct run *run, struct crew_environment *variables)
{
    struct buf text = {0};
    char *own = NULL;
    if (run->launcher->is_far)
        return WEFT_OK;
    weft_err err = command_own_path(&own);
    if (!err)
        buf_format(&text, "WEFT_PROGRAM=%s", own);
    if (!err)
        err = text.has_failed ? no_memory() : crew_environment_add(variables, buf_text(&text));
    buf_fini(&text);
    free(own);
    return err;
}

weft_err run_make_variables(struct run_member *member, struct crew_environment *variables)
{
    const struct run *run = member->run;
    const struct launch_place place = launch_get_place(run->launch, member->number);
    const struct crew_attempt attempt = {run->options->name,
                                         run->crew.members[member->number].restarts};
    struct buf journal = {0};
    weft_err err = crew_environment_make(variables, run->spec, &run->cluster, run->places,
                                         member->number, &attempt);
    append_journal(&journal, run, &place);
    if (!err)
        err = add_program(run, variables);
    if (!err)
        err = run_add_archive(member, variables);
    if (!err && journal.size > 0)
        err = crew_environment_add(variables, buf_text(&journal));
    if (!err && journal.has_failed)
        err = no_memory();
    buf_fini(&journal);
    return err;
}

// ---- All of them ---------------------------------------------------------------------------------------------

// The processes of an instance stand beside its first one, which asks for what the instance needs. The place where programs meet needs
// nothing, and so no place for itself.
static size_t find_neighbour(const struct run *run, const struct crew_seat *seat)
{
    const size_t master = crew_environment_master(run->spec);
    const bool is_meeting = run->spec->preset == CREW_PRESET_HOROVOD &&
                            strcmp(seat->role->name, CREW_ROLE_RENDEZVOUS) == 0;
    if (seat->process > 0)
        return 1 + seat->number - seat->process;
    return is_meeting && master < seat->number ? 1 + master : 0;
}

static weft_err add_amounts(struct run_member *member, struct launch_want *want)
{
    const struct crew_pairs *amounts = &member->seat.role->amounts;
    if (!amounts->count)
        return WEFT_OK;
    member->amounts = calloc(amounts->count, sizeof *member->amounts);
    if (!member->amounts)
        return no_memory();
    for (size_t i = 0; i < amounts->count; i++) {
        member->amounts[i].name = amounts->items[i].name;
        if (!text_read_count(amounts->items[i].value, UINT64_MAX, &member->amounts[i].count))
            return err_set(WEFT_INTERNAL, "%s is not a number", amounts->items[i].value);
    }
    want->amounts = member->amounts;
    want->amount_count = amounts->count;
    return WEFT_OK;
}

static weft_err add_member(struct run *run, size_t number)
{
    struct run_member *member = &run->members[number];
    const struct crew_seat seat = crew_spec_seat(run->spec, number);
    const struct crew_role *role = seat.role;
    *member = (struct run_member){.run = run, .number = number, .seat = seat};
    run->crew.members[number].restarts_max = role->restarts;
    run->crew.members[number].is_awaited = role->is_awaited;
    run->crew.members[number].may_fail = role->may_fail;
    struct launch_want *want = &run->wants[number];
    *want = (struct launch_want){.constraint = role->constraint};
    if (role->fixed.count > 0) {
        want->host = role->fixed.items[seat.instance].host;
        want->port = role->fixed.items[seat.instance].port;
    }
    want->beside = find_neighbour(run, &seat);
    if (seat.process > 0)
        return WEFT_OK;
    want->memory_bytes = role->memory_bytes;
    want->cpus = role->cpus;
    want->gpus = role->gpus;
    return add_amounts(member, want);
}

// A launcher of other machines compares the description with them by itself.
static weft_err look_here(struct run *run)
{
    struct here here;
    if (run->launcher->is_far)
        return WEFT_OK;
    weft_err err = here_look(&here, getenv("CUDA_VISIBLE_DEVICES"), "/dev");
    if (err)
        return err;
    err = here_check(&here, run->spec);
    for (size_t i = 0; !err && i < run->crew.count; i++) {
        run->members[i].gpus = here_list_gpus(&here, run->spec, i, &err);
        run->places[i].gpus = run->members[i].gpus;
    }
    here_fini(&here);
    return err;
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
    const size_t count = crew_spec_count_members(run->spec);
    if (count == 0 || count > CREW_MEMBERS_MAX)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "the cluster has %zu members; from 1 to %d can be started here", count,
                       CREW_MEMBERS_MAX);
    weft_err err = crew_init(&run->crew, count);
    if (err)
        return err;
    run->members = calloc(count, sizeof *run->members);
    run->wants = calloc(count, sizeof *run->wants);
    run->places = calloc(count, sizeof *run->places);
    if (!run->members || !run->wants || !run->places)
        return no_memory();
    for (size_t i = 0; !err && i < count; i++)
        err = add_member(run, i);
    if (!err)
        err = name_members(run);
    if (!err)
        err = look_here(run);
    return err ? err : check_input_member(run);
}

void run_free_members(struct run *run)
{
    for (size_t i = 0; run->members && i < run->crew.count; i++) {
        struct run_member *member = &run->members[i];
        last_lines_fini(&member->tail);
        for (int k = 0; k < 2; k++) {
            prefix_fini(&member->streams[k].prefix);
            free(member->prefixes[k]);
        }
        free(member->address);
        free(member->gpus);
        free(member->amounts);
        free(member->name);
    }
    free(run->members);
    free(run->wants);
    free(run->places);
    cluster_spec_fini(&run->cluster);
    crew_fini(&run->crew);
}

// ---- Settings of the launcher -----------------------------------------------------------------------------------

weft_err run_open_settings(struct run *run)
{
    const struct crew_pairs *settings = &run->spec->settings;
    weft_err err = WEFT_OK;
    for (size_t i = 0; !err && i < settings->count; i++) {
        struct buf text = {0};
        buf_format(&text, "%s=%s", settings->items[i].name, settings->items[i].value);
        char *copy = text.has_failed ? NULL : strdup(buf_text(&text));
        buf_fini(&text);
        if (!copy || !VEC_PUSH(&run->settings, copy)) {
            free(copy);
            return err_no_memory("for the settings");
        }
        err = launcher_check_setting(run->launcher, copy);
    }
    if (!err && settings->count && !VEC_PUSH(&run->settings, NULL))
        err = err_no_memory("for the settings");
    return err;
}

void run_close_settings(struct run *run)
{
    for (size_t i = 0; i < run->settings.count; i++)
        free(run->settings.items[i]);
    VEC_FINI(&run->settings);
}
