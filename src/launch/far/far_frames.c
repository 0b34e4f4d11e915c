// far_frames: one table of frames, with the side that sends each and the rules of its fields.

#include "launch/far/far_frames.h"

#include <string.h>

typedef bool check_fn(const ProtobufCMessage *message);

static bool is_text(const char *text)
{
    return text && strnlen(text, FAR_TEXT_BYTES_MAX + 1) <= FAR_TEXT_BYTES_MAX;
}

bool far_is_target(const char *path)
{
    if (!is_text(path) || !*path)
        return false;
    while (*path) {
        const size_t size = strcspn(path, "/");
        const bool is_dots = (size == 1 && path[0] == '.') || (size == 2 && !memcmp(path, "..", 2));
        if (size == 0 || is_dots || (path[size] == '/' && !path[size + 1]))
            return false;
        path += size + (path[size] == '/');
    }
    return true;
}

static bool check_hello(const ProtobufCMessage *message)
{
    const Weft__AgentHello *hello = (const Weft__AgentHello *)message;
    bool is_right = is_text(hello->version) && is_text(hello->token) &&
                    hello->member_count <= FAR_MEMBERS_MAX && hello->n_keep <= FAR_WORDS_MAX;
    for (size_t i = 0; is_right && i < hello->n_keep; i++)
        is_right = is_text(hello->keep[i]);
    return is_right;
}

static bool check_welcome(const ProtobufCMessage *message)
{
    const Weft__AgentWelcome *welcome = (const Weft__AgentWelcome *)message;
    return is_text(welcome->version) && is_text(welcome->host) && is_text(welcome->address) &&
           is_text(welcome->directory) && is_text(welcome->interface) && *welcome->address &&
           *welcome->directory == '/';
}

static bool check_failed(const ProtobufCMessage *message)
{
    return is_text(((const Weft__AgentFailed *)message)->text);
}

static bool check_reserve(const ProtobufCMessage *message)
{
    const uint32_t count = ((const Weft__AgentReserve *)message)->count;
    return count >= 1 && count <= FAR_PORTS_MAX;
}

static bool check_reserved(const ProtobufCMessage *message)
{
    const Weft__AgentReserved *reserved = (const Weft__AgentReserved *)message;
    bool is_right = is_text(reserved->text) && reserved->n_ports <= FAR_PORTS_MAX &&
                    (reserved->code != 0) == (reserved->n_ports == 0);
    for (size_t i = 0; is_right && i < reserved->n_ports; i++)
        is_right = reserved->ports[i] >= 1 && reserved->ports[i] <= UINT16_MAX;
    return is_right;
}

static bool check_file(const ProtobufCMessage *message)
{
    const Weft__AgentFile *file = (const Weft__AgentFile *)message;
    return file->number < FAR_FILES_MAX && file->hash.len == FAR_HASH_BYTES &&
           file->size <= INT64_MAX && far_is_target(file->target);
}

static bool check_file_state(const ProtobufCMessage *message)
{
    const Weft__AgentFileState *state = (const Weft__AgentFileState *)message;
    return state->number < FAR_FILES_MAX && is_text(state->text) &&
           !(state->code && state->is_there);
}

static bool check_piece(const ProtobufCMessage *message)
{
    const Weft__AgentPiece *piece = (const Weft__AgentPiece *)message;
    return piece->number < FAR_FILES_MAX && piece->data.len >= 1 &&
           piece->data.len <= FAR_PIECE_BYTES_MAX;
}

static bool check_start(const ProtobufCMessage *message)
{
    const Weft__AgentStart *start = (const Weft__AgentStart *)message;
    bool is_right = start->n_arguments >= 1 && start->n_arguments <= FAR_WORDS_MAX &&
                    start->n_environment <= FAR_WORDS_MAX && is_text(start->directory) &&
                    *start->arguments[0] && start->archive <= FAR_FILES_MAX;
    for (size_t i = 0; is_right && i < start->n_environment; i++) {
        const char *equals = strchr(start->environment[i], '=');
        is_right = equals && equals > start->environment[i];
    }
    return is_right;
}

static bool check_started(const ProtobufCMessage *message)
{
    const Weft__AgentStarted *started = (const Weft__AgentStarted *)message;
    return is_text(started->text) && (started->code != 0) == (started->pid == 0) &&
           started->pid <= INT32_MAX;
}

static bool check_signal(const ProtobufCMessage *message)
{
    const uint32_t number = ((const Weft__AgentSignal *)message)->signal;
    return number >= 1 && number <= 64;
}

static bool check_output(const ProtobufCMessage *message)
{
    const size_t size = ((const Weft__AgentOutput *)message)->data.len;
    return size >= 1 && size <= FAR_OUTPUT_BYTES_MAX;
}

static bool check_credit(const ProtobufCMessage *message)
{
    const uint32_t bytes = ((const Weft__AgentCredit *)message)->bytes;
    return bytes >= 1 && bytes <= FAR_WINDOW_BYTES + FAR_EXCESS_BYTES_MAX;
}

static bool check_ended(const ProtobufCMessage *message)
{
    const Weft__AgentEnded *ended = (const Weft__AgentEnded *)message;
    return ended->number <= 255 && (ended->is_known || !ended->was_signalled);
}

// `member` is where its number is in the message, 0: it has none.
static const struct rule {
    Weft__FrameType type;
    unsigned from;  // 1 << side
    const ProtobufCMessageDescriptor *descriptor;
    size_t member;
    check_fn *check;
} rules[] = {
#define RULE(NAME, side, name, Name, member)                                                       \
    {                                                                                              \
        WEFT__FRAME_TYPE__FRAME_AGENT_##NAME, 1 << (side), &weft__agent_##name##__descriptor,      \
            member, check_##name                                                                   \
    }
#define MEMBER(Name) offsetof(Weft__Agent##Name, member)
    RULE(HELLO, FAR_LAUNCHER, hello, Hello, 0),
    RULE(WELCOME, FAR_AGENT, welcome, Welcome, 0),
    RULE(FAILED, FAR_AGENT, failed, Failed, 0),
    RULE(RESERVE, FAR_LAUNCHER, reserve, Reserve, MEMBER(Reserve)),
    RULE(RESERVED, FAR_AGENT, reserved, Reserved, MEMBER(Reserved)),
    RULE(FILE, FAR_LAUNCHER, file, File, 0),
    RULE(FILE_STATE, FAR_AGENT, file_state, FileState, 0),
    RULE(PIECE, FAR_LAUNCHER, piece, Piece, 0),
    RULE(START, FAR_LAUNCHER, start, Start, MEMBER(Start)),
    RULE(STARTED, FAR_AGENT, started, Started, MEMBER(Started)),
    RULE(SIGNAL, FAR_LAUNCHER, signal, Signal, MEMBER(Signal)),
    RULE(OUTPUT, FAR_AGENT, output, Output, MEMBER(Output)),
    RULE(CREDIT, FAR_LAUNCHER, credit, Credit, MEMBER(Credit)),
    RULE(ENDED, FAR_AGENT, ended, Ended, MEMBER(Ended)),
#undef RULE
#undef MEMBER
    {WEFT__FRAME_TYPE__FRAME_AGENT_BEAT, 1 << FAR_LAUNCHER | 1 << FAR_AGENT, NULL, 0, NULL},
    {WEFT__FRAME_TYPE__FRAME_AGENT_STOP, 1 << FAR_LAUNCHER, NULL, 0, NULL},
};

static weft_err refuse(const struct frame *frame)
{
    return err_set(WEFT_DATA_LOSS, "a frame of type %d with %zu bytes is not one of an agent",
                   (int)frame->type, frame->payload.size);
}

weft_err far_read_frame(const struct frame *frame, enum far_side from, uint32_t member_count,
                        ProtobufCMessage **message)
{
    const struct rule *rule = NULL;
    *message = NULL;
    for (size_t i = 0; !rule && i < sizeof rules / sizeof *rules; i++)
        if (rules[i].type == frame->type && (rules[i].from & 1U << from))
            rule = &rules[i];
    if (!rule || (!rule->descriptor && frame->payload.size > 0))
        return refuse(frame);
    if (!rule->descriptor)
        return WEFT_OK;
    const weft_err err = message_unpack(frame, rule->descriptor, message);
    if (err)
        return err;
    const char *fields = (const char *)*message;
    const bool is_member = rule->member == 0 ||
                           *(const uint32_t *)(const void *)(fields + rule->member) < member_count;
    if (is_member && rule->check(*message))
        return WEFT_OK;
    message_free(*message);
    *message = NULL;
    return refuse(frame);
}

weft_err far_check_version(const char *who, uint32_t wire_version, const char *version)
{
    if (wire_version == FAR_WIRE_VERSION && strcmp(version, weft_version()) == 0)
        return WEFT_OK;
    return err_set(WEFT_FAILED_PRECONDITION,
                   "%s is weft %.64s (protocol %u), this is weft %s (protocol %d)\n"
                   "  both have to be the same: install this one there, too",
                   who, version, (unsigned)wire_version, weft_version(), FAR_WIRE_VERSION);
}

weft_err far_set_error(uint32_t code, const char *text)
{
    const weft_err err = message_code((weft_err)code);
    return err_set(err ? err : WEFT_UNKNOWN, "%s", text);
}
