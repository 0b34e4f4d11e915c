// TLS 1.3 by OpenSSL, over a BIO of our own that reads the bytes being fed and appends the bytes to
// send. OpenSSL's memory BIOs would copy once more each way and keep the room of the busiest moment.
//
// A stranger costs little: a server's OpenSSL begins when the client's first record is complete, and that
// record must hold the whole client hello, as ours does. It has the proof of the token (the binder), so OpenSSL
// refuses at once where the token is another one. Only a peer that repeats a recorded hello comes further, and not far.
//
// Three traps. The key's hash must be that of the cipher suite, so one suite is pinned. A client that
// offers a pre-shared key still accepts a server that ignores it and shows a certificate: the client
// verifies certificates, trusts none, and both sides check at the end whether the key was used. And
// OpenSSL never changes the keys of a connection that lives for days: write_sealed asks for it.

#include "sys/secure/tls.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "sys/secure/openssl.h"

enum {
    KEY_BYTES = SECRET_MAC_BYTES,
    RECORD_BYTES = 16 << 10,
    // AES-GCM is good for 2^24 records under one key; far fewer cost nothing.
    RECORDS_PER_KEY = 1 << 20,
    // What an idle connection may keep of its output buffer.
    IDLE_BYTES_MAX = 1 << 10,
    RECORD_HEADER_BYTES = 5,
    RECORD_HANDSHAKE = 22,  // the first byte of its header
    MESSAGE_HEADER_BYTES = 4,
    MESSAGE_CLIENT_HELLO = 1,
};

struct tls {
    SSL *ssl;  // NULL: a server whose client's first record is not complete
    bool is_server, is_ready;
    uint8_t key[KEY_BYTES];
    weft_bytes input;    // bytes being fed that OpenSSL has not read yet
    struct buf out;      // cipher bytes
    size_t sent;         // of out
    struct buf waiting;  // plain bytes until the handshake is done
    struct buf first;    // record of a client, until it is complete
    size_t unproven;     // bytes that OpenSSL has read before the proof
    uint64_t records;    // under the key in use
    weft_err failure;    // it stays at that
    const char *why;
};

static const uint8_t identity[] = "weft";

// ---- The BIO --------------------------------------------------------------------------------------

static int bio_read(BIO *bio, char *data, size_t size, size_t *got)
{
    struct tls *tls = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    *got = size < tls->input.size ? size : tls->input.size;
    if (!tls->is_ready) {
        const size_t left = TLS_UNPROVEN_BYTES_MAX - tls->unproven;
        *got = *got < left ? *got : left;
        tls->unproven += *got;
    }
    if (*got == 0) {
        BIO_set_retry_read(bio);
        return 0;
    }
    memcpy(data, tls->input.data, *got);
    tls->input = (weft_bytes){tls->input.data + *got, tls->input.size - *got};
    return 1;
}

static int bio_write(BIO *bio, const char *data, size_t size, size_t *written)
{
    struct tls *tls = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    buf_append(&tls->out, data, size);
    *written = tls->out.has_failed ? 0 : size;
    return !tls->out.has_failed;
}

static long bio_control(BIO *bio, int command, long number, void *pointer)
{
    (void)bio;
    (void)number;
    (void)pointer;
    return command == BIO_CTRL_FLUSH;
}

static BIO_METHOD *make_method(void)
{
    BIO_METHOD *method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "weft");
    if (method && BIO_meth_set_read_ex(method, bio_read) == 1 &&
        BIO_meth_set_write_ex(method, bio_write) == 1 &&
        BIO_meth_set_ctrl(method, bio_control) == 1)
        return method;
    BIO_meth_free(method);
    return NULL;
}

// ---- The two contexts of the process --------------------------------------------------------------

static SSL_SESSION *make_session(SSL *ssl)
{
    static const unsigned char suite[] = {0x13, 0x01};  // TLS_AES_128_GCM_SHA256
    const struct tls *tls = SSL_get_app_data(ssl);
    const SSL_CIPHER *cipher = SSL_CIPHER_find(ssl, suite);
    SSL_SESSION *session = SSL_SESSION_new();
    if (cipher && session && SSL_SESSION_set1_master_key(session, tls->key, KEY_BYTES) == 1 &&
        SSL_SESSION_set_cipher(session, cipher) == 1 &&
        SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) == 1)
        return session;
    SSL_SESSION_free(session);
    return NULL;
}

static int offer_key(SSL *ssl, const EVP_MD *digest, const unsigned char **name, size_t *name_size,
                     SSL_SESSION **session)
{
    (void)digest;  // of the suite that a server asked for; there is only the one
    *session = make_session(ssl);
    *name = identity;
    *name_size = sizeof identity - 1;
    return *session != NULL;
}

static int find_key(SSL *ssl, const unsigned char *name, size_t name_size, SSL_SESSION **session)
{
    const bool is_known =
        name_size == sizeof identity - 1 && memcmp(name, identity, name_size) == 0;
    *session = is_known ? make_session(ssl) : NULL;
    return !is_known || *session;
}

static SSL_CTX *make_context(bool is_server)
{
    SSL_CTX *context = SSL_CTX_new(is_server ? TLS_server_method() : TLS_client_method());
    if (!context || SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) != 1 ||
        SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION) != 1 ||
        SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256") != 1 ||
        SSL_CTX_set1_groups_list(context, "X25519:P-256") != 1 ||
        SSL_CTX_set_num_tickets(context, 0) != 1) {
        SSL_CTX_free(context);
        return NULL;
    }
    SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_read_ahead(context, 1);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    // A client whose server ignores the key then demands a certificate that it can verify, and it can verify none.
    SSL_CTX_set_verify(context, is_server ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
    if (is_server)
        SSL_CTX_set_psk_find_session_callback(context, find_key);
    else
        SSL_CTX_set_psk_use_session_callback(context, offer_key);
    return context;
}

static SSL_CTX *contexts[2];  // client, server
static BIO_METHOD *method;

static void make_contexts(void)
{
    method = make_method();
    contexts[0] = make_context(false);
    contexts[1] = make_context(true);
}

// ---- Making one -----------------------------------------------------------------------------------

static weft_err fail(struct tls *tls, weft_err code, const char *why)
{
    tls->failure = code;
    tls->why = why;
    return err_set(code, "%s", why);
}

static bool attach(struct tls *tls)
{
    SSL_CTX *context = contexts[tls->is_server];
    BIO *bio = method ? BIO_new(method) : NULL;
    tls->ssl = context && bio ? SSL_new(context) : NULL;
    if (!tls->ssl) {
        BIO_free(bio);
        return false;
    }
    BIO_set_data(bio, tls);
    BIO_set_init(bio, 1);
    SSL_set_bio(tls->ssl, bio, bio);
    SSL_set_app_data(tls->ssl, tls);
    if (tls->is_server)
        SSL_set_accept_state(tls->ssl);
    else
        SSL_set_connect_state(tls->ssl);
    return true;
}

struct tls *tls_new(bool is_server, const struct secret *token)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (openssl_load())
        return NULL;
    pthread_once(&once, make_contexts);
    struct tls *tls = calloc(1, sizeof *tls);
    if (!tls) {
        err_no_memory("for a connection");
        return NULL;
    }
    tls->is_server = is_server;
    // Not the token itself: a proof made here must reveal nothing about the proofs of a hello.
    const weft_bytes purpose = {"weft tls 1.3 key 1", 18};
    secret_hmac(token, &purpose, 1, tls->key);
    const bool can_talk = contexts[is_server] && method && (is_server || attach(tls));
    if (!can_talk) {
        err_set(WEFT_INTERNAL, "OpenSSL cannot make a connection with TLS 1.3: %s",
                ERR_reason_error_string(ERR_peek_error())
                    ? ERR_reason_error_string(ERR_peek_error())
                    : "no reason given");
        ERR_clear_error();
        tls_free(tls);
        return NULL;
    }
    if (!is_server)
        SSL_do_handshake(tls->ssl);  // says hello, and wants an answer
    ERR_clear_error();
    return tls;
}

void tls_free(struct tls *tls)
{
    if (!tls)
        return;
    SSL_free(tls->ssl);
    explicit_bzero(tls->key, sizeof tls->key);
    buf_fini(&tls->out);
    buf_fini(&tls->waiting);
    buf_fini(&tls->first);
    free(tls);
}

// ---- What goes wrong ------------------------------------------------------------------------------

static bool is_about_the_token(int reason)
{
    switch (reason) {
    case SSL_R_BINDER_DOES_NOT_VERIFY:
    case SSL_R_SSLV3_ALERT_ILLEGAL_PARAMETER:  // the alert that OpenSSL sends about the above
    case SSL_R_TLSV1_ALERT_DECRYPT_ERROR:
    case SSL_R_TLSV1_ALERT_UNKNOWN_PSK_IDENTITY:
    case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
    case SSL_R_CERTIFICATE_VERIFY_FAILED:
    case SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM:
    case SSL_R_NO_SHARED_CIPHER:
        return true;
    default:
        return false;
    }
}

static const char no_tls[] = "the other side does not speak TLS 1.3 as weft does";
static const char too_much[] = "the other side sent more than it may before it has proven itself";
static const char other_token[] =
    "the other side has another token\n  try: give both sides the same one, by --token-file or "
    "WEFT_TOKEN";

// After a call of OpenSSL that did not succeed; WEFT_OK: it only wants more bytes.
static weft_err check_result(struct tls *tls, int result)
{
    const int kind = SSL_get_error(tls->ssl, result);
    const int reason = ERR_GET_REASON(ERR_peek_error());
    ERR_clear_error();
    if (tls->out.has_failed)
        return fail(tls, WEFT_RESOURCE_EXHAUSTED, "no memory for bytes to send");
    if (kind == SSL_ERROR_WANT_READ)
        return WEFT_OK;
    if (kind == SSL_ERROR_ZERO_RETURN)
        return fail(tls, WEFT_UNAVAILABLE, "the other side has closed the connection");
    if (tls->is_ready)
        return fail(
            tls, WEFT_DATA_LOSS,
            "the received bytes were changed on the way: they are not those that the other side sent");
    if (is_about_the_token(reason))
        return fail(tls, WEFT_UNAUTHENTICATED, other_token);
    return fail(tls, WEFT_DATA_LOSS, no_tls);
}

// ---- Bytes ----------------------------------------------------------------------------------------

// Always all of it: our BIO takes everything.
static weft_err write_sealed(struct tls *tls, weft_bytes plain)
{
    size_t written = 0;
    if (plain.size == 0)
        return WEFT_OK;
    tls->records += plain.size / RECORD_BYTES + 1;
    if (tls->records > RECORDS_PER_KEY) {
        SSL_key_update(tls->ssl, SSL_KEY_UPDATE_NOT_REQUESTED);
        tls->records = 0;
    }
    const int result = SSL_write_ex(tls->ssl, plain.data, plain.size, &written);
    if (result == 1)
        return WEFT_OK;
    const weft_err code = check_result(tls, result);
    return code != WEFT_OK ? code : fail(tls, WEFT_INTERNAL, "OpenSSL did not accept the bytes");
}

static weft_err handshake(struct tls *tls)
{
    const int result = SSL_do_handshake(tls->ssl);
    if (result != 1)
        return check_result(tls, result);
    if (!SSL_session_reused(tls->ssl))  // some other way than by our key
        return fail(tls, WEFT_UNAUTHENTICATED, other_token);
    tls->is_ready = true;
    const weft_err code = write_sealed(tls, buf_bytes(&tls->waiting));
    buf_fini(&tls->waiting);
    return code;
}

static weft_err read_plain(struct tls *tls, struct buf *plain)
{
    for (;;) {
        size_t got = 0;
        char *room = buf_reserve(plain, RECORD_BYTES);
        if (!room)
            return fail(tls, WEFT_RESOURCE_EXHAUSTED, "no memory for received bytes");
        const int result = SSL_read_ex(tls->ssl, room, RECORD_BYTES, &got);
        if (result != 1)
            return check_result(tls, result);
        plain->size += got;
    }
}

// The size of a record that begins so, as far as that is known. 0: no record of a client's first and only hello.
// OpenSSL would make room for as much as a hello announces, up to 128 KiB, and wait for the rest of it.
static size_t first_record_size(const uint8_t *first, size_t have)
{
    if ((have > 0 && first[0] != RECORD_HANDSHAKE) || (have > 1 && first[1] != 3))
        return 0;
    if (have < RECORD_HEADER_BYTES)
        return RECORD_HEADER_BYTES + MESSAGE_HEADER_BYTES;
    const size_t payload = (size_t)first[3] << 8 | first[4];
    if (payload < MESSAGE_HEADER_BYTES)
        return 0;
    if (have < RECORD_HEADER_BYTES + MESSAGE_HEADER_BYTES)
        return RECORD_HEADER_BYTES + payload;
    const uint8_t *message = first + RECORD_HEADER_BYTES;
    const size_t size = (size_t)message[1] << 16 | (size_t)message[2] << 8 | message[3];
    const bool is_whole =
        message[0] == MESSAGE_CLIENT_HELLO && MESSAGE_HEADER_BYTES + size == payload;
    return is_whole ? RECORD_HEADER_BYTES + payload : 0;
}

// Keeps the first record of a client until it is complete. *cipher becomes the bytes after it, which OpenSSL reads next;
// it is empty while the record is not complete.
static weft_err await_first_record(struct tls *tls, weft_bytes *cipher)
{
    const size_t room = TLS_UNPROVEN_BYTES_MAX - tls->first.size;
    const size_t size = cipher->size < room ? cipher->size : room;
    buf_append(&tls->first, cipher->data, size);
    if (tls->first.has_failed)
        return fail(tls, WEFT_RESOURCE_EXHAUSTED, "no memory for received bytes");
    const size_t have = tls->first.size;
    const size_t whole = first_record_size((const uint8_t *)tls->first.data, have);
    if (whole == 0)
        return fail(tls, WEFT_DATA_LOSS, no_tls);
    if (whole > TLS_UNPROVEN_BYTES_MAX)
        return fail(tls, WEFT_DATA_LOSS, too_much);
    if (have < whole) {
        *cipher = (weft_bytes){0};
        return WEFT_OK;
    }
    if (!attach(tls))
        return fail(tls, WEFT_RESOURCE_EXHAUSTED, "no memory for a connection");
    *cipher = (weft_bytes){cipher->data + size, cipher->size - size};
    return WEFT_OK;
}

// Whether a server wants another hello of its client, which ours never makes necessary (see the groups). Such a message
// has a special random number (RFC 8446, 4.1.3). A stranger could announce another long hello.
static bool asks_for_another_hello(const struct tls *tls)
{
    static const uint8_t special[] = {0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11};
    const size_t at = RECORD_HEADER_BYTES + MESSAGE_HEADER_BYTES + 2;
    return tls->is_server && tls->out.size >= at + sizeof special &&
           memcmp(tls->out.data + at, special, sizeof special) == 0;
}

static weft_err feed_cipher(struct tls *tls, weft_bytes cipher, struct buf *plain)
{
    weft_err code = WEFT_OK;
    tls->input = cipher;
    ERR_clear_error();
    if (!tls->is_ready)
        code = handshake(tls);
    if (code == WEFT_OK && !tls->is_ready && tls->unproven == TLS_UNPROVEN_BYTES_MAX)
        code = fail(tls, WEFT_DATA_LOSS, too_much);
    if (code == WEFT_OK && !tls->is_ready && asks_for_another_hello(tls))
        code = fail(tls, WEFT_DATA_LOSS, no_tls);
    if (code == WEFT_OK && tls->is_ready)
        code = read_plain(tls, plain);
    tls->input = (weft_bytes){0};
    return code;
}

weft_err tls_feed(struct tls *tls, weft_bytes cipher, struct buf *plain)
{
    weft_err code = WEFT_OK;
    if (tls->failure != WEFT_OK)
        return err_set(tls->failure, "%s", tls->why);
    if (!tls->ssl) {
        code = await_first_record(tls, &cipher);
        if (code == WEFT_OK && tls->ssl)
            code = feed_cipher(tls, buf_bytes(&tls->first), plain);
        if (code != WEFT_OK || tls->ssl)
            buf_fini(&tls->first);
    }
    if (code == WEFT_OK && cipher.size > 0)
        code = feed_cipher(tls, cipher, plain);
    if (code == WEFT_OK && plain->has_failed)
        code = fail(tls, WEFT_RESOURCE_EXHAUSTED, "no memory for received bytes");
    return code;
}

weft_err tls_seal(struct tls *tls, weft_bytes plain)
{
    if (tls->failure != WEFT_OK)
        return err_set(tls->failure, "%s", tls->why);
    ERR_clear_error();
    if (tls->is_ready)
        return write_sealed(tls, plain);
    buf_append(&tls->waiting, plain.data, plain.size);
    return tls->waiting.has_failed
               ? fail(tls, WEFT_RESOURCE_EXHAUSTED, "no memory for bytes to send")
               : WEFT_OK;
}

weft_bytes tls_unsent(const struct tls *tls)
{
    // An empty buffer has no data to point into.
    if (tls->sent == tls->out.size)
        return (weft_bytes){"", 0};
    return (weft_bytes){tls->out.data + tls->sent, tls->out.size - tls->sent};
}

void tls_sent(struct tls *tls, size_t size)
{
    tls->sent += size;
    ASSERT(tls->sent <= tls->out.size);
    if (tls->sent < tls->out.size / 2)
        return;
    // A reader that never takes all of it must not make it grow without end.
    if (tls->sent < tls->out.size)
        memmove(tls->out.data, tls->out.data + tls->sent, tls->out.size - tls->sent);
    tls->out.size -= tls->sent;
    tls->sent = 0;
    if (tls->out.size == 0 && tls->out.capacity > IDLE_BYTES_MAX)
        buf_fini(&tls->out);
}

bool tls_is_ready(const struct tls *tls)
{
    return tls->is_ready;
}

size_t tls_waiting_bytes(const struct tls *tls)
{
    return tls->waiting.size + tls->out.size - tls->sent;
}
