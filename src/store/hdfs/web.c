// Requests to WebHDFS.

#include "store/hdfs/web.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/hdfs/web_failure.h"
#include "sys/thread/interrupt.h"
#include "wire/http.h"

enum {
    CONNECT_MS = 10000,
    SILENCE_MS = 60000,
    WORDS_BYTES_MAX = 1 << 20,
    ATTEMPTS_MAX = 5,
    PAUSE_MS = 500,
};

struct web {
    struct http *http;
    uint32_t success;  // the status with which a data node answers when it has all bytes
};

// ---- Failures ---------------------------------------------------------------------------------------------------

static weft_err refuse(struct web *web, uint32_t status)
{
    struct buf words = {0};
    weft_err code = http_read_all(web->http, WORDS_BYTES_MAX, &words);
    if (code == WEFT_OK)
        code = web_failure_read(buf_bytes(&words), status);
    buf_fini(&words);
    return code;
}

// ---- Requests ---------------------------------------------------------------------------------------------------

static weft_err ask(struct web *web, const struct net_address *address, const char *method,
                    const char *target, int64_t body_bytes)
{
    const struct http_request request = {.address = address,
                                         .method = method,
                                         .target = target,
                                         .body_bytes = body_bytes,
                                         .content_type =
                                             body_bytes ? "application/octet-stream" : NULL,
                                         .connect_ms = CONNECT_MS,
                                         .silence_ms = SILENCE_MS};
    http_close(web->http);
    web->http = NULL;
    return http_open(&request, &web->http);
}

// Asks the name node, which names a data node, and asks that one.
static weft_err ask_both(struct web *web, const struct namenode *namenode, const char *method,
                         const char *target, int64_t body_bytes)
{
    struct http_answer *answer = malloc(sizeof *answer);
    struct net_address address;
    const char *there;
    weft_err code = answer ? ask(web, namenode_web(namenode), method, target, 0)
                           : err_no_memory("for a request");
    if (code == WEFT_OK)
        code = http_finish(web->http, answer);
    if (code == WEFT_OK && (answer->status < 300 || answer->status >= 400 || !answer->location[0]))
        code = refuse(web, answer->status);
    if (code == WEFT_OK)
        code = http_read_url(answer->location, &address, &there);
    if (code == WEFT_OK)
        code = ask(web, &address, method, there, body_bytes);
    free(answer);
    return code;
}

static void write_target(struct buf *out, const struct namenode *namenode, const char *path,
                         const char *operation)
{
    buf_append_text(out, "/webhdfs/v1");
    http_append_escaped(out, path, true);
    buf_format(out, "?op=%s&user.name=", operation);
    http_append_escaped(out, namenode_user(namenode), false);
}

static weft_err open_web(const struct namenode *namenode, const char *method, struct buf *target,
                         int64_t body_bytes, struct web **opened)
{
    struct web *web = calloc(1, sizeof *web);
    *opened = NULL;
    weft_err code = web && !target->has_failed ? WEFT_UNAVAILABLE : err_no_memory("for a request");
    // For some seconds a name node also names data nodes that are gone. No byte was sent yet: it is asked again.
    for (int i = 0; i < ATTEMPTS_MAX && code == WEFT_UNAVAILABLE; i++) {
        if (i > 0)
            interrupt_sleep_ms(PAUSE_MS);
        code = ask_both(web, namenode, method, buf_text(target), body_bytes);
    }
    buf_fini(target);
    if (code == WEFT_OK)
        *opened = web;
    else
        web_close(web);
    return code;
}

weft_err web_open(const struct namenode *namenode, const char *path, uint64_t begin, uint64_t end,
                  struct web **opened)
{
    struct buf target = {0};
    write_target(&target, namenode, path, "OPEN");
    buf_format(&target, "&offset=%" PRIu64 "&length=%" PRIu64, begin, end - begin);
    weft_err code = open_web(namenode, "GET", &target, HTTP_NO_BODY, opened);
    if (code != WEFT_OK)
        return code;
    struct http_answer *answer = malloc(sizeof *answer);
    code = answer ? http_finish((*opened)->http, answer) : err_no_memory("for a request");
    if (code == WEFT_OK && answer->status != 200)
        code = refuse(*opened, answer->status);
    free(answer);
    if (code == WEFT_OK)
        return code;
    web_close(*opened);
    *opened = NULL;
    return code;
}

weft_err web_read(struct web *web, void *data, size_t size, size_t *got)
{
    return http_read(web->http, data, size, got);
}

weft_err web_create(const struct namenode *namenode, const struct web_file *file,
                    struct web **opened)
{
    struct buf target = {0};
    write_target(&target, namenode, file->path, "CREATE");
    buf_format(&target, "&overwrite=false&createparent=%s%s",
               file->makes_directory ? "true" : "false", file->is_private ? "&permission=600" : "");
    const weft_err code =
        open_web(namenode, "PUT", &target, file->size < 0 ? HTTP_UNKNOWN_SIZE : file->size, opened);
    if (code == WEFT_OK)
        (*opened)->success = 201;
    return code;
}

weft_err web_append(const struct namenode *namenode, const char *path, uint64_t size,
                    struct web **opened)
{
    struct buf target = {0};
    write_target(&target, namenode, path, "APPEND");
    const weft_err code = open_web(namenode, "POST", &target, (int64_t)size, opened);
    if (code == WEFT_OK)
        (*opened)->success = 200;
    return code;
}

weft_err web_write(struct web *web, const void *data, size_t size)
{
    return http_send(web->http, data, size);
}

weft_err web_finish(struct web *web)
{
    struct http_answer *answer = malloc(sizeof *answer);
    weft_err code = answer ? http_finish(web->http, answer) : err_no_memory("for a request");
    if (code == WEFT_OK && answer->status != web->success)
        code = refuse(web, answer->status);
    free(answer);
    return code;
}

void web_close(struct web *web)
{
    if (!web)
        return;
    struct err_kept kept;
    err_keep(&kept);
    http_close(web->http);
    free(web);
    err_put_back(&kept);
}
