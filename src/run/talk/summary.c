// summary: the same numbers twice, once to be read and once to be parsed.

#include "run/talk/summary.h"

#include <inttypes.h>

#include "base/json.h"
#include "base/text.h"

static const char *const phase_names[PHASE_COUNT] = PHASE_NAMES;

static const char *bold(bool has_color)
{
    return has_color ? "\033[1m" : "";
}

static const char *plain(bool has_color)
{
    return has_color ? "\033[0m" : "";
}

// Megabytes of input per second of wall time.
static uint64_t speed_of(const struct summary *summary)
{
    const double seconds = (double)summary->elapsed_ns / 1e9;
    return seconds > 0 ? (uint64_t)((double)summary->bytes_in / 1e6 / seconds + 0.5) : 0;
}

// ---- For a person --------------------------------------------------------------------------------------

static void append_plural(struct buf *buf, uint64_t count, const char *noun)
{
    text_append_count(buf, count);
    buf_format(buf, " %s%s", noun, count == 1 ? "" : "s");
}

static void append_in_out(struct buf *buf, const struct summary *summary)
{
    buf_append_text(buf, "  in     ");
    append_plural(buf, summary->records_in, "record");
    buf_append_text(buf, ", ");
    text_append_bytes(buf, summary->bytes_in);
    buf_append_text(buf, " of ");
    append_plural(buf, summary->input_count, "file");
    buf_append_text(buf, "\n  out    ");
    append_plural(buf, summary->records_out, "record");
    buf_append_text(buf, ", ");
    text_append_bytes(buf, summary->bytes_out);
    if (summary->output)
        buf_format(buf, " in %s", summary->output);
    buf_append_text(buf, "\n");
}

static void append_spill(struct buf *buf, const struct summary *summary)
{
    buf_append_text(buf, "  spill  ");
    if (summary->spill_bytes == 0) {
        buf_append_text(buf, "none");
    } else {
        text_append_bytes(buf, summary->spill_bytes);
        buf_append_text(buf, " in ");
        append_plural(buf, summary->spill_runs, "run");
    }
    if (summary->saved_bytes) {
        buf_append_text(buf, "; saved ");
        text_append_bytes(buf, summary->saved_bytes);
        buf_append_text(buf, summary->workers > 1 ? " of map output, for all workers"
                                                  : " of map output, in case the run is killed");
    }
    if (summary->relayed_bytes) {
        buf_append_text(buf, "; relayed ");
        text_append_bytes(buf, summary->relayed_bytes);
    }
    buf_append_text(buf, "\n");
}

// Shares of the slots' time, all nine of them: the line must stay under 100 columns.
static void append_phases(struct buf *buf, const struct summary *summary)
{
    uint64_t total = 0;
    for (int i = 0; i < PHASE_COUNT; i++)
        total += summary->phase_ns[i];
    buf_append_text(buf, "  time  ");
    for (int i = 0; i < PHASE_COUNT; i++) {
        const double share = total ? 100.0 * (double)summary->phase_ns[i] / (double)total : 0;
        buf_format(buf, " %s %.0f%%", phase_names[i], share);
    }
    buf_append_text(buf, "\n");
}

static void append_hints(struct buf *buf, const struct summary *summary)
{
    if (summary->has_switched_to_sort)
        buf_append_text(buf, "  note   mostly distinct keys: sorted instead of hashed\n");
    if (summary->spill_bytes > 0 && summary->memory_limit > 0 && !summary->has_checkpoints) {
        buf_append_text(buf, "  note   did not fit in ");
        text_append_size(buf, summary->memory_limit);
        buf_append_text(buf, ": with more --memory it is faster\n");
    }
    if (summary->resumed_count > 0) {
        buf_append_text(buf, "  note   ");
        append_plural(buf, summary->resumed_count, "task");
        buf_append_text(buf, " had been done by an earlier run and were kept\n");
    }
    if (summary->whole_count > 0) {
        buf_append_text(buf, "  note   ");
        append_plural(buf, summary->whole_count, "file");
        buf_format(buf, " could not be split (%s): one task each\n",
                   summary->whole_codec ? summary->whole_codec : "the format does not allow it");
    }
    if (summary->bad_count > 0) {
        buf_append_text(buf, "  note   ");
        append_plural(buf, summary->bad_count, "bad record");
        buf_format(buf, " left out, listed in %s\n", summary->bad_records);
    }
    if (summary->retry_count > 0) {
        buf_append_text(buf, "  note   ");
        append_plural(buf, summary->retry_count, "attempt");
        buf_append_text(buf, " failed and the task was tried again\n");
    }
}

static void append_details(struct buf *buf, const struct summary *summary)
{
    buf_append_text(buf, "  memory ");
    text_append_bytes(buf, summary->memory_peak);
    buf_append_text(buf, " at most, of ");
    text_append_size(buf, summary->memory_limit);
    buf_append_text(buf, "\n  tasks  ");
    append_plural(buf, summary->map_count, "map task");
    buf_append_text(buf, ", ");
    append_plural(buf, summary->reduce_count, "reduce task");
    buf_append_text(buf, ", ");
    append_plural(buf, summary->stage_count, "stage");
    buf_append_text(buf, ", ");
    append_plural(buf, summary->slots, "slot");
    if (summary->worker_lost_count) {
        buf_append_text(buf, ", ");
        append_plural(buf, summary->worker_lost_count, "worker");
        buf_append_text(buf, " lost");
    }
    buf_append_text(buf, "\n");
    for (int i = 0; i < PHASE_COUNT; i++) {
        buf_format(buf, "  %-8s", phase_names[i]);
        text_append_duration(buf, summary->phase_ns[i]);
        buf_append_text(buf, " of all slots\n");
    }
}

static struct summary_client add_clients(const struct summary *summary)
{
    struct summary_client all = {0};
    for (size_t i = 0; i < summary->client_count; i++) {
        const struct summary_client *client = &summary->clients[i];
        all.task_count += client->task_count;
        all.again_count += client->again_count;
        all.backup_count += client->backup_count;
        all.bytes_in += client->bytes_in;
        all.lent_bytes += client->lent_bytes;
        all.fetched_bytes += client->fetched_bytes;
        all.relayed_bytes += client->relayed_bytes;
    }
    return all;
}

static void append_client_figures(struct buf *buf, const struct summary_client *client)
{
    append_plural(buf, client->task_count, "task");
    if (client->again_count) {
        buf_append_text(buf, ", ");
        text_append_count(buf, client->again_count);
        buf_append_text(buf, " of them again");
    }
    if (client->backup_count) {
        buf_append_text(buf, ", ");
        append_plural(buf, client->backup_count, "second attempt");
    }
    buf_append_text(buf, "; ");
    text_append_bytes(buf, client->bytes_in);
    buf_append_text(buf, " read, ");
    text_append_bytes(buf, client->lent_bytes);
    buf_append_text(buf, " of it from the server; ");
    text_append_bytes(buf, client->fetched_bytes);
    buf_append_text(buf, " from clients");
    if (client->relayed_bytes) {
        buf_append_text(buf, ", ");
        text_append_bytes(buf, client->relayed_bytes);
        buf_append_text(buf, " of it through the server");
    }
    buf_append_text(buf, "\n");
}

// A long list is cut: --json has it whole.
static void append_clients(struct buf *buf, const struct summary *summary, bool is_verbose)
{
    enum { LISTED_MAX = 20 };
    const struct summary_client all = add_clients(summary);
    const size_t listed = summary->client_count < LISTED_MAX ? summary->client_count : LISTED_MAX;
    if (!summary->is_far || !summary->client_count)
        return;
    buf_append_text(buf, "  shared ");
    append_plural(buf, summary->client_count, "client");
    buf_append_text(buf, ": ");
    append_client_figures(buf, &all);
    for (size_t i = 0; i < listed && is_verbose; i++) {
        const struct summary_client *client = &summary->clients[i];
        buf_format(buf, "  client %s%s: ", client->name, crowd_describe_end(client->end));
        append_client_figures(buf, client);
    }
    if (is_verbose && listed < summary->client_count) {
        buf_append_text(buf, "  and ");
        append_plural(buf, summary->client_count - listed, "more client");
        buf_append_text(buf, ", which --json lists\n");
    }
}

static void append_counters(struct buf *buf, const struct summary *summary)
{
    for (size_t i = 0; i < summary->counter_count; i++) {
        buf_append_text(buf, "  count  ");
        text_append_printable(buf, summary->counters[i].name);
        buf_format(buf, " %" PRId64 "\n", summary->counters[i].value);
    }
}

static void append_error(struct buf *buf, const struct summary *summary, bool has_color)
{
    buf_format(buf, "%sweft: ", has_color ? "\033[31m" : "");
    text_append_printable(buf, summary->error && *summary->error ? summary->error
                                                                 : weft_err_name(summary->code));
    buf_format(buf, "%s\n", plain(has_color));
    if (summary->is_output_cut)
        buf_append_text(buf, "  the output is cut: only its beginning was written\n");
    if (summary->is_output_out)
        buf_append_text(buf, "  all of the output was written before that\n");
}

int64_t summary_find_counter(const struct summary *summary, const char *name)
{
    for (size_t i = 0; i < summary->counter_count; i++)
        if (strcmp(summary->counters[i].name, name) == 0)
            return summary->counters[i].value;
    return 0;
}

void summary_format_text(struct buf *buf, const struct summary *summary, bool is_verbose,
                         bool has_color)
{
    if (summary->code != WEFT_OK) {
        append_error(buf, summary, has_color);
        return;
    }
    buf_format(buf, "%s%s%s done in ", bold(has_color), summary->job ? summary->job : "job",
               plain(has_color));
    text_append_duration(buf, summary->elapsed_ns);
    buf_append_text(buf, ", ");
    text_append_count(buf, speed_of(summary));
    buf_append_text(buf, " MB/s\n");
    append_in_out(buf, summary);
    append_spill(buf, summary);
    append_phases(buf, summary);
    append_clients(buf, summary, is_verbose);
    if (is_verbose)
        append_details(buf, summary);
    append_counters(buf, summary);
    append_hints(buf, summary);
}

// ---- For a program -------------------------------------------------------------------------------------

static void append_json_totals(struct buf *buf, const struct summary *summary)
{
    json_append_uint(buf, "input_count", summary->input_count);
    json_append_uint(buf, "records_in", summary->records_in);
    json_append_uint(buf, "bytes_in", summary->bytes_in);
    json_append_uint(buf, "records_out", summary->records_out);
    json_append_uint(buf, "bytes_out", summary->bytes_out);
    json_append_seconds(buf, "seconds", summary->elapsed_ns);
    json_append_uint(buf, "megabytes_per_second", speed_of(summary));
    json_append_uint(buf, "spill_bytes", summary->spill_bytes);
    json_append_uint(buf, "spill_runs", summary->spill_runs);
    json_append_uint(buf, "saved_bytes", summary->saved_bytes);
    json_append_uint(buf, "relayed_bytes", summary->relayed_bytes);
    json_append_uint(buf, "workers", summary->workers);
    json_append_uint(buf, "slots", summary->slots);
    json_append_uint(buf, "memory_limit_bytes", summary->memory_limit);
    json_append_uint(buf, "memory_peak_bytes", summary->memory_peak);
    json_append_uint(buf, "stage_count", summary->stage_count);
    json_append_uint(buf, "map_tasks", summary->map_count);
    json_append_uint(buf, "reduce_tasks", summary->reduce_count);
    json_append_uint(buf, "retries", summary->retry_count);
    json_append_uint(buf, "workers_lost", summary->worker_lost_count);
    json_append_uint(buf, "backups", add_clients(summary).backup_count);
    json_append_uint(buf, "resumed_tasks", summary->resumed_count);
    json_append_bool(buf, "already_done", summary->is_already_done);
    json_append_uint(buf, "bad_records", summary->bad_count);
    json_append_uint(buf, "unsplit_inputs", summary->whole_count);
    json_append_bool(buf, "switched_to_sort", summary->has_switched_to_sort);
}

static void append_json_clients(struct buf *buf, const struct summary *summary)
{
    json_open(buf, "clients", '[');
    for (size_t i = 0; i < summary->client_count; i++) {
        const struct summary_client *client = &summary->clients[i];
        json_open(buf, NULL, '{');
        json_append_text(buf, "client", client->name);
        json_append_uint(buf, "slots", client->slots);
        json_append_text(buf, "end", crowd_name_end(client->end));
        json_append_uint(buf, "tasks", client->task_count);
        json_append_uint(buf, "tasks_again", client->again_count);
        json_append_uint(buf, "backups", client->backup_count);
        json_append_uint(buf, "bytes_in", client->bytes_in);
        json_append_uint(buf, "served_bytes", client->lent_bytes);
        json_append_uint(buf, "fetched_bytes", client->fetched_bytes);
        json_append_uint(buf, "relayed_bytes", client->relayed_bytes);
        json_close(buf, '}');
    }
    json_close(buf, ']');
}

void summary_format_json(struct buf *buf, const struct summary *summary)
{
    json_open(buf, NULL, '{');
    json_append_text(buf, "event", "end");
    json_append_text(buf, "job", summary->job);
    json_append_bool(buf, "ok", summary->code == WEFT_OK);
    json_append_text(buf, "code", weft_err_name(summary->code));
    json_append_int(buf, "exit_code",
                    summary->exit_code ? summary->exit_code : err_exit_code(summary->code));
    json_append_text(buf, "error", summary->code == WEFT_OK ? NULL : summary->error);
    json_append_text(buf, "output", summary->output);
    json_append_bool(buf, "output_cut", summary->is_output_cut);
    append_json_totals(buf, summary);
    json_open(buf, "phase_seconds", '{');
    for (int i = 0; i < PHASE_COUNT; i++)
        json_append_seconds(buf, phase_names[i], summary->phase_ns[i]);
    json_close(buf, '}');
    json_open(buf, "counters", '{');
    for (size_t i = 0; i < summary->counter_count; i++)
        json_append_int(buf, summary->counters[i].name, summary->counters[i].value);
    json_close(buf, '}');
    if (summary->is_far)
        append_json_clients(buf, summary);
    json_close(buf, '}');
    buf_append_text(buf, "\n");
}
