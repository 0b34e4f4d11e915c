// Fuzzes answers of Hadoop's services and its files. The first byte says whose: remote calls, a data node, a web server, a login, tokens in a file,
// a configuration, failures of WebHDFS, what name nodes and resource managers report about themselves. Whatever comes, the reader ends, and bytes of a
// block that are given out are no more than were asked for.
#include "store/hdfs/block.h"

#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include "launch/yarn/yarn_info.h"
#include "store/hdfs/bean.h"
#include "store/hdfs/packet.h"
#include "store/hdfs/web_failure.h"
#include "wire/hadoop/conf.h"
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

// Names and values lie in the text, or are made of it: they are no longer than it is.
static weft_err take_property(void *owner, weft_bytes name, weft_bytes value)
{
    const weft_bytes *text = owner;
    ASSERT(name.size + value.size <= text->size);
    return WEFT_OK;
}

static void check_configuration(weft_bytes bytes)
{
    if (conf_read("core-site.xml", bytes, take_property, &bytes) != WEFT_OK)
        ASSERT(strstr(err_text(), "core-site.xml"));
}

// A sentence of another process is one line of ours.
static void check_failure(weft_bytes bytes)
{
    const weft_err err = web_failure_read(bytes, 403);
    ASSERT(err != WEFT_OK && strstr(err_text(), "WebHDFS answers 403"));
    for (const char *at = err_text(); *at; at++)
        ASSERT((unsigned char)*at >= ' ');
}

static void check_word(const char *word, size_t size)
{
    ASSERT(strlen(word) < size);
    for (; *word; word++)
        ASSERT((unsigned char)*word > ' ' && *word != 0x7f);
}

static void check_reports(weft_bytes bytes)
{
    struct bean bean = {0};
    char version[YARN_VERSION_BYTES];
    if (bean_read(bytes, &bean) == WEFT_OK) {
        check_word(bean.state, sizeof bean.state);
        check_word(bean.version, sizeof bean.version);
    }
    if (yarn_info_read(bytes, version) == WEFT_OK)
        check_word(version, sizeof version);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || size > SENT_BYTES_MAX)
        return 0;
    const weft_bytes bytes = {(const char *)data + 1, size - 1};
    void (*const checks[])(weft_bytes) = {check_answer,  check_block,  check_web,
                                          check_login,   check_tokens, check_configuration,
                                          check_failure, check_reports};
    checks[data[0] % (sizeof checks / sizeof *checks)](bytes);
    err_clear();
    return 0;
}
