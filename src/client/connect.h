// connect: a program that is not a member of a cluster and uses the resources at one address, of a host
// (weft host) or a member. For the command line there is client/tool.h.
#ifndef CLIENT_CONNECT_H
#define CLIENT_CONNECT_H

#include "client/member.h"

// Makes the cluster one of options->at, with its token: that of the options' file, of "#TOKEN" in the
// address, or as secret_load finds it. Nothing is connected yet. INVALID_ARGUMENT: no address, no token.
MUST_CHECK weft_err connect_open(weft_cluster *cluster, const weft_join_options *options);

#endif
