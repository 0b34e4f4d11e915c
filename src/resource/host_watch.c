// Which members may still write: a watch ends when none is left that could.

#include "resource/host_state.h"

bool host_has_users(struct host *host, const struct session *except)
{
    if (host->expects_someone)
        return true;
    for (size_t i = 0; i < host->sessions.count; i++) {
        const struct session *session = host->sessions.items[i];
        if (session != except && session->member[0] && !session->has_left)
            return true;
    }
    return false;
}

static bool someone_could_write(const struct host *host)
{
    if (host->expects_someone)
        return true;
    for (size_t i = 0; i < host->sessions.count; i++) {
        const struct session *session = host->sessions.items[i];
        if (session->member[0] && !session->has_left && session->watch_count == 0)
            return true;
    }
    return false;
}

// A watcher is taken for one that only watches: two who watch each other would never end.
void host_end_watches_if_alone(struct host *host)
{
    if (!host->options.ends_watches || host->watch_count == 0 || host->is_ending_watches ||
        someone_could_write(host))
        return;
    host->is_ending_watches = true;
    for (size_t i = 0; i < host->registry.all.count; i++) {
        struct resource *resource = host->registry.all.items[i];
        if (resource->kind->writers_gone)
            resource->kind->writers_gone(resource);
    }
    host->is_ending_watches = false;
}

void host_expect(struct host *host, bool someone)
{
    host->expects_someone = someone;
    host_end_watches_if_alone(host);
}

void host_begin_watch(struct host *host, struct session *session)
{
    session->watch_count++;
    host->watch_count++;
}

void host_end_watch(struct host *host, struct session *session)
{
    session->watch_count--;
    host->watch_count--;
}
