// What a run of a cluster says on standard error: a sentence, or with --json an object, per line.
// It goes the same way as what the members write, so that lines never mix.

#include "crew/cluster_run_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "sys/process/process.h"
#include "sys/time/clock.h"

enum { EXIT_WORDS_BYTES = 96, REPEAT_AFTER_BYTES = 4096 };

static struct buf *begin_line(struct run *run)
{
    return &run->talk_sink->outlet.unsent;
}

static void end_line(struct run *run)
{
    buf_append(begin_line(run), "\n", 1);
    sink_flush(run->talk_sink);
}

static struct buf *begin_object(struct run *run, const char *event, const struct run_member *member)
{
    struct buf *line = begin_line(run);
    json_open(line, NULL, '{');
    json_append_text(line, "event", event);
    if (member)
        json_append_text(line, "member", member->name);
    return line;
}

static void end_object(struct run *run)
{
    json_close(begin_line(run), '}');
    end_line(run);
}

static struct crew_member *state_of(const struct run_member *member)
{
    return &member->run->crew.members[member->number];
}

void talk_started(struct run_member *member)
{
    struct run *run = member->run;
    if (run->options->json) {
        struct buf *line = begin_object(run, "started", member);
        json_append_int(line, "pid", member->pid);
        json_append_text(line, "address", member->address);
        json_append_text(line, "host", launch_get_place(run->launch, member->number).host);
        json_append_uint(line, "restart", state_of(member)->restarts);
        end_object(run);
    } else if (run->options->verbose) {
        buf_format(begin_line(run), "weft: %s started at %s, process %d", member->name,
                   member->address, (int)member->pid);
        end_line(run);
    }
}

// Before the crew hears of it.
void talk_ended(struct run_member *member, const struct launch_exit *end)
{
    struct run *run = member->run;
    const struct process_exit *exit = &end->process;
    if (run->options->json) {
        struct buf *line = begin_object(run, "ended", member);
        const bool has_code = exit->is_known && !exit->was_signalled;
        json_append_int(line, "exit_code",
                        has_code ? exit->number : 128 + (end->lost ? 9 : exit->number));
        json_append_int(line, "signal", exit->was_signalled ? exit->number : 0);
        json_append_seconds(line, "seconds", end->lived_ns);
        if (end->lost)
            json_append_text(line, "lost", end->lost);
        end_object(run);
        return;
    }
    char words[EXIT_WORDS_BYTES] = "ended";
    if (end->lost)
        snprintf(words, sizeof words, "lost with its host");
    else if (!exit->is_known || exit->was_signalled || exit->number != 0)
        process_describe_exit(exit, words, sizeof words);
    const bool is_failure = strcmp(words, "ended") != 0;
    // A member that was asked to end may do so in any way.
    const bool is_news = is_failure && !run->crew.is_stopping && !run->options->quiet;
    if (!is_news && !run->options->verbose)
        return;
    struct buf *line = begin_line(run);
    buf_format(line, "weft: %s %s%s after ", member->name,
               end->lost || exit->was_signalled ? "was " : "", words);
    text_append_duration(line, end->lived_ns);
    end_line(run);
}

void talk_lost(struct run *run, const char *host, const char *why)
{
    if (run->options->json) {
        struct buf *line = begin_object(run, "lost", NULL);
        json_append_text(line, "host", host);
        json_append_text(line, "why", why);
        end_object(run);
    } else if (!run->options->quiet) {
        buf_format(begin_line(run), "weft: the host %s is lost: %s", host, why);
        end_line(run);
    }
}

void talk_news(struct run *run, const char *text)
{
    if (run->options->json) {
        struct buf *line = begin_object(run, "news", NULL);
        json_append_text(line, "text", text);
        end_object(run);
    } else if (!run->options->quiet) {
        buf_format(begin_line(run), "weft: %s", text);
        end_line(run);
    }
}

void talk_restart(struct run_member *member, uint32_t delay_ms)
{
    struct run *run = member->run;
    const struct crew_member *state = state_of(member);
    if (run->options->json) {
        struct buf *line = begin_object(run, "restart", member);
        json_append_uint(line, "restart", state->restarts);
        json_append_uint(line, "max_restarts", state->restarts_max);
        json_append_uint(line, "delay_ms", delay_ms);
        if (member->is_lost)
            json_append_bool(line, "keeps_journal", run->kept_journal != NULL);
        end_object(run);
    } else if (!run->options->quiet && member->is_lost) {
        const char *host = launch_get_place(run->launch, member->number).host;
        buf_format(begin_line(run), "weft: %s is started again on another host", member->name);
        if (run->kept_journal)
            buf_format(begin_line(run), ", with the journals in %s", run->kept_journal);
        else
            buf_format(begin_line(run),
                       "; a journal that it kept in WEFT_JOURNAL on %s is lost"
                       " (--journal DIR names a directory that all hosts share)",
                       host);
        end_line(run);
    } else if (!run->options->quiet) {
        buf_format(begin_line(run), "weft: %s is started again (%" PRIu32 " of %" PRIu32 ")",
                   member->name, state->restarts, state->restarts_max);
        end_line(run);
    }
}

static size_t count_running(const struct run *run)
{
    size_t count = 0;
    for (size_t i = 0; i < run->crew.count; i++)
        count += run->members[i].is_running;
    return count;
}

void talk_given_up(struct run_member *member, int exit_code)
{
    struct run *run = member->run;
    const size_t others = count_running(run);
    if (run->options->json) {
        struct buf *line = begin_object(run, "failed", member);
        json_append_int(line, "exit_code", exit_code);
        end_object(run);
    } else if (!run->options->quiet && state_of(member)->may_fail) {
        buf_format(begin_line(run), "weft: the run continues without %s", member->name);
        end_line(run);
    } else if (!run->options->quiet && others > 0 && !run->crew.keeps_going) {
        buf_format(begin_line(run), "weft: %s failed: the other ", member->name);
        if (others == 1)
            buf_append_text(begin_line(run), "member is stopped");
        else
            buf_format(begin_line(run), "%zu members are stopped", others);
        end_line(run);
    }
}

void talk_not_started(struct run_member *member)
{
    struct run *run = member->run;
    if (run->options->json) {
        struct buf *line = begin_object(run, "warning", member);
        json_append_text(line, "text", err_text());
        end_object(run);
    } else {
        buf_format(begin_line(run), "weft: %s: %s", member->name, err_text());
        end_line(run);
    }
    err_clear();
}

void talk_stopping(struct run *run, const char *why)
{
    if (run->options->json) {
        struct buf *line = begin_object(run, "stopping", NULL);
        json_append_text(line, "why", why);
        end_object(run);
    } else if (!run->options->quiet) {
        buf_format(begin_line(run), "weft: %s", why);
        end_line(run);
    }
}

void talk_killing(struct run_member *member)
{
    struct run *run = member->run;
    if (run->options->json) {
        begin_object(run, "killed", member);
        end_object(run);
    } else if (!run->options->quiet) {
        buf_format(begin_line(run), "weft: %s did not end by itself and is killed", member->name);
        end_line(run);
    }
}

void talk_line(struct run_stream *stream, weft_bytes line, struct buf *out)
{
    json_open(out, NULL, '{');
    json_append_text(out, "event", "line");
    json_append_text(out, "member", stream->member->name);
    buf_append_text(out, ",\"text\":");
    json_append_string(out, line);
    json_close(out, '}');
    buf_append(out, "\n", 1);
}

// The cause of a failure is in the last lines of its member. They are repeated when many lines of others stand after them.
static void repeat_last_lines(struct run *run)
{
    const struct run_member *failed = run->first_failure;
    if (!failed || run->options->quiet || run->options->state_directory ||
        run->taken_bytes - failed->taken_at < REPEAT_AFTER_BYTES || failed->tail.bytes.size == 0)
        return;
    struct buf *line = begin_line(run);
    buf_format(line, "weft: the last lines of %s, which failed first:\n", failed->name);
    last_lines_append(line, &failed->tail);
    sink_flush(run->talk_sink);
}

void talk_end(struct run *run)
{
    if (!run->options->json)
        repeat_last_lines(run);
    const uint64_t restarts = crew_count_restarts(&run->crew);
    const uint64_t lasted_ns = clock_now_ns() - run->begun_ns;
    if (run->options->json) {
        struct buf *line = begin_object(run, "end", NULL);
        json_append_int(line, "exit_code", run->exit_code);
        json_append_uint(line, "members", run->crew.count);
        json_append_uint(line, "restarts", restarts);
        json_append_seconds(line, "seconds", lasted_ns);
        end_object(run);
    } else if (run->options->verbose || (restarts > 0 && !run->options->quiet)) {
        struct buf *line = begin_line(run);
        buf_format(line, "weft: %zu member%s, %" PRIu64 " restart%s, ", run->crew.count,
                   run->crew.count == 1 ? "" : "s", restarts, restarts == 1 ? "" : "s");
        text_append_duration(line, lasted_ns);
        end_line(run);
    }
}

void talk_conclude(struct run *run)
{
    char text[ERR_TEXT_BYTES_MAX] = "";
    if (run->refusal)
        snprintf(text, sizeof text, "%s", run->refusal_text.text);
    else if (run->first_failure)
        snprintf(text, sizeof text, "%s failed with exit code %d", run->first_failure->name,
                 run->exit_code);
    launch_conclude(run->launch,
                    run->first_signal_ns || run->is_asked_to_end ? LAUNCH_STOPPED
                    : run->refusal || run->exit_code             ? LAUNCH_FAILED
                                                                 : LAUNCH_SUCCEEDED,
                    *text ? text : NULL);
}
