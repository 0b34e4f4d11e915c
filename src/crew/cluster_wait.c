// The supervisor of a cluster holds its lock as long as it lives, and writes the exit code into the state before it ends.

#include "crew/cluster_wait.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "crew/cluster_up.h"
#include "crew/last_lines.h"
#include "sys/file/file.h"
#include "sys/process/daemon.h"
#include "sys/time/clock.h"

enum { LOOK_MS = 50 };

static weft_err await_end(const char *lock, const char *name, uint32_t timeout_ms)
{
    const uint64_t begun_ns = clock_now_ns();
    pid_t pid;
    while (daemon_is_alive(lock, &pid)) {
        if (timeout_ms && clock_now_ns() - begun_ns >= (uint64_t)timeout_ms * 1000000)
            return err_set(WEFT_DEADLINE_EXCEEDED,
                           "the cluster %s has not ended in that time, and continues\n"
                           "  weft cluster status %s shows its members",
                           name, name);
        clock_sleep_ms(LOOK_MS);
    }
    return WEFT_OK;
}

// The last lines of a file; a first one that is cut is left out. A log that cannot be read is none.
static void append_tail(struct buf *text, const char *path)
{
    char bytes[LAST_BYTES_MAX];
    struct file_stat stat;
    size_t got = 0;
    int fd = -1;
    if (!file_stat(path, &stat) && !file_open(path, &fd)) {
        const uint64_t from = stat.size > sizeof bytes ? stat.size - sizeof bytes : 0;
        if (file_read_at(fd, path, bytes, sizeof bytes, from, &got))
            got = 0;
        file_close(fd);
        last_lines_append_lines(text, (weft_bytes){bytes, got}, from > 0);
    }
    err_clear();
}

static void append_failure(struct buf *text, const char *directory, const json_t *member)
{
    const char *name = json_string_value(json_object_get(member, "member"));
    const char *state = json_string_value(json_object_get(member, "state"));
    const char *slash = name ? strchr(name, '/') : NULL;
    struct buf path = {0}, tail = {0};
    if (!slash || !state || strcmp(state, "failed") != 0)
        return;
    buf_format(&path, "%s/%.*s_%s.log", directory, (int)(slash - name), name, slash + 1);
    append_tail(&tail, buf_text(&path));
    buf_format(text, "weft: %s failed with exit code %" PRId64 "%s\n", name,
               (int64_t)json_integer_value(json_object_get(member, "exit_code")),
               tail.size > 0 ? "; its last lines:" : "");
    buf_append(text, tail.data, tail.size);
    buf_fini(&path);
    buf_fini(&tail);
}

static weft_err read_end(const char *name, const char *directory, struct buf *talk, int *exit_code)
{
    struct buf text = {0};
    size_t count = 0, i;
    const json_t *member;
    weft_err err = cluster_status(&text, name, true, &count);
    json_t *state = err ? NULL : json_loadb(text.data, text.size, 0, NULL);
    if (!err && !json_is_true(json_object_get(state, "ended")))
        err = err_set(
            WEFT_UNAVAILABLE,
            "the process that supervised the cluster %s was killed, and its members with it", name);
    *exit_code = (int)json_integer_value(json_object_get(state, "exit_code"));
    json_array_foreach(err ? NULL : json_object_get(state, "members"), i, member)
    {
        append_failure(talk, directory, member);
    }
    json_decref(state);
    buf_fini(&text);
    return err;
}

weft_err cluster_wait(const char *name, uint32_t timeout_ms, struct buf *talk, int *exit_code)
{
    struct buf directory = {0}, lock = {0};
    struct file_stat stat = {0};
    weft_err err = cluster_place(&directory, name);
    buf_format(&lock, "%s/lock", buf_text(&directory));
    *exit_code = 0;
    if (!err)
        err = file_stat(buf_text(&lock), &stat);
    if (!err && stat.kind == FILE_MISSING)
        err = err_set(WEFT_NOT_FOUND, "there is no cluster %s\n  weft cluster status lists them",
                      name);
    if (!err)
        err = await_end(buf_text(&lock), name, timeout_ms);
    if (!err)
        err = read_end(name, buf_text(&directory), talk, exit_code);
    buf_fini(&directory);
    buf_fini(&lock);
    return err;
}
