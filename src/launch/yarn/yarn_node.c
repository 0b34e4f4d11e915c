// One connection for each call: a node manager is called twice for a container, and these calls are rare.

#include "launch/yarn/yarn_node.h"

#include <stdio.h>
#include <stdlib.h>

#include "launch/yarn/yarn_message.h"
#include "sys/secure/secret.h"
#include "sys/thread/interrupt.h"
#include "sys/time/clock.h"
#include "wire/hadoop/rpc.h"

enum {
    CONNECT_MS = 5000,
    PAUSE_FIRST_MS = 100,
    PAUSE_MAX_MS = 2000,
    NS_PER_MS = 1000000,
    REASON_BYTES = 400,
};

static weft_bytes bytes_of(ProtobufCBinaryData data)
{
    return (weft_bytes){(const char *)data.data, data.len};
}

struct method {
    const char *name;
    const void *request;
    const ProtobufCMessageDescriptor *descriptor;
};

static weft_err call_once(const struct yarn_node_call *call, const struct method *method,
                          void *answer)
{
    const struct hadoop_token token = {.identifier = bytes_of(call->node_token->identifier),
                                       .password = bytes_of(call->node_token->password)};
    struct rpc_names names = {.protocol =
                                  "org.apache.hadoop.yarn.api.ContainerManagementProtocolPB"};
    struct rpc_options options = {
        .names = &names, .token = &token, .connect_ms = CONNECT_MS, .silence_ms = call->silence_ms};
    struct rpc *rpc;
    secret_random(names.client, sizeof names.client);
    snprintf(options.address.host, sizeof options.address.host, "%.255s", call->host);
    options.address.port = call->port;
    weft_err err = rpc_open(&options, &rpc);
    if (!err)
        err = rpc_call(rpc, method->name, 0, 0, method->request, method->descriptor, answer);
    rpc_close(rpc);
    return err;
}

// Again while it does not answer.
static weft_err call_node(const struct yarn_node_call *call, const struct method *method,
                          void *answer)
{
    const uint64_t deadline_ns = clock_now_ns() + (uint64_t)call->patience_ms * NS_PER_MS;
    uint32_t pause_ms = PAUSE_FIRST_MS;
    *(void **)answer = NULL;
    for (;;) {
        const weft_err err = call_once(call, method, answer);
        if (err != WEFT_UNAVAILABLE || clock_now_ns() >= deadline_ns || interrupt_ends(deadline_ns))
            return err_wrap(err, "the node manager");
        interrupt_sleep_ms(pause_ms);
        pause_ms = pause_ms * 2 < PAUSE_MAX_MS ? pause_ms * 2 : PAUSE_MAX_MS;
    }
}

// ---- Starting -----------------------------------------------------------------------------------------------------

static weft_err judge_start(const Hadoop__StartAnswer *answer)
{
    if (answer->n_failed == 0)
        return WEFT_OK;
    const Hadoop__NodeException *why = answer->failed[0]->why;
    const char *text = why && why->text ? why->text : "for no reason that it names";
    const char *exception = why && why->exception ? why->exception : "";
    struct buf line = {0};
    // An answer was lost, and the call is a repetition.
    if (strstr(text, "Attempt to relaunch the same container"))
        return WEFT_OK;
    yarn_append_line(&line, text, REASON_BYTES);
    const weft_err err = strstr(exception, "NMNotYetReadyException") ? WEFT_UNAVAILABLE
                         : strstr(exception, "InvalidToken")         ? WEFT_UNAUTHENTICATED
                                                                     : WEFT_FAILED_PRECONDITION;
    err_set(err, "the node manager has not started it: %s", buf_text(&line));
    buf_fini(&line);
    return err;
}

weft_err yarn_node_start(const struct yarn_node_call *call, const Hadoop__Token *container_token,
                         const Hadoop__LaunchContext *context)
{
    Hadoop__StartContainers request = HADOOP__START_CONTAINERS__INIT;
    Hadoop__StartContainer start = HADOOP__START_CONTAINER__INIT, *starts[] = {&start};
    const struct method method = {"startContainers", &request, &hadoop__start_answer__descriptor};
    const uint64_t deadline_ns = clock_now_ns() + (uint64_t)call->patience_ms * NS_PER_MS;
    start.context = (Hadoop__LaunchContext *)context;
    start.token = (Hadoop__Token *)container_token;
    request.containers = starts;
    request.n_containers = 1;
    for (;;) {
        Hadoop__StartAnswer *answer;
        weft_err err = call_node(call, &method, &answer);
        if (!err)
            err = judge_start(answer);
        const bool is_early = answer && err == WEFT_UNAVAILABLE;
        yarn_free(answer);
        if (!is_early || clock_now_ns() >= deadline_ns || interrupt_ends(deadline_ns))
            return err;
        interrupt_sleep_ms(PAUSE_MAX_MS / 2);
    }
}

// ---- Stopping -----------------------------------------------------------------------------------------------------

weft_err yarn_node_stop(const struct yarn_node_call *call)
{
    struct yarn_maker maker = {0};
    Hadoop__StopContainers *request = yarn_make(&maker, &hadoop__stop_containers__descriptor);
    const struct method method = {"stopContainers", request, &hadoop__stop_answer__descriptor};
    Hadoop__ContainerId *id = request ? yarn_make_next(&maker, &hadoop__container_id__descriptor,
                                                       &request->ids, &request->n_ids)
                                      : NULL;
    if (id)
        yarn_make_id(&maker, &call->container, id);
    Hadoop__StopAnswer *answer = NULL;
    const weft_err err = maker.has_failed ? err_no_memory("for a call to a node manager")
                                          : call_node(call, &method, &answer);
    yarn_free(answer);
    yarn_free(request);
    return err;
}
