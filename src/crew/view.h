// view: what a cluster in the background lets people see: its state and its logs, in a directory of this machine, or on the shelf of a
// launcher that keeps it (launch/keep.h).
//
//   NAME/lock       here: held by the process that looks after the members
//   NAME/kept.json  or: which launcher keeps it, under which id, and where its shelf is
//   state.json, ROLE_INDEX.log, weft.log   in that directory, or on the shelf
//
// Thread: the only one of the process.
#ifndef CREW_VIEW_H
#define CREW_VIEW_H

#include "launch/keep.h"
#include "launch/launch.h"
#include "store/store.h"

enum { VIEW_STATE_BYTES_MAX = 16 << 20 };  // of state.json: 160 bytes for each of 100,000 members

// How a launcher keeps a cluster, as this user's directory remembers it.
struct view_record {
    char *on, *id, *shelf;
};
void view_record_fini(struct view_record *record);  // zeroed is fine
// Makes the directory for the record of a cluster; NULL: that of all clusters.
MUST_CHECK weft_err view_make_place(const char *name);
MUST_CHECK weft_err view_record_save(const char *name, const struct view_record *record);
// Of the cluster with that id: its name, which the caller frees, and its record.
MUST_CHECK weft_err view_record_find(const char *id, char **name, struct view_record *record,
                                     bool *is_found);
// *is_kept: a launcher keeps the cluster of that name.
MUST_CHECK weft_err view_record_load(const char *name, struct view_record *record, bool *is_kept);

struct view {
    char *name;            // as people call it: its name, or its id
    struct buf directory;  // its path, or the URL of its shelf
    struct buf lock;       // here
    struct view_record record;
    struct keep *keep;          // NULL: it is here
    struct store_place *place;  // its shelf
    struct keep_report report;  // of the last view_look
    bool is_forgotten;          // the launcher does not know it any more
};

// A cluster by its name or its id; with `on`, the URL of a launcher, by its id there. NOT_FOUND; INVALID_ARGUMENT: this launcher keeps none.
// To be closed in every case.
MUST_CHECK weft_err view_open(struct view *view, const char *name, const char *on);
// The same of a launcher that is open already, which becomes the view's. Its record stays.
MUST_CHECK weft_err view_open_kept(struct view *view, struct keep *keep);
void view_close(struct view *view);

static inline bool view_is_kept(const struct view *view)
{
    return view->keep != NULL;
}

// Whether the cluster still runs, or waits to. UNAVAILABLE...: that cannot be said now.
MUST_CHECK weft_err view_look(struct view *view, bool *is_alive);

// A whole file of it, such as state.json. NOT_FOUND: there is none yet.
MUST_CHECK weft_err view_load(struct view *view, const char *file, size_t bytes_max,
                              struct buf *text);

// How long a file is now, and its bytes. NOT_FOUND: there is none yet.
MUST_CHECK weft_err view_measure(struct view *view, const char *file, uint64_t *bytes);
MUST_CHECK weft_err view_open_file(struct view *view, const char *file, struct store_file *opened);

// "map/0" -> "map_0.log", "weft" -> "weft.log".
void view_name_log(const char *member, struct buf *file);

#endif
