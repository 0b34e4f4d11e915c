// Tests of serving files to clients that do not behave: they give credit without end, and do not read.

#include "transport/fetch_server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "sys/file/file.h"
#include "sys/loop/loop.h"
#include "transport/dial.h"
#include "transport/fetch_files.h"

static const struct secret token = {.bytes = "0123456789abcdef", .size = 16};

enum {
    FILE_ID = 3,
    SIZE = 64 << 20,
    LARGE_SIZE = FETCH_TICK_BYTES_MAX + (20 << 20),
    BYTES_MAX = 4 << 20,
    SLOW_COUNT = BYTES_MAX / FETCH_GUEST_BYTES_MAX + 8,
};

struct scene {
    struct loop *loop;
    struct net_listener listener;
    struct door *door;
    struct fetch_files *files;
    struct fetch_server *server;
    struct net_route *route;
    struct dial *dial;
    int fd;
    bool reads, has_ended, is_late;
    uint64_t size, got_bytes, wanted_bytes;
};

// ---- The server ---------------------------------------------------------------------------------------------

static void on_proven(void *owner, struct guest *guest, const struct hello *hello)
{
    struct scene *scene = owner;
    assert_int_equal(hello->purpose, HELLO_FOR_FETCH);
    fetch_server_adopt(scene->server, guest, 1);
}

static void on_refused(void *owner, const char *peer)
{
    (void)owner, (void)peer;
}

static uint64_t door_now_ms(void *owner)
{
    (void)owner;
    return 0;
}

// ---- The client ---------------------------------------------------------------------------------------------

static void put_frame(struct dial *dial, Weft__FrameType type, const void *payload, size_t size)
{
    uint8_t header[FRAME_HEADER_BYTES];
    struct buf *out = loop_stream_out(dial_stream(dial));
    frame_encode_header(header, type, size);
    buf_append(out, header, sizeof header);
    buf_append(out, payload, size);
}

static void on_welcome(void *owner, const struct hello_welcome *welcome)
{
    struct scene *scene = owner;
    const uint64_t credit = UINT64_MAX;
    const struct fetch_request request = {1, FILE_ID, 0, scene->size};
    (void)welcome;
    put_frame(scene->dial, WEFT__FRAME_TYPE__FRAME_FETCH_CREDIT, &credit, sizeof credit);
    put_frame(scene->dial, WEFT__FRAME_TYPE__FRAME_FETCH, &request, sizeof request);
    loop_stream_flush(dial_stream(scene->dial));
    loop_stream_pause(dial_stream(scene->dial), !scene->reads);
}

static void on_data(void *owner, weft_bytes bytes)
{
    struct scene *scene = owner;
    scene->got_bytes += bytes.size;
    if (scene->got_bytes >= scene->wanted_bytes)
        loop_stop(scene->loop);
}

static void on_end(void *owner, weft_err code, bool is_proven)
{
    struct scene *scene = owner;
    (void)code, (void)is_proven;
    scene->has_ended = true;
    err_clear();
    loop_stop(scene->loop);
}

static void on_time(void *owner)
{
    struct scene *scene = owner;
    scene->is_late = true;
    loop_stop(scene->loop);
}

static void dial_server(struct scene *scene)
{
    static const struct dial_calls calls = {
        .welcomed = on_welcome, .data = on_data, .ended = on_end};
    const struct hello hello = {.purpose = HELLO_FOR_FETCH};
    struct net_address address = {.port = scene->listener.port};
    snprintf(address.host, sizeof address.host, "127.0.0.1");
    assert_int_equal(net_route_open(&address, &scene->route), WEFT_OK);
    assert_int_equal(dial_new(&(struct dial_options){.loop = scene->loop,
                                                     .route = scene->route,
                                                     .token = &token,
                                                     .hello = &hello,
                                                     .calls = &calls,
                                                     .owner = scene},
                              &scene->dial),
                     WEFT_OK);
}

static void start(struct scene *scene, uint64_t size, bool reads)
{
    static const struct door_calls calls = {on_proven, on_refused, door_now_ms};
    *scene = (struct scene){
        .loop = loop_new(NULL, NULL), .files = fetch_files_new(), .reads = reads, .size = size};
    assert_int_equal(file_create_nameless(".", &scene->fd), WEFT_OK);
    assert_int_equal(file_truncate(scene->fd, "zeros", size), WEFT_OK);
    const struct fetch_file file = {.id = FILE_ID, .fd = scene->fd, .size = size, .name = "zeros"};
    assert_int_equal(fetch_files_add(scene->files, &file), WEFT_OK);
    scene->server = fetch_server_new(scene->files, false, BYTES_MAX);
    assert_int_equal(net_listen(&(struct net_address){.host = ""}, &scene->listener), WEFT_OK);
    scene->door = door_new(&(struct door_options){.loop = scene->loop,
                                                  .listener = &scene->listener,
                                                  .token = &token,
                                                  .member = "",
                                                  .calls = &calls,
                                                  .owner = scene});
    assert_non_null(scene->door);
    dial_server(scene);
}

static void end(struct scene *scene)
{
    dial_free(scene->dial);
    net_route_close(scene->route);
    fetch_server_free(scene->server);
    door_free(scene->door);
    fetch_files_free(scene->files);
    net_listener_close(&scene->listener);
    loop_free(scene->loop);
    file_close(scene->fd);
    err_clear();
}

// Until a callback says so, or for that long.
static void run(struct scene *scene, uint32_t ms)
{
    struct loop_timer *timer = loop_timer_new(scene->loop, ms, 0, on_time, scene);
    scene->is_late = false;
    loop_run(scene->loop);
    loop_timer_free(timer);
}

// ---- The tests ----------------------------------------------------------------------------------------------

static void a_client_that_takes_nothing_is_dropped(void **state)
{
    (void)state;
    struct scene scene;
    start(&scene, SIZE, false);
    while (fetch_server_buffered_bytes(scene.server) < FETCH_GUEST_BYTES_MAX)
        run(&scene, 1);
    fetch_server_tick(scene.server, 1000);
    fetch_server_tick(scene.server, 2000);
    fetch_server_tick(scene.server, 1000 + FETCH_STALL_MS - 1);
    assert_true(fetch_server_buffered_bytes(scene.server) > 0);
    fetch_server_tick(scene.server, 1000 + FETCH_STALL_MS);
    assert_int_equal(fetch_server_buffered_bytes(scene.server), 0);
    loop_stream_pause(dial_stream(scene.dial), false);
    scene.wanted_bytes = UINT64_MAX;
    run(&scene, 20000);
    assert_true(scene.has_ended);
    end(&scene);
}

static void a_client_that_reads_is_not_dropped_however_long_it_takes(void **state)
{
    (void)state;
    struct scene scene;
    start(&scene, SIZE, true);
    uint64_t now_ms = 0;
    for (scene.wanted_bytes = 1; scene.wanted_bytes < SIZE; scene.wanted_bytes += SIZE / 100) {
        while (scene.got_bytes < scene.wanted_bytes)
            run(&scene, 20000);
        assert_false(scene.has_ended || scene.is_late);
        fetch_server_tick(scene.server, now_ms += FETCH_STALL_MS - 1);
    }
    // One that wants nothing more may stay, too.
    for (scene.wanted_bytes = SIZE; scene.got_bytes < SIZE;)
        run(&scene, 20000);
    for (int i = 0; i < 5; i++)
        fetch_server_tick(scene.server, now_ms += FETCH_STALL_MS);
    run(&scene, 1);
    assert_false(scene.has_ended);
    end(&scene);
}

static void a_client_that_is_fast_does_not_get_everything_at_once(void **state)
{
    (void)state;
    struct scene scene;
    start(&scene, LARGE_SIZE, true);
    for (scene.wanted_bytes = FETCH_TICK_BYTES_MAX; scene.got_bytes < scene.wanted_bytes;)
        run(&scene, 20000);
    scene.wanted_bytes = UINT64_MAX;
    run(&scene, 50);
    assert_true(scene.got_bytes <= FETCH_TICK_BYTES_MAX + 2 * FETCH_GUEST_BYTES_MAX);
    fetch_server_tick(scene.server, 1000);
    for (scene.wanted_bytes = LARGE_SIZE; scene.got_bytes < LARGE_SIZE;)
        run(&scene, 20000);
    end(&scene);
}

// Clients at slow links may take all the memory there is for a long time.
static void a_client_gets_its_bytes_while_others_take_all_memory(void **state)
{
    (void)state;
    static struct scene slow[SLOW_COUNT];
    struct scene scene;
    start(&scene, SIZE, false);
    for (int i = 0; i < SLOW_COUNT; i++) {
        slow[i] = (struct scene){.loop = scene.loop, .listener = scene.listener, .size = SIZE};
        dial_server(&slow[i]);
    }
    while (fetch_server_buffered_bytes(scene.server) < BYTES_MAX)
        run(&scene, 1);
    struct scene other = {
        .loop = scene.loop, .listener = scene.listener, .reads = true, .size = 3 << 20};
    dial_server(&other);
    for (other.wanted_bytes = other.size; other.got_bytes < other.size && !other.is_late;)
        run(&other, 20000);
    assert_false(other.is_late);
    assert_in_range(fetch_server_buffered_bytes(scene.server), BYTES_MAX,
                    BYTES_MAX + SLOW_COUNT * 2 * FETCH_SCARCE_BYTES + FETCH_GUEST_BYTES_MAX);
    dial_free(other.dial);
    net_route_close(other.route);
    for (int i = 0; i < SLOW_COUNT; i++) {
        dial_free(slow[i].dial);
        net_route_close(slow[i].route);
    }
    end(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_client_that_takes_nothing_is_dropped),
        cmocka_unit_test(a_client_that_reads_is_not_dropped_however_long_it_takes),
        cmocka_unit_test(a_client_that_is_fast_does_not_get_everything_at_once),
        cmocka_unit_test(a_client_gets_its_bytes_while_others_take_all_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
