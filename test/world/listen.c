// Listening and connecting.
#include <stdlib.h>

#include "sys/env.h"
#include "world/net_state.h"

enum { FIRST_PORT = 30000 };

struct net_route {
    uint16_t port;
    bool is_walled;  // nothing gets there
};

static struct listener *find_listener(uint16_t port)
{
    for (struct link *at = world.listeners.next; at != &world.listeners; at = at->next)
        if (listener_of(at)->port == port)
            return listener_of(at);
    return NULL;
}

weft_err net_listen(const struct net_address *address, struct net_listener *listener)
{
    if (address->port && find_listener(address->port))
        return err_set(WEFT_ALREADY_EXISTS, "port %u is taken", address->port);
    struct listener *made = calloc(1, sizeof *made);
    ASSERT(made);
    made->process = world.running;
    made->fd = world_new_descriptor();
    made->port = address->port ? address->port : (uint16_t)(FIRST_PORT + ++world.last_port);
    list_append(&world.listeners, &made->in_world);
    *listener = (struct net_listener){.fds = {made->fd}, .count = 1, .port = made->port};
    return WEFT_OK;
}

// Connections that wait at it break.
static void refuse_waiting(const struct listener *listener)
{
    for (struct link *at = world.wires.next, *next; at != &world.wires; at = next) {
        next = at->next;
        struct wire *wire = wire_of(at);
        if (wire->to != listener)
            continue;
        wire->to = NULL;
        net_close_end(wire, LISTENER);
    }
}

static void free_listener(struct listener *listener)
{
    refuse_waiting(listener);
    list_take_out(&listener->in_world);
    free(listener);
}

void net_listener_close(struct net_listener *listener)
{
    for (struct link *at = world.listeners.next; listener->count && at != &world.listeners;
         at = at->next)
        if (listener_of(at)->fd == listener->fds[0]) {
            free_listener(listener_of(at));
            break;
        }
    *listener = (struct net_listener){0};
}

struct loop_listener *loop_listener_new(struct loop *loop, int fd, loop_accept_fn *accepted,
                                        void *owner)
{
    for (struct link *at = world.listeners.next; at != &world.listeners; at = at->next) {
        struct listener *listener = listener_of(at);
        if (listener->fd != fd)
            continue;
        listener->process = loop;
        listener->accept = accepted;
        listener->owner = owner;
        return (struct loop_listener *)(void *)listener;
    }
    world_wrong("nothing listens at descriptor %d", fd);
}

void loop_listener_free(struct loop_listener *listener)
{
    struct listener *own = (struct listener *)(void *)listener;
    own->accept = NULL;
    refuse_waiting(own);
}

weft_err net_route_open(const struct net_address *address, struct net_route **route)
{
    *route = calloc(1, sizeof **route);
    ASSERT(*route);
    (*route)->port = address->port;
    (*route)->is_walled = strcmp(address->host, "wall") == 0;
    return WEFT_OK;
}

void net_route_close(struct net_route *route)
{
    free(route);
}

weft_err net_route_connect(const struct net_route *route, uint32_t attempt, int *fd)
{
    struct listener *listener = find_listener(route->port);
    if (!listener || !listener->accept || (route->is_walled && world_chance(500)))
        return err_set(WEFT_UNAVAILABLE, "no program listens at port %u", route->port);
    struct wire *wire = net_add_wire(world.running, listener->process, route->port);
    wire->attempt = attempt;
    wire->to = route->is_walled ? NULL : listener;
    wire->ends[LISTENER].has_ended = route->is_walled;
    *fd = wire->ends[DIALER].fd;
    return WEFT_OK;
}

void net_close_listeners(const struct loop *process)
{
    for (struct link *at = world.listeners.next, *next; at != &world.listeners; at = next) {
        next = at->next;
        if (listener_of(at)->process == process)
            free_listener(listener_of(at));
    }
}
