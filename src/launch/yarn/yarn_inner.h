// yarn_inner: the process that looks after a run inside of YARN: its command, its configuration, its token.
//
// A node manager may have no configuration of Hadoop, or another one than the user, and the static program may have no resolver. So
// the process gets the addresses of all services that it needs, as numbers where that can be, in a configuration of its own.
// Pure, but for looking names up. Thread: any.
#ifndef LAUNCH_YARN_YARN_INNER_H
#define LAUNCH_YARN_YARN_INNER_H

#include "base/buf.h"
#include "launch/yarn/yarn_site.h"
#include "store/hdfs/site.h"

// The name of the user's token among the secrets of the process (wire/hadoop/token_file.h).
#define YARN_INNER_TOKEN "weft.token"

// A small archive of files is a secret, too, under this name with that of its directory after it: an upload to HDFS takes 0.4 s
// in most cases, however small it is.
#define YARN_INNER_FILES "weft.files."
enum { YARN_INNER_FILES_BYTES_MAX = 32 << 10 };

struct yarn_inner {
    const struct yarn_site *yarn;
    const struct site *hdfs;
    const char *authority;  // of the HDFS, as URLs name it
    const char *user;
};

// Appends the authority by which the process names that HDFS, and the URL by which it names the launcher.
void yarn_inner_name_hdfs(const struct yarn_inner *inner, struct buf *authority);
void yarn_inner_name_yarn(const struct yarn_inner *inner, struct buf *url);

// Appends the command of its container, for bash: the configuration, then weft with these words (launch/keep.h).
void yarn_inner_write_command(const struct yarn_inner *inner, const char *const *words,
                              struct buf *command);

// Inside: writes the user's token, which came with the credentials of the process, to a file for members to get. FAILED_PRECONDITION: this is
// no such process.
MUST_CHECK weft_err yarn_inner_take_token(const char *path);

// Inside: makes the files of such archives, in directories of the current one. Elsewhere it does nothing. DATA_LOSS, ...: they are damaged.
MUST_CHECK weft_err yarn_inner_take_files(void);

// Inside: which attempt this is, from 1, by CONTAINER_ID. 0: this is no such process.
uint32_t yarn_inner_attempt(void);

#endif
