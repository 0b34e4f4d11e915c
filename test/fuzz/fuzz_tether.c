// Fuzzes a session. The first byte says what the bytes after it are: what one side gets from a peer that has the token and lies, or steps of
// two sides that keep the rules over connections that break.
//
// Whatever arrives, a side hands on each number once, keeps no frame that was acknowledged, and never acknowledges
// one that it does not have.
#include <stdint.h>
#include <stdlib.h>

#include "transport/tether.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FRAMES = 3, KEPT_BYTES_MAX = 2000, STEPS_MAX = 2000 };

// ---- A peer that lies ---------------------------------------------------------------------------------------

static void add(struct tether *tether, size_t size, char fill)
{
    char *room;
    if (tether_add(tether, WEFT__FRAME_TYPE__FRAME_TASK_RUN, size, &room))
        err_clear();
    else
        memset(room, fill, size);
}

static void check(const struct tether *tether)
{
    ASSERT(tether->acknowledged <= tether->last);
    ASSERT(tether->kept_from <= tether->kept_sent && tether->kept_sent <= tether->kept.size);
    ASSERT((tether_kept_bytes(tether) == 0) == (tether->acknowledged == tether->last));
}

static void face_a_liar(const uint8_t *data, size_t size)
{
    struct tether tether = {0};
    struct frame_parser parser = {0};
    struct buf out = {0};
    uint64_t delivered = 0;
    bool has_frame = true;
    for (size_t i = 0; i < FRAMES; i++)
        add(&tether, i, 'x');
    tether_put_unsent(&tether, &out, SIZE_MAX, 1);
    weft_err code = frame_parser_feed(&parser, data, size);
    while (!code && has_frame) {
        struct frame frame = {0}, inner = {0};
        bool has_inner = false;
        code = frame_parser_next(&parser, &frame, &has_frame);
        if (!code && has_frame)
            code = tether_receive(&tether, &frame, &inner, &has_inner);
        ASSERT(!has_inner || inner.payload.size + TETHER_HEAD_BYTES == frame.payload.size);
        delivered += has_inner;
        ASSERT(tether.received == delivered);
        check(&tether);
    }
    tether_put_heartbeat(&tether, &out, 2);
    buf_fini(&out);
    frame_parser_fini(&parser);
    tether_fini(&tether);
    err_clear();
}

// ---- Two that keep the rules --------------------------------------------------------------------------------

struct side {
    struct tether tether;
    struct frame_parser parser;
    struct buf wire;  // on its way to the other
    uint64_t sent, got;
};

static void say(struct side *side, uint8_t how)
{
    char *room;
    const uint64_t number = side->sent + 1;
    if (tether_add(&side->tether, WEFT__FRAME_TYPE__FRAME_TASK_RUN, sizeof number + how, &room)) {
        err_clear();
        ASSERT(tether_kept_bytes(&side->tether) + how + 64 > KEPT_BYTES_MAX);
        return;
    }
    memset(room, 0, sizeof number + how);
    memcpy(room, &number, sizeof number);
    side->sent = number;
}

static void hear(struct side *side, struct side *from, size_t size)
{
    const size_t piece = size < from->wire.size ? size : from->wire.size;
    bool has_frame = true;
    ASSERT(!frame_parser_feed(&side->parser, from->wire.data, piece));
    from->wire.size -= piece;
    if (from->wire.size)
        memmove(from->wire.data, from->wire.data + piece, from->wire.size);
    while (has_frame) {
        struct frame frame = {0}, inner = {0};
        bool has_inner = false;
        ASSERT(!frame_parser_next(&side->parser, &frame, &has_frame));
        if (!has_frame)
            break;
        ASSERT(!tether_receive(&side->tether, &frame, &inner, &has_inner));
        uint64_t number = 0;
        if (has_inner)
            memcpy(&number, inner.payload.data, sizeof number);
        ASSERT(!has_inner || number == ++side->got);
    }
    check(&side->tether);
}

static void cut(struct side sides[2])
{
    for (int i = 0; i < 2; i++) {
        sides[i].wire.size = 0;
        frame_parser_fini(&sides[i].parser);
        ASSERT(!tether_resume(&sides[i].tether, sides[!i].tether.received));
    }
}

static void step(struct side sides[2], uint8_t what, uint8_t how)
{
    struct side *side = &sides[what & 1], *other = &sides[!(what & 1)];
    switch (what >> 1 & 7) {
    case 0:
    case 1:
        say(side, how);
        break;
    case 2:
        tether_put_unsent(&side->tether, &side->wire, how, 1);
        break;
    case 3:
        tether_put_heartbeat(&side->tether, &side->wire, 1);
        break;
    case 4:
        cut(sides);
        break;
    default:
        hear(side, other, how & 128 ? SIZE_MAX : how);
    }
}

static void run_steps(const uint8_t *data, size_t size)
{
    struct side sides[2] = {0};
    for (int i = 0; i < 2; i++)
        sides[i].tether.kept_bytes_max = KEPT_BYTES_MAX;
    for (size_t at = 0; at + 1 < size && at < 2 * STEPS_MAX; at += 2)
        step(sides, data[at], data[at + 1]);
    cut(sides);
    for (int i = 0; i < 2; i++)
        tether_put_unsent(&sides[i].tether, &sides[i].wire, SIZE_MAX, 1);
    for (int i = 0; i < 2; i++) {
        hear(&sides[!i], &sides[i], SIZE_MAX);
        ASSERT(sides[!i].got == sides[i].sent);
    }
    for (int i = 0; i < 2; i++) {
        tether_fini(&sides[i].tether);
        frame_parser_fini(&sides[i].parser);
        buf_fini(&sides[i].wire);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    if (data[0] & 1)
        run_steps(data + 1, size - 1);
    else
        face_a_liar(data + 1, size - 1);
    return 0;
}
