// Writing a resolved description: as a job.json, and as a table.

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "cluster/address.h"
#include "crew/spec/spec_state.h"

// ---- As a job.json ---------------------------------------------------------------------------------------------

static void write_size(struct buf *buf, const char *key, uint64_t bytes)
{
    // In the largest unit that it is a whole number of. Fewer than 1 KiB cannot be said by a thousandth of a unit.
    static const char units[] = "BKMGT";
    size_t unit = 0;
    char text[32];
    struct buf number = {0};
    for (; unit < 4 && bytes % 1024 == 0; unit++)
        bytes /= 1024;
    buf_format(&number, "%" PRIu64 "%c", bytes, units[unit]);
    snprintf(text, sizeof text, "%s", buf_text(&number));
    json_append_text(buf, key, text);
    buf_fini(&number);
}

static void write_words(struct buf *buf, const char *key, const struct crew_words *words)
{
    json_open(buf, key, '[');
    for (size_t i = 0; i < words->count; i++) {
        if (i > 0)
            buf_append_text(buf, ",");
        json_append_string(buf, weft_text(words->items[i]));
    }
    json_close(buf, ']');
}

static void write_pairs(struct buf *buf, const char *key, const struct crew_pairs *pairs)
{
    json_open(buf, key, '{');
    for (size_t i = 0; i < pairs->count; i++) {
        if (i > 0)
            buf_append_text(buf, ",");
        json_append_string(buf, weft_text(pairs->items[i].name));
        buf_append_text(buf, ":");
        json_append_string(buf, weft_text(pairs->items[i].value));
    }
    json_close(buf, '}');
}

static void write_addresses(struct buf *buf, const char *key, const struct crew_fixed *fixed)
{
    json_open(buf, key, '[');
    for (size_t i = 0; i < fixed->count; i++) {
        struct buf address = {0};
        if (i > 0)
            buf_append_text(buf, ",");
        address_append(&address, fixed->items[i].host, fixed->items[i].port);
        json_append_string(buf, buf_bytes(&address));
        buf_fini(&address);
    }
    json_close(buf, ']');
}

// A field that asks for nothing in particular is left out.
static bool is_worth_writing(const struct crew_role *role, enum crew_field field)
{
    const void *at = (const char *)role + spec_fields[field].offset;
    const size_t count = field == CREW_COMMAND     ? role->command.count
                         : field == CREW_ENV       ? role->variables.count
                         : field == CREW_FILES     ? role->files.count
                         : field == CREW_RESOURCES ? role->amounts.count
                                                   : role->fixed.count;
    switch (spec_fields[field].kind) {
    case SPEC_TEXT:
        return *(char *const *)at != NULL;
    case SPEC_SIZE:
        return role->memory_bytes > 0;
    case SPEC_COUNT:
        return field == CREW_CPUS ? role->cpus > 0
                                  : field != CREW_GPUS || spec_is_given(role, CREW_GPUS);
    case SPEC_TRUTH:
        return true;
    default:
        return count > 0;
    }
}

static void write_field(struct buf *buf, const struct crew_role *role, enum crew_field number)
{
    const struct spec_field *field = &spec_fields[number];
    const void *at = (const char *)role + field->offset;
    uint32_t count;
    switch (field->kind) {
    case SPEC_COUNT:
        memcpy(&count, at, sizeof count);
        json_append_uint(buf, field->key, count);
        break;
    case SPEC_SIZE:
        write_size(buf, field->key, role->memory_bytes);
        break;
    case SPEC_TEXT:
        json_append_text(buf, field->key, *(char *const *)at);
        break;
    case SPEC_TRUTH:
        json_append_bool(buf, field->key, *(const bool *)at);
        break;
    case SPEC_COMMAND:
        write_words(buf, field->key, at);
        break;
    case SPEC_VARIABLES:
    case SPEC_AMOUNTS:
    case SPEC_FILES:
        write_pairs(buf, field->key, at);
        break;
    case SPEC_ADDRESSES:
        write_addresses(buf, field->key, at);
        break;
    }
}

void crew_spec_write(struct buf *buf, const struct crew_spec *spec)
{
    json_open(buf, NULL, '{');
    if (spec->name)
        json_append_text(buf, "name", spec->name);
    if (spec->on)
        json_append_text(buf, "on", spec->on);
    if (spec->settings.count)
        write_pairs(buf, "settings", &spec->settings);
    if (spec->preset)
        json_append_text(buf, "preset", crew_preset_name(spec->preset));
    if (spec->tensorboard)
        json_append_text(buf, "tensorboard", spec->tensorboard);
    if (spec->start_deadline_ms) {
        char text[24];
        snprintf(text, sizeof text, "%" PRIu32 "ms", spec->start_deadline_ms);
        json_append_text(buf, "start_deadline", text);
    }
    json_open(buf, "roles", '{');
    for (size_t i = 0; i < spec->roles.count; i++) {
        const struct crew_role *role = &spec->roles.items[i];
        json_open(buf, role->name, '{');
        for (int field = 0; field < CREW_FIELD_COUNT; field++)
            if (is_worth_writing(role, (enum crew_field)field))
                write_field(buf, role, (enum crew_field)field);
        json_close(buf, '}');
    }
    json_close(buf, '}');
    json_close(buf, '}');
    buf_append_text(buf, "\n");
}

// ---- As a table ------------------------------------------------------------------------------------------------

static bool is_one_line(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 127)
            return false;
    return true;
}

// As a shell would take it; a word of several lines stays on one, as its escapes.
static void write_command(struct buf *buf, const struct crew_words *words)
{
    for (size_t i = 0; i < words->count; i++) {
        struct buf word = {0}, line = {0};
        if (is_one_line(words->items[i]))
            buf_append_text(&line, words->items[i]);
        else
            text_append_escaped(&line, weft_text(words->items[i]));
        text_append_shell_word(&word, buf_text(&line));
        buf_format(buf, "%s%s", i ? " " : "", buf_text(&word));
        buf_fini(&word);
        buf_fini(&line);
    }
}

// "4 GiB" as "4G", or "-" where nothing is asked for.
static void write_need(struct buf *buf, uint64_t count, bool is_given)
{
    if (is_given)
        buf_format(buf, " %6" PRIu64, count);
    else
        buf_append_text(buf, "      -");
}

static void write_row(struct buf *buf, const struct crew_spec *spec, const struct crew_role *role,
                      int width)
{
    struct buf memory = {0};
    if (role->memory_bytes)
        text_append_size(&memory, role->memory_bytes);
    else
        buf_append_text(&memory, "-");
    const uint64_t members = (uint64_t)role->instances * crew_role_members_of_instance(spec, role);
    buf_format(buf, "%-*s %7" PRIu64, width, role->name, members);
    write_need(buf, role->cpus, role->cpus > 0);
    buf_format(buf, " %8s", buf_text(&memory));
    write_need(buf, role->gpus, spec_is_given(role, CREW_GPUS));
    buf_format(buf, " %8" PRIu32 "  %-7s  ", role->restarts,
               role->is_awaited ? "awaited" : "stopped");
    write_command(buf, &role->command);
    buf_append_text(buf, "\n");
    buf_fini(&memory);
}

void crew_spec_write_plan(struct buf *buf, const struct crew_spec *spec)
{
    int width = 4;
    for (size_t i = 0; i < spec->roles.count; i++) {
        const int length = (int)strlen(spec->roles.items[i].name);
        width = length > width ? length : width;
    }
    buf_format(buf, "%-*s MEMBERS   CPUS   MEMORY   GPUS RESTARTS  AT END   COMMAND\n", width,
               "ROLE");
    for (size_t i = 0; i < spec->roles.count; i++)
        if (spec->roles.items[i].instances > 0)
            write_row(buf, spec, &spec->roles.items[i], width);
    if (spec->on)
        buf_format(buf, "on %s\n", spec->on);
}
