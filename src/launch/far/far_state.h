// The parts of the launcher of other machines.
//
//   far.c          hosts and members: places, moves, the end
//   far_host.c     one host: the command that leads there, the copy of the program, the session with its agent
//   far_join.c     agents that connect to this process by themselves; where bytes for an agent go
//   far_start.c    what members need to start: files that are sent first, credits for their output
//   far_program.c  the program that is copied
#ifndef LAUNCH_FAR_FAR_STATE_H
#define LAUNCH_FAR_FAR_STATE_H

#include "launch/far/far.h"
#include "launch/far/far_frames.h"
#include "sys/file/outlet.h"
#include "sys/net/net.h"
#include "transport/door.h"

enum far_host_state {
    FAR_IDLE,        // waits for its turn
    FAR_RESTING,     // waits for another try
    FAR_CONNECTING,  // the command runs, and the far side has not said anything
    FAR_COPYING,     // the program is on its way
    FAR_GREETING,    // the agent has been greeted
    FAR_READY,
    FAR_CUT,      // the connection has ended, and the launcher looks for the reason
    FAR_LEAVING,  // asked to end
    FAR_GONE,     // it was lost, could not be reached, or has ended
};

enum far_file_state { FAR_UNSENT, FAR_SENT, FAR_THERE, FAR_REFUSED };

struct far_host {
    struct far *far;
    char *name;
    enum far_host_state state;
    uint32_t tries;
    struct child child;  // .nursery NULL: there is no command
    struct outlet out;
    struct guest *guest;  // an agent that has connected by itself; NULL: there is none
    uint32_t generation;  // how often it was another host
    struct loop_watch *readable, *errors_readable, *ended, *writable;
    struct loop_timer *rest;
    struct buf greeting;  // what came before the mark
    size_t noise_bytes;
    struct buf errors;  // the last that the command has written to standard error
    struct frame_parser parser;
    uint64_t heard_ns, begun_ns;
    bool is_suspect;
    bool is_charged;                        // its end is the fault of its members
    char *address, *directory, *interface;  // NULL: not known
    char *why;                              // it is gone; NULL: it is not
    VEC(uint8_t) files;                     // enum far_file_state of each file
    size_t sending;  // 1 + the number of the file whose pieces are being sent; 0: none
    uint64_t sent;   // of it
    int fd;          // of it, or of the program; -1: none
};

enum far_member_state { FAR_UNPLACED, FAR_RESERVING, FAR_PLACED, FAR_STARTING, FAR_RUNNING };

struct far_member {
    struct far_host *host;  // NULL: it has none
    enum far_member_state state;
    uint16_t ports[LAUNCH_PORTS_MAX];
    uint32_t port_count;
    bool is_moving;  // it had a place before
    uint64_t started_ns;
    bool is_paused[2];
    int64_t credit[2];  // bytes that the agent may still send
    uint32_t owed[2];   // bytes that were taken and not granted again
    struct buf start;   // the frame that waits for files
    VEC(size_t) files;  // that it needs
};

struct far_file {
    char *path, *target;
    uint8_t hash[FAR_HASH_BYTES];
    uint64_t size;
    bool is_executable, is_archive;
};

struct far {
    struct launch base;
    struct launch_options options;
    const struct far_route *route;
    void *owner;
    struct far_host *hosts;
    size_t host_count;
    struct net_listener listener;  // for agents that come by themselves
    struct door *door;             // NULL: commands lead to agents
    struct secret secret;          // that they prove
    struct far_member *members;
    VEC(struct far_file) files;
    VEC(char *) retired;  // texts of places that members have left
    struct loop_timer *tick;
    uint64_t beat_ns;
    char mark[40];  // of this run: it begins the first line that is not noise
    char *program;  // that becomes the agents
    int program_fd;
    uint64_t program_bytes;
    char program_hash[2 * FAR_HASH_BYTES + 1], program_size[24];
    char *token;      // "": none
    size_t unplaced;  // members of the first round of places that have none yet
    bool is_placing, is_closing;
};

// ---- Program -----------------------------------------------------------------------------------------------

// Finds the program that is to run on the hosts, opens and measures it. NOT_FOUND with what to do.
MUST_CHECK weft_err far_find_program(struct far *far);

// SHA-256 of an open file.
MUST_CHECK weft_err far_hash_file(int fd, const char *path, uint8_t hash[FAR_HASH_BYTES],
                                  uint64_t *size);

// ---- Hosts -------------------------------------------------------------------------------------------------

// Begins to reach hosts that wait, as many as may be at a time.
void far_connect_more(struct far *far);

// Sends host->out.unsent, and pieces after it.
void far_flush(struct far_host *host);
void far_say(struct far_host *host, Weft__FrameType type, const ProtobufCMessage *message);

// The host will do nothing any more, for a reason: its members are lost or have no place. `why` is a sentence.
void far_lose(struct far_host *host, weft_err err, const char *why);
void far_drop_connection(struct far_host *host);

// Forgets all of a host that is gone: it may be connected to again.
void far_renew_host(struct far_host *host);
void far_tick(void *owner);

// Says hello to an agent whose stream is there.
void far_greet(struct far_host *host);

// Takes what an agent has sent.
void far_take_frames(struct far_host *host, weft_bytes bytes);

// The stream has ended, or is silent.
void far_note_cut(struct far_host *host);

// ---- The stream of a host, a command's pipes or a connection -----------------------------------------------------

bool far_is_connected(const struct far_host *host);
struct buf *far_out(struct far_host *host);  // bytes are appended here, and go with far_flush
size_t far_unsent(const struct far_host *host);

// Listens for agents. Strangers are dropped by far_tick_door, about once a second.
MUST_CHECK weft_err far_open_door(struct far *far);
void far_tick_door(struct far *far);
void far_close_door(struct far *far);

// ---- Members and files ---------------------------------------------------------------------------------------

// Asks a host that is ready for ports for all of its members that have no place.
void far_reserve(struct far_host *host);
void far_reserved(struct far_host *host, const Weft__AgentReserved *message);
void far_lose_members(struct far_host *host, weft_err err);
bool far_is_connecting(const struct far_host *host);

// Frames of an agent about members. False: it breaks the rules.
bool far_take_message(struct far_host *host, Weft__FrameType type, const ProtobufCMessage *message);

// Puts as many pieces of the file that is being sent as the stream takes.
void far_send_pieces(struct far_host *host);

#endif
