// A host on a free port in a thread of its own, for tests, and calls to it.
#ifndef HOST_SERVER_TESTING_H
#define HOST_SERVER_TESTING_H

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cluster/peer.h"
#include "host/server.h"
#include "sys/thread/thread.h"

static const struct secret testing_token = {.bytes = "0123456789abcdef", .size = 16};

struct testing_server {
    struct host_server_options options;
    struct net_listener listener;
    struct loop *loop;
    struct thread thread;
    struct host_server *server;
    bool is_stopping;  // set before the loop is woken
    char host[64];     // where it listens; empty: 127.0.0.1
    char said[4096];   // all its sentences; read it when it is stopped
};

static inline void testing_stop(void *owner)
{
    struct testing_server *scene = owner;
    if (scene->is_stopping)
        loop_stop(scene->loop);
}

static inline void testing_say(void *owner, const char *sentence)
{
    struct testing_server *scene = owner;
    const size_t size = strlen(scene->said);
    snprintf(scene->said + size, sizeof scene->said - size, "%s\n", sentence);
}

static inline void testing_run(void *owner)
{
    struct testing_server *scene = owner;
    loop_run(scene->loop);
}

// The port is the same again after server_stop.
static inline void server_start(struct testing_server *scene)
{
    struct net_address address = {.port = scene->listener.port};
    if (!scene->host[0])
        strcpy(scene->host, "127.0.0.1");
    strcpy(address.host, scene->host);
    assert_int_equal(net_listen(&address, &scene->listener), WEFT_OK);
    scene->loop = loop_new(testing_stop, scene);
    assert_non_null(scene->loop);
    scene->options.member = "/files/0";
    scene->options.listener = &scene->listener;
    scene->options.token = &testing_token;
    scene->options.say = testing_say;
    scene->options.owner = scene;
    assert_int_equal(host_server_new(&scene->server, scene->loop, &scene->options), WEFT_OK);
    assert_int_equal(thread_start(&scene->thread, testing_run, scene, 0), WEFT_OK);
}

static inline void server_stop(struct testing_server *scene)
{
    const uint16_t port = scene->listener.port;
    scene->is_stopping = true;
    loop_wake(scene->loop);
    thread_join(&scene->thread);
    host_server_free(scene->server);
    loop_free(scene->loop);
    net_listener_close(&scene->listener);
    scene->listener.port = port;
    scene->is_stopping = false;
}

static inline struct peer_options testing_peer_options(const struct testing_server *scene,
                                                       const char *member)
{
    static uint64_t incarnation;
    struct peer_options options = {
        .address = {.port = scene->listener.port},
        .host = "/files/0",
        .member = member,
        .incarnation = ++incarnation,
        .token = &testing_token,
        .patience_ms = 10000,
    };
    strcpy(options.address.host, scene->host);
    return options;
}

static inline struct peer *testing_peer(const struct testing_server *scene, const char *member)
{
    const struct peer_options options = testing_peer_options(scene, member);
    struct peer *peer = peer_new(&options);
    assert_non_null(peer);
    return peer;
}

// An address of this machine by which others know it, too: TLS is spoken there. False: it has none.
static inline bool testing_find_address(char host[64])
{
    struct ifaddrs *all = NULL;
    bool has_found = false;
    assert_int_equal(getifaddrs(&all), 0);
    for (const struct ifaddrs *at = all; at && !has_found; at = at->ifa_next) {
        if (!at->ifa_addr || at->ifa_addr->sa_family != AF_INET || at->ifa_flags & IFF_LOOPBACK)
            continue;
        const struct sockaddr_in *address = (const struct sockaddr_in *)(void *)at->ifa_addr;
        has_found = inet_ntop(AF_INET, &address->sin_addr, host, 64);
    }
    freeifaddrs(all);
    return has_found;
}

// Asks for the resource `r`; its handle.
static inline uint16_t testing_open(struct peer *peer, enum call_kind kind)
{
    const char name[] = {(char)kind, 0, 0, 1, 0, 'r'};
    uint16_t handle;
    uint32_t life;
    assert_int_equal(peer_new_handle(peer, &handle, &life), WEFT_OK);
    const struct peer_ask ask = {.op = CALL_OPEN, .handle = handle, .parts = {{name, sizeof name}}};
    struct peer_call call = {0};
    assert_int_equal(peer_ask(peer, &ask, &call, UINT64_MAX), WEFT_OK);
    peer_call_fini(&call);
    return handle;
}

// All answers of the host so far are here then.
static inline void testing_ping(struct peer *peer)
{
    const struct peer_ask ask = {.op = CALL_PING};
    struct peer_call call = {0};
    assert_int_equal(peer_ask(peer, &ask, &call, UINT64_MAX), WEFT_OK);
    peer_call_fini(&call);
}

#endif
