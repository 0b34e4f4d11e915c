// weft replay ID [--debug]: one record again, alone, in a process of its own.

#include "cli/cli.h"

#include "base/args.h"
#include "run/replay.h"

enum { OPTION_DEBUG = 1, OPTION_HELP };

static const struct args_option options[] = {
    {OPTION_DEBUG, 0, "debug", NULL, "in gdb, before it runs; a Python job in pdb"},
    {OPTION_HELP, 'h', "help", NULL, "this help"},
    {0},
};

int cmd_replay(char *const *words, size_t count)
{
    struct args_reader reader;
    struct args_item item;
    const char *id = NULL;
    bool has_debugger = false;
    weft_err err = WEFT_OK;
    args_start(&reader, words, count, options);
    while (!(err = args_next(&reader, &item)) && item.kind != ARGS_END) {
        if (item.kind == ARGS_OPTION && item.option->id == OPTION_HELP)
            return cmd_help((char *const[]){"replay"}, 1);
        if (item.kind == ARGS_OPTION)
            has_debugger = true;
        else if (id)
            return cli_fail(err_set(WEFT_INVALID_ARGUMENT, "one replay at a time"), false);
        else
            id = item.text;
    }
    if (!err && !id)
        err = err_set(WEFT_INVALID_ARGUMENT, "which one?\n  try: weft replay ID; a run that fails "
                                             "on a record prints it");
    if (!err)
        err = replay_become(id, has_debugger);
    return cli_fail(err, false);
}
