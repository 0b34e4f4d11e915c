// The keeper's rounds.

#include "client/keeper.h"

#include <stdatomic.h>

#include "client/prefetch.h"
#include "sys/time/clock.h"

enum { VAIN_ROUNDS_MAX = 16 };  // then it looks less often

static const uint64_t pause_min_ns = 1000000;    // between two rounds while there is something
static const uint64_t pause_max_ns = 100000000;  // and nothing happens
static const uint64_t upkeep_ns = 1000000000;    // between two looks at connections

// ---- Rounds ------------------------------------------------------------------------------------------------

// Peers are only added while the keeper lives, and freed after it.
static struct peer *peer_at(weft_cluster *cluster, size_t i)
{
    mutex_lock(&cluster->lock);
    struct peer *peer = i < cluster->links.count ? cluster->links.items[i]->peer : NULL;
    mutex_unlock(&cluster->lock);
    return peer;
}

static bool tend_peers(weft_cluster *cluster, bool *has_moved)
{
    bool has_more = false;
    struct peer *peer;
    for (size_t i = 0; (peer = peer_at(cluster, i)) != NULL; i++)
        has_more |= peer_tend(peer, has_moved);
    return has_more;
}

static bool tend_queues(struct keeper *keeper)
{
    bool has_more = false;
    mutex_lock(&keeper->queues_lock);
    for (struct link *at = keeper->queues.next; at != &keeper->queues; at = at->next)
        has_more |= prefetch_tend(LIST_ITEM(at, struct prefetch, in_keeper));
    mutex_unlock(&keeper->queues_lock);
    return has_more;
}

static void keep_connections(weft_cluster *cluster)
{
    struct peer *peer;
    for (size_t i = 0; (peer = peer_at(cluster, i)) != NULL; i++)
        peer_keep_connected(peer);
}

// Arrived answers come first, also those to takes that were asked back. Elements that are given back then go out at once.
static bool make_round(weft_cluster *cluster, bool *has_moved)
{
    bool has_more = tend_peers(cluster, has_moved);
    has_more |= tend_queues(&cluster->keeper);
    has_more |= tend_peers(cluster, has_moved);
    return has_more;
}

// ---- The thread --------------------------------------------------------------------------------------------

// True: continue.
static bool rest(struct keeper *keeper, uint64_t pause_ns)
{
    const uint64_t until_ns = clock_now_ns() + pause_ns;
    mutex_lock(&keeper->lock);
    keeper->is_brisk = pause_ns == pause_min_ns;
    while (!keeper->is_stopping && !(keeper->is_armed && !keeper->is_brisk) &&
           clock_now_ns() < until_ns)
        condition_wait_until(&keeper->woken, &keeper->lock, until_ns);
    if (keeper->is_armed && !keeper->is_brisk && !keeper->is_stopping)
        condition_wait_until(&keeper->woken, &keeper->lock, clock_now_ns() + pause_min_ns);
    keeper->is_brisk = true;
    const bool goes_on = !keeper->is_stopping;
    mutex_unlock(&keeper->lock);
    return goes_on;
}

static void keep(void *owner)
{
    weft_cluster *cluster = owner;
    struct keeper *keeper = &cluster->keeper;
    uint64_t pause_ns = pause_min_ns, upkept_ns = clock_now_ns();
    uint32_t vain_rounds = 0;
    while (rest(keeper, pause_ns)) {
        bool has_moved = atomic_exchange(&keeper->is_armed, false);
        const bool has_more = make_round(cluster, &has_moved);
        vain_rounds = has_moved ? 0 : vain_rounds + 1;
        if (!has_moved && !has_more)
            pause_ns = upkeep_ns;
        else if (vain_rounds < VAIN_ROUNDS_MAX)
            pause_ns = pause_min_ns;
        else
            pause_ns = pause_ns * 2 < pause_max_ns ? pause_ns * 2 : pause_max_ns;
        if (clock_now_ns() - upkept_ns >= upkeep_ns) {
            keep_connections(cluster);
            upkept_ns = clock_now_ns();
        }
    }
}

static bool start(weft_cluster *cluster)
{
    struct keeper *keeper = &cluster->keeper;
    mutex_lock(&keeper->lock);
    if (!keeper->has_started && !keeper->is_stopping) {
        keeper->has_started = thread_start(&keeper->thread, keep, cluster, 0) == WEFT_OK;
        if (!keeper->has_started)
            err_clear();
    }
    const bool is_there = keeper->has_started;
    mutex_unlock(&keeper->lock);
    return is_there;
}

bool keeper_arm(weft_cluster *cluster)
{
    struct keeper *keeper = &cluster->keeper;
    if (!keeper->has_started && !start(cluster))
        return false;
    if (atomic_exchange(&keeper->is_armed, true) || keeper->is_brisk)
        return true;
    mutex_lock(&keeper->lock);
    condition_broadcast(&keeper->woken);
    mutex_unlock(&keeper->lock);
    return true;
}

void keeper_add(weft_cluster *cluster, struct prefetch *prefetch)
{
    mutex_lock(&cluster->keeper.queues_lock);
    if (!prefetch->in_keeper.next)
        list_append(&cluster->keeper.queues, &prefetch->in_keeper);
    mutex_unlock(&cluster->keeper.queues_lock);
}

void keeper_forget(weft_cluster *cluster, struct prefetch *prefetch)
{
    if (!cluster)
        return;
    mutex_lock(&cluster->keeper.queues_lock);
    list_take_out(&prefetch->in_keeper);
    mutex_unlock(&cluster->keeper.queues_lock);
}

void keeper_init(struct keeper *keeper)
{
    *keeper = (struct keeper){.is_brisk = true};
    list_init(&keeper->queues);
    mutex_init(&keeper->lock);
    mutex_init(&keeper->queues_lock);
    condition_init(&keeper->woken);
}

void keeper_fini(struct keeper *keeper)
{
    condition_fini(&keeper->woken);
    mutex_fini(&keeper->queues_lock);
    mutex_fini(&keeper->lock);
}

void keeper_stop(weft_cluster *cluster)
{
    struct keeper *keeper = &cluster->keeper;
    mutex_lock(&keeper->lock);
    keeper->is_stopping = true;
    const bool is_there = keeper->has_started;
    condition_broadcast(&keeper->woken);
    mutex_unlock(&keeper->lock);
    if (is_there)
        thread_join(&keeper->thread);
    keeper->has_started = false;
}
