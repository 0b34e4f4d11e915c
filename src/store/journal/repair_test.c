// Tests of repairing journals: the report, the records that are kept, and the journals that are not touched.

#include "store/journal/journal.h"

#include <sys/stat.h>

#include "store/journal/journal_testing.h"

struct seen {
    struct log log;
    struct journal_damage damage;
    char why[256], copy[128];
    int begun, asked;
    weft_err answer;
    uint64_t misfit;  // the sequence of a record that does not fit
};

static weft_err begin(void *owner)
{
    struct seen *seen = owner;
    seen->begun++;
    seen->log.text.size = 0;
    return WEFT_OK;
}

static weft_err take(void *owner, const struct journal_record *record)
{
    struct seen *seen = owner;
    if (record->sequence == seen->misfit)
        return err_set(WEFT_DATA_LOSS, "it does not fit");
    return visit(&seen->log, record);
}

static weft_err approve(void *owner, const struct journal_damage *damage)
{
    struct seen *seen = owner;
    seen->asked++;
    seen->damage = *damage;
    snprintf(seen->why, sizeof seen->why, "%s", damage->why);
    snprintf(seen->copy, sizeof seen->copy, "%s", damage->copy);
    return seen->answer ? err_set(seen->answer, "no") : WEFT_OK;
}

static weft_err repair(struct seen *seen)
{
    const struct journal_repairer repairer = {begin, take, approve, seen};
    return journal_repair(directory, "test", in_our_way(&small), &repairer, NULL);
}

static void damage_third_segment(void)
{
    write_many(10);
    struct buf bytes = load("journal-000003");
    bytes.data[SEGMENT_HEADER_BYTES + 21 + 20] ^= 1;  // record 6
    store("journal-000003", bytes.data, bytes.size);
    buf_fini(&bytes);
}

static void damage_is_shown_and_nothing_changes_unless_approved(void **state)
{
    (void)state;
    struct seen seen = {.answer = WEFT_CANCELLED};
    damage_third_segment();
    struct buf before = load("journal-000003");
    assert_int_equal(repair(&seen), WEFT_CANCELLED);
    assert_int_equal(seen.asked, 1);
    assert_string_equal(buf_text(&seen.log.text), "1:1:x 1:2:x 1:3:x 1:4:x 1:5:x ");
    assert_int_equal(seen.damage.offset, SEGMENT_HEADER_BYTES + 21);
    assert_int_equal(seen.damage.found.record_count, 5);
    assert_int_equal(seen.damage.found.lost_records, 4);
    assert_int_equal(seen.damage.found.lost_segments, 3);
    assert_non_null(strstr(seen.why, "journal-000003 is damaged at offset 85"));
    struct buf after = load("journal-000003");
    assert_int_equal(before.size, after.size);
    assert_memory_equal(before.data, after.data, before.size);
    assert_false(exists("damaged-1"));
    buf_fini(&before);
    buf_fini(&after);
    buf_fini(&seen.log.text);
}

static void what_is_cut_is_kept_and_the_journal_goes_on(void **state)
{
    (void)state;
    struct seen seen = {0};
    damage_third_segment();
    struct buf before = load("journal-000003");
    expect(repair(&seen));
    struct buf copy = load("damaged-1/journal-000003");
    assert_int_equal(before.size, copy.size);
    assert_memory_equal(before.data, copy.data, before.size);
    assert_true(exists("damaged-1/journal-000005"));
    assert_false(exists("damaged-1/journal-000002"));
    struct stat status;
    assert_int_equal(stat(path_of("damaged-1/journal-000003"), &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    struct journal *journal = open_with(&small, "1:1:x 1:2:x 1:3:x 1:4:x 1:5:x ");
    append(journal, 2, "y");
    expect(journal_close(journal));
    seen.asked = 0;
    expect(repair(&seen));  // sound: the user is not asked
    assert_int_equal(seen.asked, 0);
    assert_false(exists("damaged-2"));
    expect(journal_close(open_with(&small, "1:1:x 1:2:x 1:3:x 1:4:x 1:5:x 2:6:y ")));
    buf_fini(&before);
    buf_fini(&copy);
    buf_fini(&seen.log.text);
}

static void a_record_that_does_not_fit_is_cut_too(void **state)
{
    (void)state;
    struct seen seen = {.misfit = 4};
    write_many(6);
    expect(repair(&seen));
    assert_int_equal(seen.begun, 2);
    assert_non_null(strstr(seen.why, "journal-000002 is damaged at offset 85: it does not fit"));
    assert_string_equal(buf_text(&seen.log.text), "1:1:x 1:2:x 1:3:x ");
    assert_int_equal(seen.damage.found.lost_records, 3);
    expect(journal_close(open_with(&small, "1:1:x 1:2:x 1:3:x ")));
    buf_fini(&seen.log.text);
}

static void a_newer_segment_behind_the_damage_is_not_ours_to_cut(void **state)
{
    (void)state;
    struct seen seen = {0};
    damage_third_segment();
    char header[SEGMENT_HEADER_BYTES];
    segment_write_header(header, &(struct segment_header){JOURNAL_VERSION + 1, 5, 9, 0, "test"});
    store("journal-000005", header, sizeof header);
    assert_int_equal(repair(&seen), WEFT_FAILED_PRECONDITION);
    assert_int_equal(seen.asked, 0);
    // Nor for a caller that asks for the beginning.
    struct journal *journal;
    const struct journal_options options = {.keeps_good_prefix = true};
    assert_int_equal(
        journal_open(&journal, directory, "test", in_our_way(&options), NULL, NULL, NULL),
        WEFT_FAILED_PRECONDITION);
    assert_true(exists("journal-000004"));
    assert_true(exists("journal-000005"));
    buf_fini(&seen.log.text);
}

static void one_that_is_missing_or_in_use_is_refused(void **state)
{
    (void)state;
    struct seen seen = {0};
    assert_int_equal(repair(&seen), WEFT_NOT_FOUND);
    assert_false(exists(""));
    struct journal *journal = open_with(&small, "");
    append(journal, 1, "x");
    expect(journal_flush(journal));
    assert_int_equal(repair(&seen), WEFT_UNAVAILABLE);
    expect(journal_close(journal));
    assert_int_equal(seen.asked, 0);
    buf_fini(&seen.log.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(damage_is_shown_and_nothing_changes_unless_approved),
        BOTH(what_is_cut_is_kept_and_the_journal_goes_on),
        BOTH(a_record_that_does_not_fit_is_cut_too),
        BOTH(a_newer_segment_behind_the_damage_is_not_ours_to_cut),
        BOTH(one_that_is_missing_or_in_use_is_refused),
    };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
