// config_files: three passes over all members. The first looks at existing files and touches nothing, so
// that a refusal leaves all as it was; the second writes under hidden names, where a full disk shows;
// the third only renames. Texts are made anew in each pass: kept, they would grow with the square of
// the number of members.

#include "cluster/config_files.h"

#include <inttypes.h>
#include <stdlib.h>

#include "sys/file/file.h"
#include "sys/file/place.h"

// The kernel's limit on one variable (MAX_ARG_STRLEN: 32 pages), with "TF_CONFIG=" and the zero.
enum { VARIABLE_BYTES_MAX = (128 << 10) - 11 };

static const char *const suffixes[] = {
    [CONFIG_SH] = "sh", [CONFIG_JSON] = "json", [CONFIG_ENV] = "env"};

void config_files_fini(struct config_files *files)
{
    for (size_t i = 0; i < files->items.count; i++) {
        free(files->items.items[i].path);
        free(files->items.items[i].temporary);
    }
    VEC_FINI(&files->items);
}

bool config_read_format(const char *text, enum config_format *format)
{
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        if (strcmp(text, suffixes[i]) == 0) {
            *format = (enum config_format)i;
            return true;
        }
    }
    return false;
}

// ---- The text of one file ------------------------------------------------------------------------------

// In single quotes a shell takes everything as it is but the quote itself.
static void append_quoted(struct buf *buf, weft_bytes text)
{
    buf_append_text(buf, "'");
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] == '\'')
            buf_append_text(buf, "'\\''");
        else
            buf_append(buf, &text.data[i], 1);
    }
    buf_append_text(buf, "'");
}

static weft_err check_size(size_t size)
{
    if (size <= VARIABLE_BYTES_MAX)
        return WEFT_OK;
    return err_set(WEFT_INVALID_ARGUMENT,
                   "TF_CONFIG would have %zu bytes, and a variable has at most %d\n"
                   "  try: --format json, and let the program read the file",
                   size, VARIABLE_BYTES_MAX);
}

// Indented while it fits into a variable, for people may look at it.
static weft_err append_sh(struct buf *buf, const struct cluster_spec *spec, const char *role,
                          uint32_t index)
{
    struct buf text = {0};
    weft_err err = cluster_spec_write_tf_config(&text, spec, role, index, CLUSTER_INDENTED);
    if (!err && text.size > VARIABLE_BYTES_MAX) {
        text.size = 0;
        err = cluster_spec_write_tf_config(&text, spec, role, index, CLUSTER_COMPACT);
    }
    if (!err)
        err = check_size(text.size);
    buf_append_text(buf, "export TF_CONFIG=");
    append_quoted(buf, buf_bytes(&text));
    buf_append_text(buf, "\n");
    buf_fini(&text);
    return err;
}

static weft_err append_env(struct buf *buf, const struct cluster_spec *spec, const char *role,
                           uint32_t index)
{
    buf_append_text(buf, "TF_CONFIG=");
    const size_t before = buf->size;
    weft_err err = cluster_spec_write_tf_config(buf, spec, role, index, CLUSTER_COMPACT);
    if (!err)
        err = check_size(buf->size - before);
    buf_append_text(buf, "\n");
    return err;
}

weft_err config_append(struct buf *buf, const struct cluster_spec *spec, const char *role,
                       uint32_t index, const struct config_options *options)
{
    weft_err err;
    if (options->format == CONFIG_JSON) {
        err = cluster_spec_write_tf_config(buf, spec, role, index, CLUSTER_INDENTED);
        buf_append_text(buf, "\n");
    } else {
        const bool is_sh = options->format == CONFIG_SH;
        err = is_sh ? append_sh(buf, spec, role, index) : append_env(buf, spec, role, index);
        if (!options->keeps_gpu)
            buf_format(buf, "%sCUDA_VISIBLE_DEVICES=-1\n", is_sh ? "export " : "");
    }
    if (!err && buf->has_failed)
        err = err_no_memory("for the configuration of a member");
    return err;
}

// ---- First: what is there? -----------------------------------------------------------------------------

static bool holds(int fd, const char *path, weft_bytes text)
{
    struct buf found = {0};
    const bool is_read = file_read_all(fd, path, text.size + 1, &found) == WEFT_OK;
    const bool is_same = is_read && found.size == text.size &&
                         (text.size == 0 || memcmp(found.data, text.data, text.size) == 0);
    buf_fini(&found);
    return is_same;
}

// A file that cannot be read holds something else, as far as we can know.
static bool is_same_file(const char *path, weft_bytes text)
{
    int fd;
    bool is_same = false;
    if (file_open(path, &fd) == WEFT_OK) {
        is_same = holds(fd, path, text);
        file_close(fd);
    }
    err_clear();
    return is_same;
}

static weft_err look(struct config_file *file, weft_bytes text, bool force)
{
    enum place_kind kind;
    const weft_err err = place_look(file->path, &kind);
    if (err == WEFT_NOT_FOUND || (!err && kind == PLACE_FREE)) {
        err_clear();
        return WEFT_OK;
    }
    if (err)
        return err;
    if (kind == PLACE_DIRECTORY || kind == PLACE_STREAM)
        return err_set(WEFT_ALREADY_EXISTS, "%s exists already, and is not a file", file->path);
    if (kind == PLACE_FILE && is_same_file(file->path, text)) {
        file->change = CONFIG_SAME;
        return WEFT_OK;
    }
    file->change = CONFIG_REPLACED;
    if (force)
        return WEFT_OK;
    return err_set(WEFT_ALREADY_EXISTS,
                   "%s exists already with other content; nothing was written\n"
                   "  try: --force to replace it, or -d DIR for another directory",
                   file->path);
}

static weft_err list_file(struct config_files *files, const struct config_options *options,
                          const char *role, const struct cluster_member *member)
{
    struct buf path = {0};
    const char *directory = options->directory ? options->directory : "";
    const size_t length = strlen(directory);
    const bool has_slash = length == 0 || directory[length - 1] == '/';
    buf_format(&path, "%s%sconfig_%s_%" PRIu32 ".%s", directory, has_slash ? "" : "/", role,
               member->index, suffixes[options->format]);
    struct config_file file = {.role = role, .member = member, .path = strdup(buf_text(&path))};
    buf_fini(&path);
    if (file.path && VEC_PUSH(&files->items, file))
        return WEFT_OK;
    free(file.path);
    return err_no_memory("for a list of files");
}

static weft_err list_files(struct config_files *files, const struct cluster_spec *spec,
                           const struct config_options *options)
{
    weft_err err = WEFT_OK;
    for (size_t i = 0; !err && i < spec->roles.count; i++) {
        const struct cluster_role *role = &spec->roles.items[i];
        for (size_t j = 0; !err && j < role->members.count; j++)
            err = list_file(files, options, role->name, &role->members.items[j]);
    }
    return err;
}

static weft_err look_at_all(struct config_files *files, const struct cluster_spec *spec,
                            const struct config_options *options)
{
    struct buf text = {0};
    weft_err err = WEFT_OK;
    for (size_t i = 0; !err && i < files->items.count; i++) {
        struct config_file *file = &files->items.items[i];
        text.size = 0;
        err = config_append(&text, spec, file->role, file->member->index, options);
        if (!err)
            err = look(file, buf_bytes(&text), options->force);
    }
    buf_fini(&text);
    return err;
}

// ---- Second: write; third: rename ----------------------------------------------------------------------

static weft_err write_file(struct config_file *file, weft_bytes text)
{
    int fd;
    weft_err err = place_make_name(file->path, &file->temporary);
    if (!err)
        err = file_create_new(file->temporary, &fd);
    if (err)
        return err;
    err = file_write(fd, file->path, text.data, text.size);
    file_close(fd);
    return err;
}

static weft_err write_all(struct config_files *files, const struct cluster_spec *spec,
                          const struct config_options *options)
{
    struct buf text = {0};
    weft_err err = WEFT_OK;
    for (size_t i = 0; !err && i < files->items.count; i++) {
        struct config_file *file = &files->items.items[i];
        text.size = 0;
        if (file->change == CONFIG_SAME)
            continue;
        err = config_append(&text, spec, file->role, file->member->index, options);
        if (!err)
            err = write_file(file, buf_bytes(&text));
    }
    buf_fini(&text);
    return err;
}

static weft_err move_all(struct config_files *files)
{
    weft_err err = WEFT_OK;
    for (size_t i = 0; !err && i < files->items.count; i++) {
        struct config_file *file = &files->items.items[i];
        if (file->change == CONFIG_SAME)
            continue;
        err = file->change == CONFIG_NEW ? place_move_new(file->temporary, file->path)
                                         : place_move_over(file->temporary, file->path);
        if (err)
            break;
        free(file->temporary);
        file->temporary = NULL;
    }
    return err;
}

// A file that still has its hidden name is removed. One that has its own name by then stays: it is complete, and
// removing it could remove a file that another process has put there since.
static void remove_temporaries(struct config_files *files)
{
    for (size_t i = 0; i < files->items.count; i++)
        if (files->items.items[i].temporary)
            place_remove_file(files->items.items[i].temporary);
}

weft_err config_files_write(struct config_files *files, const struct cluster_spec *spec,
                            const struct config_options *options)
{
    weft_err err = list_files(files, spec, options);
    if (!err)
        err = look_at_all(files, spec, options);
    if (!err && options->directory)
        err = file_make_directory(options->directory);
    if (!err)
        err = write_all(files, spec, options);
    if (!err)
        err = move_all(files);
    if (err)
        remove_temporaries(files);
    return err;
}
