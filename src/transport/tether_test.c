// Tests of a tether: numbering, keeping, resuming, silence. No clock, no sockets.

#include "transport/tether.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/bytes.h"

static void add(struct tether *tether, const char *text)
{
    char *room;
    assert_int_equal(tether_add(tether, WEFT__FRAME_TYPE__FRAME_TASK_RUN, strlen(text), &room),
                     WEFT_OK);
    memcpy(room, text, strlen(text));
}

// Takes the frames in `bytes`, and appends the payloads of those that are for the owner, each with a space.
static weft_err receive_all(struct tether *tether, const struct buf *bytes, char *texts)
{
    struct frame_parser parser = {0};
    bool has_frame = true;
    weft_err code = frame_parser_feed(&parser, bytes->data, bytes->size);
    while (!code && has_frame) {
        struct frame frame = {0}, inner = {0};
        bool has_inner = false;
        code = frame_parser_next(&parser, &frame, &has_frame);
        if (!code && has_frame)
            code = tether_receive(tether, &frame, &inner, &has_inner);
        if (has_inner)
            sprintf(texts + strlen(texts), "%.*s ",
                    inner.payload.size < 20 ? (int)inner.payload.size : 20, inner.payload.data);
    }
    frame_parser_fini(&parser);
    return code;
}

struct scene {
    struct tether a, b;
    struct buf wire;
    char texts[1000];
};

// What a has not sent goes to b, up to `frames` frames.
static void carry(struct scene *scene, size_t bytes_max)
{
    scene->wire.size = 0;
    tether_put_unsent(&scene->a, &scene->wire, bytes_max, 1);
    assert_int_equal(receive_all(&scene->b, &scene->wire, scene->texts), WEFT_OK);
}

static void answer(struct scene *scene)
{
    char nothing[10] = "";
    scene->wire.size = 0;
    tether_put_heartbeat(&scene->b, &scene->wire, 1);
    assert_int_equal(receive_all(&scene->a, &scene->wire, nothing), WEFT_OK);
    assert_string_equal(nothing, "");
}

static void end(struct scene *scene)
{
    tether_fini(&scene->a);
    tether_fini(&scene->b);
    buf_fini(&scene->wire);
}

static void frames_arrive_in_order_and_are_kept_until_acknowledged(void **state)
{
    (void)state;
    struct scene scene = {0};
    add(&scene.a, "one");
    add(&scene.a, "two");
    add(&scene.a, "");
    carry(&scene, SIZE_MAX);
    assert_string_equal(scene.texts, "one two  ");
    assert_int_not_equal(tether_kept_bytes(&scene.a), 0);
    assert_int_equal(tether_unsent_bytes(&scene.a), 0);
    answer(&scene);
    assert_int_equal(tether_kept_bytes(&scene.a), 0);
    end(&scene);
}

static void after_a_cut_only_missing_frames_are_sent_again(void **state)
{
    (void)state;
    struct scene scene = {0};
    add(&scene.a, "one");
    add(&scene.a, "two");
    carry(&scene, 0);  // one frame
    assert_string_equal(scene.texts, "one ");
    struct buf lost = {0};
    tether_put_unsent(&scene.a, &lost, SIZE_MAX, 1);
    buf_fini(&lost);
    assert_int_equal(tether_resume(&scene.a, scene.b.received), WEFT_OK);
    carry(&scene, SIZE_MAX);
    assert_string_equal(scene.texts, "one two ");
    end(&scene);
}

static void a_frame_that_comes_twice_counts_once(void **state)
{
    (void)state;
    struct scene scene = {0};
    add(&scene.a, "one");
    carry(&scene, SIZE_MAX);
    assert_int_equal(receive_all(&scene.b, &scene.wire, scene.texts), WEFT_OK);
    assert_string_equal(scene.texts, "one ");
    end(&scene);
}

static void a_gap_is_refused(void **state)
{
    (void)state;
    struct scene scene = {0};
    add(&scene.a, "one");
    add(&scene.a, "two");
    tether_put_unsent(&scene.a, &scene.wire, 0, 1);
    scene.wire.size = 0;
    tether_put_unsent(&scene.a, &scene.wire, 0, 1);
    assert_int_equal(receive_all(&scene.b, &scene.wire, scene.texts), WEFT_DATA_LOSS);
    end(&scene);
}

static void the_other_side_cannot_acknowledge_what_was_never_sent(void **state)
{
    (void)state;
    struct scene scene = {0};
    scene.b.received = 7;
    scene.wire.size = 0;
    tether_put_heartbeat(&scene.b, &scene.wire, 1);
    assert_int_equal(receive_all(&scene.a, &scene.wire, scene.texts), WEFT_DATA_LOSS);
    assert_int_equal(tether_resume(&scene.a, 1), WEFT_DATA_LOSS);
    end(&scene);
}

static void nor_take_back_what_it_acknowledged(void **state)
{
    (void)state;
    struct scene scene = {0};
    add(&scene.a, "one");
    carry(&scene, SIZE_MAX);
    answer(&scene);
    assert_int_equal(tether_resume(&scene.a, 0), WEFT_DATA_LOSS);
    end(&scene);
}

static void no_more_is_kept_than_the_limit_and_one_frame_always_fits(void **state)
{
    (void)state;
    struct scene scene = {.a.kept_bytes_max = 100};
    char *room;
    assert_int_equal(tether_add(&scene.a, WEFT__FRAME_TYPE__FRAME_BYE, 5000, &room), WEFT_OK);
    memset(room, 'x', 5000);
    assert_int_equal(tether_add(&scene.a, WEFT__FRAME_TYPE__FRAME_BYE, 0, &room),
                     WEFT_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(err_text(), "not acknowledged 5028 bytes"));
    assert_int_equal(scene.a.last, 1);
    carry(&scene, SIZE_MAX);
    answer(&scene);
    assert_int_equal(tether_add(&scene.a, WEFT__FRAME_TYPE__FRAME_BYE, 0, &room), WEFT_OK);
    end(&scene);
}

static void much_that_was_received_is_acknowledged_at_once(void **state)
{
    (void)state;
    struct scene scene = {0};
    char *room;
    assert_int_equal(
        tether_add(&scene.a, WEFT__FRAME_TYPE__FRAME_BYE, TETHER_ACKNOWLEDGE_BYTES, &room),
        WEFT_OK);
    memset(room, ' ', TETHER_ACKNOWLEDGE_BYTES);
    struct frame frame = {.type = WEFT__FRAME_TYPE__FRAME_NUMBERED}, inner;
    bool has_inner;
    tether_put_unsent(&scene.a, &scene.wire, SIZE_MAX, 1);
    frame.payload = (weft_bytes){scene.wire.data + 8, scene.wire.size - 8};
    scene.b.spoke_ms = 1;
    assert_false(tether_is_heartbeat_due(&scene.b, 1));
    assert_int_equal(tether_receive(&scene.b, &frame, &inner, &has_inner), WEFT_OK);
    assert_true(has_inner);
    assert_true(tether_is_heartbeat_due(&scene.b, 1));
    answer(&scene);
    assert_false(tether_is_heartbeat_due(&scene.b, 1));
    assert_true(tether_is_heartbeat_due(&scene.b, 1 + TETHER_HEARTBEAT_MS));
    end(&scene);
}

static void silence_makes_suspect_then_lost_and_a_word_brings_back(void **state)
{
    (void)state;
    struct tether tether = {.heard_ms = 1000};
    assert_false(tether_tick(&tether, 2999));
    assert_true(tether_tick(&tether, 3000));
    assert_int_equal(tether.state, TETHER_SUSPECT);
    assert_false(tether_tick(&tether, 3100));
    assert_true(tether_hear(&tether, 3200));
    assert_false(tether_hear(&tether, 3300));
    assert_false(tether_tick(&tether, 5299));
    assert_true(tether_tick(&tether, 5300));
    assert_true(tether_tick(&tether, 13300));
    assert_int_equal(tether.state, TETHER_LOST);
    assert_false(tether_hear(&tether, 13400));
    assert_int_equal(tether.state, TETHER_LOST);
    assert_false(tether_tick(&tether, 99999));
}

static void broken_frames_are_refused(void **state)
{
    (void)state;
    static const char zeros[40];
    const struct {
        Weft__FrameType type;
        size_t size;
    } cases[] = {{WEFT__FRAME_TYPE__FRAME_TASK_RUN, 40},
                 {WEFT__FRAME_TYPE__FRAME_NUMBERED, 0},
                 {WEFT__FRAME_TYPE__FRAME_NUMBERED, 15},
                 {WEFT__FRAME_TYPE__FRAME_NUMBERED, 18},
                 {WEFT__FRAME_TYPE__FRAME_NUMBERED, 20}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tether tether = {0};
        struct frame frame = {.type = cases[i].type, .payload = {zeros, cases[i].size}}, inner;
        bool has_inner;
        assert_int_equal(tether_receive(&tether, &frame, &inner, &has_inner), WEFT_DATA_LOSS);
        assert_false(has_inner);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_arrive_in_order_and_are_kept_until_acknowledged),
        cmocka_unit_test(after_a_cut_only_missing_frames_are_sent_again),
        cmocka_unit_test(a_frame_that_comes_twice_counts_once),
        cmocka_unit_test(a_gap_is_refused),
        cmocka_unit_test(the_other_side_cannot_acknowledge_what_was_never_sent),
        cmocka_unit_test(nor_take_back_what_it_acknowledged),
        cmocka_unit_test(no_more_is_kept_than_the_limit_and_one_frame_always_fits),
        cmocka_unit_test(much_that_was_received_is_acknowledged_at_once),
        cmocka_unit_test(silence_makes_suspect_then_lost_and_a_word_brings_back),
        cmocka_unit_test(broken_frames_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
