// The journal as records in memory. What is not synced is lost in a crash, all of it or its end.
#include "sim_host/world.h"

#include "sim_host/replace.h"

struct journal {
    bool is_rewriting;
    VEC(struct disk_record) snapshot;
};

static struct journal the_journal;

static void drop_records(struct disk_record *records, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        buf_fini(&records[i].payload);
}

void disk_fini(void)
{
    drop_records(world.disk.records.items, 0, world.disk.records.count);
    VEC_FINI(&world.disk.records);
}

void disk_lose_tail(void)
{
    struct disk *disk = &world.disk;
    const size_t unsynced = disk->records.count - disk->synced;
    const size_t kept = disk->synced + world_below((uint32_t)unsynced + 1);
    drop_records(disk->records.items, kept, disk->records.count);
    world_note("disk: %zu of %zu records that were not synced are lost", disk->records.count - kept,
               unsynced);
    disk->records.count = disk->synced = kept;
    disk->is_full = false;
}

weft_err world_journal_open(struct journal **journal, const char *directory, const char *kind,
                            const struct journal_options *options, journal_visit_fn *visit,
                            void *owner, struct journal_found *found)
{
    (void)directory, (void)kind, (void)options;
    weft_err err = WEFT_OK;
    *found = (struct journal_found){.record_count = world.disk.records.count};
    for (size_t i = 0; i < world.disk.records.count && !err; i++) {
        const struct disk_record *record = &world.disk.records.items[i];
        const struct journal_record visited = {record->type, i + 1, buf_bytes(&record->payload)};
        err = visit(owner, &visited);
    }
    *journal = &the_journal;
    return err;
}

weft_err world_journal_close(struct journal *journal)
{
    (void)journal;
    return WEFT_OK;
}

weft_err world_journal_append(struct journal *journal, uint32_t type, weft_bytes payload)
{
    if (world.is_dying)
        return WEFT_OK;
    if (world.disk.is_full && !journal->is_rewriting && world_chance(500))
        return err_set(WEFT_RESOURCE_EXHAUSTED, "the disk is full");
    struct disk_record record = {.type = type};
    buf_append(&record.payload, payload.data, payload.size);
    world.disk.bytes += payload.size + 20;
    ASSERT(journal->is_rewriting ? VEC_PUSH(&journal->snapshot, record)
                                 : VEC_PUSH(&world.disk.records, record));
    return WEFT_OK;
}

weft_err world_journal_sync(struct journal *journal)
{
    (void)journal;
    if (world.is_dying)
        return WEFT_OK;
    if (world.disk.is_full)
        return err_set(WEFT_RESOURCE_EXHAUSTED, "the disk is full");
    const bool dies = world.has_faults && world_chance(world.rates.sync_crash);
    // Killed before the disk has it, or between that and the answers.
    if (dies && world_chance(500)) {
        world.is_dying = true;
        return WEFT_OK;
    }
    world.disk.synced = world.disk.records.count;
    world.is_dying = dies;
    return WEFT_OK;
}

uint64_t world_journal_size(const struct journal *journal)
{
    (void)journal;
    return world.disk.bytes;
}

weft_err world_journal_rewrite(struct journal *journal, journal_snapshot_fn *snapshot, void *owner)
{
    if (world.is_dying)
        return WEFT_OK;
    const uint64_t bytes = world.disk.bytes;
    world.disk.bytes = 0;
    journal->is_rewriting = true;
    const weft_err err = snapshot(owner, journal);
    journal->is_rewriting = false;
    if (err || (world.has_faults && world_chance(100))) {
        world.is_dying = !err;  // killed in the middle of it: what was before counts
        drop_records(journal->snapshot.items, 0, journal->snapshot.count);
        VEC_FINI(&journal->snapshot);
        world.disk.bytes = bytes;
        return err;
    }
    drop_records(world.disk.records.items, 0, world.disk.records.count);
    VEC_FINI(&world.disk.records);
    world.disk.records.items = journal->snapshot.items;
    world.disk.records.count = world.disk.synced = journal->snapshot.count;
    world.disk.records.capacity = journal->snapshot.capacity;
    journal->snapshot.items = NULL;
    journal->snapshot.count = journal->snapshot.capacity = 0;
    world.counts[COUNT_REWRITES]++;
    return WEFT_OK;
}
