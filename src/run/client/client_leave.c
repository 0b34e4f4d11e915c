// A client that was asked to end. It takes no more tasks, and stays until the server has had its finished work copied to others, and no
// task reads from it any more; or until the time that the user gives it is over.

#include "run/client/client_state.h"

#include <stdio.h>

#include "base/text.h"
#include "transport/hub.h"
#include "transport/spoke.h"

enum {
    LINGER_MS = 20,    // between two looks whether others still fetch from one that may go,
    LINGER_LOOKS = 5,  // that many of which in a row must show that they do not
};

static void tell_leaving(const struct client *client)
{
    struct buf text = {0};
    buf_append_text(&text, "leaving: finished work goes to others, for at most ");
    text_append_duration(&text, client->options->grace_ms * UINT64_C(1000000));
    buf_append_text(&text, "; another signal ends it at once");
    client_say(client, "leaving", buf_text(&text));
    buf_fini(&text);
}

void client_tell_left(const struct client *client)
{
    struct buf text = {0};
    if (!client->grace || client->has_ended)
        return;
    if (client->is_handed_over)
        buf_format(&text, "left; %u finished task%s handed over", client->handed_count,
                   client->handed_count == 1 ? "" : "s");
    else
        buf_format(&text, "left before all finished work was handed over: %s; others do it again",
                   client->why[0] ? client->why : "the time for it is over");
    client_say(client, "left", buf_text(&text));
    buf_fini(&text);
}

void client_go(struct client *client)
{
    client->must_go = true;
    loop_stop(client->loop);
}

static void end_grace(void *owner)
{
    client_go(owner);
}

// Tasks that take longer are given back: the rest of the time is for finished work.
static void end_half_grace(void *owner)
{
    const struct client *client = owner;
    if (client->porter)
        porter_give_back(client->porter);
}

// Tasks of others may still read from here, though later ones will not.
static void look_at_readers(void *owner)
{
    struct client *client = owner;
    const bool is_quiet =
        !hub_is_fetched(client->estate.door) && !(client->spoke && spoke_is_fetched(client->spoke));
    client->quiet_looks = is_quiet ? client->quiet_looks + 1 : 0;
    if (client->quiet_looks >= LINGER_LOOKS)
        client_go(client);
}

void client_take_released(struct client *client, const struct frame *frame)
{
    Weft__ClientReleased *released = NULL;
    const weft_err code = message_unpack(frame, &weft__client_released__descriptor, &released);
    if (code != WEFT_OK) {
        client_stop(client, code);
        return;
    }
    client->is_handed_over = released->is_complete;
    client->handed_count = released->tasks;
    snprintf(client->why, sizeof client->why, "%s", released->text);
    if (client->is_handed_over && client->handed_count && !client->linger)
        client->linger =
            loop_timer_new(client->loop, LINGER_MS, LINGER_MS, look_at_readers, client);
    if (!client->linger)
        client_go(client);
    message_free(released);
}

// False: there is nothing to wait for.
bool client_begin_to_leave(struct client *client)
{
    const uint32_t grace_ms = client->options->grace_ms;
    const bool is_at_work = client->is_joined && !client->has_ended && client->spoke &&
                            spoke_is_connected(client->spoke);
    if (grace_ms == 0 || client->has_ended ||
        (!is_at_work && ledger_is_empty(&client->estate.ledger)))
        return false;
    client->grace = loop_timer_new(client->loop, grace_ms, 0, end_grace, client);
    client->half_grace = loop_timer_new(client->loop, grace_ms / 2, 0, end_half_grace, client);
    if (!client->grace || !client->half_grace)
        return false;
    tell_leaving(client);
    if (client->is_joined)
        porter_leave(client->porter, grace_ms);
    return true;
}

void client_free_leaving(struct client *client)
{
    loop_timer_free(client->grace);
    loop_timer_free(client->half_grace);
    loop_timer_free(client->linger);
}
