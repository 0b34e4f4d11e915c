// Presets: the roles of common ways to train, with the usual values of each. Values that the user gives win.

#include <stdlib.h>
#include <string.h>

#include "crew/spec/spec_state.h"

const char *const spec_preset_names[] = {"single", "ps", "allreduce", "torchrun", "horovod", NULL};

// What a preset knows of a role. Instances: 0 for a role that is only completed when the user has it.
static const struct usual {
    enum crew_preset preset;
    const char *role;
    uint32_t instances;
    bool is_awaited;
} usuals[] = {
    {CREW_PRESET_SINGLE, "chief", 1, true},
    {CREW_PRESET_SINGLE, CREW_ROLE_EVALUATOR, 1, true},
    // TensorFlow's workers and parameter servers serve forever; the chief's end is the end.
    {CREW_PRESET_PS, "chief", 1, true},
    {CREW_PRESET_PS, "worker", 2, false},
    {CREW_PRESET_PS, "ps", 1, false},
    {CREW_PRESET_PS, CREW_ROLE_EVALUATOR, 0, true},
    {CREW_PRESET_ALLREDUCE, "chief", 0, true},
    {CREW_PRESET_ALLREDUCE, "worker", 2, true},
    {CREW_PRESET_TORCHRUN, "worker", 2, true},
    {CREW_PRESET_HOROVOD, "chief", 0, true},
    {CREW_PRESET_HOROVOD, "worker", 2, true},
    // Where the processes meet. It serves until all others have ended.
    {CREW_PRESET_HOROVOD, CREW_ROLE_RENDEZVOUS, 1, false},
};

const char *crew_preset_name(enum crew_preset preset)
{
    return preset ? spec_preset_names[preset - 1] : "none";
}

weft_err crew_spec_set_preset(struct crew_spec *spec, const char *name)
{
    enum crew_preset preset = CREW_PRESET_NONE;
    for (size_t i = 0; spec_preset_names[i]; i++)
        if (strcmp(spec_preset_names[i], name) == 0)
            preset = (enum crew_preset)(i + 1);
    if (!preset)
        return spec_refuse_word("a preset", name, spec_preset_names);
    if (spec->preset && spec->preset != preset)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "there are two presets, %s and %s\n  leave one of them out",
                       crew_preset_name(spec->preset), name);
    spec->preset = preset;
    return WEFT_OK;
}

static void complete(struct crew_role *role, const struct usual *usual)
{
    if (!spec_is_given(role, CREW_INSTANCES))
        role->instances = usual->instances ? usual->instances : 1;
    if (!spec_is_given(role, CREW_AWAITED))
        role->is_awaited = usual->is_awaited;
    role->given |= 1U << CREW_INSTANCES | 1U << CREW_AWAITED;
}

// Every host has the program that members can call, whether weft is installed there or not.
static weft_err set_rendezvous(struct crew_role *role)
{
    static const char *const words[] = {"sh", "-c", "exec \"$WEFT_PROGRAM\" rendezvous"};
    weft_err err = WEFT_OK;
    if (!spec_is_given(role, CREW_IN_CLUSTER))
        role->in_cluster = false;
    role->given |= 1U << CREW_IN_CLUSTER;
    for (size_t i = 0; !err && !spec_is_given(role, CREW_COMMAND) && i < 3; i++)
        err = spec_words_add(&role->command, words[i]);
    role->given |= 1U << CREW_COMMAND;
    return err;
}

weft_err spec_apply_preset(struct crew_spec *spec)
{
    for (size_t i = 0; i < sizeof usuals / sizeof *usuals; i++) {
        const struct usual *usual = &usuals[i];
        if (usual->preset != spec->preset)
            continue;
        struct crew_role *role = crew_spec_find_role(spec, usual->role);
        if (!role && usual->instances > 0) {
            role = spec_add_role(spec, usual->role);
            if (!role)
                return WEFT_RESOURCE_EXHAUSTED;
        }
        if (role)
            complete(role, usual);
        if (role && strcmp(usual->role, CREW_ROLE_RENDEZVOUS) == 0 && set_rendezvous(role))
            return WEFT_RESOURCE_EXHAUSTED;
    }
    return WEFT_OK;
}

// ---- TensorBoard -------------------------------------------------------------------------------------------------

// The port is not known before there is a place for it. A failure of TensorBoard does not fail the run.
#define TENSORBOARD                                                                                \
    "exec tensorboard --logdir \"$1\" --host \"$WEFT_HOST\" --port \"$WEFT_PORT\" "                \
    "--reload_interval 5"

static weft_err set_command(struct crew_role *role, const char *directory)
{
    const char *const words[] = {"sh", "-c", TENSORBOARD, CREW_ROLE_TENSORBOARD, directory};
    weft_err err = WEFT_OK;
    for (size_t i = 0; !err && i < sizeof words / sizeof *words; i++)
        err = spec_words_add(&role->command, words[i]);
    role->given |= 1U << CREW_COMMAND;
    return err;
}

static void set_truth(struct crew_role *role, enum crew_field field, bool *at)
{
    if (!spec_is_given(role, field))
        *at = field == CREW_MAY_FAIL;
    role->given |= 1U << field;
}

weft_err spec_add_tensorboard(struct crew_spec *spec)
{
    const bool is_missing = spec->tensorboard && !crew_spec_find_role(spec, CREW_ROLE_TENSORBOARD);
    return is_missing && !spec_add_role(spec, CREW_ROLE_TENSORBOARD) ? WEFT_RESOURCE_EXHAUSTED
                                                                     : WEFT_OK;
}

weft_err spec_complete_tensorboard(struct crew_spec *spec)
{
    struct crew_role *role = crew_spec_find_role(spec, CREW_ROLE_TENSORBOARD);
    if (!role)
        return WEFT_OK;
    set_truth(role, CREW_AWAITED, &role->is_awaited);
    set_truth(role, CREW_IN_CLUSTER, &role->in_cluster);
    set_truth(role, CREW_MAY_FAIL, &role->may_fail);
    if (spec_is_given(role, CREW_COMMAND))
        return WEFT_OK;
    if (!spec->tensorboard)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "the role tensorboard has nothing to show\n"
                       "  try: --tensorboard DIR, or \"tensorboard\": DIR beside \"roles\"");
    return set_command(role, spec->tensorboard);
}

// ---- Rules -------------------------------------------------------------------------------------------------------

static uint32_t count_instances(const struct crew_spec *spec, const char *name)
{
    const struct crew_role *role = crew_spec_find_role(spec, name);
    return role ? role->instances : 0;
}

static weft_err need_one_chief(const struct crew_spec *spec)
{
    const struct crew_role *chief = crew_spec_find_role(spec, "chief");
    if (chief && chief->instances == 1 && chief->processes == 1)
        return WEFT_OK;
    return err_set(WEFT_INVALID_ARGUMENT, "the preset %s has one chief, with one process",
                   crew_preset_name(spec->preset));
}

static weft_err need_some(const struct crew_spec *spec, const char *role)
{
    if (count_instances(spec, role) > 0)
        return WEFT_OK;
    return err_set(WEFT_INVALID_ARGUMENT, "the preset %s needs at least one %s\n  try: --role %s=1",
                   crew_preset_name(spec->preset), role, role);
}

static weft_err refuse_ps(const struct crew_spec *spec)
{
    if (count_instances(spec, "ps") == 0)
        return WEFT_OK;
    return err_set(WEFT_INVALID_ARGUMENT,
                   "the preset %s has no parameter servers\n  try: --preset ps",
                   crew_preset_name(spec->preset));
}

weft_err spec_check_preset(const struct crew_spec *spec)
{
    weft_err err = WEFT_OK;
    switch (spec->preset) {
    case CREW_PRESET_NONE:
        return WEFT_OK;
    case CREW_PRESET_SINGLE:
        return need_one_chief(spec);
    case CREW_PRESET_PS:
        err = need_one_chief(spec);
        if (!err)
            err = need_some(spec, "worker");
        return err ? err : need_some(spec, "ps");
    case CREW_PRESET_ALLREDUCE:
        err = crew_spec_find_role(spec, "chief") ? need_one_chief(spec) : WEFT_OK;
        return err ? err : refuse_ps(spec);
    case CREW_PRESET_TORCHRUN:
        return refuse_ps(spec);
    case CREW_PRESET_HOROVOD:
        err = refuse_ps(spec);
        return err ? err : need_some(spec, CREW_ROLE_RENDEZVOUS);
    }
    return err;
}
