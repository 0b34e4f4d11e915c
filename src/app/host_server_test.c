// Tests of a host behind sockets, asked by peers.

#include "app/host_server_testing.h"

static void calls_that_do_not_fit_into_one_frame_arrive(void **state)
{
    enum { COUNT = 3, SIZE = 30 << 20 };
    (void)state;
    struct testing_server scene = {0};
    struct peer_call calls[COUNT] = {{0}};
    const uint16_t queue = 1;
    char *element = calloc(1, SIZE);
    assert_non_null(element);
    // They gather while nobody is there.
    server_start(&scene);
    server_stop(&scene);
    struct peer *peer = testing_peer(&scene, "/map/0");
    const char name[] = {CALL_KIND_QUEUE, 0, 0, 1, 0, 'r'};
    struct peer_call opened = {0};
    const struct peer_ask open = {.op = CALL_OPEN, .handle = queue, .parts = {{name, sizeof name}}};
    assert_int_equal(peer_start(peer, &open, &opened), WEFT_OK);
    for (size_t i = 0; i < COUNT; i++) {
        const struct peer_ask push = {
            .op = CALL_QUEUE_PUSH, .handle = queue, .parts = {{element, SIZE}}};
        assert_int_equal(peer_start(peer, &push, &calls[i]), WEFT_OK);
    }
    server_start(&scene);
    assert_int_equal(peer_finish(peer, &opened, UINT64_MAX), WEFT_OK);
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(peer_finish(peer, &calls[i], UINT64_MAX), WEFT_OK);
        peer_call_fini(&calls[i]);
    }
    peer_call_fini(&opened);
    free(element);
    peer_free(peer, true);
    server_stop(&scene);
    assert_string_equal(scene.said, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_that_do_not_fit_into_one_frame_arrive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
