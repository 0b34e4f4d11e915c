// A pipe over a transient queue of RabbitMQ: published with confirms, consumed without acknowledgements.
// PORTS: that of the server.

#include "amqp_end.h"
#include "pipe.h"

static void fail(const char *what)
{
    pipe_fail(what);
}

void carrier_prepare(void)
{
}

void carrier_open_producer(void)
{
    amqp_end_open(pipe_setup.ports[0], false, fail);
    amqp_end_confirm();
}

void carrier_push(void)
{
    amqp_end_publish(pipe_element, PIPE_ELEMENT_BYTES);
}

bool carrier_settle(void)
{
    amqp_end_settle();
    return true;
}

void carrier_open_consumer(int consumer)
{
    (void)consumer;
    amqp_end_open(pipe_setup.ports[0], false, fail);
    amqp_end_consume(0);
}

void carrier_consume(void)
{
    amqp_end_take();
}
