// namenode: the calls of HDFS about names, to whichever of several name nodes is active.
//
// A name node that is in standby, restarts or cannot be reached is tried again with the others, for as long as `patience_ms`; but one that has never
// answered is not waited for when it is the only one: its name is wrong more often than not. Calls that change something are sent again under
// the same number, so that the name node carries them out once. Thread: one.
#ifndef STORE_HDFS_NAMENODE_H
#define STORE_HDFS_NAMENODE_H

#include "store/hdfs/site.h"
#include "wire/hadoop.pb-c.h"

struct namenode;

// `user`: NULL is HADOOP_USER_NAME, or the user of this process. Connects with the first call.
MUST_CHECK weft_err namenode_new(const struct site *site, const char *user, uint32_t patience_ms,
                                 struct namenode **namenode);
void namenode_free(struct namenode *namenode);  // NULL is fine

// Of the one that answered last.
const struct net_address *namenode_web(const struct namenode *namenode);
const char *namenode_user(const struct namenode *namenode);
// A name for this process, at data nodes.
const char *namenode_client(const struct namenode *namenode);

// ---- Calls. Messages that they give are freed by hdfs_free. NOT_FOUND names the path. -------------------------------

MUST_CHECK weft_err namenode_stat(struct namenode *namenode, const char *path,
                                  Hadoop__FileInfo **info);

// Calls visit with every entry of a directory, by name; a file has itself as its only entry, with the name "".
typedef weft_err namenode_visit_fn(void *owner, const Hadoop__FileStatus *entry);
MUST_CHECK weft_err namenode_list(struct namenode *namenode, const char *path,
                                  namenode_visit_fn *visit, void *owner);

// All blocks of a file.
MUST_CHECK weft_err namenode_locate(struct namenode *namenode, const char *path,
                                    Hadoop__BlockLocations **blocks);

// NOT_FOUND: nothing is there. FAILED_PRECONDITION: a directory that is not empty, and not is_recursive.
MUST_CHECK weft_err namenode_remove(struct namenode *namenode, const char *path, bool is_recursive);
// With those above it. One that is there stays as it is.
MUST_CHECK weft_err namenode_make_directory(struct namenode *namenode, const char *path,
                                            uint32_t mode);
MUST_CHECK weft_err namenode_set_mode(struct namenode *namenode, const char *path, uint32_t mode);
// ALREADY_EXISTS: there is a file of that name, and not `overwrites`.
MUST_CHECK weft_err namenode_rename(struct namenode *namenode, const char *from, const char *to,
                                    bool overwrites);

void hdfs_free(void *message);  // NULL is fine

#endif
