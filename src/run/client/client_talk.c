// What a client says to people and programs.

#include "run/client/client_state.h"

#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/text.h"
#include "sys/file/file.h"

enum { PROGRESS_TICKS = 10 };  // of a second each, between two lines for people

static void append_figures(struct buf *text, const struct porter_figures *figures)
{
    json_append_uint(text, "tasks", figures->task_count);
    json_append_uint(text, "code_bytes", figures->code_bytes);
    json_append_uint(text, "served_bytes", figures->lent_bytes);
    json_append_uint(text, "fetched_bytes", figures->fetched_bytes);
    json_append_uint(text, "relayed_bytes", figures->relayed_bytes);
}

// `figures` only where they are of interest.
static void say_with(const struct client *client, const char *event, const char *sentence,
                     const struct porter_figures *figures)
{
    struct buf text = {0};
    if (client->options->is_quiet)
        return;
    if (client->options->json) {
        json_open(&text, NULL, '{');
        json_append_text(&text, "event", event);
        if (figures)
            append_figures(&text, figures);
        json_append_text(&text, "text", sentence);
        json_close(&text, '}');
        buf_append_text(&text, "\n");
    } else {
        text_append_message(&text, "weft", sentence);
    }
    if (file_write(STDERR_FILENO, "standard error", text.data, text.size) != WEFT_OK)
        err_clear();  // a closed standard error is not a failure
    buf_fini(&text);
}

void client_say(const struct client *client, const char *event, const char *sentence)
{
    say_with(client, event, sentence, NULL);
}

void client_tell_joined(const struct client *client)
{
    char address[NET_ADDRESS_TEXT_BYTES];
    struct buf text = {0};
    net_write_address(&client->server, address);
    buf_format(&text, "joined %s with %u slot%s and ", address, client->machine.slots,
               client->machine.slots == 1 ? "" : "s");
    text_append_bytes(&text, client->machine.memory_bytes);
    buf_append_text(&text, " of memory");
    client_say(client, "joined", buf_text(&text));
    buf_fini(&text);
}

static void append_bytes(struct buf *text, uint64_t bytes, const char *what)
{
    if (!bytes)
        return;
    buf_append_text(text, ", ");
    text_append_bytes(text, bytes);
    buf_format(text, " %s", what);
}

static void describe_figures(struct buf *text, const struct porter_figures *figures)
{
    buf_format(text, "%llu task%s here", (unsigned long long)figures->task_count,
               figures->task_count == 1 ? "" : "s");
    append_bytes(text, figures->code_bytes, "of code");
    append_bytes(text, figures->lent_bytes, "of input from the server");
    append_bytes(text, figures->fetched_bytes, "from other clients");
    append_bytes(text, figures->relayed_bytes, "of them through the server");
}

void client_tell_end(const struct client *client, weft_err code, const char *why)
{
    struct porter_figures figures = {0};
    struct buf text = {0};
    if (client->porter)
        porter_read_figures(client->porter, &figures);
    if (code == WEFT_OK)
        buf_append_text(&text, "the job is done; ");
    else  // what to try next is for the user of the server
        buf_format(&text, "the job has ended: %.*s; ", (int)strcspn(why, "\n"), why);
    describe_figures(&text, &figures);
    say_with(client, "end", buf_text(&text), &figures);
    buf_fini(&text);
}

// Once for each server, when it is not there within a second: before the first job, or between two.
static void tell_waiting(struct client *client)
{
    char address[NET_ADDRESS_TEXT_BYTES];
    struct buf text = {0};
    if (client->is_joined || client->has_told_waiting || client->is_leaving ||
        (client->has_joined && !client->options->stays))
        return;
    client->has_told_waiting = true;
    net_write_address(&client->server, address);
    buf_format(&text, "waiting for a server at %s", address);
    client_say(client, "waiting", buf_text(&text));
    buf_fini(&text);
}

// At intervals, if there is something new: for programs more often than for people.
void client_tell_progress(void *owner)
{
    struct client *client = owner;
    struct porter_figures figures = {0};
    struct buf text = {0};
    const uint32_t pause = client->options->json ? 1 : PROGRESS_TICKS;
    tell_waiting(client);
    if (!client->porter || client->has_ended || ++client->ticks % pause)
        return;
    porter_read_figures(client->porter, &figures);
    if (memcmp(&figures, &client->told, sizeof figures) == 0)
        return;
    client->told = figures;
    buf_append_text(&text, "at work; ");
    describe_figures(&text, &figures);
    say_with(client, "progress", buf_text(&text), &figures);
    buf_fini(&text);
}
