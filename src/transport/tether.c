// Numbering, keeping, acknowledging: the same code for both ends.

#include "transport/tether.h"

#include <inttypes.h>

// Kept frames move to the front of their buffer only when many bytes before them are free.
enum { FRONT_BYTES = 64 << 10, IDLE_BYTES_MAX = 64 << 10, HEADER = FRAME_HEADER_BYTES };

void tether_fini(struct tether *tether)
{
    buf_fini(&tether->kept);
}

// ---- Sending ------------------------------------------------------------------------------------------------

static void put_head(char *to, uint64_t received, uint64_t sequence)
{
    memcpy(to, &received, 8);
    memcpy(to + 8, &sequence, 8);
}

static weft_err check_room(const struct tether *tether, size_t size)
{
    const size_t kept = tether_kept_bytes(tether);
    const size_t limit = tether->kept_bytes_max ? tether->kept_bytes_max : TETHER_KEPT_BYTES_MAX;
    if (size > TETHER_PAYLOAD_BYTES_MAX)
        return err_set(WEFT_RESOURCE_EXHAUSTED, "a message of %zu bytes is too large, at most %d",
                       size, TETHER_PAYLOAD_BYTES_MAX);
    if (kept && kept + HEADER + TETHER_HEAD_BYTES + size > limit)
        return err_set(WEFT_RESOURCE_EXHAUSTED,
                       "the other side has not acknowledged %zu bytes of messages, at most %zu may "
                       "wait for it",
                       kept, limit);
    return WEFT_OK;
}

weft_err tether_add(struct tether *tether, Weft__FrameType type, size_t size, char **room)
{
    const weft_err code = check_room(tether, size);
    if (code)
        return code;
    struct buf *kept = &tether->kept;
    char *to = buf_reserve(kept, HEADER + TETHER_HEAD_BYTES + size);
    if (!to) {
        kept->has_failed = false;  // the other frames are whole
        return err_no_memory("for a message of %zu bytes", size);
    }
    const uint32_t number = (uint32_t)type;
    frame_encode_header((uint8_t *)to, WEFT__FRAME_TYPE__FRAME_NUMBERED, TETHER_HEAD_BYTES + size);
    put_head(to + HEADER, 0, ++tether->last);
    memcpy(to + HEADER + TETHER_HEARTBEAT_BYTES, &number, 4);
    kept->size += HEADER + TETHER_HEAD_BYTES + size;
    *room = to + HEADER + TETHER_HEAD_BYTES;
    return WEFT_OK;
}

size_t tether_kept_bytes(const struct tether *tether)
{
    return tether->kept.size - tether->kept_from;
}

size_t tether_unsent_bytes(const struct tether *tether)
{
    return tether->kept.size - tether->kept_sent;
}

static size_t size_at(const struct tether *tether, size_t at)
{
    uint32_t size;
    memcpy(&size, tether->kept.data + at, sizeof size);
    return HEADER + size;
}

static uint64_t sequence_at(const struct tether *tether, size_t at)
{
    uint64_t sequence;
    memcpy(&sequence, tether->kept.data + at + HEADER + 8, sizeof sequence);
    return sequence;
}

static void acknowledge(struct tether *tether)
{
    tether->unacknowledged_bytes = 0;
}

void tether_put_unsent(struct tether *tether, struct buf *out, size_t bytes_max, uint64_t now_ms)
{
    while (tether_unsent_bytes(tether) && out->size <= bytes_max) {
        const size_t size = size_at(tether, tether->kept_sent);
        char *frame = tether->kept.data + tether->kept_sent;
        memcpy(frame + HEADER, &tether->received, 8);
        buf_append(out, frame, size);
        tether->kept_sent += size;
        tether->spoke_ms = now_ms;
        acknowledge(tether);
    }
}

void tether_put_heartbeat(struct tether *tether, struct buf *out, uint64_t now_ms)
{
    char frame[HEADER + TETHER_HEARTBEAT_BYTES];
    frame_encode_header((uint8_t *)frame, WEFT__FRAME_TYPE__FRAME_NUMBERED, TETHER_HEARTBEAT_BYTES);
    put_head(frame + HEADER, tether->received, 0);
    buf_append(out, frame, sizeof frame);
    tether->spoke_ms = now_ms;
    acknowledge(tether);
}

bool tether_is_heartbeat_due(const struct tether *tether, uint64_t now_ms)
{
    return now_ms - tether->spoke_ms >= TETHER_HEARTBEAT_MS ||
           tether->unacknowledged_bytes >= TETHER_ACKNOWLEDGE_BYTES;
}

// ---- Acknowledged -------------------------------------------------------------------------------------------

static void compact(struct tether *tether)
{
    struct buf *kept = &tether->kept;
    const size_t left = tether_kept_bytes(tether);
    if (left && (tether->kept_from < FRONT_BYTES || left > tether->kept_from))
        return;
    if (left)
        memmove(kept->data, kept->data + tether->kept_from, left);
    kept->size = left;
    tether->kept_sent -= tether->kept_from;
    tether->kept_from = 0;
    if (!left && kept->capacity > IDLE_BYTES_MAX)
        buf_fini(kept);
}

static weft_err forget(struct tether *tether, uint64_t received)
{
    if (received < tether->acknowledged || received > tether->last)
        return err_set(WEFT_DATA_LOSS,
                       "it acknowledges message %" PRIu64 ", after %" PRIu64 ", of %" PRIu64,
                       received, tether->acknowledged, tether->last);
    while (tether->kept_from < tether->kept.size &&
           sequence_at(tether, tether->kept_from) <= received)
        tether->kept_from += size_at(tether, tether->kept_from);
    if (tether->kept_sent < tether->kept_from)
        tether->kept_sent = tether->kept_from;
    tether->acknowledged = received;
    compact(tether);
    return WEFT_OK;
}

weft_err tether_resume(struct tether *tether, uint64_t their_received)
{
    const weft_err code = forget(tether, their_received);
    tether->kept_sent = tether->kept_from;
    return code;
}

// ---- Receiving ----------------------------------------------------------------------------------------------

weft_err tether_receive(struct tether *tether, const struct frame *frame, struct frame *inner,
                        bool *has_inner)
{
    uint64_t received, sequence;
    uint32_t type;
    weft_bytes payload = frame->payload;
    *has_inner = false;
    if (frame->type != WEFT__FRAME_TYPE__FRAME_NUMBERED || payload.size < TETHER_HEARTBEAT_BYTES)
        return err_set(WEFT_DATA_LOSS, "it sent a frame of type %d that is not part of a session",
                       (int)frame->type);
    memcpy(&received, payload.data, 8);
    memcpy(&sequence, payload.data + 8, 8);
    const bool is_heartbeat = payload.size == TETHER_HEARTBEAT_BYTES;
    if (is_heartbeat ? sequence != 0 : payload.size < TETHER_HEAD_BYTES || sequence == 0)
        return err_set(WEFT_DATA_LOSS, "it sent a message that is cut");
    const weft_err code = forget(tether, received);
    if (code || is_heartbeat)
        return code;
    if (sequence > tether->received + 1)
        return err_set(WEFT_DATA_LOSS, "message %" PRIu64 " came after %" PRIu64, sequence,
                       tether->received);
    tether->unacknowledged_bytes += payload.size;
    if (sequence <= tether->received)
        return WEFT_OK;  // we have it
    tether->received = sequence;
    memcpy(&type, payload.data + TETHER_HEARTBEAT_BYTES, 4);
    inner->type = (Weft__FrameType)type;
    inner->payload =
        (weft_bytes){payload.data + TETHER_HEAD_BYTES, payload.size - TETHER_HEAD_BYTES};
    *has_inner = true;
    return WEFT_OK;
}

// ---- Liveness -----------------------------------------------------------------------------------------------

bool tether_hear(struct tether *tether, uint64_t now_ms)
{
    const bool is_back = tether->state == TETHER_SUSPECT;
    tether->heard_ms = now_ms;
    if (is_back)
        tether->state = TETHER_HERE;
    return is_back;
}

bool tether_tick(struct tether *tether, uint64_t now_ms)
{
    const uint64_t silent_ms = now_ms - tether->heard_ms;
    const enum tether_state before = tether->state;
    if (before == TETHER_LOST || silent_ms < TETHER_SUSPECT_MS)
        return false;
    tether->state = silent_ms < TETHER_LOST_MS ? TETHER_SUSPECT : TETHER_LOST;
    return tether->state != before;
}
