// Looking for the program in HDFS, and sending it if it is missing.

#include "launch/yarn/yarn_stage.h"

#include <stdlib.h>
#include <string.h>

#include "store/hdfs/namenode.h"
#include "store/hdfs/upload.h"
#include "store/hdfs/url.h"
#include "sys/file/file.h"
#include "wire/hadoop/properties.h"

enum { PATIENCE_MS = 15000, STEP_BYTES = 1 << 20 };

// ---- Names -----------------------------------------------------------------------------------------------------

// Node managers have their own default file system, so the URL names ours.
weft_err yarn_stage_find_default(char *authority, size_t size)
{
    struct properties properties = {0};
    char value[HDFS_AUTHORITY_BYTES + 20] = "";
    struct hdfs_url url = {0};
    weft_err err = properties_load(&properties, "core-site.xml");
    if (!err)
        properties_find(&properties, "fs.defaultFS", value, sizeof value);
    properties_fini(&properties);
    if (!err && !hdfs_is_url(value))
        return err_set(WEFT_FAILED_PRECONDITION,
                       "there is no HDFS for the program that containers run: the configuration of "
                       "Hadoop names none (fs.defaultFS)\n"
                       "  try: HADOOP_CONF_DIR=DIR, or --set stage=hdfs://HOST:PORT/DIR");
    if (!err)
        err = hdfs_url_read(value, &url);
    if (!err && strlen(url.authority) < size)
        memcpy(authority, url.authority, strlen(url.authority) + 1);
    return err;
}

// The path, and the URL as node managers understand it.
static weft_err name_program(struct yarn_stage *stage, struct hdfs_url *url, struct buf *path)
{
    char user[MACHINE_NAME_BYTES_MAX];
    weft_err err = WEFT_OK;
    *url = (struct hdfs_url){0};
    if (stage->directory)
        err = hdfs_url_read(stage->directory, url);
    if (!err && !url->authority[0])
        err = yarn_stage_find_default(url->authority, sizeof url->authority);
    if (err)
        return err;
    properties_find_user(user);
    if (stage->directory)
        buf_append_text(path, strcmp(url->path, "/") == 0 ? "" : url->path);
    else
        buf_format(path, "/user/%s/.weft/bin", stage->user ? stage->user : user);
    buf_format(path, "/weft-%s", stage->hash);
    buf_format(&stage->url, "hdfs://%s%s", url->authority, buf_text(path));
    return path->has_failed || stage->url.has_failed ? err_no_memory("for a path") : WEFT_OK;
}

// ---- Sending ---------------------------------------------------------------------------------------------------

// *is_there: all of it.
static weft_err look(struct namenode *namenode, const char *path, struct yarn_stage *stage,
                     bool *is_there, bool *is_taken)
{
    Hadoop__FileInfo *info = NULL;
    const weft_err err = namenode_stat(namenode, path, &info);
    *is_there = *is_taken = false;
    if (err == WEFT_NOT_FOUND) {
        err_clear();
        return WEFT_OK;
    }
    if (err)
        return err;
    *is_taken = true;
    *is_there = info->status->type == 2 && info->status->length == stage->bytes;
    stage->mtime_ms = (int64_t)info->status->mtime_ms;
    hdfs_free(info);
    return WEFT_OK;
}

static weft_err copy_bytes(struct upload *upload, int fd, const char *path)
{
    char *block = malloc(STEP_BYTES);
    weft_err err = block ? WEFT_OK : err_no_memory("to read %s", path);
    uint64_t done = 0;
    for (size_t got = 1; !err && got > 0; done += got) {
        err = file_read_at(fd, path, block, STEP_BYTES, done, &got);
        if (!err && got > 0)
            err = upload_write(upload, block, got);
    }
    free(block);
    return err;
}

static weft_err send(struct namenode *namenode, const char *path, const struct yarn_stage *stage,
                     bool overwrites)
{
    struct upload *upload = NULL;
    int fd = -1;
    weft_err err = file_open(stage->path, &fd);
    if (!err)
        err = upload_open(namenode, path, (int64_t)stage->bytes, overwrites, &upload);
    if (!err)
        err = copy_bytes(upload, fd, stage->path);
    if (!err)
        err = upload_finish(upload);
    upload_close(upload);
    if (fd >= 0)
        file_close(fd);
    // Another run has been faster.
    if (err != WEFT_ALREADY_EXISTS)
        return err;
    err_clear();
    return WEFT_OK;
}

static weft_err put(struct namenode *namenode, const char *path, struct yarn_stage *stage)
{
    bool is_there = false, is_taken = false;
    weft_err err = look(namenode, path, stage, &is_there, &is_taken);
    if (err || is_there)
        return err;
    err = send(namenode, path, stage, is_taken);
    stage->was_sent = !err;
    if (!err)
        err = look(namenode, path, stage, &is_there, &is_taken);
    if (!err && !is_there)
        err = err_set(WEFT_ABORTED, "%s was changed while it was sent", path);
    return err;
}

weft_err yarn_stage_put(struct yarn_stage *stage)
{
    struct hdfs_url url;
    struct site site;
    struct namenode *namenode = NULL;
    struct buf path = {0};
    weft_err err = name_program(stage, &url, &path);
    if (!err)
        err = site_find(url.authority, &site);
    if (!err)
        err = namenode_new(&site, stage->user, PATIENCE_MS, &namenode);
    if (!err)
        err = put(namenode, buf_text(&path), stage);
    namenode_free(namenode);
    buf_fini(&path);
    return err_wrap(err, "the program for containers");
}

void yarn_stage_fini(struct yarn_stage *stage)
{
    buf_fini(&stage->url);
}
