// Reading the XML of a configuration: elements, text, the usual entities, CDATA and comments. Anything else
// of XML (attributes of a property, documents included from elsewhere) is refused, not misread.

#include "wire/hadoop/conf.h"

#include <stdlib.h>

#include "base/buf.h"

struct conf {
    const char *path;
    const char *begin, *at, *end;
    conf_visit_fn *visit;
    void *owner;
    struct buf name, value, other;  // texts of the current property
    bool has_name, has_value;
    bool is_open, is_in_property;  // <configuration>, <property>
};

static weft_err refuse(const struct conf *conf, const char *why)
{
    size_t line = 1;
    for (const char *at = conf->begin; at < conf->at && at < conf->end; at++)
        line += *at == '\n';
    return err_set(WEFT_INVALID_ARGUMENT,
                   "cannot read %s: line %zu: %s\n  it should be "
                   "<configuration><property><name>N</name><value>V</value></property>"
                   "</configuration>",
                   conf->path, line, why);
}

static bool begins_with(const struct conf *conf, const char *text)
{
    const size_t size = strlen(text);
    return (size_t)(conf->end - conf->at) >= size && memcmp(conf->at, text, size) == 0;
}

static weft_err skip_to(struct conf *conf, const char *text)
{
    const char *found = memmem(conf->at, (size_t)(conf->end - conf->at), text, strlen(text));
    if (!found)
        return refuse(conf, "something is not closed");
    conf->at = found + strlen(text);
    return WEFT_OK;
}

// ---- Text ------------------------------------------------------------------------------------------------

static void append_character(struct buf *text, unsigned long code)
{
    char bytes[4];
    size_t size = 0;
    if (code < 0x80) {
        bytes[size++] = (char)code;
    } else if (code < 0x800) {
        bytes[size++] = (char)(0xc0 | code >> 6);
        bytes[size++] = (char)(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        bytes[size++] = (char)(0xe0 | code >> 12);
        bytes[size++] = (char)(0x80 | (code >> 6 & 0x3f));
        bytes[size++] = (char)(0x80 | (code & 0x3f));
    } else {
        bytes[size++] = (char)(0xf0 | code >> 18);
        bytes[size++] = (char)(0x80 | (code >> 12 & 0x3f));
        bytes[size++] = (char)(0x80 | (code >> 6 & 0x3f));
        bytes[size++] = (char)(0x80 | (code & 0x3f));
    }
    buf_append(text, bytes, size);
}

// &#65; and &#x41;
static bool read_code(const char *digits, size_t size, unsigned long *code)
{
    char copy[12];
    char *end;
    const bool is_hex = size > 1 && digits[0] == 'x';
    if (size == 0 || size >= sizeof copy || digits[is_hex] < '0')
        return false;
    memcpy(copy, digits, size);
    copy[size] = 0;
    *code = strtoul(copy + is_hex, &end, is_hex ? 16 : 10);
    return *end == 0 && *code > 0 && *code <= 0x10ffff;
}

static weft_err read_entity(struct conf *conf, struct buf *text)
{
    static const struct {
        const char *name, *meaning;
    } entities[] = {{"amp", "&"}, {"lt", "<"}, {"gt", ">"}, {"quot", "\""}, {"apos", "'"}};
    const char *name = conf->at + 1;
    const char *semicolon = memchr(name, ';', (size_t)(conf->end - name));
    const size_t size = semicolon ? (size_t)(semicolon - name) : 0;
    unsigned long code;
    for (size_t i = 0; i < sizeof entities / sizeof *entities; i++)
        if (strlen(entities[i].name) == size && memcmp(entities[i].name, name, size) == 0) {
            buf_append_text(text, entities[i].meaning);
            conf->at = semicolon + 1;
            return WEFT_OK;
        }
    if (size < 2 || name[0] != '#' || !read_code(name + 1, size - 1, &code))
        return refuse(conf, "an & that begins no known entity");
    append_character(text, code);
    conf->at = semicolon + 1;
    return WEFT_OK;
}

// The content that may stand between the tags of any element. *is_taken is false at a tag.
static weft_err read_text(struct conf *conf, struct buf *text, bool *is_taken)
{
    *is_taken = true;
    if (begins_with(conf, "<!--"))
        return skip_to(conf, "-->");
    if (begins_with(conf, "<?"))
        return skip_to(conf, "?>");
    if (begins_with(conf, "<![CDATA[")) {
        const char *begin = conf->at += strlen("<![CDATA[");
        const weft_err err = skip_to(conf, "]]>");
        if (!err)
            buf_append(text, begin, (size_t)(conf->at - begin) - 3);
        return err;
    }
    if (*conf->at == '&')
        return read_entity(conf, text);
    *is_taken = *conf->at != '<';
    if (*is_taken)
        buf_append(text, conf->at++, 1);
    return WEFT_OK;
}

// ---- Elements ---------------------------------------------------------------------------------------------

// Text up to the closing tag of the element; other elements in it are not allowed.
static weft_err read_content(struct conf *conf, const char *closing, struct buf *text)
{
    text->size = 0;
    while (conf->at < conf->end && !begins_with(conf, closing)) {
        bool is_taken;
        const weft_err err = read_text(conf, text, &is_taken);
        if (err)
            return err;
        if (!is_taken)
            return refuse(conf, "an element where text should be");
    }
    if (conf->at == conf->end)
        return refuse(conf, "the file ends inside a property");
    conf->at += strlen(closing);
    return WEFT_OK;
}

static weft_err read_property(struct conf *conf)
{
    if (!conf->has_name || !conf->has_value)
        return refuse(conf, "a property without a name or a value");
    // Hadoop trims the blanks of a name, and keeps those of a value.
    weft_bytes name = buf_bytes(&conf->name);
    while (name.size && strchr(" \t\r\n", name.data[0]))
        name.data++, name.size--;
    while (name.size && strchr(" \t\r\n", name.data[name.size - 1]))
        name.size--;
    conf->has_name = conf->has_value = conf->is_in_property = false;
    if (conf->name.has_failed || conf->value.has_failed)
        return err_no_memory("for a configuration");
    return conf->visit(conf->owner, name, buf_bytes(&conf->value));
}

// A tag inside <property>.
static weft_err read_tag(struct conf *conf)
{
    static const struct {
        const char *opening, *closing;
    } ignored[] = {{"<description>", "</description>"},
                   {"<final>", "</final>"},
                   {"<source>", "</source>"},
                   {"<tag>", "</tag>"}};
    if (begins_with(conf, "<name>")) {
        conf->at += strlen("<name>");
        conf->has_name = true;
        return read_content(conf, "</name>", &conf->name);
    }
    if (begins_with(conf, "<value>")) {
        conf->at += strlen("<value>");
        conf->has_value = true;
        return read_content(conf, "</value>", &conf->value);
    }
    if (begins_with(conf, "<value/>")) {
        conf->at += strlen("<value/>");
        conf->has_value = true;
        conf->value.size = 0;
        return WEFT_OK;
    }
    if (begins_with(conf, "</property>")) {
        conf->at += strlen("</property>");
        return read_property(conf);
    }
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        if (begins_with(conf, ignored[i].opening))
            return skip_to(conf, ignored[i].closing);
    return refuse(conf, "an element that is not of a property");
}

// One after the other, none inside another one.
static bool read_frame(struct conf *conf)
{
    const struct {
        const char *tag;
        bool *is_open, opens;
    } frames[] = {{"<configuration>", &conf->is_open, true},
                  {"</configuration>", &conf->is_open, false},
                  {"<property>", &conf->is_in_property, true}};
    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++)
        if (begins_with(conf, frames[i].tag) && *frames[i].is_open != frames[i].opens &&
            !conf->is_in_property) {
            conf->at += strlen(frames[i].tag);
            *frames[i].is_open = frames[i].opens;
            return true;
        }
    return false;
}

static weft_err read_element(struct conf *conf)
{
    if (read_frame(conf))
        return WEFT_OK;
    return conf->is_in_property ? read_tag(conf)
                                : refuse(conf, "an element that is not of a configuration");
}

weft_err conf_read(const char *path, weft_bytes text, conf_visit_fn *visit, void *owner)
{
    struct conf conf = {.path = path,
                        .begin = text.data,
                        .at = text.data,
                        .end = text.data + text.size,
                        .visit = visit,
                        .owner = owner};
    weft_err err = WEFT_OK;
    if (text.size > 0 && memchr(text.data, 0, text.size))
        err = refuse(&conf, "it is not text");
    while (!err && conf.at < conf.end) {
        bool is_taken;
        conf.other.size = 0;
        err = read_text(&conf, &conf.other, &is_taken);
        if (!err && !is_taken)
            err = read_element(&conf);
        else if (!err && conf.other.size > 0 && !strchr(" \t\r\n", conf.other.data[0]))
            err = refuse(&conf, "text outside a property");
    }
    if (!err && (conf.is_open || conf.is_in_property))
        err = refuse(&conf, "the file ends too early");
    buf_fini(&conf.name);
    buf_fini(&conf.value);
    buf_fini(&conf.other);
    return err;
}
