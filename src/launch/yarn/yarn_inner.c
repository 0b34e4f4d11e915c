// A command that begins by writing two small files.

#include "launch/yarn/yarn_inner.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch/keep.h"
#include "launch/yarn/yarn_words.h"
#include "sys/file/file.h"
#include "sys/file/load.h"
#include "wire/hadoop/token_file.h"

enum { CREDENTIALS_BYTES_MAX = 1 << 20 };

// A name that cannot be looked up here may be known there.
static void write_number(const struct net_address *address, char text[NET_ADDRESS_TEXT_BYTES])
{
    struct net_address known = *address;
    char number[NET_NUMBER_BYTES];
    if (net_find_number(address, number))
        err_clear();
    else
        snprintf(known.host, sizeof known.host, "%s", number);
    net_write_address(&known, text);
}

// ---- Names -------------------------------------------------------------------------------------------------

void yarn_inner_name_hdfs(const struct yarn_inner *inner, struct buf *authority)
{
    char text[NET_ADDRESS_TEXT_BYTES];
    if (inner->hdfs->count > 1) {
        buf_append_text(authority, inner->authority);
        return;
    }
    write_number(&inner->hdfs->nodes[0].rpc, text);
    buf_append_text(authority, text);
}

void yarn_inner_name_yarn(const struct yarn_inner *inner, struct buf *url)
{
    buf_format(url, "yarn:%s%s", inner->yarn->queue[0] ? "///" : "", inner->yarn->queue);
}

// ---- Configuration -----------------------------------------------------------------------------------------

// Values have no characters that mean something to XML or bash: addresses, and names that were read from such files.
static void add_property(struct buf *out, const char *name, const char *suffix, const char *value)
{
    buf_format(out, "<property><name>%s%s</name><value>%s</value></property>", name, suffix, value);
}

static void add_address(struct buf *out, const char *name, const char *suffix,
                        const struct net_address *address)
{
    char text[NET_ADDRESS_TEXT_BYTES];
    write_number(address, text);
    add_property(out, name, suffix, text);
}

static void write_hdfs(const struct yarn_inner *inner, struct buf *out)
{
    const struct site *site = inner->hdfs;
    struct buf url = {0}, nodes = {0};
    buf_append_text(&url, "hdfs://");
    yarn_inner_name_hdfs(inner, &url);
    add_property(out, "fs.defaultFS", "", buf_text(&url));
    for (size_t i = 0; i < site->count; i++) {
        char suffix[NET_ADDRESS_TEXT_BYTES + 32] = "";
        if (site->count > 1)
            snprintf(suffix, sizeof suffix, ".%.250s.nn%zu", inner->authority, i);
        add_address(out, "dfs.namenode.rpc-address", suffix, &site->nodes[i].rpc);
        add_address(out, "dfs.namenode.http-address", suffix, &site->nodes[i].web);
        buf_format(&nodes, "%snn%zu", i ? "," : "", i);
    }
    if (site->count > 1) {
        add_property(out, "dfs.ha.namenodes.", inner->authority, buf_text(&nodes));
        add_property(out, "dfs.nameservices", "", inner->authority);
    }
    buf_fini(&url);
    buf_fini(&nodes);
}

static void write_yarn(const struct yarn_inner *inner, struct buf *out)
{
    const struct yarn_site *site = inner->yarn;
    struct buf ids = {0};
    for (size_t i = 0; i < site->count; i++) {
        char suffix[16] = "";
        if (site->count > 1)
            snprintf(suffix, sizeof suffix, ".rm%zu", i);
        add_address(out, "yarn.resourcemanager.address", suffix, &site->managers[i].client);
        add_address(out, "yarn.resourcemanager.scheduler.address", suffix,
                    &site->managers[i].scheduler);
        add_address(out, "yarn.resourcemanager.webapp.address", suffix, &site->managers[i].web);
        buf_format(&ids, "%srm%zu", i ? "," : "", i);
    }
    if (site->count > 1) {
        add_property(out, "yarn.resourcemanager.ha.enabled", "", "true");
        add_property(out, "yarn.resourcemanager.ha.rm-ids", "", buf_text(&ids));
    }
    buf_fini(&ids);
}

// ---- The command -------------------------------------------------------------------------------------------

static void add_quoted(struct buf *out, const char *text, size_t size)
{
    buf_append_text(out, "'");
    for (size_t i = 0; i < size; i++)
        if (text[i] == '\'')
            buf_append_text(out, "'\\''");
        else
            buf_append(out, text + i, 1);
    buf_append_text(out, "'");
}

// Of several directories for logs YARN shows all; one is enough.
static void add_word(struct buf *out, const char *word)
{
    const size_t size = strlen(word), end = strlen(KEEP_LOGS);
    const bool is_logs = size >= end && strcmp(word + size - end, KEEP_LOGS) == 0;
    buf_append_text(out, " ");
    add_quoted(out, word, is_logs ? size - end : size);
    if (is_logs)
        buf_append_text(out, "\"${LOG_DIRS%%,*}\"");
}

static void add_file(struct buf *out, const char *name, const struct buf *properties)
{
    buf_append_text(out, "printf %s '<configuration>");
    buf_append(out, properties->data, properties->size);
    buf_format(out, "</configuration>' >conf/%s && ", name);
}

void yarn_inner_write_command(const struct yarn_inner *inner, const char *const *words,
                              struct buf *command)
{
    struct buf hdfs = {0}, yarn = {0};
    write_hdfs(inner, &hdfs);
    write_yarn(inner, &yarn);
    buf_append_text(command, "mkdir -p conf tmp && ");
    add_file(command, "core-site.xml", &hdfs);
    add_file(command, "yarn-site.xml", &yarn);
    buf_append_text(command, "export HADOOP_CONF_DIR=\"$PWD/conf\" TMPDIR=\"$PWD/tmp\" "
                             "HADOOP_USER_NAME=");
    add_quoted(command, inner->user, strlen(inner->user));
    buf_append_text(command, " && exec ./weft");
    for (; *words; words++)
        add_word(command, *words);
    command->has_failed |= hdfs.has_failed || yarn.has_failed;
    buf_fini(&hdfs);
    buf_fini(&yarn);
}

// ---- Inside ------------------------------------------------------------------------------------------------

static weft_err write_token(const char *path, weft_bytes text)
{
    int fd = -1;
    weft_err err = file_create_private(path, &fd);
    if (!err)
        err = file_write(fd, path, text.data, text.size);
    if (fd >= 0)
        file_close(fd);
    return err;
}

weft_err yarn_inner_take_token(const char *path)
{
    const char *location = getenv("HADOOP_TOKEN_FILE_LOCATION");
    struct token_file file = {0};
    struct buf bytes = {0};
    weft_err err = location ? file_load(location, CREDENTIALS_BYTES_MAX, &bytes)
                            : err_set(WEFT_FAILED_PRECONDITION,
                                      "this process was not started by YARN: there is no "
                                      "HADOOP_TOKEN_FILE_LOCATION");
    if (!err)
        err = err_wrap(token_file_read(buf_bytes(&bytes), &file), "%s", location);
    const struct hadoop_secret *secret =
        err ? NULL : token_file_find_secret(&file, YARN_INNER_TOKEN);
    if (!err)
        err = secret ? write_token(path, secret->value)
                     : err_set(WEFT_FAILED_PRECONDITION, "%s has no token of Weft", location);
    token_file_fini(&file);
    buf_fini(&bytes);
    return err;
}

uint32_t yarn_inner_attempt(void)
{
    const char *container = getenv("CONTAINER_ID");
    struct yarn_container_id id;
    return container && yarn_read_container(container, &id) && id.attempt > 0 ? (uint32_t)id.attempt
                                                                              : 0;
}
