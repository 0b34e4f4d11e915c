// keep: runs that a launcher keeps on its own: the process that started one may end. A port beside launch.h.
//
//   keep_open -> keep_begin (an id) -> keep_submit; later and from anywhere keep_open -> keep_find, keep_report, keep_kill
//
// The launcher starts `weft` at one of its places, with the words that it is given and files beside it. That process has the members
// started by the same launcher, and keeps on a shelf, a directory in a store (store/store.h), what people want to know of the run.
// When it is lost, the launcher may start it again: another attempt. What the words mean is not the launcher's business.
// Calls wait for answers. Thread: one.
#ifndef LAUNCH_KEEP_H
#define LAUNCH_KEEP_H

#include "base/buf.h"
#include "base/err.h"

enum { KEEP_ID_BYTES = 64 };

struct keep_options {
    const char *url;              // of the launcher
    const char *const *settings;  // "NAME=value", NULL-terminated; NULL: none
    const char *name;             // of the run, for people; NULL: none
};

struct keep_made {
    char id[KEEP_ID_BYTES];
    struct buf shelf;  // its URL
    // The same as the process of the run knows them: the shelf, and the launcher.
    struct buf inner_shelf, inner_url;
};
void keep_made_fini(struct keep_made *made);  // zeroed is fine

// A file of this machine that lies in the directory of the process of the run.
struct keep_file {
    int fd;
    const char *name;    // here, for sentences
    const char *target;  // there; without a slash
    uint64_t bytes;
    bool is_tree;  // a tar archive, which becomes a directory
    const uint8_t *
        hash;  // SHA-256 of a file that is worth being kept for other runs, 32 bytes; NULL: it goes with the run
};

// A word, or the end of one, that stands for the directory of the process whose content the launcher shows as its logs.
#define KEEP_LOGS "{logs}"

struct keep_run {
    const char *const *words;       // after "weft", NULL-terminated
    const struct keep_file *files;  // at least one
    size_t file_count;
};

enum keep_state {
    KEEP_WAITING,  // its process has not started yet
    KEEP_RUNNING,
    KEEP_SUCCEEDED,
    KEEP_FAILED,
    KEEP_KILLED,  // by a person or the launcher
};

struct keep_report {
    enum keep_state state;
    uint32_t attempt;  // from 1; 0: none yet
    struct buf why;    // it waits, or has failed: a sentence; empty: there is nothing to say
    struct buf where;  // a page about it; empty: there is none
};
void keep_report_fini(struct keep_report *report);  // zeroed is fine

struct keep;

// What a launcher has that keeps runs (struct launcher).
struct keeper {
    weft_err (*open)(struct keep **keep, const struct keep_options *options);
    void (*close)(struct keep *keep);
    weft_err (*begin)(struct keep *keep, struct keep_made *made);
    weft_err (*submit)(struct keep *keep, const struct keep_made *made, const struct keep_run *run);
    bool (*abandon)(struct keep *keep, const struct keep_made *made);
    weft_err (*find)(struct keep *keep, const char *id, struct buf *shelf);
    weft_err (*report)(struct keep *keep, const char *id, struct keep_report *report);
    weft_err (*kill)(struct keep *keep, const char *id, const char *why);
    // In the process that looks after a run: makes the files that have come with it in another way than as files. Does nothing in other processes.
    weft_err (*arrive)(void);
    const char *more;  // a command that shows more about a run, for people; its id follows
};

// What every keep begins with.
struct keep {
    const struct keeper *keeper;
};

// Texts are borrowed until close.
MUST_CHECK static inline weft_err keep_open(const struct keeper *keeper, struct keep **keep,
                                            const struct keep_options *options)
{
    return keeper->open(keep, options);
}

static inline void keep_close(struct keep *keep)  // NULL is fine
{
    if (keep)
        keep->keeper->close(keep);
}

// An id for a new run, and its shelf, which is there and empty. Nothing runs yet.
MUST_CHECK static inline weft_err keep_begin(struct keep *keep, struct keep_made *made)
{
    return keep->keeper->begin(keep, made);
}

// Sends the files and hands the run over. From then on it needs no process of ours. Once.
MUST_CHECK static inline weft_err keep_submit(struct keep *keep, const struct keep_made *made,
                                              const struct keep_run *run)
{
    return keep->keeper->submit(keep, made, run);
}

// After keep_begin, when nothing is to be submitted or that has failed: the shelf and what lies on it go. False: an answer was lost, and the
// launcher may have taken the run: all of it stays.
static inline bool keep_abandon(struct keep *keep, const struct keep_made *made)
{
    return keep->keeper->abandon(keep, made);
}

// Appends the URL of the shelf of a run. INVALID_ARGUMENT: that is not an id.
MUST_CHECK static inline weft_err keep_find(struct keep *keep, const char *id, struct buf *shelf)
{
    return keep->keeper->find(keep, id, shelf);
}

// NOT_FOUND: the launcher does not know it, or has forgotten it.
MUST_CHECK static inline weft_err keep_report(struct keep *keep, const char *id,
                                              struct keep_report *report)
{
    return keep->keeper->report(keep, id, report);
}

// Ends the run without asking its members. One that has ended stays as it is.
MUST_CHECK static inline weft_err keep_kill(struct keep *keep, const char *id, const char *why)
{
    return keep->keeper->kill(keep, id, why);
}

#endif
