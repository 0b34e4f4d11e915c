// args: the words of a command line, read without getopt, whose state is global and which cannot be
// fuzzed. Tables of options are data; the same tables make the help.
//
// Also the job's own options: `struct weft_args`, what weft_option() and weft_argument() look into.
// The driver takes the job's words out of the command line and sends them to the worker, which reads
// them again by args_parse_job: both sides see the same. Thread: any, one owner per struct.
#ifndef BASE_ARGS_H
#define BASE_ARGS_H

#include "base/buf.h"
#include "base/err.h"

// ---- Reading words -------------------------------------------------------------------------------

enum { ARGS_HEADING = -1 };

struct args_option {
    int id;             // what the caller switches by; > 0; or ARGS_HEADING, with only `help`
    char letter;        // 0: only the long form
    const char *name;   // without dashes; NULL: only the letter
    const char *value;  // the name of its value in the help, such as "SIZE"; NULL: a flag
    const char *help;   // NULL: works, but is not shown
};

// What a letter or name that is not understood is answered with: what to write instead. The end of a list
// has neither.
struct args_hint {
    char letter;          // 0: only the name
    const char *name;     // without dashes; NULL: only the letter
    const char *instead;  // the last line of the message
};

// A table ends with an option whose id is 0.
struct args_reader {
    char *const *words;
    size_t count, at;
    const struct args_option *options;  // ours
    const char *job_letters;            // the job's, as getopt's "ik:"; they win. NULL: none
    const struct args_hint *hints;      // for words that are neither; NULL: none
    const char *cluster;                // the rest of "-abc"; NULL: at the next word
    bool has_ended;                     // "--" was seen: only words follow
    bool takes_negatives;               // -5 is a word; set by the caller after args_start
    bool is_unknown;                    // why args_next failed: there is no such option
};

enum args_kind { ARGS_END, ARGS_WORD, ARGS_OPTION, ARGS_JOB_LETTER };

struct args_item {
    enum args_kind kind;
    const struct args_option *option;  // ARGS_OPTION
    char letter;                       // ARGS_JOB_LETTER
    const char *text;                  // the word, or the value ("" for a flag); borrowed
};

void args_start(struct args_reader *reader, char *const *words, size_t count,
                const struct args_option *options);

// The next item. An unknown option or a missing value is INVALID_ARGUMENT with a guess.
MUST_CHECK weft_err args_next(struct args_reader *reader, struct args_item *item);

// The candidate nearest to a mistyped word, NULL when none is near. `names` ends with NULL.
const char *args_guess(const char *word, const char *const *names);

// The option of a table with this letter; NULL when there is none.
const struct args_option *args_find_letter(const struct args_option *options, char letter);

// Appends the help of a table: "  -n, --slots N      text", long texts broken at 90 columns, headings as
// they are. The heading `but` is left out with what stands under it; NULL: nothing is.
void args_format_help(struct buf *buf, const struct args_option *options, const char *but);

// ---- The job's own ---------------------------------------------------------------------------------

struct weft_args {
    struct args_value {
        char letter;
        char *text;
    } * values;  // in the order given
    size_t value_count, value_capacity;
    char **arguments;
    size_t argument_count, argument_capacity;
};

void args_fini(struct weft_args *args);

// Adds a copy; RESOURCE_EXHAUSTED: out of memory.
MUST_CHECK weft_err args_add_option(struct weft_args *args, char letter, const char *text);
MUST_CHECK weft_err args_add_argument(struct weft_args *args, const char *text);

// Whether the job's getopt string has the letter, and whether that takes a value.
bool args_has_letter(const char *letters, char letter, bool *takes_value);

// How many arguments the job expects with these options: none when one of argument_options was given.
size_t args_expected(const weft_job *job, const struct weft_args *args);

// Reads the job's own words (options and arguments, no inputs) as the driver wrote them or a program
// gave them to weft_submit. More or fewer arguments than expected are INVALID_ARGUMENT.
// Starts from an empty struct; args_fini in every case.
MUST_CHECK weft_err args_parse_job(const weft_job *job, char *const *words, size_t count,
                                   struct weft_args *args);

#endif
