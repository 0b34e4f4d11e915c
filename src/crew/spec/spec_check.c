// What could not run, or not as it was meant, is refused before anything starts.

#include <inttypes.h>
#include <string.h>

#include "crew/spec/spec_state.h"

// The names that each member finds, and that other programs rely on: weft writes them itself.
weft_err spec_check_variable(const char *name)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
    const bool is_name = *name && !name[strspn(name, letters)] && (*name < '0' || *name > '9');
    if (!is_name)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "%s is not the name of a variable\n"
                       "  a name has letters, digits and _, and no digit first",
                       role_quote(weft_text(name)).text);
    if (strcmp(name, "TF_CONFIG") == 0 || strncmp(name, "WEFT_", 5) == 0)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "%s is set by weft\n  leave it out, or give the variable another name",
                       name);
    return WEFT_OK;
}

// A name in the directory of the run: nothing above it, nothing outside of it.
weft_err spec_check_target(const char *target)
{
    bool is_fine = *target && *target != '/' && strlen(target) < 4096;
    for (const char *part = target; is_fine && part;) {
        const size_t length = strcspn(part, "/");
        is_fine = length > 0 && !(length == 1 && part[0] == '.') &&
                  !(length == 2 && part[0] == '.' && part[1] == '.');
        part = part[length] ? part + length + 1 : NULL;
    }
    if (is_fine)
        return WEFT_OK;
    return err_set(WEFT_INVALID_ARGUMENT,
                   "%s is not the name of a file in the directory of the run\n"
                   "  try: NAME=PATH with a name without .. and without / in front",
                   role_quote(weft_text(target)).text);
}

static weft_err check_command(const struct crew_role *role)
{
    if (role->command.count > 0 || role->instances == 0)
        return WEFT_OK;
    return err_set(WEFT_INVALID_ARGUMENT,
                   "no program is named for the role %s\n"
                   "  try: PROGRAM after the options, or \"command\": [\"python3\", \"train.py\"]",
                   role->name);
}

static weft_err check_fixed(const struct crew_role *role)
{
    if (role->fixed.count == 0 || role->fixed.count == role->instances)
        return role->fixed.count && role->processes > 1
                   ? err_set(WEFT_INVALID_ARGUMENT,
                             "roles.%s: an instance with its own address has one process",
                             role->name)
                   : WEFT_OK;
    return err_set(WEFT_INVALID_ARGUMENT,
                   "roles.%s: it has %" PRIu32 " instances and %zu addresses", role->name,
                   role->instances, role->fixed.count);
}

// Rules between the values of one role.
static weft_err check_role(const struct crew_role *role)
{
    weft_err err = check_command(role);
    if (!err)
        err = check_fixed(role);
    if (!err && role->cpus > 0 && role->processes > role->cpus)
        err = err_set(WEFT_INVALID_ARGUMENT,
                      "roles.%s: %" PRIu32 " processes would share %" PRIu32
                      " cpus\n  try: as many cpus as processes, or more",
                      role->name, role->processes, role->cpus);
    return err;
}

// TensorFlow knows one chief, under this name or the older one.
static weft_err check_chief(const struct crew_spec *spec)
{
    const struct crew_role *chief = crew_spec_find_role(spec, "chief");
    const struct crew_role *master = crew_spec_find_role(spec, "master");
    const bool has_both = chief && master && chief->in_cluster && master->in_cluster &&
                          chief->instances > 0 && master->instances > 0;
    return has_both ? err_set(WEFT_INVALID_ARGUMENT,
                              "there is a chief and a master\n  TensorFlow knows one of them")
                    : WEFT_OK;
}

// All members of a machine share the directory of the run.
static weft_err check_files(const struct crew_role *a, const struct crew_role *b)
{
    for (size_t i = 0; i < a->files.count; i++)
        for (size_t k = 0; k < b->files.count; k++)
            if (strcmp(a->files.items[i].name, b->files.items[k].name) == 0 &&
                strcmp(a->files.items[i].value, b->files.items[k].value) != 0)
                return err_set(
                    WEFT_INVALID_ARGUMENT,
                    "the roles %s and %s have two different files by the name %s\n"
                    "  they share a directory: try \"files\": {\"NAME\": PATH} with two names",
                    a->name, b->name, role_quote(weft_text(a->files.items[i].name)).text);
    return WEFT_OK;
}

static weft_err check_counts(const struct crew_spec *spec)
{
    uint64_t members = 0, awaited = 0;
    for (size_t i = 0; i < spec->roles.count; i++) {
        const struct crew_role *role = &spec->roles.items[i];
        const uint64_t count = (uint64_t)role->instances * role->processes;
        members += count;
        awaited += role->is_awaited ? count : 0;
    }
    if (members == 0)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "no role has an instance\n  try: --role worker=2, or \"roles\": "
                       "{\"worker\": 2}");
    if (members > CLUSTER_MEMBERS_MAX)
        return err_set(WEFT_INVALID_ARGUMENT, "there would be %" PRIu64 " members, and %d can be",
                       members, CLUSTER_MEMBERS_MAX);
    if (awaited == 0)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "no role is awaited, so the run would be over at once\n"
                       "  try: --until ROLE, or leave \"awaited\": false out of one role");
    return WEFT_OK;
}

weft_err spec_check(const struct crew_spec *spec)
{
    weft_err err = WEFT_OK;
    for (size_t i = 0; !err && i < spec->roles.count; i++)
        err = check_role(&spec->roles.items[i]);
    for (size_t i = 0; !err && i < spec->roles.count; i++)
        for (size_t k = 0; !err && k < i; k++)
            err = check_files(&spec->roles.items[k], &spec->roles.items[i]);
    if (!err)
        err = spec_check_preset(spec);
    if (!err)
        err = check_chief(spec);
    return err ? err : check_counts(spec);
}
