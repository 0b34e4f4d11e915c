// Fuzzes answers of Hadoop's services. The first byte says whose: remote calls, a data node, a web server, a login, tokens in a file. Whatever comes, the reader ends, and bytes of a
// block that are given out are no more than were asked for.
#include "store/hdfs/block.h"

#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include "store/hdfs/packet.h"
#include "wire/hadoop/rpc_frame.h"
#include "wire/hadoop/token_file.h"
#include "wire/http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SENT_BYTES_MAX = 64 << 10 };  // what a socket takes without a reader

// A connection whose other side has sent the bytes and hung up.
static struct tcp *sent(weft_bytes bytes, int *other)
{
    int ends[2];
    struct tcp *tcp;
    ASSERT(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    ASSERT(send(ends[1], bytes.data, bytes.size, 0) == (ssize_t)bytes.size);
    shutdown(ends[1], SHUT_WR);
    *other = ends[1];
    ASSERT(tcp_adopt(ends[0], "somebody", 1, &tcp) == WEFT_OK);
    return tcp;
}

static void check_answer(weft_bytes bytes)
{
    struct rpc_answer answer;
    if (rpc_read_answer(bytes, &answer) != WEFT_OK)
        return;
    for (const char *at = answer.exception; *at; at++)
        ASSERT((unsigned char)*at >= ' ');
    ProtobufCMessage *message;
    if (answer.code == WEFT_OK &&
        delimited_read(&answer.message, &hadoop__block_locations__descriptor, &message) == WEFT_OK)
        protobuf_c_message_free_unpacked(message, NULL);
}

static void check_block(weft_bytes bytes)
{
    Hadoop__Block number = HADOOP__BLOCK__INIT;
    Hadoop__LocatedBlock located = HADOOP__LOCATED_BLOCK__INIT;
    const struct block_options options = {
        .located = &located, .client = "c", .begin = 700, .end = 5000};
    struct block *block;
    char room[1500];
    uint64_t given = 0;
    size_t got = 1;
    int other;
    number.pool = "p";
    located.block = &number;
    if (block_over(sent(bytes, &other), &options, &block) == WEFT_OK)
        while (got && block_read(block, room, sizeof room, &got) == WEFT_OK) {
            given += got;
            ASSERT(got <= sizeof room && given <= options.end - options.begin);
        }
    block_close(block);
    close(other);
}

static void check_web(weft_bytes bytes)
{
    const struct net_address address = {.host = "h", .port = 1};
    const struct http_request request = {.address = &address, .method = "GET", .target = "/"};
    struct http *http;
    struct http_answer answer;
    struct net_address there;
    struct buf body = {0};
    const char *target;
    int other;
    ASSERT(http_over(sent(bytes, &other), &request, &http) == WEFT_OK);
    if (http_finish(http, &answer) == WEFT_OK) {
        ASSERT(answer.status >= 200 && answer.status < 1000);
        if (answer.location[0] && http_read_url(answer.location, &there, &target) == WEFT_OK)
            ASSERT(target[0] == '/' && !strpbrk(target, " \r\n"));
        if (http_read_all(http, 1 << 20, &body) == WEFT_OK)
            ASSERT(body.size <= bytes.size);
    }
    buf_fini(&body);
    http_close(http);
    close(other);
}

// An answer to a challenge has no quote that the challenge has put into it.
static void check_login(weft_bytes bytes)
{
    const struct hadoop_token token = {.identifier = {"i", 1}, .password = {"p", 1}};
    const struct digest_login login = {.user = "u", .password = "p", .uri = "/x", .nonce = "n"};
    char expected[DIGEST_TEXT_BYTES];
    struct buf out = {0};
    bool is_done;
    if (rpc_answer_login(bytes, &token, "n", &out, expected, &is_done) == WEFT_OK)
        ASSERT(is_done == (out.size == 0));
    out.size = 0;
    if (digest_answer(&login, bytes, &out, expected) == WEFT_OK) {
        size_t quotes = 0;
        for (size_t i = 0; i < out.size; i++)
            quotes += out.data[i] == '"';
        ASSERT(quotes == 10 && strlen(expected) == DIGEST_TEXT_BYTES - 1);
    }
    buf_fini(&out);
}

// What was read can be written, and is the same when it is read again.
static void check_tokens(weft_bytes bytes)
{
    struct token_file file, again;
    struct buf out = {0};
    if (token_file_read(bytes, &file) == WEFT_OK) {
        token_file_write(&out, &file);
        ASSERT(token_file_read(buf_bytes(&out), &again) == WEFT_OK);
        ASSERT(again.tokens.count == file.tokens.count &&
               again.secrets.count == file.secrets.count);
        for (size_t i = 0; i < file.tokens.count; i++)
            ASSERT(again.tokens.items[i].password.size == file.tokens.items[i].password.size);
        token_file_fini(&again);
    }
    token_file_fini(&file);
    buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || size > SENT_BYTES_MAX)
        return 0;
    const weft_bytes bytes = {(const char *)data + 1, size - 1};
    void (*const checks[])(weft_bytes) = {check_answer, check_block, check_web, check_login,
                                          check_tokens};
    checks[data[0] % (sizeof checks / sizeof *checks)](bytes);
    err_clear();
    return 0;
}
