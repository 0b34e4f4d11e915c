// Tests of the sink: pieces in any order, from many threads, held, spooled, repeated, adopted; and
// disks that are full.

#include "mapreduce/work/output/sink.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "mapreduce/work/sort/random_pairs.h"
#include "sys/file/file.h"
#include "sys/thread/thread.h"

enum { PIECES_MAX = 400 };

static char directory[] = "/tmp/weft-sink-test-XXXXXX";
static char output_path[128];

// Pieces of random text, and the sink's answer for each.
struct scene {
    uint32_t count;
    weft_bytes texts[PIECES_MAX];
    _Atomic uint32_t written_times[PIECES_MAX];
    uint64_t written_bytes[PIECES_MAX], written_records[PIECES_MAX];
    uint32_t written_crc[PIECES_MAX];
};

static void scene_init(struct scene *scene, uint64_t *seed, uint32_t count)
{
    *scene = (struct scene){.count = count};
    for (uint32_t i = 0; i < count; i++)
        scene->texts[i] =
            random_bytes(seed, random_below(seed, random_below(seed, 10) ? 300 : 300000), NULL, 0);
}

static void scene_fini(struct scene *scene)
{
    for (uint32_t i = 0; i < scene->count; i++)
        free((char *)scene->texts[i].data);
}

static void note_written(void *owner, const struct sink_piece *written)
{
    struct scene *scene = owner;
    const uint32_t piece = written->piece;
    scene->written_times[piece]++;
    scene->written_bytes[piece] = written->bytes;
    scene->written_crc[piece] = written->crc32c;
    scene->written_records[piece] = written->records;
}

static struct sink_options options_for(struct scene *scene, enum sink_kind kind)
{
    return (struct sink_options){
        .kind = kind,
        .path = output_path,
        .piece_count = scene->count,
        .part_count = 1,
        .tmp = directory,
        .held_bytes_max = 4000,
        .written = note_written,
        .owner = scene,
    };
}

static void shuffle(uint32_t *order, uint32_t count, uint64_t *seed)
{
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    for (uint32_t i = count; i > 1; i--) {
        const uint32_t j = (uint32_t)random_below(seed, i);
        const uint32_t swapped = order[j];
        order[j] = order[i - 1];
        order[i - 1] = swapped;
    }
}

// Hands a piece over whole or in several appended parts.
static weft_err hand_over(struct sink *sink, struct scene *scene, uint32_t piece, uint64_t *seed)
{
    weft_bytes text = scene->texts[piece];
    while (text.size && random_below(seed, 3) == 0) {
        const size_t size = random_below(seed, text.size) + 1;
        const weft_err err = sink_append(sink, piece, (weft_bytes){text.data, size});
        if (err)
            return err;
        text.data += size;
        text.size -= size;
    }
    return sink_submit(sink, piece, text, piece * 3);
}

// The file must be texts [begin, end) one after the other, after `skipped` zero bytes.
static void check_file(const char *path, const struct scene *scene, uint32_t begin, uint32_t end,
                       size_t skipped)
{
    int fd;
    struct file_stat status;
    assert_int_equal(file_open(path, &fd), WEFT_OK);
    assert_int_equal(file_stat_fd(fd, path, &status), WEFT_OK);
    char *bytes = malloc(status.size + 1);
    size_t got;
    assert_int_equal(file_read_at(fd, path, bytes, status.size, 0, &got), WEFT_OK);
    file_close(fd);
    size_t at = skipped;
    uint32_t crc = 0;
    for (uint32_t i = begin; i < end; i++) {
        assert_true(got - at >= scene->texts[i].size);
        assert_memory_equal(bytes + at, scene->texts[i].data, scene->texts[i].size);
        at += scene->texts[i].size;
        crc = crc32c_join(crc, scene->written_crc[i], scene->written_bytes[i]);
    }
    assert_int_equal(at, got);
    assert_int_equal(crc, crc32c(0, bytes + skipped, got - skipped));
    free(bytes);
}

static void check_told(const struct scene *scene)
{
    for (uint32_t i = 0; i < scene->count; i++) {
        assert_int_equal(scene->written_times[i], 1);
        assert_int_equal(scene->written_bytes[i], scene->texts[i].size);
        assert_int_equal(scene->written_records[i], i * 3);
    }
}

static void pieces_in_any_order_become_one_file(void **state)
{
    (void)state;
    for (uint64_t round = 0; round < 12; round++) {
        uint64_t seed = round;
        struct scene scene;
        uint32_t order[PIECES_MAX];
        scene_init(&scene, &seed, (uint32_t)random_below(&seed, 60));
        shuffle(order, scene.count, &seed);
        struct sink_options options = options_for(&scene, SINK_FILE);
        options.held_bytes_max = round % 3 ? 2000 * round : 0;
        struct sink *sink = sink_new(&options);
        assert_non_null(sink);
        for (uint32_t i = 0; i < scene.count; i++)
            assert_int_equal(hand_over(sink, &scene, order[i], &seed), WEFT_OK);
        sink_free(sink);
        check_told(&scene);
        check_file(output_path, &scene, 0, scene.count, 0);
        scene_fini(&scene);
    }
}

static void parts_are_files_of_their_own_also_when_empty(void **state)
{
    (void)state;
    uint64_t seed = 17;
    struct scene scene;
    scene_init(&scene, &seed, 30);
    uint32_t parts[30], order[PIECES_MAX];
    for (uint32_t i = 0; i < 30; i++)
        parts[i] = i < 10 ? 0 : i < 11 ? 2 : 4;
    shuffle(order, 30, &seed);
    struct sink_options options = options_for(&scene, SINK_PARTS);
    options.path = directory;
    options.part_count = 6;
    options.part_of_piece = parts;
    struct sink *sink = sink_new(&options);
    for (uint32_t i = 0; i < 30; i++)
        assert_int_equal(hand_over(sink, &scene, order[i], &seed), WEFT_OK);
    sink_free(sink);
    check_told(&scene);
    const uint32_t begins[] = {0, 10, 10, 11, 11, 30}, ends[] = {10, 10, 11, 11, 30, 30};
    for (uint32_t part = 0; part < 6; part++) {
        char path[256];
        snprintf(path, sizeof path, "%s/part-%05u", directory, part);
        check_file(path, &scene, begins[part], ends[part], 0);
        unlink(path);
    }
    scene_fini(&scene);
}

static void many_parts_need_few_descriptors(void **state)
{
    (void)state;
    uint64_t seed = 18;
    struct scene scene;
    scene_init(&scene, &seed, 300);
    uint32_t parts[300], order[PIECES_MAX];
    for (uint32_t i = 0; i < 300; i++)
        parts[i] = i;
    shuffle(order, 300, &seed);
    struct rlimit old;
    getrlimit(RLIMIT_NOFILE, &old);
    const struct rlimit few = {32, old.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
    struct sink_options options = options_for(&scene, SINK_PARTS);
    options.path = directory;
    options.part_count = 300;
    options.part_of_piece = parts;
    struct sink *sink = sink_new(&options);
    weft_err err = WEFT_OK;
    for (uint32_t i = 0; i < 300 && !err; i++)
        err = sink_submit(sink, order[i], scene.texts[order[i]], order[i] * 3);
    sink_free(sink);
    setrlimit(RLIMIT_NOFILE, &old);
    assert_int_equal(err, WEFT_OK);
    check_told(&scene);
    for (uint32_t part = 0; part < 300; part++) {
        char path[256];
        snprintf(path, sizeof path, "%s/part-%05u", directory, part);
        check_file(path, &scene, part, part + 1, 0);
        unlink(path);
    }
    scene_fini(&scene);
}

static void a_repeated_piece_is_ignored_and_a_different_one_refused(void **state)
{
    (void)state;
    uint64_t seed = 19;
    struct scene scene;
    scene_init(&scene, &seed, 3);
    const struct sink_options options = options_for(&scene, SINK_FILE);
    struct sink *sink = sink_new(&options);
    assert_int_equal(sink_submit(sink, 1, scene.texts[1], 3), WEFT_OK);
    assert_int_equal(sink_submit(sink, 1, scene.texts[1], 3), WEFT_OK);  // waits
    assert_int_equal(sink_submit(sink, 0, scene.texts[0], 0), WEFT_OK);
    assert_int_equal(sink_append(sink, 0, (weft_bytes){scene.texts[0].data, 5}), WEFT_OK);
    assert_int_equal(
        sink_submit(sink, 0, (weft_bytes){scene.texts[0].data + 5, scene.texts[0].size - 5}, 0),
        WEFT_OK);  // written
    char *other = malloc(scene.texts[1].size);
    memcpy(other, scene.texts[1].data, scene.texts[1].size);
    other[0] ^= 1;
    assert_int_equal(sink_submit(sink, 1, (weft_bytes){other, scene.texts[1].size}, 3),
                     WEFT_ABORTED);
    assert_non_null(strstr(err_text(), "not deterministic"));
    assert_int_equal(sink_submit(sink, 2, scene.texts[2], 6), WEFT_OK);
    sink_free(sink);
    check_told(&scene);
    check_file(output_path, &scene, 0, 3, 0);
    free(other);
    scene_fini(&scene);
}

static void a_discarded_attempt_leaves_nothing(void **state)
{
    (void)state;
    uint64_t seed = 20;
    struct scene scene;
    scene_init(&scene, &seed, 2);
    const struct sink_options options = options_for(&scene, SINK_FILE);
    struct sink *sink = sink_new(&options);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(sink_append(sink, 0, weft_text("a failed attempt")), WEFT_OK);
        if (i % 2)
            sink_discard(sink, 0);
    }
    sink_discard(sink, 0);
    sink_discard(sink, 1);
    assert_int_equal(hand_over(sink, &scene, 1, &seed), WEFT_OK);
    assert_int_equal(hand_over(sink, &scene, 0, &seed), WEFT_OK);
    sink_free(sink);
    check_told(&scene);
    check_file(output_path, &scene, 0, 2, 0);
    scene_fini(&scene);
}

static uint64_t output_size(void)
{
    struct file_stat status;
    assert_int_equal(file_stat(output_path, &status), WEFT_OK);
    return status.size;
}

static void what_waits_goes_to_its_place_as_soon_as_it_can(void **state)
{
    (void)state;
    uint64_t seed = 29;
    struct scene scene;
    scene_init(&scene, &seed, 2);
    free((char *)scene.texts[1].data);
    scene.texts[1] = random_bytes(&seed, 9000, NULL, 0);
    const struct sink_options options = options_for(&scene, SINK_FILE);
    const char *text = scene.texts[1].data;
    struct sink *sink = sink_new(&options);
    assert_true(sink_takes_early(sink, 0, 1 << 20));
    assert_true(sink_takes_early(sink, 1, 3000));
    assert_int_equal(sink_append(sink, 1, (weft_bytes){text, 3000}), WEFT_OK);
    assert_false(sink_takes_early(sink, 1, 3000));  // memory is for 4000
    assert_int_equal(sink_append(sink, 1, (weft_bytes){text + 3000, 3000}), WEFT_OK);
    assert_int_equal(output_size(), 0);
    assert_int_equal(sink_submit(sink, 0, scene.texts[0], 0), WEFT_OK);
    assert_true(sink_takes_early(sink, 1, 3000));
    assert_int_equal(sink_append(sink, 1, (weft_bytes){text + 6000, 2000}), WEFT_OK);
    assert_int_equal(output_size(), scene.texts[0].size + 8000);
    assert_int_equal(sink_submit(sink, 1, (weft_bytes){text + 8000, 1000}, 3), WEFT_OK);
    sink_free(sink);
    check_told(&scene);
    check_file(output_path, &scene, 0, 2, 0);
    scene_fini(&scene);
}

static void only_what_has_to_wait_has_room(void **state)
{
    (void)state;
    uint64_t seed = 31;
    struct scene scene;
    scene_init(&scene, &seed, 2);
    free((char *)scene.texts[1].data);
    scene.texts[1] = random_bytes(&seed, 9000, NULL, 0);
    struct sink_options options = options_for(&scene, SINK_FILE);
    options.held_bytes_max = 64 << 20;
    const char *text = scene.texts[1].data;
    size_t size = 5000;
    struct sink *sink = sink_new(&options);
    assert_null(sink_room(sink, 0, &size));
    char *room = sink_room(sink, 1, &size);
    assert_non_null(room);
    assert_true(size >= 5000);
    memcpy(room, text, 5000);
    sink_fill(sink, 1, (weft_bytes){room, 5000});
    assert_int_equal(sink_submit(sink, 0, scene.texts[0], 0), WEFT_OK);
    assert_null(sink_room(sink, 1, &size));
    assert_int_equal(sink_append(sink, 1, (weft_bytes){text + 5000, 3000}), WEFT_OK);
    assert_int_equal(sink_submit(sink, 1, (weft_bytes){text + 8000, 1000}, 3), WEFT_OK);
    assert_null(sink_room(sink, 1, &size));  // of one that came again
    sink_free(sink);
    check_told(&scene);
    check_file(output_path, &scene, 0, 2, 0);
    scene_fini(&scene);
}

static void adopted_pieces_are_kept_and_rubbish_behind_the_end_is_cut(void **state)
{
    (void)state;
    uint64_t seed = 21;
    struct scene scene;
    scene_init(&scene, &seed, 8);
    struct sink_options options = options_for(&scene, SINK_FILE);
    struct sink *first = sink_new(&options);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(sink_submit(first, i, scene.texts[i], i * 3), WEFT_OK);
    sink_free(first);  // lost; the file has more than it reported
    FILE *file = fopen(output_path, "ab");
    for (int i = 0; i < 2000000; i++)
        fputc('?', file);
    fclose(file);

    options.is_resumed = true;
    struct sink *second = sink_new(&options);
    for (uint32_t i = 0; i < 3; i++)  // piece 3 was not reported
        sink_adopt(second, i, scene.texts[i].size, scene.written_crc[i]);
    scene.written_times[3] = 0;
    const uint32_t order[] = {7, 4, 3, 5, 6};
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(hand_over(second, &scene, order[i], &seed), WEFT_OK);
    // An adopted piece may be computed again, and must be the same.
    assert_int_equal(sink_submit(second, 1, scene.texts[1], 3), WEFT_OK);
    assert_int_equal(sink_submit(second, 1, weft_text("other"), 3), WEFT_ABORTED);
    sink_free(second);
    check_told(&scene);
    check_file(output_path, &scene, 0, 8, 0);
    scene_fini(&scene);
}

static void an_open_descriptor_is_written_and_left_open(void **state)
{
    (void)state;
    uint64_t seed = 22;
    struct scene scene;
    scene_init(&scene, &seed, 5);
    int fd;
    assert_int_equal(file_create(output_path, &fd), WEFT_OK);
    struct sink_options options = options_for(&scene, SINK_FD);
    options.fd = fd;
    struct sink *sink = sink_new(&options);
    for (uint32_t i = 5; i-- > 0;)
        assert_int_equal(hand_over(sink, &scene, i, &seed), WEFT_OK);
    sink_free(sink);
    assert_int_not_equal(fcntl(fd, F_GETFD), -1);
    file_close(fd);
    check_told(&scene);
    check_file(output_path, &scene, 0, 5, 0);
    scene_fini(&scene);
}

static void what_is_told_when_the_file_is_closed_is_a_failure(void **state)
{
    (void)state;
    uint64_t seed = 25;
    struct scene scene;
    for (int is_broken = 0; is_broken < 2; is_broken++) {
        scene_init(&scene, &seed, 2);
        struct sink_options options = options_for(&scene, SINK_FILE);
        const int next = dup(0);  // the number that the file will have
        close(next);
        struct sink *sink = sink_new(&options);
        assert_int_equal(sink_submit(sink, 0, scene.texts[0], 0), WEFT_OK);
        assert_int_equal(sink_submit(sink, 1, scene.texts[1], 3), WEFT_OK);
        if (is_broken)
            close(next);
        const weft_err err = sink_finish(sink);
        assert_int_equal(err != WEFT_OK, is_broken);
        if (is_broken)
            assert_non_null(strstr(err_text(), output_path));
        sink_free(sink);
        scene_fini(&scene);
    }
}

// ---- Full disks ---------------------------------------------------------------------------------

static void a_full_output_is_told_with_its_path_and_stays_failed(void **state)
{
    (void)state;
    uint64_t seed = 23;
    struct scene scene;
    scene_init(&scene, &seed, 3);
    struct sink_options options = options_for(&scene, SINK_FD);
    options.path = "/some/output";
    options.fd = open("/dev/full", O_RDWR | O_CLOEXEC);
    struct sink *sink = sink_new(&options);
    assert_int_equal(sink_submit(sink, 1, scene.texts[1], 3), WEFT_OK);  // waits
    assert_int_equal(sink_submit(sink, 0, scene.texts[0], 0), WEFT_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(err_text(), "/some/output"));
    err_clear();
    // Trying again must not look like success while piece 1 was never written.
    assert_int_equal(sink_submit(sink, 0, scene.texts[0], 0), WEFT_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(err_text(), "/some/output"));
    assert_int_equal(scene.written_times[0] + scene.written_times[1], 0);
    sink_free(sink);
    close(options.fd);
    scene_fini(&scene);
}

static void a_full_spool_is_told_and_the_piece_can_come_again(void **state)
{
    (void)state;
    uint64_t seed = 24;
    struct scene scene;
    scene_init(&scene, &seed, 2);
    free((char *)scene.texts[1].data);
    scene.texts[1] = random_bytes(&seed, 50000, NULL, 0);
    const struct sink_options options = options_for(&scene, SINK_FILE);
    struct sink *sink = sink_new(&options);
    struct rlimit old;
    getrlimit(RLIMIT_FSIZE, &old);
    const struct rlimit small = {20000, old.rlim_max};
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    const weft_err err = sink_submit(sink, 1, scene.texts[1], 3);
    setrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, before);
    assert_int_equal(err, WEFT_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(err_text(), directory));
    assert_non_null(strstr(err_text(), "--tmp"));
    assert_int_equal(sink_submit(sink, 1, scene.texts[1], 3), WEFT_OK);
    assert_int_equal(sink_submit(sink, 0, scene.texts[0], 0), WEFT_OK);
    sink_free(sink);
    check_told(&scene);
    check_file(output_path, &scene, 0, 2, 0);
    scene_fini(&scene);
}

static void a_missing_directory_is_told(void **state)
{
    (void)state;
    struct scene scene = {.count = 0};
    struct sink_options options = options_for(&scene, SINK_FILE);
    options.path = "/nowhere/out";
    assert_null(sink_new(&options));
    assert_non_null(strstr(err_text(), "/nowhere/out"));
    options.kind = SINK_PARTS;
    assert_null(sink_new(&options));
    assert_non_null(strstr(err_text(), "/nowhere/out/part-00000"));
}

// ---- Threads ------------------------------------------------------------------------------------

struct slot {
    struct thread thread;
    struct sink *sink;
    struct scene *scene;
    const uint32_t *order;
    _Atomic uint32_t *next;
    uint64_t seed;
    weft_err err;
};

static void run_slot(void *argument)
{
    struct slot *slot = argument;
    for (uint32_t i; !slot->err && (i = (*slot->next)++) < slot->scene->count;) {
        const uint32_t piece = slot->order[i];
        if (random_below(&slot->seed, 5) == 0) {  // an attempt that fails before it is done
            slot->err = sink_append(slot->sink, piece, weft_text("half"));
            sink_discard(slot->sink, piece);
        }
        if (!slot->err)
            slot->err = hand_over(slot->sink, slot->scene, piece, &slot->seed);
        if (!slot->err)  // and one that comes too late, while others may be writing it
            slot->err = sink_submit(slot->sink, piece, slot->scene->texts[piece], piece * 3);
    }
}

static void slots_hand_over_side_by_side(void **state)
{
    (void)state;
    enum { SLOTS = 4 };
    for (uint64_t round = 0; round < 6; round++) {
        uint64_t seed = round + 100;
        struct scene scene;
        uint32_t order[PIECES_MAX];
        scene_init(&scene, &seed, PIECES_MAX);
        shuffle(order, scene.count, &seed);
        struct sink_options options = options_for(&scene, SINK_FILE);
        options.held_bytes_max = round * 100000;
        struct sink *sink = sink_new(&options);
        _Atomic uint32_t next = 0;
        struct slot slots[SLOTS];
        for (int i = 0; i < SLOTS; i++) {
            slots[i] = (struct slot){.sink = sink, .scene = &scene, .order = order, .next = &next};
            slots[i].seed = random_next(&seed);
            assert_int_equal(thread_start(&slots[i].thread, run_slot, &slots[i], 0), WEFT_OK);
        }
        for (int i = 0; i < SLOTS; i++) {
            thread_join(&slots[i].thread);
            assert_int_equal(slots[i].err, WEFT_OK);
        }
        sink_free(sink);
        check_told(&scene);
        check_file(output_path, &scene, 0, scene.count, 0);
        scene_fini(&scene);
    }
}

static int make_test_directory(void **state)
{
    (void)state;
    if (!mkdtemp(directory))
        return -1;
    snprintf(output_path, sizeof output_path, "%s/output", directory);
    return 0;
}

static int remove_test_directory(void **state)
{
    (void)state;
    return file_remove_tree(directory) == WEFT_OK ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_in_any_order_become_one_file),
        cmocka_unit_test(parts_are_files_of_their_own_also_when_empty),
        cmocka_unit_test(many_parts_need_few_descriptors),
        cmocka_unit_test(a_repeated_piece_is_ignored_and_a_different_one_refused),
        cmocka_unit_test(a_discarded_attempt_leaves_nothing),
        cmocka_unit_test(what_waits_goes_to_its_place_as_soon_as_it_can),
        cmocka_unit_test(only_what_has_to_wait_has_room),
        cmocka_unit_test(adopted_pieces_are_kept_and_rubbish_behind_the_end_is_cut),
        cmocka_unit_test(an_open_descriptor_is_written_and_left_open),
        cmocka_unit_test(what_is_told_when_the_file_is_closed_is_a_failure),
        cmocka_unit_test(a_full_output_is_told_with_its_path_and_stays_failed),
        cmocka_unit_test(a_full_spool_is_told_and_the_piece_can_come_again),
        cmocka_unit_test(a_missing_directory_is_told),
        cmocka_unit_test(slots_hand_over_side_by_side),
    };
    return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
