// Tests of journals in a real directory: whatever is cut, flipped or left by a kill, the records that are
// handed out are a beginning of the appended ones, or there is a reason why not.

#include "store/journal/journal.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/journal/journal_testing.h"

static void write_three(void)
{
    struct journal *journal = open_with(NULL, "");
    const char *const texts[] = {"one", "", "third"};
    for (uint32_t i = 0; i < 3; i++) {
        append(journal, 7 + i, texts[i]);
        if (is_often)  // an incomplete record of the last commit is torn, never damage
            expect(journal_sync(journal));
    }
    expect(journal_close(journal));
}

static const char *const PREFIXES[] = {"", "7:1:one ", "7:1:one 8:2: ", "7:1:one 8:2: 9:3:third "};

static bool is_prefix(const char *text)
{
    for (size_t i = 0; i < sizeof PREFIXES / sizeof *PREFIXES; i++)
        if (strcmp(text, PREFIXES[i]) == 0)
            return true;
    return false;
}

// ---- Appending and reading ------------------------------------------------------------------------

static void what_was_appended_is_replayed_and_continued(void **state)
{
    (void)state;
    write_three();
    struct journal *journal = open_with(NULL, PREFIXES[3]);
    append(journal, 1, "4th");
    expect(journal_sync(journal));
    assert_int_equal(journal_size(journal), SEGMENT_HEADER_BYTES + 4 * SEGMENT_RECORD_BYTES + 11);
    expect(journal_close(journal));
    expect(journal_close(NULL));
    expect(journal_close(open_with(NULL, "7:1:one 8:2: 9:3:third 1:4:4th ")));
}

static void what_was_flushed_survives_a_kill_and_what_waits_does_not(void **state)
{
    (void)state;
    const pid_t child = fork();
    if (child == 0) {
        struct journal *journal;
        if (journal_open(&journal, directory, "test", in_our_way(NULL), NULL, NULL, NULL) ||
            journal_append(journal, 1, weft_text("kept")) || journal_flush(journal) ||
            journal_append(journal, 2, weft_text("lost")))
            _exit(1);
        raise(SIGKILL);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    expect(journal_close(open_with(NULL, "1:1:kept ")));  // and the lock went with it
}

static void a_reader_needs_no_lock_and_changes_nothing(void **state)
{
    (void)state;
    struct log log = {0};
    struct journal_found found;
    expect(journal_read(directory, "test", NULL, visit, &log, &found));
    assert_int_equal(found.segment_count, 0);
    assert_false(exists(""));
    struct journal *journal = open_with(NULL, "");
    append(journal, 1, "a");
    expect(journal_flush(journal));
    struct buf before = load("journal-000001");
    store("journal-000001", before.data, before.size - 1);
    expect(journal_read(directory, "test", NULL, visit, &log, &found));
    assert_int_equal(found.torn_bytes, SEGMENT_RECORD_BYTES);
    store("journal-000001", before.data, before.size);
    expect(journal_read(directory, "test", NULL, visit, &log, &found));
    assert_int_equal(found.torn_bytes, 0);
    assert_int_equal(found.record_count, 1);
    assert_string_equal(buf_text(&log.text), "1:1:a ");
    expect(journal_close(journal));
    buf_fini(&before);
    buf_fini(&log.text);
}

static void a_second_opener_is_told_who_has_it(void **state)
{
    (void)state;
    struct journal *journal = open_with(NULL, ""), *second;
    assert_int_equal(journal_open(&second, directory, "test", in_our_way(NULL), visit, NULL, NULL),
                     WEFT_UNAVAILABLE);
    assert_null(second);
    char holder[32];
    snprintf(holder, sizeof holder, "process %d", (int)getpid());
    assert_non_null(strstr(err_text(), holder));
    assert_non_null(strstr(err_text(), directory));
    expect(journal_close(journal));
    expect(journal_close(open_with(NULL, "")));
}

static void another_kind_is_refused(void **state)
{
    (void)state;
    write_three();
    struct journal *journal;
    assert_int_equal(journal_open(&journal, directory, "host", in_our_way(NULL), visit, NULL, NULL),
                     WEFT_FAILED_PRECONDITION);
    assert_non_null(strstr(err_text(), "the journal of a test, not of a host"));
    expect(journal_close(open_with(NULL, PREFIXES[3])));
}

static void a_failure_of_the_visitor_ends_the_replay(void **state)
{
    (void)state;
    write_three();
    struct log log = {.fails_with = WEFT_INVALID_ARGUMENT};
    struct journal *journal;
    assert_int_equal(journal_open(&journal, directory, "test", in_our_way(NULL), visit, &log, NULL),
                     WEFT_INVALID_ARGUMENT);
    assert_string_equal(err_text(), "the caller's own");
    assert_string_equal(buf_text(&log.text), PREFIXES[1]);
    buf_fini(&log.text);
    expect(journal_close(open_with(NULL, PREFIXES[3])));
}

static void a_record_that_is_too_large_is_refused(void **state)
{
    (void)state;
    struct journal *journal = open_with(NULL, "");
    const weft_bytes huge = {"", (size_t)JOURNAL_PAYLOAD_BYTES_MAX + 1};
    assert_int_equal(journal_append(journal, 1, huge), WEFT_INVALID_ARGUMENT);
    append(journal, 1, "a");
    expect(journal_close(journal));
    expect(journal_close(open_with(NULL, "1:1:a ")));
}

// ---- Damage ---------------------------------------------------------------------------------------

static void cut_at_every_byte_a_beginning_is_left_and_it_goes_on(void **state)
{
    (void)state;
    write_three();
    struct buf whole = load("journal-000001");
    for (size_t size = 0; size < whole.size; size++) {
        store("journal-000001", whole.data, size);
        struct log log = {0};
        struct journal *journal;
        struct journal_found found;
        expect(journal_open(&journal, directory, "test", in_our_way(NULL), visit, &log, &found));
        assert_true(is_prefix(buf_text(&log.text)));
        const size_t ends[] = {SEGMENT_HEADER_BYTES, SEGMENT_HEADER_BYTES + 23,
                               SEGMENT_HEADER_BYTES + 43};
        const size_t kept = size < SEGMENT_HEADER_BYTES ? 0 : ends[found.record_count];
        assert_int_equal(size - found.torn_bytes, kept);
        append(journal, 5, "more");
        expect(journal_close(journal));
        buf_format(&log.text, "5:%llu:more ", (unsigned long long)found.record_count + 1);
        expect(journal_close(open_with(NULL, buf_text(&log.text))));
        buf_fini(&log.text);
    }
    buf_fini(&whole);
}

static void whatever_bit_is_flipped_no_wrong_record_is_handed_out(void **state)
{
    (void)state;
    write_three();
    struct buf whole = load("journal-000001");
    const size_t last_record = SEGMENT_HEADER_BYTES + 43;
    for (size_t bit = 0; bit < whole.size * 8; bit++) {
        whole.data[bit / 8] = (char)(whole.data[bit / 8] ^ 1 << bit % 8);
        store("journal-000001", whole.data, whole.size);
        struct log log = {0};
        struct journal *journal;
        struct journal_found found;
        weft_err err =
            journal_open(&journal, directory, "test", in_our_way(NULL), visit, &log, &found);
        if (bit / 8 >= last_record) {  // nothing sound follows it: a torn tail
            expect(err);
            assert_string_equal(buf_text(&log.text), PREFIXES[2]);
            assert_int_equal(found.torn_bytes, whole.size - last_record);
            expect(journal_close(journal));
        } else {
            assert_int_equal(err, WEFT_DATA_LOSS);
            assert_non_null(strstr(err_text(), "journal-000001"));
            assert_int_equal(log.text.size, 0);
            const struct journal_options options = {.keeps_good_prefix = true};
            expect(journal_open(&journal, directory, "test", in_our_way(&options), visit, &log,
                                &found));
            assert_true(is_prefix(buf_text(&log.text)));
            assert_true(found.lost_bytes > 0 && found.record_count < 2);
            expect(journal_close(journal));
            expect(journal_close(open_with(NULL, buf_text(&log.text))));
        }
        buf_fini(&log.text);
        whole.data[bit / 8] = (char)(whole.data[bit / 8] ^ 1 << bit % 8);
    }
    buf_fini(&whole);
}

static void damage_is_named_with_its_place(void **state)
{
    (void)state;
    write_three();
    struct buf whole = load("journal-000001");
    whole.data[SEGMENT_HEADER_BYTES + 23] ^= 1;
    store("journal-000001", whole.data, whole.size);
    assert_int_equal(journal_read(directory, "test", NULL, NULL, NULL, NULL), WEFT_DATA_LOSS);
    assert_non_null(strstr(err_text(), "journal-000001 is damaged at offset 87"));
    buf_fini(&whole);
}

static void a_newer_version_is_refused_and_left_alone(void **state)
{
    (void)state;
    const struct segment_header header = {
        .version = JOURNAL_VERSION + 1, .number = 1, .first_sequence = 1, .kind = "test"};
    char bytes[SEGMENT_HEADER_BYTES];
    segment_write_header(bytes, &header);
    store("journal-000001", bytes, sizeof bytes);
    const struct journal_options options = {.keeps_good_prefix = true};
    struct journal *journal;
    assert_int_equal(
        journal_open(&journal, directory, "test", in_our_way(&options), NULL, NULL, NULL),
        WEFT_FAILED_PRECONDITION);
    assert_non_null(strstr(err_text(), "written by a newer weft"));
    struct buf after = load("journal-000001");
    assert_int_equal(after.size, sizeof bytes);
    assert_memory_equal(after.data, bytes, sizeof bytes);
    buf_fini(&after);
}

static void files_that_are_no_segments_are_not_touched(void **state)
{
    (void)state;
    const char *const others[] = {"journal-1", "journal-0000001", "journal-000001.old", "notes"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        store(others[i], "x", 1);
    expect(journal_close(open_with(NULL, "")));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_true(exists(others[i]));
    store("journal-000001", "hello", 5);  // another program's, in spite of its name
    struct journal *journal;
    assert_int_equal(journal_open(&journal, directory, "test", in_our_way(NULL), NULL, NULL, NULL),
                     WEFT_DATA_LOSS);
    struct buf after = load("journal-000001");
    assert_int_equal(after.size, 5);
    buf_fini(&after);
}

// ---- Segments -------------------------------------------------------------------------------------

static void a_large_journal_has_several_segments(void **state)
{
    (void)state;
    write_many(7);
    assert_true(exists("journal-000004"));
    assert_false(exists("journal-000005"));
    struct journal *journal = open_with(&small, "1:1:x 1:2:x 1:3:x 1:4:x 1:5:x 1:6:x 1:7:x ");
    assert_int_equal(journal_size(journal), 4 * SEGMENT_HEADER_BYTES + 7 * 21);
    append(journal, 2, "y");
    append(journal, 2, "z");
    expect(journal_close(journal));
    assert_true(exists("journal-000005"));
    expect(
        journal_close(open_with(NULL, "1:1:x 1:2:x 1:3:x 1:4:x 1:5:x 1:6:x 1:7:x 2:8:y 2:9:z ")));
}

static void an_empty_last_segment_is_begun_again(void **state)
{
    (void)state;
    write_many(4);
    store("journal-000003", "", 0);
    struct journal *journal = open_with(&small, "1:1:x 1:2:x 1:3:x 1:4:x ");
    append(journal, 2, "y");
    expect(journal_close(journal));
    static const char zeros[200];  // the size without the bytes: a power cut
    store("journal-000004", zeros, sizeof zeros);
    expect(journal_close(open_with(&small, "1:1:x 1:2:x 1:3:x 1:4:x 2:5:y ")));
}

// The journal of 6 records in 3 segments after something was done to it: DATA_LOSS that names a file, or
// with keeps_good_prefix the first records, and from then on it is sound.
static void check_loss(const char *name, const char *kept, uint64_t lost_bytes)
{
    struct log log = {0};
    struct journal *journal;
    struct journal_found found;
    assert_int_equal(
        journal_open(&journal, directory, "test", in_our_way(&small), visit, &log, NULL),
        WEFT_DATA_LOSS);
    assert_non_null(strstr(err_text(), name));
    log.text.size = 0;
    const struct journal_options options = {.segment_bytes_max = 100, .keeps_good_prefix = true};
    expect(journal_open(&journal, directory, "test", in_our_way(&options), visit, &log, &found));
    assert_string_equal(buf_text(&log.text), kept);
    if (!is_often)  // there the files are longer than their content
        assert_int_equal(found.lost_bytes, lost_bytes);
    assert_true(found.lost_bytes > 0);
    append(journal, 3, "new");
    expect(journal_close(journal));
    buf_format(&log.text, "3:%llu:new ", (unsigned long long)found.record_count + 1);
    expect(journal_close(open_with(NULL, buf_text(&log.text))));
    buf_fini(&log.text);
}

static void a_missing_segment_is_data_loss(void **state)
{
    (void)state;
    const uint64_t segment_bytes = SEGMENT_HEADER_BYTES + 2 * 21;
    write_many(6);
    expect(file_remove(path_of("journal-000002")));
    check_loss("journal-000003", "1:1:x 1:2:x ", segment_bytes);
    expect(file_remove_tree(directory));
    write_many(6);
    expect(file_remove(path_of("journal-000001")));
    check_loss("journal-000002", "", 2 * segment_bytes);
}

static void a_segment_that_is_cut_or_swapped_before_others_is_data_loss(void **state)
{
    (void)state;
    const uint64_t segment_bytes = SEGMENT_HEADER_BYTES + 2 * 21;
    write_many(6);
    struct buf second = load("journal-000002"), third = load("journal-000003");
    store("journal-000002", second.data, second.size - 1);
    check_loss("journal-000002", "1:1:x 1:2:x 1:3:x ", 20 + segment_bytes);
    expect(file_remove_tree(directory));
    write_many(6);
    store("journal-000002", third.data, third.size);
    check_loss("journal-000002", "1:1:x 1:2:x ", 2 * segment_bytes);
    expect(file_remove_tree(directory));
    write_many(6);
    store("journal-000002", "", 0);
    check_loss("journal-000002", "1:1:x 1:2:x ", segment_bytes);
    buf_fini(&second);
    buf_fini(&third);
}

static void a_journal_that_is_removed_or_replaced_is_noticed_by_the_next_sync(void **state)
{
    (void)state;
    for (int is_replaced = 0; is_replaced < 2; is_replaced++) {
        struct journal *journal = open_with(NULL, "");
        append(journal, 1, "a");
        expect(journal_sync(journal));
        expect(journal_check_name(journal));
        expect(file_remove_tree(directory));
        if (is_replaced)
            store("journal-000001", "another", 7);
        append(journal, 1, "b");
        assert_int_equal(journal_sync(journal), WEFT_DATA_LOSS);
        assert_non_null(strstr(err_text(), is_replaced ? "replaced" : "removed or moved"));
        assert_true(journal_has_failed(journal));
        assert_int_equal(journal_check_name(journal), WEFT_DATA_LOSS);
        assert_int_equal(journal_close(journal), WEFT_DATA_LOSS);
        expect(file_remove_tree(directory));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(what_was_appended_is_replayed_and_continued),
        BOTH(what_was_flushed_survives_a_kill_and_what_waits_does_not),
        TEST(a_reader_needs_no_lock_and_changes_nothing),
        BOTH(a_journal_that_is_removed_or_replaced_is_noticed_by_the_next_sync),
        BOTH(a_second_opener_is_told_who_has_it),
        BOTH(another_kind_is_refused),
        BOTH(a_failure_of_the_visitor_ends_the_replay),
        BOTH(a_record_that_is_too_large_is_refused),
        TEST(cut_at_every_byte_a_beginning_is_left_and_it_goes_on),
        TEST(whatever_bit_is_flipped_no_wrong_record_is_handed_out),
        BOTH(damage_is_named_with_its_place),
        BOTH(a_newer_version_is_refused_and_left_alone),
        BOTH(files_that_are_no_segments_are_not_touched),
        BOTH(a_large_journal_has_several_segments),
        BOTH(an_empty_last_segment_is_begun_again),
        BOTH(a_missing_segment_is_data_loss),
        TEST(a_segment_that_is_cut_or_swapped_before_others_is_data_loss),
    };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
