// Tests of the launcher of YARN.

#include "launch/yarn/yarn_testing.h"

#include "launch/far/far.h"
#include "launch/far/host_agent.h"
#include "launch/yarn/yarn.h"
#include "launch/yarn/yarn_inner.h"
#include "sys/file/file.h"
#include "sys/loop/loop_testing.h"
#include "sys/time/clock.h"
#include "wire/hadoop/token_file.h"

enum { MEMBERS_MAX = 4 };

// ---- The run ---------------------------------------------------------------------------------------------------

struct test {
    struct loop *loop;
    struct nursery *nursery;
    struct launch *launch;
    size_t count;
    bool is_placed;
    weft_err failure, not_moved_err;
    size_t started, ended, moved, not_moved, lost;
    struct launch_exit exits[MEMBERS_MAX];
    char text[300], lost_host[100], news[300];
};

static void placed(void *owner)
{
    ((struct test *)owner)->is_placed = true;
}

static void failed(void *owner, weft_err err)
{
    struct test *test = owner;
    test->failure = err;
    snprintf(test->text, sizeof test->text, "%s", err_text());
}

static void moved(void *owner, size_t member)
{
    (void)member;
    ((struct test *)owner)->moved++;
}

static void not_moved(void *owner, size_t member, weft_err err)
{
    struct test *test = owner;
    (void)member;
    test->not_moved++;
    test->not_moved_err = err;
    snprintf(test->text, sizeof test->text, "%s", err_text());
}

static void started(void *owner, size_t member, pid_t pid)
{
    (void)member, (void)pid;
    ((struct test *)owner)->started++;
}

static void not_started(void *owner, size_t member, weft_err err)
{
    (void)owner, (void)member, (void)err;
    fail_msg("not started: %s", err_text());
}

static void output(void *owner, size_t member, unsigned which, weft_bytes bytes)
{
    (void)owner, (void)member, (void)which, (void)bytes;
}

static void ended(void *owner, size_t member, const struct launch_exit *exit)
{
    struct test *test = owner;
    test->ended++;
    test->exits[member] = *exit;
    snprintf(test->text, sizeof test->text, "%s", exit->lost ? exit->lost : "");
}

static void lost(void *owner, const char *host, const char *why)
{
    struct test *test = owner;
    (void)why;
    test->lost++;
    snprintf(test->lost_host, sizeof test->lost_host, "%s", host);
}

static void news(void *owner, const char *text)
{
    snprintf(((struct test *)owner)->news, sizeof((struct test *)owner)->news, "%s", text);
}

static const struct launch_calls calls = {placed,      failed, moved, not_moved, started,
                                          not_started, output, ended, lost,      news};

static int set_up(void **state)
{
    struct test *test = calloc(1, sizeof *test);
    *state = test;
    fake = (struct yarn_master){.starts_agents = true};
    snprintf(directory, sizeof directory, "/tmp/weft-test-XXXXXX");
    assert_non_null(mkdtemp(directory));
    setenv("TMPDIR", directory, 1);
    setenv("WEFT_AGENT", "/proc/self/exe", 1);
    setenv("WEFT_TOKEN", "00112233445566778899aabbccddeeff", 1);
    unsetenv("HADOOP_CONF_DIR");
    unsetenv("HADOOP_HOME");
    test->nursery = nursery_new();
    test->loop = loop_new(NULL, NULL);
    return 0;
}

static int tear_down(void **state)
{
    struct test *test = *state;
    struct process_exit exit;
    launch_close(test->launch);
    assert_true(fake.is_closed || !test->launch);
    for (size_t i = 0; i < CONTAINERS_MAX; i++) {
        if (fake.agents[i].pid) {
            process_kill(&fake.agents[i]);
            process_wait(&fake.agents[i], &exit);
        }
        if (fake.token_path[i][0])
            unlink(fake.token_path[i]);
    }
    loop_free(test->loop);
    nursery_free(test->nursery);
    rmdir(directory);
    free(test);
    return 0;
}

static void open_run(struct test *test, const struct launch_want *wants, size_t count,
                     const char *const *settings)
{
    const struct launch_options options = {.url = "yarn://127.0.0.1:1/small",
                                           .loop = test->loop,
                                           .nursery = test->nursery,
                                           .wants = wants,
                                           .count = count,
                                           .name = "count",
                                           .settings = settings,
                                           .calls = &calls,
                                           .owner = test};
    test->count = count;
    assert_int_equal(launch_open(&launch_yarn, &test->launch, &options), WEFT_OK);
}

static const struct launch_want two[] = {{.name = "a/0"}, {.name = "a/1"}};

static void place_two(struct test *test)
{
    open_run(test, two, 2, NULL);
    assert_int_equal(launch_place_all(test->launch), WEFT_OK);
    grant(0);
    grant(0);
    AWAIT(test, test->is_placed);
}

static void start_member(struct test *test, size_t member, const char *script)
{
    const char *const words[] = {"sh", "-c", script, NULL};
    const char *const environment[] = {NULL};
    const struct launch_start start = {
        .arguments = words, .environment = environment, .input = NURSERY_INPUT_NONE};
    assert_int_equal(launch_start_member(test->launch, member, &start), WEFT_OK);
}

static int live_as_agent(char *const *words)
{
    // Its sentences for people would disturb the report of the tests.
    if (!freopen("/dev/null", "w", stderr))
        return 99;
    return host_agent_run(&(struct host_agent_options){words[1], words[2], words[3]});
}

// ---- Tests -----------------------------------------------------------------------------------------------------

static void needs_of_members_become_asks(void **state)
{
    static const struct launch_amount amounts[] = {{"yarn.io/fpga", 2}};
    static const struct launch_want wants[] = {
        {.name = "a/0", .memory_bytes = 3U << 30, .cpus = 2, .gpus = 1, .constraint = "gpu"},
        {.name = "a/1", .memory_bytes = 1U << 30, .cpus = 1, .gpus = 1, .beside = 1},
        {.name = "b/0", .constraint = "host=n1,n2", .amounts = amounts, .amount_count = 1},
    };
    static const char *const settings[] = {"name=mine", NULL};
    struct test *test = *state;
    open_run(test, wants, 3, settings);
    assert_int_equal(launch_place_all(test->launch), WEFT_OK);
    assert_string_equal(fake.name, "mine");
    assert_string_equal(fake.queue, "small");
    assert_int_equal(fake.ask_count, 2);
    assert_int_equal(fake.asks[0].count, 1);
    assert_int_equal(fake.asks[0].memory_bytes, 4ULL << 30);
    assert_int_equal(fake.asks[0].cores, 3);
    assert_string_equal(fake.labels[0], "gpu");
    assert_string_equal(fake.amounts[0], "yarn.io/gpu=2 ");
    assert_int_equal(fake.asks[1].memory_bytes, 1ULL << 30);  // what members get that say nothing
    assert_string_equal(fake.hosts[1], "n1 n2 ");
    assert_true(fake.asks[1].is_strict);
    assert_string_equal(fake.labels[1], "");
    assert_string_equal(fake.amounts[1], "yarn.io/fpga=2 ");
}

static void members_run_in_containers(void **state)
{
    struct test *test = *state;
    place_two(test);
    assert_int_equal(fake.ask_count, 1);  // of one kind
    assert_int_equal(fake.asks[0].count, 2);
    assert_string_equal(launch_get_place(test->launch, 0).host, "even");
    assert_string_equal(launch_get_place(test->launch, 1).address, "127.0.0.1");
    assert_non_null(strstr(fake.program_url, "hdfs://nn/"));
    start_member(test, 0, "exit 0");
    start_member(test, 1, "exit 5");
    AWAIT(test, test->ended == 2);
    assert_int_equal(test->exits[1].process.number, 5);
    assert_null(test->exits[1].lost);
    launch_conclude(test->launch, LAUNCH_FAILED, "a/1 failed");
    launch_close(test->launch);
    test->launch = NULL;
    assert_int_equal(fake.final, YARN_FAILED);
    assert_string_equal(fake.final_text, "a/1 failed");
}

static void the_secret_is_in_no_command(void **state)
{
    struct test *test = *state;
    char text[200];
    place_two(test);
    FILE *file = fopen(fake.token_path[0], "re");
    assert_non_null(file);
    const size_t size = fread(text, 1, sizeof text, file);
    fclose(file);
    const char *secret = memmem(text, size, HOST_AGENT_SECRET, strlen(HOST_AGENT_SECRET));
    assert_non_null(secret);
    char digits[33] = "";
    memcpy(digits, text + size - 32, 32);
    assert_int_equal(strspn(digits, "0123456789abcdef"), 32);
    assert_null(strstr(fake.commands[0], digits));
}

static void surplus_containers_are_returned(void **state)
{
    struct test *test = *state;
    place_two(test);
    grant(0);
    assert_true(fake.was_stopped[2]);
    assert_int_equal(fake.launched, 2);
}

// The connection ends first, and YARN says later why.
static void a_memory_kill_is_the_programs_fault(void **state)
{
    struct test *test = *state;
    place_two(test);
    start_member(test, 1, "exec sleep 1000");
    AWAIT(test, test->started == 1);
    process_kill(&fake.agents[1]);
    struct buf text = {0};
    AWAIT(test, (text.size = 0, launch_describe(test->launch, 1, &text),
                 strstr(buf_text(&text), "closed") != NULL));
    buf_fini(&text);
    assert_int_equal(test->ended, 0);
    end(&fake.containers[1], YARN_MEMORY, true, "it took 1.2 GB of the 1 GB that it may have");
    assert_int_equal(test->ended, 1);
    assert_string_equal(test->text, "it took 1.2 GB of the 1 GB that it may have");
    assert_true(test->exits[1].is_charged);
    assert_string_equal(test->lost_host, "container_1 on odd");

    launch_move(test->launch, 1);
    assert_int_equal(fake.ask_count, 2);
    assert_int_equal(fake.asks[1].count, 1);
    grant(1);
    AWAIT(test, test->moved == 1);
    assert_string_equal(launch_get_place(test->launch, 1).host, "even");
    start_member(test, 1, "exit 0");
    AWAIT(test, test->ended == 2);
}

static void preemption_is_not_charged(void **state)
{
    struct test *test = *state;
    place_two(test);
    start_member(test, 0, "exec sleep 1000");
    AWAIT(test, test->started == 1);
    end(&fake.containers[0], YARN_PREEMPTED, false, "its place was given to another application");
    assert_int_equal(test->ended, 1);
    assert_false(test->exits[0].is_charged);
    assert_non_null(test->exits[0].lost);
}

// YARN does not always know: then its host is not used for a while.
static void a_connection_that_ends_without_a_reason_is_a_loss(void **state)
{
    struct test *test = *state;
    place_two(test);
    start_member(test, 0, "exec sleep 1000");
    AWAIT(test, test->started == 1);
    process_kill(&fake.agents[0]);
    AWAIT(test, test->ended == 1);
    assert_non_null(strstr(test->text, "YARN does not say why"));
    assert_int_equal(fake.excluded, 1);
    launch_move(test->launch, 0);
    assert_true(fake.was_stopped[0]);
    assert_int_equal(fake.ask_count, 2);
}

static void a_container_that_does_not_start_is_replaced_a_few_times(void **state)
{
    struct test *test = *state;
    fake.starts_agents = false;
    open_run(test, two, 1, NULL);
    assert_int_equal(launch_place_all(test->launch), WEFT_OK);
    struct yarn_container *container = grant(0);
    AWAIT(test, fake.launched == 1);
    assert_non_null(strstr(fake.commands[0], "--place 0.0"));
    end(container, YARN_NOT_STARTED, false, "the disk is full");
    assert_int_equal(fake.ask_count, 2);
    assert_int_equal(fake.excluded, 1);
    assert_non_null(strstr(test->news, "the disk is full (another container is asked for)"));
    container = grant(1);
    AWAIT(test, fake.launched == 2);
    assert_non_null(strstr(fake.commands[1], "--place 0.1"));  // an agent of the first is late
    end(container, YARN_LOST, false, "the node is lost");
    container = grant(2);
    AWAIT(test, fake.launched == 3);
    assert_int_equal(test->failure, WEFT_OK);
    end(container, YARN_NOT_STARTED, false, "the disk is full");
    assert_int_equal(test->failure, WEFT_UNAVAILABLE);
    assert_non_null(strstr(test->text, "the disk is full"));
    assert_int_equal(fake.ask_count, 3);
}

static void an_agent_that_cannot_connect_ends_the_run(void **state)
{
    struct test *test = *state;
    fake.starts_agents = false;
    open_run(test, two, 1, NULL);
    assert_int_equal(launch_place_all(test->launch), WEFT_OK);
    struct yarn_container *container = grant(0);
    AWAIT(test, fake.launched == 1);
    end(container, YARN_EXITED, true, "it exited with code 3: the agent cannot reach its launcher");
    assert_int_equal(test->failure, WEFT_UNAVAILABLE);
    assert_non_null(strstr(test->text, "container_0 on even"));
    assert_non_null(strstr(test->text, "cannot reach its launcher"));
}

static void what_cannot_be_granted_ends_the_run(void **state)
{
    struct test *test = *state;
    open_run(test, two, 2, NULL);
    assert_int_equal(launch_place_all(test->launch), WEFT_OK);
    fake.options.calls->refused(fake.options.owner, 0,
                                err_set(WEFT_RESOURCE_EXHAUSTED, "the queue allows 1 GB"));
    assert_int_equal(test->failure, WEFT_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(test->text, "the queue allows 1 GB"));
}

static void a_move_that_cannot_be_is_reported(void **state)
{
    struct test *test = *state;
    place_two(test);
    end(&fake.containers[0], YARN_LOST, false, "the node is lost");
    fake.next_ask = WEFT_INVALID_ARGUMENT;
    launch_move(test->launch, 0);
    assert_int_equal(test->not_moved, 1);
    assert_int_equal(test->not_moved_err, WEFT_INVALID_ARGUMENT);
    assert_non_null(strstr(test->text, "no node has that much"));
}

static void an_application_that_a_person_kills_was_interrupted(void **state)
{
    struct test *test = *state;
    place_two(test);
    fail_application(WEFT_ABORTED);
    assert_int_equal(test->failure, WEFT_CANCELLED);
    assert_non_null(strstr(test->text, "bob has killed it"));
}

static void what_is_waited_for_is_described(void **state)
{
    struct test *test = *state;
    struct buf text = {0};
    fake.starts_agents = false;
    open_run(test, two, 2, NULL);
    assert_int_equal(launch_place_all(test->launch), WEFT_OK);
    launch_describe(test->launch, 1, &text);
    assert_string_equal(buf_text(&text), "it waits for a container: the queue is full");
    AWAIT(test, strstr(test->news, "2 of 2 containers are waited for: the queue is full"));
    grant(0);
    AWAIT(test, fake.launched == 1);
    text.size = 0;
    launch_describe(test->launch, 0, &text);
    assert_non_null(strstr(buf_text(&text), "has not connected to 127.0.0.1:"));
    buf_fini(&text);
}

// One of two resource managers may be gone for good, with its name.
static void a_resource_manager_without_an_address_is_passed_over(void **state)
{
    static const char text[] =
        "<configuration><property><name>yarn.resourcemanager.ha.enabled</name><value>true</value>"
        "</property><property><name>yarn.resourcemanager.ha.rm-ids</name><value>a,b</value></property>"
        "<property><name>yarn.resourcemanager.hostname.a</name><value>no-such-name.invalid</value>"
        "</property><property><name>yarn.resourcemanager.hostname.b</name><value>127.0.0.1</value>"
        "</property></configuration>";
    struct test *test = *state;
    const struct launch_options options = {.url = "yarn:",
                                           .loop = test->loop,
                                           .nursery = test->nursery,
                                           .wants = two,
                                           .count = 2,
                                           .name = "count",
                                           .calls = &calls,
                                           .owner = test};
    char path[400];
    int fd;
    snprintf(path, sizeof path, "%s/yarn-site.xml", directory);
    assert_int_equal(file_create_private(path, &fd), WEFT_OK);
    assert_int_equal(file_write(fd, path, text, strlen(text)), WEFT_OK);
    file_close(fd);
    setenv("HADOOP_CONF_DIR", directory, 1);
    if (launch_open(&launch_yarn, &test->launch, &options))
        fail_msg("%s", err_text());
    unsetenv("HADOOP_CONF_DIR");
    unlink(path);
    assert_int_equal(launch_place_all(test->launch), WEFT_OK);
    grant(0);
    AWAIT(test, fake.launched == 1);
    assert_non_null(strstr(fake.commands[0], "--join 127.0.0.1:"));
}

// ---- Inside of YARN --------------------------------------------------------------------------------------------

static void write_credentials(const char *path)
{
    const struct hadoop_secret secret = {weft_text(YARN_INNER_TOKEN),
                                         weft_text("00112233445566778899aabbccddeeff")};
    struct token_file file = {0};
    struct buf bytes = {0};
    int fd;
    assert_true(VEC_PUSH(&file.secrets, secret));
    token_file_write(&bytes, &file);
    assert_int_equal(file_create_private(path, &fd), WEFT_OK);
    assert_int_equal(file_write(fd, path, bytes.data, bytes.size), WEFT_OK);
    file_close(fd);
    token_file_fini(&file);
    buf_fini(&bytes);
}

// The run as weft keep has it, in the directory of its container.
static void open_inside(struct test *test, const char *container)
{
    static const char *const settings[] = {"address=elsewhere", "name=ignored", NULL};
    const struct launch_options options = {.url = "yarn://127.0.0.1:1/small",
                                           .loop = test->loop,
                                           .nursery = test->nursery,
                                           .wants = two,
                                           .count = 1,
                                           .settings = settings,
                                           .is_kept = true,
                                           .calls = &calls,
                                           .owner = test};
    assert_int_equal(chdir(directory), 0);
    write_credentials("credentials");
    setenv("HADOOP_TOKEN_FILE_LOCATION", "credentials", 1);
    setenv("CONTAINER_ID", container, 1);
    fake.starts_agents = false;
    assert_int_equal(launch_open(&launch_yarn, &test->launch, &options), WEFT_OK);
    assert_int_equal(launch_place_all(test->launch), WEFT_OK);
}

static void close_inside(void)
{
    unlink("credentials");
    unlink("weft-token");
    assert_int_equal(chdir("/"), 0);
    unsetenv("HADOOP_TOKEN_FILE_LOCATION");
    unsetenv("CONTAINER_ID");
}

static void inside_of_yarn_the_token_of_the_master_is_used(void **state)
{
    struct test *test = *state;
    open_inside(test, "container_1700000000000_0007_01_000001");
    assert_string_equal(fake.options.token_file, "credentials");
    assert_true(fake.options.patience_ms <
                10 * 60 * 1000);  // YARN's own, before it starts another attempt
    assert_true(fake.options.patience_ms > 0);
    assert_int_equal(access("weft-token", R_OK), 0);
    grant(0);
    AWAIT(test, fake.launched == 1);
    assert_non_null(strstr(fake.commands[0],
                           "--join 127.0.0.1:"));  // not the address of the machine that sent it
    close_inside();
}

static void elapsed(void *owner)
{
    *(bool *)owner = true;
}

static void a_second_attempt_waits_until_the_first_one_is_gone(void **state)
{
    struct test *test = *state;
    bool is_later = false;
    open_inside(test, "container_1700000000000_0007_02_000001");
    assert_non_null(strstr(test->news, "this is attempt 2"));
    const uint64_t begun_ns = clock_now_ns();
    grant(0);
    struct loop_timer *timer =
        loop_timer_new(test->loop, FAR_LOST_REST_MS - 1000, 0, elapsed, &is_later);
    AWAIT(test, is_later);
    assert_int_equal(fake.launched, 0);
    AWAIT(test, fake.launched == 1);
    assert_true(clock_now_ns() - begun_ns >= (uint64_t)(FAR_LOST_REST_MS - 500) * 1000000);
    loop_timer_free(timer);
    close_inside();
}

int main(int argc, char **argv)
{
    if (argc == 4)
        return live_as_agent(argv);
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(needs_of_members_become_asks),
        TEST(members_run_in_containers),
        TEST(the_secret_is_in_no_command),
        TEST(surplus_containers_are_returned),
        TEST(a_memory_kill_is_the_programs_fault),
        TEST(preemption_is_not_charged),
        TEST(a_connection_that_ends_without_a_reason_is_a_loss),
        TEST(a_container_that_does_not_start_is_replaced_a_few_times),
        TEST(an_agent_that_cannot_connect_ends_the_run),
        TEST(what_cannot_be_granted_ends_the_run),
        TEST(a_move_that_cannot_be_is_reported),
        TEST(an_application_that_a_person_kills_was_interrupted),
        TEST(what_is_waited_for_is_described),
        TEST(a_resource_manager_without_an_address_is_passed_over),
        TEST(inside_of_yarn_the_token_of_the_master_is_used),
        TEST(a_second_attempt_waits_until_the_first_one_is_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
