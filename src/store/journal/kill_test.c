// A process that appends, syncs, begins segments and rewrites is killed at any moment, again and again:
// the records that it knew to be on the disk are there afterwards, in order, and no others.
// WEFT_LONG=1 does it some hundred times.

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/journal/journal_testing.h"
#include "sys/process/process.h"

enum { TYPE_COUNT = 1, TYPE_SNAPSHOT = 2, PAYLOAD_BYTES_MAX = 9000 };

static const struct journal_options options = {.segment_bytes_max = 100000};

// The journal counts: every record is the next number, with a tail that depends on it.
struct counter {
    uint64_t count;
    struct journal_found found;
};

static weft_bytes make_payload(uint64_t count)
{
    static char payload[PAYLOAD_BYTES_MAX];
    const size_t size = sizeof count + (count % 50 ? count * 7919 % 300 : count * 31 % 8000);
    memset(payload, (int)(count % 251), size);
    memcpy(payload, &count, sizeof count);
    return (weft_bytes){payload, size};
}

static weft_err replay_count(void *owner, const struct journal_record *record)
{
    struct counter *counter = owner;
    uint64_t count;
    if (record->payload.size < sizeof count)
        return err_set(WEFT_INTERNAL, "a payload of %zu bytes", record->payload.size);
    memcpy(&count, record->payload.data, sizeof count);
    const weft_bytes wanted = make_payload(count);
    const bool is_right = record->payload.size == wanted.size &&
                          memcmp(record->payload.data, wanted.data, wanted.size) == 0 &&
                          (record->type == TYPE_SNAPSHOT || count == counter->count + 1);
    if (!is_right)
        return err_set(WEFT_INTERNAL, "record %llu says %llu behind %llu",
                       (unsigned long long)record->sequence, (unsigned long long)count,
                       (unsigned long long)counter->count);
    counter->count = count;
    return WEFT_OK;
}

static weft_err save_count(void *owner, struct journal *journal)
{
    const struct counter *counter = owner;
    return journal_append(journal, TYPE_SNAPSHOT, make_payload(counter->count));
}

// What the copy of the process needs.
struct rewrite {
    struct journal *journal;
    const struct counter *counter;
    struct process process;
};

static int write_snapshot(void *owner)
{
    struct rewrite *rewrite = owner;
    return journal_rewrite_write(rewrite->journal, save_count, (void *)rewrite->counter) ? 1 : 0;
}

// Beside the journal for some turns, where that is possible.
static weft_err rewrite_somehow(struct rewrite *rewrite, uint64_t turn)
{
    if (rewrite->process.pid && turn % 8 == 0) {
        struct process_exit exit;
        process_wait(&rewrite->process, &exit);
        if (exit.number)
            return err_set(WEFT_INTERNAL, "the copy ended with %d", exit.number);
        return journal_rewrite_finish(rewrite->journal);
    }
    if (rewrite->process.pid || journal_size(rewrite->journal) < 700000)
        return WEFT_OK;
    if (!is_often)
        return journal_rewrite(rewrite->journal, save_count, (void *)rewrite->counter);
    const weft_err err = journal_rewrite_start(rewrite->journal);
    return err ? err : process_fork(write_snapshot, rewrite, &rewrite->process);
}

// Appends until it is killed; reports every count that is safe.
static _Noreturn void append_for_ever(int told, unsigned seed)
{
    struct journal *journal;
    struct counter counter = {0};
    weft_err err = journal_open(&journal, directory, "test", in_our_way(&options), replay_count,
                                &counter, &counter.found);
    struct rewrite rewrite = {.journal = journal, .counter = &counter};
    for (uint64_t turn = 0; !err; turn++) {
        seed = seed * 1103515245 + 12345;
        const unsigned batch = (seed >> 16) % 8 ? 1 + (seed >> 20) % 4 : (seed >> 20) % 200;
        for (unsigned i = 0; !err && i < batch; i++)
            err = journal_append(journal, TYPE_COUNT, make_payload(++counter.count));
        if (!err)
            err = journal_sync(journal);
        if (!err && write(told, &counter.count, sizeof counter.count) < 0)
            _exit(2);
        if (!err)
            err = rewrite_somehow(&rewrite, turn);
    }
    fprintf(stderr, "%s\n", err_text());
    _exit(1);
}

// The last count that came through the pipe, or `before`.
static uint64_t read_told(int fd, uint64_t before)
{
    uint64_t counts[512], last = before;
    for (ssize_t got; (got = read(fd, counts, sizeof counts)) != 0;) {
        if (got < 0 && errno == EINTR)
            continue;
        assert_true(got > 0 && got % (ssize_t)sizeof *counts == 0);
        last = counts[(size_t)got / sizeof *counts - 1];
    }
    return last;
}

static uint64_t kill_one(unsigned round, uint64_t before)
{
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        close(fds[0]);
        append_for_ever(fds[1], round + 1);
    }
    close(fds[1]);
    // This is not measured: any moment is as good as any other.
    usleep(500 + round * 7919 % 30000);
    kill(child, SIGKILL);
    const uint64_t told = read_told(fds[0], before);
    close(fds[0]);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    return told;
}

static void all_that_was_told_is_there_after_any_kill(void **state)
{
    (void)state;
    const unsigned rounds = getenv("WEFT_LONG") ? 500 : 30;
    uint64_t count = 0;
    for (unsigned round = 0; round < rounds; round++) {
        const uint64_t told = kill_one(round, count);
        struct counter counter = {0};
        expect(journal_read(directory, "test", NULL, replay_count, &counter, &counter.found));
        if (counter.count < told)
            fail_msg("round %u: %llu were told, %llu are there", round, (unsigned long long)told,
                     (unsigned long long)counter.count);
        assert_true(counter.count <= told + 200);  // one commit that was not reported
        assert_int_equal(counter.found.lost_bytes, 0);
        count = counter.count;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(all_that_was_told_is_there_after_any_kill),
    };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
