// Tests of mirrors: a real hub that serves a file, real sockets, one loop.

#include "transport/mirror.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "sys/file/file.h"
#include "sys/loop/loop.h"
#include "transport/fetch_client.h"
#include "transport/fetch_files.h"
#include "transport/hub.h"

static const struct secret token = {.bytes = "0123456789abcdef", .size = 16};

enum { BLOCK = 64 << 10, BLOCKS = 40, SIZE = BLOCKS * BLOCK - 1000, FILE_ID = 7, WANTS_MAX = 200 };

struct scene;
typedef void then_fn(struct scene *scene);

struct waiter {
    struct scene *scene;
    int end_count;
    weft_err code;
    then_fn *then;
};

struct scene {
    struct loop *loop;
    struct net_listener listener;
    struct hub *hub;
    struct fetch_files *files;
    struct fetch_client *client;
    struct mirror *mirror;
    int source_fd;
    struct waiter waiters[WANTS_MAX];
    size_t want_count, ended_count;
    char sentence[ERR_TEXT_BYTES_MAX];  // of the last failure
    bool is_late;
};

static char content(uint64_t offset)
{
    return (char)(offset * 2654435761u >> 11);
}

static weft_err refuse(void *owner, struct hub_peer *peer, const struct hello *hello)
{
    (void)owner, (void)peer, (void)hello;
    return err_set(WEFT_UNIMPLEMENTED, "files only");
}

static void start_hub(struct scene *scene)
{
    static const struct hub_calls calls = {.joined = refuse};
    scene->hub = hub_new(&(struct hub_options){.loop = scene->loop,
                                               .listener = &scene->listener,
                                               .token = &token,
                                               .name = "",
                                               .calls = &calls,
                                               .files = scene->files});
    assert_non_null(scene->hub);
}

static void serve(struct scene *scene, uint64_t size)
{
    const struct fetch_file file = {
        .id = FILE_ID, .fd = scene->source_fd, .size = size, .name = "the original"};
    assert_int_equal(fetch_files_add(scene->files, &file), WEFT_OK);
}

static struct mirror *new_mirror(struct scene *scene, const char *tmp)
{
    return mirror_new(&(struct mirror_options){
        .client = scene->client, .file = FILE_ID, .size = SIZE, .tmp = tmp, .block_bytes = BLOCK});
}

static void start(struct scene *scene)
{
    *scene = (struct scene){.loop = loop_new(NULL, NULL), .files = fetch_files_new()};
    assert_int_equal(file_create_nameless(".", &scene->source_fd), WEFT_OK);
    char *bytes = malloc(SIZE);
    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = content(i);
    assert_int_equal(file_write_at(scene->source_fd, "source", bytes, SIZE, 0), WEFT_OK);
    free(bytes);
    serve(scene, SIZE);
    assert_int_equal(net_listen(&(struct net_address){.host = ""}, &scene->listener), WEFT_OK);
    start_hub(scene);
    struct fetch_client_options options = {.loop = scene->loop,
                                           .address = {.port = scene->listener.port},
                                           .token = &token,
                                           .name = "tester",
                                           .patience_ms = 1000};
    strcpy(options.address.host, "127.0.0.9");
    scene->client = fetch_client_new(&options);
    assert_non_null(scene->client);
    scene->mirror = new_mirror(scene, "./.");
    assert_non_null(scene->mirror);
}

static void end(struct scene *scene)
{
    mirror_free(scene->mirror);
    fetch_client_free(scene->client);
    hub_free(scene->hub);
    fetch_files_free(scene->files);
    net_listener_close(&scene->listener);
    loop_free(scene->loop);
    file_close(scene->source_fd);
    err_clear();
}

static void on_done(void *owner, weft_err code)
{
    struct waiter *waiter = owner;
    struct scene *scene = waiter->scene;
    waiter->code = code;
    waiter->end_count++;
    if (code)
        snprintf(scene->sentence, sizeof scene->sentence, "%s", err_text());
    if (waiter->then)
        waiter->then(scene);
    if (++scene->ended_count == scene->want_count)
        loop_stop(scene->loop);
}

static struct waiter *want_then(struct scene *scene, uint64_t offset, uint64_t size, then_fn *then)
{
    assert_in_range(scene->want_count, 0, WANTS_MAX - 1);
    struct waiter *waiter = &scene->waiters[scene->want_count++];
    *waiter = (struct waiter){.scene = scene, .then = then};
    mirror_want(scene->mirror, offset, size, on_done, waiter);
    return waiter;
}

static struct waiter *want(struct scene *scene, uint64_t offset, uint64_t size)
{
    return want_then(scene, offset, size, NULL);
}

static void give_up(void *owner)
{
    struct scene *scene = owner;
    scene->is_late = true;
    loop_stop(scene->loop);
}

// Until all wants have ended.
static void run(struct scene *scene)
{
    struct loop_timer *limit = loop_timer_new(scene->loop, 20000, 0, give_up, scene);
    if (scene->ended_count < scene->want_count)
        loop_run(scene->loop);
    loop_timer_free(limit);
    assert_false(scene->is_late);
    for (size_t i = 0; i < scene->want_count; i++)
        assert_int_equal(scene->waiters[i].end_count, 1);
}

static void check_bytes(const struct scene *scene, uint64_t offset, size_t size)
{
    char *bytes = malloc(size + 1);
    size_t got = 0;
    assert_int_equal(file_read_at(mirror_fd(scene->mirror), "mirror", bytes, size, offset, &got),
                     WEFT_OK);
    assert_int_equal(got, size);
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != content(offset + i))
            fail_msg("byte %zu is wrong", (size_t)offset + i);
    free(bytes);
}

static bool is_zero(const struct scene *scene, uint64_t offset)
{
    char byte = 1;
    size_t got = 0;
    assert_int_equal(file_read_at(mirror_fd(scene->mirror), "mirror", &byte, 1, offset, &got),
                     WEFT_OK);
    return got == 1 && byte == 0;
}

static void a_mirror_has_the_size_of_its_file_and_no_bytes(void **state)
{
    (void)state;
    struct scene scene;
    struct file_stat stat;
    start(&scene);
    assert_int_equal(file_stat_fd(mirror_fd(scene.mirror), "mirror", &stat), WEFT_OK);
    assert_int_equal(stat.size, SIZE);
    assert_true(mirror_has(scene.mirror, 0, 0));
    assert_true(mirror_has(scene.mirror, SIZE, 0));
    assert_false(mirror_has(scene.mirror, 0, 1));
    assert_false(mirror_has(scene.mirror, SIZE - 1, 1));
    assert_int_equal(mirror_fetched_bytes(scene.mirror), 0);
    end(&scene);
}

static void wanted_stretches_come_in_whole_blocks(void **state)
{
    (void)state;
    struct scene scene;
    start(&scene);
    const struct waiter *waiter = want(&scene, 3 * BLOCK - 1, 2);
    assert_int_equal(waiter->end_count, 0);
    want(&scene, SIZE - 1, 1);
    run(&scene);
    check_bytes(&scene, 2 * BLOCK, 2 * BLOCK);
    check_bytes(&scene, (BLOCKS - 1) * BLOCK, BLOCK - 1000);
    assert_true(is_zero(&scene, 2 * BLOCK - 1));
    assert_true(is_zero(&scene, 4 * BLOCK));
    assert_true(mirror_has(scene.mirror, 2 * BLOCK, 2 * BLOCK));
    assert_false(mirror_has(scene.mirror, 2 * BLOCK - 1, 2));
    assert_int_equal(mirror_fetched_bytes(scene.mirror), 3 * BLOCK - 1000);
    end(&scene);
}

// Mirrors in one file do not touch each other's bytes.
static void mirrors_may_share_a_file(void **state)
{
    (void)state;
    enum { PLACE = 8192 };
    struct scene scene;
    int room;
    char byte = 0;
    size_t got = 0;
    start(&scene);
    assert_int_equal(file_create_nameless(".", &room), WEFT_OK);
    assert_int_equal(file_truncate(room, "room", PLACE + SIZE + 1), WEFT_OK);
    assert_int_equal(file_write_at(room, "room", "<", 1, PLACE - 1), WEFT_OK);
    assert_int_equal(file_write_at(room, "room", ">", 1, PLACE + SIZE), WEFT_OK);
    mirror_free(scene.mirror);
    scene.mirror = mirror_new(&(struct mirror_options){.client = scene.client,
                                                       .file = FILE_ID,
                                                       .size = SIZE,
                                                       .tmp = ".",
                                                       .block_bytes = BLOCK,
                                                       .room = room,
                                                       .room_offset = PLACE});
    assert_non_null(scene.mirror);
    assert_int_equal(mirror_fd(scene.mirror), room);
    assert_int_equal(mirror_place(scene.mirror), PLACE);
    want(&scene, 0, SIZE);
    run(&scene);
    for (uint64_t i = 0; i < SIZE; i += 997) {
        assert_int_equal(file_read_at(room, "room", &byte, 1, PLACE + i, &got), WEFT_OK);
        assert_int_equal(byte, content(i));
    }
    mirror_forget(scene.mirror, 0, SIZE);
    assert_true(is_zero(&scene, PLACE + BLOCK));
    assert_int_equal(file_read_at(room, "room", &byte, 1, PLACE - 1, &got), WEFT_OK);
    assert_int_equal(byte, '<');
    assert_int_equal(file_read_at(room, "room", &byte, 1, PLACE + SIZE, &got), WEFT_OK);
    assert_int_equal(byte, '>');
    end(&scene);
    file_close(room);
}

static void bytes_that_are_there_are_reported_at_once(void **state)
{
    (void)state;
    struct scene scene;
    start(&scene);
    want(&scene, 0, 1);
    run(&scene);
    assert_int_equal(want(&scene, 10, BLOCK - 10)->end_count, 1);
    assert_int_equal(want(&scene, SIZE, 0)->end_count, 1);
    assert_int_equal(want(&scene, SIZE, 1)->code, WEFT_OUT_OF_RANGE);
    assert_int_equal(want(&scene, UINT64_MAX, 2)->code, WEFT_OUT_OF_RANGE);
    assert_int_equal(want(&scene, 1, UINT64_MAX)->code, WEFT_OUT_OF_RANGE);
    assert_non_null(strstr(scene.sentence, "are not in a file of"));
    run(&scene);
    end(&scene);
}

static void a_block_is_fetched_once_for_all_that_want_it(void **state)
{
    (void)state;
    struct scene scene;
    start(&scene);
    for (uint64_t i = 0; i < WANTS_MAX; i++)
        want(&scene, i * 79190 % (SIZE - 5 * BLOCK + 1), 5 * BLOCK);
    run(&scene);
    for (size_t i = 0; i < WANTS_MAX; i++)
        assert_int_equal(scene.waiters[i].code, WEFT_OK);
    check_bytes(&scene, 0, SIZE);
    assert_int_equal(mirror_fetched_bytes(scene.mirror), SIZE);
    end(&scene);
}

static void forgotten_blocks_are_holes_and_come_again(void **state)
{
    (void)state;
    struct scene scene;
    start(&scene);
    want(&scene, 0, SIZE);
    run(&scene);
    mirror_forget(scene.mirror, BLOCK - 1, 2 * BLOCK);      // one whole block
    mirror_forget(scene.mirror, SIZE - BLOCK, UINT64_MAX);  // the last, and it is short
    mirror_forget(scene.mirror, SIZE, 1);
    mirror_forget(scene.mirror, UINT64_MAX, UINT64_MAX);
    mirror_forget(scene.mirror, 0, BLOCK - 1);
    assert_true(mirror_has(scene.mirror, 0, BLOCK));
    assert_true(mirror_has(scene.mirror, 2 * BLOCK, (BLOCKS - 3) * BLOCK));
    assert_false(mirror_has(scene.mirror, BLOCK, 1));
    assert_false(mirror_has(scene.mirror, SIZE - 1, 1));
    want(&scene, 0, SIZE);
    mirror_forget(scene.mirror, 0, SIZE);  // all of it is waited for
    run(&scene);
    check_bytes(&scene, 0, SIZE);
    assert_int_equal(mirror_fetched_bytes(scene.mirror), SIZE + 2 * BLOCK - 1000);
    end(&scene);
}

static void a_failed_block_can_be_wanted_again(void **state)
{
    (void)state;
    struct scene scene;
    start(&scene);
    fetch_files_remove(scene.files, FILE_ID);
    serve(&scene, 10 * BLOCK);
    want(&scene, 9 * BLOCK, 3 * BLOCK);
    want(&scene, 2 * BLOCK, BLOCK);
    want(&scene, 10 * BLOCK, 1);
    run(&scene);
    assert_int_equal(scene.waiters[0].code, WEFT_OUT_OF_RANGE);
    assert_int_equal(scene.waiters[1].code, WEFT_OK);
    assert_int_equal(scene.waiters[2].code, WEFT_OUT_OF_RANGE);
    assert_true(mirror_has(scene.mirror, 9 * BLOCK, BLOCK));
    assert_false(mirror_has(scene.mirror, 10 * BLOCK, 1));
    fetch_files_remove(scene.files, FILE_ID);
    serve(&scene, SIZE);
    want(&scene, 9 * BLOCK, 3 * BLOCK);
    run(&scene);
    assert_int_equal(scene.waiters[3].code, WEFT_OK);
    check_bytes(&scene, 9 * BLOCK, 3 * BLOCK);
    end(&scene);
}

static void a_server_that_is_gone_fails_wants_until_it_is_back(void **state)
{
    (void)state;
    struct scene scene;
    start(&scene);
    hub_free(scene.hub);
    scene.hub = NULL;
    want(&scene, 0, SIZE);
    want(&scene, 0, 1);
    run(&scene);
    assert_int_equal(scene.waiters[0].code, WEFT_UNAVAILABLE);
    assert_int_equal(scene.waiters[1].code, WEFT_UNAVAILABLE);
    assert_non_null(strstr(scene.sentence, "nothing arrived for 1 s"));
    start_hub(&scene);
    want(&scene, 0, SIZE);
    run(&scene);
    assert_int_equal(scene.waiters[2].code, WEFT_OK);
    check_bytes(&scene, 0, SIZE);
    end(&scene);
}

static void a_full_disk_fails_the_want_and_names_the_directory(void **state)
{
    (void)state;
    struct scene scene;
    start(&scene);
    struct rlimit old;
    getrlimit(RLIMIT_FSIZE, &old);
    const struct rlimit small = {.rlim_cur = 3 * BLOCK + 5, .rlim_max = old.rlim_max};
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    want(&scene, 0, 3 * BLOCK);
    want(&scene, 0, 4 * BLOCK);
    run(&scene);
    setrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, before);
    assert_int_equal(scene.waiters[0].code, WEFT_OK);
    assert_int_not_equal(scene.waiters[1].code, WEFT_OK);
    assert_non_null(strstr(scene.sentence, "cannot write ./.: "));
    want(&scene, 0, 4 * BLOCK);
    run(&scene);
    assert_int_equal(scene.waiters[2].code, WEFT_OK);
    check_bytes(&scene, 0, 4 * BLOCK);
    end(&scene);
}

static void free_mirror(struct scene *scene)
{
    mirror_free(scene->mirror);
    scene->mirror = NULL;
    scene->want_count = scene->ended_count + 1;  // no other will end
}

static void a_mirror_may_be_freed_by_a_want_that_has_ended(void **state)
{
    (void)state;
    struct scene scene;
    start(&scene);
    want_then(&scene, 0, 1, free_mirror);
    for (int i = 0; i < 10; i++)
        want(&scene, 0, SIZE);
    want(&scene, 0, 1);
    struct loop_timer *limit = loop_timer_new(scene.loop, 20000, 0, give_up, &scene);
    loop_run(scene.loop);
    assert_false(scene.is_late);
    loop_timer_free(limit);
    for (size_t i = 1; i < 12; i++)
        assert_int_equal(scene.waiters[i].end_count, 0);
    assert_int_equal(fetch_client_pending(scene.client), 0);
    scene.want_count = scene.ended_count = 0;
    scene.mirror = new_mirror(&scene, ".");  // the client serves the next one
    want(&scene, 0, SIZE);
    run(&scene);
    check_bytes(&scene, 0, SIZE);
    end(&scene);
}

static void want_the_next(struct scene *scene)
{
    const uint64_t offset = scene->want_count * BLOCK;
    if (offset < SIZE)
        want_then(scene, offset, 1, want_the_next);
    mirror_forget(scene->mirror, 0, SIZE);
}

static void a_want_that_has_ended_may_want_and_forget(void **state)
{
    (void)state;
    struct scene scene;
    start(&scene);
    want_then(&scene, 0, 1, want_the_next);
    run(&scene);
    assert_int_equal(scene.want_count, BLOCKS);
    assert_int_equal(mirror_fetched_bytes(scene.mirror), SIZE);
    assert_false(mirror_has(scene.mirror, 0, 1));
    end(&scene);
}

static void a_mirror_that_cannot_be_made_says_where(void **state)
{
    (void)state;
    struct scene scene;
    start(&scene);
    assert_null(new_mirror(&scene, "/nonexistent-directory"));
    assert_non_null(strstr(err_text(), "/nonexistent-directory"));
    assert_null(mirror_new(
        &(struct mirror_options){.client = scene.client, .size = UINT64_MAX, .tmp = "."}));
    assert_non_null(strstr(err_text(), "cannot make a file of 18446744073709551615 bytes"));
    mirror_free(NULL);
    end(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mirror_has_the_size_of_its_file_and_no_bytes),
        cmocka_unit_test(wanted_stretches_come_in_whole_blocks),
        cmocka_unit_test(mirrors_may_share_a_file),
        cmocka_unit_test(bytes_that_are_there_are_reported_at_once),
        cmocka_unit_test(a_block_is_fetched_once_for_all_that_want_it),
        cmocka_unit_test(forgotten_blocks_are_holes_and_come_again),
        cmocka_unit_test(a_failed_block_can_be_wanted_again),
        cmocka_unit_test(a_server_that_is_gone_fails_wants_until_it_is_back),
        cmocka_unit_test(a_full_disk_fails_the_want_and_names_the_directory),
        cmocka_unit_test(a_mirror_may_be_freed_by_a_want_that_has_ended),
        cmocka_unit_test(a_want_that_has_ended_may_want_and_forget),
        cmocka_unit_test(a_mirror_that_cannot_be_made_says_where),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
