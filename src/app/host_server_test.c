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

enum { THREADS = 4, ADDS = 500 };

struct adder {
    struct thread thread;
    struct peer *peer;
    uint16_t var;
    int64_t last;  // what the var was after its last add
};

static void add_ones(void *owner)
{
    struct adder *adder = owner;
    const int64_t one = 1;
    for (int i = 0; i < ADDS; i++) {
        struct peer_call call = {0};
        const struct peer_ask add = {
            .op = CALL_VAR_ADD, .handle = adder->var, .parts = {{(const char *)&one, sizeof one}}};
        ASSERT(peer_ask(adder->peer, &add, &call, UINT64_MAX) == WEFT_OK);
        const int64_t before = adder->last;
        memcpy(&adder->last, call.answer.data + 8, sizeof adder->last);
        ASSERT(adder->last > before);
        peer_call_fini(&call);
    }
}

static void add_by_threads(const char *host)
{
    struct testing_server scene = {0};
    struct adder adders[THREADS] = {{.last = 0}};
    strcpy(scene.host, host);
    server_start(&scene);
    struct peer *peer = testing_peer(&scene, "/map/0");
    const uint16_t var = testing_open(peer, CALL_KIND_VAR);
    const int64_t zero = 0;
    struct peer_call call = {0};
    const struct peer_ask create = {
        .op = CALL_VAR_CREATE, .handle = var, .parts = {{(const char *)&zero, sizeof zero}}};
    assert_int_equal(peer_ask(peer, &create, &call, UINT64_MAX), WEFT_OK);
    peer_call_fini(&call);
    int64_t most = 0;
    for (size_t i = 0; i < THREADS; i++) {
        adders[i].peer = peer;
        adders[i].var = var;
        assert_int_equal(thread_start(&adders[i].thread, add_ones, &adders[i], 0), WEFT_OK);
    }
    for (size_t i = 0; i < THREADS; i++) {
        thread_join(&adders[i].thread);
        most = adders[i].last > most ? adders[i].last : most;
    }
    assert_int_equal(most, THREADS * ADDS);
    peer_free(peer, true);
    server_stop(&scene);
}

static void threads_that_share_a_peer_get_their_own_answers(void **state)
{
    (void)state;
    add_by_threads("127.0.0.1");
}

static void threads_share_a_peer_by_tls_too(void **state)
{
    (void)state;
    char host[64];
    if (testing_find_address(host))
        add_by_threads(host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_that_do_not_fit_into_one_frame_arrive),
        cmocka_unit_test(threads_that_share_a_peer_get_their_own_answers),
        cmocka_unit_test(threads_share_a_peer_by_tls_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
