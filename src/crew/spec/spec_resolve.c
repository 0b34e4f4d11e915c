// Putting a description together, from flags for one role, flags for all, the role in the file, the file for all roles,
// the preset, and defaults. The first of these that has a value wins.

#include <stdlib.h>
#include <string.h>

#include "crew/spec/spec_state.h"

// ---- Flags -----------------------------------------------------------------------------------------------------

// Where the value of a flag begins, and the role in front of it; *role NULL: it is for all roles. A file or variable
// has the role in front of a ':', and only if there is such a role: its own text may contain any character.
static weft_err split_flag(const struct crew_spec *spec, const struct crew_flag *flag,
                           struct crew_role **role, const char **value)
{
    const struct spec_field *field = &spec_fields[flag->field];
    const bool is_pair = spec_is_list_of_pairs(field->kind);
    const char *end = strpbrk(flag->text, is_pair ? ":=" : "=");
    *role = NULL;
    *value = flag->text;
    if (!end || *end != (is_pair ? ':' : '='))
        return WEFT_OK;
    const weft_bytes name = {flag->text, (size_t)(end - flag->text)};
    char word[ROLE_BYTES_MAX + 1] = "";
    if (name.size < sizeof word && role_is_name(name))
        memcpy(word, name.data, name.size);
    *role = *word ? crew_spec_find_role(spec, word) : NULL;
    if (*role) {
        *value = end + 1;
        return WEFT_OK;
    }
    // A path, a command or a constraint may well have the character.
    const bool is_free =
        field->kind == SPEC_FILES || field->kind == SPEC_TEXT || field->kind == SPEC_COMMAND;
    if (is_free)
        return WEFT_OK;
    const char *names[CREW_SPEC_ROLES_MAX + 1] = {0};
    for (size_t i = 0; i < spec->roles.count; i++)
        names[i] = spec->roles.items[i].name;
    struct buf text = {0};
    buf_append(&text, name.data, name.size);
    const weft_err err = spec_refuse_word("a role of this run", buf_text(&text), names);
    buf_fini(&text);
    return err;
}

// A value for all roles is meant for the programs that train. TensorBoard takes its surroundings from it, not its size, and the place
// where programs meet, which is a program of ours, nothing.
static bool reaches(const struct crew_spec *spec, const struct crew_role *role,
                    enum crew_field field)
{
    if (spec->preset == CREW_PRESET_HOROVOD && strcmp(role->name, CREW_ROLE_RENDEZVOUS) == 0)
        return false;
    return strcmp(role->name, CREW_ROLE_TENSORBOARD) != 0 || field == CREW_ENV ||
           field == CREW_ARCHIVE || field == CREW_PRE_SCRIPT;
}

static weft_err apply_flag(struct crew_spec *spec, const struct crew_flag *flag, bool is_for_all)
{
    struct crew_role *role;
    const char *value;
    weft_err err = split_flag(spec, flag, &role, &value);
    if (!err && role && !is_for_all)
        err = spec_set_text(role, flag->field, value);
    for (size_t i = 0; !err && !role && is_for_all && i < spec->roles.count; i++)
        if (reaches(spec, &spec->roles.items[i], flag->field))
            err = spec_set_text(&spec->roles.items[i], flag->field, value);
    return err_wrap(err, "--%s %s", spec_fields[flag->field].flag, flag->text);
}

static weft_err apply_until(struct crew_spec *spec, const struct crew_flags *flags)
{
    for (size_t i = 0; flags->until.count > 0 && i < spec->roles.count; i++) {
        spec->roles.items[i].is_awaited = false;
        spec->roles.items[i].given |= 1U << CREW_AWAITED;
    }
    for (size_t i = 0; i < flags->until.count; i++) {
        struct crew_role *role = crew_spec_find_role(spec, flags->until.items[i]);
        if (!role)
            return err_set(WEFT_INVALID_ARGUMENT, "--until: there is no role %s",
                           flags->until.items[i]);
        role->is_awaited = true;
    }
    return WEFT_OK;
}

static weft_err apply_flags(struct crew_spec *spec, const struct crew_flags *flags)
{
    weft_err err = WEFT_OK;
    for (size_t i = 0; !err && i < flags->items.count; i++)
        err = apply_flag(spec, &flags->items.items[i], true);
    for (size_t i = 0; !err && i < flags->items.count; i++)
        err = apply_flag(spec, &flags->items.items[i], false);
    return err;
}

// ---- The rest --------------------------------------------------------------------------------------------------

// The program of the command line is for roles that have none of their own, and wins over that of the file for all.
static weft_err apply_program(struct crew_spec *spec, const struct crew_flags *flags)
{
    bool is_used = false;
    for (size_t i = 0; flags->program && i < spec->roles.count; i++) {
        struct crew_role *role = &spec->roles.items[i];
        if (spec_is_given(role, CREW_COMMAND) || !reaches(spec, role, CREW_COMMAND))
            continue;
        weft_err err = WEFT_OK;
        for (size_t k = 0; !err && flags->program[k]; k++)
            err = spec_words_add(&role->command, flags->program[k]);
        if (err)
            return err;
        role->given |= 1U << CREW_COMMAND;
        is_used = true;
    }
    if (!flags->program || is_used)
        return WEFT_OK;
    return err_set(WEFT_INVALID_ARGUMENT,
                   "%s would not run: every role has a command of its own\n"
                   "  leave it out, or the commands of the description",
                   role_quote(weft_text(flags->program[0])).text);
}

static weft_err apply_shared(struct crew_spec *spec)
{
    weft_err err = WEFT_OK;
    for (size_t i = 0; !err && i < spec->roles.count; i++) {
        struct crew_role *role = &spec->roles.items[i];
        for (int field = 0; !err && field < CREW_FIELD_COUNT; field++)
            if (spec_fields[field].is_shared && reaches(spec, role, (enum crew_field)field))
                err = spec_copy_missing(role, &spec->all, (enum crew_field)field);
    }
    return err;
}

static void apply_defaults(struct crew_role *role)
{
    const bool is_beside = strcmp(role->name, CREW_ROLE_EVALUATOR) == 0;
    if (role->fixed.count > 0 && !spec_is_given(role, CREW_INSTANCES))
        role->instances = (uint32_t)role->fixed.count;
    else if (!spec_is_given(role, CREW_INSTANCES))
        role->instances = 1;
    if (!spec_is_given(role, CREW_PROCESSES))
        role->processes = 1;
    if (!spec_is_given(role, CREW_IN_CLUSTER))
        role->in_cluster = !is_beside;
    if (!spec_is_given(role, CREW_AWAITED))
        role->is_awaited = true;
}

// exec wants a NULL at the end of the words.
static weft_err end_command(struct crew_words *words)
{
    if (words->count > 0 && !VEC_NEXT(words))
        return spec_no_memory();
    if (words->count > 0)
        words->items[words->count] = NULL;
    return WEFT_OK;
}

weft_err crew_spec_resolve(struct crew_spec *spec, const struct crew_flags *flags)
{
    ASSERT(!spec->is_resolved);
    weft_err err = spec_apply_preset(spec);
    if (!err)
        err = spec_add_tensorboard(spec);
    if (!err)
        err = apply_flags(spec, flags);
    if (!err)
        err = spec_complete_tensorboard(spec);
    if (!err)
        err = apply_program(spec, flags);
    if (!err)
        err = apply_shared(spec);
    for (size_t i = 0; i < spec->roles.count; i++)
        apply_defaults(&spec->roles.items[i]);
    if (!err)
        err = apply_until(spec, flags);
    if (!err)
        err = spec_check(spec);
    for (size_t i = 0; !err && i < spec->roles.count; i++)
        err = end_command(&spec->roles.items[i].command);
    spec->is_resolved = !err;
    return err;
}
