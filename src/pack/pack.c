// pack: finds out what the source is, lists its content, and writes the archive under a name of its own until its hash is known.

#include "pack/pack.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "pack/content.h"
#include "pack/gather.h"
#include "pack/press.h"
#include "pack/tarball.h"
#include "pack/venv.h"
#include "store/cache/digest.h"
#include "sys/file/file.h"
#include "sys/file/place.h"
#include "sys/machine/machine.h"

enum {
    NAME_HASH_DIGITS = 16,
    WAITING_THREADS = 2,  // more than there are cores: some wait for files to be read
};
static const char archive_end[] = ".tar.zst";

static weft_err no_memory(void)
{
    return err_no_memory("to pack");
}

// ---- Content -------------------------------------------------------------------------------------------------------

// The last part of the source's path without links, such as can be part of a file name.
static weft_err set_name(struct label *label, const char *source)
{
    char *real = file_real_path(source);
    if (!real)
        return err_errno("cannot pack %s", source);
    const char *slash = strrchr(real, '/'), *name = slash && slash[1] ? slash + 1 : "root";
    const char *end = name + strlen(name);
    size_t size = 0, length;
    for (; name < end; name += length) {
        length = text_utf8_length(name, end);
        const bool is_plain = length > 1 || (length == 1 && *name > ' ' && *name != 0x7f &&
                                             !strchr("'\"\\$`*?<>|;&()", *name));
        length = length ? length : 1;
        if (size + length >= sizeof label->name)
            break;
        if (is_plain)
            memcpy(label->name + size, name, length);
        else
            label->name[size] = '_';
        size += is_plain ? length : 1;
    }
    label->name[size] = 0;
    free(real);
    return WEFT_OK;
}

// Names of archives without their ends: data-1.0.tar.gz is data-1.0.
static void cut_name(struct label *label)
{
    static const char *const ends[] = {".tar.gz", ".tar.zst", ".tar.xz", ".tar.bz2", ".tar.lz4",
                                       ".tgz",    ".tzst",    ".txz",    ".tbz2",    ".tar"};
    const size_t size = strlen(label->name);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const size_t end = strlen(ends[i]);
        if (size > end && strcmp(label->name + size - end, ends[i]) == 0) {
            label->name[size - end] = 0;
            return;
        }
    }
}

static weft_err list_content(const struct pack_options *options, struct label *label,
                             struct content *content)
{
    struct file_stat status;
    const struct gather_rules rules = {.excludes = options->excludes,
                                       .keeps_all = options->keeps_all,
                                       .is_cancelled = options->is_cancelled};
    weft_err code = file_stat(options->source, &status);
    if (code == WEFT_OK && status.kind == FILE_MISSING)
        code = err_set(WEFT_NOT_FOUND, "cannot pack %s: there is no such file or directory",
                       options->source);
    if (code == WEFT_OK)
        code = set_name(label, options->source);
    if (code != WEFT_OK)
        return code;
    if (status.kind == FILE_DIRECTORY && venv_is_one(options->source))
        return venv_list(options->source, &rules, label, content);
    if (status.kind == FILE_DIRECTORY)
        return gather_directory(content, options->source, "", &rules);
    if (status.kind != FILE_REGULAR)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "cannot pack %s: it is neither a directory nor a file", options->source);
    code = tarball_list(options->source, &rules, label, content);
    cut_name(label);
    return code;
}

static weft_err add_label(struct label *label, struct content *content)
{
    struct buf text = {0};
    label->entries = content->items.count;
    label->bytes = 0;
    for (size_t i = 0; i < content->items.count; i++)
        label->bytes += content->items.items[i].size;
    if (label->entries > LABEL_ENTRIES_MAX || label->bytes > LABEL_CONTENT_BYTES_MAX)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "this is too much for an archive: %d entries and 256 GiB at most",
                       LABEL_ENTRIES_MAX);
    label_write(label, &text);
    weft_err code = text.has_failed
                        ? no_memory()
                        : content_add_text(content, LABEL_NAME, false, buf_bytes(&text));
    buf_fini(&text);
    if (code != WEFT_OK)
        return code;
    // It comes first, whatever the others are called.
    const struct content_item item = content->items.items[content->items.count - 1];
    memmove(content->items.items + 1, content->items.items,
            (content->items.count - 1) * sizeof item);
    content->items.items[0] = item;
    return WEFT_OK;
}

// ---- Archives in the source ---------------------------------------------------------------------------------------

// Whether the name is that of an archive of this source in the default form, finished or not.
static bool is_archive_name(const struct label *label, const char *name)
{
    const size_t length = strlen(label->name);
    name += name[0] == '.';
    if (strncmp(name, label->name, length) != 0)
        return false;
    name += length;
    if (strncmp(name, archive_end, sizeof archive_end - 1) == 0 &&
        strncmp(name + sizeof archive_end - 1, ".weft-", 6) == 0)
        return true;
    return name[0] == '-' && strspn(name + 1, "0123456789abcdef") == NAME_HASH_DIGITS &&
           strcmp(name + 1 + NAME_HASH_DIGITS, archive_end) == 0;
}

// Where the archive goes into the directory that is packed, earlier ones are left out: each would have another hash.
static weft_err drop_archives(const struct pack_options *options, const struct label *label,
                              struct content *content)
{
    const char *output = options->output ? options->output : ".";
    char *real = file_real_path(output);
    const size_t size = real ? strlen(real) : 0;
    bool has_dropped = false;
    for (size_t i = 0; real && i < content->items.count; i++) {
        struct content_item *item = &content->items.items[i];
        if (!item->from || strncmp(item->from, real, size) != 0)
            continue;
        const char *rest = item->from + size;
        if (!*rest || (*rest == '/' && is_archive_name(label, rest + 1))) {
            content_drop(item);
            content->left_out++;
            has_dropped = true;
        }
    }
    free(real);
    return has_dropped ? content_sort(content) : WEFT_OK;
}

// ---- The file ------------------------------------------------------------------------------------------------------

struct target {
    char *name;       // until it is complete
    char *directory;  // for NAME-HASH; NULL: the options have the whole path
    int fd;
};

static weft_err find_directory(const struct pack_options *options, struct target *target)
{
    struct file_stat status;
    const char *output = options->output ? options->output : ".";
    const size_t size = strlen(output);
    const weft_err code = file_stat(output, &status);
    if (code != WEFT_OK)
        return code;
    if (status.kind == FILE_DIRECTORY) {
        target->directory = strdup(output);
        return target->directory ? WEFT_OK : no_memory();
    }
    if (size > 0 && output[size - 1] == '/')
        return err_set(WEFT_NOT_FOUND, "there is no directory %s", output);
    return WEFT_OK;
}

// One that was left by a process that was killed is removed.
static weft_err remove_left(void *owner, const char *name)
{
    const struct target *target = owner;
    struct buf path = {0};
    char *parent = NULL;
    if (place_is_made_name(target->name, name) && place_parent(target->name, &parent) == WEFT_OK) {
        buf_format(&path, "%s/%s", parent, name);
        if (!path.has_failed && file_is_left(buf_text(&path)) && file_remove(buf_text(&path)))
            err_clear();
    }
    free(parent);
    buf_fini(&path);
    return WEFT_OK;
}

static void tidy(const char *base)
{
    char *parent = NULL;
    struct target target = {.name = (char *)base};
    if (place_parent(base, &parent) == WEFT_OK && file_list(parent, remove_left, &target))
        err_clear();
    free(parent);
    err_clear();
}

static weft_err open_target(const struct pack_options *options, const struct label *label,
                            struct target *target)
{
    struct buf base = {0};
    target->fd = -1;
    weft_err code = find_directory(options, target);
    if (code != WEFT_OK)
        return code;
    if (target->directory)
        buf_format(&base, "%s/%s%s", target->directory, label->name, archive_end);
    else
        buf_append_text(&base, options->output);
    code = base.has_failed ? no_memory() : WEFT_OK;
    if (code == WEFT_OK)
        tidy(buf_text(&base));
    if (code == WEFT_OK)
        code = place_make_name(buf_text(&base), &target->name);
    if (code == WEFT_OK)
        code = file_create_held(target->name, &target->fd);
    buf_fini(&base);
    return code;
}

static weft_err finish_target(const struct pack_options *options, struct target *target,
                              struct packed *packed)
{
    struct buf path = {0};
    if (target->directory && strcmp(target->directory, ".") != 0)
        buf_format(&path, "%s/", target->directory);
    if (target->directory)
        buf_format(&path, "%s-%.*s%s", packed->label.name, NAME_HASH_DIGITS, packed->hash,
                   archive_end);
    else
        buf_append_text(&path, options->output);
    weft_err code = path.has_failed ? no_memory() : WEFT_OK;
    if (code == WEFT_OK)
        code = file_rename(target->name, buf_text(&path));
    if (code == WEFT_OK && !(packed->path = strdup(buf_text(&path))))
        code = no_memory();
    buf_fini(&path);
    if (code != WEFT_OK)
        return code;
    free(target->name);
    target->name = NULL;
    const int fd = target->fd;
    target->fd = -1;
    return file_close_checked(fd, packed->path);
}

static void close_target(struct target *target)
{
    struct err_kept kept;
    err_keep(&kept);
    if (target->name && target->fd >= 0)
        (void)!file_remove(target->name);
    if (target->fd >= 0)
        file_close(target->fd);
    free(target->name);
    free(target->directory);
    err_put_back(&kept);
}

// ---- All of it -----------------------------------------------------------------------------------------------------

static weft_err write_archive(const struct pack_options *options, const struct content *content,
                              struct packed *packed)
{
    struct target target = {.fd = -1};
    uint8_t sha256[SHA256_BYTES];
    weft_err code = open_target(options, &packed->label, &target);
    if (code == WEFT_OK) {
        const struct press_options press = {
            .fd = target.fd,
            .fd_name = options->output ? options->output : packed->label.name,
            .level = options->level ? options->level : PACK_LEVEL,
            .threads = options->threads ? options->threads : machine_core_count() + WAITING_THREADS,
            .is_cancelled = options->is_cancelled,
        };
        code = press_content(content, &press, &packed->size, sha256);
    }
    if (code == WEFT_OK) {
        digest_write(sha256, packed->hash);
        code = finish_target(options, &target, packed);
    }
    close_target(&target);
    return code;
}

weft_err pack_make(const struct pack_options *options, struct packed *packed)
{
    struct content content;
    *packed = (struct packed){0};
    content_init(&content);
    weft_err code = list_content(options, &packed->label, &content);
    if (code == WEFT_OK)
        code = content_sort(&content);
    if (code == WEFT_OK)
        code = drop_archives(options, &packed->label, &content);
    if (code == WEFT_OK)
        code = add_label(&packed->label, &content);
    if (code == WEFT_OK)
        code = write_archive(options, &content, packed);
    packed->left_out = content.left_out;
    packed->notes = content.notes.items;
    packed->note_count = content.notes.count;
    content.notes.items = NULL;
    content.notes.count = 0;
    content_fini(&content);
    if (code != WEFT_OK)
        packed_fini(packed);
    return code;
}

void packed_fini(struct packed *packed)
{
    for (size_t i = 0; i < packed->note_count; i++)
        free(packed->notes[i]);
    free(packed->notes);
    free(packed->path);
    *packed = (struct packed){0};
}
