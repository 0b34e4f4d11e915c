// The description itself: its roles, and its members by number.

#include "crew/spec/spec.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "crew/spec/spec_state.h"

weft_err spec_no_memory(void)
{
    return err_no_memory("for the description of the roles");
}

static void pairs_fini(struct crew_pairs *pairs)
{
    for (size_t i = 0; i < pairs->count; i++) {
        free(pairs->items[i].name);
        free(pairs->items[i].value);
    }
    VEC_FINI(pairs);
}

void spec_role_fini(struct crew_role *role)
{
    free(role->name);
    free(role->constraint);
    free(role->archive);
    free(role->pre_script);
    spec_words_fini(&role->command);
    pairs_fini(&role->variables);
    pairs_fini(&role->amounts);
    pairs_fini(&role->files);
    for (size_t i = 0; i < role->fixed.count; i++)
        free(role->fixed.items[i].host);
    VEC_FINI(&role->fixed);
    *role = (struct crew_role){0};
}

void crew_spec_fini(struct crew_spec *spec)
{
    for (size_t i = 0; i < spec->roles.count; i++)
        spec_role_fini(&spec->roles.items[i]);
    VEC_FINI(&spec->roles);
    spec_role_fini(&spec->all);
    free(spec->name);
    free(spec->on);
    free(spec->tensorboard);
    pairs_fini(&spec->settings);
    json_decref(spec->rest);
    *spec = (struct crew_spec){0};
}

weft_err crew_spec_set_text(char **to, const char *text)
{
    char *copy = strdup(text);
    if (!copy)
        return spec_no_memory();
    free(*to);
    *to = copy;
    return WEFT_OK;
}

// ---- Roles ---------------------------------------------------------------------------------------------------

struct crew_role *crew_spec_find_role(const struct crew_spec *spec, const char *name)
{
    for (size_t i = 0; i < spec->roles.count; i++)
        if (strcmp(spec->roles.items[i].name, name) == 0)
            return &spec->roles.items[i];
    return NULL;
}

struct crew_role *spec_add_role(struct crew_spec *spec, const char *name)
{
    weft_err err = role_check_name(weft_text(name));
    if (!err && crew_spec_find_role(spec, name))
        err = err_set(WEFT_INVALID_ARGUMENT, "the role %s is there twice", name);
    if (!err && spec->roles.count == CREW_SPEC_ROLES_MAX)
        err = err_set(WEFT_INVALID_ARGUMENT, "there are more than %d roles", CREW_SPEC_ROLES_MAX);
    struct crew_role *role = err ? NULL : VEC_NEXT(&spec->roles);
    char *copy = role ? strdup(name) : NULL;
    if (!copy) {
        if (!err)
            err = spec_no_memory();
        return NULL;
    }
    *role = (struct crew_role){.name = copy};
    spec->roles.count++;
    return role;
}

static weft_err add_fixed(struct crew_role *role, const struct cluster_member *given)
{
    struct cluster_member member = {.index = given->index, .port = given->port};
    if (given->host && !(member.host = strdup(given->host)))
        return spec_no_memory();
    if (VEC_PUSH(&role->fixed, member))
        return WEFT_OK;
    free(member.host);
    return spec_no_memory();
}

// The instances of a role as another description lists them, with the addresses that it has.
static weft_err take_members(struct crew_role *role, const struct cluster_role *from)
{
    weft_err err = WEFT_OK;
    bool has_addresses = !cluster_role_is_dense(from);
    for (size_t i = 0; i < from->members.count; i++)
        has_addresses = has_addresses || from->members.items[i].host;
    role->instances = (uint32_t)from->members.count;
    role->given |= 1U << CREW_INSTANCES;
    for (size_t i = 0; i < role->fixed.count; i++)
        free(role->fixed.items[i].host);
    role->fixed.count = 0;
    for (size_t i = 0; !err && has_addresses && i < from->members.count; i++)
        err = add_fixed(role, &from->members.items[i]);
    return err;
}

// "evaluator=0": a role of the file or the preset that is not wanted.
static bool is_none(const char *text)
{
    const char *equals = strchr(text, '=');
    return equals && strcmp(equals, "=0") == 0;
}

static weft_err read_role_flag(struct cluster_spec *given, const char *text)
{
    return is_none(text) ? cluster_spec_add_role(given, (weft_bytes){text, strlen(text) - 2})
                         : cluster_spec_add_flag(given, text);
}

weft_err crew_spec_add_role_flag(struct crew_spec *spec, const char *text)
{
    struct cluster_spec given = {0};
    weft_err err = read_role_flag(&given, text);
    if (!err) {
        const struct cluster_role *from = &given.roles.items[0];
        struct crew_role *role = crew_spec_find_role(spec, from->name);
        if (!role)
            role = spec_add_role(spec, from->name);
        err = role ? take_members(role, from) : WEFT_INVALID_ARGUMENT;
    }
    cluster_spec_fini(&given);
    return err;
}

weft_err crew_spec_add_cluster(struct crew_spec *spec, struct cluster_spec *cluster)
{
    weft_err err = WEFT_OK;
    for (size_t i = 0; !err && i < cluster->roles.count; i++) {
        struct crew_role *role = spec_add_role(spec, cluster->roles.items[i].name);
        if (!role)
            return WEFT_INVALID_ARGUMENT;
        // The file says who is in the cluster, whatever the name of the role is.
        role->in_cluster = true;
        role->given |= 1U << CREW_IN_CLUSTER;
        err = take_members(role, &cluster->roles.items[i]);
    }
    if (!err) {
        json_decref(spec->rest);
        spec->rest = cluster->rest;
        cluster->rest = NULL;
    }
    return err;
}

// ---- Members -------------------------------------------------------------------------------------------------

uint32_t crew_role_members_of_instance(const struct crew_spec *spec, const struct crew_role *role)
{
    return spec->preset == CREW_PRESET_TORCHRUN ? 1 : role->processes;
}

static size_t count_of_role(const struct crew_spec *spec, const struct crew_role *role)
{
    return (size_t)role->instances * crew_role_members_of_instance(spec, role);
}

size_t crew_spec_count_members(const struct crew_spec *spec)
{
    size_t count = 0;
    for (size_t i = 0; i < spec->roles.count; i++)
        count += count_of_role(spec, &spec->roles.items[i]);
    return count;
}

struct crew_seat crew_spec_seat(const struct crew_spec *spec, size_t number)
{
    struct crew_seat seat = {.number = number};
    for (size_t i = 0; i < spec->roles.count; i++) {
        const struct crew_role *role = &spec->roles.items[i];
        const size_t count = count_of_role(spec, role);
        if (number >= count) {
            number -= count;
            continue;
        }
        const uint32_t each = crew_role_members_of_instance(spec, role);
        seat.role = role;
        seat.instance = (uint32_t)number / each;
        seat.process = (uint32_t)number % each;
        seat.index = role->fixed.count ? role->fixed.items[number].index : (uint32_t)number;
        break;
    }
    ASSERT(seat.role);
    return seat;
}

// ---- Flags ---------------------------------------------------------------------------------------------------

void crew_flags_fini(struct crew_flags *flags)
{
    VEC_FINI(&flags->items);
    VEC_FINI(&flags->until);
}

weft_err crew_flags_add(struct crew_flags *flags, enum crew_field field, const char *text)
{
    return VEC_PUSH(&flags->items, ((struct crew_flag){field, text})) ? WEFT_OK : spec_no_memory();
}
