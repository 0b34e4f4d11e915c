// Calling the active one of several resource managers.

#include "launch/yarn/yarn_link.h"

#include <stdio.h>
#include <stdlib.h>

#include "launch/yarn/yarn_message.h"
#include "sys/machine/machine.h"
#include "sys/net/tcp.h"
#include "sys/secure/secret.h"
#include "sys/thread/interrupt.h"
#include "sys/time/clock.h"
#include "wire/hadoop/rpc.h"

enum {
    CONNECT_MS = 10000,
    SILENCE_MS = 30000,
    PAUSE_FIRST_MS = 100,
    PAUSE_MAX_MS = 3000,
    NEWS_AFTER_MS = 3000,
    NS_PER_MS = 1000000,
};

struct yarn_link {
    struct yarn_link_options options;
    struct yarn_site site;
    size_t current;
    struct rpc *rpc;
    struct rpc_names names;
    Hadoop__Token *token;
    int32_t calls;
    bool was_reached, is_missed;  // missed: it was news that no resource manager answers
    char exception[80];
    char user[MACHINE_NAME_BYTES_MAX];
};

static const char *const protocols[] = {
    [YARN_FOR_CLIENTS] = "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB",
    [YARN_FOR_MASTERS] = "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB",
};

weft_err yarn_link_new(const struct yarn_link_options *options, struct yarn_link **made)
{
    struct yarn_link *link = calloc(1, sizeof *link);
    *made = link;
    if (!link)
        return err_no_memory("for a resource manager");
    link->options = *options;
    link->site = *options->site;
    link->was_reached = options->was_reached;
    link->names.protocol = protocols[options->service];
    if (options->service == YARN_FOR_CLIENTS) {
        snprintf(link->user, sizeof link->user, "%s", options->user);
        link->names.user = link->user;
    }
    secret_random(link->names.client, sizeof link->names.client);
    return WEFT_OK;
}

void yarn_link_free(struct yarn_link *link)
{
    if (!link)
        return;
    rpc_close(link->rpc);
    yarn_free(link->token);
    free(link);
}

weft_err yarn_link_set_token(struct yarn_link *link, const Hadoop__Token *token)
{
    struct yarn_maker maker = {0};
    Hadoop__Token *copy = yarn_make_copy(&maker, token);
    if (!copy)
        return err_no_memory("for a token");
    yarn_free(link->token);
    link->token = copy;
    return WEFT_OK;
}

const char *yarn_link_exception(const struct yarn_link *link)
{
    return link->exception;
}

bool yarn_link_was_reached(const struct yarn_link *link)
{
    return link->was_reached;
}

bool yarn_link_own_host(const struct yarn_link *link, char *host, size_t size)
{
    char number[TCP_HOST_BYTES];
    if (!link->rpc || tcp_own_host(rpc_connection(link->rpc), number)) {
        err_clear();
        return false;
    }
    snprintf(host, size, "%s", number);
    return true;
}

static void leave_manager(struct yarn_link *link)
{
    rpc_close(link->rpc);
    link->rpc = NULL;
    link->current = (link->current + 1) % link->site.count;
}

static weft_bytes bytes_of(ProtobufCBinaryData data)
{
    return (weft_bytes){(const char *)data.data, data.len};
}

static weft_err connect_manager(struct yarn_link *link)
{
    const struct yarn_manager *manager = &link->site.managers[link->current];
    const bool is_client = link->options.service == YARN_FOR_CLIENTS;
    struct hadoop_token token = {0};
    if (link->token)
        token = (struct hadoop_token){.identifier = bytes_of(link->token->identifier),
                                      .password = bytes_of(link->token->password)};
    const struct rpc_options options = {.address = is_client ? manager->client : manager->scheduler,
                                        .names = &link->names,
                                        .token = link->token ? &token : NULL,
                                        .connect_ms = CONNECT_MS,
                                        .silence_ms = SILENCE_MS};
    return rpc_open(&options, &link->rpc);
}

// Once, to the current one.
static weft_err call_once(struct yarn_link *link, const char *method, const void *message,
                          const ProtobufCMessageDescriptor *descriptor, ProtobufCMessage **answer)
{
    *answer = NULL;
    link->exception[0] = 0;
    weft_err err = link->rpc ? WEFT_OK : connect_manager(link);
    if (err)
        return err;
    err = rpc_call(link->rpc, method, link->calls, 0, message, descriptor, answer);
    link->calls = (link->calls + 1) & INT32_MAX;
    snprintf(link->exception, sizeof link->exception, "%s", rpc_exception(link->rpc));
    link->was_reached |= !err || link->exception[0];
    return err;
}

// ---- News ---------------------------------------------------------------------------------------------------------

static void report_missing(struct yarn_link *link)
{
    char text[ERR_TEXT_BYTES_MAX + 200];
    if (link->is_missed || !link->options.news)
        return;
    link->is_missed = true;
    snprintf(text, sizeof text, "%s; waiting for it, %u s at most", err_text(),
             link->options.patience_ms / 1000);
    link->options.news(link->options.owner, text);
}

static void report_back(struct yarn_link *link)
{
    if (link->is_missed)
        link->options.news(link->options.owner, "a resource manager answers again");
    link->is_missed = false;
}

weft_err yarn_link_call(struct yarn_link *link, const char *method, const void *message,
                        const ProtobufCMessageDescriptor *descriptor, void *answer)
{
    const uint64_t begin_ns = clock_now_ns();
    const uint64_t deadline_ns = begin_ns + (uint64_t)link->options.patience_ms * NS_PER_MS;
    uint32_t pause_ms = PAUSE_FIRST_MS;
    for (size_t tried = 1;; tried++) {
        const weft_err err = call_once(link, method, message, descriptor, answer);
        if (err != WEFT_UNAVAILABLE)
            report_back(link);
        if (err == WEFT_UNAVAILABLE)
            leave_manager(link);
        else if (link->rpc && rpc_is_broken(link->rpc)) {
            rpc_close(link->rpc);
            link->rpc = NULL;
        }
        if (err != WEFT_UNAVAILABLE)
            return err;
        if (tried % link->site.count != 0)
            continue;
        const uint64_t now_ns = clock_now_ns();
        if (!link->was_reached || now_ns >= deadline_ns || interrupt_ends(deadline_ns))
            return err;
        if (now_ns - begin_ns > (uint64_t)NEWS_AFTER_MS * NS_PER_MS)
            report_missing(link);
        interrupt_sleep_ms(pause_ms);
        pause_ms = pause_ms * 2 < PAUSE_MAX_MS ? pause_ms * 2 : PAUSE_MAX_MS;
    }
}
