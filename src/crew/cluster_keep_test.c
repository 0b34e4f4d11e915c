// Tests of clusters that a launcher keeps: how they are sent, found again, and end.
#include "crew/cluster_keep.h"

#include "crew/cluster_up.h"
#include "crew/cluster_wait.h"
#include "crew/keep_testing.h"
#include "pack/tar.h"

static int begin(void **state)
{
    memset(&kept, 0, sizeof kept);
    memset(&folder, 0, sizeof folder);
    kept.state = KEEP_RUNNING;
    kept.attempt = 1;
    if (testing_make_folder(state) != 0)
        return -1;
    setenv("XDG_STATE_HOME", testing_folder, 1);
    return chdir(testing_folder);
}

static int end(void **state)
{
    unsetenv("XDG_STATE_HOME");
    return chdir("/") == 0 ? testing_remove_folder(state) : -1;
}

static void send_job(const char *name, const char *job)
{
    struct crew_spec spec = {0};
    struct crew_flags flags = {0};
    struct buf id = {0};
    const struct cluster_run_options options = {
        .on = "fake:", .grace_ms = 100, .keep_going = true, .timeout_ms = 60000};
    write_file("job.json", job);
    assert_int_equal(crew_spec_load(&spec, "job.json"), WEFT_OK);
    assert_int_equal(crew_spec_resolve(&spec, &flags), WEFT_OK);
    if (cluster_keep_send(name, &spec, &options, &id))
        fail_msg("%s", err_text());
    assert_string_equal(buf_text(&id), KEPT_ID);
    buf_fini(&id);
    crew_flags_fini(&flags);
    crew_spec_fini(&spec);
}

static void send_simple(const char *name)
{
    send_job(name, "{\"roles\": {\"a\": 1}, \"command\": [\"true\"]}");
}

// ---- Sending ------------------------------------------------------------------------------------------

static size_t tar_at;

static weft_err read_tar(void *owner, void *data, size_t size, size_t *got)
{
    (void)owner;
    *got = size < sizeof kept.tar - tar_at ? size : sizeof kept.tar - tar_at;
    memcpy(data, kept.tar + tar_at, *got);
    tar_at += *got;
    return WEFT_OK;
}

// "PATH=CONTENT\n" of each file, * after the path of a program; "PATH/\n" of each directory.
static void list_tar(struct buf *out)
{
    struct tar_entry entry;
    bool is_end = false;
    char bytes[4000];
    size_t got;
    tar_at = 0;
    struct tar_reader *reader = tar_reader_new(read_tar, NULL, "sent");
    while (!tar_reader_next(reader, &entry, &is_end) && !is_end) {
        buf_format(out, "%s%s", entry.path,
                   entry.kind == TAR_DIRECTORY ? "/"
                   : entry.is_executable       ? "*="
                                               : "=");
        if (entry.kind == TAR_FILE && !tar_reader_read(reader, bytes, sizeof bytes, &got))
            buf_append(out, bytes, got);
        buf_append_text(out, "\n");
    }
    assert_true(is_end);
    tar_reader_free(reader);
}

static void expect_text(struct buf *text, const char *part)
{
    if (!strstr(buf_text(text), part))
        fail_msg("\"%s\" is not in: %s", part, buf_text(text));
}

static void files_travel_under_numbers_and_members_find_their_names(void **state)
{
    (void)state;
    struct buf sent = {0};
    assert_int_equal(file_make_directory("tree/below"), WEFT_OK);
    write_file("tree/one", "1");
    write_file("tree/below/two", "2");
    write_file("data", "d");
    write_file("go.sh", "#!/bin/sh");
    assert_int_equal(chmod("go.sh", 0700), 0);
    send_job("blue", "{\"roles\": {\"a\": {\"files\": {\"x/d\": \"data\", \"t\": \"tree\"}},"
                     "\"b\": {\"instances\": 2, \"command\": [\"sh\"]}},"
                     "\"settings\": {\"tags\": \"x\"}, \"command\": [\"./go.sh\"]}");
    list_tar(&sent);
    expect_text(&sent, "0=d\n1/\n1/below/two=2\n1/one=1\n2*=#!/bin/sh\n");
    expect_text(&sent, "\njob.json={");
    expect_text(&sent, "\"files\":{\"x/d\":\"0\",\"t\":\"1\",\"go.sh\":\"2\"}");
    expect_text(&sent, "\"on\":\"inner:\"");
    expect_text(&sent, "\"settings\":{\"tags\":\"x\"}");
    assert_string_equal(kept.files, "weft-files: ");
    assert_string_equal(kept.words,
                        "keep --shelf=inner:shelf --logs={logs} --spec=weft-files/job.json "
                        "--name=blue --timeout=60000ms --grace=100ms --keep-going ");
    buf_fini(&sent);
}

static void an_archive_travels_once_under_its_hash(void **state)
{
    (void)state;
    write_file("env.tar", "packed");
    send_job(NULL, "{\"roles\": {\"a\": 1, \"b\": 1}, \"archive\": \"env.tar\", \"command\": "
                   "[\"true\"]}");
    assert_string_equal(kept.files, "weft-files: weft-archive-0:+ ");
    assert_non_null(strstr(kept.words, "--archive=a=weft-archive-0 --archive=b=weft-archive-0 "));
    assert_non_null(strstr(kept.words, "--name=" KEPT_ID " "));
}

static void what_is_missing_is_named_and_nothing_is_submitted(void **state)
{
    (void)state;
    struct crew_spec spec = {0};
    struct crew_flags flags = {0};
    struct buf id = {0};
    const struct cluster_run_options options = {.on = "fake:"};
    write_file("job.json", "{\"roles\": {\"a\": {\"files\": {\"x\": \"nope\"}}}, \"command\": "
                           "[\"true\"]}");
    assert_int_equal(crew_spec_load(&spec, "job.json"), WEFT_OK);
    assert_int_equal(crew_spec_resolve(&spec, &flags), WEFT_OK);
    assert_int_equal(cluster_keep_send("blue", &spec, &options, &id), WEFT_NOT_FOUND);
    assert_non_null(strstr(err_text(), "roles.a: files: there is no nope"));
    assert_int_equal(kept.submits, 0);
    assert_int_equal(kept.abandons, 1);
    err_clear();
    buf_fini(&id);
    crew_flags_fini(&flags);
    crew_spec_fini(&spec);
}

static weft_err try_to_send(const char *name, const char *word)
{
    struct crew_spec spec = {0};
    const char *const program[] = {"echo", word, NULL};
    struct crew_flags flags = {.program = program};
    struct buf id = {0};
    const struct cluster_run_options options = {.on = "fake:"};
    assert_int_equal(crew_spec_add_role_flag(&spec, "a=1"), WEFT_OK);
    assert_int_equal(crew_spec_resolve(&spec, &flags), WEFT_OK);
    const weft_err err = cluster_keep_send(name, &spec, &options, &id);
    buf_fini(&id);
    crew_spec_fini(&spec);
    return err;
}

static void one_that_was_refused_leaves_nothing(void **state)
{
    (void)state;
    kept.submit_err = WEFT_INVALID_ARGUMENT;
    assert_int_equal(try_to_send("blue", "x"), WEFT_INVALID_ARGUMENT);
    assert_int_equal(kept.abandons, 1);
    assert_string_equal(err_text(), "no");
    err_clear();
}

static void one_that_may_run_after_all_is_named(void **state)
{
    (void)state;
    kept.submit_err = WEFT_UNAVAILABLE;
    assert_int_equal(try_to_send("blue", "x"), WEFT_UNAVAILABLE);
    assert_non_null(strstr(err_text(),
                           "no\n  the launcher may have taken it nevertheless, as " KEPT_ID
                           "\n  try: weft cluster down --on fake: " KEPT_ID));
    err_clear();
}

static void nothing_is_sent_that_could_not_be_remembered(void **state)
{
    (void)state;
    write_file("file", "");
    setenv("XDG_STATE_HOME", testing_path("file"), 1);
    assert_int_not_equal(try_to_send(NULL, "x"), WEFT_OK);
    assert_int_equal(kept.submits, 0);
    unsetenv("XDG_STATE_HOME");
    char *home = strdup(getenv("HOME") ? getenv("HOME") : "/");
    unsetenv("HOME");
    assert_int_equal(try_to_send(NULL, "x"), WEFT_FAILED_PRECONDITION);
    assert_int_equal(kept.submits, 0);
    setenv("HOME", home, 1);
    free(home);
    err_clear();
}

// It runs, and the way to it is in the sentence: nothing else would say its id.
static void one_that_runs_and_cannot_be_remembered_is_named(void **state)
{
    (void)state;
    assert_int_equal(file_make_directory("weft/clusters/blue/kept.json"), WEFT_OK);
    assert_int_not_equal(try_to_send("blue", "x"), WEFT_OK);
    assert_int_equal(kept.submits, 1);
    assert_non_null(strstr(err_text(), "the cluster runs, as " KEPT_ID));
    assert_non_null(strstr(err_text(), "try: weft cluster status --on fake: " KEPT_ID));
    err_clear();
}

// JSON has no other texts, so these would arrive as something else.
static void bytes_that_are_not_utf_8_are_refused(void **state)
{
    (void)state;
    assert_int_equal(try_to_send("blue", "caf\xe9"), WEFT_INVALID_ARGUMENT);
    assert_non_null(strstr(err_text(), "roles.a: command: "));
    assert_int_equal(kept.submits, 0);
    assert_int_equal(try_to_send("blue", "caf\xc3\xa9 \xef\xbf\xbd \\ufffd"), WEFT_OK);
    err_clear();
}

// ---- Finding it again ----------------------------------------------------------------------------------------

static void expect_status(const char *name, const char *on, const char *part)
{
    struct buf text = {0};
    size_t count = 0;
    if (cluster_status(&text, name, on, false, &count))
        fail_msg("%s", err_text());
    assert_int_equal(count, 1);
    expect_text(&text, part);
    buf_fini(&text);
}

#define MEMBERS(ended, code, state)                                                                \
    "{\"name\":\"blue\",\"ended\":" ended ",\"exit_code\":" code ",\"members\":[{\"member\":\"a/"  \
    "0\",\"state\":\"" state "\",\"pid\":7,\"address\":\"h:1\",\"restarts\":0,\"exit_code\":" code \
    ",\"since\":1}]}\n"

static void it_is_found_by_name_by_id_and_by_its_launcher(void **state)
{
    (void)state;
    send_simple("blue");
    kept.state = KEEP_WAITING;
    kept.why = "the queue is full";
    expect_status("blue", NULL, "waiting");
    expect_status("blue", NULL, "  the queue is full\n");
    kept.state = KEEP_RUNNING;
    write_file("shelf/state.json", MEMBERS("false", "0", "running"));
    expect_status("blue", NULL, "a/0          running  7");
    expect_status(KEPT_ID, NULL, "blue       a/0          running");
    expect_status(KEPT_ID, "fake:", KEPT_ID "     a/0          running");
    expect_status(NULL, NULL, "blue       a/0          running");
    struct buf text = {0};
    size_t count;
    assert_int_equal(cluster_status(&text, "nope", NULL, false, &count), WEFT_NOT_FOUND);
    assert_int_equal(cluster_status(&text, "x", "local:", false, &count), WEFT_INVALID_ARGUMENT);
    assert_non_null(strstr(err_text(), "keeps no clusters by itself"));
    err_clear();
    buf_fini(&text);
}

static void one_that_cannot_be_asked_about_is_listed_nevertheless(void **state)
{
    (void)state;
    send_simple("blue");
    kept.report_err = WEFT_UNAVAILABLE;
    expect_status(NULL, NULL, "blue       -            unknown");
    expect_status(NULL, NULL, "the launcher does not know fake_1");
}

static void a_name_is_free_again_after_the_end(void **state)
{
    (void)state;
    send_simple("blue");
    assert_int_equal(cluster_keep_check_name("blue"), WEFT_ALREADY_EXISTS);
    assert_non_null(strstr(err_text(), "the cluster blue is up already"));
    err_clear();
    kept.state = KEEP_SUCCEEDED;
    assert_int_equal(cluster_keep_check_name("blue"), WEFT_OK);
    assert_int_equal(cluster_keep_check_name("green"), WEFT_OK);
}

// ---- The end -------------------------------------------------------------------------------------------------

static weft_err wait_for(struct buf *talk, int *exit_code)
{
    talk->size = 0;
    return cluster_wait("blue", NULL, 50, talk, exit_code);
}

static void the_end_is_that_of_the_run(void **state)
{
    (void)state;
    struct buf talk = {0};
    int exit_code = -1;
    send_simple("blue");
    assert_int_equal(wait_for(&talk, &exit_code), WEFT_DEADLINE_EXCEEDED);
    kept.state = KEEP_SUCCEEDED;
    write_file("shelf/state.json", MEMBERS("true", "0", "done"));
    assert_int_equal(wait_for(&talk, &exit_code), WEFT_OK);
    assert_int_equal(exit_code, 0);
    kept.state = KEEP_FAILED;
    write_file("shelf/state.json", MEMBERS("true", "7", "failed"));
    write_file("shelf/a_0.log", "first\nlast\n");
    assert_int_equal(wait_for(&talk, &exit_code), WEFT_OK);
    assert_int_equal(exit_code, 7);
    expect_text(&talk, "weft: a/0 failed with exit code 7; its last lines:\n  first\n  last\n");
    // Forgotten by the launcher, and not by the shelf.
    kept.report_err = WEFT_NOT_FOUND;
    assert_int_equal(wait_for(&talk, &exit_code), WEFT_OK);
    assert_int_equal(exit_code, 7);
    buf_fini(&talk);
}

// FAILED, KILLED and lost are three things.
static void an_end_without_a_word_has_its_reason(void **state)
{
    (void)state;
    struct buf talk = {0};
    int exit_code = -1;
    send_simple("blue");
    kept.why = "no such queue";
    kept.state = KEEP_FAILED;
    kept.attempt = 0;
    assert_int_equal(wait_for(&talk, &exit_code), WEFT_FAILED_PRECONDITION);
    assert_non_null(strstr(err_text(), "could not start: no such queue"));
    expect_status("blue", NULL, "failed");
    kept.attempt = 2;
    write_file("shelf/state.json", MEMBERS("false", "0", "running"));
    assert_int_equal(wait_for(&talk, &exit_code), WEFT_UNAVAILABLE);
    assert_non_null(strstr(err_text(), "fake logs " KEPT_ID));
    expect_status("blue", NULL, "a/0          lost");
    kept.state = KEEP_KILLED;
    assert_int_equal(wait_for(&talk, &exit_code), WEFT_CANCELLED);
    assert_non_null(strstr(err_text(), "was killed"));
    write_file("shelf/state.json",
               "{\"ended\":true,\"exit_code\":2,\"why\":\"too large\",\"members\":[]}");
    assert_int_equal(wait_for(&talk, &exit_code), WEFT_OK);
    assert_int_equal(exit_code, 2);
    expect_text(&talk, "weft: too large\n");
    err_clear();
    buf_fini(&talk);
}

// The process that looked after it was lost between its last word and the launcher's.
static void a_run_that_has_ended_is_not_run_again(void **state)
{
    (void)state;
    static const char *const program[] = {"touch", "ran-again", NULL};
    struct crew_spec spec = {0};
    struct crew_flags flags = {.program = program};
    struct cluster_run_options options = {.name = "blue"};
    struct buf shelf = {0};
    int exit_code = -1;
    assert_int_equal(crew_spec_add_role_flag(&spec, "a=1"), WEFT_OK);
    assert_int_equal(crew_spec_resolve(&spec, &flags), WEFT_OK);
    send_simple("blue");
    write_file("shelf/state.json", MEMBERS("true", "7", "failed"));
    buf_append_text(&shelf, SHELF_SCHEME);
    buf_append_text(&shelf, testing_path("shelf"));
    assert_int_equal(
        cluster_keep_run(&spec, &options, buf_text(&shelf), testing_path("logs"), &exit_code),
        WEFT_OK);
    assert_int_equal(exit_code, 7);
    assert_int_not_equal(access(testing_path("logs"), F_OK), 0);  // nothing was begun
    buf_fini(&shelf);
    crew_spec_fini(&spec);
}

static void down_asks_the_members_and_keeps_their_logs(void **state)
{
    (void)state;
    struct buf shelf = {0};
    size_t count;
    send_simple("blue");
    kept.ends_when_asked = true;
    assert_int_equal(cluster_down("blue", NULL, &shelf), WEFT_OK);
    assert_int_equal(kept.kills, 0);
    expect_file("shelf/stop", "stop\n");
    expect_text(&shelf, SHELF_SCHEME);
    assert_int_equal(cluster_status(&shelf, "blue", NULL, false, &count), WEFT_NOT_FOUND);
    assert_int_equal(cluster_down("blue", NULL, &shelf), WEFT_NOT_FOUND);
    err_clear();
    buf_fini(&shelf);
}

static void down_kills_one_that_waits_or_cannot_be_asked(void **state)
{
    (void)state;
    struct buf shelf = {0};
    send_simple("blue");
    kept.state = KEEP_WAITING;
    assert_int_equal(cluster_down("blue", NULL, &shelf), WEFT_OK);
    assert_int_equal(kept.kills, 1);
    kept.state = KEEP_RUNNING;
    folder.failures = 1;
    assert_int_equal(cluster_down(KEPT_ID, "fake:", &shelf), WEFT_OK);
    assert_int_equal(kept.kills, 2);
    buf_fini(&shelf);
}

// More members than fit in a megabyte, and a grace that is almost as long as a number of 32 bits can say.
static void a_large_state_is_read_and_a_long_grace_is_waited_for(void **state)
{
    (void)state;
    struct buf text = {0}, shelf = {0}, talk = {0};
    size_t count = 0;
    int exit_code = 0;
    send_simple("blue");
    buf_append_text(
        &text,
        "{\"name\":\"blue\",\"ended\":true,\"exit_code\":0,\"grace_ms\":4294967295,\"members\":[");
    for (int i = 0; i < 12000; i++)
        buf_format(
            &text,
            "%s{\"member\":\"a/%d\",\"state\":\"done\",\"pid\":7,\"address\":\"host:1\",\"restarts\":0,\"exit_code\":0,\"since\":1}",
            i ? "," : "", i);
    buf_append_text(&text, "]}\n");
    assert_true(text.size > 1 << 20);
    write_file("shelf/state.json", buf_text(&text));
    assert_int_equal(cluster_status(&talk, "blue", NULL, false, &count), WEFT_OK);
    expect_text(&talk, "a/11999");
    kept.state = KEEP_SUCCEEDED;
    assert_int_equal(wait_for(&talk, &exit_code), WEFT_OK);
    kept.state = KEEP_RUNNING;
    kept.ends_after = 2;
    assert_int_equal(cluster_down("blue", NULL, &shelf), WEFT_OK);
    assert_int_equal(kept.kills, 0);
    buf_fini(&text);
    buf_fini(&shelf);
    buf_fini(&talk);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(files_travel_under_numbers_and_members_find_their_names),
        TEST(an_archive_travels_once_under_its_hash),
        TEST(what_is_missing_is_named_and_nothing_is_submitted),
        TEST(one_that_was_refused_leaves_nothing),
        TEST(one_that_may_run_after_all_is_named),
        TEST(nothing_is_sent_that_could_not_be_remembered),
        TEST(one_that_runs_and_cannot_be_remembered_is_named),
        TEST(bytes_that_are_not_utf_8_are_refused),
        TEST(it_is_found_by_name_by_id_and_by_its_launcher),
        TEST(one_that_cannot_be_asked_about_is_listed_nevertheless),
        TEST(a_name_is_free_again_after_the_end),
        TEST(the_end_is_that_of_the_run),
        TEST(an_end_without_a_word_has_its_reason),
        TEST(a_run_that_has_ended_is_not_run_again),
        TEST(down_asks_the_members_and_keeps_their_logs),
        TEST(down_kills_one_that_waits_or_cannot_be_asked),
        TEST(a_large_state_is_read_and_a_long_grace_is_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
