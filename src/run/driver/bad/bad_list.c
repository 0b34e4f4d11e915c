// Where the list of bad records goes, and whether it may.

#include "run/driver/bad/bad_list.h"

#include "base/json.h"
#include "sys/file/file.h"
#include "sys/file/find.h"
#include "sys/file/own.h"
#include "sys/file/place.h"
#include "sys/file/standard.h"

#include <libgen.h>
#include <stdlib.h>
#include <unistd.h>

enum { LOOK_BYTES = 64 << 10 };  // no line of a list is longer

#define ANOTHER_NAME "\n  try: --bad-records with another name"

// ---- What a run writes --------------------------------------------------------------------------

void bad_list_append(struct buf *text, const char *file, const struct bad_record *bad)
{
    json_open(text, NULL, '{');
    json_append_text(text, "file", file);
    json_append_uint(text, "offset", bad->place.offset);
    json_append_uint(text, "bytes", bad->size);
    json_append_text(text, "reason", bad->reason);
    buf_append_text(text, ",\"record\":");
    json_append_string(text, (weft_bytes){bad->text, bad->text_size});
    json_close(text, '}');
    buf_append_text(text, "\n");
}

static bool takes(weft_bytes *rest, const char *word)
{
    const size_t size = strlen(word);
    if (rest->size < size || memcmp(rest->data, word, size) != 0)
        return false;
    *rest = (weft_bytes){rest->data + size, rest->size - size};
    return true;
}

static bool takes_string(weft_bytes *rest)
{
    if (!takes(rest, "\""))
        return false;
    size_t at = 0;
    while (at < rest->size && rest->data[at] != '"' && (unsigned char)rest->data[at] >= ' ')
        at += rest->data[at] == '\\' ? 2 : 1;
    if (at >= rest->size || rest->data[at] != '"')
        return false;
    *rest = (weft_bytes){rest->data + at + 1, rest->size - at - 1};
    return true;
}

static bool takes_number(weft_bytes *rest)
{
    size_t at = 0;
    while (at < rest->size && rest->data[at] >= '0' && rest->data[at] <= '9')
        at++;
    *rest = (weft_bytes){rest->data + at, rest->size - at};
    return at > 0;
}

// As bad_list_append writes it, without its line end.
static bool is_line_of_list(weft_bytes line)
{
    return takes(&line, "{\"file\":") && takes_string(&line) && takes(&line, ",\"offset\":") &&
           takes_number(&line) && takes(&line, ",\"bytes\":") && takes_number(&line) &&
           takes(&line, ",\"reason\":") && takes_string(&line) && takes(&line, ",\"record\":") &&
           takes_string(&line) && takes(&line, "}") && line.size == 0;
}

// How many bytes of the text are lines of a list; 0: none of it is.
static size_t count_list_bytes(weft_bytes text)
{
    size_t at = 0;
    const char *end;
    while (at < text.size && (end = memchr(text.data + at, '\n', text.size - at))) {
        const size_t size = (size_t)(end - text.data) - at;
        if (!is_line_of_list((weft_bytes){text.data + at, size}))
            return 0;
        at += size + 1;
    }
    return at;
}

static weft_err read_lines(int fd, const char *path, char *room, bool *is_list)
{
    uint64_t at = 0;
    for (;;) {
        size_t got = 0;
        const weft_err code = file_read_at(fd, path, room, LOOK_BYTES, at, &got);
        if (code != WEFT_OK)
            return code;
        if (got == 0)
            *is_list = at > 0;
        const size_t known = count_list_bytes((weft_bytes){room, got});
        if (known == 0)
            return WEFT_OK;
        at += known;
    }
}

// Whether every line of the file is one that a run has written. Any other file is the user's.
static weft_err look_into_file(const char *path, bool *is_list)
{
    int fd = -1;
    char *room = malloc(LOOK_BYTES);
    *is_list = false;
    weft_err code = room ? file_open(path, &fd) : err_no_memory("to look into %s", path);
    if (code == WEFT_OK)
        code = read_lines(fd, path, room, is_list);
    file_close(fd);
    free(room);
    return code;
}

// ---- What stands there --------------------------------------------------------------------------

static weft_err look(const char *path, struct bad_list_place *list)
{
    struct found found;
    *list = (struct bad_list_place){.number = standard_number(path)};
    weft_err code =
        list->number >= 0 ? find_look_fd(list->number, path, &found) : find_look(path, &found);
    if (code != WEFT_OK)
        return code;
    list->kind = found.kind;
    list->device = found.device;
    list->inode = found.inode;
    list->is_empty = found.size == 0;
    return found.kind == FILE_REGULAR && list->number < 0 ? look_into_file(path, &list->is_old)
                                                          : WEFT_OK;
}

static weft_err refuse_foreign(const char *path)
{
    return err_set(WEFT_ALREADY_EXISTS,
                   "%s exists already and is not a list of bad records\n  try: --force to "
                   "replace it, or --bad-records with another name",
                   path);
}

static bool is_foreign(const struct bad_list *list, const struct bad_list_place *there)
{
    return there->kind == FILE_REGULAR && there->number < 0 && !there->is_old && !there->is_empty &&
           !list->options->force;
}

// ---- Whether it can be written ------------------------------------------------------------------

// The default name, which the user did not choose, must not lead into files that others put there.
static bool is_default(const char *path)
{
    return strcmp(path, INPUTS_BAD_LIST) == 0;
}

static weft_err check_parent(const char *path)
{
    char *parent;
    weft_err code = place_parent(path, &parent);
    if (code != WEFT_OK)
        return code;
    code = place_check_parent(parent);
    free(parent);
    return code == WEFT_OK ? code
                           : err_set(code,
                                     "cannot write %s\n  %s\n  try: --bad-records with a name "
                                     "in a directory that you may write in",
                                     path, err_text());
}

static weft_err check_descriptor(const char *path, int number)
{
    enum standard_kind kind;
    const weft_err code = standard_look(number, &kind);
    if (code != WEFT_OK || kind != STANDARD_CLOSED)
        return code;
    return err_set(WEFT_FAILED_PRECONDITION, "%s is not open for writing" ANOTHER_NAME, path);
}

static weft_err check_place(const struct bad_list_place *list, const char *path)
{
    int fd = -1;
    if (list->number >= 0)
        return check_descriptor(path, list->number);
    if (list->kind == FILE_DIRECTORY)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "%s is a directory\n  try: --bad-records with the name of a file", path);
    weft_err code = is_default(path) ? WEFT_OK : own_check_named(path);
    if (code != WEFT_OK)
        return code;
    if (is_default(path) && (list->kind != FILE_MISSING || find_is_link(path)))
        code = file_open_kept(path, &fd);
    else if (list->kind == FILE_MISSING)
        code = check_parent(path);
    else if (list->kind == FILE_REGULAR)
        code = standard_open_stream(path, &(struct wait_limit){0}, &fd);
    file_close(fd);
    return code;
}

// ---- Whether it is something else, too ----------------------------------------------------------

static bool is_same_file(const struct found *a, uint64_t device, uint64_t inode)
{
    return a->kind != FILE_MISSING && a->device == device && a->inode == inode;
}

static bool look_quietly(const char *path, struct found *found)
{
    if (find_look(path, found) != WEFT_OK)
        err_clear();  // reading it later reports that
    return found->kind != FILE_MISSING;
}

// Two names of what may not be there yet: the same name in the same directory. Or one lies in the other.
static bool is_output_name(const char *output, const char *path)
{
    char *parent_of_output = NULL, *parent = NULL;
    char *name_of_output = strdup(output), *name = strdup(path);
    struct found a, b, target;
    bool is_same = false;
    if (place_parent(output, &parent_of_output) == WEFT_OK &&
        place_parent(path, &parent) == WEFT_OK && name_of_output && name &&
        look_quietly(parent, &b)) {
        is_same = look_quietly(parent_of_output, &a) && is_same_file(&a, b.device, b.inode) &&
                  strcmp(basename(name_of_output), basename(name)) == 0;
        // A directory of parts is replaced as a whole.
        is_same = is_same || (look_quietly(output, &target) && target.kind == FILE_DIRECTORY &&
                              is_same_file(&target, b.device, b.inode));
    }
    free(parent_of_output);
    free(parent);
    free(name_of_output);
    free(name);
    return is_same;
}

static weft_err check_output(const struct bad_list *list, const char *path)
{
    const struct bad_list_place *there = &list->there;
    const char *output = list->options->output;
    struct found target = {0};
    const int number =
        !output || strcmp(output, "-") == 0 ? STDOUT_FILENO : standard_number(output);
    if (number >= 0 && find_look_fd(number, "the output", &target) != WEFT_OK) {
        err_clear();  // closed: opening the output reports that
        return WEFT_OK;
    }
    const bool is_there = number >= 0 || look_quietly(output, &target);
    bool is_same = number >= 0 ? there->number == number : is_output_name(output, path);
    if (is_there && there->kind == FILE_REGULAR)
        is_same = is_same || is_same_file(&target, there->device, there->inode);
    if (!is_same)
        return WEFT_OK;
    return err_set(WEFT_INVALID_ARGUMENT,
                   "%s is the output and also the list of bad records" ANOTHER_NAME, path);
}

static weft_err check_input(const struct bad_list_place *list, const char *name, const char *path)
{
    struct found found;
    if (list->kind != FILE_REGULAR || !look_quietly(path, &found) ||
        !is_same_file(&found, list->device, list->inode))
        return WEFT_OK;
    return err_set(WEFT_INVALID_ARGUMENT,
                   "%s is an input and also the list of bad records" ANOTHER_NAME, name);
}

void bad_list_init(struct bad_list *list, const struct run_options *options)
{
    *list = (struct bad_list){.options = options};
}

// Anything else there is data, and then refused as the list.
const char *bad_list_old_path(const struct bad_list *list)
{
    return list->there.is_old ? list->options->bad_records : NULL;
}

weft_err bad_list_check(struct bad_list *list)
{
    const struct run_options *options = list->options;
    const char *path = options->bad_records;
    if (!options->skip_bad.is_set)
        return WEFT_OK;
    weft_err code = err_wrap(look(path, &list->there), "the list of bad records");
    if (code == WEFT_OK)
        code = check_output(list, path);
    // Inputs that are named can be refused at once, and --force would be the wrong advice.
    for (size_t i = 0; i < options->input_count && code == WEFT_OK; i++)
        code = check_input(&list->there, options->inputs[i], options->inputs[i]);
    if (code == WEFT_OK && is_foreign(list, &list->there))
        return refuse_foreign(path);
    return code != WEFT_OK ? code
                           : err_wrap(check_place(&list->there, path), "the list of bad records");
}

weft_err bad_list_check_inputs(const struct bad_list *list, const struct inputs *inputs)
{
    weft_err code = WEFT_OK;
    if (!list->options->skip_bad.is_set || list->there.kind != FILE_REGULAR)
        return WEFT_OK;
    for (size_t i = 0; i < inputs->count && code == WEFT_OK; i++)
        code = check_input(&list->there, inputs->items[i].name, inputs->items[i].path);
    return code;
}

// ---- At the end ---------------------------------------------------------------------------------

static weft_err open_list(const struct bad_list *list, const char *path, int *fd)
{
    struct bad_list_place there;
    weft_err code = look(path, &there);  // it may be another's by now
    if (code != WEFT_OK)
        return code;
    if (there.number >= 0) {
        *fd = standard_duplicate(there.number);
        return *fd < 0 ? WEFT_RESOURCE_EXHAUSTED : WEFT_OK;
    }
    if (is_foreign(list, &there))
        return refuse_foreign(path);
    return is_default(path) ? file_create(path, fd) : file_create_named(path, fd);
}

weft_err bad_list_write(const struct bad_list *list, const struct buf *text)
{
    const char *path = list->options->bad_records;
    int fd = -1;
    weft_err code = text->has_failed ? err_no_memory("for the list of bad records")
                                     : open_list(list, path, &fd);
    if (code == WEFT_OK)
        code = file_write(fd, path, text->data, text->size);
    const weft_err closed = file_close_checked(fd, path);
    return code != WEFT_OK ? code : closed;
}

weft_err bad_list_remove(const struct bad_list *list)
{
    struct bad_list_place there;
    const char *path = list->options->bad_records;
    const weft_err code = look(path, &there);
    return code == WEFT_OK && there.is_old ? file_remove(path) : code;
}
