// A command that begins by writing two small files.

#include "launch/yarn/yarn_inner.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch/keep.h"
#include "launch/yarn/yarn_words.h"
#include "pack/tar.h"
#include "pack/unpack.h"
#include "sys/file/file.h"
#include "sys/file/load.h"
#include "sys/file/tree.h"
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

// Its entries point into `bytes`.
static weft_err load_credentials(const char *location, struct buf *bytes, struct token_file *file)
{
    const weft_err err = file_load(location, CREDENTIALS_BYTES_MAX, bytes);
    return err ? err : err_wrap(token_file_read(buf_bytes(bytes), file), "%s", location);
}

weft_err yarn_inner_take_token(const char *path)
{
    const char *location = getenv("HADOOP_TOKEN_FILE_LOCATION");
    struct token_file file = {0};
    struct buf bytes = {0};
    weft_err err = location ? load_credentials(location, &bytes, &file)
                            : err_set(WEFT_FAILED_PRECONDITION,
                                      "this process was not started by YARN: there is no "
                                      "HADOOP_TOKEN_FILE_LOCATION");
    const struct hadoop_secret *secret =
        err ? NULL : token_file_find_secret(&file, YARN_INNER_TOKEN);
    if (!err)
        err = secret ? write_token(path, secret->value)
                     : err_set(WEFT_FAILED_PRECONDITION, "%s has no token of Weft", location);
    token_file_fini(&file);
    buf_fini(&bytes);
    return err;
}

// ---- Files -------------------------------------------------------------------------------------------------

static weft_err read_some(void *owner, void *data, size_t size, size_t *got)
{
    weft_bytes *left = owner;
    *got = size < left->size ? size : left->size;
    memcpy(data, left->data, *got);
    *left = (weft_bytes){(const char *)left->data + *got, left->size - *got};
    return WEFT_OK;
}

static weft_err make_above(const char *path)
{
    char *above = strndup(path, (size_t)(strrchr(path, '/') - path));
    const weft_err err = above ? file_make_directory(above) : err_no_memory("for a path");
    free(above);
    return err;
}

static weft_err make_file(struct tar_reader *reader, const struct tar_entry *entry,
                          const char *path)
{
    char *content = malloc(YARN_INNER_FILES_BYTES_MAX);
    size_t got = 0;
    int fd = -1;
    weft_err err = content ? make_above(path) : err_no_memory("for a file");
    if (!err)
        err = tar_reader_read(reader, content, YARN_INNER_FILES_BYTES_MAX, &got);
    if (!err)
        err = tree_create_file(path, entry->is_executable, &fd);
    if (!err)
        err = file_write(fd, path, content, got);
    if (fd >= 0)
        file_close(fd);
    free(content);
    return err;
}

static weft_err unpack(const char *directory, weft_bytes archive)
{
    struct tar_reader *reader = tar_reader_new(read_some, &archive, directory);
    struct tar_entry entry;
    bool is_end = false;
    weft_err err = reader ? WEFT_OK : err_no_memory("for files");
    while (!err && !(err = tar_reader_next(reader, &entry, &is_end)) && !is_end) {
        struct buf path = {0};
        buf_format(&path, "%s/%s", directory, entry.path);
        if (!unpack_is_path(entry.path) || entry.kind > TAR_DIRECTORY)
            err = err_set(WEFT_DATA_LOSS, "%s: an entry is not a plain file below it", directory);
        else
            err = entry.kind == TAR_DIRECTORY ? file_make_directory(buf_text(&path))
                                              : make_file(reader, &entry, buf_text(&path));
        buf_fini(&path);
    }
    tar_reader_free(reader);
    return err;
}

weft_err yarn_inner_take_files(void)
{
    static const char prefix[] = YARN_INNER_FILES;
    const size_t size = sizeof prefix - 1;
    const char *location = getenv("HADOOP_TOKEN_FILE_LOCATION");
    struct token_file file = {0};
    struct buf bytes = {0};
    weft_err err = location ? load_credentials(location, &bytes, &file) : WEFT_OK;
    for (size_t i = 0; !err && i < file.secrets.count; i++) {
        const struct hadoop_secret *secret = &file.secrets.items[i];
        char directory[64] = "";
        if (secret->alias.size <= size || memcmp(secret->alias.data, prefix, size) != 0 ||
            secret->alias.size - size >= sizeof directory)
            continue;
        memcpy(directory, (const char *)secret->alias.data + size, secret->alias.size - size);
        err = unpack(directory, secret->value);
    }
    token_file_fini(&file);
    buf_fini(&bytes);
    return err;
}

// ---- Which one ---------------------------------------------------------------------------------------------

uint32_t yarn_inner_attempt(void)
{
    const char *container = getenv("CONTAINER_ID");
    struct yarn_container_id id;
    return container && yarn_read_container(container, &id) && id.attempt > 0 ? (uint32_t)id.attempt
                                                                              : 0;
}
