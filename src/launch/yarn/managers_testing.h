// For tests: resource managers and a node manager of our own, with the faults that real ones do not produce on demand. They are threads of the test;
// one mutex guards their state.
#ifndef LAUNCH_YARN_MANAGERS_TESTING_H
#define LAUNCH_YARN_MANAGERS_TESTING_H

#include "launch/yarn/managers_calls_testing.h"

// ---- Connections --------------------------------------------------------------------------------------------------

static const struct {
    const char *method;
    void (*serve)(weft_bytes, struct fake_answer *);
} fake_methods[] = {
    {"getNewApplication", fake_new_app},   {"submitApplication", fake_submit},
    {"getApplicationReport", fake_report}, {"forceKillApplication", fake_kill},
    {"getApplications", fake_list},        {"getClusterNodes", fake_nodes},
    {"getQueueInfo", fake_queue},          {"registerApplicationMaster", fake_register},
    {"allocate", fake_allocate},           {"finishApplicationMaster", fake_finish},
    {"startContainers", fake_start},       {"stopContainers", fake_stop},
};

static struct fake_fault *fake_find_fault(const char *method, size_t bytes)
{
    for (int i = 0; i < FAKE_FAULTS_MAX; i++) {
        struct fake_fault *fault = &fake.faults[i];
        if (!fault->method || strcmp(fault->method, method) != 0 || fault->count == 0 ||
            bytes < fault->bytes_min)
            continue;
        if (fault->skip-- > 0)
            return NULL;
        fault->skip = 0;
        fault->count--;
        return fault;
    }
    return NULL;
}

static void fake_serve_method(const char *method, weft_bytes request, struct fake_answer *answer)
{
    const struct fake_fault *fault = fake_find_fault(method, request.size);
    answer->is_lost =
        fault && (fault->kind == FAKE_LOSE_REQUEST || fault->kind == FAKE_LOSE_ANSWER);
    answer->is_silent = fault && fault->kind == FAKE_BE_SILENT;
    if (answer->is_silent || (fault && fault->kind == FAKE_LOSE_REQUEST))
        return;
    if (fault && fault->kind == FAKE_REFUSE) {
        fake_refuse(answer, fault->exception, fault->text);
        return;
    }
    for (size_t i = 0; i < sizeof fake_methods / sizeof *fake_methods; i++)
        if (strcmp(fake_methods[i].method, method) == 0)
            fake_methods[i].serve(request, answer);
}

static bool fake_receive(struct tcp *tcp, void *data, size_t size)
{
    const bool is_there = tcp_receive(tcp, data, size) == WEFT_OK;
    err_clear();
    return is_there;
}

static bool fake_receive_frame(struct tcp *tcp, struct buf *frame)
{
    char bytes[RPC_SIZE_BYTES];
    uint32_t size;
    frame->size = 0;
    if (!fake_receive(tcp, bytes, sizeof bytes) || rpc_read_size(bytes, &size) ||
        !buf_reserve(frame, size) || !fake_receive(tcp, frame->data, size))
        return false;
    frame->size = size;
    return true;
}

// One frame. False: the connection ends.
static bool fake_serve_frame(struct tcp *tcp, const struct fake_port *port, weft_bytes frame)
{
    enum { CALL_CONTEXT = -3 };
    struct fake_answer answer = {0};
    Hadoop__CallHeader *header = fake_read(&frame, &hadoop__call_header__descriptor);
    mutex_lock(&fake.mutex);
    const bool is_here = port->role == FAKE_NODE || port->manager == fake.active;
    if (is_here && header->call == RPC_CALL_SASL) {
        Hadoop__Sasl *sasl = fake_read(&frame, &hadoop__sasl__descriptor);
        if (sasl->state == 1)
            fake_negotiate(&answer);
        else
            fake_log_in(port->role, sasl, &answer);
        yarn_free(sasl);
    } else if (is_here && header->call >= 0) {
        Hadoop__CallName *name = fake_read(&frame, &hadoop__call_name__descriptor);
        fake_serve_method(name->method, frame, &answer);
        yarn_free(name);
    }
    mutex_unlock(&fake.mutex);
    const bool is_good = is_here && !answer.is_lost;
    if (is_good && !answer.is_silent && header->call != CALL_CONTEXT)
        fake_send(tcp, (uint32_t)header->call, &answer);
    yarn_free(header);
    buf_fini(&answer.message);
    return is_good && !answer.is_fatal;
}

struct fake_connection {
    const struct fake_port *port;
    int fd;
    size_t index;
};

static void fake_serve(void *owner)
{
    const struct fake_connection connection = *(struct fake_connection *)owner;
    struct buf frame = {0};
    struct tcp *tcp;
    char hello[7];
    free(owner);
    if (tcp_adopt(connection.fd, "a test", FAKE_SILENCE_MS, &tcp))
        abort();
    if (fake_receive(tcp, hello, sizeof hello))
        while (fake_receive_frame(tcp, &frame) &&
               fake_serve_frame(tcp, connection.port, buf_bytes(&frame)))
            continue;
    mutex_lock(&fake.mutex);
    fake.fds[connection.index] = -1;
    mutex_unlock(&fake.mutex);
    tcp_close(tcp);
    buf_fini(&frame);
}

static void fake_accept(void *owner)
{
    const struct fake_port *port = owner;
    for (int fd; (fd = accept4(port->fd, NULL, NULL, SOCK_CLOEXEC)) >= 0;) {
        struct fake_connection *connection = malloc(sizeof *connection);
        mutex_lock(&fake.mutex);
        const size_t index = fake.connections++;
        if (!connection || index == FAKE_CONNECTIONS_MAX)
            abort();
        *connection = (struct fake_connection){port, fd, index};
        fake.fds[index] = fd;
        if (thread_start(&fake.threads[index], fake_serve, connection, FAKE_STACK_BYTES))
            abort();
        mutex_unlock(&fake.mutex);
    }
}

// ---- The beginning and the end ------------------------------------------------------------------------------------

static void fake_listen(struct fake_port *port)
{
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof here;
    port->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(port->fd, (struct sockaddr *)&here, size), 0);
    assert_int_equal(listen(port->fd, 50), 0);
    assert_int_equal(getsockname(port->fd, (struct sockaddr *)&here, &size), 0);
    port->port = ntohs(here.sin_port);
    assert_int_equal(thread_start(&port->thread, fake_accept, port, FAKE_STACK_BYTES), WEFT_OK);
}

static struct net_address fake_address(const struct fake_port *port)
{
    struct net_address address = {.port = port->port};
    strcpy(address.host, "127.0.0.1");
    return address;
}

// Two resource managers, the first of which is active, with a node of that many containers.
static struct yarn_site fake_begin(int32_t free)
{
    struct yarn_site site = {.count = FAKE_MANAGERS};
    memset(&fake, 0, sizeof fake);
    mutex_init(&fake.mutex);
    fake.free = free;
    for (int i = 0; i < FAKE_PORTS; i++) {
        struct fake_port *port = &fake.ports[i];
        port->role = i == FAKE_PORTS - 1 ? FAKE_NODE : i % 2 ? FAKE_MASTERS : FAKE_CLIENTS;
        port->manager = i / 2;
        fake_listen(port);
    }
    for (int i = 0; i < FAKE_MANAGERS; i++) {
        site.managers[i].client = fake_address(&fake.ports[2 * i]);
        site.managers[i].scheduler = fake_address(&fake.ports[2 * i + 1]);
    }
    return site;
}

// Breaks all connections.
static inline void fake_cut(void)
{
    mutex_lock(&fake.mutex);
    for (size_t i = 0; i < fake.connections; i++)
        if (fake.fds[i] >= 0)
            shutdown(fake.fds[i], SHUT_RDWR);
    mutex_unlock(&fake.mutex);
}

static void fake_end(void)
{
    for (int i = 0; i < FAKE_PORTS; i++) {
        shutdown(fake.ports[i].fd, SHUT_RDWR);
        thread_join(&fake.ports[i].thread);
        close(fake.ports[i].fd);
    }
    fake_cut();
    for (size_t i = 0; i < fake.connections; i++)
        thread_join(&fake.threads[i]);
    buf_fini(&fake.last_answer);
    yarn_free(fake.submission);
    mutex_fini(&fake.mutex);
}

// The resource manager is killed; another one, or the same again, knows what node managers report to it, and nothing of masters.
static inline void fake_restart(int active)
{
    mutex_lock(&fake.mutex);
    fake.active = active;
    fake.life++;
    fake.is_registered = false;
    memset(fake.counts, 0, sizeof fake.counts);
    for (int i = 0; i < FAKE_CONTAINERS_MAX; i++)
        if (fake.containers[i].is_there && !fake.containers[i].is_started) {
            fake.containers[i].is_there = false;
            fake.free++;
        }
    mutex_unlock(&fake.mutex);
    fake_cut();
}

static inline void fake_end_container(int64_t number, int32_t status, const char *diagnostics)
{
    mutex_lock(&fake.mutex);
    struct fake_container *one = &fake.containers[number];
    one->has_ended = true;
    one->status = status;
    snprintf(one->diagnostics, sizeof one->diagnostics, "%s", diagnostics);
    mutex_unlock(&fake.mutex);
}

static inline void fake_add_fault(const struct fake_fault *fault)
{
    mutex_lock(&fake.mutex);
    for (int i = 0; i < FAKE_FAULTS_MAX; i++)
        if (fake.faults[i].count == 0) {
            fake.faults[i] = *fault;
            break;
        }
    mutex_unlock(&fake.mutex);
}

#endif
