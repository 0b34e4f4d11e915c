// What the files of spec share among themselves.
#ifndef CREW_SPEC_SPEC_STATE_H
#define CREW_SPEC_SPEC_STATE_H

#include "crew/spec/spec.h"

#include <stddef.h>

enum spec_kind {
    SPEC_COUNT,
    SPEC_SIZE,
    SPEC_TEXT,
    SPEC_TRUTH,
    SPEC_COMMAND,
    SPEC_VARIABLES,
    SPEC_AMOUNTS,
    SPEC_FILES,
    SPEC_ADDRESSES,
};

struct spec_field {
    const char *key, *flag;
    enum spec_kind kind;
    bool is_shared;  // may be said for all roles
    size_t offset;   // in struct crew_role
    uint64_t minimum, maximum;
};

extern const struct spec_field spec_fields[CREW_FIELD_COUNT];

// A list of names with values, which roles and flags add to.
static inline bool spec_is_list_of_pairs(enum spec_kind kind)
{
    return kind == SPEC_VARIABLES || kind == SPEC_AMOUNTS || kind == SPEC_FILES;
}

static inline void *spec_field_at(struct crew_role *role, enum crew_field field)
{
    return (char *)role + spec_fields[field].offset;
}

static inline bool spec_is_given(const struct crew_role *role, enum crew_field field)
{
    return role->given >> field & 1;
}

void spec_role_fini(struct crew_role *role);
MUST_CHECK weft_err spec_no_memory(void);

// A new role at the end; its name is checked, and must not be there yet. NULL: this thread's error says why.
struct crew_role *spec_add_role(struct crew_spec *spec, const char *name);

// ---- Values (spec_value.c) -----------------------------------------------------------------------------------

// Sets a field from JSON, or from the text of a flag. A list takes the place of the
// one before; a pair takes the place of the one with its name.
MUST_CHECK weft_err spec_set_json(struct crew_role *role, enum crew_field field,
                                  const struct json_t *value);
MUST_CHECK weft_err spec_set_text(struct crew_role *role, enum crew_field field, const char *text);

// Copies a field that `to` does not have from `from`, where it is given; of pairs, those whose names `to` does not have.
MUST_CHECK weft_err spec_copy_missing(struct crew_role *to, const struct crew_role *from,
                                      enum crew_field field);

// Names and texts or numbers, of a launcher.
MUST_CHECK weft_err spec_set_settings(struct crew_pairs *settings, const struct json_t *value);

MUST_CHECK weft_err spec_words_add(struct crew_words *words, const char *word);
void spec_words_fini(struct crew_words *words);

// Sets the sentence for a word that is none of `names` (ends with NULL), with a guess.
MUST_CHECK weft_err spec_refuse_word(const char *what, const char *word, const char *const *names);

// ---- Presets (spec_preset.c) ---------------------------------------------------------------------------------

// Adds the roles that a preset has, and completes those that are there.
MUST_CHECK weft_err spec_apply_preset(struct crew_spec *spec);

// Adds TensorBoard's role where there is a directory for it; gives it what the user does not say of it.
MUST_CHECK weft_err spec_add_tensorboard(struct crew_spec *spec);
MUST_CHECK weft_err spec_complete_tensorboard(struct crew_spec *spec);
MUST_CHECK weft_err spec_check_preset(const struct crew_spec *spec);
extern const char *const spec_preset_names[];  // by enum crew_preset - 1; ends with NULL

// ---- Checks (spec_check.c) -----------------------------------------------------------------------------------

MUST_CHECK weft_err spec_check(const struct crew_spec *spec);
MUST_CHECK weft_err spec_check_variable(const char *name);
MUST_CHECK weft_err spec_check_target(const char *target);

#endif
