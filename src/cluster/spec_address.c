// spec: addresses of all members together. No two may be the same, and those that have none get one.
// Both are done on one sorted list: a cluster may have thousands of members.

#include "cluster/spec.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/text.h"
#include "cluster/address.h"

enum { PORT_MAX = 65535 };

struct place {
    const char *role;
    const struct cluster_member *member;
    size_t order;  // of the member in the description
};

static int compare_places(const void *a, const void *b)
{
    const struct place *left = a, *right = b;
    const int order = address_compare_hosts(left->member->host, right->member->host);
    if (order)
        return order;
    return (left->member->port > right->member->port) - (left->member->port < right->member->port);
}

// The same with ties in the order of roles and members, so that the sentence is always the same.
static int compare_places_and_order(const void *a, const void *b)
{
    const struct place *left = a, *right = b;
    const int order = compare_places(a, b);
    return order ? order : (left->order > right->order) - (left->order < right->order);
}

// All members with an address and a port that is known, in the order of addresses; the caller frees
// them.
static struct place *sort_places(const struct cluster_spec *spec, size_t *count)
{
    struct place *places = calloc(cluster_spec_count_members(spec) + 1, sizeof *places);
    *count = 0;
    for (size_t i = 0; places && i < spec->roles.count; i++) {
        const struct cluster_role *role = &spec->roles.items[i];
        for (size_t j = 0; j < role->members.count; j++) {
            const struct cluster_member *member = &role->members.items[j];
            places[*count] = (struct place){role->name, member, *count};
            *count += member->host && member->port ? 1 : 0;
        }
    }
    if (places)
        qsort(places, *count, sizeof *places, compare_places_and_order);
    return places;
}

static weft_err is_double(const struct place *a, const struct place *b)
{
    struct buf text = {0};
    address_append(&text, a->member->host, a->member->port);
    const weft_err err =
        err_set(WEFT_INVALID_ARGUMENT,
                "/%s/%" PRIu32 " and /%s/%" PRIu32
                " have the same address %s\n  only one of them could listen there:"
                " give each a port of its own",
                a->role, a->member->index, b->role, b->member->index, buf_text(&text));
    buf_fini(&text);
    return err;
}

weft_err cluster_spec_check(const struct cluster_spec *spec)
{
    size_t count;
    weft_err err = WEFT_OK;
    struct place *places = sort_places(spec, &count);
    if (!places)
        return err_no_memory("for the description of a cluster");
    for (size_t i = 1; !err && i < count; i++)
        if (compare_places(&places[i - 1], &places[i]) == 0)
            err = is_double(&places[i - 1], &places[i]);
    free(places);
    return err;
}

// ---- Those without an address --------------------------------------------------------------------------

// The ports that members on this host have already.
static void mark_ports(const struct cluster_spec *spec, const char *host, bool *is_taken)
{
    for (size_t i = 0; i < spec->roles.count; i++) {
        const struct cluster_role *role = &spec->roles.items[i];
        for (size_t j = 0; j < role->members.count; j++) {
            const struct cluster_member *member = &role->members.items[j];
            if (member->host && address_compare_hosts(member->host, host) == 0)
                is_taken[member->port] = true;
        }
    }
}

static weft_err assign_member(struct cluster_member *member, const char *host, const bool *is_taken,
                              uint32_t *port)
{
    while (*port && *port <= PORT_MAX && is_taken[*port])
        ++*port;
    if (*port > PORT_MAX)
        return err_set(WEFT_RESOURCE_EXHAUSTED,
                       "there are no ports left on %s for all members\n"
                       "  begin with a smaller port, or spread them over more hosts",
                       host);
    member->host = strdup(host);
    if (!member->host)
        return err_no_memory("for the description of a cluster");
    member->port = (uint16_t)*port;
    *port += *port ? 1 : 0;  // port 0 is for each of them
    return WEFT_OK;
}

weft_err cluster_spec_assign_addresses(struct cluster_spec *spec, const char *host,
                                       uint16_t first_port)
{
    bool *is_taken = calloc(PORT_MAX + 1, sizeof *is_taken);
    uint32_t port = first_port;
    if (!is_taken)
        return err_no_memory("for a list of ports");
    mark_ports(spec, host, is_taken);
    weft_err err = WEFT_OK;
    for (size_t i = 0; !err && i < spec->roles.count; i++) {
        struct cluster_role *role = &spec->roles.items[i];
        for (size_t j = 0; !err && j < role->members.count; j++)
            if (!role->members.items[j].host)
                err = assign_member(&role->members.items[j], host, is_taken, &port);
    }
    free(is_taken);
    return err;
}

// ---- Flags ---------------------------------------------------------------------------------------------

static weft_err add_counted(struct cluster_spec *spec, const char *role, const char *text)
{
    uint64_t count;
    if (!text_read_count(text, CLUSTER_MEMBERS_MAX, &count))
        return err_set(WEFT_INVALID_ARGUMENT, "a role has from 1 to %d members, not %s",
                       CLUSTER_MEMBERS_MAX, role_quote(weft_text(text)).text);
    weft_err err = WEFT_OK;
    for (uint32_t i = 0; !err && i < count; i++)
        err = cluster_spec_add_member(spec, role, i, (weft_bytes){0});
    return err;
}

static weft_err add_listed(struct cluster_spec *spec, const char *role, const char *text)
{
    weft_err err = WEFT_OK;
    for (uint32_t index = 0; !err; index++) {
        const size_t length = strcspn(text, ",");
        err = cluster_spec_add_member(spec, role, index, (weft_bytes){text, length});
        if (!text[length])
            break;
        text += length + 1;
    }
    return err;
}

weft_err cluster_spec_add_flag(struct cluster_spec *spec, const char *text)
{
    const char *equals = strchr(text, '=');
    if (!equals || !equals[1])
        return err_set(WEFT_INVALID_ARGUMENT,
                       "%s does not say how many members the role has\n"
                       "  try: --role map=2, or --role map=host1:2222,host2:2222",
                       role_quote(weft_text(text)).text);
    weft_err err = cluster_spec_add_role(spec, (weft_bytes){text, (size_t)(equals - text)});
    if (err)
        return err;
    const char *role = spec->roles.items[spec->roles.count - 1].name;
    const bool is_number = strspn(equals + 1, "-+0123456789") == strlen(equals + 1);
    return is_number ? add_counted(spec, role, equals + 1) : add_listed(spec, role, equals + 1);
}
