// Tests of pieces on their way from shelves to the output.
#include "run/driver/answer/drafts.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/crc32c.h"
#include "run/options.h"
#include "sys/file/file.h"
#include "sys/loop/loop.h"

enum { PIECES = 4 };

struct scene {
    struct run_options options;
    struct run_stage stage;
    uint32_t parts[PIECES];
    struct run_plan plan;
    struct output_place place;
    struct output_piece pieces[PIECES];
    struct loop *loop;
    struct drafts *drafts;
    int shelf;
    uint64_t shelf_size;
    int written[PIECES], written_count, wanted;
    weft_err failure;
    char failure_text[512];
    char path[64];
};

static void take_written(void *owner, uint32_t piece, const struct output_piece *as)
{
    struct scene *scene = owner;
    assert_true(as->is_done);
    scene->written[scene->written_count++] = (int)piece;
    if (scene->written_count == scene->wanted)
        loop_stop(scene->loop);
}

static void take_failure(void *owner, weft_err code)
{
    struct scene *scene = owner;
    assert_int_equal(scene->failure, WEFT_OK);
    scene->failure = code;
    snprintf(scene->failure_text, sizeof scene->failure_text, "%s", err_text());
    loop_stop(scene->loop);
}

static const struct drafts_calls calls = {.written = take_written, .failed = take_failure};

static int begin(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    scene->stage = (struct run_stage){
        .is_last = true, .part_count = 1, .range_count = PIECES, .piece_count = PIECES};
    scene->plan = (struct run_plan){.options = &scene->options,
                                    .stages = &scene->stage,
                                    .stage_count = 1,
                                    .parts = scene->parts,
                                    .worker_count = 2};
    scene->loop = loop_new(NULL, NULL);
    snprintf(scene->path, sizeof scene->path, "/var/tmp/weft-drafts-XXXXXX");
    *state = scene;
    return mkdtemp(scene->path) && file_create_nameless("/var/tmp", &scene->shelf) == WEFT_OK ? 0
                                                                                              : -1;
}

static int end(void **state)
{
    struct scene *scene = *state;
    drafts_free(scene->drafts);
    loop_free(scene->loop);
    file_close(scene->shelf);
    const weft_err code = file_remove_tree(scene->path);
    free(scene);
    return code == WEFT_OK ? 0 : -1;
}

static void open_drafts(struct scene *scene)
{
    const struct drafts_options options = {.plan = &scene->plan,
                                           .place = &scene->place,
                                           .pieces = scene->pieces,
                                           .loop = scene->loop,
                                           .calls = &calls,
                                           .owner = scene};
    assert_int_equal(drafts_open(&scene->drafts, &options), WEFT_OK);
}

static char *path_in(const struct scene *scene, const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", scene->path, name);
    return path;
}

static void open_file(struct scene *scene)
{
    static char path[128];
    snprintf(path, sizeof path, "%s", path_in(scene, "out"));
    scene->place = (struct output_place){.kind = OUTPUT_PLACE_FILE, .path = path};
    open_drafts(scene);
}

static struct draft shelve(struct scene *scene, const char *text, uint32_t worker)
{
    const size_t size = strlen(text);
    const struct draft draft = {
        .fd = scene->shelf,
        .offset = scene->shelf_size,
        .as = {.bytes = size, .records = 1, .crc32c = crc32c(0, text, size), .is_done = true},
        .worker = worker};
    assert_int_equal(file_write_at(scene->shelf, "shelf", text, size, scene->shelf_size), WEFT_OK);
    scene->shelf_size += size;
    return draft;
}

static weft_err give(struct scene *scene, uint32_t piece, const char *text)
{
    const struct draft draft = shelve(scene, text, 1);
    return drafts_take(scene->drafts, piece, &draft);
}

static void run_until(struct scene *scene, int wanted)
{
    scene->wanted = wanted;
    if (scene->written_count < wanted)
        loop_run(scene->loop);
}

static void check_file(const struct scene *scene, const char *name, const char *text)
{
    char found[256] = {0};
    int fd;
    size_t got;
    assert_int_equal(file_open(path_in(scene, name), &fd), WEFT_OK);
    assert_int_equal(file_read_at(fd, name, found, sizeof found - 1, 0, &got), WEFT_OK);
    assert_string_equal(found, text);
    file_close(fd);
}

static void pieces_go_to_their_places_in_any_order(void **state)
{
    struct scene *scene = *state;
    open_file(scene);
    assert_true(drafts_are_written(scene->drafts));
    assert_int_equal(give(scene, 2, "three "), WEFT_OK);
    assert_false(drafts_are_written(scene->drafts));
    assert_int_equal(give(scene, 0, "one "), WEFT_OK);
    run_until(scene, 1);
    assert_int_equal(scene->written[0], 0);
    assert_int_equal(give(scene, 3, "four"), WEFT_OK);
    assert_int_equal(give(scene, 1, "two "), WEFT_OK);
    run_until(scene, 4);
    assert_true(drafts_are_written(scene->drafts));
    assert_int_equal(drafts_finish(scene->drafts), WEFT_OK);
    check_file(scene, "out", "one two three four");
}

static void parts_are_files_also_without_a_byte(void **state)
{
    struct scene *scene = *state;
    scene->stage.part_count = 4;
    scene->parts[1] = scene->parts[2] = 1, scene->parts[3] = 3;
    scene->place = (struct output_place){.kind = OUTPUT_PLACE_PARTS, .path = scene->path};
    open_drafts(scene);
    check_file(scene, "part-00002", "");
    assert_int_equal(give(scene, 3, "d"), WEFT_OK);
    assert_int_equal(give(scene, 2, "c"), WEFT_OK);
    assert_int_equal(give(scene, 1, "b"), WEFT_OK);
    assert_int_equal(give(scene, 0, ""), WEFT_OK);
    run_until(scene, 4);
    check_file(scene, "part-00000", "");
    check_file(scene, "part-00001", "bc");
    check_file(scene, "part-00003", "d");
}

// Pieces of an earlier run stay, and bytes after the end of the answer are cut off.
static void a_run_that_goes_on_writes_what_is_missing(void **state)
{
    struct scene *scene = *state;
    int fd;
    assert_int_equal(file_create(path_in(scene, "out"), &fd), WEFT_OK);
    assert_int_equal(file_write_at(fd, "out", "one ??? three and more", 22, 0), WEFT_OK);
    file_close(fd);
    scene->pieces[0] = (struct output_piece){.bytes = 4, .is_done = true};
    scene->pieces[2] = (struct output_piece){.bytes = 5, .is_done = true};
    open_file(scene);
    assert_int_equal(give(scene, 1, "two "), WEFT_OK);
    assert_int_equal(give(scene, 3, "."), WEFT_OK);
    run_until(scene, 2);
    check_file(scene, "out", "one two three.");
}

static void a_piece_that_comes_again_is_compared(void **state)
{
    struct scene *scene = *state;
    open_file(scene);
    assert_int_equal(give(scene, 1, "two"), WEFT_OK);
    assert_int_equal(give(scene, 1, "two"), WEFT_OK);
    assert_int_equal(give(scene, 1, "dos"), WEFT_ABORTED);  // as long as the first
    const struct draft other = shelve(scene, "zwei", 5);
    assert_int_equal(drafts_take(scene->drafts, 1, &other), WEFT_ABORTED);
    assert_non_null(strstr(err_text(), "not deterministic"));
    assert_non_null(strstr(err_text(), "3 bytes in worker 1, and as 4 other ones in worker 5"));
}

static void a_piece_that_comes_again_is_written_once(void **state)
{
    struct scene *scene = *state;
    static const char *const texts[PIECES] = {"one ", "two ", "three ", "four"};
    bool is_written[PIECES] = {false};
    open_file(scene);
    for (uint32_t i = 0; i < PIECES; i++) {
        assert_int_equal(give(scene, i, texts[i]), WEFT_OK);
        assert_int_equal(give(scene, i, texts[i]), WEFT_OK);
    }
    run_until(scene, PIECES);
    for (int i = 0; i < PIECES; i++) {
        assert_false(is_written[scene->written[i]]);
        is_written[scene->written[i]] = true;
    }
    assert_true(drafts_are_written(scene->drafts));
    check_file(scene, "out", "one two three four");
}

static void damage_is_found_on_the_way(void **state)
{
    struct scene *scene = *state;
    open_file(scene);
    const struct draft draft = shelve(scene, "one", 1);
    assert_int_equal(file_write_at(scene->shelf, "shelf", "X", 1, 1), WEFT_OK);
    assert_int_equal(drafts_take(scene->drafts, 0, &draft), WEFT_OK);
    assert_int_equal(give(scene, 1, "two"), WEFT_OK);
    loop_run(scene->loop);
    assert_int_equal(scene->failure, WEFT_DATA_LOSS);
    assert_non_null(strstr(scene->failure_text, "is damaged"));
    assert_int_equal(scene->written_count, 0);
    drafts_free(scene->drafts);  // waits for the thread that copies
    scene->drafts = NULL;
    check_file(scene, "out", "oXe");  // piece 1 was left out
}

static void a_shelf_that_is_too_short_is_damage(void **state)
{
    struct scene *scene = *state;
    open_file(scene);
    struct draft draft = shelve(scene, "one", 1);
    draft.offset = 1;
    assert_int_equal(drafts_take(scene->drafts, 0, &draft), WEFT_OK);
    loop_run(scene->loop);
    assert_int_equal(scene->failure, WEFT_DATA_LOSS);
}

static void a_full_disk_is_reported_once(void **state)
{
    struct scene *scene = *state;
    const int full = open("/dev/full", O_RDWR);
    if (full < 0)
        skip();
    scene->place = (struct output_place){.kind = OUTPUT_PLACE_FD, .fd = full};
    open_drafts(scene);
    assert_int_equal(give(scene, 0, "one"), WEFT_OK);
    assert_int_equal(give(scene, 1, "two"), WEFT_OK);
    loop_run(scene->loop);
    assert_int_equal(scene->failure, WEFT_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(scene->failure_text, "no room for the output"));
    drafts_free(scene->drafts);
    scene->drafts = NULL;
    close(full);
}

#define test(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(pieces_go_to_their_places_in_any_order),    test(parts_are_files_also_without_a_byte),
        test(a_run_that_goes_on_writes_what_is_missing), test(a_piece_that_comes_again_is_compared),
        test(a_piece_that_comes_again_is_written_once),  test(damage_is_found_on_the_way),
        test(a_shelf_that_is_too_short_is_damage),       test(a_full_disk_is_reported_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
