// The journal of a host: opened by doing all of it again, written once a turn, rewritten as a snapshot
// when it has grown to a multiple of its content.

#include <stdio.h>

#include "base/text.h"
#include "host/server_state.h"

static weft_err visit(void *owner, const struct journal_record *record)
{
    struct host_server *server = owner;
    return err_wrap(host_replay(server->host, record->type, record->payload), "record %llu",
                    (unsigned long long)record->sequence);
}

weft_err host_server_refuse_broken(const struct host_server *server)
{
    return err_set(WEFT_UNAVAILABLE, "%s", server->broken_text);
}

weft_err host_server_describe_broken(weft_err code)
{
    const bool is_gone = code == WEFT_DATA_LOSS;
    const char *advice =
        is_gone ? "a host that is started again knows only the files that it finds; "
                  "try: put them back, if they were moved"
                : "everything acknowledged is in it; try: see that the disk works, then start this "
                  "again with the same journal";
    struct err_kept kept;
    err_keep(&kept);
    return err_set(is_gone ? WEFT_DATA_LOSS : WEFT_UNKNOWN,
                   "the journal can no longer be written: %s\n  %s", kept.text, advice);
}

// The client may try again, and shows this sentence while it waits.
weft_err host_server_refuse_stuck(const struct host_server *server)
{
    return err_set(
        WEFT_RESOURCE_EXHAUSTED,
        "it cannot write its journal: %s; nothing is acknowledged until that works again",
        server->stuck_text);
}

static void say_stuck(struct host_server *server, weft_err code)
{
    server->stuck_code = code;
    snprintf(server->stuck_text, sizeof server->stuck_text, "%s", err_text());
    if (!server->is_journal_stuck && !journal_has_failed(server->journal))
        host_server_say(server,
                        "cannot write the journal: %s\n  nothing is acknowledged until that works "
                        "again",
                        err_text());
    server->is_journal_stuck = true;
}

weft_err host_server_log(void *owner, uint32_t type, weft_bytes payload)
{
    struct host_server *server = owner;
    server->is_journal_dirty = true;
    const weft_err err = journal_append(server->journal, type, payload);
    if (err)
        say_stuck(server, err);
    return err;
}

// Damage has a next step, in every message about it.
static weft_err name_journal(const char *directory, weft_err err)
{
    struct buf word = {0};
    err = err_wrap(err, "the journal %s", directory);
    if (err != WEFT_DATA_LOSS)
        return err;
    struct err_kept kept;
    err_keep(&kept);
    text_append_shell_word(&word, directory);
    err = err_set(err,
                  "%s\n  try: weft host --journal %s --repair, which shows what can be kept, and "
                  "asks; or put a copy back",
                  kept.text, buf_text(&word));
    buf_fini(&word);
    return err;
}

weft_err host_server_open_journal(struct host_server *server)
{
    struct journal_found found = {0};
    const char *directory = server->options.journal;
    const struct journal_options options = {.syncs_often = true};
    weft_err err =
        journal_open(&server->journal, directory, "host", &options, visit, server, &found);
    if (!err && found.record_count == 0)
        err = host_log_epoch(server->host);
    uint64_t mark;
    secret_random(&mark, sizeof mark);
    if (!err)
        err = host_begin_life(server->host, mark);
    if (!err)
        err = journal_sync(server->journal);
    if (err)
        return name_journal(directory, err);
    server->is_journal_dirty = false;
    server->journal_base = journal_size(server->journal);
    if (found.torn_bytes)
        host_server_say(
            server,
            "the journal %s ended in a record that was half written: %llu bytes were cut "
            "off, which were never acknowledged",
            directory, (unsigned long long)found.torn_bytes);
    return WEFT_OK;
}

static weft_err snapshot(void *owner, struct journal *journal)
{
    struct host_server *server = owner;
    (void)journal;  // journal_append goes to the new one while this runs
    return host_save(server->host, host_server_log, server);
}

// ---- Rewriting -----------------------------------------------------------------------------------------

// In the copy of this process, whose state is that of the journal's start.
static int write_snapshot(void *owner)
{
    struct host_server *server = owner;
    const weft_err err = journal_rewrite_write(server->journal, snapshot, server);
    if (err)
        host_server_say(server, "the snapshot of the journal could not be written: %s", err_text());
    return err ? 1 : 0;
}

static void say_not_rewritten(struct host_server *server, const char *why)
{
    host_server_say(server, "the journal could not be rewritten, it keeps growing: %s", why);
    err_clear();
    server->journal_base = journal_size(server->journal);  // not again at once
}

static void end_rewrite(void *owner)
{
    struct host_server *server = owner;
    struct process_exit exit;
    if (server->rewriter_watch)
        loop_watch_free(server->rewriter_watch);
    server->rewriter_watch = NULL;
    process_wait(&server->rewriter, &exit);
    if (!exit.is_known || exit.was_signalled || exit.number != 0) {
        char text[128];
        process_describe_exit(&exit, text, sizeof text);
        journal_rewrite_cancel(server->journal);
        say_not_rewritten(server, text);
        return;
    }
    if (journal_rewrite_finish(server->journal)) {
        say_not_rewritten(server, err_text());
        return;
    }
    // Where little was gained the journal is mostly content that is still held, and will be the next time.
    const uint64_t left = journal_size(server->journal);
    server->journal_base = left > server->rewritten_bytes / 2 ? 2 * left : left;
}

// A copy of this process writes the state of this moment, while this one continues.
static void rewrite_if_long(struct host_server *server)
{
    const uint64_t size = journal_size(server->journal);
    if (server->rewriter_watch || size < server->options.rewrite_bytes ||
        size < 2 * server->journal_base)
        return;
    server->rewritten_bytes = size;
    weft_err err = journal_rewrite_start(server->journal);
    if (!err)
        err = process_fork(write_snapshot, server, &server->rewriter);
    if (!err)
        server->rewriter_watch =
            loop_watch_new(server->loop, server->rewriter.pidfd, end_rewrite, server);
    if (!err && !server->rewriter_watch)
        end_rewrite(server);  // it cannot be watched: it is waited for
    if (!err)
        return;
    journal_rewrite_cancel(server->journal);
    say_not_rewritten(server, err_text());
}

static void stop_rewrite(struct host_server *server)
{
    if (!server->rewriter_watch)
        return;
    struct process_exit exit;
    loop_watch_free(server->rewriter_watch);
    server->rewriter_watch = NULL;
    process_kill(&server->rewriter);
    process_wait(&server->rewriter, &exit);
    journal_rewrite_cancel(server->journal);
}

// ---- A turn --------------------------------------------------------------------------------------------

bool host_server_commit(struct host_server *server)
{
    if (!server->journal)
        return true;
    weft_err err = host_write_calls(server->host);
    const bool is_due = server->is_journal_check_due;
    server->is_journal_check_due = false;
    if (!err && !server->is_journal_dirty && !is_due)
        return true;
    if (!err)
        err = server->is_journal_dirty ? journal_sync(server->journal)
                                       : journal_check_name(server->journal);
    if (err) {
        say_stuck(server, err);
        return false;
    }
    if (server->is_journal_stuck) {
        host_server_say(server, "the journal can be written again");
        host_server_restart_clock(server);
    }
    server->is_journal_stuck = server->is_journal_dirty = false;
    rewrite_if_long(server);
    return true;
}

bool host_server_is_committed(const struct host_server *server)
{
    return !server->journal ||
           (!server->is_journal_dirty && !host_has_unwritten_calls(server->host));
}

void host_server_close_journal(struct host_server *server)
{
    stop_rewrite(server);
    if (host_write_calls(server->host))
        err_clear();  // said already
    bool is_said = journal_has_failed(server->journal);
    const weft_err gone = is_said ? WEFT_OK : journal_check_name(server->journal);
    if (gone && server->options.broken) {
        host_server_describe_broken(gone);
        server->options.broken(server->options.owner, gone);
        is_said = true;
    }
    if (journal_close(server->journal)) {
        if (!is_said)
            host_server_say(server, "the end of the journal could not be written: %s", err_text());
        err_clear();
    }
    server->journal = NULL;
}
