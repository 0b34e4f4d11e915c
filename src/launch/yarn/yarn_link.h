// yarn_link: calls to the active one of several resource managers. Thread: one.
#ifndef LAUNCH_YARN_YARN_LINK_H
#define LAUNCH_YARN_YARN_LINK_H

#include "launch/yarn/yarn_site.h"
#include "wire/hadoop.pb-c.h"

struct yarn_link;

// For clients, or for application masters, which need a token.
enum yarn_service { YARN_FOR_CLIENTS, YARN_FOR_MASTERS };

struct yarn_link_options {
    const struct yarn_site *site;  // copied
    enum yarn_service service;
    const char *user;      // of a client; copied
    uint32_t patience_ms;  // with resource managers that were reached and are away
    bool was_reached;      // one of them, before; else the first call has no patience
    // For people: no resource manager answers, or one does again. NULL: not called.
    void (*news)(void *owner, const char *text);
    void *owner;
};

MUST_CHECK weft_err yarn_link_new(const struct yarn_link_options *options, struct yarn_link **link);
void yarn_link_free(struct yarn_link *link);  // NULL is fine

// The token of the next connections.
MUST_CHECK weft_err yarn_link_set_token(struct yarn_link *link, const Hadoop__Token *token);

// Calls, and again while no resource manager answers, or only those on standby. UNAVAILABLE: patience is over.
// *answer is freed by yarn_free. A call may be carried out twice.
MUST_CHECK weft_err yarn_link_call(struct yarn_link *link, const char *method, const void *message,
                                   const ProtobufCMessageDescriptor *descriptor, void *answer);

const char *yarn_link_exception(const struct yarn_link *link);  // of the last failure; "": none
bool yarn_link_was_reached(const struct yarn_link *link);
// By which the resource manager sees this machine: from the last connection. False: there is none.
bool yarn_link_own_host(const struct yarn_link *link, char *host, size_t size);

#endif
