// Repairing the journal of a host: store/journal/journal.h does it, this shows the consequences.
//
// The state that is left is found by replaying the kept records, as the host will do when it starts.

#include "host/repair.h"

#include <inttypes.h>
#include <strings.h>
#include <unistd.h>

#include "base/json.h"
#include "base/text.h"
#include "resource/census.h"
#include "store/journal/journal.h"
#include "sys/file/file.h"
#include "sys/file/standard.h"

enum { SHOWN_MAX = 100, ANSWER_BYTES_MAX = 64 };  // of resources; of the typed answer

struct repair {
    const struct host_repair_options *options;
    struct host *host;
    struct buf text;  // of the report
    uint64_t told_count;
    bool was_cut;
    struct buf copy;
};

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

static void write_out(int fd, struct buf *text)
{
    // That no process reads our messages is not a failure.
    if (file_write(fd, "output", text->data, text->size))
        err_clear();
    text->size = 0;
}

static void append_command(const struct repair *repair, const char *more, struct buf *text)
{
    buf_append_text(text, "weft host --journal ");
    text_append_shell_word(text, repair->options->journal);
    buf_append_text(text, more);
}

// ---- Replaying ------------------------------------------------------------------------------------------

static weft_err begin(void *owner)
{
    struct repair *repair = owner;
    host_free(repair->host);
    repair->host = host_new(&(struct host_options){.member = NULL, .seed = 1});
    return repair->host ? WEFT_OK : err_no_memory("for a host");
}

static weft_err visit(void *owner, const struct journal_record *record)
{
    struct repair *repair = owner;
    return err_wrap(host_replay(repair->host, record->type, record->payload), "record %" PRIu64,
                    record->sequence);
}

// ---- Showing --------------------------------------------------------------------------------------------

static void tell_text(void *owner, const char *kind, const char *name, const char *what)
{
    struct repair *repair = owner;
    if (repair->told_count++ < SHOWN_MAX)
        buf_format(&repair->text, "    %-8s %s: %s\n", kind, name, what);
}

static void show_text(struct repair *repair, const struct journal_damage *damage)
{
    const struct journal_found *found = &damage->found;
    struct buf *text = &repair->text;
    buf_format(text, "The journal %s is damaged.\n  %s\n", repair->options->journal, damage->why);
    buf_append_text(text, "  kept: ");
    text_append_count(text, found->record_count);
    buf_format(text, " record%s before it, ", plural(found->record_count));
    text_append_count(text, damage->kept_bytes);
    buf_append_text(text, " bytes\n  lost: ");
    text_append_count(text, found->lost_bytes);
    buf_format(text, " bytes from there on, in %u file%s; ", found->lost_segments,
               plural(found->lost_segments));
    text_append_count(text, found->lost_records);
    buf_format(text, " record%s among them can be read, but not without the missing ones\n",
               plural(found->lost_records));
    buf_append_text(text, "  After a repair it holds\n");
    repair->told_count = 0;
    host_tell(repair->host, tell_text, repair);
    if (repair->told_count > SHOWN_MAX)
        buf_format(text, "    and %" PRIu64 " more\n", repair->told_count - SHOWN_MAX);
    if (!repair->told_count)
        buf_append_text(text, "    nothing\n");
    buf_format(
        text,
        "  Clients that got answers to lost calls are notified when they come again (DATA_LOSS).\n"
        "  A repair keeps the files as they are now in %s.\n",
        damage->copy);
    write_out(STDOUT_FILENO, text);
}

static void tell_json(void *owner, const char *kind, const char *name, const char *what)
{
    struct repair *repair = owner;
    json_open(&repair->text, NULL, '{');
    json_append_text(&repair->text, "kind", kind);
    json_append_text(&repair->text, "name", name);
    json_append_text(&repair->text, "holds", what);
    json_close(&repair->text, '}');
}

static void show_json(struct repair *repair, const struct journal_damage *damage)
{
    const struct journal_found *found = &damage->found;
    struct buf *text = &repair->text;
    json_open(text, NULL, '{');
    json_append_text(text, "event", "damage");
    json_append_text(text, "journal", repair->options->journal);
    json_append_text(text, "text", damage->why);
    json_append_text(text, "file", damage->segment);
    json_append_uint(text, "offset", damage->offset);
    json_append_uint(text, "kept_records", found->record_count);
    json_append_uint(text, "kept_bytes", damage->kept_bytes);
    json_append_uint(text, "lost_bytes", found->lost_bytes);
    json_append_uint(text, "lost_readable_records", found->lost_records);
    json_append_uint(text, "lost_files", found->lost_segments);
    json_open(text, "holds", '[');
    host_tell(repair->host, tell_json, repair);
    json_close(text, ']');
    json_append_text(text, "copy", damage->copy);
    json_close(text, '}');
    buf_append_text(text, "\n");
    write_out(STDERR_FILENO, text);
}

// ---- Asking ---------------------------------------------------------------------------------------------

static bool is_yes(void)
{
    char answer[ANSWER_BYTES_MAX + 1] = "";
    size_t got = 0;
    if (file_read_some(STDIN_FILENO, "the answer", answer, ANSWER_BYTES_MAX, &got)) {
        err_clear();
        return false;
    }
    answer[strcspn(answer, " \r\n")] = '\0';
    return strcasecmp(answer, "y") == 0 || strcasecmp(answer, "yes") == 0;
}

static weft_err refuse(const struct repair *repair, const char *why)
{
    struct buf command = {0};
    append_command(repair, " --repair --yes", &command);
    const weft_err err = err_set(WEFT_DATA_LOSS, "%s is damaged; nothing was changed%s\n  try: %s",
                                 repair->options->journal, why, buf_text(&command));
    buf_fini(&command);
    return err;
}

static weft_err approve(void *owner, const struct journal_damage *damage)
{
    struct repair *repair = owner;
    const struct host_repair_options *options = repair->options;
    if (options->json)
        show_json(repair, damage);
    else
        show_text(repair, damage);
    const bool can_ask =
        !options->json && standard_is_terminal(STDIN_FILENO) && standard_is_terminal(STDERR_FILENO);
    if (!options->is_agreed && !can_ask)
        return refuse(repair, ", as there is no terminal to ask at");
    if (!options->is_agreed) {
        buf_append_text(&repair->text, "Cut the journal there? [y/N] ");
        write_out(STDERR_FILENO, &repair->text);
        if (!is_yes())
            return refuse(repair, "");
    }
    buf_append_text(&repair->copy, damage->copy);
    repair->was_cut = true;
    return WEFT_OK;
}

// ---- The end --------------------------------------------------------------------------------------------

static void tell_end(struct repair *repair, const struct journal_found *found)
{
    const char *journal = repair->options->journal;
    struct buf *text = &repair->text;
    if (repair->options->json) {
        json_open(text, NULL, '{');
        json_append_text(text, "event", repair->was_cut ? "repaired" : "sound");
        json_append_text(text, "journal", journal);
        json_append_uint(text, "records", found->record_count);
        json_append_text(text, "copy", repair->was_cut ? buf_text(&repair->copy) : NULL);
        json_close(text, '}');
        buf_append_text(text, "\n");
        write_out(STDERR_FILENO, text);
        return;
    }
    if (repair->options->is_quiet)
        return;
    if (repair->was_cut)
        buf_format(text, "The journal %s is repaired; the former files are in %s.\n", journal,
                   buf_text(&repair->copy));
    else
        buf_format(text,
                   "The journal %s is sound, with %" PRIu64 " record%s; nothing was changed.\n",
                   journal, found->record_count, plural(found->record_count));
    if (!repair->was_cut && found->torn_bytes)
        buf_format(text,
                   "  Its last %" PRIu64 " bytes are a record that was half written and never "
                   "acknowledged: the next start cuts it off.\n",
                   found->torn_bytes);
    write_out(STDOUT_FILENO, text);
}

weft_err host_repair(const struct host_repair_options *options)
{
    struct repair repair = {.options = options};
    struct journal_found found = {0};
    const struct journal_options way = {.syncs_often = true};
    const struct journal_repairer repairer = {begin, visit, approve, &repair};
    weft_err err = journal_repair(options->journal, "host", &way, &repairer, &found);
    if (!err)
        tell_end(&repair, &found);
    if (err == WEFT_NOT_FOUND)
        err = err_set(err,
                      "there is no journal of a host in %s\n  try: the directory that was given "
                      "to --journal; the journal of a member is in ROLE-INDEX inside it",
                      options->journal);
    host_free(repair.host);
    buf_fini(&repair.text);
    buf_fini(&repair.copy);
    return err;
}
