// Commands as mapper, combiner and reducer: Hadoop Streaming's contract as an ordinary job.
//
//   map      records on standard input as they are in the file; key TAB value lines on standard output
//   combine  the lines of one map task, sorted by key, in stretches of at most 16 MiB
//   reduce   the lines of its part, sorted by key; its output is the output
//
// One process per task, started by the nursery: a task of small files gives it many of them, one
// after the other, each with a record's end at its end (a line end; that of --delimiter and -0).
// Commands that use the name of their file have a process per file (COMMAND_PER_FILE). Standard
// error is passed on, except lines that begin with "reporter:counter:GROUP,NAME,N" (a counter
// "GROUP.NAME") and "reporter:status:TEXT"; its end is kept for the message of a failure. An exit
// code other than 0 fails the attempt; a command that stops reading early does not. The slot's own
// thread pumps the pipes of a command.
//
// A kept mapper (COMMAND_KEEP) serves all tasks of a slot. After the records of a task it gets a
// line of the one byte 0x1e; it prints the rest of its output for the task and then the same line,
// flushed. Its input ends when there are no more tasks. A record that is that line, and such a line
// in its own output, fail the attempt. The variables about the task are those of its first one.
#ifndef CODE_COMMAND_COMMAND_H
#define CODE_COMMAND_COMMAND_H

#include <weft/weft.h>

// The job of `weft run --map`. Its own options, which carry the command line to the worker:
extern const weft_job command_job;
enum {
    COMMAND_MAP = 'm',       // the command; "": records are split into pairs as they are (identity)
    COMMAND_COMBINE = 'c',   // "aggregate": the built-in one
    COMMAND_REDUCE = 'r',    // "": pairs are passed on; "aggregate"; without it: map-only
    COMMAND_SHELL = 'S',     // flag: by sh -c, else split into words as a shell would, no shell
    COMMAND_KEEP = 'K',      // flag: one mapper for all tasks of a slot
    COMMAND_PER_FILE = 'F',  // flag: a mapper for each file, whose environment names it
    COMMAND_KEY_FIELDS = 'k',  // how many fields of a map line are the key; default 1
    COMMAND_SEPARATOR = 's',   // between them, up to 15 bytes; default TAB
    COMMAND_PARTITION = 'p',  // "hash" (as Hadoop), "fields:-k1,2", "fields:" (hash of a Java text)
    COMMAND_COMPARE = 'o',    // order of keys: "-k1,1 -k2,2nr"
    COMMAND_ENVIRONMENT =
        'e',                  // NAME=value for the commands; repeatable, the last of a name counts
    COMMAND_DIRECTORY = 'd',  // where commands run
    COMMAND_FILE = 'f',       // a file that is brought there (code/command/files.h); repeatable
    // Mostly for `weft streaming`:
    COMMAND_REDUCE_SEPARATOR = 'i',  // of key and value for combiner and reducer; default as 's'
    COMMAND_FIELD_SEPARATOR = 't',   // of fields in a key for 'o' and 'p'; default as 's'
    COMMAND_INPUT = 'I',             // "offset": TAB and the record after its offset;
                                     // "pairs": a record without a TAB gets one; default: as it is
    COMMAND_ANY_EXIT = 'x',          // flag: an exit code other than 0 is not a failure
    // Flag: as Hadoop Streaming does it, to the byte.
    // - words end at quotes, empty quotes are none; a program is looked for in 'd' first
    // - lines end with CR, too, also those that commands print
    // - output lines are split into key and value (of a map-only job by 'k' and 's', of a reducer and a
    //   combiner by 'n' and 'R') and joined by 'O': a line without a separator gets one at its end
    // - a reducer runs even if its part is empty, but its output is dropped then
    // - mapreduce_map_input_file is file:/PATH
    COMMAND_HADOOP = 'H',
    COMMAND_REDUCE_KEY_FIELDS = 'n',     // default 1
    COMMAND_REDUCE_OUT_SEPARATOR = 'R',  // default TAB
    COMMAND_OUTPUT_SEPARATOR = 'O',      // default TAB
};

// Whether the command, or a script or program that it names, mentions the variables about its input
// file. It is searched for their name, map_input_: a command that gets the name from elsewhere is
// not found.
bool command_asks_for_file(const char *line);

struct nursery;

// The nursery of this process, which starts its commands; the worker sets it before its threads
// start.
void command_set_nursery(struct nursery *nursery);
struct nursery *command_nursery(void);

// The id ("job_...") and the name of the job, for the commands. Kept by reference; default
// job_local_0001 and "weft".
void command_set_job(const char *id, const char *name);

#endif
