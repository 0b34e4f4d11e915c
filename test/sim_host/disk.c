// The journal as records in memory. What is not synced is lost in a crash, all of it or its end.
#include "sim_host/world.h"

#include <stdio.h>

#include "store/journal/journal.h"
#include "sys/env.h"

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
    disk->appended -= disk->records.count - kept;
    disk->records.count = disk->synced = kept;
    disk->is_full = disk->has_failed = false;
}

weft_err journal_open(struct journal **journal, const char *directory, const char *kind,
                      const struct journal_options *options, journal_visit_fn *visit, void *owner,
                      struct journal_found *found)
{
    (void)directory, (void)kind, (void)options;
    weft_err err = WEFT_OK;
    world.disk.has_failed = false;
    *found = (struct journal_found){.record_count = world.disk.records.count};
    for (size_t i = 0; i < world.disk.records.count && !err; i++) {
        const struct disk_record *record = &world.disk.records.items[i];
        const struct journal_record visited = {record->type, i + 1, buf_bytes(&record->payload)};
        err = visit(owner, &visited);
    }
    *journal = &the_journal;
    return err;
}

weft_err journal_close(struct journal *journal)
{
    (void)journal;
    return WEFT_OK;
}

weft_err journal_append(struct journal *journal, uint32_t type, weft_bytes payload)
{
    if (world.is_dying)
        return WEFT_OK;
    if (world.disk.has_failed)
        return err_set(WEFT_UNKNOWN, "input/output error");
    if (world.disk.is_full && !journal->is_rewriting && world_chance(500))
        return err_set(WEFT_RESOURCE_EXHAUSTED, "the disk is full");
    struct disk_record record = {.type = type};
    buf_append(&record.payload, payload.data, payload.size);
    world.disk.bytes += payload.size + 20;
    world.disk.appended += !journal->is_rewriting;
    ASSERT(journal->is_rewriting ? VEC_PUSH(&journal->snapshot, record)
                                 : VEC_PUSH(&world.disk.records, record));
    return WEFT_OK;
}

bool journal_has_failed(const struct journal *journal)
{
    (void)journal;
    return world.disk.has_failed;
}

// A sync fails once: how much of what was to go is there, nobody knows.
static bool has_failed(void)
{
    struct disk *disk = &world.disk;
    if (world.has_faults && !disk->has_failed && world_chance(world.rates.io_error)) {
        disk->has_failed = true;
        world_note("disk: an input/output error");
    }
    if (disk->has_failed)
        err_set(WEFT_UNKNOWN, "input/output error");
    return disk->has_failed;
}

weft_err journal_sync(struct journal *journal)
{
    (void)journal;
    if (world.is_dying)
        return WEFT_OK;
    if (has_failed())
        return WEFT_UNKNOWN;
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

weft_err journal_check_name(struct journal *journal)
{
    (void)journal;
    return WEFT_OK;
}

uint64_t journal_size(const struct journal *journal)
{
    (void)journal;
    return world.disk.bytes;
}

// ---- A snapshot -------------------------------------------------------------------------------------------
// The copy of the process that writes it does so at once, and is waited for.

static void drop_snapshot(struct journal *journal)
{
    drop_records(journal->snapshot.items, 0, journal->snapshot.count);
    VEC_FINI(&journal->snapshot);
}

weft_err journal_rewrite_start(struct journal *journal)
{
    (void)journal;
    return WEFT_OK;
}

weft_err journal_rewrite_write(struct journal *journal, journal_snapshot_fn *snapshot, void *owner)
{
    const uint64_t bytes = world.disk.bytes;
    journal->is_rewriting = true;
    const weft_err err = snapshot(owner, journal);
    journal->is_rewriting = false;
    world.disk.bytes = bytes;
    return err;
}

weft_err journal_rewrite_finish(struct journal *journal)
{
    if (world.has_faults && world_chance(100))
        world.is_dying = true;  // killed in the middle of it: what was before counts
    if (world.is_dying) {
        drop_snapshot(journal);
        return WEFT_OK;
    }
    drop_records(world.disk.records.items, 0, world.disk.records.count);
    VEC_FINI(&world.disk.records);
    world.disk.records.items = journal->snapshot.items;
    world.disk.records.count = world.disk.synced = journal->snapshot.count;
    world.disk.records.capacity = journal->snapshot.capacity;
    journal->snapshot.items = NULL;
    journal->snapshot.count = journal->snapshot.capacity = 0;
    world.disk.bytes = 0;
    for (size_t i = 0; i < world.disk.records.count; i++)
        world.disk.bytes += world.disk.records.items[i].payload.size;
    world.counts[COUNT_REWRITES]++;
    return WEFT_OK;
}

void journal_rewrite_cancel(struct journal *journal)
{
    drop_snapshot(journal);
}

static int copy_exit;

weft_err process_fork(int (*body)(void *), void *owner, struct process *process)
{
    (void)process;
    copy_exit = body(owner);
    return WEFT_OK;
}

void process_wait(struct process *process, struct process_exit *exit)
{
    (void)process;
    *exit = (struct process_exit){.is_known = true, .number = copy_exit};
}

void process_kill(struct process *process)
{
    (void)process;
}
