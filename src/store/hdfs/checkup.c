// A name node is asked by remote calls, which all verbs use, and by its web server, which writing uses.

#include "store/hdfs/checkup.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "store/hdfs/bean.h"
#include "store/hdfs/reader.h"
#include "store/hdfs/upload.h"
#include "store/hdfs/url.h"
#include "sys/secure/secret.h"
#include "sys/time/clock.h"
#include "wire/hadoop/properties.h"
#include "wire/hadoop/rpc.h"
#include "wire/http.h"

enum { TRIAL_BYTES = 1 << 20, ANSWER_BYTES_MAX = 1 << 20, PATH_BYTES = HDFS_PATH_BYTES + 40 };

static void report(const struct hdfs_checkup *checkup, const char *check, weft_err err,
                   struct buf *text)
{
    checkup->found(checkup->owner, check, err, err ? err_text() : buf_text(text));
    err_clear();
}

// ---- The configuration ----------------------------------------------------------------------------------------------

// Data nodes that want more than a name are not spoken to; their bytes can still come by HTTP.
static weft_err check_data_security(const struct properties *properties)
{
    static const char *const names[] = {"dfs.encrypt.data.transfer",
                                        "dfs.data.transfer.protection"};
    char value[100];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        properties_find(properties, names[i], value, sizeof value);
        if (value[0] && strcmp(value, "false") != 0)
            return err_set(WEFT_UNIMPLEMENTED,
                           "data nodes encrypt or sign their bytes (%s is %.40s in hdfs-site.xml), "
                           "which Weft does not speak yet\n"
                           "  try: files can be read all the same by WebHDFS, which is slower",
                           names[i], value);
    }
    return WEFT_OK;
}

static weft_err look_at_configuration(const char *authority, struct site *site, struct buf *text)
{
    struct properties properties = {0};
    char user[MACHINE_NAME_BYTES_MAX];
    weft_err err = site_find(authority, site);
    if (!err)
        err = properties_load(&properties, "hdfs-site.xml");
    if (!err)
        err = check_data_security(&properties);
    properties_fini(&properties);
    if (!properties_directory(text))
        buf_append_text(text, "none is named by HADOOP_CONF_DIR");
    properties_find_user(user);
    buf_format(text, ": %zu name node%s, simple authentication, user %s", site->count,
               site->count == 1 ? "" : "s", user);
    return err;
}

// ---- Name nodes -----------------------------------------------------------------------------------------------------

// Whether it is active; one in standby refuses every call about files.
static weft_err call_node(const struct hdfs_checkup *checkup, const struct site_node *node,
                          bool *is_active)
{
    char user[MACHINE_NAME_BYTES_MAX];
    struct rpc_names names = {"org.apache.hadoop.hdfs.protocol.ClientProtocol", user, {0}};
    const struct rpc_options options = {.address = node->rpc,
                                        .names = &names,
                                        .connect_ms = checkup->timeout_ms,
                                        .silence_ms = checkup->timeout_ms};
    Hadoop__GetFileInfo get = HADOOP__GET_FILE_INFO__INIT;
    ProtobufCMessage *answer = NULL;
    struct rpc *rpc = NULL;
    get.path = (char *)"/";
    properties_find_user(user);
    secret_random(names.client, sizeof names.client);
    weft_err err = rpc_open(&options, &rpc);
    if (!err)
        err =
            rpc_call(rpc, "getFileInfo", 0, 0, &get.base, &hadoop__file_info__descriptor, &answer);
    *is_active = !err;
    if (err && rpc && strcmp(rpc_exception(rpc), "StandbyException") == 0) {
        err = WEFT_OK;
        err_clear();
    }
    hdfs_free(answer);
    struct err_kept kept;
    err_keep(&kept);
    rpc_close(rpc);
    err_put_back(&kept);
    return err;
}

static weft_err ask_web(const struct hdfs_checkup *checkup, const struct site_node *node,
                        const char *query, struct bean *bean)
{
    struct buf text = {0};
    char target[300];
    uint32_t status;
    snprintf(target, sizeof target, "/jmx?%s", query);
    weft_err err =
        http_get(&node->web, target, checkup->timeout_ms, ANSWER_BYTES_MAX, &status, &text);
    if (!err && status != 200)
        err = err_set(WEFT_UNAVAILABLE, "its web server answers %" PRIu32, status);
    if (!err)
        err = bean_read(buf_bytes(&text), bean);
    buf_fini(&text);
    return err;
}

static weft_err look_at_web(const struct hdfs_checkup *checkup, const struct site_node *node,
                            struct bean *bean)
{
    char address[NET_ADDRESS_TEXT_BYTES];
    weft_err err =
        ask_web(checkup, node, "qry=Hadoop:service=NameNode,name=FSNamesystemState", bean);
    if (!err)
        err = ask_web(checkup, node,
                      "get=Hadoop:service=NameNode,name=NameNodeInfo::SoftwareVersion", bean);
    net_write_address(&node->web, address);
    return err ? err_set(err,
                         "calls are answered, but not WebHDFS at %s, which writing needs: %s\n"
                         "  try: dfs.namenode.http-address in hdfs-site.xml, if it is another one",
                         address, err_text())
               : WEFT_OK;
}

static weft_err check_state(const struct bean *bean)
{
    if (strcasecmp(bean->state, "safeMode") == 0)
        return err_set(WEFT_UNAVAILABLE,
                       "it is in safe mode: files can be read, and none be written\n"
                       "  try: wait until it has heard of its blocks, or hdfs dfsadmin -safemode "
                       "leave");
    if (bean->live_nodes == 0)
        return err_set(WEFT_UNAVAILABLE,
                       "it knows no data node that lives (%" PRIu64 " are dead)\n"
                       "  try: start data nodes; their logs say why they do not register",
                       bean->dead_nodes);
    return WEFT_OK;
}

static weft_err look_at_node(const struct hdfs_checkup *checkup, const struct site_node *node,
                             struct buf *text)
{
    struct bean bean = {0};
    bool is_active;
    weft_err err = call_node(checkup, node, &is_active);
    if (!err)
        err = look_at_web(checkup, node, &bean);
    if (!err && is_active)
        err = check_state(&bean);
    if (err)
        return err;
    buf_format(text, "%s, Hadoop %s", is_active ? "active" : "standby",
               bean.version[0] ? bean.version : "of an unknown version");
    if (is_active) {
        buf_format(text, ", %" PRIu64 " data node%s live", bean.live_nodes,
                   bean.live_nodes == 1 ? "" : "s");
        if (bean.dead_nodes > 0)
            buf_format(text, " and %" PRIu64 " dead", bean.dead_nodes);
        buf_append_text(text, ", ");
        text_append_bytes(text, bean.free_bytes);
        buf_append_text(text, " free");
    }
    return WEFT_OK;
}

// ---- A file ---------------------------------------------------------------------------------------------------------

static weft_err write_trial(struct namenode *namenode, const char *path, const char *bytes)
{
    struct upload *upload;
    weft_err err = upload_open(namenode, path, TRIAL_BYTES, false, &upload);
    if (err)
        return err;
    err = upload_write(upload, bytes, TRIAL_BYTES);
    if (!err)
        err = upload_finish(upload);
    upload_close(upload);
    return err;
}

static weft_err compare_trial(struct namenode *namenode, const char *path, const char *bytes,
                              struct buf *text)
{
    struct reader *reader;
    size_t got = 0;
    char *read = malloc(TRIAL_BYTES), address[NET_ADDRESS_TEXT_BYTES];
    if (!read)
        return err_no_memory("for a file to try");
    weft_err err = reader_open(namenode, path, &reader);
    if (err) {
        free(read);
        return err;
    }
    err = reader_read_at(reader, read, TRIAL_BYTES, 0, &got);
    if (!err && (got != TRIAL_BYTES || memcmp(read, bytes, TRIAL_BYTES) != 0))
        err = err_set(WEFT_DATA_LOSS, "a file that was written reads back with other bytes");
    const struct net_address *node = err ? NULL : reader_data_node(reader);
    if (node) {
        net_write_address(node, address);
        buf_format(text, "from %s with its checksums", address);
    } else {
        buf_append_text(text, "by WebHDFS, as no data node gives its blocks (slower)");
    }
    reader_close(reader);
    free(read);
    return err;
}

static weft_err refuse_directory(weft_err err)
{
    return err_set(err, "%s\n  try: --on hdfs://.../DIR, a directory that you may write to",
                   err_text());
}

// The directory of the URL; else the user's, else /tmp, else the root.
static weft_err choose_directory(struct namenode *namenode, const char *named,
                                 char directory[HDFS_PATH_BYTES])
{
    char home[MACHINE_NAME_BYTES_MAX + 10];
    snprintf(home, sizeof home, "/user/%s", namenode_user(namenode));
    const char *const usual[] = {home, "/tmp", "/"}, *const own[] = {named};
    const bool is_named = strcmp(named, "/") != 0;
    weft_err err = WEFT_OK;
    for (size_t i = 0; i < (is_named ? 1 : 3); i++) {
        Hadoop__FileInfo *info = NULL;
        snprintf(directory, HDFS_PATH_BYTES, "%s", (is_named ? own : usual)[i]);
        err = namenode_stat(namenode, directory, &info);
        const bool is_directory = !err && info->status->type == 1;
        hdfs_free(info);
        if (is_directory || (err && err != WEFT_NOT_FOUND))
            return err;
        err = err ? err : err_set(WEFT_FAILED_PRECONDITION, "%s is a file", directory);
    }
    return refuse_directory(err);
}

static weft_err try_file(struct namenode *namenode, const char *path, struct buf *text)
{
    char *bytes = malloc(TRIAL_BYTES);
    const uint64_t begun_ns = clock_now_ns();
    if (!bytes)
        return err_no_memory("for a file to try");
    for (size_t i = 0; i < TRIAL_BYTES; i++)
        bytes[i] = (char)(i * 31 + i / 251);
    weft_err err = write_trial(namenode, path, bytes);
    if (!err) {
        buf_format(text, "%s: 1 MiB written by WebHDFS, read ", path);
        err = compare_trial(namenode, path, bytes, text);
        struct err_kept kept;
        err_keep(&kept);
        const weft_err removed = namenode_remove(namenode, path, false);
        if (err)
            err_put_back(&kept);
        else
            err = removed;
    }
    buf_append_text(text, ", in ");
    text_append_duration(text, clock_now_ns() - begun_ns);
    free(bytes);
    return err;
}

static weft_err look_at_files(const struct hdfs_checkup *checkup, const struct site *site,
                              const char *named, struct buf *text)
{
    struct namenode *namenode;
    uint32_t random;
    char *directory = malloc(HDFS_PATH_BYTES), *path = malloc(PATH_BYTES);
    weft_err err = directory && path ? namenode_new(site, NULL, checkup->timeout_ms, &namenode)
                                     : err_no_memory("for a file to try");
    if (!err) {
        err = choose_directory(namenode, named, directory);
        secret_random(&random, sizeof random);
        if (!err) {
            snprintf(path, PATH_BYTES, "%s/weft-doctor-%08x",
                     strcmp(directory, "/") == 0 ? "" : directory, random);
            err = try_file(namenode, path, text);
            if (err == WEFT_PERMISSION_DENIED)
                err = refuse_directory(err);
        }
        struct err_kept kept;
        err_keep(&kept);
        namenode_free(namenode);
        err_put_back(&kept);
    }
    free(directory);
    free(path);
    return err;
}

// ---- All ------------------------------------------------------------------------------------------------------------

static bool look_at_nodes(const struct hdfs_checkup *checkup, const struct site *site)
{
    bool has_answer = false;
    for (size_t i = 0; i < site->count; i++) {
        char name[NET_ADDRESS_TEXT_BYTES];
        struct buf text = {0};
        net_write_address(&site->nodes[i].rpc, name);
        const weft_err err = look_at_node(checkup, &site->nodes[i], &text);
        has_answer |= !err;
        report(checkup, name, err, &text);
        buf_fini(&text);
    }
    return has_answer;
}

static void look_at_all(const struct hdfs_checkup *checkup, const struct hdfs_url *url)
{
    struct site site;
    struct buf text = {0};
    report(checkup, "hadoop", look_at_configuration(url->authority, &site, &text), &text);
    if (look_at_nodes(checkup, &site)) {
        text.size = 0;
        report(checkup, "files", look_at_files(checkup, &site, url->path, &text), &text);
    }
    buf_fini(&text);
}

void hdfs_checkup(const struct hdfs_checkup *checkup)
{
    struct hdfs_url *url = malloc(sizeof *url);
    struct buf none = {0};
    const weft_err err =
        url ? hdfs_url_read(checkup->url, url) : err_no_memory("for the name of a file");
    if (err)
        report(checkup, "hadoop", err, &none);
    else
        look_at_all(checkup, url);
    free(url);
}
