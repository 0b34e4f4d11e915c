// Properties are few hundred: they are looked for one after the other.

#include "wire/hadoop/properties.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "sys/file/file.h"
#include "sys/file/load.h"
#include "wire/hadoop/conf.h"

enum { CONF_BYTES_MAX = 16 << 20, NESTING_MAX = 20 };

void properties_fini(struct properties *properties)
{
    for (size_t i = 0; i < properties->all.count; i++) {
        free(properties->all.items[i].name);
        free(properties->all.items[i].value);
    }
    VEC_FINI(&properties->all);
}

static weft_err add(void *owner, weft_bytes name, weft_bytes value)
{
    struct properties *properties = owner;
    struct property_pair one = {strndup(name.data ? name.data : "", name.size),
                                strndup(value.data ? value.data : "", value.size)};
    if (one.name && one.value && VEC_PUSH(&properties->all, one))
        return WEFT_OK;
    free(one.name);
    free(one.value);
    return err_no_memory("for a configuration");
}

// The last one counts. NULL: there is none.
static const char *find_raw(const struct properties *properties, const char *name)
{
    for (size_t i = properties->all.count; i-- > 0;)
        if (strcmp(properties->all.items[i].name, name) == 0)
            return properties->all.items[i].value;
    return NULL;
}

// ${NAME} stands for another property, ${env.NAME} for a variable; unknown ones stay as they are.
static void expand(const struct properties *properties, const char *text, int depth,
                   struct buf *out)
{
    for (const char *at; (at = strstr(text, "${")) && depth < NESTING_MAX;) {
        const char *end = strchr(at, '}');
        char name[256];
        if (!end || (size_t)(end - at - 2) >= sizeof name)
            break;
        snprintf(name, sizeof name, "%.*s", (int)(end - at - 2), at + 2);
        const char *value =
            strncmp(name, "env.", 4) == 0 ? getenv(name + 4) : find_raw(properties, name);
        buf_append(out, text, (size_t)((value ? at : end + 1) - text));
        if (value)
            expand(properties, value, depth + 1, out);
        text = end + 1;
    }
    buf_append_text(out, text);
}

// Without blanks around. "" when there is none.
void properties_find(const struct properties *properties, const char *name, char *value,
                     size_t size)
{
    struct buf text = {0};
    const char *raw = find_raw(properties, name);
    expand(properties, raw ? raw : "", 0, &text);
    const char *from = buf_text(&text);
    from += strspn(from, " \t\r\n");
    snprintf(value, size, "%s", from);
    for (size_t end = strlen(value); end > 0 && strchr(" \t\r\n", value[end - 1]);)
        value[--end] = 0;
    buf_fini(&text);
}

// ---- Files ----------------------------------------------------------------------------------------------------

static weft_err load_file(const char *directory, const char *name, struct properties *properties)
{
    struct buf path = {0}, text = {0};
    struct file_stat status = {0};
    buf_format(&path, "%s/%s", directory, name);
    weft_err code =
        path.has_failed ? err_no_memory("for a path") : file_stat(buf_text(&path), &status);
    if (code == WEFT_OK && status.kind != FILE_MISSING) {
        code = file_load(buf_text(&path), CONF_BYTES_MAX, &text);
        if (code == WEFT_OK)
            code = conf_read(buf_text(&path), buf_bytes(&text), add, properties);
    }
    buf_fini(&path);
    buf_fini(&text);
    return code;
}

bool properties_directory(struct buf *directory)
{
    const char *given = getenv("HADOOP_CONF_DIR"), *home = getenv("HADOOP_HOME");
    if (given && given[0])
        buf_append_text(directory, given);
    else if (home && home[0])
        buf_format(directory, "%s/etc/hadoop", home);
    else
        return false;
    return true;
}

weft_err properties_load(struct properties *properties, const char *file)
{
    struct buf directory = {0};
    const weft_err code = properties_directory(&directory)
                              ? load_file(buf_text(&directory), file, properties)
                              : WEFT_OK;
    buf_fini(&directory);
    return code;
}

// ---- Security -------------------------------------------------------------------------------------------------

static bool lists_word(const char *list, const char *wanted)
{
    char word[64];
    for (const char *from = list; properties_next_word(&from, word, sizeof word);)
        if (strcasecmp(word, wanted) == 0)
            return true;
    return false;
}

// A list of protections is those that a service takes.
weft_err properties_check_security(const struct properties *properties)
{
    char value[256];
    properties_find(properties, "hadoop.security.authentication", value, sizeof value);
    if (value[0] && strcasecmp(value, "simple") != 0)
        return err_set(WEFT_UNIMPLEMENTED,
                       "this Hadoop asks for %.40s (hadoop.security.authentication in "
                       "core-site.xml), which Weft does not speak yet",
                       strcasecmp(value, "kerberos") == 0 ? "Kerberos" : value);
    properties_find(properties, "hadoop.rpc.protection", value, sizeof value);
    if (value[0] && !lists_word(value, "authentication"))
        return err_set(WEFT_UNIMPLEMENTED,
                       "this Hadoop signs or encrypts its calls (hadoop.rpc.protection is %.40s "
                       "in core-site.xml), which Weft does not speak yet",
                       value);
    return WEFT_OK;
}

// ---- Words ----------------------------------------------------------------------------------------------------

bool properties_next_word(const char **from, char *word, size_t size)
{
    *from += strspn(*from, ", \t\r\n");
    const size_t length = strcspn(*from, ", \t\r\n");
    snprintf(word, size, "%.*s", (int)length, *from);
    *from += length;
    return length > 0;
}

void properties_find_user(char user[MACHINE_NAME_BYTES_MAX])
{
    const char *named = getenv("HADOOP_USER_NAME");
    if (named && named[0])
        snprintf(user, MACHINE_NAME_BYTES_MAX, "%s", named);
    else
        machine_user_name(user);
}
