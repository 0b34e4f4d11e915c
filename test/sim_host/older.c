// A journal that is put back from a copy, once in a run: what was acknowledged since is gone.
//
// No history fits to that, and none is checked. Instead: whoever had been answered something that is not in
// the copy hears of it by DATA_LOSS before any other answer; whoever was last here before the copy was made
// does not; and in runs without it nobody ever does. One whose session is in the copy may come when it has
// ended there: then ABORTED is all that can be said. One whose session is not must not be put off so.
#include "cluster/peer_state.h"
#include "sim_host/caller.h"
#include "wire/call.h"

enum { COPY_CHANCE = 3, PUT_BACK_CHANCE = 300 };

static struct {
    VEC(struct disk_record) records;
    uint64_t appended;  // position in the disk's count of all records
    bool is_there;
} copy;

void older_init(void)
{
    for (size_t i = 0; i < copy.records.count; i++)
        buf_fini(&copy.records.items[i].payload);
    VEC_FINI(&copy.records);
    copy.is_there = false;
}

void older_copy_some(void)
{
    struct disk *disk = &world.disk;
    if (copy.is_there || !world.host || !disk->synced || !world_chance(COPY_CHANCE))
        return;
    for (size_t i = 0; i < disk->synced; i++) {
        struct disk_record record = {.type = disk->records.items[i].type};
        buf_append(&record.payload, disk->records.items[i].payload.data,
                   disk->records.items[i].payload.size);
        ASSERT(VEC_PUSH(&copy.records, record));
    }
    copy.appended = disk->appended - (disk->records.count - disk->synced);
    copy.is_there = true;
    world_note("disk: a copy of %zu records", copy.records.count);
}

void older_put_back_some(void)
{
    struct disk *disk = &world.disk;
    if (!copy.is_there || world.was_put_back || !world_chance(PUT_BACK_CHANCE))
        return;
    disk_fini();
    disk->records.items = copy.records.items;
    disk->records.capacity = copy.records.capacity;
    disk->records.count = disk->synced = copy.records.count;
    copy.records.items = NULL;
    copy.records.count = copy.records.capacity = 0;
    world.was_put_back = true;
    world.counts[COUNT_PUT_BACK]++;
    world_note("disk: the copy is put back");
    client_put_back(copy.appended);
}

// ---- What a client knows ---------------------------------------------------------------------------------

void older_put_back_for(struct client *client, uint64_t appended)
{
    struct older_memory *memory = &client->memory;
    if (memory->known_life && memory->known >= appended)
        memory->lost_life = memory->known_life;
    memory->must_hear = memory->lost_life && memory->life_began >= appended &&
                        memory->lost_life == peer_life(client->peer);
    memory->is_safe = memory->asking == 0 && memory->last <= appended;
}

struct older_call older_begin(struct client *client, uint8_t op)
{
    struct older_memory *memory = &client->memory;
    const uint32_t life = peer_life(client->peer);
    memory->asking++;
    if (memory->life != life)
        memory->life_began = world.disk.appended;
    memory->life = life;
    return (struct older_call){world.disk.appended, life, world.was_put_back, call_op_changes(op)};
}

void older_end(struct client *client, const struct older_call *call, weft_err err)
{
    struct older_memory *memory = &client->memory;
    memory->asking--;
    memory->last = world.disk.appended;
    if (err == WEFT_DATA_LOSS && (!world.was_put_back || memory->is_safe))
        world_wrong("client %d: a loss, and nothing is lost: %s", client->number, err_text());
    if (!err && call->is_after && memory->lost_life && memory->lost_life == call->life)
        world_wrong("client %d: what it was answered is gone, and nobody says so", client->number);
    // A keeper may have heard it when nobody called: whoever uses what was open before is told, and who
    // leaves. Who has given up himself, after all his patience, does not ask any more.
    if (memory->must_hear && memory->lost_life != peer_life(client->peer)) {
        if (call->is_after && client->peer->last_code == WEFT_ABORTED)
            world_wrong(
                "client %d: its session with what it was answered is gone, and all it hears "
                "is: %s",
                client->number, client->peer->last_words);
        memory->must_hear = false;
    }
    if (!err && call->changes && !call->is_after) {
        // The record of the call came behind what was there when it was made.
        memory->known = call->appended;
        memory->known_life = call->life;
    }
}
