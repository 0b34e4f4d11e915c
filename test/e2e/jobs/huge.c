// For every line emits -c keys (default 1), or one key of -k bytes. The long key is made of pages
// that are never written, so that it costs this job no memory: what is used is weft's.
#include <weft/weft.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static void map(weft_task *task, weft_bytes line)
{
    const char *size_text = weft_option(weft_task_args(task), 'k', 0);
    const char *count_text = weft_option(weft_task_args(task), 'c', 0);
    size_t size = size_text ? strtoull(size_text, NULL, 10) : 0;
    long count = count_text ? atol(count_text) : 1;
    if (size > 0) {
        char *zeros = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (zeros == MAP_FAILED) {
            weft_fail(task, "mmap");
            return;
        }
        weft_emit_int(task, (weft_bytes){zeros, size}, 1);
        munmap(zeros, size);
    }
    for (long i = 0; size == 0 && i < count; i++) {
        char key[32];
        int length = snprintf(key, sizeof key, "%08ld", i * 7919 % count);
        weft_emit_int(task, (weft_bytes){key, (size_t)length}, (int64_t)line.size);
    }
}

int main(int argc, char **argv)
{
    const weft_job job = {
        .name = "huge", .map = map, .combine = weft_sum, .reduce = weft_sum, .options = "k:c:"};
    return weft_main(argc, argv, &job);
}
