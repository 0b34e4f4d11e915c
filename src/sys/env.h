// env: the outside world, whole: all that this program reads of its surroundings and does to them.
//
// Only the files behind these headers call the kernel, libuv, pthread or OpenSSL. A simulator makes a world of its own
// when it is linked: it defines the functions of such a file that the simulated code calls, and the linker leaves
// the file out. All other code runs in it as it was compiled for the release. A file that is half replaced
// does not link, and one that was forgotten is found by tools/check_world: it follows every call from the simulator's
// files to the C library and refuses those that leave the world.
//
// This header is for simulators. Other code includes the parts that it needs.
#ifndef SYS_ENV_H
#define SYS_ENV_H

#include "sys/file/file.h"
#include "sys/log.h"
#include "sys/loop/loop.h"
#include "sys/machine/mem.h"
#include "sys/net/channel.h"
#include "sys/net/net.h"
#include "sys/process/process.h"
#include "sys/secure/secret.h"
#include "sys/secure/tls.h"
#include "sys/thread/bell.h"
#include "sys/thread/spin.h"
#include "sys/thread/thread.h"
#include "sys/time/clock.h"

#endif
