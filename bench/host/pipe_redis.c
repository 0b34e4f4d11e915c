// A pipe over a list of Redis by TCP, with hiredis: LPUSH, as many on the way as the window allows, and
// consumers that block in BRPOP. PORTS: that of the server.

#include <hiredis/hiredis.h>
#include <stddef.h>

#include "pipe.h"

static redisContext *redis;

static void open_end(void)
{
    redis = redisConnect("127.0.0.1", pipe_setup.ports[0]);
    if (!redis || redis->err)
        pipe_fail("there is no Redis");
}

void carrier_prepare(void)
{
}

void carrier_open_producer(void)
{
    open_end();
}

void carrier_push(void)
{
    if (redisAppendCommand(redis, "LPUSH queue %b", pipe_element, (size_t)PIPE_ELEMENT_BYTES))
        pipe_fail(redis->errstr);
}

bool carrier_settle(void)
{
    void *reply = NULL;
    if (redisGetReply(redis, &reply))
        pipe_fail(redis->errstr);
    freeReplyObject(reply);
    return true;
}

void carrier_open_consumer(int consumer)
{
    (void)consumer;
    open_end();
}

void carrier_consume(void)
{
    redisReply *reply = redisCommand(redis, "BRPOP queue 0");
    if (!reply || reply->type != REDIS_REPLY_ARRAY || reply->elements != 2)
        pipe_fail("BRPOP gave nothing");
    freeReplyObject(reply);
}
