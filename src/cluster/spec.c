// spec: building a description and asking it. Whatever way it comes, by JSON or by flags, every role and
// member goes through add_role and add_member, so that the rules stand in one place.

#include "cluster/spec.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>

#include "base/args.h"
#include "base/text.h"
#include "cluster/address.h"
#include "cluster/spec_state.h"

static weft_err no_memory(void)
{
    return err_no_memory("for the description of a cluster");
}

void cluster_spec_fini(struct cluster_spec *spec)
{
    for (size_t i = 0; i < spec->roles.count; i++) {
        struct cluster_role *role = &spec->roles.items[i];
        for (size_t j = 0; j < role->members.count; j++)
            free(role->members.items[j].host);
        VEC_FINI(&role->members);
        free(role->name);
    }
    VEC_FINI(&spec->roles);
    free(spec->my_role);
    json_decref(spec->rest);
    *spec = (struct cluster_spec){0};
}

// ---- Asking --------------------------------------------------------------------------------------------

size_t cluster_spec_count_members(const struct cluster_spec *spec)
{
    size_t count = 0;
    for (size_t i = 0; i < spec->roles.count; i++)
        count += spec->roles.items[i].members.count;
    return count;
}

const struct cluster_role *cluster_spec_find_role(const struct cluster_spec *spec, const char *name)
{
    for (size_t i = 0; i < spec->roles.count; i++)
        if (strcmp(spec->roles.items[i].name, name) == 0)
            return &spec->roles.items[i];
    return NULL;
}

// The first member whose index is not smaller.
static size_t find_place(const struct cluster_role *role, uint32_t index)
{
    size_t low = 0, high = role->members.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (role->members.items[middle].index < index)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct cluster_member *cluster_role_find_member(const struct cluster_role *role,
                                                      uint32_t index)
{
    const size_t at = find_place(role, index);
    const bool is_there = at < role->members.count && role->members.items[at].index == index;
    return is_there ? &role->members.items[at] : NULL;
}

const struct cluster_member *cluster_spec_find_member(const struct cluster_spec *spec,
                                                      const char *role, uint32_t index)
{
    const struct cluster_role *found = cluster_spec_find_role(spec, role);
    return found ? cluster_role_find_member(found, index) : NULL;
}

bool cluster_role_is_dense(const struct cluster_role *role)
{
    const size_t count = role->members.count;
    return count == 0 || role->members.items[count - 1].index == count - 1;
}

bool cluster_spec_is_chief(const struct cluster_spec *spec)
{
    static const char *const chiefs[] = {"chief", "master", "worker"};
    if (spec->my_role && strcmp(spec->my_role, CLUSTER_EVALUATOR) == 0)
        return false;
    for (size_t i = 0; i < sizeof chiefs / sizeof *chiefs; i++)
        if (cluster_spec_find_role(spec, chiefs[i]))
            return spec->my_role && strcmp(spec->my_role, chiefs[i]) == 0 && spec->my_index == 0;
    return spec->my_index == 0;
}

// ---- Sentences about members ---------------------------------------------------------------------------

// The roles that there are, as a list for a sentence; long ones end in "...".
static void append_roles(struct buf *buf, const struct cluster_spec *spec)
{
    enum { ROLES_SHOWN_MAX = 8 };
    for (size_t i = 0; i < spec->roles.count && i < ROLES_SHOWN_MAX; i++)
        buf_format(buf, "%s%s", i ? ", " : "", spec->roles.items[i].name);
    if (spec->roles.count > ROLES_SHOWN_MAX)
        buf_append_text(buf, ", ...");
}

static const char *guess_role(const struct cluster_spec *spec, const char *name)
{
    const char **names = calloc(spec->roles.count + 1, sizeof *names);
    for (size_t i = 0; names && i < spec->roles.count; i++)
        names[i] = spec->roles.items[i].name;
    const char *guess = names ? args_guess(name, names) : NULL;
    free(names);
    return guess;
}

static weft_err unknown_role(weft_err code, const struct cluster_spec *spec, const char *role)
{
    struct buf text = {0};
    const char *guess = guess_role(spec, role);
    append_roles(&text, spec);
    if (spec->roles.count == 0)
        code = err_set(code, "there is no role %s, as no cluster is described", role);
    else if (guess)
        code = err_set(code, "there is no role %s in the cluster\n  did you mean: %s", role, guess);
    else
        code = err_set(code, "there is no role %s in the cluster\n  its roles are: %s", role,
                       buf_text(&text));
    buf_fini(&text);
    return code;
}

static weft_err unknown_index(weft_err code, const struct cluster_role *role, uint32_t index)
{
    const size_t count = role->members.count;
    if (count == 0)
        return err_set(code, "there is no /%s/%" PRIu32 ", as the role has no members", role->name,
                       index);
    const uint32_t last = role->members.items[count - 1].index;
    if (!cluster_role_is_dense(role))
        return err_set(code,
                       "there is no /%s/%" PRIu32 "\n  the role has %zu members from %" PRIu32
                       " to %" PRIu32 ", and this is none of them",
                       role->name, index, count, role->members.items[0].index, last);
    if (count == 1)
        return err_set(code, "there is no /%s/%" PRIu32 "\n  the role has one member: /%s/0",
                       role->name, index, role->name);
    return err_set(code,
                   "there is no /%s/%" PRIu32 "\n  the role has %zu members: /%s/0 to /%s/%" PRIu32,
                   role->name, index, count, role->name, role->name, last);
}

weft_err cluster_spec_missing_member(weft_err code, const struct cluster_spec *spec,
                                     const char *role, uint32_t index)
{
    const struct cluster_role *found = cluster_spec_find_role(spec, role);
    if (!found)
        return unknown_role(code, spec, role);
    return cluster_role_find_member(found, index) ? WEFT_OK : unknown_index(code, found, index);
}

weft_err cluster_spec_check_member(const struct cluster_spec *spec, const char *role,
                                   uint32_t index)
{
    return cluster_spec_missing_member(WEFT_NOT_FOUND, spec, role, index);
}

// ---- Building ------------------------------------------------------------------------------------------

weft_err cluster_spec_add_role(struct cluster_spec *spec, weft_bytes name)
{
    const weft_err err = role_check_name(name);
    if (err)
        return err;
    if (spec->roles.count == CLUSTER_ROLES_MAX)
        return err_set(WEFT_INVALID_ARGUMENT, "the cluster has more than %d roles",
                       CLUSTER_ROLES_MAX);
    char *copy = strndup(name.data, name.size);
    if (copy && cluster_spec_find_role(spec, copy)) {
        free(copy);
        return err_set(WEFT_INVALID_ARGUMENT, "the role %.*s is given twice", (int)name.size,
                       name.data);
    }
    const struct cluster_role role = {.name = copy};
    if (copy && VEC_PUSH(&spec->roles, role))
        return WEFT_OK;
    free(copy);
    return no_memory();
}

static struct cluster_role *find_own_role(struct cluster_spec *spec, const char *name)
{
    return (struct cluster_role *)(uintptr_t)cluster_spec_find_role(spec, name);
}

static weft_err read_address(weft_bytes text, const char *role, uint32_t index,
                             struct cluster_member *member)
{
    struct address address;
    const weft_err err = address_parse(text, &address);
    if (err)
        return err_wrap(err, "/%s/%" PRIu32, role, index);
    char *host = strdup(address.host);
    if (!host)
        return no_memory();
    free(member->host);
    member->host = host;
    member->port = address.port;
    return WEFT_OK;
}

static weft_err insert_member(struct cluster_role *role, struct cluster_member member)
{
    const size_t at = find_place(role, member.index);
    if (!VEC_NEXT(&role->members))
        return no_memory();
    struct cluster_member *place = &role->members.items[at];
    memmove(place + 1, place, (role->members.count - at) * sizeof *place);
    *place = member;
    role->members.count++;
    return WEFT_OK;
}

weft_err cluster_spec_add_member(struct cluster_spec *spec, const char *role, uint32_t index,
                                 weft_bytes address)
{
    struct cluster_member member = {.index = index};
    struct cluster_role *found = find_own_role(spec, role);
    if (!found)
        return unknown_role(WEFT_INVALID_ARGUMENT, spec, role);
    if (cluster_role_find_member(found, index))
        return err_set(WEFT_INVALID_ARGUMENT, "/%s/%" PRIu32 " is given twice", role, index);
    if (cluster_spec_count_members(spec) >= CLUSTER_MEMBERS_MAX)
        return err_set(WEFT_INVALID_ARGUMENT, "the cluster has more than %d members",
                       CLUSTER_MEMBERS_MAX);
    ASSERT(index <= ROLE_INDEX_MAX);
    weft_err err = address.data ? read_address(address, role, index, &member) : WEFT_OK;
    if (!err)
        err = insert_member(found, member);
    if (err)
        free(member.host);
    return err;
}

weft_err cluster_spec_set_address(struct cluster_spec *spec, const char *role, uint32_t index,
                                  weft_bytes address)
{
    const weft_err err = cluster_spec_check_member(spec, role, index);
    if (err)
        return err;
    struct cluster_role *found = find_own_role(spec, role);
    return read_address(address, role, index, &found->members.items[find_place(found, index)]);
}

weft_err cluster_spec_set_me(struct cluster_spec *spec, const char *role, uint32_t index)
{
    // An evaluator only looks on: TensorFlow keeps it out of the cluster, as many as there are.
    const bool is_outside =
        strcmp(role, CLUSTER_EVALUATOR) == 0 && !cluster_spec_find_role(spec, role);
    const weft_err err =
        is_outside ? WEFT_OK
                   : cluster_spec_missing_member(WEFT_INVALID_ARGUMENT, spec, role, index);
    return err ? err : cluster_spec_note_me(spec, role, index);
}

weft_err cluster_spec_note_me(struct cluster_spec *spec, const char *role, uint32_t index)
{
    char *copy = strdup(role);
    if (!copy)
        return no_memory();
    free(spec->my_role);
    spec->my_role = copy;
    spec->my_index = index;
    return WEFT_OK;
}
