// host_agent: the far side of a launcher: a process on a host that starts members there, as frames on its standard input ask
// for, and reports by frames on its standard output (far_frames.h).
//
// It ends, and kills all members, when its standard input ends, and when it hears nothing for
// FAR_AGENT_SILENCE_MS: a link that is cut ends no stream. Its directory goes with it, also by kill -9.
#ifndef LAUNCH_FAR_HOST_AGENT_H
#define LAUNCH_FAR_HOST_AGENT_H

#include "base/err.h"

// The life of an agent; gives the exit code of the process. Thread: the only one of the process.
int host_agent_run(void);

#endif
