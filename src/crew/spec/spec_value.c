// One value of a role, from JSON or from the text of a flag. Both are strict: a typo in a size must not become
// another size.

#include <ctype.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/args.h"
#include "base/json.h"
#include "base/text.h"
#include "cluster/address.h"
#include "crew/spec/spec_state.h"

#define SPEC_FIELD_SHARED(name, flag_name, of_kind, shared, field, lowest, highest)                \
    {.key = (name),                                                                                \
     .flag = (flag_name),                                                                          \
     .kind = SPEC_##of_kind,                                                                       \
     .is_shared = (shared),                                                                        \
     .offset = offsetof(struct crew_role, field),                                                  \
     .minimum = (lowest),                                                                          \
     .maximum = (highest)},
#define SPEC_FIELD(id, key, flag, kind, field, minimum, maximum)                                   \
    SPEC_FIELD_SHARED(key, flag, kind, false, field, minimum, maximum)
#define SPEC_SHARED(id, key, flag, kind, field, minimum, maximum)                                  \
    SPEC_FIELD_SHARED(key, flag, kind, true, field, minimum, maximum)
const struct spec_field spec_fields[CREW_FIELD_COUNT] = {
#include "crew/spec/spec_fields.def"
};
#undef SPEC_FIELD
#undef SPEC_SHARED

weft_err spec_refuse_word(const char *what, const char *word, const char *const *names)
{
    const char *guess = args_guess(word, names);
    if (guess)
        return err_set(WEFT_INVALID_ARGUMENT, "%s is not %s\n  did you mean %s?",
                       role_quote(weft_text(word)).text, what, guess);
    struct buf list = {0};
    for (; *names; names++)
        buf_format(&list, "%s%s", list.size ? ", " : "", *names);
    const weft_err err = err_set(WEFT_INVALID_ARGUMENT, "%s is not %s\n  there are: %s",
                                 role_quote(weft_text(word)).text, what, buf_text(&list));
    buf_fini(&list);
    return err;
}

// ---- Numbers and sizes -----------------------------------------------------------------------------------

static weft_err refuse_count(const struct spec_field *field, const char *given)
{
    return err_set(WEFT_INVALID_ARGUMENT, "%s is not a whole number from %" PRIu64 " to %" PRIu64,
                   given, field->minimum, field->maximum);
}

static weft_err set_count(struct crew_role *role, const struct spec_field *field, uint64_t count,
                          bool is_number, const char *given)
{
    if (!is_number || count < field->minimum || count > field->maximum)
        return refuse_count(field, given);
    const uint32_t value = (uint32_t)count;
    memcpy((char *)role + field->offset, &value, sizeof value);
    return WEFT_OK;
}

// "2G", and "2 GiB" as users of Hadoop write it. A bare number is refused: it means bytes to one reader and MiB to another.
static weft_err set_size(struct crew_role *role, const struct spec_field *field, const char *text)
{
    char packed[64];
    size_t length = 0;
    const char *at = text;
    for (; *at && length + 1 < sizeof packed; at++)
        if (*at != ' ' || length == 0 || !isalpha((unsigned char)at[1]))
            packed[length++] = *at;
    packed[length] = 0;
    uint64_t size;
    const bool has_unit = length > 0 && (packed[length - 1] < '0' || packed[length - 1] > '9');
    if (*at || !text_read_size(packed, &size))
        return err_set(WEFT_INVALID_ARGUMENT,
                       "%s is not a size\n  a size is written 512M, 2G or 1.5G",
                       role_quote(weft_text(text)).text);
    if (!has_unit)
        return err_set(WEFT_INVALID_ARGUMENT, "the size %s has no unit\n  write: %sM or %sG",
                       packed, packed, packed);
    if (size < field->minimum || size > field->maximum)
        return err_set(WEFT_INVALID_ARGUMENT, "%s is not a useful size\n  the smallest is 1M",
                       packed);
    memcpy((char *)role + field->offset, &size, sizeof size);
    return WEFT_OK;
}

static weft_err set_word(struct crew_role *role, const struct spec_field *field, const char *text)
{
    if (!*text)
        return err_set(WEFT_INVALID_ARGUMENT, "it is empty\n  leave it out instead");
    return crew_spec_set_text((char **)((char *)role + field->offset), text);
}

// ---- Lists -----------------------------------------------------------------------------------------------------

weft_err spec_words_add(struct crew_words *words, const char *word)
{
    if (words->count == CREW_SPEC_LIST_MAX)
        return err_set(WEFT_INVALID_ARGUMENT, "it has more than %d words", CREW_SPEC_LIST_MAX);
    char *copy = strdup(word);
    if (copy && VEC_PUSH(words, copy))
        return WEFT_OK;
    free(copy);
    return spec_no_memory();
}

void spec_words_fini(struct crew_words *words)
{
    for (size_t i = 0; i < words->count; i++)
        free(words->items[i]);
    VEC_FINI(words);
}

static weft_err set_shell_command(struct crew_words *words, const char *text)
{
    if (!text[strspn(text, " \t\n")])
        return err_set(WEFT_INVALID_ARGUMENT, "the command is empty");
    spec_words_fini(words);
    weft_err err = spec_words_add(words, "sh");
    if (!err)
        err = spec_words_add(words, "-c");
    return err ? err : spec_words_add(words, text);
}

static struct crew_pair *find_pair(const struct crew_pairs *pairs, const char *name)
{
    for (size_t i = 0; i < pairs->count; i++)
        if (strcmp(pairs->items[i].name, name) == 0)
            return &pairs->items[i];
    return NULL;
}

static weft_err set_pair(struct crew_pairs *pairs, const char *name, const char *value)
{
    struct crew_pair *there = find_pair(pairs, name);
    if (there)
        return crew_spec_set_text(&there->value, value);
    if (pairs->count == CREW_SPEC_LIST_MAX)
        return err_set(WEFT_INVALID_ARGUMENT, "there are more than %d", CREW_SPEC_LIST_MAX);
    const struct crew_pair pair = {strdup(name), strdup(value)};
    if (pair.name && pair.value && VEC_PUSH(pairs, pair))
        return WEFT_OK;
    free(pair.name);
    free(pair.value);
    return spec_no_memory();
}

static weft_err set_variable(struct crew_pairs *pairs, const char *name, const char *value)
{
    const weft_err err = spec_check_variable(name);
    return err ? err : set_pair(pairs, name, value);
}

static const uint64_t amount_max = INT64_MAX;

static weft_err set_amount(struct crew_pairs *pairs, const char *name, const char *value)
{
    uint64_t count = 0;
    if (!*name || strpbrk(name, " ,=:"))
        return err_set(WEFT_INVALID_ARGUMENT,
                       "%s is not the name of a resource\n  try: yarn.io/fpga",
                       role_quote(weft_text(name)).text);
    if (!text_read_count(value, amount_max, &count))
        return err_set(WEFT_INVALID_ARGUMENT, "%s: %s is not a number from 1", name,
                       role_quote(weft_text(value)).text);
    return set_pair(pairs, name, value);
}

static weft_err set_setting(struct crew_pairs *pairs, const char *name, const char *value)
{
    if (!*name)
        return err_set(WEFT_INVALID_ARGUMENT, "a setting has no name\n  write: NAME=VALUE");
    return set_pair(pairs, name, value);
}

static weft_err set_file(struct crew_pairs *pairs, const char *target, const char *path)
{
    if (!*path)
        return err_set(WEFT_INVALID_ARGUMENT, "the path of a file is empty");
    const weft_err err = spec_check_target(target);
    return err ? err : set_pair(pairs, target, path);
}

// A path by itself keeps its last name.
static weft_err set_file_by_path(struct crew_pairs *pairs, const char *path)
{
    char *copy = strdup(path);
    if (!copy)
        return spec_no_memory();
    size_t length = strlen(copy);
    while (length > 1 && copy[length - 1] == '/')
        copy[--length] = 0;
    const char *slash = strrchr(copy, '/');
    const weft_err err = set_file(pairs, slash ? slash + 1 : copy, path);
    free(copy);
    return err;
}

// ---- From JSON -------------------------------------------------------------------------------------------------

static weft_err expect(const json_t *value, const char *wanted)
{
    return err_set(WEFT_INVALID_ARGUMENT, "it is %s where %s is expected", json_type_text(value),
                   wanted);
}

static weft_err json_command(struct crew_words *words, const json_t *value)
{
    if (json_is_string(value))
        return set_shell_command(words, json_string_value(value));
    if (!json_is_array(value))
        return expect(value, "a list of words, or a text for sh,");
    if (json_array_size(value) == 0 || !json_string_length(json_array_get(value, 0)))
        return err_set(WEFT_INVALID_ARGUMENT,
                       "it names no program\n  try: [\"python3\", \"train.py\"]");
    spec_words_fini(words);
    weft_err err = WEFT_OK;
    for (size_t i = 0; !err && i < json_array_size(value); i++) {
        const json_t *word = json_array_get(value, i);
        err = json_is_string(word) ? spec_words_add(words, json_string_value(word))
                                   : expect(word, "a text");
        if (err)
            err = err_wrap(err, "word %zu", i + 1);
    }
    return err;
}

typedef weft_err set_pair_fn(struct crew_pairs *pairs, const char *name, const char *value);

static weft_err json_pairs(struct crew_pairs *pairs, const json_t *value, set_pair_fn *set)
{
    weft_err err = WEFT_OK;
    if (!json_is_object(value))
        return expect(value, "an object of names and texts");
    json_t *object = (json_t *)value;
    for (void *at = json_object_iter(object); !err && at; at = json_object_iter_next(object, at)) {
        const json_t *text = json_object_iter_value(at);
        char number[32];
        snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT, json_integer_value(text));
        if (json_is_string(text) || json_is_integer(text))
            err = set(pairs, json_object_iter_key(at),
                      json_is_string(text) ? json_string_value(text) : number);
        else
            err = err_wrap(expect(text, "a text"), "%s",
                           role_quote(weft_text(json_object_iter_key(at))).text);
    }
    return err;
}

static weft_err json_files(struct crew_pairs *pairs, const json_t *value)
{
    weft_err err = WEFT_OK;
    if (json_is_array(value)) {
        for (size_t i = 0; !err && i < json_array_size(value); i++) {
            const json_t *path = json_array_get(value, i);
            err = json_is_string(path) ? set_file_by_path(pairs, json_string_value(path))
                                       : expect(path, "the path of a file");
        }
        return err;
    }
    if (!json_is_object(value))
        return expect(value, "a list of paths, or an object of names and paths,");
    json_t *object = (json_t *)value;
    for (void *at = json_object_iter(object); !err && at; at = json_object_iter_next(object, at)) {
        const json_t *path = json_object_iter_value(at);
        err = json_is_string(path)
                  ? set_file(pairs, json_object_iter_key(at), json_string_value(path))
                  : expect(path, "the path of a file");
    }
    return err;
}

static weft_err json_addresses(struct crew_fixed *fixed, const json_t *value)
{
    weft_err err = WEFT_OK;
    if (!json_is_array(value) || json_array_size(value) == 0)
        return expect(value, "a list of at least one address, such as \"localhost:2222\",");
    for (size_t i = 0; !err && i < json_array_size(value) && i < CLUSTER_MEMBERS_MAX; i++) {
        const json_t *text = json_array_get(value, i);
        struct address address;
        if (!json_is_string(text))
            return expect(text, "an address, such as \"localhost:2222\",");
        err = address_parse((weft_bytes){json_string_value(text), json_string_length(text)},
                            &address);
        if (err)
            break;
        struct cluster_member member = {(uint32_t)i, address.port, strdup(address.host)};
        if (!member.host || !VEC_PUSH(fixed, member)) {
            free(member.host);
            err = spec_no_memory();
        }
    }
    return err;
}

static weft_err json_count(struct crew_role *role, const struct spec_field *field,
                           const json_t *value)
{
    const json_int_t number = json_integer_value(value);
    char given[32];
    snprintf(given, sizeof given, "%" JSON_INTEGER_FORMAT, number);
    if (json_is_string(value))
        return refuse_count(field, role_quote(weft_text(json_string_value(value))).text);
    return set_count(role, field, (uint64_t)number, json_is_integer(value) && number >= 0,
                     json_is_integer(value) ? given : json_type_text(value));
}

static weft_err json_truth(struct crew_role *role, const struct spec_field *field,
                           const json_t *value)
{
    const bool is_true = json_is_true(value);
    if (!json_is_boolean(value))
        return expect(value, "true or false");
    memcpy((char *)role + field->offset, &is_true, sizeof is_true);
    return WEFT_OK;
}

weft_err spec_set_json(struct crew_role *role, enum crew_field number, const json_t *value)
{
    const struct spec_field *field = &spec_fields[number];
    void *at = spec_field_at(role, number);
    role->given |= 1U << number;
    switch (field->kind) {
    case SPEC_COUNT:
        return json_count(role, field, value);
    case SPEC_SIZE:
        return json_is_string(value) ? set_size(role, field, json_string_value(value))
                                     : expect(value, "a size with its unit, such as \"2G\",");
    case SPEC_TEXT:
        return json_is_string(value) ? set_word(role, field, json_string_value(value))
                                     : expect(value, "a text");
    case SPEC_TRUTH:
        return json_truth(role, field, value);
    case SPEC_COMMAND:
        return json_command(at, value);
    case SPEC_VARIABLES:
        return json_pairs(at, value, set_variable);
    case SPEC_AMOUNTS:
        return json_pairs(at, value, set_amount);
    case SPEC_FILES:
        return json_files(at, value);
    case SPEC_ADDRESSES:
        return json_addresses(at, value);
    }
    return WEFT_INTERNAL;
}

weft_err spec_set_settings(struct crew_pairs *settings, const json_t *value)
{
    return json_pairs(settings, value, set_setting);
}

// ---- From flags ------------------------------------------------------------------------------------------------

// "NAME=VALUE", or the path of a file by itself.
static weft_err text_pair(struct crew_pairs *pairs, enum spec_kind kind, const char *text)
{
    const char *equals = strchr(text, '=');
    if (!equals && kind == SPEC_FILES)
        return set_file_by_path(pairs, text);
    if (!equals)
        return err_set(WEFT_INVALID_ARGUMENT, "%s has no value\n  write: --%s %s=%s",
                       role_quote(weft_text(text)).text, kind == SPEC_AMOUNTS ? "resource" : "env",
                       text, kind == SPEC_AMOUNTS ? "N" : "VALUE");
    char *name = strndup(text, (size_t)(equals - text));
    if (!name)
        return spec_no_memory();
    const weft_err err = kind == SPEC_FILES     ? set_file(pairs, name, equals + 1)
                         : kind == SPEC_AMOUNTS ? set_amount(pairs, name, equals + 1)
                                                : set_variable(pairs, name, equals + 1);
    free(name);
    return err;
}

weft_err spec_set_text(struct crew_role *role, enum crew_field number, const char *text)
{
    const struct spec_field *field = &spec_fields[number];
    void *at = spec_field_at(role, number);
    uint64_t count = 0;
    role->given |= 1U << number;
    switch (field->kind) {
    case SPEC_COUNT: {
        const bool is_number =
            strcmp(text, "0") == 0 || text_read_count(text, field->maximum, &count);
        return set_count(role, field, count, is_number, role_quote(weft_text(text)).text);
    }
    case SPEC_SIZE:
        return set_size(role, field, text);
    case SPEC_TEXT:
        return set_word(role, field, text);
    case SPEC_COMMAND:
        return set_shell_command(at, text);
    case SPEC_VARIABLES:
    case SPEC_AMOUNTS:
    case SPEC_FILES:
        return text_pair(at, field->kind, text);
    default:
        return WEFT_INTERNAL;  // they have no flag
    }
}

weft_err crew_spec_add_setting(struct crew_spec *spec, const char *text)
{
    const char *equals = strchr(text, '=');
    char *name = strndup(text, equals ? (size_t)(equals - text) : 0);
    if (!name)
        return spec_no_memory();
    const weft_err err = equals
                             ? set_setting(&spec->settings, name, equals + 1)
                             : err_set(WEFT_INVALID_ARGUMENT, "%s has no value\n  write: %s=VALUE",
                                       role_quote(weft_text(text)).text, text);
    free(name);
    return err_wrap(err, "--set");
}

// ---- Copies ----------------------------------------------------------------------------------------------------

static weft_err copy_pairs(struct crew_pairs *to, const struct crew_pairs *from)
{
    weft_err err = WEFT_OK;
    for (size_t i = 0; !err && i < from->count; i++)
        if (!find_pair(to, from->items[i].name))
            err = set_pair(to, from->items[i].name, from->items[i].value);
    return err;
}

weft_err spec_copy_missing(struct crew_role *to, const struct crew_role *from,
                           enum crew_field number)
{
    const struct spec_field *field = &spec_fields[number];
    void *at = spec_field_at(to, number);
    const void *source = (const char *)from + field->offset;
    if (!spec_is_given(from, number))
        return WEFT_OK;
    if (spec_is_list_of_pairs(field->kind)) {
        to->given |= 1U << number;
        return copy_pairs(at, source);
    }
    if (spec_is_given(to, number))
        return WEFT_OK;
    to->given |= 1U << number;
    weft_err err = WEFT_OK;
    const struct crew_words *words = source;
    switch (field->kind) {
    case SPEC_COUNT:
        memcpy(at, source, sizeof(uint32_t));
        break;
    case SPEC_SIZE:
        memcpy(at, source, sizeof(uint64_t));
        break;
    case SPEC_TEXT:
        return crew_spec_set_text(at, *(char *const *)source);
    case SPEC_COMMAND:
        for (size_t i = 0; !err && i < words->count; i++)
            err = spec_words_add(at, words->items[i]);
        return err;
    default:
        return WEFT_INTERNAL;  // they are not shared
    }
    return WEFT_OK;
}
