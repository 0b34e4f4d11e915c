// Requests and answers of the web.

#include "wire/http.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/number.h"

enum { HEAD_BYTES_MAX = 64 << 10, LINE_BYTES_MAX = 20 << 10, INFORM_MAX = 10 };

enum body { BODY_SIZED, BODY_CHUNKED, BODY_TO_END };

struct http {
    struct tcp *tcp;
    bool sends_chunks, has_no_answer_body;
    enum body body;
    uint64_t left;  // of the body, or of its chunk
    bool is_ended, is_first_chunk;
    char line[LINE_BYTES_MAX];
};

// ---- The request ----------------------------------------------------------------------------------------------

static void write_head(struct buf *out, const struct http_request *request)
{
    char host[NET_ADDRESS_TEXT_BYTES];
    net_write_address(request->address, host);
    buf_format(out, "%s %s HTTP/1.1\r\nHost: %s\r\nAccept: */*\r\nConnection: close\r\n",
               request->method, request->target, host);
    if (request->body_bytes == HTTP_UNKNOWN_SIZE)
        buf_append_text(out, "Transfer-Encoding: chunked\r\n");
    else if (request->body_bytes > 0 || strcmp(request->method, "GET") != 0)
        buf_format(out, "Content-Length: %" PRId64 "\r\n", request->body_bytes);
    if (request->content_type)
        buf_format(out, "Content-Type: %s\r\n", request->content_type);
    buf_append_text(out, "\r\n");
}

weft_err http_over(struct tcp *tcp, const struct http_request *request, struct http **opened)
{
    struct http *http = calloc(1, sizeof *http);
    struct buf head = {0};
    *opened = NULL;
    if (!http) {
        tcp_close(tcp);
        return err_no_memory("for a request");
    }
    http->tcp = tcp;
    http->sends_chunks = request->body_bytes == HTTP_UNKNOWN_SIZE;
    http->has_no_answer_body = strcmp(request->method, "HEAD") == 0;
    write_head(&head, request);
    const weft_err code =
        head.has_failed ? err_no_memory("for a request") : tcp_send(tcp, head.data, head.size);
    buf_fini(&head);
    if (code == WEFT_OK)
        *opened = http;
    else
        http_close(http);
    return code;
}

weft_err http_open(const struct http_request *request, struct http **opened)
{
    struct tcp *tcp;
    *opened = NULL;
    const weft_err code =
        tcp_open(request->address, request->connect_ms, request->silence_ms, &tcp);
    return code == WEFT_OK ? http_over(tcp, request, opened) : code;
}

void http_close(struct http *http)
{
    if (!http)
        return;
    tcp_close(http->tcp);
    free(http);
}

weft_err http_send(struct http *http, const void *data, size_t size)
{
    char front[24];
    if (size == 0)
        return WEFT_OK;  // a chunk of nothing is the end
    if (!http->sends_chunks)
        return tcp_send(http->tcp, data, size);
    const int length = snprintf(front, sizeof front, "%zx\r\n", size);
    weft_err code = tcp_send(http->tcp, front, (size_t)length);
    if (code == WEFT_OK)
        code = tcp_send(http->tcp, data, size);
    return code == WEFT_OK ? tcp_send(http->tcp, "\r\n", 2) : code;
}

// ---- The head of the answer --------------------------------------------------------------------------------------

static weft_err wrong(const struct http *http)
{
    return err_set(WEFT_DATA_LOSS, "%s does not answer as a web server does", tcp_name(http->tcp));
}

// A line without its end, and with a zero.
static weft_err read_line(struct http *http)
{
    for (size_t size = 0; size < sizeof http->line; size++) {
        const weft_err code = tcp_receive(http->tcp, &http->line[size], 1);
        if (code != WEFT_OK)
            return code;
        if (http->line[size] != '\n')
            continue;
        http->line[size - (size > 0 && http->line[size - 1] == '\r')] = 0;
        return WEFT_OK;
    }
    return wrong(http);
}

static weft_err read_status(struct http *http, uint32_t *status)
{
    const weft_err code = read_line(http);
    if (code != WEFT_OK)
        return code;
    const char *line = http->line;
    if (strncmp(line, "HTTP/1.", 7) != 0 || !line[7] || line[8] != ' ')
        return wrong(http);
    *status = 0;
    for (int i = 9; i < 12; i++) {
        if (line[i] < '0' || line[i] > '9')
            return wrong(http);
        *status = *status * 10 + (uint32_t)(line[i] - '0');
    }
    return WEFT_OK;
}

// The value of the line if its name is that one; NULL: it is not.
static const char *value_of(const char *line, const char *name)
{
    const size_t length = strlen(name);
    if (strncasecmp(line, name, length) != 0 || line[length] != ':')
        return NULL;
    return line + length + 1 + strspn(line + length + 1, " \t");
}

static weft_err take_field(struct http *http, struct http_answer *answer)
{
    int64_t size;
    const char *value;
    if ((value = value_of(http->line, "Content-Length"))) {
        if (!number_read_int(weft_text(value), &size) || size < 0)
            return wrong(http);
        http->left = (uint64_t)size;
        http->body = http->body == BODY_CHUNKED ? BODY_CHUNKED : BODY_SIZED;
    } else if ((value = value_of(http->line, "Transfer-Encoding"))) {
        if (strcasecmp(value, "chunked") != 0)
            return wrong(http);
        http->body = BODY_CHUNKED;
    } else if ((value = value_of(http->line, "Location"))) {
        if (strlen(value) >= sizeof answer->location)
            return wrong(http);
        snprintf(answer->location, sizeof answer->location, "%s", value);
    }
    return WEFT_OK;
}

static weft_err read_head(struct http *http, struct http_answer *answer)
{
    size_t size = 0;
    *answer = (struct http_answer){0};
    http->body = BODY_TO_END;
    weft_err code = read_status(http, &answer->status);
    while (code == WEFT_OK) {
        code = read_line(http);
        if (code != WEFT_OK || !http->line[0])
            break;
        size += strlen(http->line) + 2;
        code = size > HEAD_BYTES_MAX ? wrong(http) : take_field(http, answer);
    }
    return code;
}

weft_err http_finish(struct http *http, struct http_answer *answer)
{
    weft_err code = http->sends_chunks ? tcp_send(http->tcp, "0\r\n\r\n", 5) : WEFT_OK;
    // A server that refuses a body may close before it has taken all of it, and say why before that.
    if (code != WEFT_OK)
        err_clear();
    for (int i = 0; i < INFORM_MAX; i++) {
        code = read_head(http, answer);
        if (code != WEFT_OK || answer->status >= 200)
            break;
    }
    const bool is_empty = http->has_no_answer_body || answer->status == 204 ||
                          answer->status == 304 || (http->body == BODY_SIZED && http->left == 0);
    http->is_ended = is_empty;
    http->is_first_chunk = true;
    if (http->body == BODY_CHUNKED)
        http->left = 0;
    return code == WEFT_OK && answer->status < 200 ? wrong(http) : code;
}

// ---- The body of the answer --------------------------------------------------------------------------------------

// The size of the next chunk; 0 is the end, and fields follow that are not needed.
static weft_err begin_chunk(struct http *http)
{
    weft_err code = http->is_first_chunk ? WEFT_OK : read_line(http);
    if (code == WEFT_OK && !http->is_first_chunk && http->line[0])
        return wrong(http);
    http->is_first_chunk = false;
    if (code == WEFT_OK)
        code = read_line(http);
    if (code != WEFT_OK)
        return code;
    char *end;
    const size_t digits = strspn(http->line, "0123456789abcdefABCDEF");
    if (digits == 0 || digits > 15)
        return wrong(http);
    http->left = strtoull(http->line, &end, 16);
    for (size_t i = 0; http->left == 0 && code == WEFT_OK && !http->is_ended; i++) {
        code = i < 100 ? read_line(http) : wrong(http);
        http->is_ended = code == WEFT_OK && !http->line[0];
    }
    return code;
}

weft_err http_read(struct http *http, void *data, size_t size, size_t *got)
{
    *got = 0;
    weft_err code = WEFT_OK;
    if (size > 0 && !http->is_ended && http->body == BODY_CHUNKED && http->left == 0)
        code = begin_chunk(http);
    if (code != WEFT_OK || size == 0 || http->is_ended)
        return code;
    if (http->body != BODY_TO_END && size > http->left)
        size = (size_t)http->left;
    code = tcp_receive_some(http->tcp, data, size, got);
    if (code != WEFT_OK)
        return code;
    if (http->body == BODY_TO_END) {
        http->is_ended = *got == 0;
        return WEFT_OK;
    }
    if (*got == 0)
        return err_set(WEFT_UNAVAILABLE, "%s closed the connection before the end of its answer",
                       tcp_name(http->tcp));
    http->left -= *got;
    http->is_ended = http->body == BODY_SIZED && http->left == 0;
    return WEFT_OK;
}

weft_err http_read_all(struct http *http, size_t bytes_max, struct buf *text)
{
    for (;;) {
        enum { STEP_BYTES = 16 << 10 };
        char *to = buf_reserve(text, STEP_BYTES);
        size_t got = 0;
        const weft_err code =
            to ? http_read(http, to, STEP_BYTES, &got) : err_no_memory("for an answer");
        if (code != WEFT_OK || got == 0)
            return code;
        text->size += got;
        if (text->size > bytes_max)
            return err_set(WEFT_DATA_LOSS, "%s sends too long an answer", tcp_name(http->tcp));
    }
}

weft_err http_get(const struct net_address *address, const char *target, uint32_t timeout_ms,
                  size_t bytes_max, uint32_t *status, struct buf *text)
{
    const struct http_request request = {.address = address,
                                         .method = "GET",
                                         .target = target,
                                         .body_bytes = HTTP_NO_BODY,
                                         .connect_ms = timeout_ms,
                                         .silence_ms = timeout_ms};
    struct http_answer *answer = malloc(sizeof *answer);
    struct http *http = NULL;
    weft_err code = answer ? http_open(&request, &http) : err_no_memory("for a request");
    if (code == WEFT_OK)
        code = http_finish(http, answer);
    if (code == WEFT_OK)
        code = http_read_all(http, bytes_max, text);
    *status = code == WEFT_OK ? answer->status : 0;
    http_close(http);
    free(answer);
    return code;
}

// ---- Addresses -----------------------------------------------------------------------------------------------------

weft_err http_read_url(const char *url, struct net_address *address, const char **target)
{
    char host[NET_ADDRESS_TEXT_BYTES];
    const char *from = url + 7;
    if (strncmp(url, "http://", 7) != 0)
        return err_set(WEFT_INVALID_ARGUMENT, "%.200s is not an http:// address", url);
    const size_t length = strcspn(from, "/?");
    if (length == 0 || length >= sizeof host || from[length] != '/')
        return err_set(WEFT_INVALID_ARGUMENT, "%.200s names no host", url);
    snprintf(host, sizeof host, "%.*s", (int)length, from);
    *target = from + length;
    for (const char *at = *target; *at; at++)
        if ((unsigned char)*at <= ' ' || *at == 0x7f)
            return err_set(WEFT_INVALID_ARGUMENT, "%.200s is not an http:// address", url);
    return net_read_address(host, 80, address);
}

void http_append_escaped(struct buf *out, const char *text, bool keeps_slashes)
{
    for (; *text; text++) {
        const unsigned char byte = (unsigned char)*text;
        const bool is_plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                              (byte >= '0' && byte <= '9') || strchr("-._~", byte) ||
                              (keeps_slashes && byte == '/');
        if (is_plain)
            buf_append(out, text, 1);
        else
            buf_format(out, "%%%02X", byte);
    }
}
