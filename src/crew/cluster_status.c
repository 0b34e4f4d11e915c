// How clusters in the background are: what state.json says, held against who is really alive.

#include "crew/cluster_up.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "sys/file/file.h"
#include "sys/file/load.h"
#include "sys/process/daemon.h"
#include "sys/time/clock.h"

enum { STATE_BYTES_MAX = 1 << 20 };

#define ROW "%-10s %-12s %-8s %-8s %-8s %-22s %s\n"

// Reads DIRECTORY/state.json; NULL with the error set.
static json_t *load_state(const char *directory)
{
    struct buf path = {0}, text = {0};
    json_t *state = NULL;
    buf_format(&path, "%s/state.json", directory);
    if (file_load(buf_text(&path), STATE_BYTES_MAX, &text) == WEFT_OK) {
        state = json_loadb(text.data ? text.data : "", text.size, 0, NULL);
        if (!json_is_object(state))
            (void)err_set(WEFT_DATA_LOSS, "%s is damaged", buf_text(&path));
    }
    buf_fini(&path);
    buf_fini(&text);
    return state;
}

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "?";
}

static int64_t number_of(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

// A member that runs according to the state, without a process that looks after it, was killed with that process.
static const char *state_of(const json_t *member, bool is_alive)
{
    const char *state = text_of(member, "state");
    const bool is_running = strcmp(state, "running") == 0 || strcmp(state, "resting") == 0;
    return is_running && !is_alive ? "lost" : state;
}

// In whole seconds, as far as one counts in these.
static void append_age(struct buf *text, int64_t since_s)
{
    const int64_t age_s = clock_calendar_s() - since_s;
    if (age_s < 60)
        buf_format(text, "%" PRId64 " s", age_s > 0 ? age_s : 0);
    else
        text_append_duration(text, (uint64_t)age_s * 1000000000);
}

static void append_row(struct buf *text, const char *name, const json_t *member, bool is_alive)
{
    char pid[24] = "-", restarts[24];
    const char *state = state_of(member, is_alive);
    if (strcmp(state, "running") == 0)
        snprintf(pid, sizeof pid, "%" PRId64, number_of(member, "pid"));
    snprintf(restarts, sizeof restarts, "%" PRId64, number_of(member, "restarts"));
    struct buf age = {0};
    append_age(&age, number_of(member, "since"));
    buf_format(text, ROW, name, text_of(member, "member"), state, pid, restarts,
               text_of(member, "address"), buf_text(&age));
    buf_fini(&age);
}

static void append_object(struct buf *text, json_t *state, bool is_alive)
{
    size_t i;
    json_t *member;
    json_object_set_new(state, "alive", json_boolean(is_alive));
    json_array_foreach(json_object_get(state, "members"), i, member)
    {
        json_object_set_new(member, "state", json_string(state_of(member, is_alive)));
        if (!is_alive)
            json_object_set_new(member, "pid", json_integer(0));
    }
    char *line = json_dumps(state, JSON_COMPACT);
    buf_append_text(text, line ? line : "{}");
    buf_append(text, "\n", 1);
    free(line);
}

// Appends one cluster. One that is just being put up or taken down is as good as not there.
static weft_err append_cluster(struct buf *text, const char *name, bool json, size_t *count)
{
    struct buf directory = {0}, lock = {0};
    pid_t pid;
    json_t *state = NULL;
    weft_err err = cluster_place(&directory, name);
    buf_format(&lock, "%s/lock", buf_text(&directory));
    if (!err) {
        const bool is_alive = daemon_is_alive(buf_text(&lock), &pid);
        state = load_state(buf_text(&directory));
        if (state && json)
            append_object(text, state, is_alive);
        size_t i;
        const json_t *member;
        json_array_foreach(state && !json ? json_object_get(state, "members") : NULL, i, member)
            append_row(text, name, member, is_alive);
        if (state)
            ++*count;
        else
            err = err_set(WEFT_NOT_FOUND,
                          "there is no cluster %s\n  weft cluster status lists them", name);
    }
    json_decref(state);
    buf_fini(&directory);
    buf_fini(&lock);
    return err;
}

// ---- All of them -------------------------------------------------------------------------------------------

struct names {
    VEC(char *) list;
};

static weft_err note_name(void *owner, const char *name)
{
    struct names *names = owner;
    char *copy = strdup(name);
    if (copy && VEC_PUSH(&names->list, copy))
        return WEFT_OK;
    free(copy);
    return err_no_memory("for the names of members");
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static weft_err append_all(struct buf *text, bool json, size_t *count)
{
    struct buf place = {0};
    struct names names = {0};
    weft_err err = cluster_place_of_all(&place);
    if (!err && file_list(buf_text(&place), note_name, &names) != WEFT_OK)
        err_clear();  // there never was one
    if (names.list.count > 0)
        qsort(names.list.items, names.list.count, sizeof *names.list.items, compare_names);
    for (size_t i = 0; i < names.list.count; i++) {
        if (!err && append_cluster(text, names.list.items[i], json, count))
            err_clear();
        free(names.list.items[i]);
    }
    VEC_FINI(&names.list);
    buf_fini(&place);
    return err;
}

weft_err cluster_status(struct buf *text, const char *name, bool json, size_t *count)
{
    *count = 0;
    const size_t before = text->size;
    if (!json)
        buf_format(text, ROW, "CLUSTER", "MEMBER", "STATE", "PID", "RESTARTS", "ADDRESS", "FOR");
    const weft_err err =
        name ? append_cluster(text, name, json, count) : append_all(text, json, count);
    if (*count == 0)
        text->size = before;
    return err;
}
