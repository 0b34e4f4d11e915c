// The parts of an agent.
//
//   host_agent.c          the life: frames, heartbeats, the end
//   host_agent_stream.c   bytes from and to the launcher: standard input and output, or a connection
//   host_agent_members.c  members: the launcher local:, one for each, with its reports as frames
//   host_agent_archive.c  archives, in a thread: finding and unpacking takes seconds
//   host_agent_tidy.c     directories that agents before it have left
//   host_agent_files.c    files that members need, received in pieces; the token; the environment
#ifndef LAUNCH_FAR_HOST_AGENT_STATE_H
#define LAUNCH_FAR_HOST_AGENT_STATE_H

#include "base/sha256.h"
#include "launch/far/far_frames.h"
#include "launch/far/host_agent.h"
#include "launch/launch.h"
#include "sys/file/outlet.h"
#include "sys/file/workdir.h"
#include "sys/net/interface.h"
#include "sys/secure/secret.h"
#include "transport/dial.h"

// The stream to the launcher.
struct host_agent_stream {
    struct outlet out;  // standard output, or
    struct loop_watch *readable, *writable;
    struct net_route *route;  // the way to the launcher; NULL: it is standard input and output
    struct dial *dial;        // NULL: it is tried again
    struct loop_timer *rest, *limit;
    struct net_address address;
    struct secret token;
    const char *place;
    uint32_t tries;
    uint64_t begun_ns;
};

// Made when the launcher speaks of it for the first time.
struct host_agent_member {
    struct host_agent *agent;
    uint32_t number;
    struct launch_want want;
    struct launch *launch;
    int64_t credit[2];  // of standard output and error
    bool is_running;
};

// The file that is being received.
struct host_agent_intake {
    uint32_t number;
    int fd;  // -1: none
    char *path;
    uint64_t left;
    bool is_executable;
    uint8_t hash[FAR_HASH_BYTES];
    struct sha256 sha;
};

struct host_agent {
    struct loop *loop;
    struct nursery *nursery;
    struct workdir directory;
    int lock;  // in it, held as long as this process lives; -1: none
    struct host_agent_stream stream;
    struct loop_timer *tick;
    struct frame_parser parser;
    bool is_greeted, is_ending, is_suspect;
    uint64_t heard_ns, beat_ns;
    uint32_t silence_ms;
    struct host_agent_member **members;  // by number; NULL: not spoken of yet
    uint32_t member_count;
    struct host_agent_intake intake;
    struct host_agent_archives *archives;  // NULL: none was spoken of
    bool is_full;                          // much is unsent: members are not read
    weft_err failure;                      // why it ends; WEFT_OK: nothing has failed
};

// Appends a frame to the unsent ones; `message` NULL: without payload. The end of a turn sends.
void host_agent_say(struct host_agent *agent, Weft__FrameType type,
                    const ProtobufCMessage *message);

// Says by this thread's error why the agent has to end, and ends it.
void host_agent_fail(struct host_agent *agent, weft_err err);

// Ends it: nothing is wrong.
void host_agent_leave(struct host_agent *agent);

// What the launcher has sent.
void host_agent_take_bytes(struct host_agent *agent, weft_bytes bytes);

// ---- The stream --------------------------------------------------------------------------------------------

// Before the processes of the agent are forked, and when its loop is there.
MUST_CHECK weft_err host_agent_open_stream(struct host_agent *agent,
                                           const struct host_agent_options *options);
MUST_CHECK weft_err host_agent_begin_stream(struct host_agent *agent);
void host_agent_close_stream(struct host_agent *agent);

struct buf *host_agent_out(struct host_agent *agent);  // bytes are appended here
size_t host_agent_unsent(const struct host_agent *agent);
void host_agent_flush(struct host_agent *agent);

// Whether the launcher is on this machine, and the addresses by which both reach each other. False: a connection does not say.
MUST_CHECK bool host_agent_find_ends(const struct host_agent *agent,
                                     char own[INTERFACE_ADDRESS_BYTES],
                                     char launcher[INTERFACE_ADDRESS_BYTES]);

// ---- Members -----------------------------------------------------------------------------------------------

void host_agent_reserve(struct host_agent *agent, const Weft__AgentReserve *message);
void host_agent_start(struct host_agent *agent, const Weft__AgentStart *message);
void host_agent_signal(struct host_agent *agent, const Weft__AgentSignal *message);
void host_agent_credit(struct host_agent *agent, const Weft__AgentCredit *message);

// All streams, after `is_full` has changed.
void host_agent_watch_all(struct host_agent *agent);
void host_agent_end_members(struct host_agent *agent);

// ---- Directories of agents before this one ------------------------------------------------------------------

// Marks the directory of this agent as in use, and removes those in `tmp` whose agents ended without that.
void host_agent_tidy(struct host_agent *agent, const char *tmp);

// ---- Files -------------------------------------------------------------------------------------------------

// From now on the environment has nothing but the variables that members get.
MUST_CHECK weft_err host_agent_keep_environment(const Weft__AgentHello *hello);
MUST_CHECK weft_err host_agent_write_token(struct host_agent *agent, const char *token);

// What members find besides: WEFT_PROGRAM, the program that this agent is, and WEFT_LAUNCHER, the address by which this host reaches
// the machine of the launcher, where that is known. Before the environment is made.
MUST_CHECK weft_err host_agent_name_launcher(const struct host_agent *agent);

// The address by which other hosts reach this one, and the network interface that has it; "": not known.
MUST_CHECK weft_err host_agent_find_address(const struct host_agent *agent, struct buf *address,
                                            char interface[INTERFACE_NAME_BYTES]);

void host_agent_take_file(struct host_agent *agent, const Weft__AgentFile *message);
void host_agent_take_piece(struct host_agent *agent, const Weft__AgentPiece *message);
void host_agent_drop_intake(struct host_agent *agent);

// Reports that a file is there, or lacks, or why it cannot be.
void host_agent_say_file(struct host_agent *agent, uint32_t number, bool is_there, weft_err err);

// ---- Archives ----------------------------------------------------------------------------------------------

// Whether the file that is being received is an archive: its frames are for the following functions.
bool host_agent_takes_archive(const struct host_agent *agent);
void host_agent_take_archive(struct host_agent *agent, const Weft__AgentFile *message);
void host_agent_take_archive_piece(struct host_agent *agent, const Weft__AgentPiece *message);

// After loop_wake: a thread has done its part.
void host_agent_archive_woken(void *agent);

// Appends the variables of an archive that is there, for a member whose own are `given`: "NAME=value" ended by a zero each.
// DATA_LOSS: it is not there.
MUST_CHECK weft_err host_agent_append_archive(const struct host_agent *agent, uint32_t number,
                                              char *const *given, size_t given_count,
                                              struct buf *variables);
void host_agent_end_archives(struct host_agent *agent);

#endif
