// See amqp_end.h.

#include "amqp_end.h"

#include <amqp.h>
#include <amqp_tcp_socket.h>

enum { CHANNEL = 1, CONFIRMS_MAX = 1 << 16, FRAME_BYTES = 131072 };

static amqp_connection_state_t connection;
static void (*give_up)(const char *what);
static bool keeps;
static bool confirmed[CONFIRMS_MAX];  // by tag; a ring
static uint64_t next_tag = 1;         // the oldest that is not settled
static uint16_t credit;
static uint64_t taken_tag, acknowledged_tag;

static amqp_bytes_t name(void)
{
    return amqp_cstring_bytes(keeps ? "kept" : "transient");
}

static void must(amqp_rpc_reply_t reply, const char *what)
{
    if (reply.reply_type != AMQP_RESPONSE_NORMAL)
        give_up(what);
}

void amqp_end_open(uint16_t port, bool is_durable, void (*fail)(const char *what))
{
    give_up = fail;
    keeps = is_durable;
    connection = amqp_new_connection();
    amqp_socket_t *socket = amqp_tcp_socket_new(connection);
    if (!socket || amqp_socket_open(socket, "127.0.0.1", port))
        fail("there is no RabbitMQ");
    must(amqp_login(connection, "/", 0, FRAME_BYTES, 0, AMQP_SASL_METHOD_PLAIN, "guest", "guest"),
         "cannot log in");
    amqp_channel_open(connection, CHANNEL);
    must(amqp_get_rpc_reply(connection), "no channel");
    amqp_queue_declare(connection, CHANNEL, name(), 0, is_durable, 0, 0, amqp_empty_table);
    must(amqp_get_rpc_reply(connection), "no queue");
}

void amqp_end_clear(void)
{
    amqp_queue_purge(connection, CHANNEL, name());
    must(amqp_get_rpc_reply(connection), "cannot empty the queue");
}

void amqp_end_confirm(void)
{
    amqp_confirm_select(connection, CHANNEL);
    must(amqp_get_rpc_reply(connection), "no confirms");
}

void amqp_end_publish(const char *element, size_t size)
{
    const amqp_basic_properties_t properties = {._flags = AMQP_BASIC_DELIVERY_MODE_FLAG,
                                                .delivery_mode = keeps ? 2 : 1};
    if (amqp_basic_publish(connection, CHANNEL, amqp_empty_bytes, name(), 0, 0, &properties,
                           (amqp_bytes_t){size, (void *)(uintptr_t)element}))
        give_up("cannot publish");
}

static void take_confirm(void)
{
    amqp_frame_t frame;
    amqp_maybe_release_buffers(connection);
    if (amqp_simple_wait_frame(connection, &frame))
        give_up("no confirm came");
    if (frame.frame_type != AMQP_FRAME_METHOD || frame.payload.method.id != AMQP_BASIC_ACK_METHOD)
        return;
    const amqp_basic_ack_t *ack = frame.payload.method.decoded;
    for (uint64_t tag = ack->multiple ? next_tag : ack->delivery_tag; tag <= ack->delivery_tag;
         tag++)
        confirmed[tag % CONFIRMS_MAX] = true;
}

void amqp_end_settle(void)
{
    while (!confirmed[next_tag % CONFIRMS_MAX])
        take_confirm();
    confirmed[next_tag++ % CONFIRMS_MAX] = false;
}

void amqp_end_consume(uint16_t given)
{
    credit = given;
    if (credit) {
        amqp_basic_qos(connection, CHANNEL, 0, credit, 0);
        must(amqp_get_rpc_reply(connection), "no credit");
    }
    amqp_basic_consume(connection, CHANNEL, name(), amqp_empty_bytes, 0, credit == 0, 0,
                       amqp_empty_table);
    must(amqp_get_rpc_reply(connection), "cannot consume");
}

void amqp_end_take(void)
{
    amqp_envelope_t envelope;
    amqp_maybe_release_buffers(connection);
    must(amqp_consume_message(connection, &envelope, NULL, 0), "no element came");
    taken_tag = envelope.delivery_tag;
    amqp_destroy_envelope(&envelope);
    if (credit && taken_tag - acknowledged_tag >= (credit + 1u) / 2)
        amqp_end_acknowledge();
}

void amqp_end_acknowledge(void)
{
    if (credit && taken_tag > acknowledged_tag && amqp_basic_ack(connection, CHANNEL, taken_tag, 1))
        give_up("cannot acknowledge");
    acknowledged_tag = taken_tag;
}
