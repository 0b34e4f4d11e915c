// Tests of fetching: real files and sockets on one loop, and answers that are wrong.

#include "transport/fetch_client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "sys/file/file.h"
#include "sys/loop/loop.h"
#include "transport/fetch_files.h"
#include "transport/fetch_intake.h"
#include "transport/fetch_serve.h"
#include "transport/hub.h"

static const struct secret token = {.bytes = "0123456789abcdef", .size = 16};

enum { SIZE = 5 << 20, FILE_ID = 42, SHORT_ID = 43, RESULTS_MAX = 2000 };

struct request {
    struct scene *scene;
    weft_err code;
    int end_count;
};

struct scene {
    struct loop *loop;
    struct net_listener listener;
    struct hub *hub;
    struct fetch_files *files;
    struct fetch_client *client;
    int source_fd, target_fd;
    size_t wanted, ended;
    struct request requests[RESULTS_MAX];
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

static void on_done(void *owner, weft_err code)
{
    struct request *request = owner;
    struct scene *scene = request->scene;
    request->code = code;
    request->end_count++;
    if (code)
        snprintf(scene->sentence, sizeof scene->sentence, "%s", err_text());
    if (++scene->ended == scene->wanted)
        loop_stop(scene->loop);
}

static void give_up(void *owner)
{
    struct scene *scene = owner;
    scene->is_late = true;
    loop_stop(scene->loop);
}

static void start(struct scene *scene, bool has_tls)
{
    static const struct hub_calls calls = {.joined = refuse};
    *scene = (struct scene){.loop = loop_new(NULL, NULL), .files = fetch_files_new()};
    assert_int_equal(file_create_nameless(".", &scene->source_fd), WEFT_OK);
    assert_int_equal(file_create_nameless(".", &scene->target_fd), WEFT_OK);
    char *bytes = malloc(SIZE);
    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = content(i);
    assert_int_equal(file_write_at(scene->source_fd, "source", bytes, SIZE, 0), WEFT_OK);
    free(bytes);
    struct fetch_file file = {
        .id = SHORT_ID, .fd = scene->source_fd, .size = SIZE + 100, .name = "a short file"};
    assert_int_equal(fetch_files_add(scene->files, &file), WEFT_OK);
    file =
        (struct fetch_file){.id = FILE_ID, .fd = scene->source_fd, .size = SIZE, .name = "a file"};
    assert_int_equal(fetch_files_add(scene->files, &file), WEFT_OK);
    assert_int_equal(net_listen(&(struct net_address){.host = ""}, &scene->listener), WEFT_OK);
    scene->hub = hub_new(&(struct hub_options){.loop = scene->loop,
                                               .listener = &scene->listener,
                                               .token = &token,
                                               .name = "",
                                               .calls = &calls,
                                               .files = scene->files});
    struct fetch_client_options options = {.loop = scene->loop,
                                           .address = {.port = scene->listener.port},
                                           .token = &token,
                                           .name = "tester",
                                           .window_bytes = 300000,
                                           .patience_ms = 1000};
    strcpy(options.address.host, has_tls ? "127.0.0.9" : "127.0.0.1");
    scene->client = fetch_client_new(&options);
    assert_non_null(scene->client);
}

static void end(struct scene *scene)
{
    fetch_client_free(scene->client);
    hub_free(scene->hub);
    fetch_files_free(scene->files);
    net_listener_close(&scene->listener);
    loop_free(scene->loop);
    file_close(scene->source_fd);
    file_close(scene->target_fd);
    err_clear();
}

static void get_into(struct scene *scene, int fd, uint64_t file, uint64_t offset, uint64_t size,
                     uint64_t to)
{
    struct request *request = &scene->requests[scene->wanted++];
    *request = (struct request){.scene = scene};
    const struct fetch_wanted wanted = {.file = file,
                                        .offset = offset,
                                        .size = size,
                                        .fd = fd,
                                        .to_offset = to,
                                        .path = "the target",
                                        .done = on_done,
                                        .owner = request};
    assert_int_equal(fetch_client_get(scene->client, &wanted), WEFT_OK);
}

static void get(struct scene *scene, uint64_t file, uint64_t offset, uint64_t size, uint64_t to)
{
    get_into(scene, scene->target_fd, file, offset, size, to);
}

static void run_until_ended(struct scene *scene)
{
    struct loop_timer *limit = loop_timer_new(scene->loop, 20000, 0, give_up, scene);
    loop_run(scene->loop);
    loop_timer_free(limit);
    assert_false(scene->is_late);
}

static void run(struct scene *scene)
{
    run_until_ended(scene);
    assert_int_equal(fetch_client_pending(scene->client), 0);
}

static void check_target(const struct scene *scene, uint64_t to, uint64_t offset, size_t size)
{
    char *bytes = malloc(size + 1);
    size_t got = 0;
    assert_int_equal(file_read_at(scene->target_fd, "target", bytes, size, to, &got), WEFT_OK);
    assert_int_equal(got, size);
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != content(offset + i))
            fail_msg("byte %zu is wrong", i);
    free(bytes);
}

static void fetch_stretches(bool has_tls)
{
    struct scene scene;
    start(&scene, has_tls);
    get(&scene, FILE_ID, 0, SIZE, 0);
    get(&scene, FILE_ID, 0, 0, 0);
    get(&scene, FILE_ID, 1234567, 345678, SIZE + 100);
    get(&scene, FILE_ID, SIZE - 1, 1, SIZE + 1000000);
    run(&scene);
    for (size_t i = 0; i < scene.wanted; i++)
        assert_int_equal(scene.requests[i].code, WEFT_OK);
    check_target(&scene, 0, 0, SIZE);
    check_target(&scene, SIZE + 100, 1234567, 345678);
    check_target(&scene, SIZE + 1000000, SIZE - 1, 1);
    end(&scene);
}

static void stretches_land_where_they_should(void **state)
{
    (void)state;
    fetch_stretches(false);
}

static void stretches_land_where_they_should_through_tls(void **state)
{
    (void)state;
    fetch_stretches(true);
}

static void more_requests_than_may_be_under_way_are_sent_in_turns(void **state)
{
    (void)state;
    struct scene scene;
    start(&scene, false);
    for (uint64_t i = 0; i < RESULTS_MAX; i++)
        get(&scene, FILE_ID, i * 1000, 900, i * 1000);
    run(&scene);
    for (size_t i = 0; i < RESULTS_MAX; i++) {
        assert_int_equal(scene.requests[i].code, WEFT_OK);
        check_target(&scene, i * 1000, i * 1000, 900);
    }
    end(&scene);
}

static void a_request_that_fails_harms_no_other(void **state)
{
    (void)state;
    struct scene scene;
    start(&scene, false);
    get(&scene, FILE_ID, 0, 500000, 0);
    get(&scene, 7, 0, 100, 600000);                        // there is no such file
    get(&scene, FILE_ID, SIZE - 10, 11, 600000);           // it ends before
    get(&scene, SHORT_ID, SIZE - 400000, 400100, 600000);  // it is shorter than it should be
    get(&scene, FILE_ID, UINT64_MAX, 2, 600000);
    get(&scene, FILE_ID, 1000, 1000, 1200000);
    run(&scene);
    const weft_err codes[] = {WEFT_OK,        WEFT_NOT_FOUND,    WEFT_OUT_OF_RANGE,
                              WEFT_DATA_LOSS, WEFT_OUT_OF_RANGE, WEFT_OK};
    for (size_t i = 0; i < scene.wanted; i++)
        assert_int_equal(scene.requests[i].code, codes[i]);
    check_target(&scene, 0, 0, 500000);
    check_target(&scene, 1200000, 1000, 1000);
    end(&scene);
}

static void a_file_that_is_removed_is_not_found(void **state)
{
    (void)state;
    struct scene scene;
    start(&scene, false);
    fetch_files_remove(scene.files, FILE_ID);
    fetch_files_remove(scene.files, FILE_ID);
    get(&scene, FILE_ID, 0, 1, 0);
    get(&scene, SHORT_ID, 0, 1, 0);
    run(&scene);
    assert_int_equal(scene.requests[0].code, WEFT_NOT_FOUND);
    assert_int_equal(scene.requests[1].code, WEFT_OK);
    end(&scene);
}

static void a_file_that_cannot_be_written_fails_its_requests_only(void **state)
{
    (void)state;
    struct scene scene;
    start(&scene, false);
    int full = -1;
    if (file_open("/dev/null", &full))  // open for reading only
        skip();
    get_into(&scene, full, FILE_ID, 0, 700000, 0);
    get(&scene, FILE_ID, 0, 1000, 0);
    run(&scene);
    assert_int_not_equal(scene.requests[0].code, WEFT_OK);
    assert_non_null(strstr(scene.sentence, "cannot write the target"));
    assert_int_equal(scene.requests[1].code, WEFT_OK);
    file_close(full);
    end(&scene);
}

static void a_server_that_is_gone_fails_requests_and_the_next_ones_work(void **state)
{
    (void)state;
    struct scene scene;
    start(&scene, true);
    const struct net_listener listener = scene.listener;
    hub_free(scene.hub);
    scene.hub = NULL;
    get(&scene, FILE_ID, 0, 1000, 0);
    run(&scene);
    assert_int_equal(scene.requests[0].code, WEFT_UNAVAILABLE);
    assert_non_null(strstr(scene.sentence, "nothing arrived for 1 s"));
    static const struct hub_calls calls = {.joined = refuse};
    scene.hub = hub_new(&(struct hub_options){.loop = scene.loop,
                                              .listener = &listener,
                                              .token = &token,
                                              .name = "",
                                              .calls = &calls,
                                              .files = scene.files});
    get(&scene, FILE_ID, 0, 1000, 0);
    run(&scene);
    assert_int_equal(scene.requests[1].code, WEFT_OK);
    end(&scene);
}

static void forgotten_requests_write_nothing_and_harm_no_other(void **state)
{
    (void)state;
    struct scene scene;
    start(&scene, true);
    get(&scene, FILE_ID, 0, 500000, 0);           // ends
    get(&scene, FILE_ID, 500000, 2000000, SIZE);  // forgotten while it arrives
    get(&scene, FILE_ID, 0, 100000, SIZE);        // forgotten before it has begun
    get(&scene, FILE_ID, 700000, 1000, 700000);
    scene.wanted = 1;
    run_until_ended(&scene);
    fetch_client_forget(scene.client, &scene.requests[1]);
    fetch_client_forget(scene.client, &scene.requests[1]);
    fetch_client_forget(scene.client, &scene.requests[2]);
    assert_int_equal(fetch_client_pending(scene.client), 1);
    struct file_stat before, after;
    assert_int_equal(file_stat_fd(scene.target_fd, "target", &before), WEFT_OK);
    scene.wanted = 2;
    run(&scene);
    assert_int_equal(file_stat_fd(scene.target_fd, "target", &after), WEFT_OK);
    if (before.size > SIZE)
        assert_int_equal(after.size, before.size);
    else
        assert_in_range(after.size, 701000, SIZE);
    assert_int_equal(scene.requests[1].end_count + scene.requests[2].end_count, 0);
    check_target(&scene, 700000, 700000, 1000);
    scene.wanted = 4;
    get(&scene, FILE_ID, 0, 1000, 0);
    scene.wanted = 3;
    run(&scene);
    check_target(&scene, 0, 0, 1000);
    end(&scene);
}

static void requests_are_forgotten_without_a_connection_too(void **state)
{
    (void)state;
    struct scene scene;
    start(&scene, true);
    hub_free(scene.hub);
    scene.hub = NULL;
    get(&scene, FILE_ID, 0, 1000, 0);
    get(&scene, FILE_ID, 0, 1000, 0);
    fetch_client_forget(scene.client, &scene.requests[0]);
    scene.wanted = 1;
    run(&scene);
    assert_int_equal(scene.requests[0].end_count, 0);
    assert_int_equal(scene.requests[1].code, WEFT_UNAVAILABLE);
    end(&scene);
}

// ---- Answers and requests as bytes ---------------------------------------------------------------------------

struct heard {
    size_t bytes;
    int blocks, sound, unsound, failures;
};

static weft_err hear_block(void *owner, const struct fetch_block *block, size_t size)
{
    struct heard *heard = owner;
    (void)block, (void)size;
    heard->blocks++;
    return WEFT_OK;
}

static void hear_data(void *owner, weft_bytes bytes)
{
    ((struct heard *)owner)->bytes += bytes.size;
}

static void hear_checked(void *owner, bool is_sound)
{
    struct heard *heard = owner;
    heard->sound += is_sound;
    heard->unsound += !is_sound;
}

static weft_err hear_failed(void *owner, uint64_t request, weft_err code, const char *sentence)
{
    struct heard *heard = owner;
    heard->failures += request == 2 && code == WEFT_NOT_FOUND && strstr(sentence, "no file 9");
    return WEFT_OK;
}

// The answers to a request of 400,000 bytes and to one that fails.
static void make_answers(struct buf *out, int fd, struct fetch_files *files)
{
    struct fetch_serve serve = {.files = files};
    const struct fetch_request requests[] = {{1, FILE_ID, 100, 400000}, {2, 9, 0, 1}};
    const uint64_t credit = 1 << 20;
    assert_int_equal(
        fetch_files_add(files, &(struct fetch_file){.id = FILE_ID, .fd = fd, .size = SIZE}),
        WEFT_OK);
    for (int i = 0; i < 2; i++) {
        const struct frame frame = {.type = WEFT__FRAME_TYPE__FRAME_FETCH,
                                    .payload = {(const char *)&requests[i], sizeof requests[i]}};
        assert_int_equal(fetch_serve_receive(&serve, &frame), WEFT_OK);
    }
    fetch_serve_put(&serve, out, SIZE_MAX);
    assert_int_equal(out->size, 0);  // without credit nothing goes
    const struct frame frame = {.type = WEFT__FRAME_TYPE__FRAME_FETCH_CREDIT,
                                .payload = {(const char *)&credit, sizeof credit}};
    assert_int_equal(fetch_serve_receive(&serve, &frame), WEFT_OK);
    fetch_serve_put(&serve, out, SIZE_MAX);
    assert_false(fetch_serve_has_more(&serve));
    fetch_serve_fini(&serve);
}

static void answers_are_read_whatever_the_pieces_and_a_changed_bit_is_found(void **state)
{
    (void)state;
    static const struct fetch_intake_calls calls = {hear_block, hear_data, hear_checked,
                                                    hear_failed};
    struct scene scene;
    struct buf answers = {0};
    struct fetch_files *files = fetch_files_new();
    start(&scene, false);
    make_answers(&answers, scene.source_fd, files);
    for (int is_changed = 0; is_changed < 2; is_changed++) {
        if (is_changed)
            answers.data[300000] ^= 4;
        for (size_t piece = 1; piece <= answers.size; piece = piece * 7 + 1) {
            struct heard heard = {0};
            struct fetch_intake *intake = fetch_intake_new(&calls, &heard);
            for (size_t at = 0; at < answers.size; at += piece) {
                const size_t left = answers.size - at;
                const weft_bytes bytes = {answers.data + at, left < piece ? left : piece};
                assert_int_equal(fetch_intake_receive(intake, bytes), WEFT_OK);
            }
            fetch_intake_free(intake);
            assert_int_equal(heard.bytes, 400000);
            assert_int_equal(heard.blocks, 2);
            assert_int_equal(heard.unsound, is_changed);
            assert_int_equal(heard.failures, 1);
        }
    }
    fetch_files_free(files);
    buf_fini(&answers);
    end(&scene);
}

// A file that begins with that many equal bytes, and shrinks by them only.
static void serve_packed(size_t equal_bytes, struct buf *out)
{
    struct fetch_files *files = fetch_files_new();
    struct fetch_serve serve = {.files = files, .pack = {.packing = FETCH_PACK_ALWAYS}};
    const struct fetch_request request = {1, FILE_ID, 0, FETCH_BLOCK_BYTES};
    struct frame frame = {.type = WEFT__FRAME_TYPE__FRAME_FETCH,
                          .payload = {(const char *)&request, sizeof request}};
    char *bytes = calloc(1, FETCH_BLOCK_BYTES);
    uint64_t number = 1;
    int fd = -1;
    for (size_t i = equal_bytes; i < FETCH_BLOCK_BYTES; i++) {
        number = number * 6364136223846793005u + 1442695040888963407u;
        bytes[i] = (char)(number >> 56);
    }
    assert_int_equal(file_create_nameless(".", &fd), WEFT_OK);
    assert_int_equal(file_write_at(fd, "source", bytes, FETCH_BLOCK_BYTES, 0), WEFT_OK);
    assert_int_equal(
        fetch_files_add(files,
                        &(struct fetch_file){.id = FILE_ID, .fd = fd, .size = FETCH_BLOCK_BYTES}),
        WEFT_OK);
    assert_int_equal(fetch_serve_receive(&serve, &frame), WEFT_OK);
    frame = (struct frame){.type = WEFT__FRAME_TYPE__FRAME_FETCH_CREDIT,
                           .payload = {(const char *)&request.size, 8}};
    assert_int_equal(fetch_serve_receive(&serve, &frame), WEFT_OK);
    fetch_serve_put(&serve, out, SIZE_MAX);
    fetch_serve_fini(&serve);
    fetch_files_free(files);
    file_close(fd);
    free(bytes);
}

static void a_block_that_shrinks_by_a_byte_arrives(void **state)
{
    (void)state;
    static const struct fetch_intake_calls calls = {hear_block, hear_data, hear_checked,
                                                    hear_failed};
    const size_t plain = FRAME_HEADER_BYTES + FETCH_BLOCK_HEAD_BYTES + FETCH_BLOCK_BYTES;
    int packed_count = 0, plain_count = 0;
    for (size_t equal = 1000; equal < 1100; equal++) {
        struct buf answer = {0};
        struct heard heard = {0};
        struct fetch_intake *intake = fetch_intake_new(&calls, &heard);
        serve_packed(equal, &answer);
        assert_in_range(answer.size, 1, plain);  // never longer than without compressing
        packed_count += answer.data[4] == WEFT__FRAME_TYPE__FRAME_FETCH_PACKED;
        plain_count += answer.data[4] == WEFT__FRAME_TYPE__FRAME_FETCH_BLOCK;
        assert_int_equal(fetch_intake_receive(intake, buf_bytes(&answer)), WEFT_OK);
        assert_int_equal(heard.bytes, FETCH_BLOCK_BYTES);
        assert_int_equal(heard.sound, 1);
        fetch_intake_free(intake);
        buf_fini(&answer);
    }
    assert_in_range(packed_count, 10, 90);
    assert_int_equal(packed_count + plain_count, 100);
}

static void a_client_that_breaks_the_rules_is_noticed(void **state)
{
    (void)state;
    static const char bytes[FETCH_REQUEST_BYTES];
    struct fetch_files *files = fetch_files_new();
    struct fetch_serve serve = {.files = files};
    struct frame frame = {.type = WEFT__FRAME_TYPE__FRAME_CALLS, .payload = {bytes, 32}};
    assert_int_equal(fetch_serve_receive(&serve, &frame), WEFT_DATA_LOSS);
    frame = (struct frame){.type = WEFT__FRAME_TYPE__FRAME_FETCH, .payload = {bytes, 31}};
    assert_int_equal(fetch_serve_receive(&serve, &frame), WEFT_DATA_LOSS);
    frame.payload.size = 32;
    for (int i = 0; i < FETCH_REQUESTS_MAX; i++)
        assert_int_equal(fetch_serve_receive(&serve, &frame), WEFT_OK);
    assert_int_equal(fetch_serve_receive(&serve, &frame), WEFT_RESOURCE_EXHAUSTED);
    const uint64_t credit = UINT64_MAX;
    frame = (struct frame){.type = WEFT__FRAME_TYPE__FRAME_FETCH_CREDIT,
                           .payload = {(const char *)&credit, 8}};
    assert_int_equal(fetch_serve_receive(&serve, &frame), WEFT_OK);
    assert_int_equal(fetch_serve_receive(&serve, &frame), WEFT_DATA_LOSS);
    fetch_serve_fini(&serve);
    fetch_files_free(files);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stretches_land_where_they_should),
        cmocka_unit_test(stretches_land_where_they_should_through_tls),
        cmocka_unit_test(more_requests_than_may_be_under_way_are_sent_in_turns),
        cmocka_unit_test(a_request_that_fails_harms_no_other),
        cmocka_unit_test(a_file_that_is_removed_is_not_found),
        cmocka_unit_test(a_file_that_cannot_be_written_fails_its_requests_only),
        cmocka_unit_test(a_server_that_is_gone_fails_requests_and_the_next_ones_work),
        cmocka_unit_test(forgotten_requests_write_nothing_and_harm_no_other),
        cmocka_unit_test(requests_are_forgotten_without_a_connection_too),
        cmocka_unit_test(answers_are_read_whatever_the_pieces_and_a_changed_bit_is_found),
        cmocka_unit_test(a_block_that_shrinks_by_a_byte_arrives),
        cmocka_unit_test(a_client_that_breaks_the_rules_is_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
