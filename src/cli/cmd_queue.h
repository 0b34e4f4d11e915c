// The verbs of `weft queue`, one or a few in a file, and what they share.
#ifndef CLI_CMD_QUEUE_H
#define CLI_CMD_QUEUE_H

#include "cli/tool_words.h"

#define QUEUE_VERB(name)                                                                           \
    cli_command_fn cmd_queue_##name;                                                               \
    void help_format_queue_##name(struct buf *buf);
QUEUE_VERB(push)
QUEUE_VERB(take)
QUEUE_VERB(peek)
QUEUE_VERB(size)
QUEUE_VERB(close)
QUEUE_VERB(rm)
QUEUE_VERB(ls)
#undef QUEUE_VERB

#endif
