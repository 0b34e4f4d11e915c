// The requests. A connection has one, and its head is read anew with each piece that arrives: heads are short.

#include "crew/meeting.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

struct value {
    size_t key_size, size;
    char bytes[];  // key, then value
};

struct request {
    weft_bytes method, key;
    size_t head_size;  // with the empty line
    uint64_t body_size;
};

enum { PATH_BYTES_MAX = 1024 };

static weft_bytes key_of(const void *item)
{
    const struct value *value = item;
    return (weft_bytes){value->bytes, value->key_size};
}

void meeting_init(struct meeting *meeting, uint64_t seed)
{
    *meeting = (struct meeting){0};
    map_init(&meeting->values, key_of, seed);
}

void meeting_fini(struct meeting *meeting)
{
    size_t at = 0;
    for (void *item; (item = map_next(&meeting->values, &at));)
        free(item);
    map_fini(&meeting->values);
}

// ---- Reading -----------------------------------------------------------------------------------------------

static bool is_word(weft_bytes bytes, const char *word)
{
    return bytes.size == strlen(word) && memcmp(bytes.data, word, bytes.size) == 0;
}

// Up to the next blank, which is left out as well.
static weft_bytes cut_word(weft_bytes *line)
{
    const char *blank = line->size ? memchr(line->data, ' ', line->size) : NULL;
    const weft_bytes word = {line->data, blank ? (size_t)(blank - line->data) : line->size};
    const size_t used = word.size + (blank != NULL);
    line->data += used;
    line->size -= used;
    return word;
}

static weft_bytes cut_line(weft_bytes *head)
{
    const char *end = memmem(head->data, head->size, "\r\n", 2);
    const weft_bytes line = {head->data, end ? (size_t)(end - head->data) : head->size};
    const size_t used = line.size + (end ? 2 : 0);
    head->data += used;
    head->size -= used;
    return line;
}

// "Content-Length: 12". False: it is that, and not a number.
static bool read_header(weft_bytes line, struct request *request)
{
    static const char name[] = "content-length:";
    const size_t name_size = sizeof name - 1;
    char digits[24] = "";
    if (line.size < name_size || strncasecmp(line.data, name, name_size) != 0)
        return true;
    line.data += name_size;
    line.size -= name_size;
    while (line.size > 0 && *line.data == ' ')
        line.data++, line.size--;
    if (line.size == 0 || line.size >= sizeof digits)
        return false;
    memcpy(digits, line.data, line.size);
    request->body_size = 0;
    return digits[strspn(digits, "0")] == 0 ||
           text_read_count(digits, UINT64_MAX, &request->body_size);
}

// "/SCOPE/KEY": two names, neither of them empty.
static bool read_path(weft_bytes path, weft_bytes *key)
{
    if (path.size < 4 || path.size > PATH_BYTES_MAX || path.data[0] != '/')
        return false;
    *key = (weft_bytes){path.data + 1, path.size - 1};
    const char *slash = memchr(key->data, '/', key->size);
    const char *end = key->data + key->size;
    return slash && slash > key->data && slash + 1 < end &&
           !memchr(slash + 1, '/', (size_t)(end - slash - 1));
}

static bool read_head(weft_bytes head, struct request *request)
{
    weft_bytes line = cut_line(&head);
    request->method = cut_word(&line);
    const weft_bytes path = cut_word(&line);
    bool is_right =
        line.size >= 7 && memcmp(line.data, "HTTP/1.", 7) == 0 && read_path(path, &request->key);
    while (is_right && head.size > 0)
        is_right = read_header(cut_line(&head), request);
    return is_right;
}

// ---- Answering ---------------------------------------------------------------------------------------------

static bool answer_with(struct buf *answer, const char *status, weft_bytes body)
{
    buf_format(answer, "HTTP/1.1 %s\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n", status,
               body.size);
    buf_append(answer, body.data, body.size);
    return true;
}

static bool answer_status(struct buf *answer, const char *status)
{
    return answer_with(answer, status, (weft_bytes){"", 0});
}

static void forget(struct meeting *meeting, weft_bytes key)
{
    struct value *value = map_take_out(&meeting->values, key);
    if (value)
        meeting->bytes -= value->key_size + value->size;
    free(value);
}

static const char *put(struct meeting *meeting, weft_bytes key, weft_bytes body)
{
    forget(meeting, key);
    if (meeting->bytes + key.size + body.size > MEETING_BYTES_MAX)
        return "507 Insufficient Storage";
    struct value *value = malloc(sizeof *value + key.size + body.size);
    if (!value)
        return "507 Insufficient Storage";
    value->key_size = key.size;
    value->size = body.size;
    memcpy(value->bytes, key.data, key.size);
    memcpy(value->bytes + key.size, body.data, body.size);
    if (!map_add(&meeting->values, value)) {
        free(value);
        return "507 Insufficient Storage";
    }
    meeting->bytes += key.size + body.size;
    return "200 OK";
}

static bool answer_request(struct meeting *meeting, const struct request *request, weft_bytes body,
                           struct buf *answer)
{
    const struct value *value = map_find(&meeting->values, request->key);
    if (is_word(request->method, "GET"))
        return value ? answer_with(answer, "200 OK",
                                   (weft_bytes){value->bytes + value->key_size, value->size})
                     : answer_status(answer, "404 Not Found");
    if (is_word(request->method, "PUT"))
        return answer_status(answer, put(meeting, request->key, body));
    if (!is_word(request->method, "DELETE"))
        return answer_status(answer, "405 Method Not Allowed");
    forget(meeting, request->key);
    return answer_status(answer, "200 OK");
}

bool meeting_answer(struct meeting *meeting, weft_bytes bytes, struct buf *answer)
{
    struct request request = {0};
    const char *end = bytes.size ? memmem(bytes.data, bytes.size, "\r\n\r\n", 4) : NULL;
    if (!end)
        return bytes.size > MEETING_HEAD_BYTES_MAX &&
               answer_status(answer, "431 Request Header Fields Too Large");
    request.head_size = (size_t)(end - bytes.data) + 4;
    if (!read_head((weft_bytes){bytes.data, request.head_size - 4}, &request))
        return answer_status(answer, "400 Bad Request");
    if (request.body_size > MEETING_VALUE_BYTES_MAX)
        return answer_status(answer, "413 Content Too Large");
    if (bytes.size - request.head_size < request.body_size)
        return false;
    return answer_request(meeting, &request,
                          (weft_bytes){bytes.data + request.head_size, request.body_size}, answer);
}
