// Programs for containers. A node manager makes a script of them, in which everything stands between double quotes:
//
//     export NAME="VALUE"
//     exec /bin/bash -c "exec 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr
//     COMMAND"

#include "launch/yarn/yarn_program.h"

#include <stdio.h>
#include <stdlib.h>

static weft_err refuse_memory(void)
{
    return err_no_memory("for a program of a container");
}

static bool is_name(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        const bool is_letter =
            (text[i] >= 'a' && text[i] <= 'z') || (text[i] >= 'A' && text[i] <= 'Z');
        if (!is_letter && text[i] != '_' && (i == 0 || text[i] < '0' || text[i] > '9'))
            return false;
    }
    return size > 0;
}

static void add_variable(struct yarn_maker *maker, const char *name, size_t size, const char *value,
                         Hadoop__LaunchContext *context)
{
    struct buf quoted = {0}, word = {0};
    Hadoop__Variable *variable = yarn_make_next(maker, &hadoop__variable__descriptor,
                                                &context->variables, &context->n_variables);
    buf_append(&word, name, size);
    yarn_append_quoted(&quoted, value);
    maker->has_failed |= quoted.has_failed || word.has_failed;
    if (variable) {
        variable->name = yarn_make_text(maker, buf_text(&word));
        variable->value = yarn_make_text(maker, buf_text(&quoted));
    }
    buf_fini(&quoted);
    buf_fini(&word);
}

static weft_err set_environment(struct yarn_maker *maker, const char *const *environment,
                                Hadoop__LaunchContext *context)
{
    for (; environment && *environment; environment++) {
        const char *equals = strchr(*environment, '=');
        const size_t size = equals ? (size_t)(equals - *environment) : 0;
        if (!is_name(*environment, size))
            return err_set(WEFT_INVALID_ARGUMENT,
                           "\"%.*s\" is not a name of a variable for a container", (int)size,
                           *environment);
        add_variable(maker, *environment, size, equals + 1, context);
    }
    return WEFT_OK;
}

static weft_err add_file(struct yarn_maker *maker, const struct yarn_file *file,
                         Hadoop__LaunchContext *context)
{
    Hadoop__NamedResource *named = yarn_make_next(maker, &hadoop__named_resource__descriptor,
                                                  &context->resources, &context->n_resources);
    if (!named)
        return refuse_memory();
    Hadoop__LocalResource *resource = named->resource =
        yarn_make(maker, &hadoop__local_resource__descriptor);
    named->name = yarn_make_text(maker, file->name);
    if (!resource || !(resource->url = yarn_make(maker, &hadoop__url__descriptor)))
        return refuse_memory();
    if (!yarn_read_url(maker, file->url, resource->url) && !maker->has_failed)
        return err_set(WEFT_INVALID_ARGUMENT, "%.300s is not a URL that node managers can fetch",
                       file->url);
    resource->has_size = resource->has_timestamp = true;
    resource->size = file->size;
    resource->timestamp = file->mtime_ms;
    resource->has_type = resource->has_visibility = true;
    resource->type = (int32_t)file->kind;
    resource->visibility = (int32_t)file->share;
    return WEFT_OK;
}

// `exec` in the command then makes its exit code that of the container. The redirection comes first, so that it is that of the whole command.
static void add_command(struct yarn_maker *maker, const char *command,
                        Hadoop__LaunchContext *context)
{
    struct buf text = {0};
    buf_append_text(&text, "exec 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr\n");
    yarn_append_quoted(&text, command);
    maker->has_failed |= text.has_failed;
    yarn_make_next_text(maker, buf_text(&text), &context->commands, &context->n_commands);
    buf_fini(&text);
}

weft_err yarn_set_program(struct yarn_maker *maker, const struct yarn_program *program,
                          weft_bytes credentials, Hadoop__LaunchContext *context)
{
    weft_err err = set_environment(maker, program->environment, context);
    for (size_t i = 0; !err && i < program->file_count; i++)
        err = add_file(maker, &program->files[i], context);
    if (err)
        return err;
    add_command(maker, program->command, context);
    context->has_tokens = true;
    context->tokens =
        yarn_make_bytes(maker, program->credentials.size ? program->credentials : credentials);
    return maker->has_failed ? refuse_memory() : WEFT_OK;
}
