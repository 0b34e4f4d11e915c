// cluster_request: reading stops at the program, because the words after it are the program's
// options.

#include "cli/cluster_request.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static weft_err read_time(const char *name, const char *text, uint32_t *milliseconds)
{
    if (text_read_duration(text, milliseconds))
        return WEFT_OK;
    return err_set(WEFT_INVALID_ARGUMENT, "--%s %s: a time is written 10m, 30s or 500ms", name,
                   text);
}

// Where the text of an option is kept that is not looked at before all are read.
static const char **text_of(struct cluster_request *request, int id)
{
    struct cluster_run_options *options = &request->options;
    switch (id) {
    case REQUEST_CLUSTER:
        return &request->path;
    case REQUEST_SPEC:
        return &request->description;
    case REQUEST_PRESET:
        return &request->preset;
    case REQUEST_TENSORBOARD:
        return &request->tensorboard;
    case REQUEST_NAME:
        return &request->name;
    case REQUEST_SHELF:
        return &request->shelf;
    case REQUEST_LOGS:
        return &request->logs;
    case REQUEST_ON:
        return &options->on;
    case REQUEST_SSH:
        return &options->ssh;
    case REQUEST_JOURNAL:
        return &options->journal;
    case REQUEST_TMP:
        return &options->tmp;
    case REQUEST_STDIN:
        return &options->input_member;
    default:
        return &options->directory;
    }
}

static weft_err read_value(struct cluster_request *request, int id, const char *text)
{
    struct cluster_run_options *options = &request->options;
    if (id >= REQUEST_FIELD)
        return crew_flags_add(&request->flags, (enum crew_field)(id - REQUEST_FIELD), text);
    switch (id) {
    case REQUEST_ROLE:
        return VEC_PUSH(&request->roles, text) ? WEFT_OK : err_no_memory("for the options");
    case REQUEST_SET:
        return VEC_PUSH(&request->settings, text) ? WEFT_OK : err_no_memory("for the options");
    case REQUEST_RESTART:
        return crew_flags_add(&request->flags, CREW_RESTARTS, text);
    case REQUEST_TIMEOUT:
        return read_time("timeout", text, &options->timeout_ms);
    case REQUEST_START_DEADLINE:
        return read_time("start-deadline", text, &options->start_deadline_ms);
    case REQUEST_GRACE:
        return read_time("grace", text, &options->grace_ms);
    case REQUEST_UNTIL:
        return VEC_PUSH(&request->flags.until, text) ? WEFT_OK : err_no_memory("for the options");
    default:
        *text_of(request, id) = text;
        return WEFT_OK;
    }
}

static void read_flag(struct cluster_request *request, int id)
{
    struct cluster_run_options *options = &request->options;
    switch (id) {
    case REQUEST_KEEP_GOING:
        options->keep_going = true;
        break;
    case REQUEST_NO_PREFIX:
        options->no_prefix = true;
        break;
    case REQUEST_NO_COLOR:
        options->no_color = true;
        break;
    case REQUEST_JSON:
        options->json = true;
        break;
    case REQUEST_QUIET:
        options->quiet = true;
        break;
    case REQUEST_VERBOSE:
        options->verbose = true;
        break;
    case REQUEST_DRY_RUN:
        request->is_dry_run = true;
        break;
    default:
        request->wants_help = true;
        break;
    }
}

// Up to the program; the words after it are its own.
static weft_err read_words(struct cluster_request *request, const struct args_option *options,
                           char *const *words, size_t count)
{
    struct args_reader reader;
    struct args_item item;
    args_start(&reader, words, count, options);
    for (;;) {
        weft_err err = args_next(&reader, &item);
        if (err || item.kind == ARGS_END)
            return err;
        if (item.kind == ARGS_WORD) {
            request->flags.program = (const char *const *)words + reader.at - 1;
            return WEFT_OK;
        }
        if (item.option->value)
            err = read_value(request, item.option->id, item.text);
        else
            read_flag(request, item.option->id);
        if (err)
            return err;
    }
}

// "worker=2", which is hardly the name of a program.
static bool is_role(const char *word)
{
    const char *number = strchr(word, '=');
    return number && number > word && number[1] && !strchr(word, '/') &&
           number[1 + strspn(number + 1, "0123456789")] == 0;
}

// Which of the ways to describe members was used, and not two that cannot be together.
static weft_err check_ways(const struct cluster_request *request, const char *verb)
{
    const char *const *program = request->flags.program;
    const bool has_roles = request->roles.count > 0;
    const char *other = request->description ? "--spec"
                        : request->preset    ? "--preset"
                        : has_roles          ? "--role"
                                             : NULL;
    if (request->path && other)
        return err_set(WEFT_INVALID_ARGUMENT, "the cluster is described twice: by %s and by %s",
                       request->path, other);
    if (!request->path && !other)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "no cluster is described\n"
                       "  try: weft cluster %s --role worker=2 PROGRAM, or --spec job.json",
                       verb);
    if (program && is_role(program[0]))
        return err_set(WEFT_INVALID_ARGUMENT, "%s is not a program\n  try: --role %s", program[0],
                       program[0]);
    return WEFT_OK;
}

static weft_err load_cluster(struct cluster_request *request)
{
    struct cluster_spec cluster = {0};
    weft_err err = cluster_spec_load(&cluster, request->path);
    if (!err)
        err = crew_spec_add_cluster(&request->spec, &cluster);
    cluster_spec_fini(&cluster);
    return err;
}

// A command can be named for each role, so only a run without any lacks a program.
static bool has_command(const struct cluster_request *request)
{
    for (size_t i = 0; i < request->flags.items.count; i++)
        if (request->flags.items.items[i].field == CREW_COMMAND)
            return true;
    return request->flags.program || request->description;
}

static weft_err read_roles(struct cluster_request *request)
{
    weft_err err = WEFT_OK;
    for (size_t i = 0; !err && i < request->roles.count; i++) {
        const char *text = request->roles.items[i];
        for (size_t k = 0; !err && k < i; k++)
            if (strcspn(text, "=") == strcspn(request->roles.items[k], "=") &&
                strncmp(text, request->roles.items[k], strcspn(text, "=")) == 0)
                err = err_set(WEFT_INVALID_ARGUMENT, "the role %.*s is given twice",
                              (int)strcspn(text, "="), text);
        if (!err)
            err = crew_spec_add_role_flag(&request->spec, text);
    }
    return err_wrap(err, "--role");
}

static weft_err read_spec(struct cluster_request *request, const char *verb)
{
    struct crew_spec *spec = &request->spec;
    weft_err err = check_ways(request, verb);
    if (!err && !has_command(request))
        err = err_set(WEFT_INVALID_ARGUMENT,
                      "no program is named\n"
                      "  try: weft cluster %s --role worker=2 PROGRAM [ARGUMENT...]",
                      verb);
    if (!err && request->path)
        err = load_cluster(request);
    if (!err && request->description)
        err = crew_spec_load(spec, request->description);
    if (!err && request->preset)
        err = err_wrap(crew_spec_set_preset(spec, request->preset), "--preset");
    if (!err && request->tensorboard)
        err = crew_spec_set_text(&spec->tensorboard, request->tensorboard);
    if (!err)
        err = read_roles(request);
    for (size_t i = 0; !err && i < request->settings.count; i++)
        err = crew_spec_add_setting(spec, request->settings.items[i]);
    if (!err)
        err = crew_spec_resolve(spec, &request->flags);
    if (!err && !request->options.on)
        request->options.on = spec->on;
    if (!err && !request->options.start_deadline_ms)
        request->options.start_deadline_ms = spec->start_deadline_ms;
    if (!err && !request->name)
        request->name = spec->name;
    return err;
}

weft_err cluster_request_read(struct cluster_request *request, const char *verb,
                              const struct args_option *options, char *const *words, size_t count)
{
    *request = (struct cluster_request){.words = calloc(count + 1, sizeof *words)};
    if (!request->words)
        return err_no_memory("for the arguments");
    if (count > 0)
        memcpy(request->words, words, count * sizeof *words);
    const weft_err err = read_words(request, options, request->words, count);
    return err || request->wants_help ? err : read_spec(request, verb);
}

void cluster_request_fini(struct cluster_request *request)
{
    VEC_FINI(&request->roles);
    VEC_FINI(&request->settings);
    crew_flags_fini(&request->flags);
    crew_spec_fini(&request->spec);
    free(request->words);
}
