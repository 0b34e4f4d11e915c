// ports: addresses of this machine that programs which are about to start will listen at, kept free
// for them until then.
//
// A reserved port is bound, but no program listens at it: the kernel gives it to no other program, and no connection
// is accepted. It has to be released just before its program starts, because a program that binds without
// SO_REUSEADDR could not have it otherwise. Ports of our choice lie below those that the system gives to
// outgoing connections, so that none of these takes it in between; another program that asks for just
// that number still can, and the program itself then says so. Thread: any, one owner.
#ifndef SYS_NET_PORTS_H
#define SYS_NET_PORTS_H

#include "base/err.h"

struct port_hold {
    int fd;  // -1: nothing is held
};

// Chooses a port that is free on all addresses of this machine and holds it. UNAVAILABLE: there is none.
MUST_CHECK weft_err port_choose(struct port_hold *hold, uint16_t *port);

// Holds a port that the caller has chosen. INVALID_ARGUMENT: the host is not this machine, or has
// no address; UNAVAILABLE: a program listens there already. Looks the host up, which may take its time.
MUST_CHECK weft_err port_hold(struct port_hold *hold, const char *host, uint16_t port);

// From now on, programs of the same user that bind with SO_REUSEPORT have the port beside the one who holds it, and no others do.
// Connections are those of the program that listens. False: the system cannot do that, and the port is released.
bool port_share(struct port_hold *hold);

void port_release(struct port_hold *hold);

#endif
