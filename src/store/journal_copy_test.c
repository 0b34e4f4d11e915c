// Tests of copies of journals, with a name node and a data node of our own.
#include "store/hdfs/hdfs_testing.h"

#include "store/journal_copy.h"
#include "store/store.h"
#include "sys/file/file.h"
#include "sys/file/folder_testing.h"
#include "sys/time/clock.h"

enum { AWAIT_MS = 20000, LOOK_MS = 50 };

static const char zeros[] = "a\0b";  // journals have all bytes

static struct store_place *open_place(void)
{
    struct store_place *place;
    assert_int_equal(store_open_place("hdfs:///out/", 5000, &place), WEFT_OK);
    return place;
}

static void append_here(const char *path, weft_bytes bytes)
{
    FILE *file = fopen(path, "a");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes.data, 1, bytes.size, file), bytes.size);
    assert_int_equal(fclose(file), 0);
}

static struct journal_copy *begin(uint32_t number)
{
    struct journal_copy *copy;
    const struct journal_copy_spec spec = {
        .url = "hdfs:///out/", .from = "here", .to = "/hidden/journal", .number = number};
    if (mkdir("here", 0700) == 0) {
        append_here("here/journal-000001", (weft_bytes){zeros, sizeof zeros});
        append_here("here/origin", weft_text("of a job"));
        append_here("here/token", weft_text("a secret"));
    }
    assert_int_equal(journal_copy_start(&spec, &copy), WEFT_OK);
    return copy;
}

static weft_err add_bytes(void *owner, const char *name, uint64_t offset, weft_bytes bytes)
{
    struct buf *all = owner;
    buf_format(all, "%s@%u:", name, (unsigned)offset);
    buf_append(all, bytes.data, bytes.size);
    return WEFT_OK;
}

// Reads the newest copy, until it is the expected one.
static void await_copy(struct store_place *place, uint32_t number, weft_bytes expected)
{
    const uint64_t until_ns = clock_now_ns() + (uint64_t)AWAIT_MS * 1000000;
    bool is_it = false;
    while (!is_it && clock_now_ns() < until_ns) {
        struct journal_copy_found found;
        struct buf all = {0};
        assert_int_equal(journal_copy_look(place, "/hidden/journal", &found), WEFT_OK);
        if (found.number == number &&
            journal_copy_read(place, "/hidden/journal", number, add_bytes, &all) == WEFT_OK)
            is_it =
                all.size == expected.size && memcmp(all.data, expected.data, expected.size) == 0;
        err_clear();  // a stretch that has just been replaced by a longer one
        buf_fini(&all);
        clock_sleep_ms(LOOK_MS);
    }
    assert_true(is_it);
}

static void a_journal_comes_there_as_it_grows(void **state)
{
    (void)state;
    fake_start(1);
    fake->step_ms = 1;
    fake_add("/hidden", true, 0700);
    struct store_place *place = open_place();
    struct journal_copy *copy = begin(1);
    struct journal_copy_found found;
    struct buf origin = {0};
    static const char first[] = "journal-000001@0:a\0b";
    static const char second[] = "journal-000001@0:a\0b\0morejournal-000002@0:next";
    await_copy(place, 1, (weft_bytes){first, sizeof first});
    assert_int_equal(journal_copy_look(place, "/hidden/journal", &found), WEFT_OK);
    assert_false(found.has_ended);
    append_here("here/journal-000001", weft_text("more"));
    append_here("here/journal-000002", weft_text("next"));
    await_copy(place, 1, (weft_bytes){second, sizeof second - 1});
    append_here("here/journal-000002", weft_text("!"));
    journal_copy_finish(copy);
    static const char last[] = "journal-000001@0:a\0b\0morejournal-000002@0:next!";
    await_copy(place, 1, (weft_bytes){last, sizeof last - 1});
    assert_int_equal(journal_copy_look(place, "/hidden/journal", &found), WEFT_OK);
    assert_true(found.has_ended);
    assert_int_equal(found.highest, 1);
    assert_int_equal(journal_copy_read_origin(place, "/hidden/journal", 1, &origin), WEFT_OK);
    assert_string_equal(buf_text(&origin), "of a job");
    buf_fini(&origin);
    for (int i = 0; i < FAKE_FILES_MAX; i++) {
        const struct fake_file *file = &fake->files[i];
        assert_null(strstr(file->path, "token"));
        if (strstr(file->path, "/hidden/journal"))
            assert_int_equal(file->mode, file->is_directory ? 0700 : 0600);
    }
    store_close_place(place);
    fake_end();
}

static void the_folder_of_an_earlier_process_goes_when_the_new_one_is_complete(void **state)
{
    (void)state;
    fake_start(1);
    fake->step_ms = 1;
    fake_add("/hidden", true, 0700);
    struct store_place *place = open_place();
    struct journal_copy *copy = begin(1);
    static const char all[] = "journal-000001@0:a\0b";
    await_copy(place, 1, (weft_bytes){all, sizeof all});
    journal_copy_free(copy);
    copy = begin(2);
    await_copy(place, 2, (weft_bytes){all, sizeof all});
    journal_copy_finish(copy);
    assert_null(fake_find("/hidden/journal/1"));
    assert_null(fake_find("/hidden/journal/1/origin"));
    assert_non_null(fake_find("/hidden/journal/2/origin"));
    store_close_place(place);
    fake_end();
}

static void a_process_that_works_has_a_pulse(void **state)
{
    (void)state;
    fake_start(1);
    fake->step_ms = 1;
    fake_add("/hidden", true, 0700);
    struct store_place *place = open_place();
    struct journal_copy *copy = begin(1);
    struct journal_copy_found first, second;
    await_copy(place, 1, (weft_bytes){"journal-000001@0:a\0b", 21});
    clock_sleep_ms(200);
    assert_int_equal(journal_copy_look(place, "/hidden/journal", &first), WEFT_OK);
    const uint64_t until_ns = clock_now_ns() + (uint64_t)AWAIT_MS * 1000000;
    do {
        clock_sleep_ms(LOOK_MS);
        assert_int_equal(journal_copy_look(place, "/hidden/journal", &second), WEFT_OK);
    } while (second.pulse == first.pulse && clock_now_ns() < until_ns);
    assert_true(second.pulse != first.pulse);
    journal_copy_free(copy);
    assert_int_equal(journal_copy_look(place, "/hidden/journal", &first), WEFT_OK);
    clock_sleep_ms(2500);
    assert_int_equal(journal_copy_look(place, "/hidden/journal", &second), WEFT_OK);
    assert_true(second.pulse == first.pulse);
    assert_false(second.has_ended);
    store_close_place(place);
    fake_end();
}

static void await_loss(const struct journal_copy *copy)
{
    const uint64_t until_ns = clock_now_ns() + (uint64_t)AWAIT_MS * 1000000;
    while (!journal_copy_is_lost(copy) && clock_now_ns() < until_ns)
        clock_sleep_ms(LOOK_MS);
    assert_true(journal_copy_is_lost(copy));
}

static void a_folder_that_another_process_took_is_not_made_again(void **state)
{
    (void)state;
    fake_start(1);
    fake->step_ms = 1;
    fake_add("/hidden", true, 0700);
    struct store_place *place = open_place();
    struct journal_copy *copy = begin(1);
    await_copy(place, 1, (weft_bytes){"journal-000001@0:a\0b", 21});
    assert_false(journal_copy_is_lost(copy));
    assert_int_equal(place->calls->rename(place, "/hidden", "/taken"), WEFT_OK);
    await_loss(copy);
    journal_copy_finish(copy);
    assert_null(fake_find("/hidden"));
    // Also one that had not begun.
    copy = begin(2);
    await_loss(copy);
    journal_copy_free(copy);
    assert_null(fake_find("/hidden"));
    store_close_place(place);
    fake_end();
}

static void add_there(const char *name, const char *bytes)
{
    char path[200];
    snprintf(path, sizeof path, "/hidden/journal/1/%s", name);
    struct fake_file *file = fake_add(path, false, 0600);
    file->size = strlen(bytes);
    memcpy(file->bytes, bytes, file->size);
}

static void expect_read(const char *expected)
{
    struct store_place *place = open_place();
    struct buf all = {0};
    assert_int_equal(journal_copy_read(place, "/hidden/journal", 1, add_bytes, &all), WEFT_OK);
    assert_string_equal(all.size ? buf_text(&all) : "", expected);
    buf_fini(&all);
    store_close_place(place);
}

static void of_two_that_begin_alike_the_longer_counts(void **state)
{
    (void)state;
    fake_start(1);
    fake->step_ms = 1;
    fake_add("/hidden/journal/1", true, 0700);
    add_there("journal-000001.000000000000-000000000002", "ab");
    add_there("journal-000001.000000000000-000000000004", "abcd");
    add_there("journal-000001.000000000004-000000000005", "e");
    expect_read("journal-000001@0:abcdjournal-000001@4:e");
    fake_end();
}

static void one_that_was_cut_does_not_count(void **state)
{
    (void)state;
    fake_start(1);
    fake->step_ms = 1;
    fake_add("/hidden/journal/1", true, 0700);
    add_there("journal-000001.000000000000-000000000002", "ab");
    add_there("journal-000001.000000000000-000000000004", "abc");
    expect_read("journal-000001@0:ab");
    fake_end();
}

static void a_stretch_that_is_missing_ends_the_copy(void **state)
{
    (void)state;
    fake_start(1);
    fake->step_ms = 1;
    fake_add("/hidden/journal/1", true, 0700);
    add_there("journal-000001.000000000000-000000000002", "ab");
    add_there("journal-000001.000000000003-000000000004", "d");
    add_there("journal-000002.000000000000-000000000001", "x");
    expect_read("journal-000001@0:ab");
    fake_end();
}

static void other_names_are_not_read(void **state)
{
    (void)state;
    fake_start(1);
    fake->step_ms = 1;
    fake_add("/hidden/journal/1", true, 0700);
    add_there("journal-.000000000000-000000000001", "x");
    add_there("journal-000001", "x");
    add_there("journal-000001.0-1x", "x");
    add_there("journal-000001.1-0", "x");
    add_there("token.000000000000-000000000001", "x");
    add_there("alive", "");
    expect_read("");
    fake_end();
}

static void where_there_is_none_nothing_is_found(void **state)
{
    (void)state;
    fake_start(1);
    fake->step_ms = 1;
    struct store_place *place = open_place();
    struct journal_copy_found found = {.number = 7};
    assert_int_equal(journal_copy_look(place, "/hidden/journal", &found), WEFT_OK);
    assert_int_equal(found.number, 0);
    assert_int_equal(found.highest, 0);
    store_close_place(place);
    fake_end();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, testing_enter_folder, testing_leave_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_journal_comes_there_as_it_grows),
        TEST(the_folder_of_an_earlier_process_goes_when_the_new_one_is_complete),
        TEST(a_process_that_works_has_a_pulse),
        TEST(a_folder_that_another_process_took_is_not_made_again),
        TEST(of_two_that_begin_alike_the_longer_counts),
        TEST(one_that_was_cut_does_not_count),
        TEST(a_stretch_that_is_missing_ends_the_copy),
        TEST(other_names_are_not_read),
        TEST(where_there_is_none_nothing_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
