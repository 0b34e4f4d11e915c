// What yarn_roster.c and yarn_roster_answer.c share.
#ifndef LAUNCH_YARN_YARN_ROSTER_STATE_H
#define LAUNCH_YARN_YARN_ROSTER_STATE_H

#include "launch/yarn/yarn_roster.h"

void roster_refuse(struct yarn_roster *roster, size_t number, weft_err err, const char *why);
void roster_free_grant(struct yarn_grant *grant);  // NULL is fine
bool roster_is_excluded(const struct yarn_roster *roster, const char *host);
// Refuses an ask that is beyond what this YARN has, once that is known.
void roster_check_ask(struct yarn_roster *roster, size_t number);

#endif
