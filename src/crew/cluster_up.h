// cluster_up: clusters that run in the background, each known by a name.
//
// The state of one is in ${XDG_STATE_HOME:-~/.local/state}/weft/clusters/NAME: `lock`, held by the
// process that looks after the members; state.json; a log for each member, weft.log for what weft says.
// It stays when all members have ended, until the cluster is taken down or put up again.
// Thread: the only one of the process.
#ifndef CREW_CLUSTER_UP_H
#define CREW_CLUSTER_UP_H

#include "crew/cluster_run.h"

#define CLUSTER_NAME_DEFAULT "default"

// Appends the directory in which those of all clusters lie.
MUST_CHECK weft_err cluster_place_of_all(struct buf *path);

// Appends the directory of a cluster. INVALID_ARGUMENT for a name that is none.
MUST_CHECK weft_err cluster_place(struct buf *path, const char *name);

// Starts all members in the background and returns when they are started. In the process that stays with
// them it returns as well, at their end, with *is_inside: that process has to exit with *exit_code.
// ALREADY_EXISTS: a cluster of that name is up. Otherwise as cluster_run.
MUST_CHECK weft_err cluster_up(const char *name, const struct crew_spec *spec,
                               struct cluster_run_options *options, bool *is_inside,
                               int *exit_code);

// Asks the members to end, waits, and forgets the cluster. With `on`, the URL of a launcher, `name` is an id there. Of a cluster that a launcher
// keeps the logs stay: appends the URL of their directory. NOT_FOUND.
MUST_CHECK weft_err cluster_down(const char *name, const char *on, struct buf *shelf);

// Appends how the members of a cluster are, or of all for NULL: a table, or an object per cluster and line. With `on`, the URL of a
// launcher, `name` is an id there. NOT_FOUND when there is no cluster of that name; *count says how many there were.
MUST_CHECK weft_err cluster_status(struct buf *text, const char *name, const char *on, bool json,
                                   size_t *count);

#endif
