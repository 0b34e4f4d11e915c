// A table of settings, and where each of them goes.

#include "launch/yarn/yarn_settings.h"

#include <stdlib.h>
#include <string.h>

#include "base/args.h"
#include "base/text.h"

enum {
    TYPE_BYTES_MAX = 20,
    PRIORITY_MAX = 1 << 20,
    NAME_BYTES_MAX = 32,
    ATTEMPTS_MAX = 100,
    CORES_MAX = 1 << 16,
};

typedef weft_err setter_fn(struct yarn_settings *settings, const char *value);

static weft_err refuse(const char *name, const char *value, const char *wanted)
{
    return err_set(WEFT_INVALID_ARGUMENT, "%s=%s: %s", name, value, wanted);
}

static weft_err set_name(struct yarn_settings *settings, const char *value)
{
    settings->application.name = value;
    return WEFT_OK;
}

static weft_err set_type(struct yarn_settings *settings, const char *value)
{
    if (strlen(value) > TYPE_BYTES_MAX)
        return refuse("type", value, "a type has at most 20 characters");
    settings->application.type = value;
    return WEFT_OK;
}

static weft_err set_tags(struct yarn_settings *settings, const char *value)
{
    size_t count = 0;
    free(settings->tag_text);
    settings->tag_text = strdup(value);
    if (!settings->tag_text)
        return err_no_memory("for the tags");
    char *at = settings->tag_text;
    for (char *tag; (tag = strsep(&at, ","));) {
        if (!*tag || count == YARN_TAGS_MAX)
            return refuse("tags", value, "they are one to 10 words with commas between them");
        settings->tags[count++] = tag;
    }
    settings->tags[count] = NULL;
    settings->application.tags = settings->tags;
    return WEFT_OK;
}

static weft_err set_priority(struct yarn_settings *settings, const char *value)
{
    uint64_t number = 0;
    if (strcmp(value, "0") != 0 && !text_read_count(value, PRIORITY_MAX, &number))
        return refuse("priority", value, "a priority is a number from 0");
    settings->application.priority = (int32_t)number;
    return WEFT_OK;
}

static weft_err set_lifetime(struct yarn_settings *settings, const char *value)
{
    uint32_t milliseconds = 0;
    if (!text_read_duration(value, &milliseconds) || milliseconds < 1000)
        return refuse("lifetime", value, "a time is written 10m or 2h, and is at least 1s");
    settings->application.lifetime_s = milliseconds / 1000;
    return WEFT_OK;
}

static weft_err set_label(struct yarn_settings *settings, const char *value)
{
    settings->application.label = value;
    return WEFT_OK;
}

static weft_err set_viewers(struct yarn_settings *settings, const char *value)
{
    settings->application.viewers = value;
    return WEFT_OK;
}

static weft_err set_modifiers(struct yarn_settings *settings, const char *value)
{
    settings->application.modifiers = value;
    return WEFT_OK;
}

static weft_err set_stage(struct yarn_settings *settings, const char *value)
{
    if (strncmp(value, "hdfs://", 7) != 0)
        return refuse("stage", value, "the program can only be kept in HDFS: hdfs://HOST:PORT/DIR");
    settings->stage = value;
    return WEFT_OK;
}

static weft_err set_address(struct yarn_settings *settings, const char *value)
{
    struct net_address address;
    const weft_err err = net_read_address(value, 0, &address);
    if (err || !address.host[0] || address.port)
        return refuse("address", value, "it is the name or number of this machine, without a port");
    settings->address = value;
    return WEFT_OK;
}

static weft_err set_shelf(struct yarn_settings *settings, const char *value)
{
    if (strncmp(value, "hdfs://", 7) != 0)
        return refuse("shelf", value, "logs can only be kept in HDFS: hdfs://HOST:PORT/DIR");
    settings->shelf = value;
    return WEFT_OK;
}

static weft_err set_attempts(struct yarn_settings *settings, const char *value)
{
    uint64_t number = 0;
    if (!text_read_count(value, ATTEMPTS_MAX, &number))
        return refuse("attempts", value, "it is a number from 1 to 100");
    settings->attempts = (uint32_t)number;
    return WEFT_OK;
}

static weft_err set_keeper_memory(struct yarn_settings *settings, const char *value)
{
    if (!text_read_size(value, &settings->keeper_bytes) || settings->keeper_bytes == 0)
        return refuse("keeper_memory", value, "a size is written 256M or 1G");
    return WEFT_OK;
}

static weft_err set_keeper_cores(struct yarn_settings *settings, const char *value)
{
    uint64_t number = 0;
    if (!text_read_count(value, CORES_MAX, &number))
        return refuse("keeper_cores", value, "it is a number from 1");
    settings->keeper_cores = (uint32_t)number;
    return WEFT_OK;
}

static const struct {
    const char *name;
    setter_fn *set;
} table[] = {
    {"name", set_name},
    {"type", set_type},
    {"tags", set_tags},
    {"priority", set_priority},
    {"lifetime", set_lifetime},
    {"label", set_label},
    {"viewers", set_viewers},
    {"modifiers", set_modifiers},
    {"stage", set_stage},
    {"address", set_address},
    {"attempts", set_attempts},
    {"shelf", set_shelf},
    {"keeper_memory", set_keeper_memory},
    {"keeper_cores", set_keeper_cores},
};

enum { COUNT = sizeof table / sizeof *table };

static weft_err refuse_name(const char *name)
{
    const char *names[COUNT + 1] = {0};
    struct buf list = {0};
    for (size_t i = 0; i < COUNT; i++) {
        names[i] = table[i].name;
        buf_format(&list, "%s%s", i ? ", " : "", names[i]);
    }
    const char *guess = args_guess(name, names);
    const weft_err err =
        guess ? err_set(WEFT_INVALID_ARGUMENT, "yarn: has no setting %s\n  did you mean %s?", name,
                        guess)
              : err_set(WEFT_INVALID_ARGUMENT, "yarn: has no setting %s\n  there are: %s", name,
                        buf_text(&list));
    buf_fini(&list);
    return err;
}

static weft_err set(struct yarn_settings *settings, const char *name, const char *value)
{
    for (size_t i = 0; i < COUNT; i++)
        if (strcmp(table[i].name, name) == 0)
            return *value ? table[i].set(settings, value)
                          : refuse(name, value, "a value is missing");
    return refuse_name(name);
}

weft_err yarn_settings_check(const char *name, const char *value)
{
    struct yarn_settings settings = {0};
    const weft_err err = set(&settings, name, value);
    yarn_settings_fini(&settings);
    return err;
}

weft_err yarn_settings_read(const char *const *list, struct yarn_settings *settings)
{
    weft_err err = WEFT_OK;
    *settings = (struct yarn_settings){0};
    for (size_t i = 0; !err && list && list[i]; i++) {
        const size_t size = strcspn(list[i], "=");
        char name[NAME_BYTES_MAX] = "";
        if (size < sizeof name)
            memcpy(name, list[i], size);
        err = set(settings, name, list[i][size] ? list[i] + size + 1 : "");
    }
    return err;
}

void yarn_settings_fini(struct yarn_settings *settings)
{
    free(settings->tag_text);
    settings->tag_text = NULL;
}
