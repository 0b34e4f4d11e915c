// env: the outside world, whole: everything that this program reads of its surroundings and does to them.
//
// Only the files of these headers call the kernel, libuv, pthread or OpenSSL. A simulator makes a world of its own
// when it is linked: it defines the functions of such a file that the simulated code calls, and the linker leaves
// the file out. All other code runs in it as it was compiled for the release. A file that is half replaced
// does not link, and one that was forgotten is found by tools/check_world: it follows every call from the simulator's
// files to the C library and refuses those that leave the world.
//
// What a host keeps on disk goes through store/journal/journal.h, which simulators replace in the same way.
//
// This header is for simulators. Other code includes the parts that it needs.
#ifndef SYS_ENV_H
#define SYS_ENV_H

#include "sys/file/file.h"        // disk: descriptors and files
#include "sys/log.h"              // lines for the program's user
#include "sys/loop/loop.h"        // timers, signals, connections of a host
#include "sys/machine/mem.h"      // big memory
#include "sys/net/channel.h"      // net: connections of a caller
#include "sys/net/net.h"          // net: sockets, and who is at their other end
#include "sys/process/process.h"  // processes
#include "sys/secure/secret.h"    // random bytes: secret_random
#include "sys/secure/tls.h"       // OpenSSL, which draws random numbers of its own
#include "sys/thread/bell.h"      // waking a thread by a descriptor
#include "sys/thread/spin.h"      // how long to look before going to sleep
#include "sys/thread/thread.h"    // threads and locks
#include "sys/time/clock.h"       // clock

#endif
