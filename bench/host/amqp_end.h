// One end of a queue of RabbitMQ, with librabbitmq: publishing with confirms, consuming with or without
// acknowledgements. Returns on success only: failures go to `fail`.
#ifndef BENCH_HOST_AMQP_END_H
#define BENCH_HOST_AMQP_END_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Connects; the queue is made by whoever comes first.
void amqp_end_open(uint16_t port, bool is_durable, void (*fail)(const char *what));
void amqp_end_clear(void);    // drops what somebody left in the queue
void amqp_end_confirm(void);  // from here on publishing is confirmed
void amqp_end_publish(const char *element, size_t size);
void amqp_end_settle(void);              // waits until the oldest one is confirmed
void amqp_end_consume(uint16_t credit);  // 0: nothing is acknowledged
void amqp_end_take(void);                // one element; acknowledged with half of the credit
void amqp_end_acknowledge(void);         // what is left

#endif
