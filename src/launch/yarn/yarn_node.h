// yarn_node: calls to a node manager, to start and to stop a container. Thread: any; they wait for answers.
#ifndef LAUNCH_YARN_YARN_NODE_H
#define LAUNCH_YARN_YARN_NODE_H

#include "launch/yarn/yarn_words.h"

struct yarn_node_call {
    const char *host;
    uint16_t port;
    const Hadoop__Token *node_token;  // lets us in
    struct yarn_container_id container;
    uint32_t patience_ms;  // with a node manager that does not answer, or not yet
    uint32_t silence_ms;   // after which it is not waited for
};

// UNAVAILABLE: the node manager does not answer; UNAUTHENTICATED: it does not take a token; else it has refused the container.
MUST_CHECK weft_err yarn_node_start(const struct yarn_node_call *call,
                                    const Hadoop__Token *container_token,
                                    const Hadoop__LaunchContext *context);

// OK, too, if it does not run there any more.
MUST_CHECK weft_err yarn_node_stop(const struct yarn_node_call *call);

#endif
