// interface: the network interface that has an address of this machine. Some libraries (gloo, NCCL) ask for its name instead of an
// address. Thread: any.
#ifndef SYS_NET_INTERFACE_H
#define SYS_NET_INTERFACE_H

#include "sys/net/net.h"

enum { INTERFACE_NAME_BYTES = 16, INTERFACE_ADDRESS_BYTES = 64 };

// The interface that has this numeric address; false: none has, or the text is not an address.
bool interface_find(const char *address, char name[INTERFACE_NAME_BYTES]);

// The interface by which this machine reaches another numeric address. Sends nothing. False: there is no way to it.
bool interface_find_towards(const char *address, char name[INTERFACE_NAME_BYTES]);

// The address of this machine, as a number, by which it reaches another one. Sends nothing, but may wait for a resolver. UNAVAILABLE.
MUST_CHECK weft_err interface_find_own(const struct net_address *other,
                                       char own[INTERFACE_ADDRESS_BYTES]);

#endif
