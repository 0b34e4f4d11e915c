// cluster_keep: clusters that a launcher keeps (launch/keep.h): sent there by one process, looked after by another one that the launcher
// starts, ended by a third.
//
//   cluster_keep_send   here: the description, and the files that it names, in one archive
//   cluster_keep_run    there: what weft cluster run does, with its state and logs on the shelf
//   cluster_keep_end    anywhere: asks by the shelf, and after a while the launcher
//
// Thread: the only one of the process.
#ifndef CREW_CLUSTER_KEEP_H
#define CREW_CLUSTER_KEEP_H

#include "crew/cluster_run.h"
#include "crew/view.h"

// Gives the cluster to the launcher of options->on, and remembers it under a name (NULL: its id). Appends its id. It may wait long for a place:
// that it runs is not said. ALREADY_EXISTS: a cluster of that name is up.
MUST_CHECK weft_err cluster_keep_send(const char *name, const struct crew_spec *spec,
                                      const struct cluster_run_options *options, struct buf *id);

// Whether a name may be given to another cluster: the one that had it has ended. ALREADY_EXISTS.
MUST_CHECK weft_err cluster_keep_check_name(const char *name);

// The same by a launcher that is open, without a record.
MUST_CHECK weft_err cluster_keep_give(struct keep *keep, const char *name,
                                      const struct crew_spec *spec,
                                      const struct cluster_run_options *options,
                                      struct keep_made *made);

// Looks after the members of a cluster that was sent. Output of this process goes to a log in `directory`, which is made. Otherwise as cluster_run.
MUST_CHECK weft_err cluster_keep_run(const struct crew_spec *spec,
                                     struct cluster_run_options *options, const char *shelf,
                                     const char *directory, int *exit_code);

// Asks the members to end, and waits for that: as long as they may take, and then not any more. Its logs stay; its record goes.
MUST_CHECK weft_err cluster_keep_end(struct view *view);

#endif
