// Tests of rewriting a journal: killed at any step, or refused by a full disk, it is the old one or the
// new one.

#include <signal.h>
#include <sys/resource.h>

#include "store/journal/journal_testing.h"
#include "sys/process/process.h"

static weft_err snapshot(void *owner, struct journal *journal)
{
    const weft_err err = journal_append(journal, 20, weft_text("all"));
    if (err || !owner)
        return err ? err : journal_append(journal, 21, weft_text("of it"));
    return err_set(WEFT_ABORTED, "%s", (const char *)owner);
}

static void a_rewrite_replaces_all_records(void **state)
{
    (void)state;
    write_many(5);
    struct journal *journal = open_with(&small, "1:1:x 1:2:x 1:3:x 1:4:x 1:5:x ");
    expect(journal_rewrite(journal, snapshot, NULL));
    assert_false(exists("journal-000001") || exists("journal-000003"));
    const size_t headers =
        (is_often ? 2 : 1) * SEGMENT_HEADER_BYTES;  // there the next one is begun
    assert_int_equal(journal_size(journal), headers + 2 * SEGMENT_RECORD_BYTES + 8);
    append(journal, 1, "y");
    expect(journal_close(journal));
    journal = open_with(&small, "20:6:all 21:7:of it 1:8:y ");
    expect(journal_rewrite(journal, snapshot, NULL));
    expect(journal_rewrite(journal, snapshot, NULL));
    expect(journal_close(journal));
    expect(journal_close(open_with(NULL, "20:11:all 21:12:of it ")));
}

static void a_rewrite_that_fails_leaves_the_old_records(void **state)
{
    (void)state;
    write_many(3);
    struct journal *journal = open_with(&small, "1:1:x 1:2:x 1:3:x ");
    append(journal, 1, "waits");
    char reason[] = "changed my mind";
    assert_int_equal(journal_rewrite(journal, snapshot, reason), WEFT_ABORTED);
    assert_string_equal(err_text(), reason);
    assert_false(exists("journal-000003.new"));
    append(journal, 1, "y");
    expect(journal_close(journal));
    expect(journal_close(open_with(NULL, "1:1:x 1:2:x 1:3:x 1:4:waits 1:5:y ")));
}

static void a_rewrite_that_was_killed_is_found_before_or_after(void **state)
{
    (void)state;
    const char *const before = "1:1:x 1:2:x 1:3:x 1:4:x 1:5:x ", *const after =
                                                                     "20:6:all 21:7:of it ";
    write_many(5);
    struct buf old[3] = {load("journal-000001"), load("journal-000002"), load("journal-000003")};
    struct journal *journal = open_with(&small, before);
    expect(journal_rewrite(journal, snapshot, NULL));
    expect(journal_close(journal));
    struct buf fresh = load("journal-000004");
    const char *const names[] = {"journal-000001", "journal-000002", "journal-000003"};
    // While it was written, with the old header or the final one: the old records, the rest goes.
    for (size_t size = 0; size <= fresh.size; size++) {
        expect(file_remove_tree(directory));
        for (size_t i = 0; i < 3; i++)
            store(names[i], old[i].data, old[i].size);
        store("journal-000004.new", fresh.data, size);
        expect(journal_close(open_with(&small, before)));
        assert_false(exists("journal-000004.new"));
    }
    // After the rename, with all or some of the old ones: the new records, the rest goes.
    for (unsigned left = 0; left < 8; left++) {
        expect(file_remove_tree(directory));
        for (size_t i = 0; i < 3; i++)
            if (left & 1u << i)
                store(names[i], old[i].data, old[i].size);
        store("journal-000004", fresh.data, fresh.size);
        expect(journal_close(open_with(&small, after)));
        assert_false(exists(names[0]) || exists(names[1]) || exists(names[2]));
    }
    for (size_t i = 0; i < 3; i++)
        buf_fini(&old[i]);
    buf_fini(&fresh);
}

// It was on the disk as a whole before it got its name: what misses there is no torn tail.
static void a_snapshot_that_is_cut_or_flipped_is_data_loss(void **state)
{
    (void)state;
    write_many(5);
    struct journal *journal = open_with(&small, "1:1:x 1:2:x 1:3:x 1:4:x 1:5:x ");
    expect(journal_rewrite(journal, snapshot, NULL));
    expect(journal_close(journal));
    struct buf whole = load("journal-000004");
    for (size_t i = 0; i < whole.size; i++) {
        store("journal-000004", whole.data, i);
        assert_int_equal(journal_read(directory, "test", NULL, NULL, NULL, NULL), WEFT_DATA_LOSS);
        whole.data[i] ^= 4;
        store("journal-000004", whole.data, whole.size);
        assert_int_equal(journal_read(directory, "test", NULL, NULL, NULL, NULL), WEFT_DATA_LOSS);
        whole.data[i] ^= 4;
    }
    store("journal-000004", whole.data, whole.size - 1);
    const struct journal_options options = {.keeps_good_prefix = true};
    journal = open_with(&options, "");  // half a snapshot is nothing
    append(journal, 1, "again");
    expect(journal_close(journal));
    expect(journal_close(open_with(NULL, "1:1:again ")));
    buf_fini(&whole);
}

// ---- Beside the journal -----------------------------------------------------------------------------

static int write_snapshot(void *owner)
{
    return journal_rewrite_write(owner, snapshot, NULL) ? 1 : 0;
}

static void write_in_a_copy(struct journal *journal)
{
    struct process process;
    struct process_exit exit;
    expect(process_fork(write_snapshot, journal, &process));
    process_wait(&process, &exit);
    assert_true(exit.is_known && !exit.was_signalled && exit.number == 0);
}

static void read_as(const char *records)
{
    struct log log = {0};
    expect(journal_read(directory, "test", NULL, visit, &log, NULL));
    assert_string_equal(buf_text(&log.text), records);
    buf_fini(&log.text);
}

static void a_rewrite_beside_it_replaces_what_was_there_at_its_start(void **state)
{
    (void)state;
    write_many(5);
    struct journal *journal = open_with(&small, "1:1:x 1:2:x 1:3:x 1:4:x 1:5:x ");
    expect(journal_rewrite_start(journal));
    write_in_a_copy(journal);
    append(journal, 1, "y");
    append(journal, 1, "y");
    append(journal, 1, "z");
    expect(journal_sync(journal));
    read_as("1:1:x 1:2:x 1:3:x 1:4:x 1:5:x 1:6:y 1:7:y 1:8:z ");
    expect(journal_rewrite_finish(journal));
    read_as("20:6:all 21:7:of it 1:6:y 1:7:y 1:8:z ");
    assert_false(exists("journal-000001") || exists("journal-000002"));
    const size_t framed = 5 * SEGMENT_RECORD_BYTES + 8 + 3;
    assert_int_equal(journal_size(journal), 3 * SEGMENT_HEADER_BYTES + framed);
    append(journal, 1, "more");
    expect(journal_close(journal));
    journal = open_with(&small, "20:6:all 21:7:of it 1:6:y 1:7:y 1:8:z 1:9:more ");
    expect(journal_rewrite_start(journal));
    write_in_a_copy(journal);
    expect(journal_rewrite_finish(journal));
    expect(journal_rewrite(journal, snapshot, NULL));
    append(journal, 1, "end");
    expect(journal_close(journal));
    expect(journal_close(open_with(&small, "20:10:all 21:11:of it 1:12:end ")));
}

static void a_rewrite_beside_it_that_is_given_up_leaves_all(void **state)
{
    (void)state;
    write_many(3);
    const char *const all = "1:1:x 1:2:x 1:3:x 1:4:y ";
    struct journal *journal = open_with(&small, "1:1:x 1:2:x 1:3:x ");
    expect(journal_rewrite_start(journal));
    write_in_a_copy(journal);
    append(journal, 1, "y");
    assert_true(exists("journal-000002.new"));
    journal_rewrite_cancel(journal);
    assert_false(exists("journal-000002.new"));
    expect(journal_rewrite_start(journal));
    write_in_a_copy(journal);
    expect(journal_close(journal));  // as if it had been killed
    expect(journal_close(open_with(&small, all)));
    assert_false(exists("journal-000003.new"));
    expect(journal_close(open_with(&small, all)));
}

// ---- A full disk ----------------------------------------------------------------------------------

static struct rlimit limit_files(rlim_t bytes)
{
    struct rlimit old, few;
    getrlimit(RLIMIT_FSIZE, &old);
    few = (struct rlimit){bytes, old.rlim_max};
    setrlimit(RLIMIT_FSIZE, &few);
    return old;
}

static void a_full_disk_loses_nothing_that_waits(void **state)
{
    (void)state;
    struct journal *journal = open_with(&(struct journal_options){.buffer_bytes = 1}, "");
    append(journal, 1, "first");
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
    const struct rlimit old = limit_files(SEGMENT_HEADER_BYTES + 10);
    assert_int_equal(journal_append(journal, 1, weft_text("refused")), WEFT_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(err_text(), "journal-000001"));
    assert_int_equal(journal_flush(journal), WEFT_RESOURCE_EXHAUSTED);
    assert_int_equal(journal_rewrite(journal, snapshot, NULL), WEFT_RESOURCE_EXHAUSTED);
    setrlimit(RLIMIT_FSIZE, &old);
    append(journal, 1, "second");
    expect(journal_flush(journal));
    limit_files(SEGMENT_HEADER_BYTES + 10);
    assert_int_equal(journal_rewrite(journal, snapshot, NULL), WEFT_RESOURCE_EXHAUSTED);
    setrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, before);
    assert_false(exists("journal-000002.new"));
    append(journal, 1, "third");
    expect(journal_close(journal));
    expect(journal_close(open_with(NULL, "1:1:first 1:2:second 1:3:third ")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(a_rewrite_replaces_all_records),
        BOTH(a_rewrite_that_fails_leaves_the_old_records),
        BOTH(a_rewrite_that_was_killed_is_found_before_or_after),
        BOTH(a_snapshot_that_is_cut_or_flipped_is_data_loss),
        OFTEN(a_rewrite_beside_it_replaces_what_was_there_at_its_start),
        OFTEN(a_rewrite_beside_it_that_is_given_up_leaves_all),
        BOTH(a_full_disk_loses_nothing_that_waits),
    };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
