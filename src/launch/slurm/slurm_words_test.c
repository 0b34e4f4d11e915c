// Tests of the options of Slurm's commands, and of their output.

#include "launch/slurm/slurm_words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool has_word(const struct far_command *words, const char *word)
{
    for (size_t i = 0; i < words->list.count; i++)
        if (words->list.items[i] && strcmp(words->list.items[i], word) == 0)
            return true;
    return false;
}

static void what_a_member_needs_becomes_options_of_sbatch(void **state)
{
    (void)state;
    struct far_command words = {0};
    const struct slurm_request request = {
        .partition = "long",
        .run = "train",
        .mark = "weft-1",
        .more = " --account=physics  --time=60 ",
        .exclude = "n1,n2",
        .need = {.memory_bytes = (3 << 20) + 1,
                 .cpus = 4,
                 .gpus = 2,
                 .constraint = "a100",
                 .role = "chief"},
        .count = 3,
    };
    assert_int_equal(slurm_make_submit(&request, &words), WEFT_OK);
    assert_string_equal(words.list.items[0], "sbatch");
    static const char *const expected[] = {"--partition=long",  "--job-name=train-chief",
                                           "--comment=weft-1",  "--array=0-2",
                                           "--cpus-per-task=4", "--mem=4M",
                                           "--gres=gpu:2",      "--constraint=a100",
                                           "--exclude=n1,n2",   "--account=physics",
                                           "--time=60",         "--no-requeue"};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_true(has_word(&words, expected[i]));
    assert_false(has_word(&words, ""));
    far_command_fini(&words);
}

static void what_no_member_asks_for_is_left_to_the_partition(void **state)
{
    (void)state;
    struct far_command words = {0};
    const struct slurm_request request = {
        .partition = "", .mark = "weft-1", .need = {.role = "a"}, .count = 1};
    assert_int_equal(slurm_make_submit(&request, &words), WEFT_OK);
    assert_true(has_word(&words, "--job-name=weft-a"));
    for (size_t i = 0; i + 1 < words.list.count; i++) {
        const char *word = words.list.items[i];
        assert_true(strncmp(word, "--partition", 11) && strncmp(word, "--mem", 5) &&
                    strncmp(word, "--gres", 6) && strncmp(word, "--cpus", 6) &&
                    strncmp(word, "--constraint", 12) && strncmp(word, "--exclude", 9));
    }
    far_command_fini(&words);
}

static void the_environment_of_a_job_is_exact(void **state)
{
    (void)state;
    struct far_command later = {0}, submit = {0};
    const struct slurm_request request = {
        .partition = "", .mark = "weft-1", .need = {.role = "a"}, .count = 1};
    const char *const arguments[] = {"one", NULL};
    const struct slurm_need need = {.cpus = 2, .gpus = 1};
    assert_int_equal(slurm_make_submit(&request, &submit), WEFT_OK);
    assert_int_equal(slurm_make_step(7, &need, "true", arguments, &later), WEFT_OK);
    const struct far_command *const all[] = {&later, &submit};
    for (size_t i = 0; i < 2; i++) {
        bool has_export = false;
        for (size_t k = 0; k < all[i]->list.count; k++)
            has_export |=
                all[i]->list.items[k] && strncmp(all[i]->list.items[k], "--export=PATH=", 14) == 0;
        assert_true(has_export);
    }
    assert_true(has_word(&later, "--jobid=7"));
    assert_true(has_word(&later, "--cpus-per-task=2"));
    assert_true(has_word(&later, "--gres=gpu:1"));
    assert_string_equal(later.list.items[later.list.count - 1], "one");
    far_command_fini(&later);
    far_command_fini(&submit);
}

static void only_jobs_that_are_alike_share_an_array(void **state)
{
    (void)state;
    const struct slurm_need a = {.cpus = 1, .role = "map"},
                            b = {.cpus = 1, .role = "map", .constraint = "x"},
                            c = {.cpus = 1, .role = "reduce"},
                            d = {.cpus = 1, .role = "map", .gpus = 1};
    assert_true(slurm_is_same_need(&a, &a));
    assert_false(slurm_is_same_need(&a, &b));
    assert_false(slurm_is_same_need(&a, &c));
    assert_false(slurm_is_same_need(&a, &d));
}

static void lines_of_squeue_are_read(void **state)
{
    (void)state;
    struct slurm_report report;
    char waits[] = "12|3|12|PENDING||Resources\n", runs[] = "12|0|15|RUNNING|n1|None";
    char reason[] = "12|3|12|PENDING||ReqNodeNotAvail, UnavailableNodes:n1|n2";
    assert_true(slurm_read_report(waits, &report));
    assert_int_equal(report.array, 12);
    assert_int_equal(report.index, 3);
    assert_string_equal(report.state, "PENDING");
    assert_string_equal(report.reason, "Resources");
    assert_true(slurm_read_report(runs, &report));
    assert_int_equal(report.job, 15);
    assert_string_equal(report.node, "n1");
    assert_true(slurm_read_report(reason, &report));
    assert_string_equal(report.reason, "ReqNodeNotAvail, UnavailableNodes:n1|n2");
    const char *const wrong[] = {"",
                                 "12",
                                 "12|3|12|PENDING|n1",
                                 "x|3|12|PENDING||None",
                                 "12|[0-3]|12|PENDING||None",
                                 "99999999999|3|12|RUNNING||None",
                                 "slurm_load_jobs error: Invalid job id specified"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char *line = strdup(wrong[i]);
        assert_false(slurm_read_report(line, &report));
        free(line);
    }
}

static void jobs_of_a_run_are_known_by_their_mark(void **state)
{
    (void)state;
    char ours[] = "12_3|weft-1\n", other[] = "13_0|weft-12", none[] = "14|", broken[] = "15";
    assert_string_equal(slurm_read_marked(ours, "weft-1"), "12_3");
    assert_null(slurm_read_marked(other, "weft-1"));
    assert_null(slurm_read_marked(none, "weft-1"));
    assert_null(slurm_read_marked(broken, "weft-1"));
}

static void the_number_of_a_job_may_have_a_cluster(void **state)
{
    (void)state;
    uint32_t array;
    assert_true(slurm_read_array("12\n", &array));
    assert_int_equal(array, 12);
    assert_true(slurm_read_array("13;west\n", &array));
    assert_int_equal(array, 13);
    assert_false(slurm_read_array("", &array));
    assert_false(slurm_read_array("sbatch: error", &array));
}

static void a_partition_that_is_not_there_is_answered_with_what_was_meant(void **state)
{
    (void)state;
    const char *const errors =
        "sbatch: error: invalid partition specified: gqu\n"
        "sbatch: error: Batch job submission failed: Invalid partition name specified\n";
    assert_int_equal(slurm_explain_refusal("gqu", errors, "debug\ngpu\n"), WEFT_NOT_FOUND);
    assert_non_null(strstr(err_text(), "did you mean: --on slurm:gpu"));
    assert_int_equal(slurm_explain_refusal("nothing-like-it", errors, "debug\ngpu\n"),
                     WEFT_NOT_FOUND);
    assert_non_null(strstr(err_text(), "it has: debug, gpu"));
    assert_int_equal(slurm_explain_refusal("gqu", errors, NULL), WEFT_NOT_FOUND);
}

static void refusals_keep_the_words_of_slurm_and_have_advice(void **state)
{
    (void)state;
    assert_int_equal(slurm_explain_refusal(
                         "gpu", "sbatch: error: Memory specification can not be satisfied\n", NULL),
                     WEFT_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(err_text(), ": Memory specification can not be satisfied\n  try: less"));
    assert_int_equal(
        slurm_explain_refusal(
            "gpu", "sbatch: error: Unable to contact slurm controller (connect failure)\n", NULL),
        WEFT_UNAVAILABLE);
    assert_int_equal(
        slurm_explain_refusal(
            "gpu",
            "sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified\n",
            NULL),
        WEFT_PERMISSION_DENIED);
    assert_non_null(strstr(err_text(), "Invalid account"));
    assert_non_null(strstr(err_text(), "WEFT_SLURM="));
}

static void the_end_of_a_step_is_explained(void **state)
{
    (void)state;
    static const struct {
        const char *errors, *words;
    } cases[] = {
        {"slurmstepd-n1: error: *** STEP 1.0 ON n1 CANCELLED AT 2026-11-19T01:28:08 DUE TO PREEMPTION ***\n",
         "job 7 on n1 was preempted"},
        {"slurmstepd: error: *** STEP 1.0 ON n1 CANCELLED AT 2026-11-19T01:28:08 DUE TO TIME LIMIT ***\n",
         "time limit"},
        {"srun: error: Node failure on n1\nsrun: Job step aborted: Waiting up to 4 seconds\n",
         "the node of job 7 on n1 has failed"},
        {"slurmstepd: error: *** STEP 1.0 ON n1 CANCELLED AT 2026-11-19T01:28:08 ***\n",
         "was cancelled"},
        {"weft: the program did not arrive whole in /tmp\nsrun: error: n1: task 0: Exited with exit code 97\n",
         "did not arrive whole"},
        {"", "has ended"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(slurm_explain_end("job 7 on n1", cases[i].errors), WEFT_UNAVAILABLE);
        assert_non_null(strstr(err_text(), cases[i].words));
    }
}

static void a_job_that_can_never_run_is_refused(void **state)
{
    (void)state;
    assert_true(slurm_is_hopeless("PartitionConfig"));
    assert_false(slurm_is_hopeless("Resources"));
    assert_int_equal(slurm_explain_hopeless("PartitionConfig"), WEFT_RESOURCE_EXHAUSTED);
    assert_string_equal(slurm_describe_reason("ReqNodeNotAvail"), "ReqNodeNotAvail");
    assert_non_null(strstr(slurm_describe_reason("Resources"), "(Resources)"));
}

static void partitions_of_urls(void **state)
{
    (void)state;
    char partition[SLURM_NAME_BYTES_MAX];
    assert_int_equal(slurm_read_url("slurm:", partition), WEFT_OK);
    assert_string_equal(partition, "");
    assert_int_equal(slurm_read_url("slurm:gpu-a100,gpu_2", partition), WEFT_OK);
    assert_string_equal(partition, "gpu-a100,gpu_2");
    assert_int_equal(slurm_read_url("slurm://gpu/", NULL), WEFT_INVALID_ARGUMENT);
    assert_non_null(strstr(err_text(), "did you mean: --on slurm:gpu"));
    assert_int_equal(slurm_read_url("slurm:a b", NULL), WEFT_INVALID_ARGUMENT);
    assert_int_equal(slurm_read_url("slurm:$(x)", NULL), WEFT_INVALID_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_member_needs_becomes_options_of_sbatch),
        cmocka_unit_test(what_no_member_asks_for_is_left_to_the_partition),
        cmocka_unit_test(the_environment_of_a_job_is_exact),
        cmocka_unit_test(only_jobs_that_are_alike_share_an_array),
        cmocka_unit_test(lines_of_squeue_are_read),
        cmocka_unit_test(jobs_of_a_run_are_known_by_their_mark),
        cmocka_unit_test(the_number_of_a_job_may_have_a_cluster),
        cmocka_unit_test(a_partition_that_is_not_there_is_answered_with_what_was_meant),
        cmocka_unit_test(refusals_keep_the_words_of_slurm_and_have_advice),
        cmocka_unit_test(the_end_of_a_step_is_explained),
        cmocka_unit_test(a_job_that_can_never_run_is_refused),
        cmocka_unit_test(partitions_of_urls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
