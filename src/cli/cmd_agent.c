// weft agent: the far side of a launcher, for launchers alone.

#include "cli/cli.h"

#include "launch/far/host_agent.h"

int cmd_agent(char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(words[i], "-h") == 0 || strcmp(words[i], "--help") == 0)
            return cmd_help((char *const[]){"agent"}, 1);
    if (count > 0)
        return cli_fail(err_set(WEFT_INVALID_ARGUMENT,
                                "weft agent has no arguments: a launcher starts it on a host"),
                        false);
    return host_agent_run();
}
