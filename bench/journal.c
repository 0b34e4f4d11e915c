// What a commit of a journal costs: journal DIR, on a real disk. Records of three sizes, each appended and
// synced, by turns in a file that grows and in blocks that are there; medians of 500, in 5 rounds.
//
//   cc -O2 -D_GNU_SOURCE -std=gnu17 -Isrc -Iinclude bench/journal.c build/internal/libweft_internal.a
//      -lpthread -lm -o /tmp/journal && /tmp/journal /var/tmp/journal-bench
#include <stdio.h>
#include <stdlib.h>

#include "store/journal/journal.h"
#include "sys/file/file.h"
#include "sys/time/clock.h"

enum { COMMITS = 500, ROUNDS = 5 };

static int compare(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

static weft_err measure(const char *directory, weft_bytes payload, bool syncs_often)
{
    static uint64_t times[COMMITS];
    const struct journal_options options = {.syncs_often = syncs_often};
    struct journal *journal = NULL;
    weft_err err = file_remove_tree(directory);
    if (!err)
        err = journal_open(&journal, directory, "bench", &options, NULL, NULL, NULL);
    for (size_t i = 0; !err && i < COMMITS; i++) {
        const uint64_t start = clock_now_ns();
        err = journal_append(journal, 1, payload);
        if (!err)
            err = journal_sync(journal);
        times[i] = clock_now_ns() - start;
    }
    qsort(times, COMMITS, sizeof *times, compare);
    printf("  %s p50 %4.0f us p99 %5.0f us", syncs_often ? "often" : "grows",
           (double)times[COMMITS / 2] / 1e3, (double)times[COMMITS * 99 / 100] / 1e3);
    const weft_err closed = journal_close(journal);
    return err ? err : closed;
}

int main(int count, char **words)
{
    const size_t sizes[] = {96, 4076, 131052};  // and 20 bytes of the record
    char *payload = calloc(1, sizes[2]);
    weft_err err = count == 2 && payload ? WEFT_OK : err_set(WEFT_INVALID_ARGUMENT, "journal DIR");
    for (int round = 0; round < ROUNDS; round++)
        for (size_t i = 0; !err && i < sizeof sizes / sizeof *sizes; i++) {
            printf("%6zu B", sizes[i] + 20);
            for (int often = 0; !err && often < 2; often++)
                err = measure(words[1], (weft_bytes){payload, sizes[i]}, often);
            puts("");
        }
    if (!err)
        err = file_remove_tree(words[1]);
    if (err)
        fprintf(stderr, "%s\n", err_text());
    free(payload);
    return err ? 1 : 0;
}
