// Fuzzes the frames between a launcher and its agent, of both sides, fed in pieces of any size: whatever is read keeps the
// promises of launch/far/far_frames.h, on which both sides build.
#include "launch/far/far_frames.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MEMBERS = 5 };

static void check_launcher(Weft__FrameType type, const ProtobufCMessage *message)
{
    if (type == WEFT__FRAME_TYPE__FRAME_AGENT_START) {
        const Weft__AgentStart *start = (const Weft__AgentStart *)message;
        ASSERT(start->member < MEMBERS && start->n_arguments > 0 && *start->arguments[0]);
        for (size_t i = 0; i < start->n_environment; i++)
            ASSERT(strchr(start->environment[i], '=') > start->environment[i]);
    } else if (type == WEFT__FRAME_TYPE__FRAME_AGENT_FILE) {
        const Weft__AgentFile *file = (const Weft__AgentFile *)message;
        ASSERT(file->hash.len == FAR_HASH_BYTES && file->target[0] != '/' &&
               !strstr(file->target, "/../"));
        ASSERT(strncmp(file->target, "../", 3) != 0 && strcmp(file->target, "..") != 0);
    } else if (type == WEFT__FRAME_TYPE__FRAME_AGENT_PIECE) {
        const size_t piece = ((const Weft__AgentPiece *)message)->data.len;
        ASSERT(piece > 0 && piece <= FAR_PIECE_BYTES_MAX);
    } else if (type == WEFT__FRAME_TYPE__FRAME_AGENT_RESERVE) {
        const Weft__AgentReserve *reserve = (const Weft__AgentReserve *)message;
        ASSERT(reserve->member < MEMBERS && reserve->count >= 1 && reserve->count <= FAR_PORTS_MAX);
    }
}

static void check_agent(Weft__FrameType type, const ProtobufCMessage *message)
{
    if (type == WEFT__FRAME_TYPE__FRAME_AGENT_RESERVED) {
        const Weft__AgentReserved *reserved = (const Weft__AgentReserved *)message;
        ASSERT(reserved->member < MEMBERS && reserved->n_ports <= FAR_PORTS_MAX);
        for (size_t i = 0; i < reserved->n_ports; i++)
            ASSERT(reserved->ports[i] >= 1 && reserved->ports[i] <= UINT16_MAX);
    } else if (type == WEFT__FRAME_TYPE__FRAME_AGENT_OUTPUT) {
        const Weft__AgentOutput *output = (const Weft__AgentOutput *)message;
        ASSERT(output->member < MEMBERS && output->data.len <= FAR_OUTPUT_BYTES_MAX);
    } else if (type == WEFT__FRAME_TYPE__FRAME_AGENT_ENDED) {
        ASSERT(((const Weft__AgentEnded *)message)->member < MEMBERS);
    } else if (type == WEFT__FRAME_TYPE__FRAME_AGENT_WELCOME) {
        const Weft__AgentWelcome *welcome = (const Weft__AgentWelcome *)message;
        ASSERT(*welcome->address && *welcome->directory == '/');
        if (far_check_version("host", welcome->wire_version, welcome->version))
            ASSERT(*err_text());
    }
}

static void read_stream(const uint8_t *data, size_t size, size_t piece, enum far_side from)
{
    struct frame_parser parser = {.payload_bytes_max = FAR_FRAME_BYTES_MAX};
    weft_err err = WEFT_OK;
    for (size_t at = 0; at < size && !err; at += piece) {
        bool has_frame = true;
        err = frame_parser_feed(&parser, data + at, size - at < piece ? size - at : piece);
        while (!err && has_frame) {
            struct frame frame = {0};
            ProtobufCMessage *message = NULL;
            err = frame_parser_next(&parser, &frame, &has_frame);
            if (err || !has_frame)
                break;
            err = far_read_frame(&frame, from, MEMBERS, &message);
            ASSERT(!err || !message);
            if (message)
                (from == FAR_AGENT ? check_agent : check_launcher)(frame.type, message);
            message_free(message);
        }
    }
    frame_parser_fini(&parser);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const size_t piece = size ? (size_t)data[0] + 1 : 1;  // the first byte says how it is cut
    for (int side = 0; size && side < 2; side++)
        read_stream(data + 1, size - 1, piece, side ? FAR_AGENT : FAR_LAUNCHER);
    return 0;
}
