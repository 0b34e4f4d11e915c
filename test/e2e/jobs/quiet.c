// quiet INPUT OUTPUT: with a log the library prints nothing, whatever fails, and neither does a run without a log.
// Prints whether the log was given lines.
#include <stdio.h>
#include <weft/weft.h>

static int line_count;

static void count_line(void *data, const char *line)
{
    (void)data, (void)line;
    line_count++;
}

static void map(weft_task *task, weft_bytes line)
{
    if (line.size == 0)
        weft_fail(task, "an empty line");
    weft_emit_int(task, line, 1);
}

int main(int argc, char **argv)
{
    const weft_job job = {.name = "quiet", .map = map, .reduce = weft_sum};
    weft_start(argc, argv, (const weft_job *[]){&job, NULL});
    weft_set_log(count_line, NULL);
    const weft_options options = {.inputs = (const char *[]){argv[1], NULL},
                                  .output = argv[2],
                                  .max_attempts = 1,
                                  .show_progress = true};
    weft_run *run = weft_submit(&job, &options);
    const weft_err err = weft_run_wait(run, 0);
    weft_run_free(run);
    weft_cluster *cluster = weft_connect("localhost:1");
    weft_queue *queue = weft_queue_open(cluster, "jobs", NULL);
    weft_queue_close(queue);
    const int code = weft_leave(cluster);
    weft_set_log(NULL, NULL);
    const weft_options bare = {
        .inputs = options.inputs, .output = argv[2], .force = true, .max_attempts = 1};
    run = weft_submit(&job, &bare);
    if (weft_run_wait(run, 0) != err)
        printf("the run without a log ended otherwise\n");
    weft_run_free(run);
    printf("%s %s %s\n", weft_err_name(err), code ? "failed" : "left",
           line_count ? "told" : "silent");
    return 0;
}
