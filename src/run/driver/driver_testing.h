// A worker that does no work, for the tests of the driver: it speaks frames, and misbehaves as the
// environment says. The length of a file shows it how often one was started. Only driver_test.c
// includes it, after the system's headers.
#ifndef RUN_DRIVER_DRIVER_TESTING_H
#define RUN_DRIVER_DRIVER_TESTING_H

#include "run/driver/agent/worker_process.h"
#include "sys/time/clock.h"

enum { PIECE_BYTES = 9 };  // "piece 07\n"

static char folder[] = "/tmp/weft-driver-XXXXXX";

// A file of the test's folder; good for three more calls.
static const char *path_of(const char *name)
{
    static char paths[4][256];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

struct fake {
    int fd;
    struct worker_page *page;
    const char *what;  // how to misbehave
    unsigned life;     // how often a worker was started before this one
    Weft__StageOpen *open;
    uint32_t held[SLOTS_MAX][64], held_count[SLOTS_MAX];
    unsigned reduced;
};

static bool is_told(const struct fake *fake, const char *what)
{
    return strcmp(fake->what, what) == 0;
}

static void tell(struct fake *fake, Weft__FrameType type, const ProtobufCMessage *message)
{
    if (message_send(fake->fd, type, message) != WEFT_OK)
        _exit(9);
}

static void log_line(const char *format, ...)
{
    char line[256];
    va_list args;
    va_start(args, format);
    const int size = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    const int fd = open(path_of("log"), O_WRONLY | O_APPEND | O_CREAT, 0666);
    if (write(fd, line, (size_t)size) != size)
        _exit(9);
    close(fd);
}

// As a slot does when its attempt begins, at byte 42 of the first input.
static void begin_in_page(struct fake *fake, const Weft__TaskRun *run, int crash_signal)
{
    struct slot_page *slot = &fake->page->slots[run->slot];
    slot->stage = run->stage;
    slot->kind = (uint32_t)run->kind;
    slot->task = run->task;
    slot->attempt = run->attempt;
    slot->input_index = 0;
    slot->input_offset = 42;
    slot->begun_ns = clock_now_ns();
    slot->crash_signal = crash_signal;
    slot->attempt_serial++;
}

static void end_task(struct fake *fake, const Weft__TaskRun *run, uint32_t attempt, weft_err code,
                     bool is_final)
{
    ProtobufCBinaryData key = message_bytes(weft_text("key"));
    Weft__Counter counter = WEFT__COUNTER__INIT, *counters[] = {&counter};
    Weft__TaskEnd end = WEFT__TASK_END__INIT;
    counter.name = run->kind == WEFT__TASK_KIND__TASK_MAP ? "maps" : "others";
    counter.value = 1;
    end.stage = run->stage;
    end.kind = run->kind;
    end.task = run->task;
    end.attempt = attempt;
    end.slot = run->slot;
    end.code = code;
    end.text = code ? "the moon is full" : end.text;
    end.is_final = is_final;
    end.records_in = 1;
    end.bytes_in = 10;
    end.n_counters = 1;
    end.counters = counters;
    if (run->kind == WEFT__TASK_KIND__TASK_SAMPLE) {
        end.n_sample_keys = 1;
        end.sample_keys = &key;
    }
    tell(fake, WEFT__FRAME_TYPE__FRAME_TASK_END, &end.base);
}

static void misbehave_in_map(struct fake *fake, const Weft__TaskRun *run)
{
    const bool is_first_life = fake->life == 0, is_first_task = run->task == 0;
    if ((is_told(fake, "crash once") && is_first_life) ||
        (is_told(fake, "crash always") && is_first_task)) {
        begin_in_page(fake, run, SIGSEGV);
        raise(SIGKILL);
    }
    if (is_told(fake, "die in stage 1") && is_first_life && fake->open->stage == 1)
        raise(SIGKILL);
    if (is_told(fake, "exit always") && is_first_task) {
        begin_in_page(fake, run, 0);
        _exit(7);
    }
    if (is_told(fake, "loop") && is_first_task) {
        begin_in_page(fake, run, 0);
        pause();
    }
    if (is_told(fake, "interrupt") && is_first_task)
        kill(getppid(), SIGINT);
    if (is_told(fake, "terminate") && is_first_task)
        kill(getppid(), SIGTERM);
    if (is_told(fake, "garbage") && is_first_life)
        (void)!write(fake->fd, "HTTP/1.1 200 OK\r\n\r\n", 19);
    if (is_told(fake, "unreadable") && is_first_life &&
        frame_send(fake->fd, WEFT__FRAME_TYPE__FRAME_TASK_END, "\xff\xff", 2) != WEFT_OK)
        _exit(9);
    if (is_told(fake, "no such task") && is_first_life) {
        Weft__TaskRun other = *run;
        other.task = 1 << 30;
        end_task(fake, &other, 0, WEFT_OK, false);
    }
    if (is_told(fake, "stale"))
        end_task(fake, run, run->attempt + 7, WEFT_OK, false);
    if (is_told(fake, "full disk")) {
        Weft__WorkerFailed failed = WEFT__WORKER_FAILED__INIT;
        failed.code = WEFT_RESOURCE_EXHAUSTED;
        failed.text = "cannot write a run: no space left on device";
        tell(fake, WEFT__FRAME_TYPE__FRAME_WORKER_FAILED, &failed.base);
    }
}

static void run_map(struct fake *fake, const Weft__TaskRun *run)
{
    misbehave_in_map(fake, run);
    const bool is_bad = run->task == 0 && ((is_told(fake, "fail once") && run->attempt == 1) ||
                                           is_told(fake, "fail always"));
    const bool is_final = run->task == 0 && is_told(fake, "fail for good");
    end_task(fake, run, run->attempt, is_bad || is_final ? WEFT_ABORTED : WEFT_OK, is_final);
    if (is_bad)
        fake->held_count[run->slot] = 0;
    else
        fake->held[run->slot][fake->held_count[run->slot]++] = run->task;
}

// The text of a piece at its place, and the message about it; twice if the environment says so.
static void write_piece(struct fake *fake, const Weft__TaskRun *run)
{
    const Weft__Output *output = fake->open->output;
    Weft__Committed committed = WEFT__COMMITTED__INIT;
    uint64_t bytes = PIECE_BYTES, records = 1;
    uint32_t crc = 0, task = run->task;
    if (output->kind == WEFT__OUTPUT_KIND__OUTPUT_FILE) {
        char text[PIECE_BYTES + 1];
        snprintf(text, sizeof text, "piece %02u\n", task);
        const int fd = open(output->path, O_WRONLY | O_CREAT, 0666);
        if (pwrite(fd, text, PIECE_BYTES, (off_t)(task * PIECE_BYTES)) != PIECE_BYTES)
            _exit(9);
        close(fd);
    }
    committed.stage = run->stage;
    committed.kind = run->kind;
    committed.n_tasks = committed.n_output_bytes = 1;
    committed.n_output_crc = committed.n_output_records = 1;
    committed.tasks = &task;
    committed.output_bytes = &bytes;
    committed.output_crc = &crc;
    committed.output_records = &records;
    tell(fake, WEFT__FRAME_TYPE__FRAME_COMMITTED, &committed.base);
    if (is_told(fake, "commit twice") && output->kind == WEFT__OUTPUT_KIND__OUTPUT_FILE &&
        run->task == 0)
        tell(fake, WEFT__FRAME_TYPE__FRAME_COMMITTED, &committed.base);
}

static void run_task(struct fake *fake, const Weft__TaskRun *run)
{
    if (run->kind == WEFT__TASK_KIND__TASK_MAP && !fake->open->is_map_only) {
        run_map(fake, run);
        return;
    }
    if (is_told(fake, "die in reduce") && fake->life == 0 && fake->reduced == 2)
        raise(SIGKILL);
    end_task(fake, run, run->attempt, WEFT_OK, false);
    if (run->kind == WEFT__TASK_KIND__TASK_SAMPLE)
        return;
    fake->reduced++;
    write_piece(fake, run);
}

static void seal(struct fake *fake, uint32_t slot)
{
    Weft__Committed committed = WEFT__COMMITTED__INIT;
    Weft__Sealed sealed = WEFT__SEALED__INIT;
    committed.stage = fake->open->stage;
    committed.kind = WEFT__TASK_KIND__TASK_MAP;
    committed.n_tasks = fake->held_count[slot];
    committed.tasks = fake->held[slot];
    tell(fake, WEFT__FRAME_TYPE__FRAME_COMMITTED, &committed.base);
    sealed.slot = slot;
    tell(fake, WEFT__FRAME_TYPE__FRAME_SEALED, &sealed.base);
    fake->held_count[slot] = 0;
}

static void take_frame(struct fake *fake, const struct frame *frame)
{
    void *message = NULL;
    switch (frame->type) {
    case WEFT__FRAME_TYPE__FRAME_STAGE_OPEN: {
        Weft__StageOpen *open = NULL;
        assert_int_equal(message_unpack(frame, &weft__stage_open__descriptor, &open), WEFT_OK);
        log_line("open %u job %u parts %u maps %u samples %u%s output %d done %zu\n", open->stage,
                 open->job_index, open->part_count, open->map_count, open->sample_count,
                 open->is_map_only ? " map-only" : "", (int)open->output->kind,
                 open->n_done_pieces);
        message_free(fake->open);
        fake->open = open;
        return;
    }
    case WEFT__FRAME_TYPE__FRAME_TASK_RUN:
        assert_int_equal(message_unpack(frame, &weft__task_run__descriptor, &message), WEFT_OK);
        run_task(fake, message);
        break;
    case WEFT__FRAME_TYPE__FRAME_SEAL:
        assert_int_equal(message_unpack(frame, &weft__seal__descriptor, &message), WEFT_OK);
        seal(fake, ((Weft__Seal *)message)->slot);
        break;
    case WEFT__FRAME_TYPE__FRAME_BYE:
        if (is_told(fake, "crash at the end"))
            raise(SIGKILL);
        tell(fake, WEFT__FRAME_TYPE__FRAME_BYE, NULL);
        _exit(0);
    default:
        break;
    }
    message_free(message);
}

static _Noreturn void run_worker(int fd, int page_fd)
{
    static struct fake fake;
    struct stat stat_of_lives;
    const int lives = open(path_of("lives"), O_WRONLY | O_APPEND | O_CREAT, 0666);
    fstat(lives, &stat_of_lives);
    if (write(lives, "x", 1) != 1)
        _exit(9);
    close(lives);
    fake = (struct fake){
        .fd = fd, .what = getenv("WEFT_FAKE"), .life = (unsigned)stat_of_lives.st_size};
    if (process_map_shared(page_fd, sizeof *fake.page, (void **)&fake.page) != WEFT_OK)
        _exit(9);
    if (is_told(&fake, "no hello"))
        _exit(3);
    Weft__Hello hello = WEFT__HELLO__INIT;
    hello.wire_version = is_told(&fake, "other version") ? 99 : WIRE_VERSION;
    hello.version = "1.2.3";
    tell(&fake, WEFT__FRAME_TYPE__FRAME_HELLO, &hello.base);
    struct frame frame = {0};
    while (frame_receive(fd, &frame) == WEFT_OK)
        take_frame(&fake, &frame);
    _exit(0);
}

#endif
