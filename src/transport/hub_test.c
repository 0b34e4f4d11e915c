// Tests of a hub and a spoke with real sockets, on one loop: by the Unix socket, and through TLS.

#include "transport/hub.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "sys/loop/loop.h"
#include "sys/time/clock.h"
#include "transport/dial.h"
#include "transport/spoke.h"

static const struct secret token = {.bytes = "0123456789abcdef", .size = 16};
static const struct secret other_token = {.bytes = "0123456789abcdeg", .size = 16};

enum { LARGE = 3 << 20, PATIENCE_MS = 1500 };

struct scene {
    struct loop *loop;
    struct loop_timer *limit;
    struct net_listener listener;
    struct hub *hub;
    struct hub_peer *peer;
    struct spoke *spoke;
    struct net_route *route;
    struct dial *dial;
    char got_up[200], got_down[200], lost[ERR_TEXT_BYTES_MAX], said[500];
    size_t large_up, large_down;
    weft_err lost_code, dial_code;
    int joined, cuts, backs;
    const char *refusal;  // of joined(); NULL: none
    bool has_failed;      // in a callback
};

static void give_up(void *owner)
{
    struct scene *scene = owner;
    scene->has_failed = true;
    loop_stop(scene->loop);
}

// Runs until a callback says so.
static void run(struct scene *scene)
{
    scene->limit = loop_timer_new(scene->loop, 20000, 0, give_up, scene);
    loop_run(scene->loop);
    loop_timer_free(scene->limit);
    assert_false(scene->has_failed);
}

static weft_err on_joined(void *owner, struct hub_peer *peer, const struct hello *hello)
{
    struct scene *scene = owner;
    if (scene->refusal)
        return err_set(WEFT_ALREADY_EXISTS, "%s", scene->refusal);
    scene->has_failed |= strcmp(hello->member, "tester") != 0;
    scene->peer = peer;
    scene->joined++;
    hub_peer_set_owner(peer, scene);
    return WEFT_OK;
}

static void note(char *texts, size_t *large, const struct frame *frame)
{
    if (frame->payload.size == LARGE)
        ++*large;
    else
        sprintf(texts + strlen(texts), "%d:%.*s ", (int)frame->type, (int)frame->payload.size,
                frame->payload.data);
}

static void on_up(void *owner, struct hub_peer *peer, const struct frame *frame)
{
    struct scene *scene = owner;
    scene->has_failed |= hub_peer_owner(peer) != scene;
    note(scene->got_up, &scene->large_up, frame);
    if (bytes_equal(frame->payload, weft_text("drop me")))
        hub_drop(peer);
    else if (hub_send_bytes(peer, frame->type, frame->payload))
        scene->has_failed = true;
}

static void on_silence(void *owner, struct hub_peer *peer)
{
    struct scene *scene = owner;
    (void)peer;
    scene->has_failed = true;
}

static void on_loss(void *owner, struct hub_peer *peer, weft_err code)
{
    (void)code;
    on_silence(owner, peer);
}

static void say(void *owner, const char *sentence)
{
    struct scene *scene = owner;
    snprintf(scene->said, sizeof scene->said, "%s", sentence);
}

static void start_hub(struct scene *scene)
{
    static const struct hub_calls calls = {.joined = on_joined,
                                           .frame = on_up,
                                           .suspect = on_silence,
                                           .back = on_silence,
                                           .lost = on_loss,
                                           .say = say};
    const struct hub_options options = {.loop = scene->loop,
                                        .listener = &scene->listener,
                                        .token = &token,
                                        .name = "",
                                        .calls = &calls,
                                        .owner = scene};
    scene->hub = hub_new(&options);
    assert_non_null(scene->hub);
}

static void start(struct scene *scene)
{
    *scene = (struct scene){.loop = loop_new(NULL, NULL)};
    assert_int_equal(net_listen(&(struct net_address){.host = ""}, &scene->listener), WEFT_OK);
    start_hub(scene);
}

static void end(struct scene *scene)
{
    spoke_free(scene->spoke);
    dial_free(scene->dial);
    net_route_close(scene->route);
    hub_free(scene->hub);
    net_listener_close(&scene->listener);
    loop_free(scene->loop);
    err_clear();
}

static void spoke_joined(void *owner)
{
    struct scene *scene = owner;
    loop_stop(scene->loop);
}

static void on_down(void *owner, const struct frame *frame)
{
    struct scene *scene = owner;
    note(scene->got_down, &scene->large_down, frame);
    if (bytes_equal(frame->payload, weft_text("last")))
        loop_stop(scene->loop);
}

static void on_cut(void *owner)
{
    ((struct scene *)owner)->cuts++;
}

static void on_back(void *owner)
{
    struct scene *scene = owner;
    scene->backs++;
    loop_stop(scene->loop);
}

static void spoke_lost(void *owner, weft_err code)
{
    struct scene *scene = owner;
    scene->lost_code = code;
    snprintf(scene->lost, sizeof scene->lost, "%s", err_text());
    loop_stop(scene->loop);
}

// Another loopback address than the everyday ones has no Unix socket here: TCP, with TLS.
static struct net_address address_of(const struct scene *scene, bool has_tls)
{
    struct net_address address = {.port = scene->listener.port};
    strcpy(address.host, has_tls ? "127.0.0.9" : "127.0.0.1");
    return address;
}

static void start_spoke(struct scene *scene, const struct secret *secret, bool has_tls)
{
    static const struct spoke_calls calls = {spoke_joined, on_down, on_cut, on_back, spoke_lost};
    const struct spoke_options options = {.loop = scene->loop,
                                          .address = address_of(scene, has_tls),
                                          .token = secret,
                                          .name = "tester",
                                          .calls = &calls,
                                          .owner = scene,
                                          .patience_ms = PATIENCE_MS};
    scene->spoke = spoke_new(&options);
    assert_non_null(scene->spoke);
    run(scene);
}

static void send_up(struct scene *scene, const char *text)
{
    assert_int_equal(
        spoke_send_bytes(scene->spoke, WEFT__FRAME_TYPE__FRAME_TASK_END, weft_text(text)), WEFT_OK);
}

static void exchange(bool has_tls)
{
    static char large[LARGE];
    struct scene scene;
    start(&scene);
    start_spoke(&scene, &token, has_tls);
    assert_int_equal(scene.joined, 1);
    send_up(&scene, "one");
    send_up(&scene, "");
    for (int i = 0; i < 3; i++)
        assert_int_equal(spoke_send_bytes(scene.spoke, WEFT__FRAME_TYPE__FRAME_TASK_END,
                                          (weft_bytes){large, LARGE}),
                         WEFT_OK);
    send_up(&scene, "last");
    run(&scene);
    assert_string_equal(scene.got_up, "6:one 6: 6:last ");
    assert_string_equal(scene.got_down, "6:one 6: 6:last ");
    assert_int_equal(scene.large_up, 3);
    assert_int_equal(scene.large_down, 3);
    assert_int_equal(scene.lost_code, WEFT_OK);
    end(&scene);
}

static void frames_go_both_ways(void **state)
{
    (void)state;
    exchange(false);
}

static void frames_go_both_ways_through_tls(void **state)
{
    (void)state;
    exchange(true);
}

static void another_token_is_refused_at_once(void **state)
{
    (void)state;
    for (int has_tls = 0; has_tls < 2; has_tls++) {
        struct scene scene;
        start(&scene);
        start_spoke(&scene, &other_token, has_tls);
        assert_int_equal(scene.lost_code, WEFT_UNAUTHENTICATED);
        assert_non_null(strstr(scene.lost, "token"));
        assert_int_equal(scene.joined, 0);
        end(&scene);
    }
}

static void the_owner_refuses_with_a_sentence(void **state)
{
    (void)state;
    struct scene scene;
    start(&scene);
    scene.refusal = "there is a tester already";
    start_spoke(&scene, &token, false);
    assert_int_equal(scene.lost_code, WEFT_ALREADY_EXISTS);
    assert_non_null(strstr(scene.lost, "there is a tester already"));
    end(&scene);
}

static void a_dropped_session_is_refused_when_it_comes_back(void **state)
{
    (void)state;
    struct scene scene;
    start(&scene);
    start_spoke(&scene, &token, false);
    send_up(&scene, "drop me");
    run(&scene);
    assert_int_equal(scene.lost_code, WEFT_ABORTED);
    assert_non_null(strstr(scene.lost, "has ended the session"));
    assert_int_equal(scene.cuts, 1);
    end(&scene);
}

static void another_life_of_the_hub_does_not_know_the_session(void **state)
{
    (void)state;
    struct scene scene;
    start(&scene);
    start_spoke(&scene, &token, false);
    hub_free(scene.hub);
    start_hub(&scene);
    run(&scene);
    assert_int_equal(scene.lost_code, WEFT_ABORTED);
    assert_non_null(strstr(scene.lost, "started again"));
    end(&scene);
}

static void a_hub_that_is_gone_is_waited_for_with_patience(void **state)
{
    (void)state;
    struct scene scene;
    start(&scene);
    hub_free(scene.hub);
    scene.hub = NULL;
    const uint16_t port = scene.listener.port;
    net_listener_close(&scene.listener);
    scene.listener.port = port;
    start_spoke(&scene, &token, true);
    assert_int_equal(scene.lost_code, WEFT_UNAVAILABLE);
    assert_non_null(strstr(scene.lost, "out of reach for 1 s"));
    assert_non_null(strstr(scene.lost, "refused"));
    end(&scene);
}

// ---- Other hellos -------------------------------------------------------------------------------------------

static void dial_welcomed(void *owner, const struct hello_welcome *welcome)
{
    struct scene *scene = owner;
    (void)welcome;
    scene->dial_code = WEFT_OK;
    loop_stop(scene->loop);
}

static void dial_frame(void *owner, const struct frame *frame)
{
    (void)owner, (void)frame;
}

static void dial_ended(void *owner, weft_err code, bool is_proven)
{
    struct scene *scene = owner;
    scene->dial_code = code;
    scene->has_failed |= !is_proven && code != WEFT_UNAVAILABLE;
    snprintf(scene->lost, sizeof scene->lost, "%s", err_text());
    dial_free(scene->dial);
    scene->dial = NULL;
    loop_stop(scene->loop);
}

static void say_hello(struct scene *scene, const struct hello *hello)
{
    static const struct dial_calls calls = {
        .welcomed = dial_welcomed, .frame = dial_frame, .ended = dial_ended};
    const struct net_address address = address_of(scene, true);
    if (!scene->route)
        assert_int_equal(net_route_open(&address, &scene->route), WEFT_OK);
    const struct dial_options options = {.loop = scene->loop,
                                         .route = scene->route,
                                         .token = &token,
                                         .hello = hello,
                                         .calls = &calls,
                                         .owner = scene};
    assert_int_equal(dial_new(&options, &scene->dial), WEFT_OK);
    run(scene);
}

static void another_architecture_has_an_error_of_its_own(void **state)
{
    (void)state;
    struct scene scene;
    start(&scene);
    say_hello(&scene, &(struct hello){.purpose = HELLO_FOR_SESSION, .architecture = "vax"});
    assert_int_equal(scene.dial_code, WEFT_UNIMPLEMENTED);
    assert_non_null(strstr(scene.lost, "do not run on vax"));
    end(&scene);
}

static void a_session_that_is_not_known_is_not_resumed(void **state)
{
    (void)state;
    struct scene scene;
    start(&scene);
    struct hello hello = {.purpose = HELLO_FOR_SESSION, .resumes = true, .session = {1}};
    hello.epoch = hub_epoch(scene.hub);
    say_hello(&scene, &hello);
    assert_int_equal(scene.dial_code, WEFT_ABORTED);
    assert_non_null(strstr(scene.lost, "took this process for lost"));
    end(&scene);
}

static void calls_and_fetches_are_refused_by_a_hub_without_them(void **state)
{
    (void)state;
    struct scene scene;
    start(&scene);
    say_hello(&scene, &(struct hello){.purpose = HELLO_FOR_CALLS});
    assert_int_equal(scene.dial_code, WEFT_INVALID_ARGUMENT);
    assert_non_null(strstr(scene.lost, "runs a job"));
    say_hello(&scene, &(struct hello){.purpose = HELLO_FOR_FETCH});
    assert_int_equal(scene.dial_code, WEFT_INVALID_ARGUMENT);
    assert_non_null(strstr(scene.lost, "serves no files"));
    end(&scene);
}

// ---- Cuts ---------------------------------------------------------------------------------------------------

// Between spoke and hub: hands bytes on, and breaks the connection after some.
struct relay {
    struct scene *scene;
    struct net_listener listener;
    struct loop_listener *accepting[NET_LISTENERS_MAX];
    struct loop_stream *sides[2];  // to the spoke, to the hub
    size_t bytes_left;
    int cuts_left;
};

static void relay_cut(struct relay *relay)
{
    for (int i = 0; i < 2; i++)
        if (relay->sides[i])
            loop_stream_free(relay->sides[i]);
    relay->sides[0] = relay->sides[1] = NULL;
}

static void relay_hand_on(struct relay *relay, int to, weft_bytes bytes)
{
    const bool is_cut = relay->cuts_left && bytes.size >= relay->bytes_left;
    const size_t size = is_cut ? relay->bytes_left : bytes.size;
    buf_append(loop_stream_out(relay->sides[to]), bytes.data, size);
    loop_stream_flush(relay->sides[to]);
    relay->bytes_left -= relay->cuts_left ? size : 0;
    if (!is_cut)
        return;
    relay->cuts_left--;
    relay->bytes_left = 40000;
    relay_cut(relay);
}

static void relay_up(void *owner, weft_bytes bytes)
{
    relay_hand_on(owner, 1, bytes);
}

static void relay_down(void *owner, weft_bytes bytes)
{
    relay_hand_on(owner, 0, bytes);
}

static void relay_ended(void *owner, weft_err code)
{
    (void)code;
    err_clear();
    relay_cut(owner);
}

static void relay_accept(void *owner, int fd)
{
    static const struct loop_stream_calls up = {relay_up, relay_ended, NULL};
    static const struct loop_stream_calls down = {relay_down, relay_ended, NULL};
    struct relay *relay = owner;
    const struct net_address address = address_of(relay->scene, true);
    int hub_fd = -1;
    relay->scene->has_failed |= net_connect(&address, 1000, &hub_fd) != WEFT_OK;
    relay_cut(relay);
    relay->sides[0] = loop_stream_new(relay->scene->loop, fd, &up, relay);
    relay->sides[1] = loop_stream_new(relay->scene->loop, hub_fd, &down, relay);
}

static void relay_start(struct relay *relay, struct scene *scene)
{
    *relay = (struct relay){.scene = scene, .bytes_left = 40000, .cuts_left = 5};
    assert_int_equal(net_listen(&(struct net_address){.host = ""}, &relay->listener), WEFT_OK);
    for (size_t i = 0; i < relay->listener.count; i++)
        relay->accepting[i] =
            loop_listener_new(scene->loop, relay->listener.fds[i], relay_accept, relay);
}

static void relay_end(struct relay *relay)
{
    relay_cut(relay);
    for (size_t i = 0; i < relay->listener.count; i++)
        loop_listener_free(relay->accepting[i]);
    net_listener_close(&relay->listener);
}

enum { COUNTED = 3000 };

struct counting {
    struct scene *scene;
    struct spoke *spoke;
    uint32_t up, down;
};

static void count_up(void *owner, struct hub_peer *peer, const struct frame *frame)
{
    struct counting *counting = owner;
    uint32_t number;
    memcpy(&number, frame->payload.data, sizeof number);
    counting->scene->has_failed |= number != counting->up++;
    if (hub_send_bytes(peer, frame->type, frame->payload))
        counting->scene->has_failed = true;
}

static void count_down(void *owner, const struct frame *frame)
{
    struct counting *counting = owner;
    uint32_t number;
    memcpy(&number, frame->payload.data, sizeof number);
    counting->scene->has_failed |= number != counting->down++;
    if (counting->down == COUNTED || counting->scene->has_failed)
        loop_stop(counting->scene->loop);
}

static weft_err count_joined(void *owner, struct hub_peer *peer, const struct hello *hello)
{
    (void)owner, (void)peer, (void)hello;
    return WEFT_OK;
}

static void count_start(void *owner)
{
    struct counting *counting = owner;
    char payload[200] = "";
    for (uint32_t i = 0; i < COUNTED; i++) {
        memcpy(payload, &i, sizeof i);
        if (spoke_send_bytes(counting->spoke, WEFT__FRAME_TYPE__FRAME_TASK_END,
                             (weft_bytes){payload, sizeof payload}))
            counting->scene->has_failed = true;
    }
}

static void count_cut(void *owner)
{
    ((struct counting *)owner)->scene->cuts++;
}

static void count_lost(void *owner, weft_err code)
{
    struct counting *counting = owner;
    (void)code;
    counting->scene->has_failed = true;
    loop_stop(counting->scene->loop);
}

static void no_frame_is_lost_or_doubled_when_connections_break(void **state)
{
    static const struct hub_calls hub_calls = {
        .joined = count_joined, .frame = count_up, .suspect = on_silence};
    static const struct spoke_calls spoke_calls = {
        .joined = count_start, .frame = count_down, .cut = count_cut, .lost = count_lost};
    (void)state;
    struct scene scene;
    struct relay relay;
    start(&scene);
    hub_free(scene.hub);
    struct counting counting = {.scene = &scene};
    scene.hub = hub_new(&(struct hub_options){.loop = scene.loop,
                                              .listener = &scene.listener,
                                              .token = &token,
                                              .name = "",
                                              .calls = &hub_calls,
                                              .owner = &counting});
    relay_start(&relay, &scene);
    const struct spoke_options options = {
        .loop = scene.loop,
        .address = {.host = "127.0.0.8", .port = relay.listener.port},
        .token = &token,
        .name = "tester",
        .calls = &spoke_calls,
        .owner = &counting};
    counting.spoke = scene.spoke = spoke_new(&options);
    run(&scene);
    assert_int_equal(counting.up, COUNTED);
    assert_int_equal(counting.down, COUNTED);
    assert_int_equal(scene.cuts, 5);
    relay_end(&relay);
    end(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_go_both_ways),
        cmocka_unit_test(frames_go_both_ways_through_tls),
        cmocka_unit_test(another_token_is_refused_at_once),
        cmocka_unit_test(the_owner_refuses_with_a_sentence),
        cmocka_unit_test(a_dropped_session_is_refused_when_it_comes_back),
        cmocka_unit_test(another_life_of_the_hub_does_not_know_the_session),
        cmocka_unit_test(a_hub_that_is_gone_is_waited_for_with_patience),
        cmocka_unit_test(another_architecture_has_an_error_of_its_own),
        cmocka_unit_test(a_session_that_is_not_known_is_not_resumed),
        cmocka_unit_test(calls_and_fetches_are_refused_by_a_hub_without_them),
        cmocka_unit_test(no_frame_is_lost_or_doubled_when_connections_break),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
