// No inherited connections: the jobs of this simulation have no items. Stands in the place of sys/net/adopt.c.

#include "sys/net/net.h"
#include "world/world.h"

weft_err net_adopt(int fd)
{
    world_wrong("a run without items takes over connection %d", fd);
}
