// The verbs of `weft queue` that have a file of their own.
#ifndef CLI_CMD_QUEUE_H
#define CLI_CMD_QUEUE_H

#include "cli/tool_group.h"

cli_command_fn cmd_queue_push, cmd_queue_take;
void help_format_queue_push(struct buf *buf);
void help_format_queue_take(struct buf *buf);

#endif
