// tool: a process that is not a member of a cluster but uses the resources of its members, or of a broker:
// the command line, scripts, watchers. No member waits for a tool. A tool waits for its host as long as
// its patience lasts, which is short; a host that it has met and lost it waits for as members do, because
// it may be restarted, and the work of the tool continues then.
//
// Where the host is: an address (--at, or WEFT_AT), else the members that TF_CONFIG names, else this
// machine. With an address a path may be a name alone. Thread: as weft.h says of clusters.
#ifndef CLIENT_TOOL_H
#define CLIENT_TOOL_H

#include "client/member.h"
#include "cluster/address.h"

enum { TOOL_PATIENCE_MS = 5000, TOOL_SILENCE_MS = 2000 };
#define TOOL_HOST_DEFAULT "localhost"  // where weft host is, if nothing else is said

struct tool_options {
    const char *at;          // HOST[:PORT]; NULL: WEFT_AT, else TF_CONFIG, else TOOL_HOST_DEFAULT
    const char *token_file;  // NULL: #TOKEN, else as secret_load
    uint32_t patience_ms;    // with a host that was not met yet; 0: TOOL_PATIENCE_MS
};

// Takes the #TOKEN off the addresses among the words, before anybody else sees them in the list of
// processes: overwrites it there and keeps it for tool_open. Call first in main().
void tool_hide_tokens(int argc, char **argv);

// INVALID_ARGUMENT: the host is not named well. Nothing is connected yet.
MUST_CHECK weft_err tool_open(const struct tool_options *options, weft_cluster **cluster);

// Says goodbye to all hosts that were used: elements that were leased there return at once. NULL is fine.
void tool_close(weft_cluster *cluster);

// Goodbye alone, while other threads still use the cluster: they may only end after it.
void tool_say_goodbye(weft_cluster *cluster);

// Adds what to do next to the sentence of a failure, where there is something.
weft_err tool_explain(weft_cluster *cluster, weft_err err);

// ---- Lists of resources ----------------------------------------------------------------------------------

struct tool_resource {
    uint8_t kind;  // enum call_kind
    char *path;    // by which this tool opens it
};

struct tool_list {
    VEC(struct tool_resource) items;  // sorted by path, then kind
};

const char *tool_kind_name(uint8_t kind);  // "queue"

// All resources on the host, or of all members; of one member when `member` ("/files/0") is not NULL.
MUST_CHECK weft_err tool_list(weft_cluster *cluster, const char *member, struct tool_list *list);
void tool_list_fini(struct tool_list *list);

// NOT_FOUND with a guess unless the resource exists. For commands that only look: opening would create it.
MUST_CHECK weft_err tool_check(const struct remote *remote);

// For a tool that has waited TOOL_SILENCE_MS for an item: says so on standard error if nothing was ever pushed
// to that queue, with a name that may have been meant. A producer may come later, so it is not a failure.
void tool_tell_waiting(struct remote *queue);

#endif
