// Tests of journals that sync often: their files are written ahead and used again, so that after the end
// there are zeros or records of another life. Whatever is cut, flipped, torn or left there, the records that are handed
// out are a beginning of those that were appended, with all synced ones.
// Takes long.

#include <signal.h>
#include <sys/resource.h>

#include "store/journal/journal_testing.h"

enum { BLOCK = 4096, FRAMED_BYTES = 128, PER_BLOCK = BLOCK / FRAMED_BYTES };

static const struct journal_options blocks = {.segment_bytes_max = (uint64_t)8 * BLOCK};

// Records of a size of which a block holds a whole number, but for the header.
static void append_count(struct journal *journal, int count, char letter)
{
    char text[FRAMED_BYTES - SEGMENT_RECORD_BYTES];
    memset(text, letter, sizeof text);
    for (int i = 0; i < count; i++)
        expect(journal_append(journal, (uint32_t)letter, (weft_bytes){text, sizeof text}));
}

// A record with which the next ones begin and end where blocks do.
static void append_filler(struct journal *journal)
{
    char text[FRAMED_BYTES - SEGMENT_HEADER_BYTES - SEGMENT_RECORD_BYTES];
    memset(text, 'f', sizeof text);
    expect(journal_append(journal, 'f', (weft_bytes){text, sizeof text}));
}

static weft_err snapshot(void *owner, struct journal *journal)
{
    (void)owner;
    append_count(journal, 1, 's');
    return WEFT_OK;
}

// What a replay hands out, by the letters.
struct seen {
    uint64_t counts[128];
    uint64_t last;
    struct journal_found found;
};

static weft_err count_record(void *owner, const struct journal_record *record)
{
    struct seen *seen = owner;
    assert_true(seen->last == 0 || record->sequence == seen->last + 1);
    assert_int_equal(record->payload.size, FRAMED_BYTES - SEGMENT_RECORD_BYTES -
                                               (record->type == 'f' ? SEGMENT_HEADER_BYTES : 0));
    for (size_t i = 0; i < record->payload.size; i++)
        assert_int_equal(record->payload.data[i], record->type);
    seen->last = record->sequence;
    seen->counts[record->type]++;
    return WEFT_OK;
}

static struct journal *open_counting(struct seen *seen)
{
    struct journal *journal;
    *seen = (struct seen){0};
    expect(journal_open(&journal, directory, "test", in_our_way(&blocks), count_record, seen,
                        &seen->found));
    return journal;
}

// A last segment "journal-000011" whose file was another one before: 'o' records are its old content.
static struct journal *begin_recycled(void)
{
    struct seen seen;
    struct journal *journal = open_counting(&seen);
    append_count(journal, 7 * 8 * PER_BLOCK, 'o');
    expect(journal_sync(journal));
    assert_true(exists("journal-000007") && !exists("journal-000008"));
    expect(journal_rewrite(journal, snapshot, NULL));
    expect(journal_rewrite(journal, snapshot,
                           NULL));  // the first took the file that was written ahead
    assert_true(exists("journal-000011") && !exists("journal-000001"));
    assert_true(exists("journal-000002.spare") && !exists("journal-000001.spare"));
    return journal;
}

static struct journal *begin_fresh(void)
{
    struct seen seen;
    return open_counting(&seen);
}

// The two kinds of files, and the name of the last segment in each.
static const struct {
    struct journal *(*begin)(void);
    const char *name;
} KINDS[] = {{begin_fresh, "journal-000001"}, {begin_recycled, "journal-000011"}};
enum { KIND_COUNT = 2 };

// ---- After the end ----------------------------------------------------------------------------------

static void what_is_behind_the_end_is_neither_counted_nor_torn(void **state)
{
    (void)state;
    for (int i = 0; i < KIND_COUNT; i++) {
        struct seen seen;
        struct journal *journal = KINDS[i].begin();
        const uint64_t size = journal_size(journal);
        append_count(journal, 3, 'n');
        assert_int_equal(journal_size(journal), size + (uint64_t)3 * FRAMED_BYTES);
        expect(journal_close(journal));
        struct buf bytes = load(KINDS[i].name);
        assert_true(bytes.size >= (size_t)8 * BLOCK);
        assert_int_equal(bytes.data[5 * BLOCK + 60] != 0, i);
        buf_fini(&bytes);
        journal = open_counting(&seen);
        assert_int_equal(seen.counts['n'], 3);
        assert_int_equal(seen.counts['o'], 0);
        assert_int_equal(seen.found.torn_bytes + seen.found.lost_bytes, 0);
        assert_int_equal(journal_size(journal), size + (uint64_t)3 * FRAMED_BYTES);
        expect(journal_close(journal));
        expect(file_remove_tree(directory));
    }
}

static void segments_that_end_before_their_files_follow_each_other(void **state)
{
    (void)state;
    for (int round = 0; round < 3; round++) {
        struct seen seen;
        struct journal *journal = open_counting(&seen);
        assert_int_equal(seen.counts['n'], round * 1000);
        for (int i = 0; i < 100; i++) {
            append_count(journal, 10, 'n');
            expect(journal_sync(journal));
        }
        expect(journal_close(journal));
    }
}

static void a_damaged_end_before_another_segment_is_data_loss(void **state)
{
    (void)state;
    struct journal *journal = begin_recycled();
    append_count(journal, 10 * PER_BLOCK, 'n');
    expect(journal_close(journal));
    assert_true(exists("journal-000012"));
    struct buf bytes = load("journal-000011");
    const size_t end = SEGMENT_HEADER_BYTES + (size_t)8 * PER_BLOCK * FRAMED_BYTES;
    bytes.data[end - 1] ^= 1;  // in the last record: nothing sound follows it
    store("journal-000011", bytes.data, bytes.size);
    assert_int_equal(journal_read(directory, "test", NULL, NULL, NULL, NULL), WEFT_DATA_LOSS);
    assert_non_null(strstr(err_text(), "journal-000011 is damaged at offset"));
    buf_fini(&bytes);
}

// ---- Cut, flipped, torn -------------------------------------------------------------------------------

static void cut_anywhere_a_beginning_is_left_and_it_goes_on(void **state)
{
    (void)state;
    for (int i = 0; i < KIND_COUNT; i++) {
        struct seen seen;
        struct journal *journal = KINDS[i].begin();
        append_count(journal, 3, 'n');
        expect(journal_close(journal));
        struct buf whole = load(KINDS[i].name);
        const size_t used = SEGMENT_HEADER_BYTES + 3 * FRAMED_BYTES;
        for (size_t size = 0; size < whole.size; size += size < used + 9 ? 1 : 1021) {
            store(KINDS[i].name, whole.data, size);
            journal = open_counting(&seen);
            const size_t room = size < SEGMENT_HEADER_BYTES ? 0 : size - SEGMENT_HEADER_BYTES;
            const size_t kept = room / FRAMED_BYTES < 3 ? room / FRAMED_BYTES : 3;
            assert_int_equal(seen.counts['n'], kept);
            append_count(journal, 2, 'm');
            expect(journal_close(journal));
            expect(journal_close(open_counting(&seen)));
            assert_int_equal(seen.counts['n'] + seen.counts['m'], kept + 2);
            assert_int_equal(seen.found.torn_bytes, 0);
        }
        buf_fini(&whole);
        expect(file_remove_tree(directory));
    }
}

// A bit of the header, or of a commit that another one follows, is damage; one of the last commit cannot
// be distinguished from a write that was torn.
static void check_flipped(const char *name, const struct buf *whole, size_t bit)
{
    struct seen seen = {0};
    struct journal_found found;
    const size_t last_commit = SEGMENT_HEADER_BYTES + 4 * FRAMED_BYTES;
    const size_t used = last_commit + 2 * FRAMED_BYTES;
    whole->data[bit / 8] = (char)(whole->data[bit / 8] ^ 1 << bit % 8);
    store(name, whole->data, whole->size);
    whole->data[bit / 8] = (char)(whole->data[bit / 8] ^ 1 << bit % 8);
    const weft_err err = journal_read(directory, "test", NULL, count_record, &seen, &found);
    if (bit / 8 < last_commit) {
        assert_int_equal(err, WEFT_DATA_LOSS);
        assert_non_null(strstr(err_text(), name));
        assert_int_equal(seen.counts['n'], 0);
        const struct journal_options keeps = {.keeps_good_prefix = true};
        seen = (struct seen){0};
        expect(journal_read(directory, "test", &keeps, count_record, &seen, &found));
        assert_true(seen.counts['n'] < 4 && found.lost_bytes > 0);
        return;
    }
    expect(err);
    const size_t whole_ones = bit / 8 >= used ? 6 : 4 + (bit / 8 - last_commit) / FRAMED_BYTES;
    assert_int_equal(seen.counts['n'], whole_ones);
    assert_true((found.torn_bytes > 0) <= (whole_ones < 6));
    assert_int_equal(seen.counts['o'], 0);
}

static void whatever_bit_is_flipped_no_wrong_record_is_handed_out(void **state)
{
    (void)state;
    for (int i = 0; i < KIND_COUNT; i++) {
        struct journal *journal = KINDS[i].begin();
        for (int commit = 0; commit < 3; commit++) {
            append_count(journal, 2, 'n');
            expect(journal_sync(journal));
        }
        expect(journal_close(journal));
        struct buf whole = load(KINDS[i].name);
        for (size_t bit = 0; bit < (SEGMENT_HEADER_BYTES + 6 * FRAMED_BYTES) * 8; bit += 3)
            check_flipped(KINDS[i].name, &whole, bit);
        for (size_t byte = 1000; byte < whole.size; byte += 509)  // the unused rest
            check_flipped(KINDS[i].name, &whole, byte * 8);
        buf_fini(&whole);
        expect(file_remove_tree(directory));
    }
}

// A commit of several blocks of which any did not reach the disk.
static void check_torn(const char *name, const struct buf *before, const struct buf *after,
                       unsigned blocks_there)
{
    struct seen seen;
    struct buf mixed = {0};
    buf_append(&mixed, before->data, before->size);
    size_t whole_end = after->size;
    for (size_t i = 5; i-- > 0;)
        if (blocks_there & 1u << i)
            memcpy(mixed.data + i * BLOCK, after->data + i * BLOCK, BLOCK);
        else
            whole_end = i * BLOCK;
    store(name, mixed.data, mixed.size);
    buf_fini(&mixed);
    struct journal *journal = open_counting(&seen);
    const size_t places = whole_end / FRAMED_BYTES, written = 4 * PER_BLOCK;
    const size_t kept = places < 3 ? 0 : places - 3 < written ? places - 3 : written;
    assert_int_equal(seen.counts['n'], 2);
    assert_int_equal(seen.counts['t'], kept);
    // Records that were cut stay away, also where new records end exactly before it.
    for (size_t i = kept; i < written - 1; i++) {
        append_count(journal, 1, 'm');
        expect(journal_sync(journal));
        struct seen again = {0};
        expect(journal_read(directory, "test", NULL, count_record, &again, NULL));
        assert_int_equal(again.counts['m'], i + 1 - kept);
        assert_int_equal(again.counts['t'], kept);
    }
    expect(journal_close(journal));
}

static void a_commit_torn_at_any_blocks_is_cut_where_the_first_misses(void **state)
{
    (void)state;
    for (int i = 0; i < KIND_COUNT; i++) {
        struct journal *journal = KINDS[i].begin();
        append_filler(journal);
        append_count(journal, 2, 'n');
        expect(journal_sync(journal));
        struct buf before = load(KINDS[i].name);
        append_count(journal, 4 * PER_BLOCK, 't');
        expect(journal_close(journal));
        struct buf after = load(KINDS[i].name);
        assert_int_equal(before.size, after.size);
        for (unsigned there = 0; there < 32; there++)
            check_torn(KINDS[i].name, &before, &after, there);
        buf_fini(&before);
        buf_fini(&after);
        expect(file_remove_tree(directory));
    }
}

static void a_record_of_another_segment_is_not_sound(void **state)
{
    (void)state;
    struct buf bytes = {0};
    const struct journal_record record = {.type = 1, .sequence = 5, .payload = weft_text("x")};
    struct journal_record found;
    assert_true(segment_append(&bytes, 3, true, &record));
    for (uint64_t salt = 0; salt < 6; salt++) {
        struct segment_walk walk = {buf_bytes(&bytes), 0, 5, salt};
        assert_int_equal(segment_next(&walk, &found), salt == 3);
    }
    buf_fini(&bytes);
}

// ---- Both ways, and what else ------------------------------------------------------------------------

static void a_journal_goes_on_in_the_other_way(void **state)
{
    (void)state;
    struct seen seen;
    for (int i = 0; i < 6; i++) {
        is_often = i % 2;
        struct journal *journal = open_counting(&seen);
        assert_int_equal(seen.counts['n'], 5 * i);
        assert_int_equal(seen.found.torn_bytes, 0);
        append_count(journal, 5, 'n');
        if (i == 3) {
            expect(journal_sync(journal));
            expect(journal_rewrite(journal, snapshot, NULL));
            append_count(journal, 20, 'n');
        }
        expect(journal_close(journal));
    }
}

static void a_record_larger_than_a_segment_is_kept(void **state)
{
    (void)state;
    struct journal *journal;
    expect(journal_open(&journal, directory, "test", in_our_way(&blocks), NULL, NULL, NULL));
    const size_t size = 5000001;
    char *large = malloc(size);
    assert_non_null(large);
    memset(large, 'L', size);
    append(journal, 1, "before");
    expect(journal_append(journal, 2, (weft_bytes){large, size}));
    append(journal, 1, "after");
    expect(journal_close(journal));
    struct log log = {0};
    expect(journal_read(directory, "test", NULL, visit, &log, NULL));
    assert_int_equal(log.text.size, strlen("1:1:before 2:2: 1:3:after ") + size);
    buf_fini(&log.text);
    free(large);
}

static void old_segments_are_used_again(void **state)
{
    (void)state;
    struct seen seen;
    struct journal *journal = begin_recycled();
    for (int round = 0; round < 5; round++) {
        append_count(journal, 6 * 8 * PER_BLOCK, (char)('a' + round));
        expect(journal_sync(journal));
        struct seen now = {0};
        expect(journal_read(directory, "test", NULL, count_record, &now, NULL));
        assert_int_equal(now.counts['a' + round], 6 * 8 * PER_BLOCK);
        assert_int_equal(now.found.record_count, 0);
        expect(journal_rewrite(journal, snapshot, NULL));
    }
    expect(journal_close(journal));
    expect(journal_close(open_counting(&seen)));
    assert_int_equal(seen.counts['s'], 1);
    assert_int_equal(seen.last, seen.found.record_count + seen.last - 1);
}

static void without_room_to_write_ahead_the_file_grows(void **state)
{
    (void)state;
    struct seen seen;
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
    struct rlimit old, few;
    getrlimit(RLIMIT_FSIZE, &old);
    few = (struct rlimit){4 * BLOCK, old.rlim_max};
    setrlimit(RLIMIT_FSIZE, &few);
    struct journal *journal = open_counting(&seen);
    append_count(journal, 2 * PER_BLOCK, 'n');
    expect(journal_sync(journal));
    append_count(journal, 4 * PER_BLOCK, 'n');
    assert_int_equal(journal_sync(journal), WEFT_RESOURCE_EXHAUSTED);
    assert_int_equal(journal_sync(journal), WEFT_RESOURCE_EXHAUSTED);
    setrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, before);
    expect(journal_sync(journal));
    expect(journal_close(journal));
    expect(journal_close(open_counting(&seen)));
    assert_int_equal(seen.counts['n'], 6 * PER_BLOCK);
    assert_int_equal(seen.found.torn_bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OFTEN(what_is_behind_the_end_is_neither_counted_nor_torn),
        OFTEN(segments_that_end_before_their_files_follow_each_other),
        OFTEN(a_damaged_end_before_another_segment_is_data_loss),
        OFTEN(cut_anywhere_a_beginning_is_left_and_it_goes_on),
        OFTEN(whatever_bit_is_flipped_no_wrong_record_is_handed_out),
        OFTEN(a_commit_torn_at_any_blocks_is_cut_where_the_first_misses),
        OFTEN(a_record_of_another_segment_is_not_sound),
        OFTEN(a_journal_goes_on_in_the_other_way),
        OFTEN(a_record_larger_than_a_segment_is_kept),
        OFTEN(old_segments_are_used_again),
        OFTEN(without_room_to_write_ahead_the_file_grows),
    };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
