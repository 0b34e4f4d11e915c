// Each family of variables is written by one function; the order of a member's ranks is that of TensorFlow's own
// all-reduce: the chief, then the others.

#include "crew/environment.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/address.h"

// What all functions here need of one member.
struct making {
    struct crew_environment *environment;
    const struct crew_spec *spec;
    const struct cluster_spec *cluster;
    const struct crew_place *places;
    struct crew_seat seat;
    const struct crew_attempt *attempt;
    weft_err err;  // the first failure
};

// Where a member of the cluster stands among all of them.
struct rank {
    uint32_t rank, world;
    uint32_t group, groups;   // instances
    uint32_t cross, crosses;  // among those with the same number in their instances, one of each
    size_t master;            // the number of the member of rank 0
};

void crew_environment_fini(struct crew_environment *environment)
{
    for (size_t i = 0; i < environment->variables.count; i++)
        free(environment->variables.items[i]);
    VEC_FINI(&environment->variables);
}

static weft_err no_memory(void)
{
    return err_no_memory("for the variables of a member");
}

// Takes "NAME=value" from the buf.
static void add(struct making *making, struct buf *text)
{
    char *variable = text->has_failed ? NULL : strdup(buf_text(text));
    if (making->err) {
        free(variable);
    } else if (text->size >= CREW_VARIABLE_BYTES_MAX) {
        making->err =
            err_set(WEFT_INVALID_ARGUMENT,
                    "%.*s would have %zu bytes, and a variable holds no more than %d",
                    (int)strcspn(variable, "="), variable, text->size, CREW_VARIABLE_BYTES_MAX - 1);
        free(variable);
    } else if (!variable || !VEC_PUSH(&making->environment->variables, variable)) {
        making->err = no_memory();
        free(variable);
    }
    buf_fini(text);
}

static bool is_given(const struct making *making, const char *name)
{
    const struct crew_pairs *given = &making->seat.role->variables;
    for (size_t i = 0; i < given->count; i++)
        if (strcmp(given->items[i].name, name) == 0)
            return true;
    return false;
}

static void add_text(struct making *making, const char *name, const char *value)
{
    struct buf text = {0};
    if (is_given(making, name))
        return;
    buf_format(&text, "%s=", name);
    buf_append_text(&text, value);
    add(making, &text);
}

static void add_number(struct making *making, const char *name, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    add_text(making, name, text);
}

// ---- Ranks -----------------------------------------------------------------------------------------------------

static bool is_chief(const struct crew_role *role)
{
    return strcmp(role->name, "chief") == 0 || strcmp(role->name, "master") == 0;
}

static uint32_t members_of(const struct crew_spec *spec, const struct crew_role *role)
{
    return role->instances * crew_role_members_of_instance(spec, role);
}

// `seat` NULL: only the numbers of all.
static struct rank find_rank(const struct crew_spec *spec, const struct crew_seat *seat)
{
    struct rank rank = {.master = SIZE_MAX};
    size_t first = 0;
    bool has_chief = false;
    for (size_t i = 0; i < spec->roles.count; first += members_of(spec, &spec->roles.items[i++])) {
        const struct crew_role *role = &spec->roles.items[i];
        const uint32_t members = members_of(spec, role);
        if (!role->in_cluster || members == 0)
            continue;
        if (seat && role == seat->role) {
            rank.rank += (uint32_t)(seat->number - first);
            rank.group += seat->instance;
            rank.cross += seat->instance;
        } else if (seat && !is_chief(seat->role) && (is_chief(role) || role < seat->role)) {
            rank.rank += members;
            rank.group += role->instances;
            rank.cross += role->processes > seat->process ? role->instances : 0;
        }
        if (rank.master == SIZE_MAX || (is_chief(role) && !has_chief))
            rank.master = first;
        has_chief = has_chief || is_chief(role);
        rank.world += members;
        rank.groups += role->instances;
        rank.crosses += seat && role->processes > seat->process ? role->instances : 0;
    }
    return rank;
}

// The number of the first member of a role; SIZE_MAX: it has none.
static size_t find_first(const struct crew_spec *spec, const char *name)
{
    size_t first = 0;
    for (size_t i = 0; i < spec->roles.count; first += members_of(spec, &spec->roles.items[i++]))
        if (strcmp(spec->roles.items[i].name, name) == 0)
            return members_of(spec, &spec->roles.items[i]) ? first : SIZE_MAX;
    return SIZE_MAX;
}

size_t crew_environment_master(const struct crew_spec *spec)
{
    return find_rank(spec, NULL).master;
}

// ---- The cluster -----------------------------------------------------------------------------------------------

static weft_err add_role(struct cluster_spec *cluster, const struct crew_spec *spec,
                         const struct crew_role *role, const struct crew_place *places)
{
    weft_err err = cluster_spec_add_role(cluster, weft_text(role->name));
    for (uint32_t i = 0; !err && i < members_of(spec, role); i++) {
        const struct crew_place *place = &places[i];
        const uint32_t index = role->fixed.count ? role->fixed.items[i].index : i;
        struct buf address = {0};
        address_append(&address, place->host, place->port);
        err = address.has_failed
                  ? no_memory()
                  : cluster_spec_add_member(cluster, role->name, index, buf_bytes(&address));
        buf_fini(&address);
    }
    return err;
}

// A role that has no members is left out, as TensorFlow would make one of an empty list.
weft_err crew_describe_cluster(struct cluster_spec *cluster, const struct crew_spec *spec,
                               const struct crew_place *places)
{
    size_t first = 0;
    weft_err err = WEFT_OK;
    for (size_t i = 0; !err && i < spec->roles.count; i++) {
        const struct crew_role *role = &spec->roles.items[i];
        if (role->in_cluster && role->instances > 0)
            err = add_role(cluster, spec, role, places + first);
        first += members_of(spec, role);
    }
    cluster->rest = json_incref(spec->rest);
    return err;
}

// ---- Families --------------------------------------------------------------------------------------------------

static void add_tf_config(struct making *making)
{
    const struct crew_role *role = making->seat.role;
    struct buf text = {0};
    if (!role->in_cluster && strcmp(role->name, CREW_ROLE_EVALUATOR) != 0)
        return;
    buf_append_text(&text, "TF_CONFIG=");
    making->err = cluster_spec_write_tf_config(&text, making->cluster, role->name,
                                               making->seat.index, CLUSTER_COMPACT);
    add(making, &text);
}

static void add_identity(struct making *making)
{
    const struct crew_place *place = &making->places[making->seat.number];
    add_text(making, "WEFT_ROLE", making->seat.role->name);
    add_number(making, "WEFT_INDEX", making->seat.index);
    add_text(making, "WEFT_HOST", place->host);
    add_number(making, "WEFT_PORT", place->port);
    add_number(making, "TF_YARN_N_TRY", making->attempt->restarts);
}

// Without it gloo takes the address of the host's own name, which is 127.0.1.1 on many Debian hosts.
static void add_interface(struct making *making, const char *name)
{
    const char *interface = making->places[making->seat.number].interface;
    if (interface)
        add_text(making, name, interface);
}

static void add_torch(struct making *making, const struct rank *rank)
{
    add_text(making, "MASTER_ADDR", making->places[rank->master].host);
    add_number(making, "MASTER_PORT", making->places[rank->master].port);
    add_number(making, "RANK", rank->rank);
    add_number(making, "WORLD_SIZE", rank->world);
    add_number(making, "LOCAL_RANK", making->seat.process);
    add_number(making, "LOCAL_WORLD_SIZE", making->seat.role->processes);
    add_number(making, "NODE_RANK", rank->group);
    add_number(making, "GROUP_RANK", rank->group);
}

// What horovodrun sets. An instance stands for a host: its name is only compared, and two instances may be on one host.
static void add_horovod(struct making *making, const struct rank *rank)
{
    const struct crew_role *role = making->seat.role;
    const size_t meeting = find_first(making->spec, CREW_ROLE_RENDEZVOUS);
    struct buf host = {0};
    buf_format(&host, "%s-%" PRIu32, role->name, making->seat.instance);
    add_text(making, "HOROVOD_HOSTNAME", buf_text(&host));
    buf_fini(&host);
    add_number(making, "HOROVOD_RANK", rank->rank);
    add_number(making, "HOROVOD_SIZE", rank->world);
    add_number(making, "HOROVOD_LOCAL_RANK", making->seat.process);
    add_number(making, "HOROVOD_LOCAL_SIZE", role->processes);
    add_number(making, "HOROVOD_CROSS_RANK", rank->cross);
    add_number(making, "HOROVOD_CROSS_SIZE", rank->crosses);
    add_text(making, "HOROVOD_CONTROLLER", "gloo");
    add_text(making, "HOROVOD_CPU_OPERATIONS", "gloo");
    add_text(making, "HOROVOD_GLOO_RENDEZVOUS_ADDR", making->places[meeting].host);
    add_number(making, "HOROVOD_GLOO_RENDEZVOUS_PORT", making->places[meeting].port);
    add_interface(making, "HOROVOD_GLOO_IFACE");
}

// torchrun reads an option that is not on its command line from PET_ and its name. Exactly one of the agents is the
// host of the rendezvous: otherwise each one compares names of machines, and several on one machine all may match.
static void add_torchrun(struct making *making, const struct rank *rank)
{
    struct buf endpoint = {0};
    address_append(&endpoint, making->places[rank->master].host, making->places[rank->master].port);
    add_number(making, "PET_NNODES", rank->groups);
    add_number(making, "PET_NPROC_PER_NODE", making->seat.role->processes);
    add_number(making, "PET_NODE_RANK", rank->group);
    add_text(making, "PET_RDZV_BACKEND", "c10d");
    add_text(making, "PET_RDZV_ENDPOINT", buf_text(&endpoint));
    add_text(making, "PET_RDZV_ID", making->attempt->run ? making->attempt->run : "weft");
    add_text(making, "PET_RDZV_CONF", rank->rank == 0 ? "is_host=1" : "is_host=0");
    add_text(making, "PET_LOCAL_ADDR", making->places[making->seat.number].host);
    buf_fini(&endpoint);
}

// Items from..to of a list with commas.
static void cut_list(struct buf *cut, const char *list, uint32_t from, uint32_t to)
{
    for (uint32_t i = 0; i < to && *list; i++) {
        const size_t length = strcspn(list, ",");
        if (i >= from && cut->size > 0)
            buf_append_text(cut, ",");
        if (i >= from)
            buf_append(cut, list, length);
        list += length + (list[length] == ',');
    }
}

// TensorFlow takes all GPUs that it sees, so each process of an instance sees its own share. Other programs choose by
// LOCAL_RANK among those of the whole instance.
static void add_gpus(struct making *making)
{
    const struct crew_role *role = making->seat.role;
    const char *gpus = making->places[making->seat.number].gpus;
    const bool is_asked = role->given >> CREW_GPUS & 1;
    const bool is_shared = making->spec->preset >= CREW_PRESET_SINGLE &&
                           making->spec->preset <= CREW_PRESET_ALLREDUCE && role->processes > 1;
    uint32_t from = 0, to = role->gpus;
    struct buf list = {0};
    if (!is_asked || (role->gpus > 0 && !gpus))
        return;
    if (is_shared) {
        from = role->gpus * making->seat.process / role->processes;
        to = role->gpus * (making->seat.process + 1) / role->processes;
    }
    if (from < to)
        cut_list(&list, gpus, from, to);
    add_text(making, "CUDA_VISIBLE_DEVICES", list.size > 0 ? buf_text(&list) : "-1");
    buf_fini(&list);
}

static void add_given(struct making *making)
{
    const struct crew_pairs *given = &making->seat.role->variables;
    for (size_t i = 0; i < given->count; i++) {
        struct buf text = {0};
        buf_format(&text, "%s=", given->items[i].name);
        buf_append_text(&text, given->items[i].value);
        add(making, &text);
    }
}

static void add_ranks(struct making *making)
{
    const struct rank rank = find_rank(making->spec, &making->seat);
    if (!making->seat.role->in_cluster)
        return;
    add_interface(making, "GLOO_SOCKET_IFNAME");
    if (making->spec->preset == CREW_PRESET_TORCHRUN)
        add_torchrun(making, &rank);
    else
        add_torch(making, &rank);
    if (making->spec->preset == CREW_PRESET_HOROVOD)
        add_horovod(making, &rank);
}

static weft_err end(struct crew_environment *environment)
{
    if (!VEC_NEXT(&environment->variables))
        return no_memory();
    environment->variables.items[environment->variables.count] = NULL;
    return WEFT_OK;
}

weft_err crew_environment_add(struct crew_environment *environment, const char *variable)
{
    char *copy = strdup(variable);
    if (copy && VEC_PUSH(&environment->variables, copy))
        return end(environment);
    free(copy);
    return no_memory();
}

weft_err crew_environment_make(struct crew_environment *environment, const struct crew_spec *spec,
                               const struct cluster_spec *cluster, const struct crew_place *places,
                               size_t member, const struct crew_attempt *attempt)
{
    struct making making = {.environment = environment,
                            .spec = spec,
                            .cluster = cluster,
                            .places = places,
                            .seat = crew_spec_seat(spec, member),
                            .attempt = attempt};
    add_tf_config(&making);
    add_identity(&making);
    add_ranks(&making);
    add_gpus(&making);
    add_given(&making);
    if (!making.err)
        making.err = end(environment);
    if (making.err)
        crew_environment_fini(environment);
    return making.err;
}
