// manifest: written by hand for the sake of its bytes, read by jansson with every field checked.

#include "store/manifest.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/text.h"
#include "base/vec.h"
#include "sys/file/file.h"

enum { READ_BYTES = 1 << 20 };

void manifest_fini(struct manifest *manifest)
{
    for (size_t i = 0; i < manifest->input_count; i++)
        free(manifest->inputs[i].name);
    free(manifest->inputs);
    free(manifest->job);
    free(manifest->parts);
    *manifest = (struct manifest){0};
}

weft_err manifest_add(struct manifest *manifest, uint64_t bytes, uint64_t records, uint32_t crc32c)
{
    struct manifest_part *part = NULL;
    if (manifest->part_count < MANIFEST_PARTS_MAX)
        part = vec_next((void **)&manifest->parts, manifest->part_count, &manifest->part_capacity,
                        sizeof *manifest->parts);
    if (!part)
        return err_set(WEFT_RESOURCE_EXHAUSTED, "a manifest holds at most %d parts",
                       MANIFEST_PARTS_MAX);
    *part = (struct manifest_part){.bytes = bytes, .records = records, .crc32c = crc32c};
    part_format_name(part->name, (uint32_t)manifest->part_count, manifest->suffix);
    manifest->part_count++;
    manifest->bytes += bytes;
    manifest->records += records;
    return WEFT_OK;
}

weft_err manifest_add_input(struct manifest *manifest, const char *name, uint64_t bytes,
                            int64_t mtime_ns)
{
    struct manifest_input *input = vec_next((void **)&manifest->inputs, manifest->input_count,
                                            &manifest->input_capacity, sizeof *manifest->inputs);
    char *copy = strdup(name);
    if (!input || !copy) {
        free(copy);
        return err_no_memory("for the list of inputs");
    }
    *input = (struct manifest_input){copy, bytes, mtime_ns};
    manifest->input_count++;
    return WEFT_OK;
}

bool manifest_is_same(const struct manifest *manifest, const struct manifest *other,
                      struct buf *why)
{
    if (!manifest->identity[0] || strcmp(manifest->identity, other->identity) != 0) {
        buf_format(why, "another job made it, or the same job with other options or code");
        return false;
    }
    const size_t count =
        manifest->input_count < other->input_count ? manifest->input_count : other->input_count;
    for (size_t i = 0; i < count; i++) {
        const struct manifest_input *a = &manifest->inputs[i], *b = &other->inputs[i];
        if (strcmp(a->name, b->name) != 0)
            buf_format(why, "it was made from %s where %s is given now", a->name, b->name);
        else if (a->bytes != b->bytes || a->mtime_ns != b->mtime_ns)
            buf_format(why, "%s has changed since", a->name);
        else
            continue;
        return false;
    }
    if (manifest->input_count == other->input_count)
        return true;
    buf_format(why, "it was made from %zu files, and %zu are given now", manifest->input_count,
               other->input_count);
    return false;
}

static bool is_utf8(const char *name)
{
    for (const char *at = name, *end = name + strlen(name); at < end;) {
        const size_t length = text_utf8_length(at, end);
        if (length == 0)
            return false;
        at += length;
    }
    return true;
}

// JSON has no way to write a name that is not UTF-8: such a one is there twice, for people and in its bytes.
static void format_name(struct buf *buf, const char *name)
{
    json_append_string(buf, weft_text(name));
    if (is_utf8(name))
        return;
    buf_append_text(buf, ", \"name_hex\": \"");
    for (; *name; name++)
        buf_format(buf, "%02x", (unsigned char)*name);
    buf_append_text(buf, "\"");
}

// What the answer was made by and from.
static void format_origin(struct buf *buf, const struct manifest *manifest)
{
    buf_format(buf, ",\n  \"identity\": \"%s\",\n  \"inputs\": [", manifest->identity);
    for (size_t i = 0; i < manifest->input_count; i++) {
        const struct manifest_input *input = &manifest->inputs[i];
        buf_format(buf, "%s\n    {\"name\": ", i ? "," : "");
        format_name(buf, input->name);
        buf_format(buf, ", \"bytes\": %" PRIu64 ", \"mtime_ns\": %" PRId64 "}", input->bytes,
                   input->mtime_ns);
    }
    buf_append_text(buf, "\n  ]");
}

void manifest_format(struct buf *buf, const struct manifest *manifest)
{
    buf_format(buf, "{\n  \"version\": %d,\n  \"job\": ", MANIFEST_VERSION);
    json_append_string(buf, weft_text(manifest->job ? manifest->job : ""));
    buf_append_text(buf, ",\n  \"parts\": [");
    for (size_t i = 0; i < manifest->part_count; i++) {
        const struct manifest_part *part = &manifest->parts[i];
        buf_format(buf,
                   "%s\n    {\"name\": \"%s\", \"bytes\": %" PRIu64 ", \"records\": %" PRIu64
                   ", \"crc32c\": \"%08" PRIx32 "\"}",
                   i ? "," : "", part->name, part->bytes, part->records, part->crc32c);
    }
    buf_format(buf, "\n  ],\n  \"bytes\": %" PRIu64 ",\n  \"records\": %" PRIu64, manifest->bytes,
               manifest->records);
    if (manifest->identity[0])
        format_origin(buf, manifest);
    buf_append_text(buf, "\n}\n");
}

// ---- Reading -------------------------------------------------------------------------------------------

static weft_err is_wrong(const char *what)
{
    return err_set(WEFT_DATA_LOSS, "the manifest is damaged: %s", what);
}

static weft_err read_number(const json_t *object, const char *name, uint64_t *number)
{
    const json_t *value = json_object_get(object, name);
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return err_set(WEFT_DATA_LOSS, "the manifest is damaged: \"%s\" is not a size", name);
    *number = (uint64_t)json_integer_value(value);
    return WEFT_OK;
}

static bool read_crc(const json_t *object, uint32_t *crc)
{
    const char *text = json_string_value(json_object_get(object, "crc32c"));
    if (!text || strlen(text) != 8 || strspn(text, "0123456789abcdef") != 8)
        return false;
    *crc = (uint32_t)strtoul(text, NULL, 16);
    return true;
}

static void read_suffix(struct manifest *manifest, const char *name)
{
    static const char *const known[] = {".gz", ".zst", ".lz4"};
    const char *dot = name ? strchr(name, '.') : NULL;
    for (size_t i = 0; dot && i < sizeof known / sizeof *known; i++)
        if (strcmp(dot, known[i]) == 0)
            snprintf(manifest->suffix, sizeof manifest->suffix, "%s", known[i]);
}

static weft_err read_part(struct manifest *manifest, const json_t *object)
{
    uint64_t bytes = 0, records = 0;
    uint32_t crc;
    weft_err err = read_number(object, "bytes", &bytes);
    if (!err)
        err = read_number(object, "records", &records);
    if (err)
        return err;
    if (!read_crc(object, &crc))
        return is_wrong("a checksum is not 8 hexadecimal digits");
    if (bytes > UINT64_MAX - manifest->bytes || records > UINT64_MAX - manifest->records)
        return is_wrong("the sizes are too large");
    const char *name = json_string_value(json_object_get(object, "name"));
    if (manifest->part_count == 0)
        read_suffix(manifest, name);
    err = manifest_add(manifest, bytes, records, crc);
    if (err)
        return err;
    // Names are not free: they say where the part stands, and must not lead out of the directory.
    const char *expected = manifest->parts[manifest->part_count - 1].name;
    return name && strcmp(name, expected) == 0 ? WEFT_OK : is_wrong("the parts are not in order");
}

static weft_err read_parts(struct manifest *manifest, const json_t *parts)
{
    if (!json_is_array(parts))
        return is_wrong("it lists no parts");
    for (size_t i = 0; i < json_array_size(parts); i++) {
        const weft_err err = read_part(manifest, json_array_get(parts, i));
        if (err)
            return err;
    }
    return WEFT_OK;
}

static int read_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// The bytes of a name in hex; false: it is none. `hex` is "" where there is no such field.
static bool read_hex(const char *hex, struct buf *name)
{
    for (; hex[0]; hex += 2) {
        const int high = read_digit(hex[0]), low = high < 0 ? -1 : read_digit(hex[1]);
        if (low < 0 || high + low == 0)
            return false;
        buf_append(name, &(char){(char)(16 * high + low)}, 1);
    }
    return name->size > 0;
}

static weft_err read_input(struct manifest *manifest, const json_t *object)
{
    uint64_t bytes = 0;
    const weft_err err = read_number(object, "bytes", &bytes);
    const char *name = json_string_value(json_object_get(object, "name"));
    const char *hex = json_string_value(json_object_get(object, "name_hex"));
    const json_t *mtime = json_object_get(object, "mtime_ns");
    if (err)
        return err;
    struct buf raw = {0};
    const bool is_right = name && json_is_integer(mtime) &&
                          (!hex || (read_hex(hex, &raw) && !is_utf8(buf_text(&raw))));
    const weft_err added = is_right ? manifest_add_input(manifest, hex ? buf_text(&raw) : name,
                                                         bytes, json_integer_value(mtime))
                                    : is_wrong("an input has no name or no time");
    buf_fini(&raw);
    return added;
}

// Left out by runs that could not know it.
static weft_err read_origin(struct manifest *manifest, const json_t *root)
{
    const json_t *identity = json_object_get(root, "identity");
    const json_t *inputs = json_object_get(root, "inputs");
    if (!identity)
        return WEFT_OK;
    const char *text = json_string_value(identity);
    if (!text || strlen(text) != MANIFEST_IDENTITY_BYTES - 1 ||
        strspn(text, "0123456789abcdef") != MANIFEST_IDENTITY_BYTES - 1)
        return is_wrong("its identity is not 32 hexadecimal digits");
    memcpy(manifest->identity, text, MANIFEST_IDENTITY_BYTES);
    weft_err err = json_is_array(inputs) ? WEFT_OK : is_wrong("it lists no inputs");
    for (size_t i = 0; !err && i < json_array_size(inputs); i++)
        err = read_input(manifest, json_array_get(inputs, i));
    return err;
}

static weft_err read_root(struct manifest *manifest, const json_t *root)
{
    uint64_t version = 0, bytes = 0, records = 0;
    weft_err err = json_is_object(root) ? read_number(root, "version", &version)
                                        : is_wrong("it is not an object");
    if (err)
        return err;
    if (version != MANIFEST_VERSION)
        return err_set(WEFT_DATA_LOSS,
                       "the manifest has version %" PRIu64 ", this program knows %d", version,
                       MANIFEST_VERSION);
    const char *job = json_string_value(json_object_get(root, "job"));
    manifest->job = job ? strdup(job) : NULL;
    if (!manifest->job)
        return is_wrong("it names no job");
    err = read_parts(manifest, json_object_get(root, "parts"));
    if (!err)
        err = read_number(root, "bytes", &bytes);
    if (!err)
        err = read_number(root, "records", &records);
    if (!err && (bytes != manifest->bytes || records != manifest->records))
        err = is_wrong("its totals are not those of its parts");
    return err ? err : read_origin(manifest, root);
}

weft_err manifest_parse(struct manifest *manifest, weft_bytes text)
{
    if (text.size > MANIFEST_BYTES_MAX)
        return is_wrong("it is too large");
    json_error_t error;
    json_t *root =
        json_loadb(text.data ? text.data : "", text.size, JSON_REJECT_DUPLICATES, &error);
    if (!root)
        return err_set(WEFT_DATA_LOSS, "the manifest is damaged: line %d: %s", error.line,
                       error.text);
    const weft_err err = read_root(manifest, root);
    json_decref(root);
    return err;
}

// ---- Checking a directory --------------------------------------------------------------------------------

static weft_err read_whole(const char *path, struct buf *text)
{
    int fd;
    size_t got = 0;
    weft_err err = file_open(path, &fd);
    while (!err) {
        char *to = buf_reserve(text, READ_BYTES);
        if (!to || text->size > MANIFEST_BYTES_MAX)
            err = err_set(WEFT_RESOURCE_EXHAUSTED, "%s is too large", path);
        else
            err = file_read_at(fd, path, to, READ_BYTES, text->size, &got);
        text->size += err ? 0 : got;
        if (got < READ_BYTES)
            break;
    }
    if (fd >= 0)
        file_close(fd);
    return err;
}

static weft_err verify_part(const char *directory, const struct manifest_part *part)
{
    struct buf path = {0};
    int fd;
    uint64_t bytes;
    uint32_t crc;
    struct file_stat status;
    buf_format(&path, "%s/%s", directory, part->name);
    weft_err err = file_stat(buf_text(&path), &status);
    if (!err && status.kind == FILE_MISSING && part->bytes == 0 && part->records == 0) {
        buf_fini(&path);
        return WEFT_OK;  // empty ones may have been left out
    }
    if (!err)
        err = file_open(buf_text(&path), &fd);
    if (!err) {
        err = part_sum(fd, buf_text(&path), 0, UINT64_MAX, &bytes, &crc);
        file_close(fd);
    }
    if (!err && bytes != part->bytes)
        err = err_set(WEFT_DATA_LOSS,
                      "%s has %" PRIu64 " bytes, the manifest says %" PRIu64
                      "\n  it was changed after the job, or a copy is not complete",
                      buf_text(&path), bytes, part->bytes);
    else if (!err && crc != part->crc32c)
        err = err_set(WEFT_DATA_LOSS,
                      "%s has checksum %08" PRIx32 ", the manifest says %08" PRIx32
                      "\n  it was changed after the job, or the disk has lost bits",
                      buf_text(&path), crc, part->crc32c);
    buf_fini(&path);
    return err;
}

static weft_err check_success(const char *directory)
{
    struct buf path = {0};
    struct file_stat status;
    buf_format(&path, "%s/_SUCCESS", directory);
    weft_err err = file_stat(buf_text(&path), &status);
    if (!err && status.kind != FILE_REGULAR)
        err = err_set(WEFT_NOT_FOUND, "%s is not a finished output: it has no _SUCCESS", directory);
    buf_fini(&path);
    return err;
}

// Reads the manifest in the directory, under the name of today or else that of before.
weft_err manifest_read(const char *directory, struct manifest *manifest)
{
    struct buf path = {0}, text = {0};
    struct file_stat status;
    buf_format(&path, "%s/%s", directory, MANIFEST_NAME_BEFORE);
    weft_err err = file_stat(buf_text(&path), &status);
    const bool has_before = !err && status.kind == FILE_REGULAR;
    path.size = 0;
    buf_format(&path, "%s/%s", directory, MANIFEST_NAME);
    if (!err)
        err = file_stat(buf_text(&path), &status);
    if (!err && status.kind == FILE_MISSING && has_before) {
        path.size = 0;
        buf_format(&path, "%s/%s", directory, MANIFEST_NAME_BEFORE);
    }
    if (!err)
        err = read_whole(buf_text(&path), &text);
    if (!err)
        err = err_wrap(manifest_parse(manifest, buf_bytes(&text)), "%s", buf_text(&path));
    buf_fini(&path);
    buf_fini(&text);
    return err;
}

bool manifest_is_one_of_before(const char *path)
{
    struct buf text = {0}, directory = {0}, now = {0};
    struct manifest manifest = {0};
    struct file_stat status = {.kind = FILE_MISSING};
    const char *slash = strrchr(path, '/');
    if (strcmp(slash ? slash + 1 : path, MANIFEST_NAME_BEFORE) != 0)
        return false;
    buf_append(&directory, path, slash ? (size_t)(slash - path) : 0);
    if (!slash)
        buf_append_text(&directory, ".");
    buf_format(&now, "%s/%s", buf_text(&directory), MANIFEST_NAME);
    const bool is_one = check_success(buf_text(&directory)) == WEFT_OK &&
                        file_stat(buf_text(&now), &status) == WEFT_OK &&
                        status.kind == FILE_MISSING && read_whole(path, &text) == WEFT_OK &&
                        manifest_parse(&manifest, buf_bytes(&text)) == WEFT_OK;
    err_clear();
    manifest_fini(&manifest);
    buf_fini(&directory);
    buf_fini(&now);
    buf_fini(&text);
    return is_one;
}

weft_err manifest_verify(const char *directory, struct manifest *manifest)
{
    weft_err err = check_success(directory);
    if (!err)
        err = manifest_read(directory, manifest);
    for (size_t i = 0; !err && i < manifest->part_count; i++)
        err = verify_part(directory, &manifest->parts[i]);
    return err;
}
