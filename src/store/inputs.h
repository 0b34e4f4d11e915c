// inputs: turns the INPUT words of a command into the ordered list of files that a job reads.
//
//   FILE        itself
//   DIR         all files below, in byte order of their names (`find -L DIR | LC_ALL=C sort`); names that are
//               hidden (.name) or marked as no data (_name) are left out, links are followed, one that leads
//               back up is left out, a FIFO or a socket is left out
//   'a/*.txt'   a pattern the shell did not expand; one that matches nothing is an error, and marked
//               names match only where it says _ itself
//   @names.txt  one FILE or DIR per line, in that order; @- reads the names from standard input
//   hdfs://...  a file, directory or pattern in Hadoop's file system (hdfs/url.h)
//   -           standard input
//
// What cannot be read at any offset (a pipe, a FIFO, a terminal), or has more or less in it than it says (a
// file of /proc or /sys), is copied to a nameless file in `tmp` first. The worker is another process: such an input's
// path is /proc/PID/fd/N of this one, good as long as the struct lives. Thread: one owner. Waits while it copies, so call it before
// signals are taken over: Ctrl-C then ends the process, and nothing is left.
#ifndef STORE_INPUTS_H
#define STORE_INPUTS_H

#include "base/err.h"
#include "sys/file/wait_limit.h"

// The list of bad records, unless it is named: a name that is not read as data.
#define INPUTS_BAD_LIST "_weft-bad-records.jsonl"

struct input {
    const char *name;  // as the user gave or the search found it; "-" for standard input
    const char *path;  // what to open; may be the same pointer
    uint64_t size;     // bytes when it was looked at
    int64_t mtime_ns;  // likewise; 0: it was copied, and cannot be read again by another run
    uint64_t inode;    // likewise
};

// Files that were left out though the user may have meant them.
struct inputs_aside {
    size_t count;
    const char *first;
};

struct inputs {
    struct input *items;
    size_t count, capacity;
    uint64_t total_bytes;
    struct inputs_aside marked;   // names that begin with _, other than those of outputs
    struct inputs_aside loops;    // links that lead back up
    struct inputs_aside missing;  // with skips_missing: names and links without a file
    struct inputs_aside own;      // what the run itself writes
    struct inputs_state *state;   // strings and open files
};

struct inputs_request {
    const char *const *words;  // not looked at beyond word_count
    size_t word_count;
    const char *tmp;         // for what must be copied
    struct wait_limit wait;  // for the writer of a pipe, and for its end
    int answer_fd;  // a pipe: when its reader has gone, copying ends with CANCELLED; 0: none
    // What the run itself writes, which need not be there: files, and directories with all in them. In a
    // directory or matched by a pattern they are left out, named they are refused, except
    // for a file that is the only word. The same file or directory under another name is found, too.
    const char *const *own;
    size_t own_count;
    bool stdout_is_output;  // then standard output is one of them, if it is a plain file
    bool
        wants_text;  // then a file that is compressed by its name only, and is not text, is refused
    bool skips_missing;  // continue without missing files; nothing left is still NOT_FOUND
};

// Expands all words into an empty struct. No word is INVALID_ARGUMENT; missing is NOT_FOUND,
// unreadable PERMISSION_DENIED, all before anything runs. Call inputs_fini in every case.
MUST_CHECK weft_err inputs_expand(struct inputs *inputs, const struct inputs_request *request);
void inputs_fini(struct inputs *inputs);

#endif
