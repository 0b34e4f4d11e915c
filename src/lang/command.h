// Commands as mapper, combiner and reducer: Hadoop Streaming's contract as an ordinary job.
//
//   map      records on standard input as they are in the file; key TAB value lines on standard output
//   combine  the lines of one map task, sorted by key, in stretches of at most 16 MiB
//   reduce   the lines of its part, sorted by key; its output is the output
//
// One process per task, started by the nursery. Its standard error is passed on, except lines that begin
// with "reporter:counter:GROUP,NAME,N" (a counter "GROUP.NAME") and "reporter:status:TEXT"; the tail of it
// is kept for the sentence of a failure. An exit code other than 0 fails the attempt. The pipes of a command
// are pumped by the slot's own thread.
#ifndef LANG_COMMAND_H
#define LANG_COMMAND_H

#include <weft/weft.h>

// The job behind `weft run --map`. Its own options, which are how the command line reaches the worker:
extern const weft_job command_job;
#define COMMAND_MAP 'm'            // the command; "": records are passed on as they are (identity)
#define COMMAND_COMBINE 'c'
#define COMMAND_REDUCE 'r'         // "": pairs are passed on; "aggregate": the built-in one
#define COMMAND_SHELL 'S'          // flag: by sh -c, else split into words as a shell would, no shell
#define COMMAND_KEEP 'K'           // flag: one process for all tasks of a slot
#define COMMAND_KEY_FIELDS 'k'     // how many fields of a map line are the key; default 1
#define COMMAND_SEPARATOR 's'      // between them; default TAB
#define COMMAND_PARTITION 'p'      // "hash", "fields:-k1,2"
#define COMMAND_COMPARE 'o'        // order of keys: "-k1,1 -k2,2nr"
#define COMMAND_ENVIRONMENT 'e'    // NAME=value for the commands; repeatable
#define COMMAND_DIRECTORY 'd'      // where commands run

#endif
