// The process `weft`: driver for the person who typed it, or worker for another one of itself.

#include "cli/cli.h"
#include "client/tool.h"
#include "jobs/builtin.h"
#include "run/program.h"

int main(int argc, char **argv)
{
    tool_hide_tokens(argc, argv);
    program_start(builtin_all_jobs, sizeof(weft_job));  // a worker's copy does not return
    return cli_main(argv + 1, argc > 0 ? (size_t)argc - 1 : 0);
}
