// far_frames: the frames between a launcher and its agent, and what each side accepts of the other.
//
//     launcher                                       agent
//       AGENT_HELLO     version, token           ->
//                                                <-  AGENT_WELCOME   version, host, address, directory
//       AGENT_RESERVE   member, how many         ->
//                                                <-  AGENT_RESERVED  ports, held until the member starts
//       AGENT_FILE      hash, size, target       ->
//                                                <-  AGENT_FILE_STATE  lacks it (or has it, or cannot)
//       AGENT_PIECE...                           ->
//                                                <-  AGENT_FILE_STATE  has it: the hash was right
//       AGENT_START     arguments, environment   ->
//                                                <-  AGENT_STARTED   or why not
//       AGENT_SIGNAL, AGENT_CREDIT               ->
//                                                <-  AGENT_OUTPUT..., AGENT_ENDED
//       AGENT_STOP      or the end of the stream ->  kills all, removes its files, ends
//     AGENT_BEAT both ways, every FAR_BEAT_MS. Instead of any of its answers, and last: AGENT_FAILED
//
// Each frame is checked before a side acts on it; one that breaks the rules ends the stream. Pure. Thread: any.
#ifndef LAUNCH_FAR_FAR_FRAMES_H
#define LAUNCH_FAR_FAR_FRAMES_H

#include "wire/messages.h"

enum {
    FAR_WIRE_VERSION = 1,  // grows with every change that an older side would misread
    FAR_BEAT_MS = 1000,
    FAR_TICK_MS = 200,            // how often a side looks whether the other one still lives
    FAR_AGENT_SILENCE_MS = 4000,  // an agent that hears nothing for that long ends
    FAR_SILENCE_MS = 10000,       // an agent that says nothing for that long is lost
    // Members end when their agent has not run for that long, as if it were stopped: the launcher has lost it by then, and starts them
    // elsewhere FAR_LOST_REST_MS later.
    FAR_LEASH_MS = 12000,
    FAR_GREETING_MS = 60000,  // likewise, before its first word
    FAR_MEMBERS_MAX = 1 << 20,
    FAR_PORTS_MAX = 4,
    FAR_FILES_MAX = 1 << 16,
    FAR_PIECE_BYTES_MAX = 64 << 10,
    FAR_OUTPUT_BYTES_MAX = 64 << 10,
    FAR_WINDOW_BYTES = 256 << 10,  // credit of each stream of a member at its start
    // What may come beyond the credit: one read, and at the end of a member the whole content of its two pipes.
    FAR_EXCESS_BYTES_MAX = (2 << 20) + (64 << 10) * 2,
    FAR_TEXT_BYTES_MAX = 4096,
    FAR_WORDS_MAX = 1 << 16,
    FAR_FRAME_BYTES_MAX = 16 << 20,
    FAR_HASH_BYTES = 32,
};

enum far_side { FAR_LAUNCHER, FAR_AGENT };

// The message of a frame that `from` has sent, unpacked and checked: numbers of members are below `member_count`, lists
// and texts have their limits. NULL with WEFT_OK: a frame without payload. DATA_LOSS says what is wrong.
MUST_CHECK weft_err far_read_frame(const struct frame *frame, enum far_side from,
                                   uint32_t member_count, ProtobufCMessage **message);

// Whether a path stays below the directory that it is relative to: not absolute, no "..", no "" and no "." in it.
bool far_is_target(const char *path);

// FAILED_PRECONDITION with both versions, when they differ. `who` has the other one.
MUST_CHECK weft_err far_check_version(const char *who, uint32_t wire_version, const char *version);

// The reason that a peer has sent: its code, never WEFT_OK, and its sentence. Sets this thread's error.
weft_err far_set_error(uint32_t code, const char *text);

#endif
