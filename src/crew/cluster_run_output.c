// Lines on their way from members to our standard output and error.
//
// Our outputs may be slow, or not read for a while (a pager). We never wait for them: output that does not
// go is kept, and when that is a mebibyte, the launcher is asked to pause the streams that lead there, so that
// their members wait in their turn.

#include "crew/cluster_run_state.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "sys/file/file.h"
#include "sys/process/signals.h"

enum {
    SINK_FULL_BYTES = 1 << 20,
    SINK_RESUME_BYTES = 256 << 10,
    SIGPIPE_NUMBER = 13,
};

// ---- Sinks -----------------------------------------------------------------------------------------------

weft_err run_open_sinks(struct run *run)
{
    const int fds[2] = {STDOUT_FILENO, STDERR_FILENO};
    const char *const names[2] = {"standard output", "standard error"};
    weft_err err = WEFT_OK;
    for (int i = 0; i < 2 && !err; i++) {
        run->sinks[i] = (struct run_sink){.run = run, .name = names[i]};
        err = outlet_open(&run->sinks[i].outlet, fds[i]);
    }
    run->talk_sink = &run->sinks[outlet_is_same(STDOUT_FILENO, STDERR_FILENO) ? RUN_OUT : RUN_ERR];
    return err;
}

void run_close_sinks(struct run *run)
{
    for (int i = 0; i < 2; i++)
        if (run->sinks[i].run)
            outlet_close(&run->sinks[i].outlet);
}

weft_err run_open_logs(struct run *run)
{
    const char *directory = run->options->state_directory;
    for (size_t i = 0; directory && i < run->crew.count; i++) {
        struct run_member *member = &run->members[i];
        struct buf path = {0};
        int fd = -1;
        buf_format(&path, "%s/%s_%" PRIu32 ".log", directory, member->seat.role->name,
                   member->seat.index);
        weft_err err = file_create_private(buf_text(&path), &fd);
        buf_fini(&path);
        member->log = (struct run_sink){.run = run, .name = "a log"};
        if (!err)
            err = outlet_open(&member->log.outlet, fd);
        if (err)
            return err;
    }
    return WEFT_OK;
}

void run_close_logs(struct run *run)
{
    for (size_t i = 0; run->members && i < run->crew.count; i++) {
        struct run_sink *log = &run->members[i].log;
        if (!log->run || log->outlet.fd < 0)
            continue;
        file_close(log->outlet.fd);
        outlet_close(&log->outlet);
    }
}

bool run_has_unsent(const struct run *run)
{
    return outlet_unsent(&run->sinks[RUN_OUT].outlet) > 0 ||
           outlet_unsent(&run->sinks[RUN_ERR].outlet) > 0;
}

static void set_full(struct run_sink *sink, bool is_full)
{
    sink->is_full = is_full;
    for (size_t i = 0; i < sink->run->crew.count; i++)
        for (int k = 0; k < 2; k++) {
            const struct run_stream *stream = &sink->run->members[i].streams[k];
            if (stream->sink == sink)
                launch_pause(sink->run->launch, i, stream->which, is_full);
        }
}

// Without a reader of the answer the members work for nothing. Messages without a reader are not a loss.
static void break_sink(struct run_sink *sink, weft_err err)
{
    struct run *run = sink->run;
    sink->is_broken = true;
    if (sink == &run->sinks[RUN_OUT] && err == WEFT_CANCELLED)
        run_ask_to_stop(run, signal_exit_code(SIGPIPE_NUMBER));
    else if (sink == &run->sinks[RUN_OUT]) {
        talk_stopping(run, err_text());
        run_ask_to_stop(run, err_exit_code(err));
    }
    err_clear();
}

static void flush_again(void *owner)
{
    struct run_sink *sink = owner;
    sink_flush(sink);
    run_leave_when_sent(sink->run);
}

void sink_flush(struct run_sink *sink)
{
    if (sink->is_broken) {
        sink->outlet.unsent.size = sink->outlet.sent = 0;
        return;
    }
    const weft_err err = outlet_flush(&sink->outlet, sink->name);
    const size_t unsent = outlet_unsent(&sink->outlet);
    if (unsent > 0 && !sink->writable)
        sink->writable = loop_watch_new(sink->run->loop, sink->outlet.ready, flush_again, sink);
    if (unsent == 0 && sink->writable) {
        loop_watch_free(sink->writable);
        sink->writable = NULL;
    }
    if (!sink->is_full && unsent > SINK_FULL_BYTES)
        set_full(sink, true);
    else if (sink->is_full && unsent < SINK_RESUME_BYTES)
        set_full(sink, false);
    if (err)
        break_sink(sink, err);
}

// ---- Streams ---------------------------------------------------------------------------------------------

// What stands in `lines` as objects, one for each.
static void append_objects(struct run_stream *stream, const struct buf *lines, struct buf *out)
{
    if (lines->size == 0)
        return;
    const char *at = lines->data, *const end = lines->data + lines->size;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *line_end = newline ? newline : end;
        talk_line(stream, (weft_bytes){at, (size_t)(line_end - at)}, out);
        at = line_end + 1;
    }
}

// Hands on the bytes that were read; NULL: the stream has ended.
static void hand_on(struct run_stream *stream, const weft_bytes *bytes)
{
    struct buf *unsent = &stream->sink->outlet.unsent, lines = {0};
    struct buf *out = stream->is_json ? &lines : unsent;
    if (bytes)
        prefix_feed(&stream->prefix, *bytes, out);
    else
        prefix_end(&stream->prefix, out);
    if (stream->is_json)
        append_objects(stream, &lines, unsent);
    buf_fini(&lines);
    sink_flush(stream->sink);
}

void run_take_output(struct run_member *member, unsigned which, weft_bytes bytes)
{
    struct run_stream *stream = &member->streams[which == CHILD_OUT ? RUN_OUT : RUN_ERR];
    if (!stream->sink)
        return;
    // In the background each member has a log of its own, which ends with these lines.
    if (!member->log.run)
        last_lines_feed(&member->tail, bytes);
    member->run->taken_bytes += bytes.size;
    member->taken_at = member->run->taken_bytes;
    hand_on(stream, &bytes);
}

void run_begin_streams(struct run_member *member)
{
    struct run *run = member->run;
    const struct cluster_run_options *options = run->options;
    for (int i = 0; i < 2; i++) {
        struct run_stream *stream = &member->streams[i];
        stream->member = member;
        stream->which = i == RUN_OUT ? CHILD_OUT : CHILD_ERR;
        stream->sink = member->log.run ? &member->log
                       : i == RUN_OUT  ? &run->sinks[RUN_OUT]
                                       : run->talk_sink;
        stream->is_json = options->json && i == RUN_ERR;
        stream->prefix.text = stream->is_json ? "" : member->prefixes[i];
        stream->prefix.adds_no_breaks = options->no_prefix && !stream->is_json;
        if (stream->sink->is_full)
            launch_pause(run->launch, member->number, stream->which, true);
    }
}

void run_end_streams(struct run_member *member)
{
    for (int i = 0; i < 2; i++) {
        if (member->streams[i].sink)
            hand_on(&member->streams[i], NULL);
        member->streams[i].sink = NULL;
    }
}
