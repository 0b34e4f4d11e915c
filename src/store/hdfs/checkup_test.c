// Tests of finding out whether an HDFS can be used, with a name node and a data node of our own.
#include "store/hdfs/checkup.h"

#include "store/hdfs/hdfs_testing.h"
#include "sys/file/folder_testing.h"

enum { FOUND_MAX = 8, TIMEOUT_MS = 2000 };

static struct {
    char check[100], text[ERR_TEXT_BYTES_MAX];
    weft_err err;
} found[FOUND_MAX];
static size_t found_count;

static void take(void *owner, const char *check, weft_err err, const char *text)
{
    (void)owner;
    assert_true(found_count < FOUND_MAX);
    snprintf(found[found_count].check, sizeof found->check, "%s", check);
    snprintf(found[found_count].text, sizeof found->text, "%s", text);
    found[found_count++].err = err;
}

static void examine(const char *url)
{
    const struct hdfs_checkup checkup = {.url = url, .timeout_ms = TIMEOUT_MS, .found = take};
    found_count = 0;
    hdfs_checkup(&checkup);
    assert_string_equal(err_text(), "");
}

static void expect(size_t i, const char *check, weft_err err, const char *words)
{
    assert_true(i < found_count);
    assert_string_equal(found[i].check, check);
    if (found[i].err != err || !strstr(found[i].text, words))
        fail_msg("%s is %d, not %d: %s", check, (int)found[i].err, (int)err, found[i].text);
}

static const char *node_name(int node)
{
    static char name[40];
    snprintf(name, sizeof name, "127.0.0.1:%u", fake_nodes[node].rpc);
    return name;
}

static void expect_no_trial(void)
{
    for (int i = 0; i < FAKE_FILES_MAX; i++)
        if (strstr(fake->files[i].path, "weft"))
            fail_msg("%s is left", fake->files[i].path);
}

static void a_file_is_written_and_read(void **state)
{
    (void)state;
    fake_start(1);
    fake_add("/tmp", true, 0777);
    examine("hdfs:///");
    assert_int_equal(found_count, 3);
    expect(0, "hadoop", WEFT_OK, "1 name node, simple authentication, user ");
    expect(1, node_name(0), WEFT_OK, "active, Hadoop 3.4.1, 1 data node live and 1 dead, ");
    // It has no data node that speaks its own protocol.
    expect(2, "files", WEFT_OK, "/tmp/weft-doctor-");
    expect(2, "files", WEFT_OK, "read by WebHDFS, as no data node gives its blocks (slower), in ");
    assert_int_equal(fake->uploads, 1);
    expect_no_trial();
    fake_end();
}

static void the_directory_may_be_named(void **state)
{
    (void)state;
    fake_start(1);
    fake_add("/there", true, 0777);
    fake_add("/file", false, 0777);
    examine("hdfs:///there/");
    expect(2, "files", WEFT_OK, "/there/weft-doctor-");
    examine("hdfs:///file");
    expect(2, "files", WEFT_FAILED_PRECONDITION, "/file is a file\n  try: --on hdfs://");
    examine("hdfs:///away");
    expect(2, "files", WEFT_NOT_FOUND, "there is no /away in HDFS\n  try: --on hdfs://");
    fake_end();
}

static void one_of_two_name_nodes_is_in_standby(void **state)
{
    (void)state;
    fake_start(2);
    fake->is_standby[0] = true;
    examine("hdfs://fake/");
    assert_int_equal(found_count, 4);
    expect(0, "hadoop", WEFT_OK, "2 name nodes");
    expect(1, node_name(0), WEFT_OK, "standby, Hadoop 3.4.1");
    expect(2, node_name(1), WEFT_OK, "active, ");
    expect(3, "files", WEFT_OK, "read ");
    fake_end();
}

static void a_name_node_that_is_away_hides_nothing(void **state)
{
    (void)state;
    fake_start(2);
    kill(fake_nodes[0].servers[0], SIGKILL);
    waitpid(fake_nodes[0].servers[0], NULL, 0);
    examine("hdfs://fake/");
    assert_int_equal(found_count, 4);
    expect(1, node_name(0), WEFT_UNAVAILABLE, "no program listens there");
    expect(2, node_name(1), WEFT_OK, "active, ");
    expect(3, "files", WEFT_OK, "read ");
    fake_nodes[0].servers[0] = fork();
    if (fake_nodes[0].servers[0] == 0)
        _exit(0);
    fake_end();
}

static void nothing_is_tried_where_nothing_can_be(void **state)
{
    (void)state;
    fake_start(1);
    fake->safe_calls = 1;
    examine("hdfs:///");
    assert_int_equal(found_count, 2);
    expect(1, node_name(0), WEFT_UNAVAILABLE, "safe mode");
    fake->safe_calls = 0;
    fake->live_nodes = 0;
    examine("hdfs:///");
    assert_int_equal(found_count, 2);
    expect(1, node_name(0), WEFT_UNAVAILABLE,
           "it knows no data node that lives (1 are dead)\n  try:");
    kill(fake_nodes[0].servers[1], SIGKILL);
    waitpid(fake_nodes[0].servers[1], NULL, 0);
    examine("hdfs:///");
    assert_int_equal(found_count, 2);
    expect(1, node_name(0), WEFT_UNAVAILABLE, "but not WebHDFS at 127.0.0.1:");
    expect(1, node_name(0), WEFT_UNAVAILABLE, "\n  try: dfs.namenode.http-address");
    fake_nodes[0].servers[1] = fork();
    if (fake_nodes[0].servers[1] == 0)
        _exit(0);
    fake_end();
}

static void wrong_bytes_are_a_failure(void **state)
{
    (void)state;
    fake_start(1);
    fake->changed_reads = 1;
    examine("hdfs:///");
    expect(2, "files", WEFT_DATA_LOSS, "reads back with other bytes");
    expect_no_trial();
    fake->cut_uploads = 1;
    examine("hdfs:///");
    expect(2, "files", WEFT_DATA_LOSS, "of the 1048576 that were sent");
    expect_no_trial();
    fake_end();
}

static void configure(const char *name, const char *value)
{
    char text[1000];
    snprintf(text, sizeof text,
             "<configuration><property><name>%s</name><value>%s</value></property></configuration>",
             name, value);
    fake_write_conf("conf/core-site.xml", text);
}

static void what_is_not_spoken_is_named(void **state)
{
    (void)state;
    fake_start(1);
    configure("hadoop.security.authentication", "kerberos");
    examine("hdfs://fake/");
    assert_int_equal(found_count, 1);
    expect(0, "hadoop", WEFT_UNIMPLEMENTED, "asks for Kerberos");
    configure("hadoop.rpc.protection", "privacy,integrity");
    examine("hdfs://fake/");
    assert_int_equal(found_count, 1);
    expect(0, "hadoop", WEFT_UNIMPLEMENTED, "hadoop.rpc.protection is privacy,integrity");
    // Names still work then, and so does reading by HTTP.
    configure("hadoop.rpc.protection", "privacy,authentication");
    examine("hdfs://fake/");
    assert_int_equal(found_count, 3);
    fake_end();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, testing_enter_folder, testing_leave_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_file_is_written_and_read),
        TEST(the_directory_may_be_named),
        TEST(one_of_two_name_nodes_is_in_standby),
        TEST(a_name_node_that_is_away_hides_nothing),
        TEST(nothing_is_tried_where_nothing_can_be),
        TEST(wrong_bytes_are_a_failure),
        TEST(what_is_not_spoken_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
