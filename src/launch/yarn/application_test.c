// Tests of what clients do with applications, against resource managers of our own.
#include "launch/yarn/application.h"

#include "launch/yarn/managers_testing.h"

static struct yarn_client *client;
static struct yarn_new made;

static int begin(void **state)
{
    (void)state;
    const struct yarn_site site = fake_begin(0);
    const struct yarn_client_options options = {
        .site = &site, .user = "alice", .patience_ms = 10000};
    assert_int_equal(yarn_client_open(&options, &client), WEFT_OK);
    return 0;
}

static int end(void **state)
{
    (void)state;
    yarn_client_close(client);
    fake_end();
    return 0;
}

static const struct yarn_submission usual = {.want = {.memory_bytes = 512 << 20, .cores = 2},
                                             .program = {.command = "exec ./master"}};

static void submit(const struct yarn_submission *submission)
{
    assert_int_equal(yarn_client_name(client, &made), WEFT_OK);
    assert_int_equal(yarn_client_submit(client, made.id, submission), WEFT_OK);
}

static enum yarn_state state_of_it(void)
{
    struct yarn_report report;
    assert_int_equal(yarn_client_report(client, made.id, &report), WEFT_OK);
    assert_string_equal(report.id, made.id);
    const enum yarn_state state = report.state;
    yarn_report_fini(&report);
    return state;
}

static void expect_described(void)
{
    const Hadoop__Submission *got = fake.submission;
    assert_string_equal(got->name, "n");
    assert_string_equal(got->queue, "q");
    assert_string_equal(got->type, "t");
    assert_int_equal(got->n_tags, 2);
    assert_string_equal(got->label, "x");
    assert_int_equal(got->priority->value, 3);
    assert_int_equal(got->lifetimes[0]->seconds, 60);
    assert_int_equal(got->attempts_max, 2);
    assert_true(got->keeps_containers);
    assert_false(got->is_unmanaged);
}

static void expect_container(void)
{
    const Hadoop__Submission *got = fake.submission;
    assert_int_equal(got->resource->memory_mb, 512);
    assert_int_equal(got->resource->cores, 1);
    assert_string_equal(got->resource->others[0]->name, "yarn.io/gpu");
    assert_string_equal(got->places[0]->label, "y");
    assert_string_equal(got->places[0]->place, "*");
    assert_int_equal(got->places[0]->capability->memory_mb, 512);
    assert_int_equal(got->context->n_acls, 2);
    assert_string_equal(got->context->acls[1]->users, " admins");
    assert_non_null(strstr(got->context->commands[0], "\nrun \\\"\\$x\\\""));
    assert_string_equal(got->context->variables[0]->value, "\\$b");
    const Hadoop__LocalResource *resource = got->context->resources[0]->resource;
    assert_int_equal(resource->size, 12);
    assert_int_equal(resource->timestamp, 34);
    assert_int_equal(resource->type, YARN_ARCHIVE);
    assert_int_equal(resource->visibility, YARN_FOR_USER);
    assert_string_equal(resource->url->host, "nn");
}

static void an_application_is_submitted_as_it_is_described(void **state)
{
    static const char *const tags[] = {"one", "two", NULL}, *const environment[] = {"A=$b", NULL};
    static const struct yarn_amount gpu = {"yarn.io/gpu", 1};
    const struct yarn_file file = {"f", "hdfs://nn:8020/f", 12, 34, YARN_ARCHIVE, YARN_FOR_USER};
    struct yarn_submission submission = {
        .application = {.name = "n",
                        .queue = "q",
                        .type = "t",
                        .tags = tags,
                        .label = "x",
                        .viewers = "bob",
                        .modifiers = " admins",
                        .priority = 3,
                        .lifetime_s = 60},
        .want = {.memory_bytes = 512 << 20, .amounts = &gpu, .amount_count = 1, .label = "y"},
        .program = {.command = "run \"$x\"",
                    .environment = environment,
                    .files = &file,
                    .file_count = 1},
        .attempts = 2,
        .keeps_containers = true};
    (void)state;
    submit(&submission);
    assert_string_equal(made.id, "application_1700000000000_0007");
    assert_int_equal(made.memory_bytes, 4096ULL << 20);
    assert_int_equal(made.cores, 8);
    expect_described();
    expect_container();
}

static void what_cannot_be_is_not_submitted(void **state)
{
    static const char *const nameless[] = {"=x", NULL};
    const struct yarn_file file = {.name = "f", .url = "nowhere"};
    struct yarn_submission bad = usual;
    (void)state;
    assert_int_equal(yarn_client_name(client, &made), WEFT_OK);
    assert_int_equal(yarn_client_submit(client, "job_1", &usual), WEFT_INVALID_ARGUMENT);
    bad.application.type = "more than twenty characters";
    assert_int_equal(yarn_client_submit(client, made.id, &bad), WEFT_INVALID_ARGUMENT);
    bad = usual;
    bad.program.environment = nameless;
    assert_int_equal(yarn_client_submit(client, made.id, &bad), WEFT_INVALID_ARGUMENT);
    bad = usual;
    bad.program.files = &file;
    bad.program.file_count = 1;
    assert_int_equal(yarn_client_submit(client, made.id, &bad), WEFT_INVALID_ARGUMENT);
    assert_non_null(strstr(err_text(), "nowhere"));
    bad = usual;
    bad.want.memory_bytes = UINT64_MAX;
    assert_int_equal(yarn_client_submit(client, made.id, &bad), WEFT_INVALID_ARGUMENT);
    err_clear();
    assert_int_equal(fake.submissions, 0);
}

static void reports_follow_the_application(void **state)
{
    struct yarn_report report;
    (void)state;
    submit(&usual);
    assert_int_equal(yarn_client_report(client, made.id, &report), WEFT_OK);
    assert_int_equal(report.state, YARN_STATE_WAITING);
    assert_string_equal(report.host, "");
    assert_int_equal(report.port, 0);
    yarn_report_fini(&report);
    fake.state = YARN_APP_RUNNING;
    fake.is_registered = true;
    assert_int_equal(yarn_client_report(client, made.id, &report), WEFT_OK);
    assert_int_equal(report.state, YARN_STATE_RUNNING);
    assert_string_equal(report.host, "master");
    assert_int_equal(report.port, 4711);
    yarn_report_fini(&report);
    fake.state = YARN_APP_FAILED;
    assert_int_equal(state_of_it(), YARN_STATE_FAILED);
    fake.state = YARN_APP_FINISHED;
    fake.final = YARN_SUCCEEDED;
    assert_int_equal(state_of_it(), YARN_STATE_SUCCEEDED);
    fake.final = YARN_FAILED;
    assert_int_equal(state_of_it(), YARN_STATE_FAILED);
}

static void an_application_that_is_not_there_is_not_found(void **state)
{
    struct yarn_report report;
    (void)state;
    assert_int_equal(yarn_client_report(client, "application_1_1", &report), WEFT_NOT_FOUND);
    assert_non_null(strstr(err_text(), "application_1_1"));
    assert_null(report.message);
    assert_int_equal(yarn_client_report(client, "x", &report), WEFT_INVALID_ARGUMENT);
    yarn_report_fini(&report);
    err_clear();
}

static void killing_takes_its_time(void **state)
{
    (void)state;
    submit(&usual);
    assert_int_equal(yarn_client_kill(client, made.id, "enough"), WEFT_OK);
    assert_int_equal(fake.kills, 2);
    assert_int_equal(state_of_it(), YARN_STATE_KILLED);
}

static weft_err count_report(void *owner, const struct yarn_report *report)
{
    assert_string_equal(report->type, "weft");
    assert_string_equal(report->tags[0], "tag");
    assert_null(report->tags[1]);
    ++*(int *)owner;
    return WEFT_OK;
}

static weft_err refuse_report(void *owner, const struct yarn_report *report)
{
    (void)report;
    ++*(int *)owner;
    return WEFT_ABORTED;
}

static void applications_are_listed(void **state)
{
    int count = 0;
    (void)state;
    struct yarn_filter filter = {.type = "weft"};
    assert_int_equal(yarn_client_list(client, &filter, count_report, &count), WEFT_OK);
    assert_int_equal(count, 2);
    filter.has_ended_ones = true;
    assert_int_equal(yarn_client_list(client, &filter, count_report, &count), WEFT_OK);
    assert_int_equal(count, 2 + 3);
    assert_int_equal(yarn_client_list(client, &filter, refuse_report, &count), WEFT_ABORTED);
    assert_int_equal(count, 2 + 3 + 1);
}

static weft_err check_node(void *owner, const struct yarn_node *node)
{
    assert_string_equal(node->host, "127.0.0.1");
    assert_string_equal(node->rack, "/rack");
    assert_string_equal(node->labels, "x,y");
    assert_int_equal(node->memory_bytes, 8192ULL << 20);
    assert_int_equal(node->amount_count, 1);
    assert_string_equal(node->amounts[0].name, "yarn.io/gpu");
    assert_int_equal(node->amounts[0].count, 2);
    ++*(int *)owner;
    return WEFT_OK;
}

static void nodes_and_queues_are_described(void **state)
{
    struct yarn_queue queue;
    int count = 0;
    (void)state;
    assert_int_equal(yarn_client_nodes(client, check_node, &count), WEFT_OK);
    assert_int_equal(count, 1);
    assert_int_equal(yarn_client_queue(client, "q", &queue), WEFT_OK);
    assert_int_equal(queue.used_bytes, 7777ULL << 20);
    assert_true(queue.is_running);
}

static void a_client_finds_the_one_that_took_over(void **state)
{
    (void)state;
    submit(&usual);
    fake_restart(1);
    assert_int_equal(state_of_it(), YARN_STATE_WAITING);
    fake_restart(0);
    assert_int_equal(yarn_client_kill(client, made.id, NULL), WEFT_OK);
}

static void without_a_resource_manager_a_call_fails_at_once(void **state)
{
    (void)state;
    fake.active = -1;
    assert_int_equal(yarn_client_name(client, &made), WEFT_UNAVAILABLE);
    err_clear();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_application_is_submitted_as_it_is_described),
        TEST(what_cannot_be_is_not_submitted),
        TEST(reports_follow_the_application),
        TEST(an_application_that_is_not_there_is_not_found),
        TEST(killing_takes_its_time),
        TEST(applications_are_listed),
        TEST(nodes_and_queues_are_described),
        TEST(a_client_finds_the_one_that_took_over),
        TEST(without_a_resource_manager_a_call_fails_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
