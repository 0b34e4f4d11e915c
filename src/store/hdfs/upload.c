// Writing beside, comparing, renaming.

#include "store/hdfs/upload.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/buf.h"
#include "store/hdfs/web.h"
#include "sys/secure/secret.h"

struct upload {
    struct namenode *namenode;
    struct web *web;
    char *path;
    struct buf unfinished;  // the name that it has until its end
    int64_t announced;
    uint64_t written;
    bool overwrites, is_made;
};

static void name_unfinished(struct upload *upload)
{
    uint32_t random;
    const char *slash = strrchr(upload->path, '/');
    secret_random(&random, sizeof random);
    buf_format(&upload->unfinished, "%.*s/.%s.weft-%08x", (int)(slash - upload->path), upload->path,
               slash + 1, random);
}

// Said before anything is sent; the renaming at the end decides.
static weft_err check_free(const struct upload *upload)
{
    Hadoop__FileInfo *info = NULL;
    weft_err code = namenode_stat(upload->namenode, upload->path, &info);
    if (code == WEFT_NOT_FOUND) {
        err_clear();
        return WEFT_OK;
    }
    if (code == WEFT_OK && info->status->type == 1)
        code = err_set(WEFT_FAILED_PRECONDITION, "%s is a directory", upload->path);
    else if (code == WEFT_OK && !upload->overwrites)
        code = err_set(WEFT_ALREADY_EXISTS, "%s is there already", upload->path);
    hdfs_free(info);
    return code;
}

weft_err upload_open(struct namenode *namenode, const char *path, int64_t size, bool overwrites,
                     struct upload **opened)
{
    struct upload *upload = calloc(1, sizeof *upload);
    *opened = NULL;
    if (!upload || !(upload->path = strdup(path))) {
        free(upload);
        return err_no_memory("to write to HDFS");
    }
    upload->namenode = namenode;
    upload->announced = size;
    upload->overwrites = overwrites;
    name_unfinished(upload);
    weft_err code =
        upload->unfinished.has_failed ? err_no_memory("to write to HDFS") : check_free(upload);
    if (code == WEFT_OK) {
        upload->is_made = true;
        const struct web_file file = {
            .path = buf_text(&upload->unfinished), .size = size, .makes_directory = true};
        code = web_create(namenode, &file, &upload->web);
    }
    if (code == WEFT_OK)
        *opened = upload;
    else
        upload_close(upload);
    return err_wrap(code, "cannot write %s", path);
}

weft_err upload_write(struct upload *upload, const void *data, size_t size)
{
    upload->written += size;
    if (upload->announced >= 0 && upload->written > (uint64_t)upload->announced)
        return err_set(WEFT_ABORTED, "the file for %s has grown while it was read", upload->path);
    const weft_err code = web_write(upload->web, data, size);
    // The data node may have said why before it closed the connection.
    if (code == WEFT_UNAVAILABLE) {
        const weft_err told = web_finish(upload->web);
        return err_wrap(told == WEFT_OK ? code : told, "cannot write %s", upload->path);
    }
    return code;
}

static weft_err check_size(const struct upload *upload)
{
    Hadoop__FileInfo *info = NULL;
    weft_err code = namenode_stat(upload->namenode, upload->unfinished.data, &info);
    if (code == WEFT_OK && info->status->length != upload->written)
        code = err_set(WEFT_DATA_LOSS,
                       "%s: HDFS has %" PRIu64 " bytes of the %" PRIu64 " that were sent",
                       upload->path, info->status->length, upload->written);
    hdfs_free(info);
    return code;
}

weft_err upload_finish(struct upload *upload)
{
    if (upload->announced >= 0 && upload->written < (uint64_t)upload->announced)
        return err_set(WEFT_ABORTED, "the file for %s has shrunk while it was read", upload->path);
    weft_err code = web_finish(upload->web);
    if (code == WEFT_OK)
        code = check_size(upload);
    if (code == WEFT_OK)
        code = namenode_rename(upload->namenode, buf_text(&upload->unfinished), upload->path,
                               upload->overwrites);
    upload->is_made = code != WEFT_OK;
    return code == WEFT_OK ? code : err_wrap(code, "cannot write %s", upload->path);
}

void upload_close(struct upload *upload)
{
    if (!upload)
        return;
    struct err_kept kept;
    err_keep(&kept);
    web_close(upload->web);
    if (upload->is_made &&
        namenode_remove(upload->namenode, buf_text(&upload->unfinished), false) != WEFT_OK)
        err_clear();
    buf_fini(&upload->unfinished);
    free(upload->path);
    free(upload);
    err_put_back(&kept);
}
