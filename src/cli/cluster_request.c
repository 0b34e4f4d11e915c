// cluster_request: reading stops at the program, because the words after it are the program's
// options.

#include "cli/cluster_request.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum { RESTARTS_MAX = 1000000 };

static weft_err refuse_restart(const char *text)
{
    return err_set(WEFT_INVALID_ARGUMENT,
                   "--restart %s: it is a number of times, or ROLE=N for one role", text);
}

// "3" or "map=3". Cuts the text at its '='.
static weft_err read_restart(struct cluster_request *request, char *text)
{
    char *equals = strchr(text, '=');
    const char *number = equals ? equals + 1 : text;
    uint64_t count = 0;
    if (strcmp(number, "0") != 0 && !text_read_count(number, RESTARTS_MAX, &count))
        return refuse_restart(text);
    if (equals == text)
        return refuse_restart(text);
    if (equals)
        *equals = 0;
    const struct cluster_run_restart restart = {equals ? text : NULL, (uint32_t)count};
    return VEC_PUSH(&request->options.restarts, restart) ? WEFT_OK
                                                         : err_no_memory("for the options");
}

static weft_err read_time(const char *name, const char *text, uint32_t *milliseconds)
{
    if (text_read_duration(text, milliseconds))
        return WEFT_OK;
    return err_set(WEFT_INVALID_ARGUMENT, "--%s %s: a time is written 10m, 30s or 500ms", name,
                   text);
}

static weft_err read_value(struct cluster_request *request, int id, const char *text)
{
    struct cluster_run_options *options = &request->options;
    switch (id) {
    case REQUEST_ROLE:
        return err_wrap(cluster_spec_add_flag(&request->spec, text), "--role");
    case REQUEST_RESTART:
        return read_restart(request, (char *)text);
    case REQUEST_TIMEOUT:
        return read_time("timeout", text, &options->timeout_ms);
    case REQUEST_GRACE:
        return read_time("grace", text, &options->grace_ms);
    case REQUEST_UNTIL:
        return VEC_PUSH(&options->until, text) ? WEFT_OK : err_no_memory("for the options");
    case REQUEST_CLUSTER:
        request->path = text;
        break;
    case REQUEST_NAME:
        request->name = text;
        break;
    case REQUEST_ON:
        options->on = text;
        break;
    case REQUEST_SSH:
        options->ssh = text;
        break;
    case REQUEST_JOURNAL:
        options->journal = text;
        break;
    case REQUEST_TMP:
        options->tmp = text;
        break;
    case REQUEST_STDIN:
        options->input_member = text;
        break;
    default:
        options->directory = text;
        break;
    }
    return WEFT_OK;
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
            request->options.arguments = (const char *const *)words + reader.at - 1;
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

static weft_err read_cluster(struct cluster_request *request, const char *verb)
{
    const bool has_roles = request->spec.roles.count > 0;
    if (request->path && has_roles)
        return err_set(WEFT_INVALID_ARGUMENT, "the cluster is described twice: by %s and by --role",
                       request->path);
    if (!request->path && !has_roles)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "no cluster is described\n"
                       "  try: weft cluster %s --role worker=2 PROGRAM, or --cluster FILE",
                       verb);
    if (!request->options.arguments)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "no program is named\n"
                       "  try: weft cluster %s --role worker=2 PROGRAM [ARGUMENT...]",
                       verb);
    if (is_role(request->options.arguments[0]))
        return err_set(WEFT_INVALID_ARGUMENT, "%s is not a program\n  try: --role %s",
                       request->options.arguments[0], request->options.arguments[0]);
    return request->path ? cluster_spec_load(&request->spec, request->path)
                         : cluster_spec_check(&request->spec);
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
    return err || request->wants_help ? err : read_cluster(request, verb);
}

void cluster_request_fini(struct cluster_request *request)
{
    VEC_FINI(&request->options.restarts);
    VEC_FINI(&request->options.until);
    cluster_spec_fini(&request->spec);
    free(request->words);
}
