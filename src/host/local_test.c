// Tests of the way to a host in this process, beside clients that come by sockets.

#include "host/local.h"

#include "host/server_testing.h"
#include "sys/file/file.h"
#include "sys/time/clock.h"

enum { THREADS = 4, ADDS = 2000, BIG = 8 << 20 };

struct scene {
    struct testing_server server;
    struct host_local *local;
    struct peer *here, *there;  // the host's own member, and another one
    uint16_t handle_here, handle_there;
};

static void open_scene(struct scene *scene, enum call_kind kind, const char *journal)
{
    *scene = (struct scene){.server = {.options = {.journal = journal}}};
    server_start(&scene->server);
    scene->local = host_local_new(scene->server.server);
    assert_non_null(scene->local);
    struct peer_options options = testing_peer_options(&scene->server, "/files/0");
    options.port = &host_local_port;
    options.port_owner = scene->local;
    scene->here = peer_new(&options);
    scene->there = testing_peer(&scene->server, "/map/0");
    assert_non_null(scene->here);
    scene->handle_here = testing_open(scene->here, kind);
    scene->handle_there = testing_open(scene->there, kind);
}

static void close_scene(struct scene *scene)
{
    peer_free(scene->there, true);
    peer_free(scene->here, true);
    host_local_free(scene->local);
    server_stop(&scene->server);
}

static void start(struct peer *peer, uint16_t handle, uint8_t op, weft_bytes payload,
                  struct peer_call *call)
{
    const struct peer_ask ask = {.op = op, .handle = handle, .parts = {payload}};
    *call = (struct peer_call){0};
    assert_int_equal(peer_start(peer, &ask, call), WEFT_OK);
}

static void expect(struct peer *peer, struct peer_call *call, const char *answer)
{
    assert_int_equal(peer_finish(peer, call, UINT64_MAX), WEFT_OK);
    assert_int_equal(call->answer.size, strlen(answer));
    assert_memory_equal(call->answer.data, answer, call->answer.size);
    peer_call_fini(call);
}

static void ask(struct peer *peer, uint16_t handle, uint8_t op, weft_bytes payload)
{
    struct peer_call call;
    start(peer, handle, op, payload, &call);
    assert_int_equal(peer_finish(peer, &call, UINT64_MAX), WEFT_OK);
    peer_call_fini(&call);
}

// ---- One after the other -----------------------------------------------------------------------------------

static void who_waits_gets_what_the_other_pushes(void **state)
{
    (void)state;
    struct scene scene;
    struct peer_call popped;
    open_scene(&scene, CALL_KIND_QUEUE, NULL);
    for (int i = 0; i < 50; i++) {
        start(scene.there, scene.handle_there, CALL_QUEUE_POP, weft_none(), &popped);
        ask(scene.here, scene.handle_here, CALL_QUEUE_PUSH, weft_text("from here"));
        expect(scene.there, &popped, "from here");
        start(scene.here, scene.handle_here, CALL_QUEUE_POP, weft_none(), &popped);
        ask(scene.there, scene.handle_there, CALL_QUEUE_PUSH, weft_text("from there"));
        expect(scene.here, &popped, "from there");
    }
    close_scene(&scene);
}

static void a_deadline_takes_a_call_back(void **state)
{
    (void)state;
    struct scene scene;
    struct peer_call popped;
    open_scene(&scene, CALL_KIND_QUEUE, NULL);
    start(scene.here, scene.handle_here, CALL_QUEUE_POP, weft_none(), &popped);
    assert_int_equal(peer_finish(scene.here, &popped, clock_now_ns() + 20000000),
                     WEFT_DEADLINE_EXCEEDED);
    peer_call_fini(&popped);
    ask(scene.here, scene.handle_here, CALL_QUEUE_PUSH, weft_text("left"));
    start(scene.there, scene.handle_there, CALL_QUEUE_POP, weft_none(), &popped);
    expect(scene.there, &popped, "left");
    close_scene(&scene);
}

// The rest is the loop's to send, when the other side reads.
static void what_a_connection_does_not_take_at_once_arrives(void **state)
{
    (void)state;
    struct scene scene;
    struct peer_call popped[3];
    char *element = malloc(BIG);
    assert_non_null(element);
    memset(element, 'x', BIG);
    open_scene(&scene, CALL_KIND_QUEUE, NULL);
    for (int i = 0; i < 3; i++)
        start(scene.there, scene.handle_there, CALL_QUEUE_POP, weft_none(), &popped[i]);
    assert_false(peer_is_done(scene.there, &popped[2]));  // sends them
    for (int i = 0; i < 3; i++)
        ask(scene.here, scene.handle_here, CALL_QUEUE_PUSH, (weft_bytes){element, BIG});
    for (int i = 0; i < 3; i++) {
        assert_int_equal(peer_finish(scene.there, &popped[i], UINT64_MAX), WEFT_OK);
        assert_int_equal(popped[i].answer.size, BIG);
        assert_memory_equal(popped[i].answer.data, element, BIG);
        peer_call_fini(&popped[i]);
    }
    free(element);
    close_scene(&scene);
}

static void giving_up_a_handle_keeps_the_words_of_a_failure(void **state)
{
    (void)state;
    struct scene scene;
    open_scene(&scene, CALL_KIND_QUEUE, NULL);
    const uint16_t more_here = testing_open(scene.here, CALL_KIND_QUEUE);
    const uint16_t more_there = testing_open(scene.there, CALL_KIND_QUEUE);
    err_set(WEFT_INVALID_ARGUMENT, "why it failed");
    peer_release_handle(scene.here, more_here, peer_life(scene.here));
    assert_string_equal(err_text(), "why it failed");
    peer_release_handle(scene.there, more_there, peer_life(scene.there));
    assert_string_equal(err_text(), "why it failed");
    close_scene(&scene);
    assert_string_equal(err_text(), "why it failed");
    err_clear();
}

static void another_of_the_same_name_ends_the_session(void **state)
{
    (void)state;
    struct scene scene;
    struct peer_call call;
    open_scene(&scene, CALL_KIND_QUEUE, NULL);
    start(scene.here, scene.handle_here, CALL_QUEUE_POP, weft_none(), &call);
    struct peer *double_of_it = testing_peer(&scene.server, "/files/0");
    testing_open(double_of_it, CALL_KIND_QUEUE);
    assert_int_equal(peer_finish(scene.here, &call, UINT64_MAX), WEFT_ABORTED);
    peer_call_fini(&call);
    peer_free(double_of_it, true);
    scene.handle_here = testing_open(scene.here, CALL_KIND_QUEUE);  // anew
    ask(scene.here, scene.handle_here, CALL_QUEUE_PUSH, weft_text("x"));
    close_scene(&scene);
}

// ---- All at once -------------------------------------------------------------------------------------------

struct adder {
    struct thread thread;
    struct peer *peer;
    uint16_t var;
    int adds;
};

static void add_ones(void *owner)
{
    struct adder *adder = owner;
    const int64_t one = 1;
    const struct peer_ask add = {
        .op = CALL_VAR_ADD, .handle = adder->var, .parts = {{(const char *)&one, sizeof one}}};
    for (int i = 0; i < adder->adds; i++) {
        struct peer_call calls[2] = {{0}};
        ASSERT(peer_start(adder->peer, &add, &calls[0]) == WEFT_OK);
        ASSERT(peer_ask(adder->peer, &add, &calls[1], UINT64_MAX) == WEFT_OK);
        ASSERT(peer_finish(adder->peer, &calls[0], UINT64_MAX) == WEFT_OK);
        peer_call_fini(&calls[0]);
        peer_call_fini(&calls[1]);
    }
}

static void add_by_all(const char *journal, int adds)
{
    struct scene scene;
    struct adder adders[2 * THREADS] = {{.adds = 0}};
    const int64_t zero = 0;
    struct peer_call call;
    int64_t total;
    open_scene(&scene, CALL_KIND_VAR, journal);
    ask(scene.here, scene.handle_here, CALL_VAR_CREATE,
        (weft_bytes){(const char *)&zero, sizeof zero});
    for (size_t i = 0; i < 2 * THREADS; i++) {
        const bool is_here = i % 2;
        adders[i] = (struct adder){.peer = is_here ? scene.here : scene.there,
                                   .var = is_here ? scene.handle_here : scene.handle_there,
                                   .adds = adds};
        assert_int_equal(thread_start(&adders[i].thread, add_ones, &adders[i], 0), WEFT_OK);
    }
    for (size_t i = 0; i < 2 * THREADS; i++)
        thread_join(&adders[i].thread);
    start(scene.here, scene.handle_here, CALL_VAR_READ, weft_none(), &call);
    assert_int_equal(peer_finish(scene.here, &call, UINT64_MAX), WEFT_OK);
    memcpy(&total, call.answer.data + 8, sizeof total);
    assert_int_equal(total, 2 * 2 * THREADS * adds);
    peer_call_fini(&call);
    close_scene(&scene);
}

static void threads_here_and_there_add_exactly(void **state)
{
    (void)state;
    add_by_all(NULL, ADDS);
}

static void also_with_a_journal(void **state)
{
    (void)state;
    char journal[] = "/tmp/weft-local-XXXXXX";
    assert_non_null(mkdtemp(journal));
    add_by_all(journal, 30);
    assert_int_equal(file_remove_tree(journal), WEFT_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_waits_gets_what_the_other_pushes),
        cmocka_unit_test(a_deadline_takes_a_call_back),
        cmocka_unit_test(what_a_connection_does_not_take_at_once_arrives),
        cmocka_unit_test(giving_up_a_handle_keeps_the_words_of_a_failure),
        cmocka_unit_test(another_of_the_same_name_ends_the_session),
        cmocka_unit_test(threads_here_and_there_add_exactly),
        cmocka_unit_test(also_with_a_journal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
