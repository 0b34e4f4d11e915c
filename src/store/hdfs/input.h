// input: files in HDFS as inputs of a job: finding them, and reading them through the port (store/store.h).
#ifndef STORE_HDFS_INPUT_H
#define STORE_HDFS_INPUT_H

#include "store/store.h"

// Of a URL without a pattern. The file keeps a connection to the name node, and one to a data node.
MUST_CHECK weft_err hdfs_input_open(const char *url, const char *name, struct store_file *file);

struct hdfs_found {
    const char *url;
    uint64_t size;
    int64_t mtime_ns;
    uint64_t number;  // of the file, as an inode's
};

struct hdfs_find_calls {
    weft_err (*take)(void *owner, const struct hdfs_found *found);
    // A name in a directory that begins with _: it is left out. Names with a dot are left out without a word.
    weft_err (*take_marked)(void *owner, const char *url);
};

// All files that a URL means: a file, a directory with the files below it in the order of their names, or a pattern. NOT_FOUND.
MUST_CHECK weft_err hdfs_find(const char *url, const struct hdfs_find_calls *calls, void *owner);

// Whether a URL names the same as another one, or something below it. False for URLs that cannot be read.
bool hdfs_lies_in(const char *url, const char *above);

bool hdfs_is_pattern(const char *url);

#endif
