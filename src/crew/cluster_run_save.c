// What others may know of a run in the background: state.json, replaced as a whole whenever a member has
// changed, so that a reader never finds half of it.

#include "crew/cluster_run_state.h"

#include <unistd.h>

#include "base/json.h"
#include "sys/file/file.h"

static void append_member(struct buf *text, const struct run_member *member)
{
    static const char *const states[] = {"idle", "running", "resting", "done", "failed", "stopped"};
    const struct crew_member *state = &member->run->crew.members[member->number];
    json_open(text, NULL, '{');
    json_append_text(text, "member", member->name);
    json_append_text(text, "state", states[state->state]);
    json_append_int(text, "pid", state->state == CREW_RUNNING ? member->pid : 0);
    json_append_text(text, "address", member->address);
    json_append_text(text, "host", launch_get_place(member->run->launch, member->number).host);
    json_append_uint(text, "restarts", state->restarts);
    json_append_int(text, "exit_code", state->exit_code);
    json_append_int(text, "since", member->since_s);
    json_close(text, '}');
}

static void append_run(struct buf *text, const struct run *run)
{
    json_open(text, NULL, '{');
    json_append_text(text, "name", run->options->name);
    if (run->members)
        json_append_text(text, "program", run->members[0].seat.role->command.items[0]);
    json_append_int(text, "pid", getpid());
    json_append_int(text, "since", run->begun_s);
    json_append_bool(text, "ended", run->is_over);
    json_append_uint(text, "grace_ms", run->crew.grace_ms);
    json_append_int(text, "exit_code", run->exit_code);
    if (run->refusal)
        json_append_text(text, "why", run->refusal_text.text);
    json_open(text, "members", '[');
    for (size_t i = 0; run->members && i < run->crew.count; i++)
        append_member(text, &run->members[i]);
    json_close(text, ']');
    json_close(text, '}');
    buf_append(text, "\n", 1);
}

// A state that cannot be written is reported in our log, and the run continues.
void run_save(struct run *run)
{
    const char *directory = run->options->state_directory;
    struct buf text = {0}, path = {0}, fresh = {0};
    int fd;
    if (!directory)
        return;
    append_run(&text, run);
    buf_format(&path, "%s/state.json", directory);
    buf_format(&fresh, "%s/state.new", directory);
    weft_err err = file_create_private(buf_text(&fresh), &fd);
    if (!err) {
        err = file_write(fd, buf_text(&fresh), text.data, text.size);
        file_close(fd);
    }
    if (!err)
        err = file_rename(buf_text(&fresh), buf_text(&path));
    if (err) {
        buf_format(&run->talk_sink->outlet.unsent, "weft: %s\n", err_text());
        sink_flush(run->talk_sink);
        err_clear();
    }
    buf_fini(&text);
    buf_fini(&path);
    buf_fini(&fresh);
}
