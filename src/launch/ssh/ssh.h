// ssh: the launcher of hosts that can be reached by ssh: ssh://HOST,HOST... One ssh for each host, with an agent at its end
// (launch/far/far.h). Keys, known hosts and names are those of the user's ssh and its configuration.
#ifndef LAUNCH_SSH_SSH_H
#define LAUNCH_SSH_SSH_H

#include "base/vec.h"
#include "launch/launch.h"

extern const struct launcher launch_ssh;

// The hosts of a URL, each as ssh takes it, with its port.
struct ssh_host {
    char *name;   // "user@host"; an IPv6 address without brackets
    char *port;   // NULL: ssh's own
    char *label;  // for people: the name, and the port if there is one
};
struct ssh_hosts {
    VEC(struct ssh_host) list;
};

// INVALID_ARGUMENT. ssh_hosts_fini in every case; `hosts` starts zeroed.
MUST_CHECK weft_err ssh_hosts_read(struct ssh_hosts *hosts, const char *url);
void ssh_hosts_fini(struct ssh_hosts *hosts);

// Why ssh ended, from its last words: sets the error "WHY\n  try: ...". *is_passing: another try may help.
MUST_CHECK weft_err ssh_explain(const char *host, const char *errors,
                                const struct process_exit *exit, bool was_greeted,
                                bool *is_passing);

#endif
