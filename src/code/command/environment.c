// Building the environment of a command.

#include "code/command/environment.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "sys/file/file.h"

void command_environment_fini(struct command_environment *environment)
{
    buf_fini(&environment->text);
    VEC_FINI(&environment->offsets);
    VEC_FINI(&environment->list);
}

// ---- Variables of ours ------------------------------------------------------------------------------------

// One value under a new name and an old one; NULL: there is no old one.
static void add(struct command_environment *environment, const char *name, const char *old_name,
                const char *value)
{
    const char *const names[] = {name, old_name};
    for (int i = 0; i < 2 && names[i]; i++) {
        if (!VEC_PUSH(&environment->offsets, environment->text.size))
            environment->text.has_failed = true;
        buf_format(&environment->text, "%s=%s", names[i], value);
        buf_append(&environment->text, "", 1);
    }
}

static void add_number(struct command_environment *environment, const char *name,
                       const char *old_name, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    add(environment, name, old_name, text);
}

static void add_job(struct command_environment *environment, const struct command_place *place)
{
    add(environment, "mapreduce_job_id", "mapred_job_id", place->job_id);
    add(environment, "mapreduce_job_name", NULL, place->job_name);
    add_number(environment, "mapreduce_job_maps", place->is_map ? NULL : "mapred_map_tasks",
               place->map_count);
    if (!place->is_map || place->is_map_only)
        add_number(environment, "mapreduce_job_reduces", NULL,
                   place->is_map_only ? 0 : place->task_count);
}

static void add_task(struct command_environment *environment, const struct command_place *place)
{
    struct buf id = {0};
    const bool has_prefix = strncmp(place->job_id, "job_", 4) == 0;
    const char *rest = has_prefix ? place->job_id + 4 : place->job_id;
    const char letter = place->is_map ? 'm' : 'r';
    buf_format(&id, "task_%s_%c_%06u", rest, letter, place->task);
    add(environment, "mapreduce_task_id", "mapred_tip_id", buf_text(&id));
    id.size = 0;
    buf_format(&id, "attempt_%s_%c_%06u_%u", rest, letter, place->task, place->attempt);
    add(environment, "mapreduce_task_attempt_id", "mapred_task_id", buf_text(&id));
    environment->text.has_failed |= id.has_failed;
    buf_fini(&id);
    add_number(environment, "mapreduce_task_partition", "mapred_task_partition", place->task);
    add(environment, "mapreduce_task_ismap", "mapred_task_is_map",
        place->is_map ? "true" : "false");
}

static void add_input(struct command_environment *environment, const struct command_place *place)
{
    char *path = place->names_input_as_hadoop ? file_real_path(place->input_file) : NULL;
    struct buf file = {0};
    buf_format(&file, "%s%s", path ? "file:" : "", path ? path : place->input_file);
    add(environment, "mapreduce_map_input_file", "map_input_file", buf_text(&file));
    environment->text.has_failed |= file.has_failed;
    buf_fini(&file);
    free(path);
    add_number(environment, "mapreduce_map_input_start", "map_input_start", place->input_start);
    add_number(environment, "mapreduce_map_input_length", "map_input_length", place->input_bytes);
}

// ---- The list -----------------------------------------------------------------------------------------------

static bool has_same_name(const char *a, const char *b)
{
    const size_t length = strcspn(a, "=");
    return strncmp(a, b, length) == 0 && b[length] == '=';
}

static void list_new_names(struct command_environment *environment, const char *const *variables)
{
    for (; *variables; variables++) {
        size_t i = 0;
        while (i < environment->list.count &&
               !has_same_name(*variables, environment->list.items[i]))
            i++;
        if (i == environment->list.count && !VEC_PUSH(&environment->list, *variables))
            environment->text.has_failed = true;
    }
}

weft_err command_environment_make(struct command_environment *environment,
                                  const struct command_place *place, const char *const *base,
                                  const char *const *set)
{
    environment->text.size = 0;
    environment->text.has_failed = false;
    environment->offsets.count = environment->list.count = 0;
    add_job(environment, place);
    add_task(environment, place);
    if (place->input_file)
        add_input(environment, place);
    list_new_names(environment, set);
    for (size_t i = 0; i < environment->offsets.count; i++) {
        const char *const ours[] = {environment->text.data + environment->offsets.items[i], NULL};
        if (!environment->text.has_failed)
            list_new_names(environment, ours);
    }
    list_new_names(environment, base);
    const char *const end = NULL;
    if (environment->text.has_failed || !VEC_PUSH(&environment->list, end))
        return err_no_memory("for the environment of a command");
    return WEFT_OK;
}
