// Tests of a host with sockets, asked by peers.

#include "host/server_testing.h"

static void calls_that_do_not_fit_into_one_frame_arrive(void **state)
{
    enum { COUNT = 3, SIZE = 30 << 20 };
    (void)state;
    struct testing_server scene = {0};
    struct peer_call calls[COUNT] = {{0}};
    const uint16_t queue = 1;
    char *element = calloc(1, SIZE);
    assert_non_null(element);
    // They gather while the host is absent.
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

// A caller that says "more follows" need not say which is the last: waiting for any of them sends all.
static void calls_that_are_followed_go_with_the_next_wait(void **state)
{
    enum { COUNT = 100 };
    (void)state;
    struct testing_server scene = {0};
    struct peer_call calls[COUNT] = {{0}};
    server_start(&scene);
    struct peer *peer = testing_peer(&scene, "/map/0");
    const struct peer_ask push = {.op = CALL_QUEUE_PUSH,
                                  .handle = testing_open(peer, CALL_KIND_QUEUE),
                                  .is_followed = true,
                                  .parts = {weft_text("element")}};
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(peer_start(peer, &push, &calls[i]), WEFT_OK);
    for (size_t i = 0; i < COUNT; i++)
        assert_false(peer_has_answer(peer, &calls[i]));
    for (size_t i = COUNT; i-- > 0;) {
        assert_int_equal(peer_finish(peer, &calls[i], UINT64_MAX), WEFT_OK);
        peer_call_fini(&calls[i]);
    }
    peer_free(peer, true);
    server_stop(&scene);
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

// ---- Handles ----------------------------------------------------------------------------------------------

static void a_session_may_open_and_release_any_number_of_handles(void **state)
{
    enum { TIMES = 200000 };
    (void)state;
    struct testing_server scene = {0};
    server_start(&scene);
    struct peer *peer = testing_peer(&scene, "/map/0");
    for (int i = 0; i < TIMES; i++) {
        const char name[] = {CALL_KIND_KV, 0, 0, 1, 0, (char)('a' + i % 26)};
        struct peer_call call = {0};
        uint16_t handle;
        uint32_t life;
        assert_int_equal(peer_new_handle(peer, &handle, &life), WEFT_OK);
        const struct peer_ask open = {
            .op = CALL_OPEN, .handle = handle, .life = life, .parts = {{name, sizeof name}}};
        // Most are not waited for: the number is used again before the host has heard of it.
        const bool is_waited_for = i % 16 == 0;
        assert_int_equal(is_waited_for ? peer_ask(peer, &open, &call, UINT64_MAX)
                                       : peer_tell(peer, &open),
                         WEFT_OK);
        peer_call_fini(&call);
        peer_release_handle(peer, handle, life);
    }
    assert_int_equal(testing_open(peer, CALL_KIND_VAR), 1);
    peer_free(peer, true);
    server_stop(&scene);
}

static void the_limit_of_handles_is_told_and_does_not_last(void **state)
{
    (void)state;
    struct testing_server scene = {0};
    server_start(&scene);
    struct peer *peer = testing_peer(&scene, "/map/0");
    uint16_t handle;
    uint32_t life;
    for (uint32_t i = 1; i <= UINT16_MAX; i++)
        assert_int_equal(peer_new_handle(peer, &handle, &life), WEFT_OK);
    assert_int_equal(peer_new_handle(peer, &handle, &life), WEFT_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(err_text(), "65535 handles"));
    peer_release_handle(peer, 7, life + 1);  // of another life of the session: void anyway
    assert_int_equal(peer_new_handle(peer, &handle, &life), WEFT_RESOURCE_EXHAUSTED);
    peer_release_handle(peer, 7, life);
    assert_int_equal(testing_open(peer, CALL_KIND_VAR), 7);
    peer_free(peer, true);
    server_stop(&scene);
}

// The client that asked for it has gone; no other would have it if it were not given back.
static void an_element_that_comes_too_late_is_given_back_by_its_released_handle(void **state)
{
    (void)state;
    struct testing_server scene = {0};
    server_start(&scene);
    struct peer *peer = testing_peer(&scene, "/map/0"), *other = testing_peer(&scene, "/map/1");
    uint16_t handle;
    uint32_t life;
    const uint16_t queue = testing_open(peer, CALL_KIND_QUEUE);
    const uint16_t of_other = testing_open(other, CALL_KIND_QUEUE);
    const uint32_t no_limit = 0;
    const weft_bytes lease = {(const char *)&no_limit, sizeof no_limit};
    const struct peer_ask take = {.op = CALL_QUEUE_TAKE, .handle = queue, .parts = {lease}};
    assert_int_equal(peer_tell(peer, &take), WEFT_OK);
    assert_int_equal(peer_tell(peer, &take), WEFT_OK);
    peer_release_handle(peer, queue, peer_life(peer));
    assert_int_equal(peer_new_handle(peer, &handle, &life), WEFT_OK);
    assert_int_not_equal(handle, queue);
    struct peer_call calls[3] = {{0}};
    const struct peer_ask push = {
        .op = CALL_QUEUE_PUSH, .handle = of_other, .parts = {weft_text("a")}};
    assert_int_equal(peer_ask(other, &push, &calls[0], UINT64_MAX), WEFT_OK);
    assert_int_equal(peer_ask(other, &push, &calls[1], UINT64_MAX), WEFT_OK);
    testing_ping(peer);  // reads the elements, and gives them back
    const struct peer_ask pop = {.op = CALL_QUEUE_POP, .handle = of_other};
    assert_int_equal(peer_ask(other, &pop, &calls[2], UINT64_MAX), WEFT_OK);
    testing_ping(peer);
    assert_int_equal(testing_open(peer, CALL_KIND_QUEUE), queue);
    for (size_t i = 0; i < 3; i++)
        peer_call_fini(&calls[i]);
    peer_free(peer, true);
    peer_free(other, true);
    server_stop(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_that_do_not_fit_into_one_frame_arrive),
        cmocka_unit_test(calls_that_are_followed_go_with_the_next_wait),
        cmocka_unit_test(threads_that_share_a_peer_get_their_own_answers),
        cmocka_unit_test(threads_share_a_peer_by_tls_too),
        cmocka_unit_test(a_session_may_open_and_release_any_number_of_handles),
        cmocka_unit_test(the_limit_of_handles_is_told_and_does_not_last),
        cmocka_unit_test(an_element_that_comes_too_late_is_given_back_by_its_released_handle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
