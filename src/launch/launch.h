// launch: how the members of a run are born. The port that every launcher implements.
//
//   launcher_find(URL) -> open -> place -> PLACED: every member has a place with an address
//   start a member -> STARTED or NOT_STARTED; then its output; then ENDED, after all of its output
//   LOST: a place has gone; ENDED of each of its members follows, and move finds another place
//
// A launcher finds places, starts, signals, and reports. It decides nothing: crew/crew.h does. It knows nothing of
// clusters either: the addresses that it reports become TF_CONFIG above it. `local` has its members as children of this
// process, far launchers have them with an agent on another machine; both look the same from above.
// Thread: one, that of the loop. Reports come from the loop, or from inside of place and start.
#ifndef LAUNCH_LAUNCH_H
#define LAUNCH_LAUNCH_H

#include "base/buf.h"
#include "sys/loop/loop.h"
#include "sys/process/nursery.h"

// Where members may keep journals, in the directory of the run on a host.
#define LAUNCH_JOURNAL_NAME ".weft-journal"

enum { LAUNCH_PORTS_MAX = 4 };  // that one member may ask for

// A resource of a place besides processors, memory and GPUs, in the words of the launcher: "yarn.io/fpga".
struct launch_amount {
    const char *name;
    uint64_t count;
};

// What a member needs of its place. Zero: nothing in particular. All texts are borrowed until close.
struct launch_want {
    const char *name;     // "map/0", for messages
    const char *host;     // the address that it must have; NULL: any
    uint16_t port;        // with it; 0: any
    uint32_t port_count;  // how many ports are held for it; 0 means 1
    uint64_t memory_bytes;
    uint32_t cpus, gpus;
    const char *constraint;  // on the place, in the words of the launcher: a label, a node feature
    const struct launch_amount *amounts;
    size_t amount_count;
    size_t beside;  // 0; or 1 + the number of an earlier member: at the same place as that one
};

// Where a member is. The texts are the launcher's, and stay until the member is moved.
struct launch_place {
    const char *host;     // its name for people; "": this machine
    const char *address;  // by which the other members reach it
    const char *
        directory;  // of this run on that host, for journals and shipped files; NULL: the host has none
    const char *interface;  // the network interface that has the address; NULL: not known
    uint16_t ports[LAUNCH_PORTS_MAX];
};

// A file of this machine that the member finds in its directory.
struct launch_file {
    const char *path;    // here
    const char *target;  // there, relative to the directory of the run
    // An archive of weft pack: unpacked once on each host, under its hash, instead. The member finds its programs first.
    bool is_archive;
    const uint8_t *hash;  // SHA-256 of an archive, 32 bytes, and its size; borrowed
    uint64_t size;
};

struct launch_start {
    // The program and its arguments, NULL-terminated. A relative path is looked for in `directory`.
    const char *const *arguments;
    // "NAME=value", NULL-terminated: what the run sets, in place of what a place has under these names.
    const char *const *environment;
    const char *directory;     // where it runs; NULL: here, or in the directory of the run
    enum nursery_input input;  // NURSERY_INPUT_OURS where the launcher says reads_input
    const struct launch_file *files;
    size_t file_count;
    const char *
        script;  // a text for sh that runs first, in the same environment; its failure is the member's. NULL: none
};

struct launch_exit {
    struct process_exit process;
    uint64_t lived_ns;
    const char
        *lost;  // why the end of the member is not known: its place has gone. NULL: it is known
    bool
        is_charged;  // of one that is lost: its program is the reason, as when it took more memory than it may
};

// Reports. `owner` is that of launch_options.
struct launch_calls {
    void (*placed)(void *owner);  // all members have a place: launch_place may be asked
    // They will not have one, or all are lost for good, also later; the thread's error says why.
    void (*failed)(void *owner, weft_err err);
    void (*moved)(void *owner, size_t member);  // it has another place
    void (*not_moved)(void *owner, size_t member, weft_err err);
    void (*started)(void *owner, size_t member, pid_t pid);
    void (*not_started)(void *owner, size_t member, weft_err err);
    void (*output)(void *owner, size_t member, unsigned which,
                   weft_bytes bytes);  // CHILD_OUT, CHILD_ERR
    void (*ended)(void *owner, size_t member, const struct launch_exit *exit);
    void (*lost)(void *owner, const char *host, const char *why);
    void (*news)(void *owner, const char *text);  // for people: a host is tried again
};

struct launch_options {
    const char *url;  // whole, as the user wrote it; checked by launcher_find
    struct loop *loop;
    struct nursery *nursery;
    const struct launch_want *wants;  // of each member
    size_t count;
    const char *name;        // of the run, for directories and jobs elsewhere; NULL: none
    const char *ssh;         // the command that reaches a host; NULL: WEFT_SSH, or ssh
    const char *token_file;  // the file with the token of the run; NULL: the user's
    // Of this launcher: "NAME=value", checked by launcher_check_setting; NULL-terminated; NULL: none.
    const char *const *settings;
    bool
        is_kept;  // this process was started by the launcher, to look after the run (launch/keep.h)
    const struct launch_calls *calls;
    void *owner;
};

struct launch;
struct keeper;

// How a run has ended, for the records of a scheduler.
enum launch_verdict { LAUNCH_SUCCEEDED, LAUNCH_FAILED, LAUNCH_STOPPED };

struct launcher {
    const char *scheme;  // "ssh"
    const char *form;    // of its URL, for help: "ssh://HOST,HOST..."
    bool is_far;         // members are on other machines: they see no file of this one
    bool reads_input;    // a member can read our standard input
    bool
        is_metered;  // a member that takes more than it has asked for is killed, and its place may be taken back
    // INVALID_ARGUMENT: the URL is not one of its kind. Connects to nothing.
    weft_err (*check)(const char *url);
    // INVALID_ARGUMENT: there is no such setting, or it cannot have that value. NULL: the launcher has none.
    weft_err (*check_setting)(const char *name, const char *value);
    weft_err (*open)(struct launch **launch, const struct launch_options *options);
    void (*close)(struct launch *launch);
    weft_err (*place)(struct launch *launch);
    void (*get)(struct launch *launch, size_t member, struct launch_place *place);
    void (*describe)(struct launch *launch, size_t member, struct buf *text);
    void (*move)(struct launch *launch, size_t member);
    weft_err (*start)(struct launch *launch, size_t member, const struct launch_start *start);
    void (*signal)(struct launch *launch, size_t member, int number);
    void (*pause)(struct launch *launch, size_t member, unsigned which, bool is_paused);
    // Before close. NULL: there are no records.
    void (*conclude)(struct launch *launch, enum launch_verdict verdict, const char *text);
    uint32_t lost_rest_ms;  // how long after the loss of a place its processes may still run
    const struct keeper
        *keeper;  // launch/keep.h; NULL: a run ends with the process that started it
};

// What every launcher's struct begins with.
struct launch {
    const struct launcher *launcher;
};

extern const struct launcher *const launchers[];  // ends with NULL

// The launcher of a URL, which has been checked; NULL: that of this machine. INVALID_ARGUMENT, with a guess of what the user
// meant.
MUST_CHECK weft_err launcher_find(const char *url, const struct launcher **launcher);

// First of all in a process that a launcher has started to look after a run: its files are there afterwards (launch/keep.h).
MUST_CHECK weft_err launchers_arrive(void);

// Whether the launcher takes a setting, "NAME=value". INVALID_ARGUMENT.
MUST_CHECK weft_err launcher_check_setting(const struct launcher *launcher, const char *setting);

// ---- The calls of a launcher ----------------------------------------------------------------------------------

MUST_CHECK static inline weft_err launch_open(const struct launcher *launcher,
                                              struct launch **launch,
                                              const struct launch_options *options)
{
    return launcher->open(launch, options);
}

// Kills the members that still run, waits for processes of this machine, and frees it; NULL is fine.
static inline void launch_close(struct launch *launch)
{
    if (launch)
        launch->launcher->close(launch);
}

// How the run has ended: `text` is a sentence for people, or NULL. Before launch_close.
static inline void launch_conclude(struct launch *launch, enum launch_verdict verdict,
                                   const char *text)
{
    if (launch->launcher->conclude)
        launch->launcher->conclude(launch, verdict, text);
}

// Finds places for all members. Once. Followed by placed or failed, if it does not fail itself.
MUST_CHECK static inline weft_err launch_place_all(struct launch *launch)
{
    return launch->launcher->place(launch);
}

static inline struct launch_place launch_get_place(struct launch *launch, size_t member)
{
    struct launch_place place = {0};
    launch->launcher->get(launch, member, &place);
    return place;
}

// Appends why the member has no place yet, or has not started: half a sentence.
static inline void launch_describe(struct launch *launch, size_t member, struct buf *text)
{
    launch->launcher->describe(launch, member, text);
}

// Whether a member of a lost place may be given another one. Followed by moved or not_moved.
static inline void launch_move(struct launch *launch, size_t member)
{
    launch->launcher->move(launch, member);
}

// Starts a member at its place. An error: it was not started, and no report follows.
MUST_CHECK static inline weft_err launch_start_member(struct launch *launch, size_t member,
                                                      const struct launch_start *start)
{
    return launch->launcher->start(launch, member, start);
}

// A member that has ended, or has not been started, gets nothing.
static inline void launch_signal(struct launch *launch, size_t member, int number)
{
    launch->launcher->signal(launch, member, number);
}

// Whether output of that stream is to wait. At the end of a member the rest of its output comes nevertheless.
static inline void launch_pause(struct launch *launch, size_t member, unsigned which,
                                bool is_paused)
{
    launch->launcher->pause(launch, member, which, is_paused);
}

#endif
