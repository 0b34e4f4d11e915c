// streaming: from words to options. Hadoop reads its command line in two passes (generic options first,
// up to the first that is none), by a parser that takes one dash or two, gives a single value to most
// options and any number to a few, and takes quotes off values. We read it in one pass, so a generic
// option may stand anywhere.

#include "hadoop/streaming.h"

#include <stdlib.h>

#include "base/args.h"
#include "base/vec.h"
#include "hadoop/given.h"
#include "hadoop/property.h"

enum option_id {
    OPTION_GIVEN = 1,  // kept unchanged for settings.c
    OPTION_INPUT,
    OPTION_OUTPUT,
    OPTION_FILE,
    OPTION_FILES,
    OPTION_CMDENV,
    OPTION_PROPERTY,
    OPTION_FILE_SYSTEM,
    OPTION_ARCHIVES,
    OPTION_CONF,
    OPTION_NOTHING,  // understood, and without effect here
    OPTION_IGNORED,  // likewise, but the user may expect an effect
    OPTION_VERBOSE,
    OPTION_LAZY,
    OPTION_HELP,
    OPTION_REFUSED,
};

enum option_values { NO_VALUE, ONE_VALUE, ANY_VALUES };

struct option {
    const char *name;
    enum option_id id;
    enum option_values values;
    size_t place;        // OPTION_GIVEN: in struct streaming_given
    const char *advice;  // OPTION_REFUSED; why OPTION_IGNORED is ignored
};

#define GIVEN(name, field)                                                                         \
    {                                                                                              \
        name, OPTION_GIVEN, ONE_VALUE, offsetof(struct streaming_given, field), NULL               \
    }
#define UNDERSTOOD(name, id, values)                                                               \
    {                                                                                              \
        name, id, values, 0, NULL                                                                  \
    }
#define REFUSED(name, values, advice)                                                              \
    {                                                                                              \
        name, OPTION_REFUSED, values, 0, advice                                                    \
    }

#define IGNORED(name, why)                                                                         \
    {                                                                                              \
        name, OPTION_IGNORED, ONE_VALUE, 0, why                                                    \
    }

static const struct option options_of_hadoop[] = {
    UNDERSTOOD("input", OPTION_INPUT, ANY_VALUES),
    UNDERSTOOD("output", OPTION_OUTPUT, ONE_VALUE),
    GIVEN("mapper", mapper),
    GIVEN("combiner", combiner),
    GIVEN("reducer", reducer),
    GIVEN("numReduceTasks", reduce_count),
    GIVEN("partitioner", partitioner),
    GIVEN("inputformat", input_format),
    GIVEN("outputformat", output_format),
    GIVEN("io", io),
    UNDERSTOOD("file", OPTION_FILE, ANY_VALUES),
    UNDERSTOOD("cacheFile", OPTION_FILE, ANY_VALUES),
    UNDERSTOOD("files", OPTION_FILES, ONE_VALUE),
    UNDERSTOOD("cmdenv", OPTION_CMDENV, ONE_VALUE),
    UNDERSTOOD("D", OPTION_PROPERTY, ONE_VALUE),
    UNDERSTOOD("jobconf", OPTION_PROPERTY, ONE_VALUE),
    UNDERSTOOD("fs", OPTION_FILE_SYSTEM, ONE_VALUE),
    UNDERSTOOD("dfs", OPTION_FILE_SYSTEM, ONE_VALUE),
    UNDERSTOOD("jt", OPTION_NOTHING, ONE_VALUE),
    UNDERSTOOD("debug", OPTION_NOTHING, NO_VALUE),
    UNDERSTOOD("verbose", OPTION_VERBOSE, NO_VALUE),
    UNDERSTOOD("lazyOutput", OPTION_LAZY, NO_VALUE),
    UNDERSTOOD("help", OPTION_HELP, NO_VALUE),
    UNDERSTOOD("h", OPTION_HELP, NO_VALUE),
    UNDERSTOOD("info", OPTION_HELP, NO_VALUE),
    UNDERSTOOD("conf", OPTION_CONF, ONE_VALUE),
    UNDERSTOOD("archives", OPTION_ARCHIVES, ONE_VALUE),
    UNDERSTOOD("cacheArchive", OPTION_ARCHIVES, ANY_VALUES),
    IGNORED("libjars", "there is no Java here, and a class that the job names is refused"),
    IGNORED("mapdebug", "an error shows the end of the command's standard error"),
    IGNORED("reducedebug", "an error shows the end of the command's standard error"),
    IGNORED("tokenCacheFile", "files are local"),
    REFUSED("additionalconfspec", ONE_VALUE, "-conf FILE"),
    REFUSED("inputreader", ONE_VALUE,
            "make lines of the input first, or see --format in weft help run"),
    REFUSED("background", NO_VALUE, "leave it out, and end the line with & instead"),
};

struct parse {
    struct streaming_options *options;
    struct streaming_given given;
    const struct args_option *own;
    struct streaming_list kept;  // what `given` points to
    char *const *words;
    size_t count, at;
};

static weft_err no_memory(void)
{
    return err_no_memory("for the options");
}

weft_err streaming_refuse(const char *what, const char *advice)
{
    return err_set(WEFT_UNIMPLEMENTED, "%s is not possible with weft streaming%s%s", what,
                   advice ? "\n  try: " : "", advice ? advice : "");
}

// ---- Lists -------------------------------------------------------------------------------------------

static weft_err push_bytes(struct streaming_list *list, const char *text, size_t length)
{
    char *copy = strndup(text, length);
    // Room for the copy and for the NULL after it.
    if (!copy || !VEC_NEXT(list)) {
        free(copy);
        return no_memory();
    }
    list->items[list->count++] = copy;
    if (!VEC_NEXT(list)) {
        list->items[--list->count] = NULL;
        free(copy);
        return no_memory();
    }
    list->items[list->count] = NULL;
    return WEFT_OK;
}

weft_err streaming_push(struct streaming_list *list, const char *text)
{
    return push_bytes(list, text, strlen(text));
}

void streaming_drop(struct streaming_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i]);
    VEC_FINI(list);
}

void streaming_fini(struct streaming_options *options)
{
    streaming_drop(&options->inputs);
    streaming_drop(&options->files);
    streaming_drop(&options->archives);
    streaming_drop(&options->notes);
    streaming_drop(&options->environment);
    streaming_drop(&options->own);
    for (size_t i = 0; i < options->property_count; i++) {
        free(options->properties[i].name);
        free(options->properties[i].value);
        free(options->properties[i].given);
    }
    free(options->properties);
    free(options->output);
    free(options->map);
    free(options->combine);
    free(options->reduce);
    free(options->room);
    *options = (struct streaming_options){0};
}

// ---- Values ------------------------------------------------------------------------------------------

// Hadoop's parser removes double quotes when they are around the whole value and nowhere in it.
static void strip_quotes(const char **text, size_t *length)
{
    *length = strlen(*text);
    const char *inside = *text + 1;
    if (*length > 1 && (*text)[0] == '"' && strchr(inside, '"') == *text + *length - 1) {
        *text = inside;
        *length -= 2;
    }
}

// "file:///a", "file:/a" and "/a" are a file; any other scheme is not local.
static weft_err strip_scheme(const char **path, size_t *length, const char *option)
{
    static const char *const ours[] = {"file:///", "file:/"};
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
        const size_t size = strlen(ours[i]);
        if (*length >= size && strncmp(*path, ours[i], size) == 0) {
            *path += size - 1;
            *length -= size - 1;
            return WEFT_OK;
        }
    }
    const char *colon = memchr(*path, ':', *length);
    const size_t scheme = strspn(*path, "abcdefghijklmnopqrstuvwxyz0123456789");
    if (!colon || scheme == 0 || *path + scheme != colon || strncmp(colon, "://", 3) != 0)
        return WEFT_OK;
    return err_set(WEFT_UNIMPLEMENTED,
                   "%s %.*s is not on this machine\n  weft streaming reads and writes local files"
                   "\n  try: copy it here first, or name where it is mounted",
                   option, (int)*length, *path);
}

static weft_err push_path(struct streaming_list *list, const char *text, size_t length,
                          const char *option)
{
    const weft_err err = strip_scheme(&text, &length, option);
    return err ? err : push_bytes(list, text, length);
}

// Names are divided by commas, but not inside the braces of a pattern.
static weft_err push_paths(struct streaming_list *list, const char *text, size_t length,
                           const char *option)
{
    int depth = 0;
    size_t begin = 0;
    weft_err err = WEFT_OK;
    for (size_t i = 0; i <= length && !err; i++) {
        const char c = i < length ? text[i] : ',';
        depth += (c == '{') - (c == '}');
        if (i < length && (c != ',' || depth > 0))
            continue;
        if (i > begin)
            err = push_path(list, text + begin, i - begin, option);
        begin = i + 1;
    }
    return err;
}

static weft_err keep_text(char **to, const char *text, size_t length)
{
    free(*to);
    *to = strndup(text, length);
    return *to ? WEFT_OK : no_memory();
}

// ---- Properties --------------------------------------------------------------------------------------

static struct streaming_property *find_property(const struct streaming_options *options,
                                                const char *name)
{
    for (size_t i = 0; i < options->property_count; i++)
        if (strcmp(options->properties[i].name, name) == 0)
            return &options->properties[i];
    return NULL;
}

// Hadoop loses an empty value on the way to the tasks.
const char *streaming_get(const struct streaming_options *options, const char *name)
{
    const struct streaming_property *property = find_property(options, name);
    return property && *property->value ? property->value : NULL;
}

static weft_err refuse_property(const char *given, const char *newer)
{
    struct buf what = {0};
    buf_format(&what, "-D %s", given);
    const char *advice = property_advice(newer);
    const weft_err err =
        streaming_refuse(buf_text(&what), advice ? advice : "leave it out, if the result allows");
    buf_fini(&what);
    return err;
}

static weft_err set_property(struct streaming_options *options, char *name, const char *value)
{
    const char *newer = property_newer_name(name);
    const enum property_kind kind = property_kind_of(newer);
    if (kind == PROPERTY_REFUSED)
        return refuse_property(name, newer);
    if (kind == PROPERTY_FRAMEWORK)
        return WEFT_OK;
    struct streaming_property *property = find_property(options, newer);
    if (property) {
        const weft_err err = keep_text(&property->given, name, strlen(name));
        return err ? err : keep_text(&property->value, value, strlen(value));
    }
    VEC(struct streaming_property)
    list = {options->properties, options->property_count, options->property_capacity};
    property = VEC_NEXT(&list);
    options->properties = list.items;
    options->property_capacity = list.capacity;
    if (!property)
        return no_memory();
    *property = (struct streaming_property){strdup(newer), strdup(value), strdup(name)};
    options->property_count++;
    return property->name && property->value && property->given ? WEFT_OK : no_memory();
}

// "name=value"; a word without an equals sign has no effect, as in Hadoop.
static weft_err read_property(struct streaming_options *options, const char *text, size_t length)
{
    const char *equals = memchr(text, '=', length);
    if (!equals || equals == text)
        return WEFT_OK;
    char *name = strndup(text, (size_t)(equals - text));
    char *value = strndup(equals + 1, length - (size_t)(equals + 1 - text));
    const weft_err err = name && value ? set_property(options, name, value) : no_memory();
    free(name);
    free(value);
    return err;
}

// ---- Words -------------------------------------------------------------------------------------------

// A word as the name of an option: after one dash or two. NULL: it is a value.
static const char *name_of(const char *word)
{
    if (word[0] != '-' || word[1] == 0)
        return NULL;
    return word[1] == '-' ? word + 2 : word + 1;
}

static const struct option *find_option(const char *word)
{
    const char *name = name_of(word);
    for (size_t i = 0; name && i < sizeof options_of_hadoop / sizeof *options_of_hadoop; i++)
        if (strcmp(options_of_hadoop[i].name, name) == 0)
            return &options_of_hadoop[i];
    return NULL;
}

// Of `weft run`: written with two dashes, as one word with "=" or as two.
static const struct args_option *find_own(const struct args_option *own, const char *word)
{
    if (!own || strncmp(word, "--", 2) != 0)
        return NULL;
    const size_t length = strcspn(word + 2, "=");
    for (; own->id; own++)
        if (own->name && strlen(own->name) == length && strncmp(own->name, word + 2, length) == 0)
            return own;
    return NULL;
}

static weft_err unknown_option(const char *word)
{
    enum { NAMES_MAX = 64 };
    const char *names[NAMES_MAX];
    size_t count = 0;
    for (; count < sizeof options_of_hadoop / sizeof *options_of_hadoop; count++)
        names[count] = options_of_hadoop[count].name;
    names[count] = NULL;
    const char *guess = args_guess(name_of(word), names);
    if (guess)
        return err_set(WEFT_INVALID_ARGUMENT, "there is no option %s\n  did you mean -%s?", word,
                       guess);
    return err_set(WEFT_INVALID_ARGUMENT,
                   "there is no option %s\n  try: weft help streaming lists all", word);
}

static weft_err read_own(struct parse *parse, const struct args_option *own)
{
    const char *word = parse->words[parse->at++];
    if (!own->value || strchr(word, '='))
        return streaming_push(&parse->options->own, word);
    if (parse->at == parse->count)
        return err_set(WEFT_INVALID_ARGUMENT, "%s needs a value: %s %s", word, word, own->value);
    struct buf joined = {0};
    buf_format(&joined, "%s=%s", word, parse->words[parse->at++]);
    const weft_err err =
        joined.has_failed ? no_memory() : streaming_push(&parse->options->own, buf_text(&joined));
    buf_fini(&joined);
    return err;
}

// -cmdenv "A=1 B=2" is two variables, as in Hadoop; words that are not a pair are left out.
static weft_err read_variables(struct streaming_options *options, const char *text, size_t length)
{
    weft_err err = WEFT_OK;
    for (size_t begin = 0; begin < length && !err;) {
        const char *blank = memchr(text + begin, ' ', length - begin);
        const size_t end = blank ? (size_t)(blank - text) : length;
        const char *equals = memchr(text + begin, '=', end - begin);
        if (equals && equals > text + begin)
            err = push_bytes(&options->environment, text + begin, end - begin);
        begin = end + 1;
    }
    return err;
}

static weft_err check_file_system(const char *text)
{
    if (strcmp(text, "local") == 0 || strncmp(text, "file:", 5) == 0)
        return WEFT_OK;
    return err_set(WEFT_UNIMPLEMENTED,
                   "the files of %s are not on this machine\n  weft streaming reads and writes "
                   "local files\n  try: copy them here first, and leave -fs out",
                   text);
}

// The first of several counts, as for Hadoop.
static weft_err keep_given(struct parse *parse, size_t place, const char *text, size_t length)
{
    const char **to = (const char **)((char *)&parse->given + place);
    if (*to)
        return WEFT_OK;
    const weft_err err = push_bytes(&parse->kept, text, length);
    if (!err)
        *to = parse->kept.items[parse->kept.count - 1];
    return err;
}

static weft_err keep_output(struct streaming_options *options, const char *text, size_t length)
{
    if (options->output)
        return WEFT_OK;
    const weft_err err = strip_scheme(&text, &length, "-output");
    return err ? err : keep_text(&options->output, text, length);
}

static weft_err note_ignored(struct streaming_options *options, const struct option *option,
                             const char *value)
{
    struct buf note = {0};
    buf_format(&note, "-%s %s is ignored: %s", option->name, value, option->advice);
    const weft_err err =
        note.has_failed ? no_memory() : streaming_push(&options->notes, buf_text(&note));
    buf_fini(&note);
    return err;
}

static weft_err read_value(struct parse *parse, const struct option *option, const char *text)
{
    struct streaming_options *options = parse->options;
    size_t length;
    strip_quotes(&text, &length);
    switch (option->id) {
    case OPTION_GIVEN:
        return keep_given(parse, option->place, text, length);
    case OPTION_INPUT:
        return push_paths(&options->inputs, text, length, "-input");
    case OPTION_OUTPUT:
        return keep_output(options, text, length);
    case OPTION_FILE:
        return push_path(&options->files, text, length, "-file");
    case OPTION_FILES:
        return push_paths(&options->files, text, length, "-files");
    case OPTION_ARCHIVES:
        return push_paths(&options->archives, text, length, "-archives");
    case OPTION_CONF:
        return streaming_refuse("-conf here", "-D NAME=VALUE");  // the caller has not read it
    case OPTION_IGNORED:
        return note_ignored(options, option, text);
    case OPTION_CMDENV:
        return read_variables(options, text, length);
    case OPTION_PROPERTY:
        return read_property(options, text, length);
    case OPTION_FILE_SYSTEM:
        return check_file_system(text);
    case OPTION_VERBOSE:
        return streaming_push(&options->own, "--verbose");
    case OPTION_LAZY:
        options->is_lazy = true;
        return WEFT_OK;
    case OPTION_HELP:
        options->wants_help = true;
        return WEFT_OK;
    case OPTION_NOTHING:
    case OPTION_REFUSED:
        break;
    }
    return WEFT_OK;
}

static weft_err refuse_option(const struct option *option)
{
    struct buf what = {0};
    buf_format(&what, "-%s", option->name);
    const weft_err err =
        what.has_failed ? no_memory() : streaming_refuse(buf_text(&what), option->advice);
    buf_fini(&what);
    return err;
}

// An option and its values; one that begins with a dash is a value unless it is an option.
static weft_err read_option(struct parse *parse, const struct option *option)
{
    parse->at++;
    if (option->id == OPTION_REFUSED)
        return refuse_option(option);
    if (option->values == NO_VALUE)
        return read_value(parse, option, "");
    size_t taken = 0;
    weft_err err = WEFT_OK;
    while (!err && parse->at < parse->count && !find_option(parse->words[parse->at]) &&
           (option->values == ANY_VALUES || taken == 0)) {
        err = read_value(parse, option, parse->words[parse->at++]);
        taken++;
    }
    if (!err && taken == 0)
        return err_set(WEFT_INVALID_ARGUMENT, "-%s needs a value\n  try: weft help streaming",
                       option->name);
    return err;
}

static weft_err read_word(struct parse *parse)
{
    const char *word = parse->words[parse->at];
    const struct option *option = find_option(word);
    if (option)
        return read_option(parse, option);
    const struct args_option *own = find_own(parse->own, word);
    if (own)
        return read_own(parse, own);
    if (word[0] == '-' && word[1] == 'D') {  // -Dname=value
        parse->at++;
        return read_property(parse->options, word + 2, strlen(word + 2));
    }
    if (name_of(word))
        return unknown_option(word);
    return err_set(
        WEFT_INVALID_ARGUMENT,
        "%s does not belong to an option\n  a command of several words is quoted: -mapper "
        "'grep -v x'",
        word);
}

static weft_err check_complete(const struct streaming_options *options)
{
    const char *missing = options->inputs.count == 0 ? "-input"
                          : !options->output         ? "-output"
                                                     : NULL;
    if (!missing)
        return WEFT_OK;
    return err_set(WEFT_INVALID_ARGUMENT,
                   "%s is missing\n  try: weft streaming -input FILE "
                   "-output DIR -mapper COMMAND -reducer COMMAND",
                   missing);
}

size_t streaming_find_conf(char *const *words, size_t count)
{
    size_t i = 0;
    while (i + 1 < count) {
        const struct option *option = find_option(words[i]);
        if (option && option->id == OPTION_CONF && !find_option(words[i + 1]))
            break;
        i++;
    }
    return i + 1 < count ? i : count;
}

weft_err streaming_parse(struct streaming_options *options, char *const *words, size_t count,
                         const struct args_option *own)
{
    *options = (struct streaming_options){0};
    struct parse parse = {.options = options, .own = own, .words = words, .count = count};
    weft_err err = WEFT_OK;
    while (!err && parse.at < count && !options->wants_help)
        err = read_word(&parse);
    if (!err && !options->wants_help)
        err = check_complete(options);
    if (!err && !options->wants_help)
        err = streaming_settle(options, &parse.given);
    streaming_drop(&parse.kept);
    return err;
}
