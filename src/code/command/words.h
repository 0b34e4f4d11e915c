// A command line as words, split as a POSIX shell splits, but with nothing expanded: text between
// quotes stays together, a backslash takes the next byte as it is. Thread: any, one owner per
// struct.
#ifndef CODE_COMMAND_WORDS_H
#define CODE_COMMAND_WORDS_H

#include "base/err.h"

struct command_words {
    const char **words;  // NULL-terminated; they point into `room`
    size_t count;
    char *room;
};

// INVALID_ARGUMENT: an open quote, no words at all, or a word such as | or > that only a shell would
// understand. command_words_fini in every case.
MUST_CHECK weft_err command_words_init(struct command_words *words, const char *line);

// The same as Hadoop Streaming splits: only blanks separate, a quote begins or ends a word wherever it is,
// empty quotes are not a word, a backslash is a byte like any other, nothing is for a shell.
MUST_CHECK weft_err command_words_init_hadoop(struct command_words *words, const char *line);

void command_words_fini(struct command_words *words);

// The first thing in the line, outside of quotes, that a shell would expand: "$HOME", "*", "`date`". It
// may well be meant as it is; it is worth a word when the command fails. Copied, "" when there is none.
void command_words_find_expansion(const char *line, char *found, size_t found_size);

#endif
