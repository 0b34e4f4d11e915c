// For tests: the state of managers_testing.h, its answers and logins.
#ifndef LAUNCH_YARN_MANAGERS_STATE_TESTING_H
#define LAUNCH_YARN_MANAGERS_STATE_TESTING_H

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "launch/yarn/yarn_client.h"
#include "launch/yarn/yarn_message.h"
#include "sys/net/tcp.h"
#include "sys/thread/thread.h"
#include "wire/hadoop/rpc_frame.h"

enum {
    FAKE_MANAGERS = 2,
    FAKE_PORTS = 2 * FAKE_MANAGERS + 1,
    FAKE_CONNECTIONS_MAX = 256,
    FAKE_CONTAINERS_MAX = 64,
    FAKE_ASKS_MAX = 16,
    FAKE_FAULTS_MAX = 8,
    FAKE_SILENCE_MS = 60000,
    FAKE_STACK_BYTES = 256 << 10,
};

enum fake_role { FAKE_CLIENTS, FAKE_MASTERS, FAKE_NODE };

struct fake_port {
    int fd;
    uint16_t port;
    enum fake_role role;
    int manager;
    struct thread thread;
};

enum fake_kind { FAKE_LOSE_REQUEST, FAKE_LOSE_ANSWER, FAKE_REFUSE, FAKE_BE_SILENT };

// Happens `count` times, after `skip` calls without it.
struct fake_fault {
    const char *method;
    enum fake_kind kind;
    const char *exception, *text;
    int count, skip;
    size_t bytes_min;  // of a request, for one that says something
};

struct fake_container {
    int64_t number;  // with that of the resource manager's life
    bool is_there, is_started, has_ended, is_reported;
    int32_t priority, status;
    char diagnostics[200];
    char command[400];
    bool has_tokens;
};

static struct {
    struct mutex mutex;
    struct fake_port ports[FAKE_PORTS];
    struct thread threads[FAKE_CONNECTIONS_MAX];
    int fds[FAKE_CONNECTIONS_MAX];
    size_t connections;
    bool is_over;
    int active;  // the resource manager that serves; -1: none
    struct fake_fault faults[FAKE_FAULTS_MAX];
    // The application.
    bool is_submitted, is_registered;
    int state, final;
    char final_text[200];
    char diagnostics[200];
    char queue[100], user[100];
    Hadoop__Submission *submission;
    bool token_is_late;
    int submissions, registrations, kills;
    // The scheduler.
    int32_t response;
    struct buf last_answer;  // to the last request, for one that is repeated
    int32_t counts[FAKE_ASKS_MAX];
    int32_t free;  // containers that it can still grant
    int surplus;   // that it grants beyond the asks
    int64_t life;
    struct fake_container containers[FAKE_CONTAINERS_MAX];
    int key, oldest_key;  // of tokens; older ones are not let in
    bool rolls;           // the next answer has a new one
    bool shuts_down;
    char excluded[100];
    int allocations, logins, refused_logins, releases;
} fake;

static const struct yarn_app_id fake_app = {1700000000000, 7};

// ---- Answers ------------------------------------------------------------------------------------------------------

struct fake_answer {
    struct buf message;  // with its size in front
    const char *exception, *text;
    bool is_fatal, is_lost, is_silent;
};

static void fake_put(struct fake_answer *answer, const void *message)
{
    answer->message.size = 0;
    delimited_write(&answer->message, message);
}

static void fake_refuse(struct fake_answer *answer, const char *exception, const char *text)
{
    answer->exception = exception;
    answer->text = text;
}

static void fake_send(struct tcp *tcp, uint32_t call, const struct fake_answer *answer)
{
    Hadoop__AnswerHeader header = HADOOP__ANSWER_HEADER__INIT;
    struct buf body = {0}, frame = {0};
    header.has_call = header.has_status = true;
    header.call = call;
    header.status = answer->exception ? answer->is_fatal ? 2 : 1 : 0;
    header.exception = (char *)answer->exception;
    header.text = (char *)answer->text;
    delimited_write(&body, &header.base);
    if (!answer->exception)
        buf_append(&body, answer->message.data, answer->message.size);
    for (int shift = 24; shift >= 0; shift -= 8) {
        const char byte = (char)(body.size >> shift);
        buf_append(&frame, &byte, 1);
    }
    buf_append(&frame, body.data, body.size);
    if (tcp_send(tcp, frame.data, frame.size))
        err_clear();
    buf_fini(&body);
    buf_fini(&frame);
}

static void *fake_read(weft_bytes *from, const ProtobufCMessageDescriptor *descriptor)
{
    ProtobufCMessage *message;
    if (delimited_read(from, descriptor, &message))
        abort();
    return message;
}

// ---- Logins -------------------------------------------------------------------------------------------------------

static const char fake_challenge[] =
    "realm=\"default\",nonce=\"abc\",qop=\"auth\",charset=utf-8,algorithm=md5-sess";

// Tokens are "am-KEY" and "pw-KEY" for masters, "node" and "pw" for node managers.
static void fake_name_token(enum fake_role role, int key, char identifier[20], char password[20])
{
    if (role == FAKE_NODE) {
        strcpy(identifier, "node");
        strcpy(password, "pw");
    } else {
        snprintf(identifier, 20, "am-%d", key);
        snprintf(password, 20, "pw-%d", key);
    }
}

static Hadoop__Token *fake_make_token(struct yarn_maker *maker, enum fake_role role, int key)
{
    char identifier[20], password[20];
    fake_name_token(role, key, identifier, password);
    Hadoop__Token *token = yarn_make(maker, &hadoop__token__descriptor);
    token->identifier = yarn_make_bytes(maker, (weft_bytes){identifier, strlen(identifier)});
    token->password = yarn_make_bytes(maker, (weft_bytes){password, strlen(password)});
    token->kind = yarn_make_text(maker, role == FAKE_NODE ? "NMToken" : "YARN_AM_RM_TOKEN");
    token->service = yarn_make_text(maker, "");
    return token;
}

static void fake_negotiate(struct fake_answer *answer)
{
    Hadoop__Sasl sasl = HADOOP__SASL__INIT;
    Hadoop__SaslMethod method = HADOOP__SASL_METHOD__INIT, *methods[] = {&method};
    sasl.state = 1;
    method.method = (char *)"TOKEN";
    method.mechanism = (char *)"DIGEST-MD5";
    method.protocol = (char *)"";
    method.server = (char *)"default";
    method.has_challenge = true;
    method.challenge = (ProtobufCBinaryData){strlen(fake_challenge), (uint8_t *)fake_challenge};
    sasl.methods = methods;
    sasl.n_methods = 1;
    fake_put(answer, &sasl);
}

// Whether the answer to our challenge is that of a token; `expected` is the proof that we know it, too.
static bool fake_is_token(enum fake_role role, int key, const char *given,
                          char expected[DIGEST_TEXT_BYTES])
{
    char identifier[20], password[20], nonce[100] = "";
    struct buf user64 = {0}, password64 = {0}, answer = {0};
    const char *at = strstr(given, "cnonce=\"");
    if (at)
        snprintf(nonce, sizeof nonce, "%.*s", (int)strcspn(at + 8, "\""), at + 8);
    fake_name_token(role, key, identifier, password);
    digest_append_base64(&user64, (weft_bytes){identifier, strlen(identifier)});
    digest_append_base64(&password64, (weft_bytes){password, strlen(password)});
    const struct digest_login login = {buf_text(&user64), buf_text(&password64), "/default", nonce};
    const weft_bytes challenge = {fake_challenge, strlen(fake_challenge)};
    const bool is_same = !digest_answer(&login, challenge, &answer, expected) &&
                         strcmp(buf_text(&answer), given) == 0;
    buf_fini(&user64);
    buf_fini(&password64);
    buf_fini(&answer);
    return is_same;
}

static void fake_log_in(enum fake_role role, const Hadoop__Sasl *sasl, struct fake_answer *answer)
{
    char given[1000], expected[DIGEST_TEXT_BYTES] = "", text[60];
    Hadoop__Sasl done = HADOOP__SASL__INIT;
    bool is_known = false;
    snprintf(given, sizeof given, "%.*s", (int)sasl->token.len, (const char *)sasl->token.data);
    for (int key = fake.oldest_key; !is_known && key <= fake.key; key++)
        is_known = fake_is_token(role, key, given, expected);
    fake.logins++;
    if (!is_known) {
        fake.refused_logins++;
        fake_refuse(answer, "org.apache.hadoop.security.token.SecretManager$InvalidToken",
                    "not found in cache");
        answer->is_fatal = true;
        return;
    }
    snprintf(text, sizeof text, "rspauth=%s", expected);
    done.has_token = true;
    done.token = (ProtobufCBinaryData){strlen(text), (uint8_t *)text};
    fake_put(answer, &done);
}

#endif
