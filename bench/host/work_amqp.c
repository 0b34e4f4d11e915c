// Work at a queue of RabbitMQ. PORTS: that of the server. Half of the window is acknowledged at once, which
// saves it messages.

#include "amqp_end.h"
#include "work.h"

static void fail(const char *what)
{
    work_fail(what);
}

void broker_open(void)
{
    amqp_end_open(work_setup.ports[0], work_setup.is_kept, fail);
    amqp_end_clear();
    amqp_end_confirm();
}

void broker_push(void)
{
    amqp_end_publish(work_element, WORK_ELEMENT_BYTES);
}

void broker_settle(void)
{
    amqp_end_settle();
}

void broker_open_takes(void)
{
    amqp_end_consume((uint16_t)work_setup.window);
}

void broker_take(bool adds_one)
{
    if (adds_one)
        work_fail("RabbitMQ has no numbers");
    amqp_end_take();
}

void broker_close(void)
{
    amqp_end_acknowledge();
}
