// Tests of parts that clients write: the choice of a writer, commits, and parts that go by the server instead.
#include "run/driver/server/shared_parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/crc32c.h"
#include "sys/file/file.h"

enum { PIECES = 4, HOLDERS = 4 };

static char directory[] = "/tmp/weft-shared-parts-XXXXXX";
static const uint32_t part_of_piece[PIECES] = {0, 0, 1, 1};
static struct output_piece before[PIECES];
static struct shared_parts *parts;

// Calls that came.
static bool is_gone[HOLDERS];
static uint32_t order_count, order_holder, order_part, order_attempt, order_pieces;
static char order_path[512];
static char trace[512], said[512];
static weft_err failure;

static void note(const char *word, uint32_t a, uint32_t b)
{
    const size_t used = strlen(trace);
    snprintf(trace + used, sizeof trace - used, "%s%u.%u ", word, a, b);
}

static const char *name(void *owner, uint32_t holder)
{
    static const char *const names[HOLDERS] = {"", "one", "two", "three"};
    (void)owner;
    return is_gone[holder] ? "" : names[holder];
}

static void place(const void *owner, uint32_t holder, Weft__FarFile *far)
{
    (void)owner;
    far->holder = holder;
}

static void take_order(void *owner, uint32_t holder, const Weft__PartWrite *order)
{
    (void)owner;
    order_count++;
    order_holder = holder;
    order_part = order->part;
    order_attempt = order->attempt;
    order_pieces = 0;
    for (size_t i = 0; i < order->n_pieces; i++)
        order_pieces = order_pieces * 10 + order->pieces[i]->far->holder;
    snprintf(order_path, sizeof order_path, "%s", order->path);
}

static void take_written(void *owner, uint32_t piece, const struct output_piece *as)
{
    (void)owner;
    note("w", piece, (uint32_t)as->bytes);
}

static void take_committed(void *owner, uint32_t worker, uint32_t piece)
{
    (void)owner;
    note("c", piece, worker);
}

static void take_by_server(void *owner, const struct arrival *arrival)
{
    (void)owner;
    note("s", arrival->piece, arrival->at.holder);
}

static void take_sentence(void *owner, const char *sentence)
{
    (void)owner;
    snprintf(said, sizeof said, "%s", sentence);
}

static void take_failure(void *owner, weft_err code)
{
    (void)owner;
    failure = code;
}

static const struct shared_parts_calls calls = {.name = name,
                                                .place = place,
                                                .order = take_order,
                                                .written = take_written,
                                                .committed = take_committed,
                                                .by_server = take_by_server,
                                                .say = take_sentence,
                                                .failed = take_failure};

static void open_parts(void)
{
    const struct shared_parts_options options = {.directory = directory,
                                                 .suffix = "",
                                                 .part_of_piece = part_of_piece,
                                                 .part_count = 3,
                                                 .piece_count = PIECES,
                                                 .pieces = before,
                                                 .calls = &calls};
    assert_int_equal(shared_parts_open(&parts, &options), WEFT_OK);
}

static int setup(void **state)
{
    (void)state;
    memset(is_gone, 0, sizeof is_gone);
    memset(before, 0, sizeof before);
    order_count = 0;
    trace[0] = said[0] = order_path[0] = 0;
    failure = WEFT_OK;
    snprintf(directory, sizeof directory, "/tmp/weft-shared-parts-XXXXXX");
    return mkdtemp(directory) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    shared_parts_free(parts);
    parts = NULL;
    return file_remove_tree(directory) == WEFT_OK ? 0 : -1;
}

// The text of piece N is N + 1 bytes 'x'; worker 10 * H + 1 is at client H.
static void hold(uint32_t piece, uint32_t holder)
{
    const struct output_piece as = {piece + 1, 1, crc32c(0, "xxxxxxxx", piece + 1), true};
    const struct arrival arrival = {
        10 * holder + 1, piece, {.holder = holder, .crc32c = as.crc32c, .size = as.bytes}, as};
    shared_parts_take(parts, &arrival);
}

static void fill_file(size_t size)
{
    FILE *file = fopen(order_path, "r+");
    assert_non_null(file);
    assert_int_equal(fwrite("xxxxxxxx", 1, size, file), size);
    fclose(file);
}

static weft_err answer(uint32_t holder, uint32_t bytes, weft_err code, bool is_blind)
{
    Weft__PartWritten written = WEFT__PART_WRITTEN__INIT;
    char why[] = "no such file";
    written.part = order_part;
    written.attempt = order_attempt;
    written.bytes = bytes;
    written.crc = crc32c(0, "xxxxxxxx", bytes);
    written.code = (uint32_t)code;
    written.text = why;
    written.is_blind = is_blind;
    return shared_parts_answer(parts, holder, &written);
}

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

static void the_one_who_has_most_writes_and_all_commit_together(void **state)
{
    char path[512];
    (void)state;
    open_parts();
    hold(0, 1);
    assert_int_equal(order_count, 0);
    hold(1, 2);
    assert_int_equal(order_count, 1);
    assert_int_equal(order_holder, 2);
    assert_int_equal(order_pieces, 12);
    assert_true(exists(order_path));
    fill_file(3);
    assert_string_equal(trace, "");
    assert_int_equal(answer(2, 3, WEFT_OK, false), WEFT_OK);
    assert_string_equal(trace, "w0.1 w1.2 c0.11 c0.21 c1.21 c1.21 ");
    snprintf(path, sizeof path, "%s/part-00000", directory);
    assert_true(exists(path));
    assert_false(exists(order_path));
    // A piece that comes once more is compared, and safe.
    hold(0, 3);
    assert_int_equal(order_count, 1);
    assert_string_equal(trace, "w0.1 w1.2 c0.11 c0.21 c1.21 c1.21 c0.31 ");
    assert_int_equal(shared_parts_finish(parts), WEFT_OK);
    snprintf(path, sizeof path, "%s/%s", directory, OUTPUT_PARTS);
    assert_false(exists(path));
}

static void the_file_of_a_lost_writer_goes_and_another_one_writes(void **state)
{
    char first[512];
    (void)state;
    open_parts();
    hold(2, 1);
    hold(3, 2);
    hold(3, 1);
    assert_int_equal(order_holder, 2);
    snprintf(first, sizeof first, "%s", order_path);
    is_gone[2] = true;
    shared_parts_lose(parts, 2);
    assert_false(exists(first));
    assert_int_equal(order_count, 2);
    assert_int_equal(order_holder, 1);
    assert_int_equal(order_pieces, 11);
    assert_string_not_equal(first, order_path);
    fill_file(7);
    // A late answer of the first changes nothing.
    order_attempt--;
    assert_int_equal(answer(2, 7, WEFT_OK, false), WEFT_OK);
    assert_string_equal(trace, "");
    order_attempt++;
    assert_int_equal(answer(1, 7, WEFT_OK, false), WEFT_OK);
    assert_string_equal(trace, "w2.3 w3.4 c2.11 c2.11 c3.11 c3.11 ");
}

static void pieces_of_a_lost_client_are_waited_for(void **state)
{
    (void)state;
    open_parts();
    hold(0, 1);
    is_gone[1] = true;
    shared_parts_lose(parts, 1);
    hold(1, 2);
    assert_int_equal(order_count, 0);
    hold(0, 2);
    assert_int_equal(order_count, 1);
}

static void parts_of_clients_that_see_nothing_go_by_the_server(void **state)
{
    (void)state;
    open_parts();
    hold(0, 1);
    hold(1, 2);
    assert_int_equal(answer(2, 0, WEFT_NOT_FOUND, true), WEFT_OK);
    assert_non_null(strstr(said, "client two cannot write part files (no such file)"));
    assert_int_equal(order_holder, 1);
    assert_int_equal(answer(1, 0, WEFT_NOT_FOUND, true), WEFT_OK);
    assert_string_equal(trace, "s0.1 s1.2 ");
    assert_false(exists(order_path));
    // Neither is asked again.
    hold(2, 1);
    hold(3, 2);
    assert_int_equal(order_count, 2);
    assert_string_equal(trace, "s0.1 s1.2 s2.1 s3.2 ");
    hold(3, 3);
    assert_string_equal(trace, "s0.1 s1.2 s2.1 s3.2 s3.3 ");
}

static void a_file_that_is_not_there_is_not_believed(void **state)
{
    (void)state;
    open_parts();
    hold(0, 1);
    hold(1, 1);
    fill_file(2);
    assert_int_equal(answer(1, 3, WEFT_OK, false), WEFT_OK);
    assert_non_null(strstr(said, "not in the directory that the server has"));
    assert_string_equal(trace, "s0.1 s1.1 ");
}

static void wrong_bytes_are_not_believed(void **state)
{
    (void)state;
    open_parts();
    hold(0, 1);
    hold(1, 1);
    fill_file(4);
    assert_int_equal(answer(1, 4, WEFT_OK, false), WEFT_OK);
    assert_string_equal(trace, "s0.1 s1.1 ");
}

static void pieces_that_cannot_be_fetched_go_by_the_server_in_the_end(void **state)
{
    (void)state;
    open_parts();
    hold(0, 1);
    hold(1, 2);
    for (uint32_t i = 1; i <= 3; i++) {
        assert_int_equal(order_count, i);
        assert_string_equal(trace, "");
        assert_int_equal(answer(2, 0, WEFT_UNAVAILABLE, false), WEFT_OK);
    }
    assert_int_equal(order_count, 3);
    assert_string_equal(trace, "s0.1 s1.2 ");
}

static void a_part_that_was_begun_before_goes_by_the_server(void **state)
{
    (void)state;
    before[2].is_done = true;
    open_parts();
    hold(3, 1);
    assert_string_equal(trace, "s3.1 ");
    hold(0, 1);
    hold(1, 1);
    assert_int_equal(order_count, 1);
}

static void files_of_an_earlier_run_go(void **state)
{
    char path[512];
    int fd;
    (void)state;
    snprintf(path, sizeof path, "%s/%s", directory, OUTPUT_PARTS);
    assert_int_equal(file_make_directory(path), WEFT_OK);
    snprintf(path, sizeof path, "%s/%s/part-00000-1-1", directory, OUTPUT_PARTS);
    assert_int_equal(file_create_new(path, &fd), WEFT_OK);
    file_close(fd);
    open_parts();
    assert_false(exists(path));
}

static void a_job_that_is_not_deterministic_fails(void **state)
{
    const struct arrival other = {.worker = 5, .piece = 0, .as = {.bytes = 9}};
    (void)state;
    open_parts();
    hold(0, 1);
    shared_parts_take(parts, &other);
    assert_int_equal(failure, WEFT_ABORTED);
    assert_non_null(strstr(err_text(), "not deterministic"));
}

// Of part 0 a piece is missing, part 1 is being written.
static void parts_of_one_that_leaves_go_by_the_server_unless_they_are_written(void **state)
{
    (void)state;
    open_parts();
    hold(0, 1);
    hold(2, 1);
    hold(3, 2);
    assert_int_equal(order_count, 1);
    shared_parts_leave(parts, 1);
    assert_string_equal(trace, "s0.1 ");
    hold(1, 2);
    assert_string_equal(trace, "s0.1 s1.2 ");
    assert_int_equal(answer(2, 0, WEFT_UNAVAILABLE, false), WEFT_OK);
    assert_int_equal(order_count, 2);
    shared_parts_leave(parts, 1);
    fill_file(7);
    assert_int_equal(answer(2, 7, WEFT_OK, false), WEFT_OK);
    assert_string_equal(trace, "s0.1 s1.2 w2.3 w3.4 c2.11 c2.21 c3.21 c3.21 ");
}

static void a_part_that_there_is_not_breaks_the_rules(void **state)
{
    (void)state;
    open_parts();
    order_part = 3;
    assert_int_equal(answer(1, 0, WEFT_OK, false), WEFT_INTERNAL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_one_who_has_most_writes_and_all_commit_together),
        TEST(the_file_of_a_lost_writer_goes_and_another_one_writes),
        TEST(pieces_of_a_lost_client_are_waited_for),
        TEST(parts_of_clients_that_see_nothing_go_by_the_server),
        TEST(a_file_that_is_not_there_is_not_believed),
        TEST(wrong_bytes_are_not_believed),
        TEST(pieces_that_cannot_be_fetched_go_by_the_server_in_the_end),
        TEST(a_part_that_was_begun_before_goes_by_the_server),
        TEST(files_of_an_earlier_run_go),
        TEST(a_job_that_is_not_deterministic_fails),
        TEST(parts_of_one_that_leaves_go_by_the_server_unless_they_are_written),
        TEST(a_part_that_there_is_not_breaks_the_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
