// Tests of agents that connect to their launcher by themselves: real agents, each a process, and a launcher in this one.

#include "launch/far/far.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "launch/far/host_agent.h"
#include "sys/loop/loop_testing.h"
#include "sys/process/process.h"
#include "sys/time/clock.h"
#include "wire/hadoop/token_file.h"

enum { MEMBERS = 2, AGENTS_MAX = 4 };

struct test {
    struct loop *loop;
    struct nursery *nursery;
    struct launch *launch;
    struct process agents[AGENTS_MAX];
    char directory[64], token_path[96], join[32];
    bool is_placed, has_failed;
    size_t started, ended, moved, cut;
    size_t cut_host;
    struct launch_exit exits[MEMBERS];
    char lost[128];
    struct buf output;
};

// ---- The launcher ----------------------------------------------------------------------------------------------

static void placed(void *owner)
{
    ((struct test *)owner)->is_placed = true;
}

static void failed(void *owner, weft_err err)
{
    (void)err;
    ((struct test *)owner)->has_failed = true;
}

static void moved(void *owner, size_t member)
{
    (void)member;
    ((struct test *)owner)->moved++;
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

static void not_moved(void *owner, size_t member, weft_err err)
{
    not_started(owner, member, err);
}

static void output(void *owner, size_t member, unsigned which, weft_bytes bytes)
{
    struct test *test = owner;
    (void)member, (void)which;
    buf_append(&test->output, bytes.data, bytes.size);
}

static void ended(void *owner, size_t member, const struct launch_exit *exit)
{
    struct test *test = owner;
    test->ended++;
    test->exits[member] = *exit;
    if (exit->lost)
        snprintf(test->lost, sizeof test->lost, "%s", exit->lost);
}

static void lost(void *owner, const char *host, const char *why)
{
    (void)owner, (void)host, (void)why;
}

static void news(void *owner, const char *text)
{
    (void)owner, (void)text;
}

static void cut(void *owner, size_t host)
{
    struct test *test = owner;
    test->cut++;
    test->cut_host = host;
}

static const struct launch_calls calls = {placed,      failed, moved, not_moved, started,
                                          not_started, output, ended, lost,      news};
static const struct launcher no_launcher = {.scheme = "test"};
static const struct far_route route = {.cut = cut, .connecting_max = MEMBERS};

// Far away is this machine: the launcher listens on all interfaces.
static int set_up(void **state)
{
    static const char *const hosts[] = {"one", "two"};
    static const struct launch_want wants[MEMBERS] = {{.name = "a/0"}, {.name = "a/1"}};
    struct test *test = calloc(1, sizeof *test);
    *state = test;
    snprintf(test->directory, sizeof test->directory, "/tmp/weft-test-XXXXXX");
    assert_non_null(mkdtemp(test->directory));
    setenv("TMPDIR", test->directory, 1);
    setenv("WEFT_AGENT", "/proc/self/exe", 1);
    setenv("WEFT_TOKEN", "00112233445566778899aabbccddeeff", 1);
    test->nursery = nursery_new();
    test->loop = loop_new(NULL, NULL);
    const struct launch_options options = {.loop = test->loop,
                                           .nursery = test->nursery,
                                           .wants = wants,
                                           .count = MEMBERS,
                                           .calls = &calls,
                                           .owner = test};
    assert_int_equal(far_open(&test->launch, &no_launcher, &options, &route, test, hosts, MEMBERS),
                     WEFT_OK);
    snprintf(test->join, sizeof test->join, "127.0.0.1:%u", far_port(test->launch));
    return 0;
}

static int tear_down(void **state)
{
    struct test *test = *state;
    struct process_exit exit;
    far_close(test->launch);
    for (size_t i = 0; i < AGENTS_MAX; i++)
        if (test->agents[i].pid) {
            process_kill(&test->agents[i]);
            process_wait(&test->agents[i], &exit);
        }
    loop_free(test->loop);
    nursery_free(test->nursery);
    buf_fini(&test->output);
    unlink(test->token_path);
    assert_int_equal(rmdir(test->directory), 0);  // agents leave nothing
    free(test);
    return 0;
}

// ---- Agents ----------------------------------------------------------------------------------------------------

static void write_file(struct test *test, const void *data, size_t size)
{
    snprintf(test->token_path, sizeof test->token_path, "%s/token", test->directory);
    FILE *file = fopen(test->token_path, "we");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    fclose(file);
    chmod(test->token_path, 0600);
}

static void write_token(struct test *test)
{
    char text[SECRET_TEXT_BYTES];
    secret_write(far_secret(test->launch), text);
    write_file(test, text, strlen(text));
}

// This program again: libuv, which has a loop here, does not bear to be forked.
static struct process *start_agent(struct test *test, const char *place)
{
    size_t i = 0;
    while (i < AGENTS_MAX && test->agents[i].pid)
        i++;
    assert_true(i < AGENTS_MAX);
    const char *const words[] = {"far_join_test", test->join, place, test->token_path, NULL};
    const struct process_spec spec = {.program = PROCESS_SELF, .arguments = words};
    assert_int_equal(process_spawn(&spec, &test->agents[i]), WEFT_OK);
    return &test->agents[i];
}

static int live_as_agent(char *const *words)
{
    // Its sentences for people would disturb the report of the tests.
    if (!freopen("/dev/null", "w", stderr))
        return 99;
    return host_agent_run(&(struct host_agent_options){words[1], words[2], words[3]});
}

static int await_exit(struct test *test, struct process *agent)
{
    struct process_exit exit;
    AWAIT(test, process_has_ended(agent, 0));
    process_wait(agent, &exit);
    assert_false(exit.was_signalled);
    return exit.number;
}

static void start_member(struct test *test, size_t member, const char *script)
{
    const char *const words[] = {"sh", "-c", script, NULL};
    const char *const environment[] = {"MINE=yes", NULL};
    const struct launch_start start = {
        .arguments = words, .environment = environment, .input = NURSERY_INPUT_NONE};
    assert_int_equal(far_start(test->launch, member, &start), WEFT_OK);
}

static void place_all(struct test *test)
{
    write_token(test);
    assert_int_equal(far_place(test->launch), WEFT_OK);
    start_agent(test, "0.0");
    start_agent(test, "1.0");
    AWAIT(test, test->is_placed);
}

// ---- Tests -----------------------------------------------------------------------------------------------------

static void members_run_where_agents_come_from(void **state)
{
    struct test *test = *state;
    struct launch_place place;
    place_all(test);
    far_get(test->launch, 1, &place);
    assert_string_equal(place.host, "two");
    assert_string_equal(place.address, "127.0.0.1");
    assert_true(place.ports[0] > 0);
    start_member(test, 0, "echo $MINE $WEFT_LAUNCHER; exit 3");
    start_member(test, 1, "exec sleep 1000");
    AWAIT(test, test->ended == 1 && test->started == 2);
    assert_string_equal(buf_text(&test->output), "yes 127.0.0.1\n");
    assert_true(test->exits[0].process.is_known);
    assert_int_equal(test->exits[0].process.number, 3);
    far_signal(test->launch, 1, 15);
    AWAIT(test, test->ended == 2);
    assert_true(test->exits[1].process.was_signalled);
}

// More than fits into sockets, pipes and windows.
static void much_output_arrives_whole(void **state)
{
    struct test *test = *state;
    place_all(test);
    start_member(test, 0, "head -c 5000000 /dev/zero; echo end");
    AWAIT(test, test->ended == 1);
    assert_int_equal(test->output.size, 5000004);
    assert_memory_equal(test->output.data + 5000000, "end\n", 4);
}

static void an_agent_that_is_killed_is_asked_for_and_its_member_moves(void **state)
{
    struct test *test = *state;
    place_all(test);
    start_member(test, 1, "exec sleep 1000");
    AWAIT(test, test->started == 1);
    process_kill(&test->agents[1]);
    AWAIT(test, test->cut == 1);
    assert_int_equal(test->cut_host, 1);
    assert_int_equal(test->ended, 0);  // until the launcher knows the reason
    far_end_host(test->launch, 1, WEFT_UNAVAILABLE, "it took too much memory", true);
    assert_int_equal(test->ended, 1);
    assert_string_equal(test->lost, "it took too much memory");
    assert_true(test->exits[1].is_charged);

    // Its next life: an agent of the earlier one comes too late.
    far_move_to(test->launch, 1, 1, "three");
    assert_int_not_equal(await_exit(test, start_agent(test, "1.7")), 0);
    struct buf place = {0};
    far_append_place(test->launch, 1, &place);
    assert_string_equal(buf_text(&place), "1.1");
    start_agent(test, buf_text(&place));
    buf_fini(&place);
    AWAIT(test, test->moved == 1);
    start_member(test, 1, "exit 0");
    AWAIT(test, test->ended == 2);
    assert_null(test->exits[1].lost);
    assert_false(test->exits[1].is_charged);
}

static void agents_without_the_token_or_a_place_are_refused(void **state)
{
    static const char wrong[] = "ffeeddccbbaa99887766554433221100";
    struct test *test = *state;
    assert_int_equal(far_place(test->launch), WEFT_OK);
    write_file(test, wrong, sizeof wrong - 1);
    struct process *agent = start_agent(test, "0.0");
    assert_int_not_equal(await_exit(test, agent), 0);
    write_token(test);
    agent = start_agent(test, "2.0");
    assert_int_equal(await_exit(test, agent), 4);
    assert_false(test->is_placed || test->has_failed || test->cut);
}

static void the_token_may_be_a_secret_of_hadoop(void **state)
{
    struct test *test = *state;
    char text[SECRET_TEXT_BYTES];
    struct token_file file = {0};
    struct buf bytes = {0};
    secret_write(far_secret(test->launch), text);
    const struct hadoop_secret secret = {{HOST_AGENT_SECRET, strlen(HOST_AGENT_SECRET)},
                                         {text, strlen(text)}};
    assert_true(VEC_PUSH(&file.secrets, secret));
    token_file_write(&bytes, &file);
    write_file(test, bytes.data, bytes.size);
    assert_int_equal(far_place(test->launch), WEFT_OK);
    start_agent(test, "0.0");
    start_agent(test, "1.0");
    AWAIT(test, test->is_placed);
    token_file_fini(&file);
    bytes.size = 0;
    token_file_write(&bytes, &file);
    write_file(test, bytes.data, bytes.size);
    assert_int_not_equal(await_exit(test, start_agent(test, "0.0")), 0);  // it has no such secret
    buf_fini(&bytes);
}

int main(int argc, char **argv)
{
    if (argc == 4)
        return live_as_agent(argv);
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(members_run_where_agents_come_from),
        TEST(much_output_arrives_whole),
        TEST(an_agent_that_is_killed_is_asked_for_and_its_member_moves),
        TEST(agents_without_the_token_or_a_place_are_refused),
        TEST(the_token_may_be_a_secret_of_hadoop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
