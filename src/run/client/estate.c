// Files for others, and the port where they are.

#include "run/client/estate.h"

#include <stdio.h>

#include "sys/secure/secret.h"
#include "transport/fetch_files.h"
#include "transport/hub.h"

static weft_err refuse_session(void *owner, struct hub_peer *peer, const struct hello *hello)
{
    (void)owner, (void)peer, (void)hello;
    return err_set(WEFT_UNIMPLEMENTED, "this is a client of a server, not a server");
}

weft_err estate_open(struct estate *estate, const struct estate_options *options)
{
    static const struct hub_calls calls = {.joined = refuse_session};
    // Other clients come from other machines, unless the server itself is on this one only.
    struct net_address address = {0};
    if (net_address_is_loopback(&options->server))
        snprintf(address.host, sizeof address.host, "localhost");
    estate->files = fetch_files_new();
    estate->served.files = estate->files;
    if (!estate->files)
        return WEFT_RESOURCE_EXHAUSTED;
    const weft_err code = net_listen(&address, &estate->listener);
    if (code != WEFT_OK)
        return code;
    const struct hub_options hub = {
        .loop = options->loop,
        .listener = &estate->listener,
        .token = options->token,
        .name = options->name,
        .calls = &calls,
        .owner = estate,
        .files = estate->files,
        .serve_bytes_max = options->serve_bytes_max,
    };
    estate->door = hub_new(&hub);
    return estate->door ? WEFT_OK : WEFT_RESOURCE_EXHAUSTED;
}

void estate_close(struct estate *estate)
{
    hub_free(estate->door);
    net_listener_close(&estate->listener);
    if (estate->files)
        fetch_files_free(estate->files);
    served_fini(&estate->served);
    ledger_fini(&estate->ledger);
    *estate = (struct estate){0};
}

void estate_begin(struct estate *estate, weft_bytes run)
{
    if (ledger_is_of(&estate->ledger, run))
        return;
    for (size_t i = 0; i < estate->served.list.count; i++)
        served_forget(&estate->served, i + 1);
    ledger_begin(&estate->ledger, run);
}

void estate_forget(struct estate *estate, uint64_t file)
{
    served_forget(&estate->served, file);
    ledger_forget(&estate->ledger, file);
}
