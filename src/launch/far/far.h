// far: the launcher of other machines, whatever the way to them: one agent on each host, and a stream of frames to it.
//
// A launcher says which hosts there are and which command here leads to a shell command there, or starts agents that connect to this
// process by themselves (struct far_route); all else
// is the same for each: the program is copied once for its content, agents are greeted, members spread over hosts, watched,
// and lost with their host. See far_frames.h for the words, host_agent.h for the other side.
// Thread: that of the loop.
#ifndef LAUNCH_FAR_FAR_H
#define LAUNCH_FAR_FAR_H

#include "base/vec.h"
#include "launch/launch.h"
#include "sys/secure/secret.h"

// Words of a command line, owned.
struct far_command {
    VEC(char *) list;  // ends with NULL once far_command_end was called
    bool has_failed;
};
void far_command_add(struct far_command *words, const char *word);
MUST_CHECK weft_err far_command_end(struct far_command *words);
void far_command_fini(struct far_command *words);

// How a connection ended, for far_route.explain.
struct far_end {
    const struct process_exit *exit;
    const char *errors;  // the last that the command has written to standard error
    bool was_greeted;    // the far side had been reached
};

struct far_route {
    // NULL: agents come by themselves, see below. Else it appends the words of the command that runs `script` by sh on the host, with `arguments` as $1, $2... (NULL-terminated),
    // its standard input and output being those of the command.
    weft_err (*make_command)(void *owner, const char *host, const char *script,
                             const char *const *arguments, struct far_command *words);
    // Why the host could not be reached: sets the error, with advice. *is_passing: another try may help.
    weft_err (*explain)(void *owner, const char *host, const struct far_end *end, bool *is_passing);
    // Of agents that come by themselves: the connection of one has ended, or is silent. The launcher calls far_end_host, now or when it
    // knows the reason; until then the members of the host are taken for running.
    void (*cut)(void *owner, size_t host);
    const char *const *
        keep;  // variables of hosts that members get besides the usual ones; NULL-terminated; NULL: none
    uint32_t connecting_max;  // how many are reached at a time
};

// Opens a launch over hosts; the names are copied, `owner` is the route's and outlives it. INVALID_ARGUMENT: a member wants
// an address of its own.
MUST_CHECK weft_err far_open(struct launch **launch, const struct launcher *launcher,
                             const struct launch_options *options, const struct far_route *route,
                             void *owner, const char *const *hosts, size_t host_count);

// ---- The functions of a launcher that has been opened by far_open; close calls `closed` with the route's owner --------------

void far_close(struct launch *launch);
weft_err far_place(struct launch *launch);
void far_get(struct launch *launch, size_t member, struct launch_place *place);
void far_describe(struct launch *launch, size_t member, struct buf *text);
void far_move(struct launch *launch, size_t member);
weft_err far_start(struct launch *launch, size_t member, const struct launch_start *start);
void far_signal(struct launch *launch, size_t member, int number);
void far_pause(struct launch *launch, size_t member, unsigned which, bool is_paused);

// ---- For launchers whose hosts come and go -------------------------------------------------------------------------------

// Hosts have numbers, in the order in which far_open was given them. Another name for one, while it is not connected to.
void far_name_host(struct launch *launch, size_t host, const char *name);

// Whether it may still be connected to, or is.
bool far_has_host(const struct launch *launch, size_t host);

// Like far_move, to that host. One that was lost is another host now, under another name, and connected to again.
void far_move_to(struct launch *launch, size_t member, size_t host, const char *name);

// ---- For launchers whose agents connect to this process (weft agent --join) --------------------------------------------------

// The port at which agents are awaited, on all interfaces; and the token that they have to prove, which is made for this launch.
uint16_t far_port(const struct launch *launch);
const struct secret *far_secret(const struct launch *launch);

// Appends the name that the next agent of a host has to give: --place. It changes when the host is lost and moved to again.
void far_append_place(const struct launch *launch, size_t host, struct buf *text);

// The host will do nothing any more: its members are lost, by their own fault if `is_charged`. `why` is a sentence.
void far_end_host(struct launch *launch, size_t host, weft_err err, const char *why,
                  bool is_charged);

// Whether its agent has not come yet. And: from now on it has to give another name, since the one that was started may be there still.
bool far_awaits(const struct launch *launch, size_t host);
void far_await_another(struct launch *launch, size_t host);

// The program that becomes an agent: its path here, the hash of its content, its size.
struct far_program {
    const char *path, *hash;
    uint64_t bytes;
};
struct far_program far_get_program(const struct launch *launch);

// The same before there is a launcher: the path is the caller's to free.
struct far_found_program {
    char *path;
    char hash[65];
    uint64_t bytes;
};
MUST_CHECK weft_err far_look_for_program(struct far_found_program *found);

// ---- Others ------------------------------------------------------------------------------------------------------------

// The owner of the route, for the launcher's own close.
void *far_owner(const struct launch *launch);

// Agents of a lost host end by themselves within that time.
enum { FAR_LOST_REST_MS = 6000 };

#endif
