// What the parts of cluster_run share: the runner, its members, and where their output goes.
//
//   cluster_run.c          the life: setting up, events to the crew, actions from it
//   cluster_run_files.c    files of roles, on this machine
//   cluster_run_archives.c archives of roles
//   cluster_run_members.c  who there is: addresses, names, environments
//   cluster_run_output.c   lines from members to our own outputs, which may be slow
//   cluster_run_tensorboard.c  its address, or why there is none
//   cluster_run_shelf.c    state and logs for people elsewhere
//   cluster_run_talk.c     reports, as sentences or as JSON
//   cluster_run_save.c     what others may know of a run in the background
#ifndef CREW_CLUSTER_RUN_STATE_H
#define CREW_CLUSTER_RUN_STATE_H

#include "crew/cluster_run.h"
#include "crew/crew.h"
#include "crew/environment.h"
#include "crew/last_lines.h"
#include "crew/prefix.h"
#include "launch/launch.h"
#include "sys/file/outlet.h"
#include "sys/file/workdir.h"
#include "sys/loop/loop.h"
#include "sys/process/nursery.h"

// Where lines go. Streams of members that lead here are not read while much of it waits.
struct run_sink {
    struct run *run;
    const char *name;  // "standard output"
    struct outlet outlet;
    struct loop_watch *writable;  // while something is unsent
    bool is_full;                 // nothing is read for it until it has room
    bool is_broken;               // its reader has gone: further output is dropped
};

// One of a member's two outputs.
struct run_stream {
    struct run_member *member;
    unsigned which;  // CHILD_OUT or CHILD_ERR
    bool is_json;    // lines go out as objects
    struct prefix prefix;
    struct run_sink *sink;  // NULL: the member has not been started
};

struct run_member {
    struct run *run;
    size_t number;                  // in the crew
    struct crew_seat seat;          // its role and index
    char *name;                     // "map/0"
    char *address;                  // "127.0.0.1:20123"
    struct launch_amount *amounts;  // further resources of its instance; NULL: none
    char *gpus;         // of this machine, that are its instance's; NULL: none, or not known
    char *prefixes[2];  // of its lines on standard output and error
    bool is_running;    // its start was reported, its end was not
    bool was_answered;  // whether it was started for the first time is known
    bool is_lost;       // its place has gone, and it needs another one
    pid_t pid;          // while it runs
    struct run_stream streams[2];  // standard output, standard error
    struct run_sink log;           // of a run in the background; its outlet's descriptor is ours
    struct last_lines tail;        // of its output in the foreground
    uint64_t taken_at;             // run->taken_bytes after its last output
    int64_t since_s;               // when it was started, or has ended; calendar
    struct loop_timer *rest;       // until it is started again
};

enum { RUN_OUT, RUN_ERR };

// The files that the members of a role find on their hosts.
struct run_sent {
    VEC(struct crew_pair) files;
};

struct run {
    const struct cluster_run_options *options;
    struct crew crew;
    struct crew_actions actions;
    struct run_member *members;                      // as many as the crew has
    struct crew_event events[2 * CREW_MEMBERS_MAX];  // that wait for their turn
    size_t event_count;
    bool is_telling;
    struct run_sink sinks[2];  // our standard output and error
    // Where standard error goes: the first sink when both are one pipe or terminal, because a line for
    // the one may be half written when a line for the other comes.
    struct run_sink *talk_sink;
    struct nursery *nursery;
    struct loop *loop;
    const struct crew_spec *spec;
    struct cluster_spec cluster;  // the spec's roles with the addresses of their places
    struct crew_place *places;    // of each member; the texts of hosts are the launcher's
    const struct launcher *launcher;
    struct launch *launch;
    struct launch_want *wants;  // of each member
    VEC(char *) settings;       // of the launcher: "NAME=value", ended by NULL; empty: none
    struct workdir journal;     // of this run alone
    struct workdir files;       // in which members that have files run, on this machine
    struct run_sent *sent;      // of each role, on other machines; NULL: members run here
    struct run_tensorboard *tensorboard;  // NULL: there is none
    struct environments *environments;    // where archives are unpacked; NULL: there are none
    struct run_archive *archives;
    size_t archive_count;
    char *kept_journal;  // or one that stays; NULL: none
    bool has_restarts;
    struct loop_timer *grace, *limit, *deadline;
    struct shelf *shelf;                 // of a run that a launcher keeps; NULL: it is not kept
    bool is_asked_to_end;                // by the shelf
    uint64_t taken_bytes;                // output of all members
    struct run_member *first_failure;    // for good; NULL: none
    int64_t begun_s;                     // calendar
    uint64_t begun_ns, first_signal_ns;  // 0: no signal yet
    size_t start_count,
        answer_count;  // members that were started; of which the first start was answered
    weft_err refusal;  // there are no places, or the very first start failed
    struct err_kept refusal_text;
    weft_err start_failure;  // a later one did
    bool has_begun;          // there are places, and the crew knows it
    bool is_over;            // all have ended; only output is left
    int exit_code;
};

// ---- Members ---------------------------------------------------------------------------------------------

// Fills run->members, run->crew and run->wants from the spec.
MUST_CHECK weft_err run_make_members(struct run *run);
void run_free_members(struct run *run);

// Once all have a place: describes the cluster with their addresses.
MUST_CHECK weft_err run_settle_members(struct run *run);

// The same after one of them was given another place.
MUST_CHECK weft_err run_settle_member(struct run_member *member);

// The variables of a member that is about to start.
MUST_CHECK weft_err run_make_variables(struct run_member *member,
                                       struct crew_environment *variables);

// Fills run->settings, and has the launcher check them.
MUST_CHECK weft_err run_open_settings(struct run *run);
void run_close_settings(struct run *run);

// ---- Files (cluster_run_files.c) -------------------------------------------------------------------------------

MUST_CHECK weft_err run_open_files(struct run *run);
void run_close_files(struct run *run);

// Unpacks the archives of roles, or measures them for hosts, before anything starts. Adds the variables of its archive to
// a member's on this machine, or appends it to the files that are sent along.
MUST_CHECK weft_err run_open_archives(struct run *run);
void run_close_archives(struct run *run);
void run_list_archive(const struct run_member *member, struct launch_file *files, size_t *count);
MUST_CHECK weft_err run_add_archive(const struct run_member *member,
                                    struct crew_environment *variables);

// The files that a far launcher sends along with a member. The caller frees the list.
MUST_CHECK weft_err run_list_files(const struct run_member *member, struct launch_file **files,
                                   size_t *count);

// ---- Shelf (cluster_run_shelf.c) ---------------------------------------------------------------------------

// Of a run that a launcher keeps; nothing to do otherwise.
MUST_CHECK weft_err run_open_shelf(struct run *run);
void run_close_shelf(struct run *run);

// ---- TensorBoard (cluster_run_tensorboard.c) -------------------------------------------------------------------

// Each does something only for the member that is TensorBoard.
void run_begin_tensorboard(struct run_member *member);
void run_watch_tensorboard(struct run_member *member, weft_bytes output);
void run_end_tensorboard(struct run_member *member, const struct launch_exit *end);
void run_free_tensorboard(struct run *run);

// ---- Output ------------------------------------------------------------------------------------------------

MUST_CHECK weft_err run_open_sinks(struct run *run);
void run_close_sinks(struct run *run);

// In the background: a file for each member. Nothing to do otherwise.
MUST_CHECK weft_err run_open_logs(struct run *run);
void run_close_logs(struct run *run);
bool run_has_unsent(const struct run *run);

// Sends as much of sink->outlet.unsent as goes now.
void sink_flush(struct run_sink *sink);

// The output of a member, from its start to its end.
void run_begin_streams(struct run_member *member);
void run_take_output(struct run_member *member, unsigned which, weft_bytes bytes);
void run_end_streams(struct run_member *member);

// ---- The life (cluster_run.c), as the output sees it ----------------------------------------------------------

// Ends the members for a reason that is not a member's fault; the exit code says which.
void run_ask_to_stop(struct run *run, int exit_code);
void run_leave_when_sent(struct run *run);

// ---- State ---------------------------------------------------------------------------------------------------

// Writes down how the members are. Nothing to do unless in the background.
void run_save(struct run *run);

// ---- Talk ----------------------------------------------------------------------------------------------------

void talk_started(struct run_member *member);
void talk_ended(struct run_member *member, const struct launch_exit *exit);
void talk_restart(struct run_member *member, uint32_t delay_ms);
void talk_given_up(struct run_member *member, int exit_code);
void talk_not_started(struct run_member *member);  // this thread's error says why
void talk_lost(struct run *run, const char *host, const char *why);
void talk_news(struct run *run, const char *text);
void talk_stopping(struct run *run, const char *why);
void talk_killing(struct run_member *member);
void talk_line(struct run_stream *stream, weft_bytes line, struct buf *out);
void talk_end(struct run *run);

// How the run has ended, for the records of the launcher.
void talk_conclude(struct run *run);

#endif
