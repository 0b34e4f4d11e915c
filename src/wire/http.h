// http: one request to a web server and its answer, HTTP/1.1 without TLS, as Hadoop's services take it. Thread: one.
//
//   http_open, http_send the body if there is one, http_finish, http_read the answer's body, http_close
#ifndef WIRE_HTTP_H
#define WIRE_HTTP_H

#include "base/buf.h"
#include "base/err.h"
#include "sys/net/tcp.h"

struct http;

enum { HTTP_NO_BODY = 0, HTTP_UNKNOWN_SIZE = -1 };

struct http_request {
    const struct net_address *address;
    const char *method;
    const char *target;        // "/path?query", escaped
    int64_t body_bytes;        // or HTTP_UNKNOWN_SIZE: in chunks
    const char *content_type;  // of a body
    uint32_t connect_ms, silence_ms;
};

struct http_answer {
    uint32_t status;
    char location[16384];  // "": none
};

// Sends the head. Failures name the address.
MUST_CHECK weft_err http_open(const struct http_request *request, struct http **http);
// The same over a connection, which is taken over.
MUST_CHECK weft_err http_over(struct tcp *tcp, const struct http_request *request,
                              struct http **http);
void http_close(struct http *http);  // NULL is fine
// A part of the body.
MUST_CHECK weft_err http_send(struct http *http, const void *data, size_t size);
// The end of the body; waits for the head of the answer. DATA_LOSS: it is none.
MUST_CHECK weft_err http_finish(struct http *http, struct http_answer *answer);
// Some of the answer's body, and 0 only at its end. UNAVAILABLE: it ends too early.
MUST_CHECK weft_err http_read(struct http *http, void *data, size_t size, size_t *got);
// The rest of it, no more than bytes_max.
MUST_CHECK weft_err http_read_all(struct http *http, size_t bytes_max, struct buf *text);

// All of it at once: what the server gives for a target, and its status, which may be that of a failure.
MUST_CHECK weft_err http_get(const struct net_address *address, const char *target,
                             uint32_t timeout_ms, size_t bytes_max, uint32_t *status,
                             struct buf *text);

// "http://HOST[:PORT]/target" in its parts; *target points into the text. INVALID_ARGUMENT: it is none.
MUST_CHECK weft_err http_read_url(const char *url, struct net_address *address,
                                  const char **target);
// Appends the text with %XX for each byte that may not stand in a path, or in a value of a query.
void http_append_escaped(struct buf *out, const char *text, bool keeps_slashes);

#endif
