// progress: every line is put together in a buffer and written by one call, so that lines of several
// processes on one terminal do not mix. A failed write to standard error is ignored.

#include "run/talk/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "sys/file/file.h"
#include "sys/file/standard.h"
#include "sys/log.h"

#define REDRAW_NS (UINT64_C(1000000000) / 10)  // ten times a second looks alive and costs nothing
#define REPORT_NS UINT64_C(1000000000)         // --json: at most one progress object a second

void progress_init(struct progress *progress, const struct run_options *options, int fd,
                   uint64_t now_ns)
{
    const bool is_terminal = !log_is_taken() && standard_is_terminal(fd);
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    *progress = (struct progress){
        .mode = options->json    ? PROGRESS_JSON
                : options->quiet ? PROGRESS_NONE
                : is_terminal    ? PROGRESS_TERMINAL
                                 : PROGRESS_LINES,
        .fd = fd,
        .columns = is_terminal ? standard_columns(fd) : 100,
        .has_color = is_terminal && !options->no_color && !(no_color && *no_color) &&
                     !(term && strcmp(term, "dumb") == 0),
        .is_verbose = options->verbose,
        .begun_ns = now_ns,
        .callback = options->progress,
        .callback_data = options->progress_data,
    };
}

void progress_fini(struct progress *progress)
{
    buf_fini(&progress->text);
    free(progress->last_why);
}

// Writes the text in the buffer, and empties it.
static void flush(struct progress *progress)
{
    log_lines(progress->fd, progress->text.data, progress->text.size);
    progress->text.size = 0;
}

// Takes the progress line off the terminal; what follows starts in the first column.
static void clear_line(struct progress *progress)
{
    if (!progress->is_line_drawn)
        return;
    buf_format(&progress->text, "\r%*s\r", (int)progress->columns - 1, "");
    progress->is_line_drawn = false;
}

static void open_event(struct progress *progress, const char *event)
{
    json_open(&progress->text, NULL, '{');
    json_append_text(&progress->text, "event", event);
}

static void close_event(struct progress *progress)
{
    json_close(&progress->text, '}');
    buf_append_text(&progress->text, "\n");
}

static void append_begin(struct buf *text, const struct progress_begin *begin)
{
    buf_format(text, "%s: ", begin->job);
    text_append_bytes(text, begin->input_bytes);
    buf_format(text, " in %zu file%s", begin->input_count, begin->input_count == 1 ? "" : "s");
    if (!begin->join) {
        buf_format(text, ", %" PRIu32 " slot%s", begin->slots, begin->slots == 1 ? "" : "s");
        if (begin->workers > 1)
            buf_format(text, " in %" PRIu32 " workers", begin->workers);
        buf_append_text(text, ", ");
        text_append_bytes(text, begin->memory_bytes);
        buf_append_text(text, " of memory");
    }
    buf_append_text(text, "\n");
}

void progress_begin(struct progress *progress, const struct progress_begin *begin)
{
    struct buf *text = &progress->text;
    if (progress->mode == PROGRESS_JSON) {
        open_event(progress, "start");
        json_append_text(text, "version", weft_version());
        json_append_text(text, "job", begin->job);
        json_append_uint(text, "input_count", begin->input_count);
        json_append_uint(text, "input_bytes", begin->input_bytes);
        if (begin->join) {
            json_append_text(text, "join", begin->join);
        } else {
            json_append_uint(text, "workers", begin->workers);
            json_append_uint(text, "slots", begin->slots);
            json_append_uint(text, "memory_bytes", begin->memory_bytes);
        }
        close_event(progress);
    } else if (progress->mode == PROGRESS_LINES) {
        append_begin(text, begin);
    }
    // Of a silent run, too: without it no client can join.
    if (begin->join && progress->mode != PROGRESS_JSON)
        buf_format(text, "join by: %s\n", begin->join);
    flush(progress);
}

// ---- Where the run is ------------------------------------------------------------------------------------

static double share_done(const struct progress_state *state)
{
    const double done = state->bytes_total ? (double)state->bytes_done : state->tasks_done;
    const double total = state->bytes_total ? (double)state->bytes_total : state->task_count;
    const double share = total > 0 ? done / total : 0;
    return share > 1 ? 1 : share;
}

static void append_step_name(struct buf *text, const struct progress_state *state)
{
    if (state->stage_count > 1)
        buf_format(text, "stage %" PRIu32 "/%" PRIu32 " ", state->stage + 1, state->stage_count);
    buf_append_text(text, state->step);
}

static void append_json_state(struct progress *progress, const struct progress_state *state)
{
    json_append_uint(&progress->text, "stage", state->stage + 1);
    json_append_uint(&progress->text, "stage_count", state->stage_count);
    json_append_text(&progress->text, "step", state->step);
    json_append_uint(&progress->text, "task_count", state->task_count);
}

static void tell_step(struct progress *progress, const struct progress_state *state)
{
    if (progress->mode == PROGRESS_JSON) {
        open_event(progress, "stage");
        append_json_state(progress, state);
        close_event(progress);
    } else if (progress->mode == PROGRESS_LINES) {
        append_step_name(&progress->text, state);
        buf_format(&progress->text, ": %" PRIu32 " task%s\n", state->task_count,
                   state->task_count == 1 ? "" : "s");
    }
    flush(progress);
}

static void tell_progress(struct progress *progress, const struct progress_state *state,
                          uint64_t now_ns)
{
    struct buf *text = &progress->text;
    open_event(progress, "progress");
    append_json_state(progress, state);
    json_append_uint(text, "tasks_done", state->tasks_done);
    json_append_uint(text, "bytes_done", state->bytes_done);
    json_append_uint(text, "bytes_total", state->bytes_total);
    json_append_uint(text, "percent", (uint64_t)(share_done(state) * 100));
    json_append_uint(text, "records_in", state->records_in);
    json_append_uint(text, "spill_bytes", state->spill_bytes);
    json_append_uint(text, "memory_bytes", state->memory_bytes);
    json_append_seconds(text, "seconds", now_ns - progress->begun_ns);
    close_event(progress);
    flush(progress);
}

// "map  45%  482 MB of 1.07 GB  1675 MB/s  3 s left"; the amounts are left out where it is narrow.
static void append_line(struct buf *line, const struct progress_state *state, uint64_t elapsed_ns,
                        bool is_short)
{
    const double share = share_done(state), seconds = (double)elapsed_ns / 1e9;
    append_step_name(line, state);
    buf_format(line, "  %.0f%%", share * 100);
    if (!is_short && state->bytes_total) {
        buf_append_text(line, "  ");
        text_append_bytes(line, state->bytes_done);
        buf_append_text(line, " of ");
        text_append_bytes(line, state->bytes_total);
    } else if (!is_short) {
        buf_format(line, "  %" PRIu32 " of %" PRIu32 " tasks", state->tasks_done,
                   state->task_count);
    }
    if (state->bytes_total) {
        const double speed = seconds > 0 ? (double)state->bytes_done / 1e6 / seconds : 0;
        buf_format(line, "  %.*f MB/s", speed < 10 ? 1 : 0, speed);
    }
    if (share > 0 && seconds > 0.2) {
        const double left = seconds / share * (1 - share);
        if (left < 100)
            buf_format(line, "  %.0f s left", left);
        else
            buf_format(line, "  %.0f min left", left / 60);
    }
    if (!is_short && state->spill_bytes) {
        buf_append_text(line, "  spilled ");
        text_append_bytes(line, state->spill_bytes);
    }
}

static void append_status(struct buf *line, const struct progress_status *status)
{
    buf_format(line, "%s: \"", status->task);
    text_append_escaped(line, weft_text(status->text));
    buf_append_text(line, "\"");
}

static void draw_line(struct progress *progress, const struct progress_state *state,
                      uint64_t now_ns)
{
    struct buf line = {0};
    const uint64_t elapsed_ns = now_ns - progress->step_begun_ns;
    const size_t room = progress->columns > 1 ? progress->columns - 1 : 1;
    append_line(&line, state, elapsed_ns, false);
    if (line.size > room) {
        line.size = 0;
        append_line(&line, state, elapsed_ns, true);
    }
    if (progress->status.text[0]) {
        buf_append_text(&line, "  ");
        append_status(&line, &progress->status);
    }
    const size_t shown = line.size < room ? line.size : room;
    // Blanks after it cover the rest of an earlier, longer line; no escape sequence is needed.
    buf_format(&progress->text, "\r%.*s%*s", (int)shown, buf_text(&line), (int)(room - shown), "");
    buf_fini(&line);
    progress->is_line_drawn = true;
    flush(progress);
}

// ---- What tasks say -------------------------------------------------------------------------------------

void progress_status(struct progress *progress, const char *task, const char *text)
{
    struct progress_status *status = &progress->status;
    snprintf(status->task, sizeof status->task, "%s", task);
    snprintf(status->text, sizeof status->text, "%s", text);
    status->is_new = true;
}

static void tell_status(struct progress *progress)
{
    struct progress_status *status = &progress->status;
    if (!status->is_new)
        return;
    status->is_new = false;
    if (progress->mode == PROGRESS_JSON) {
        open_event(progress, "status");
        json_append_text(&progress->text, "task", status->task);
        json_append_text(&progress->text, "text", status->text);
        close_event(progress);
    } else if (progress->mode == PROGRESS_LINES && progress->is_verbose) {
        append_status(&progress->text, status);
        buf_append_text(&progress->text, "\n");
    }
    flush(progress);
}

// ---- Now -------------------------------------------------------------------------------------------------

bool progress_is_shown(const struct progress *progress)
{
    return progress->mode != PROGRESS_NONE || progress->callback;
}

static void call_back(struct progress *progress, const struct progress_state *state, bool is_new,
                      uint64_t now_ns)
{
    if (!progress->callback || (!is_new && now_ns - progress->called_ns < REDRAW_NS))
        return;
    progress->called_ns = now_ns;
    const weft_progress told = {.step = state->step,
                                .stage = state->stage,
                                .stage_count = state->stage_count,
                                .tasks_done = state->tasks_done,
                                .task_count = state->task_count,
                                .bytes_done = state->bytes_done,
                                .bytes_total = state->bytes_total,
                                .records_in = state->records_in,
                                .spill_bytes = state->spill_bytes,
                                .memory_bytes = state->memory_bytes};
    progress->callback(progress->callback_data, &told);
}

// Clients that had no line of their own.
static void tell_crowd(struct progress *progress, uint64_t now_ns)
{
    struct buf line = {0};
    if (progress->mode != PROGRESS_JSON && crowd_append_rest(&progress->crowd, now_ns, &line)) {
        clear_line(progress);
        buf_append(&progress->text, line.data, line.size);
        flush(progress);
    }
    buf_fini(&line);
}

void progress_update(struct progress *progress, const struct progress_state *state, uint64_t now_ns)
{
    if (!progress_is_shown(progress))
        return;
    const bool is_new = progress->step != state->step || progress->stage != state->stage;
    call_back(progress, state, is_new, now_ns);
    if (progress->mode != PROGRESS_NONE)
        tell_crowd(progress, now_ns);
    if (is_new || now_ns - progress->status.told_ns >= REPORT_NS) {
        tell_status(progress);
        progress->status.told_ns = now_ns;
    }
    if (is_new) {
        progress->status.text[0] = 0;  // of a task of the step before
        progress->step = state->step;
        progress->stage = state->stage;
        progress->step_begun_ns = now_ns;
        progress->drawn_ns = now_ns;
        tell_step(progress, state);
        return;
    }
    const uint64_t pause = progress->mode == PROGRESS_JSON ? REPORT_NS : REDRAW_NS;
    if (now_ns - progress->drawn_ns < pause)
        return;
    progress->drawn_ns = now_ns;
    if (progress->mode == PROGRESS_JSON)
        tell_progress(progress, state, now_ns);
    else if (progress->mode == PROGRESS_TERMINAL)
        draw_line(progress, state, now_ns);
}

// ---- Events --------------------------------------------------------------------------------------------

static void append_cause(struct buf *text, const char *why)
{
    buf_append_text(text, "  ");
    text_append_printable(text, why);
    buf_append_text(text, "\n");
}

void progress_retry(struct progress *progress, const char *what, uint32_t attempt,
                    uint32_t attempts_max, const char *why)
{
    struct buf *text = &progress->text;
    if (progress->mode == PROGRESS_NONE)
        return;
    clear_line(progress);
    if (progress->mode == PROGRESS_JSON) {
        open_event(progress, "retry");
        json_append_text(text, "task", what);
        json_append_uint(text, "attempt", attempt);
        json_append_uint(text, "max_attempts", attempts_max);
        json_append_text(text, "error", why);
        close_event(progress);
    } else {
        // Said once: a script that cannot work fails in every task and attempt.
        const bool is_known = progress->last_why && strcmp(progress->last_why, why) == 0;
        buf_format(text, "weft: %s failed, attempt %" PRIu32 " of %" PRIu32 "%s\n", what, attempt,
                   attempts_max, is_known ? ", as before" : "");
        if (!is_known)
            append_cause(text, why);
        free(progress->last_why);
        progress->last_why = strdup(why);
    }
    flush(progress);
}

void progress_warn(struct progress *progress, const char *warning)
{
    clear_line(progress);
    if (progress->mode == PROGRESS_JSON) {
        open_event(progress, "warning");
        json_append_text(&progress->text, "text", warning);
        close_event(progress);
    } else {
        text_append_message(&progress->text, "weft", warning);
    }
    flush(progress);
}

void progress_client(struct progress *progress, const struct crowd_change *change, uint64_t now_ns)
{
    struct buf lines = {0};
    // A quiet run reports those that need a person: a machine that cannot work for the job.
    if (progress->mode == PROGRESS_NONE && change->kind != CROWD_ASIDE)
        return;
    if (progress->mode == PROGRESS_JSON)
        crowd_append_json(change, &lines);
    else
        crowd_append_line(&progress->crowd, change, now_ns, &lines);
    if (lines.size)
        clear_line(progress);
    buf_append(&progress->text, lines.data, lines.size);
    flush(progress);
    buf_fini(&lines);
}

void progress_end(struct progress *progress, const struct summary *summary)
{
    clear_line(progress);
    tell_status(progress);
    if (progress->mode != PROGRESS_NONE)
        tell_crowd(progress, UINT64_MAX);
    if (progress->mode == PROGRESS_JSON)
        summary_format_json(&progress->text, summary);
    else if (progress->mode != PROGRESS_NONE || summary->code != WEFT_OK)
        summary_format_text(&progress->text, summary, progress->is_verbose, progress->has_color);
    flush(progress);
}

int progress_report_error(int fd, const char *program, bool json, weft_err code)
{
    struct buf text = {0};
    if (json) {
        summary_format_json(&text, &(struct summary){.code = code, .error = err_text()});
    } else {
        text_append_message(&text, program, *err_text() ? err_text() : weft_err_name(code));
        if (code == WEFT_INTERNAL)
            buf_append_text(&text, "  this is a bug in weft: please report it\n");
    }
    const int exit_code = err_exit_code(code);
    if (file_write(fd, "standard error", text.data, text.size))
        err_clear();
    buf_fini(&text);
    return exit_code;
}

void progress_report_warning(int fd, const char *program, bool json, const char *warning)
{
    struct buf text = {0};
    if (json) {
        json_open(&text, NULL, '{');
        json_append_text(&text, "event", "warning");
        json_append_text(&text, "text", warning);
        json_close(&text, '}');
        buf_append_text(&text, "\n");
    } else {
        text_append_message(&text, program, warning);
    }
    if (file_write(fd, "standard error", text.data, text.size))
        err_clear();
    buf_fini(&text);
}
