// tool_words: the command lines of tools: the options that all of them have, and words.
#ifndef CLI_TOOL_WORDS_H
#define CLI_TOOL_WORDS_H

#include "base/args.h"
#include "cli/cli.h"
#include "client/tool.h"

enum { TOOL_OPTION_AT = 1000, TOOL_OPTION_TOKEN, TOOL_OPTION_WAIT, TOOL_OPTION_HELP };

// The last options in the table of every tool.
#define TOOL_OPTIONS                                                                                \
    {TOOL_OPTION_AT, 0, "at", "HOST[:PORT]",                                                        \
     "the address of the host (default port 18125); also HOST:PORT#TOKEN. Without it WEFT_AT, "     \
     "else TF_CONFIG, where the path names a member, else localhost"},                              \
        {TOOL_OPTION_TOKEN, 0, "token-file", "FILE", "the file with the host's secret"},            \
        {TOOL_OPTION_WAIT, 0, "wait", "TIME",                                                       \
         "how long to wait for a host at first (default 5s); after a lost connection it is 1m, or " \
         "TIME if longer"},                                                                         \
        {TOOL_OPTION_HELP, 'h', "help", NULL, "this help"},                                         \
    {                                                                                               \
        0                                                                                           \
    }

struct tool_words {
    const struct args_option *options;
    // Takes an option that not all tools have; NULL: there are none.
    weft_err (*read_option)(void *owner, int id, const char *text);
    void *owner;
    bool takes_negatives;  // -5 is a word

    // The results of reading.
    struct tool_options tool;
    VEC(const char *) words;
    bool wants_help;
    weft_cluster *cluster;
};

// Reads the words. From `fewest` to `most` of them are not options; `usage` is for the message.
MUST_CHECK weft_err tool_words_read(struct tool_words *words, char *const *argv, size_t count,
                                    size_t fewest, size_t most, const char *usage);

// The word at `index`; NULL: there are fewer.
const char *tool_words_at(const struct tool_words *words, size_t index);

// Opens the tool, and the resource of the first word. With `is_there` the resource must exist.
MUST_CHECK weft_err tool_words_open(struct tool_words *words, enum call_kind kind,
                                    weft_bytes attributes, bool is_there, struct remote *remote);

// Leaves the host, frees everything, and prints a failure; returns the exit code. OUT_OF_RANGE, the
// end of a queue, is only the exit code, without a message.
int tool_words_end(struct tool_words *words, struct remote *remote, weft_err err);

// The same, and prints `out` if there was no failure; frees it.
int tool_words_print(struct tool_words *words, struct remote *remote, weft_err err,
                     struct buf *out);

// Appends a line for a resource; `owner` is that of the words.
typedef weft_err tool_line_fn(void *owner, const struct tool_resource *resource, struct buf *out);

// Appends the lines of all resources of the kind (0: of all kinds) on the host, or of all members;
// of one member if the words name one.
MUST_CHECK weft_err tool_words_list(struct tool_words *words, uint8_t kind, tool_line_fn *append,
                                    struct buf *out);

// For tables of options: reads a number, a time; checks the key of a change that counts once.
MUST_CHECK weft_err tool_check_key(const char *key);
MUST_CHECK weft_err tool_read_count(const char *option, const char *text, uint64_t max,
                                    uint64_t *value);
MUST_CHECK weft_err tool_read_time(const char *option, const char *text, uint32_t *ms);

#endif
