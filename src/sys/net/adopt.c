// A connection that another program has made and left to us.

#include <fcntl.h>
#include <sys/socket.h>

#include "sys/net/net.h"

weft_err net_adopt(int fd)
{
    int type = 0;
    socklen_t size = sizeof type;
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM)
        return err_set(WEFT_INVALID_ARGUMENT, "descriptor %d is not a connection", fd);
    const int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0 ||
        fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
        return err_errno("cannot use descriptor %d", fd);
    return WEFT_OK;
}
