// host_agent: the far side of a launcher: a process on a host that starts members there, as frames on its standard input ask
// for, and reports by frames on its standard output (far_frames.h). Or both by a connection that it makes to the launcher.
//
// It ends, and kills all members, when its standard input or connection ends, and when it hears nothing for
// FAR_AGENT_SILENCE_MS: a link that is cut ends no stream. Its directory goes with it, also by kill -9.
#ifndef LAUNCH_FAR_HOST_AGENT_H
#define LAUNCH_FAR_HOST_AGENT_H

#include "base/err.h"

// The name of the token among the secrets of a container (wire/hadoop/token_file.h).
#define HOST_AGENT_SECRET "weft.agent"

struct host_agent_options {
    const char *join;        // the launcher's HOST:PORT; NULL: standard input and output lead to it
    const char *place;       // which of those that the launcher waits for
    const char *token_file;  // one of ours, or one of Hadoop that has it as a secret
};

// The life of an agent; gives the exit code of the process. Thread: the only one of the process. An agent that connects writes to
// standard error why it could not.
int host_agent_run(const struct host_agent_options *options);

#endif
