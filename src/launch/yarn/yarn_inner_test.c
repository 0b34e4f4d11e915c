// Tests of the process inside: bash runs its command, and the configuration that it leaves is read again.
#include "launch/yarn/yarn_inner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "launch/keep.h"
#include "pack/tar.h"
#include "sys/file/folder_testing.h"
#include "sys/file/load.h"
#include "wire/hadoop/token_file.h"

static struct net_address address_of(const char *text)
{
    struct net_address address;
    assert_int_equal(net_read_address(text, 0, &address), WEFT_OK);
    return address;
}

static void write_text(const char *name, const char *text, size_t size)
{
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

// A weft that writes down how it was called.
static void run_command(const struct yarn_inner *inner, const char *const *words)
{
    static const char program[] =
        "#!/bin/bash\nprintf '%s\\n' \"$@\" >words\n"
        "echo \"$HADOOP_USER_NAME $HADOOP_CONF_DIR $TMPDIR\" >variables\n";
    struct buf command = {0};
    write_text("weft", program, strlen(program));
    assert_int_equal(chmod("weft", 0700), 0);
    yarn_inner_write_command(inner, words, &command);
    write_text("script", buf_text(&command), command.size);
    setenv("LOG_DIRS", "/logs/a b,/logs/c", 1);
    assert_int_equal(system("bash script"), 0);
    buf_fini(&command);
}

static void expect_text(const char *file, const char *text)
{
    struct buf got = {0};
    assert_int_equal(file_load(file, 1 << 16, &got), WEFT_OK);
    assert_string_equal(buf_text(&got), text);
    buf_fini(&got);
}

static void expect_address(const struct net_address *address, const char *text)
{
    char got[NET_ADDRESS_TEXT_BYTES];
    net_write_address(address, got);
    assert_string_equal(got, text);
}

static struct yarn_manager manager_of(const char *client, const char *scheduler, const char *web)
{
    return (struct yarn_manager){address_of(client), address_of(scheduler), address_of(web)};
}

static void words_and_addresses_arrive(void **state)
{
    (void)state;
    const struct yarn_site yarn = {
        .managers = {manager_of("localhost:1", "localhost:2", "10.1.2.3:3")},
        .count = 1,
        .queue = "research"};
    const struct site hdfs = {.nodes = {{address_of("localhost:4"), address_of("localhost:5")}},
                              .count = 1};
    const struct yarn_inner inner = {&yarn, &hdfs, "localhost:4", "al'ice"};
    static const char *const words[] = {"keep", "--name=it's $HOME \"x\"", "--logs=" KEEP_LOGS,
                                        NULL};
    char variables[1000], here[600];
    run_command(&inner, words);
    expect_text("words", "keep\n--name=it's $HOME \"x\"\n--logs=/logs/a b\n");
    assert_non_null(getcwd(here, sizeof here));
    snprintf(variables, sizeof variables, "al'ice %.300s/conf %.300s/tmp\n", here, here);
    expect_text("variables", variables);

    struct yarn_site found;
    struct site files;
    struct buf url = {0}, authority = {0};
    setenv("HADOOP_CONF_DIR", "conf", 1);
    yarn_inner_name_yarn(&inner, &url);
    yarn_inner_name_hdfs(&inner, &authority);
    assert_string_equal(buf_text(&url), "yarn:///research");
    assert_int_equal(yarn_site_find(buf_text(&url), &found), WEFT_OK);
    assert_int_equal(found.count, 1);
    assert_string_equal(found.queue, "research");
    expect_address(&found.managers[0].client, "127.0.0.1:1");
    expect_address(&found.managers[0].scheduler, "127.0.0.1:2");
    expect_address(&found.managers[0].web, "10.1.2.3:3");
    assert_string_equal(buf_text(&authority), "127.0.0.1:4");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(site_find(i ? "" : buf_text(&authority), &files), WEFT_OK);
        assert_int_equal(files.count, 1);
        expect_address(&files.nodes[0].rpc, "127.0.0.1:4");
        expect_address(&files.nodes[0].web, "127.0.0.1:5");
    }
    buf_fini(&url);
    buf_fini(&authority);
}

static void several_managers_and_name_nodes_arrive(void **state)
{
    (void)state;
    const struct yarn_site yarn = {
        .managers = {manager_of("10.0.0.1:1", "10.0.0.1:2", "10.0.0.1:3"),
                     manager_of("10.0.0.2:1", "10.0.0.2:2", "[::1]:3")},
        .count = 2};
    const struct site hdfs = {
        .nodes = {{address_of("10.0.0.3:4"), address_of("10.0.0.3:5")},
                  {address_of("no-such-name.invalid:6"), address_of("10.0.0.4:7")}},
        .count = 2};
    const struct yarn_inner inner = {&yarn, &hdfs, "pair", "bob"};
    static const char *const words[] = {"keep", NULL};
    struct yarn_site found;
    struct site files;
    struct buf url = {0}, authority = {0};
    run_command(&inner, words);
    setenv("HADOOP_CONF_DIR", "conf", 1);
    yarn_inner_name_yarn(&inner, &url);
    yarn_inner_name_hdfs(&inner, &authority);
    assert_string_equal(buf_text(&url), "yarn:");
    assert_string_equal(buf_text(&authority), "pair");
    assert_int_equal(yarn_site_find(buf_text(&url), &found), WEFT_OK);
    assert_int_equal(found.count, 2);
    expect_address(&found.managers[1].client, "10.0.0.2:1");
    expect_address(&found.managers[1].web, "[::1]:3");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(site_find(i ? "" : "pair", &files), WEFT_OK);
        assert_int_equal(files.count, 2);
        expect_address(&files.nodes[0].web, "10.0.0.3:5");
        expect_address(&files.nodes[1].rpc, "no-such-name.invalid:6");
        expect_address(&files.nodes[1].web, "10.0.0.4:7");
    }
    buf_fini(&url);
    buf_fini(&authority);
}

static void the_token_comes_with_the_credentials(void **state)
{
    (void)state;
    struct token_file file = {0};
    struct buf bytes = {0};
    struct stat status;
    const struct hadoop_secret secret = {weft_text(YARN_INNER_TOKEN), weft_text("00112233")};
    unsetenv("HADOOP_TOKEN_FILE_LOCATION");
    assert_int_equal(yarn_inner_take_token("token"), WEFT_FAILED_PRECONDITION);
    setenv("HADOOP_TOKEN_FILE_LOCATION", "credentials", 1);
    token_file_write(&bytes, &file);
    write_text("credentials", bytes.data, bytes.size);
    assert_int_equal(yarn_inner_take_token("token"), WEFT_FAILED_PRECONDITION);
    assert_non_null(strstr(err_text(), "has no token of Weft"));
    assert_true(VEC_PUSH(&file.secrets, secret));
    bytes.size = 0;
    token_file_write(&bytes, &file);
    write_text("credentials", bytes.data, bytes.size);
    assert_int_equal(yarn_inner_take_token("token"), WEFT_OK);
    expect_text("token", "00112233");
    assert_int_equal(stat("token", &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    token_file_fini(&file);
    buf_fini(&bytes);
    err_clear();
}

static void add_entry(struct buf *tar, const char *path, enum tar_kind kind, bool is_executable,
                      const char *content)
{
    const struct tar_entry entry = {
        .path = path, .kind = kind, .size = strlen(content), .is_executable = is_executable};
    static const char zeros[TAR_END_BYTES];
    tar_write_entry(&entry, tar);
    buf_append_text(tar, content);
    buf_append(tar, zeros, tar_pad(entry.size));
}

// Ends the archive, and puts it into the credentials.
static void write_archive(struct buf *tar)
{
    static const char zeros[TAR_END_BYTES];
    struct token_file file = {0};
    struct buf bytes = {0};
    buf_append(tar, zeros, sizeof zeros);
    const struct hadoop_secret secret = {weft_text(YARN_INNER_FILES "there"), buf_bytes(tar)};
    assert_true(VEC_PUSH(&file.secrets, secret));
    token_file_write(&bytes, &file);
    write_text("credentials", bytes.data, bytes.size);
    setenv("HADOOP_TOKEN_FILE_LOCATION", "credentials", 1);
    token_file_fini(&file);
    buf_fini(&bytes);
    buf_fini(tar);
}

static void small_files_come_with_the_credentials(void **state)
{
    (void)state;
    struct buf tar = {0};
    unsetenv("HADOOP_TOKEN_FILE_LOCATION");
    assert_int_equal(yarn_inner_take_files(), WEFT_OK);
    add_entry(&tar, "0", TAR_DIRECTORY, true, "");
    add_entry(&tar, "0/below/one", TAR_FILE, false, "1");
    add_entry(&tar, "1", TAR_FILE, true, "#!/bin/sh\n");
    write_archive(&tar);
    assert_int_equal(yarn_inner_take_files(), WEFT_OK);
    expect_text("there/0/below/one", "1");
    expect_text("there/1", "#!/bin/sh\n");
    assert_int_equal(access("there/1", X_OK), 0);
    struct stat status;
    assert_int_equal(stat("there/0/below/one", &status), 0);
    assert_int_equal(status.st_mode & 0100, 0);
    // Archives of others are refused where they lead out.
    add_entry(&tar, "../out", TAR_FILE, false, "x");
    write_archive(&tar);
    assert_int_equal(yarn_inner_take_files(), WEFT_DATA_LOSS);
    assert_int_not_equal(access("out", F_OK), 0);
    err_clear();
}

static void the_attempt_is_that_of_the_container(void **state)
{
    (void)state;
    unsetenv("CONTAINER_ID");
    assert_int_equal(yarn_inner_attempt(), 0);
    setenv("CONTAINER_ID", "container_1700000000000_0007_01_000001", 1);
    assert_int_equal(yarn_inner_attempt(), 1);
    setenv("CONTAINER_ID", "container_e17_1700000000000_0007_12_000001", 1);
    assert_int_equal(yarn_inner_attempt(), 12);
    setenv("CONTAINER_ID", "something", 1);
    assert_int_equal(yarn_inner_attempt(), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, testing_enter_folder, testing_leave_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(words_and_addresses_arrive),           TEST(several_managers_and_name_nodes_arrive),
        TEST(the_token_comes_with_the_credentials), TEST(small_files_come_with_the_credentials),
        TEST(the_attempt_is_that_of_the_container),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
