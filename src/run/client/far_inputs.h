// far_inputs: which of a job's inputs this machine has, too. One that is not the server's file is read from the server.
#ifndef RUN_CLIENT_FAR_INPUTS_H
#define RUN_CLIENT_FAR_INPUTS_H

#include "wire/messages.h"

// Looks for a file at the path that the server has: same size, same time to the second, same beginning. True: *path, to be freed, is
// the file, and inode and time in the message are those of this machine.
bool far_input_find(Weft__Input *input, const char *directory, char **path);

#endif
