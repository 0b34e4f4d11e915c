// weft replay --debug: the record is taken from a slot's interpreter, as its own code cuts and converts records. Then this
// process becomes another one, which has the terminal, and opens pdb where mapfn is called with it.

#include "code/python/python.h"

#include <stdio.h>

#include "sys/process/command.h"
#include "sys/process/process.h"

weft_err python_capture(const weft_args *args, const char *path, struct weft_args *to)
{
    weft_err code = WEFT_OK;
    for (size_t i = 0; i < args->value_count && !code; i++)
        code = args_add_option(to, args->values[i].letter, args->values[i].text);
    return code ? code : args_add_option(to, PYTHON_CAPTURE, path);
}

weft_err python_debug(const weft_args *args, int record_fd)
{
    static const char boot[] =
        "import sys; sys.path[0] = sys.argv[1]; from weft.debug import main; "
        "main(*sys.argv[2:])";
    char record[24];
    snprintf(record, sizeof record, "%d", record_fd);
    const char *const words[] = {weft_option(args, PYTHON_INTERPRETER, 0),
                                 "-S",
                                 "-c",
                                 boot,
                                 weft_option(args, PYTHON_PACKAGE, 0),
                                 weft_option(args, PYTHON_DESCRIPTION, 0),
                                 record,
                                 NULL};
    if (!words[0] || !words[4] || !words[5])
        return err_set(WEFT_FAILED_PRECONDITION, "the job has no Python function to debug");
    process_keep_on_exec(record_fd);
    return command_become(words[0], (char *const *)words);
}
