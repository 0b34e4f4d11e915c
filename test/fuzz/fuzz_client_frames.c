// Fuzzes what a server hears from a client: a stream of frames to a far agent. Whatever comes, the owner's calls keep their order: ready
// once in each life, messages and a goodbye only after it, and a loss ends the life.
//
// The first byte is how many slots the client announced.
#include <stdlib.h>

#include "run/driver/agent/far_agent.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct agent agent;
static struct far_agent far;
static bool is_up, is_over;

static void on_ready(void *owner, weft_err code)
{
    (void)owner;
    ASSERT(code == WEFT_OK && !is_up);
    is_up = true;
    // Half of the lives have nothing to do.
    if (far.slot_count & 1)
        ASSERT(agent_release(&agent) == WEFT_OK);
}

static void on_silent(void *owner)
{
    (void)owner;
    abort();  // only the client's agent knows of that
}

static bool on_message(void *owner, Weft__FrameType type, ProtobufCMessage *message)
{
    (void)owner;
    ASSERT(is_up && message && type != WEFT__FRAME_TYPE__FRAME_HELLO);
    return false;
}

static void on_wrong(void *owner, const char *what)
{
    (void)owner, (void)what;
}

static void on_left(void *owner)
{
    (void)owner;
    ASSERT(is_up && (far.slot_count & 1));
}

static void on_late(void *owner, const struct agent_attempt *at, bool is_record)
{
    (void)owner, (void)is_record;
    ASSERT(at);
}

static void on_lost(void *owner, const struct agent_loss *loss)
{
    (void)owner;
    uint64_t sum = 0;
    ASSERT(loss->inside_count <= far.slot_count && !far.is_started);
    for (uint32_t i = 0; i < loss->inside_count; i++)
        sum += loss->inside[i].task;
    char how[128];
    process_describe_exit(loss->exit, how, sizeof how);
    ASSERT(sum < UINT64_MAX && (loss->code == WEFT_OK || weft_err_name(loss->code)[0]));
    is_up = false;
    is_over = true;
}

// Half of them leave, and are asked for their work.
static void on_offered(void *owner, const Weft__ClientOffer *offer)
{
    (void)owner;
    ASSERT(offer && far.has_offered == offer->is_last);
}

static weft_err on_wrote(void *owner, const Weft__PartWritten *written)
{
    (void)owner;
    return written->code ? err_set(WEFT_INTERNAL, "a part that failed") : WEFT_OK;
}

static void on_leaving(void *owner)
{
    (void)owner;
    if (far.slot_count & 2)
        ASSERT(agent_ask_work(&agent) == WEFT_OK);
}

static weft_err on_taken(void *owner, const Weft__ClientTaken *taken)
{
    (void)owner;
    return taken->number ? WEFT_OK : err_set(WEFT_INTERNAL, "work that it was not asked for");
}

static void on_gone(void *owner)
{
    (void)owner;
    ASSERT(!far.peer && !far.is_started);
}

static const struct agent_calls calls = {
    .ready = on_ready,
    .silent = on_silent,
    .message = on_message,
    .wrong = on_wrong,
    .left = on_left,
    .late = on_late,
    .offered = on_offered,
    .wrote = on_wrote,
    .leaving = on_leaving,
    .taken = on_taken,
    .lost = on_lost,
    .gone = on_gone,
};

// A client without a connection: what it is sent goes nowhere.
static void begin_life(void)
{
    ASSERT(agent_start(&agent, -1) == WEFT_OK);
    far.is_started = true;
    is_over = false;
}

static void eat(const uint8_t *data, size_t size)
{
    struct frame_parser parser = {0};
    struct frame frame = {0};
    bool has_frame = false;
    weft_err code = frame_parser_feed(&parser, data, size);
    while (code == WEFT_OK) {
        code = frame_parser_next(&parser, &frame, &has_frame);
        if (code != WEFT_OK || !has_frame)
            break;
        err_clear();
        code = far_agent_take(&far, &frame);
        ASSERT(code == WEFT_OK || err_text()[0]);
        if (code == WEFT_OK && is_over)
            begin_life();
    }
    frame_parser_fini(&parser);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    far = (struct far_agent){.slot_count = data[0] % SLOTS_MAX + 1u};
    is_up = false;
    const struct agent_options options = {.far = &far, .calls = &calls};
    agent_init(&agent, &options);
    begin_life();
    eat(data + 1, size - 1);
    struct agent_figures figures;
    agent_read_figures(&agent, &figures);
    far_agent_detach(&far, err_set(WEFT_UNAVAILABLE, "it was silent for 10 s"));
    agent_fini(&agent);
    return 0;
}
