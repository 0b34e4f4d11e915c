// Reading /jmx.

#include "store/hdfs/bean.h"

#include <stdio.h>

#include <jansson.h>

// A text that other programs print keeps to one line.
static void take_word(const json_t *object, const char *name, char word[BEAN_WORD_BYTES])
{
    const char *value = json_string_value(json_object_get(object, name));
    if (!value)
        return;
    snprintf(word, BEAN_WORD_BYTES, "%s", value);
    for (char *at = word; *at; at++)
        if ((unsigned char)*at <= ' ' || *at == 0x7f)
            *at = '_';
}

static void take_count(const json_t *object, const char *name, uint64_t *count)
{
    const json_t *value = json_object_get(object, name);
    if (json_is_integer(value) && json_integer_value(value) >= 0)
        *count = (uint64_t)json_integer_value(value);
}

weft_err bean_read(weft_bytes text, struct bean *bean)
{
    json_error_t ignored;
    json_t *root = json_loadb(text.data ? text.data : "", text.size, 0, &ignored);
    const json_t *object = json_array_get(json_object_get(root, "beans"), 0);
    take_word(object, "FSState", bean->state);
    take_word(object, "SoftwareVersion", bean->version);
    take_count(object, "NumLiveDataNodes", &bean->live_nodes);
    take_count(object, "NumDeadDataNodes", &bean->dead_nodes);
    take_count(object, "CapacityRemaining", &bean->free_bytes);
    const bool is_one = json_is_object(object);
    json_decref(root);
    return is_one ? WEFT_OK
                  : err_set(WEFT_DATA_LOSS, "a web server answers there, but not Hadoop's");
}
