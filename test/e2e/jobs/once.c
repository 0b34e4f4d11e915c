// Fails in the way -m says until the file of -s has -t bytes (one more each time); then it counts
// lines. The file is how the test sees the number of attempts.
#include <weft/weft.h>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void map(weft_task *task, weft_bytes line)
{
    const weft_args *args = weft_task_args(task);
    const char *state = weft_option(args, 's', 0), *how = weft_option(args, 'm', 0);
    const char *times = weft_option(args, 't', 0);
    if (line.size == 4 && memcmp(line.data, "boom", 4) == 0) {
        struct stat before = {0};
        int fd = open(state, O_WRONLY | O_APPEND | O_CREAT, 0666);
        if (fd < 0 || fstat(fd, &before) < 0 || write(fd, "x", 1) < 0)
            weft_fail(task, "cannot write the state file");
        close(fd);
        if (before.st_size < (times ? atoi(times) : 1)) {
            if (how && strcmp(how, "segv") == 0)
                *(volatile int *)8 = 1;
            if (how && strcmp(how, "exit") == 0)
                exit(3);
            weft_emit_int(task, weft_text("emitted by an attempt that failed"), 1);
            weft_fail(task, "not yet");
            return;
        }
    }
    weft_emit_int(task, line, 1);
}

int main(int argc, char **argv)
{
    const weft_job job = {
        .name = "once", .map = map, .combine = weft_sum, .reduce = weft_sum, .options = "s:m:t:"};
    return weft_main(argc, argv, &job);
}
