// A pipe over ZeroMQ's PUSH and PULL by TCP: the producer listens, there is no broker, and nobody
// acknowledges. PORTS: one.

#include <stdio.h>
#include <zmq.h>

#include "pipe.h"

static void *zmq_end;

static void open_end(int type)
{
    zmq_end = zmq_socket(zmq_ctx_new(), type);
    char address[64];
    snprintf(address, sizeof address, "tcp://127.0.0.1:%u", pipe_setup.ports[0]);
    if (!zmq_end ||
        (type == ZMQ_PUSH ? zmq_bind(zmq_end, address) : zmq_connect(zmq_end, address)) != 0)
        pipe_fail(zmq_strerror(zmq_errno()));
}

void carrier_prepare(void)
{
}

void carrier_open_producer(void)
{
    open_end(ZMQ_PUSH);
}

void carrier_push(void)
{
    if (zmq_send(zmq_end, pipe_element, PIPE_ELEMENT_BYTES, 0) != PIPE_ELEMENT_BYTES)
        pipe_fail(zmq_strerror(zmq_errno()));
}

bool carrier_settle(void)
{
    return false;
}

void carrier_open_consumer(int consumer)
{
    (void)consumer;
    open_end(ZMQ_PULL);
}

void carrier_consume(void)
{
    char element[PIPE_ELEMENT_BYTES];
    if (zmq_recv(zmq_end, element, sizeof element, 0) != PIPE_ELEMENT_BYTES)
        pipe_fail(zmq_strerror(zmq_errno()));
}
