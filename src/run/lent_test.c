// Jobs whose inputs are lent give the same bytes as jobs that read them. The driver and the worker with its threads are the real ones. Between them stands a
// process that plays the agent of another machine: it gives the worker files with holes instead of the inputs, and fills them when the
// worker asks, in small pieces, late and out of order.

#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/sanitized.h"
#include "base/vec.h"
#include "run/answers.h"
#include "run/driver/agent/worker_process.h"
#include "run/driver/driver.h"
#include "store/codec/codec_testing.h"
#include "sys/file/folder_testing.h"
#include "wire/messages.h"

enum {
    PIECE_BYTES = 200000,
    SMALL_FILES = 1000,
    DESCRIPTORS_MAX = 300,  // more files with holes get names
    TEXT_BYTES = IS_SANITIZED ? 6 << 20 : 50 << 20,
};

// ---- The lender: between driver and worker ------------------------------------------------------------------

struct lender {
    int driver_fd, worker_fd;
    Weft__JobStart *start;  // as the worker has it
    char **originals;       // paths
    int *holes;             // descriptors
    VEC(Weft__Need *) needs;
    uint64_t filled;  // of the one at hand, which is the last
    uint32_t need_count;
    uint32_t fails_every;  // that many needs; 0: none
};

// Its end is the worker's: the test sees a job that fails.
static _Noreturn void give_up(const char *what)
{
    fprintf(stderr, "lender: %s: %s\n", what, err_text());
    _exit(9);
}

// Returns its descriptor, or -1: it has a name.
static int make_hole(uint32_t number, uint64_t size, char *path, size_t path_size)
{
    int fd;
    snprintf(path, path_size, "%s/hole-%d-%u", getenv("WEFT_TEST_FOLDER"), (int)getpid(), number);
    const bool has_name = number >= DESCRIPTORS_MAX;
    if ((has_name ? file_create(path, &fd) : file_create_nameless("/tmp", &fd)) ||
        file_truncate(fd, path, size))
        give_up("hole");
    if (has_name)
        file_close(fd);
    else
        snprintf(path, path_size, "/proc/%d/fd/%d", (int)getpid(), fd);
    return has_name ? -1 : fd;
}

// The worker gets another file, which does not have the date that the driver has seen.
static void lend_inputs(struct lender *lender, const struct frame *frame)
{
    Weft__JobStart *start;
    if (message_unpack(frame, &weft__job_start__descriptor, &start))
        give_up("job");
    lender->start = start;
    lender->originals = calloc(start->n_inputs + 1, sizeof *lender->originals);
    lender->holes = calloc(start->n_inputs + 1, sizeof *lender->holes);
    for (uint32_t i = 0; i < start->n_inputs; i++) {
        Weft__Input *input = start->inputs[i];
        struct file_stat status;
        char path[512];
        lender->originals[i] = strdup(input->path[0] ? input->path : input->name);
        if (file_stat(lender->originals[i], &status))
            give_up("input");
        lender->holes[i] = make_hole(i, status.size, path, sizeof path);
        input->is_lent = true;
        input->path = strdup(path);
    }
    if (message_send(lender->worker_fd, WEFT__FRAME_TYPE__FRAME_JOB_START, &start->base))
        _exit(0);
}

static void answer(struct lender *lender, const Weft__Need *need, weft_err code)
{
    Weft__Lent lent = WEFT__LENT__INIT;
    lent.input = need->input;
    lent.offset = need->offset;
    lent.size = need->size;
    lent.code = (uint32_t)code;
    lent.text = (char *)(code ? "the server is out of reach" : "");
    if (message_send(lender->worker_fd, WEFT__FRAME_TYPE__FRAME_LENT, &lent.base))
        _exit(0);
}

static void take_need(struct lender *lender, const struct frame *frame)
{
    Weft__Need *need;
    if (message_unpack(frame, &weft__need__descriptor, &need) ||
        answer_check_need(need, lender->start))
        give_up("need");
    lender->need_count++;
    if (lender->fails_every && lender->need_count % lender->fails_every == 0) {
        answer(lender, need, WEFT_UNAVAILABLE);
        message_free(need);
        return;
    }
    // Older ones wait longer; the one at hand stays the last.
    if (!VEC_PUSH(&lender->needs, need))
        give_up("memory");
    const size_t count = lender->needs.count;
    if (count > 1) {
        lender->needs.items[count - 1] = lender->needs.items[count - 2];
        lender->needs.items[count - 2] = need;
    }
}

static void copy_piece(struct lender *lender)
{
    static char room[PIECE_BYTES];
    Weft__Need *need = lender->needs.items[lender->needs.count - 1];
    const char *hole = lender->start->inputs[need->input]->path;
    const uint64_t at = need->offset + lender->filled, left = need->size - lender->filled;
    const size_t size = left < sizeof room ? (size_t)left : sizeof room;
    size_t got = 0;
    int from, to = lender->holes[need->input];
    const bool has_name = to < 0;
    if (file_open(lender->originals[need->input], &from) ||
        file_read_at(from, "original", room, size, at, &got) ||
        (has_name && file_open_kept(hole, &to)) || file_write_at(to, hole, room, size, at) ||
        got < size)
        give_up("copy");
    file_close(from);
    if (has_name)
        file_close(to);
    lender->filled += size;
    if (lender->filled < need->size)
        return;
    answer(lender, need, WEFT_OK);
    message_free(need);
    lender->needs.count--;
    lender->filled = 0;
}

static void pass_on(struct lender *lender, struct frame *frame, bool is_from_driver)
{
    const int from = is_from_driver ? lender->driver_fd : lender->worker_fd;
    const int to = is_from_driver ? lender->worker_fd : lender->driver_fd;
    if (frame_receive(from, frame))
        _exit(0);  // one of them has ended, and the other notices
    if (frame->type == WEFT__FRAME_TYPE__FRAME_JOB_START && is_from_driver)
        lend_inputs(lender, frame);
    else if (frame->type == WEFT__FRAME_TYPE__FRAME_NEED && !is_from_driver)
        take_need(lender, frame);
    else if (frame_send(to, frame->type, frame->payload.data, frame->payload.size))
        _exit(0);
}

static _Noreturn void run_lender(int driver_fd, int worker_fd)
{
    struct lender lender = {.driver_fd = driver_fd,
                            .worker_fd = worker_fd,
                            .fails_every = (uint32_t)atoi(getenv("WEFT_TEST_LEND"))};
    struct frame frame = {0};
    signal(SIGPIPE, SIG_IGN);
    for (;;) {
        struct pollfd ready[] = {{.fd = driver_fd, .events = POLLIN},
                                 {.fd = worker_fd, .events = POLLIN}};
        poll(ready, 2, lender.needs.count ? 1 : -1);
        if (ready[0].revents)
            pass_on(&lender, &frame, true);
        if (ready[1].revents)
            pass_on(&lender, &frame, false);
        if (lender.needs.count)
            copy_piece(&lender);
    }
}

// The driver knows this process as the worker, so the lender is the one that is new.
static void put_lender_between(void)
{
    int driver_fd, page_fd, sockets[2];
    if (!getenv(WORKER_VARIABLE) || !getenv("WEFT_TEST_LEND"))
        return;
    if (sscanf(getenv(WORKER_VARIABLE), "%d:%d", &driver_fd, &page_fd) != 2 ||
        socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
        _exit(9);
    if (fork() == 0) {
        close(sockets[0]);
        run_lender(driver_fd, sockets[1]);
    }
    close(sockets[1]);
    dup2(sockets[0], driver_fd);
    close(sockets[0]);
}

// ---- Jobs ---------------------------------------------------------------------------------------------------

static void map_words(weft_task *task, weft_bytes record)
{
    weft_emit_words(task, record);
}

// The number of the record shows whether all rows before it were counted, and the column needs the header.
static void map_rows(weft_task *task, weft_bytes record)
{
    weft_bytes fields[4];
    const size_t count = weft_csv_fields(task, record, fields, 4);
    const size_t column = weft_csv_column(task, "color");
    char key[100];
    const int size = snprintf(
        key, sizeof key, "%zu %.*s %u", count, column < count ? (int)fields[column].size : 0,
        column < count ? fields[column].data : "", (unsigned)weft_input_record(task) % 50);
    weft_emit_int(task, (weft_bytes){key, (size_t)size}, 1);
}

static const weft_job words = {.name = "words", .map = map_words, .reduce = weft_sum};
static const weft_job rows = {.name = "rows", .map = map_rows, .reduce = weft_sum};
static const weft_job *const jobs[] = {&words, &rows, NULL};

struct test_run {
    const weft_job *job;
    const char *input, *format;
    uint32_t slots, workers;
};

static weft_err try_job(const struct test_run *run, const char *output, const char *lends)
{
    const char *const inputs[] = {run->input, NULL};
    const weft_options api = {.inputs = inputs,
                              .output = output,
                              .force = true,
                              .slots = run->slots,
                              .memory_bytes = 64 << 20,
                              .max_attempts = 2,
                              .tmp = testing_folder,
                              .format = run->format};
    struct run_options options;
    struct driver *driver = NULL;
    if (lends)
        setenv("WEFT_TEST_LEND", lends, 1);
    else
        unsetenv("WEFT_TEST_LEND");
    setenv("WEFT_TEST_FOLDER", testing_folder, 1);
    weft_err code = options_from_api(&options, run->job, &api);
    options.workers = run->workers;
    options.lends_inputs = lends;
    if (!code)
        code = options_complete(&options);
    if (!code)
        code = driver_new(&driver, &(struct driver_spec){.job = run->job, .options = &options});
    if (!code)
        code = driver_run(driver);
    driver_free(driver);
    options_fini(&options);
    return code;
}

static void run_job(const struct test_run *run, const char *output, const char *lends)
{
    if (try_job(run, output, lends))
        fail_msg("%s", err_text());
}

static void read_file(const char *path, struct buf *text)
{
    int fd;
    assert_int_equal(file_open(path, &fd), WEFT_OK);
    assert_int_equal(file_read_all(fd, path, SIZE_MAX, text), WEFT_OK);
    file_close(fd);
}

static void compare(const struct test_run *run, const char *lends)
{
    struct buf plain = {0}, lent = {0};
    run_job(run, testing_path("plain"), NULL);
    run_job(run, testing_path("lent"), lends);
    read_file(testing_path("plain"), &plain);
    read_file(testing_path("lent"), &lent);
    assert_true(plain.size > 0);
    testing_assert_same(&lent, buf_bytes(&plain));
    buf_fini(&plain);
    buf_fini(&lent);
}

static void write_file(const char *name, const struct buf *text)
{
    int fd;
    const char *path = testing_path(name);
    assert_false(text->has_failed);
    assert_int_equal(file_create(path, &fd), WEFT_OK);
    assert_int_equal(file_write_at(fd, path, text->data, text->size, 0), WEFT_OK);
    file_close(fd);
}

// ---- The tests ----------------------------------------------------------------------------------------------

static void a_large_text(void **state)
{
    (void)state;
    struct buf text = {0};
    testing_append_text(&text, TEXT_BYTES);
    write_file("text", &text);
    buf_fini(&text);
    compare(&(struct test_run){&words, testing_path("text"), NULL, 3, 1}, "0");
    compare(&(struct test_run){&words, testing_path("text"), NULL, 2, 2}, "0");
}

static void a_lender_that_is_out_of_reach_now_and_then_is_not_the_fault_of_a_task(void **state)
{
    (void)state;
    struct buf text = {0};
    testing_append_text(&text, TEXT_BYTES / 4);
    write_file("text", &text);
    buf_fini(&text);
    compare(&(struct test_run){&words, testing_path("text"), NULL, 3, 1}, "3");
    compare(&(struct test_run){&words, testing_path("text"), NULL, 2, 2}, "5");
}

static void a_lender_that_is_out_of_reach_for_good_ends_the_job(void **state)
{
    (void)state;
    struct buf text = {0};
    testing_append_text(&text, 3 << 20);
    write_file("text", &text);
    buf_fini(&text);
    const struct test_run run = {&words, testing_path("text"), NULL, 2, 2};
    assert_int_equal(try_job(&run, testing_path("lent"), "1"), WEFT_UNAVAILABLE);
    assert_non_null(strstr(err_text(), "the server is out of reach"));
    assert_non_null(strstr(err_text(), "attempts in a row lacked input"));
    err_clear();
}

static void compressed_files(void **state)
{
    (void)state;
    static const enum codec_kind kinds[] = {CODEC_GZIP, CODEC_ZSTD, CODEC_LZ4, CODEC_BZIP2,
                                            CODEC_XZ};
    struct buf text = {0}, packed = {0};
    testing_append_text(&text, 5 << 20);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        packed.size = 0;
        const bool is_slow = kinds[i] == CODEC_BZIP2 || kinds[i] == CODEC_XZ;
        const weft_bytes some = {text.data, is_slow ? 300000 : text.size};
        assert_int_equal(codec_compress(kinds[i], some, &packed), WEFT_OK);
        write_file("packed", &packed);
        compare(&(struct test_run){&words, testing_path("packed"), NULL, 2, 1}, "0");
    }
    packed.size = 0;
    testing_append_bgzip(&packed, buf_bytes(&text), 60000);
    write_file("packed", &packed);
    compare(&(struct test_run){&words, testing_path("packed"), NULL, 3, 1}, "0");
    compare(&(struct test_run){&words, testing_path("packed"), NULL, 2, 1}, "3");
    buf_fini(&text);
    buf_fini(&packed);
}

static void rows_with_quoted_line_ends(void **state)
{
    (void)state;
    struct buf text = {0};
    buf_format(&text, "number,color,text\n");
    for (unsigned i = 0; text.size < 6 << 20; i++)
        buf_format(&text, "%u,\"color\n%u\",\"a \"\"text\"\",\n\nof %u lines\"\n", i, i % 7, i % 5);
    write_file("rows.csv", &text);
    buf_fini(&text);
    compare(&(struct test_run){&rows, testing_path("rows.csv"), "csv:header", 3, 1}, "0");
    compare(&(struct test_run){&rows, testing_path("rows.csv"), "csv:header", 2, 2}, "0");
    compare(&(struct test_run){&rows, testing_path("rows.csv"), "csv:header", 2, 1}, "4");
}

static void many_small_files(void **state)
{
    (void)state;
    struct buf text = {0};
    char name[64];
    assert_int_equal(file_make_directory(testing_path("many")), WEFT_OK);
    for (unsigned i = 0; i < (IS_SANITIZED ? SMALL_FILES / 2 : SMALL_FILES); i++) {
        text.size = 0;
        testing_append_text(&text, i % 50 ? i * 7 % 3000 : 0);
        buf_format(&text, "\nfile %u\n", i);
        snprintf(name, sizeof name, "many/%04u", i);
        write_file(name, &text);
    }
    buf_fini(&text);
    compare(&(struct test_run){&words, testing_path("many"), NULL, 2, 1}, "0");
    compare(&(struct test_run){&words, testing_path("many"), NULL, 2, 2}, "0");
}

int main(int argc, char **argv)
{
    put_lender_between();
    weft_start(argc, argv, jobs);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_large_text),
        cmocka_unit_test(a_lender_that_is_out_of_reach_now_and_then_is_not_the_fault_of_a_task),
        cmocka_unit_test(a_lender_that_is_out_of_reach_for_good_ends_the_job),
        cmocka_unit_test(compressed_files),
        cmocka_unit_test(rows_with_quoted_line_ends),
        cmocka_unit_test(many_small_files),
    };
    return cmocka_run_group_tests(tests, testing_make_folder, testing_remove_folder);
}
