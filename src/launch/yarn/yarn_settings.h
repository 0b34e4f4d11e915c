// yarn_settings: what a user can say of an application of YARN besides its members: "NAME=value". Pure. Thread: any.
//
//   name=TEXT        in YARN's lists; else the name of the run
//   type=TEXT        likewise (default weft)
//   tags=A,B         at most 10
//   priority=N       among the applications of the queue
//   lifetime=TIME    YARN ends it after that
//   label=TEXT       of the nodes, for members without a constraint of their own
//   viewers=TEXT     who may see it and its logs: "alice,bob group", or *
//   modifiers=TEXT   who may end it
//   stage=URL        the directory in HDFS for the program (default hdfs:///user/USER/.weft/bin)
//   address=HOST     of this machine, by which the containers reach it
//
// Of an application that YARN keeps (weft cluster up):
//   attempts=N       of the process that looks after it (default 2)
//   keeper_memory=SIZE, keeper_cores=N   of its container
//   shelf=URL        the directory in HDFS for its state and logs (default hdfs:///user/USER/.weft/runs)
#ifndef LAUNCH_YARN_YARN_SETTINGS_H
#define LAUNCH_YARN_YARN_SETTINGS_H

#include "launch/yarn/master.h"

enum { YARN_TAGS_MAX = 10 };

// Texts are borrowed from the list, but for tags.
struct yarn_settings {
    struct yarn_application application;
    const char *stage, *address;  // NULL: the default
    const char *shelf;            // likewise
    uint32_t attempts, keeper_cores;
    uint64_t keeper_bytes;
    char *tag_text;  // the list, cut into tags
    const char *tags[YARN_TAGS_MAX + 1];
};

// INVALID_ARGUMENT: there is no setting of that name, or it cannot have that value.
MUST_CHECK weft_err yarn_settings_check(const char *name, const char *value);

// Reads a list of "NAME=value", NULL-terminated; NULL: none. To be released in every case.
MUST_CHECK weft_err yarn_settings_read(const char *const *list, struct yarn_settings *settings);
void yarn_settings_fini(struct yarn_settings *settings);

#endif
