// The process `weft`: the driver that a user starts, or the worker that a driver starts.

#include "cli/cli.h"
#include "client/tool.h"
#include "jobs/builtin.h"
#include "run/program.h"
#include "sys/machine/names.h"
#include "sys/process/process.h"

int main(int argc, char **argv)
{
    tool_hide_tokens(argc, argv);
    names_use_built_in();
    process_survive_large_files();
    program_start(builtin_all_jobs, sizeof(weft_job));  // in a worker it does not return
    return cli_main(argv + 1, argc > 0 ? (size_t)argc - 1 : 0);
}
