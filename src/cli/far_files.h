// far_files: what the verbs for files in HDFS share: their words, their name nodes, and ending by a signal.
#ifndef CLI_FAR_FILES_H
#define CLI_FAR_FILES_H

#include "base/args.h"
#include "store/hdfs/glob.h"
#include "store/hdfs/url.h"

enum { FAR_OPTION_HELP = 1, FAR_OPTION_FIRST };  // ids of a verb's own options begin there

struct far_files {
    const char *verb;
    struct namenode *namenode;  // of the last URL
    struct hdfs_url url;        // the last one
    char authority[HDFS_AUTHORITY_BYTES];
};

// Words other than options, and which options were given.
struct far_words {
    const char **items;  // of the caller's words
    size_t count;
    uint32_t options;  // a bit for each id
};

// Exit code -1: continue; else the verb has ended (help, or a wrong word). `words` is freed by far_words_fini.
int far_words_read(const char *verb, const struct args_option *options, char *const *words,
                   size_t count, struct far_words *read);
void far_words_fini(struct far_words *words);
bool far_words_has(const struct far_words *words, int option);

// Reads the URL into files->url and finds its name node, the same one again if it is that of the URL before.
MUST_CHECK weft_err far_files_find(struct far_files *files, const char *url);
// Exit code of the verb: of the failure, of a signal that has come, or 0.
int far_files_end(struct far_files *files, weft_err code);

// Prints a sentence about one of several files, and returns its exit code: the verb continues with the others.
int far_files_complain(weft_err code);

// "hdfs://HOST:PORT/path" of a path there.
void far_files_append_url(const struct far_files *files, const char *path, struct buf *url);

// CANCELLED, once a signal has come.
MUST_CHECK weft_err far_files_check_signal(void);

// The last name of a path.
const char *far_last_name(const char *path);

#endif
