// Jobs from inside a program, compiled as C and as C++: options may be NULL. Without inputs there is nothing to run.

#include <stdio.h>
#include <weft/weft.h>

static void map(weft_task *task, weft_bytes line)
{
    weft_emit_int(task, line, 1);
}

int main(int argc, char **argv)
{
    weft_job job;
    memset(&job, 0, sizeof job);
    job.name = "lines";
    job.map = map;
    job.reduce = weft_sum;
    const weft_job *const jobs[] = {&job, NULL};
    weft_start(argc, argv, jobs);
    if (argc > 1)
        return weft_main(argc, argv, &job);
    weft_run *run = weft_submit(&job, NULL);
    const weft_err code = weft_run_wait(run, 0);
    printf("%s: %s\n", weft_err_name(code), weft_error());
    weft_run_free(run);
    return code == WEFT_OK;
}
