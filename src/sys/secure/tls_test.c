// Tests of TLS: two filters joined by hand, so that every byte between them can be changed.

#include "sys/secure/tls.h"

#include <malloc.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/sanitized.h"

static const struct secret token = {.bytes = "0123456789abcdef", .size = 16};
static const struct secret other_token = {.bytes = "0123456789abcdeg", .size = 16};

// Hands over what one side has to send, `piece` bytes at a time.
static weft_err carry(struct tls *from, struct tls *to, size_t piece, struct buf *plain)
{
    while (tls_unsent(from).size > 0) {
        weft_bytes bytes = tls_unsent(from);
        bytes.size = bytes.size < piece ? bytes.size : piece;
        // A copy of exact size: reading beyond it is seen by a sanitizer.
        char *copy = malloc(bytes.size);
        memcpy(copy, bytes.data, bytes.size);
        const weft_err code = tls_feed(to, (weft_bytes){copy, bytes.size}, plain);
        free(copy);
        tls_sent(from, bytes.size);
        if (code != WEFT_OK)
            return code;
    }
    return WEFT_OK;
}

static void shake_hands(struct tls *client, struct tls *server, size_t piece)
{
    struct buf plain = {0};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(carry(client, server, piece, &plain), WEFT_OK);
        assert_int_equal(carry(server, client, piece, &plain), WEFT_OK);
    }
    assert_true(tls_is_ready(client) && tls_is_ready(server));
    assert_int_equal(plain.size, 0);
    buf_fini(&plain);
}

static void end_pair(struct tls *client, struct tls *server, struct buf *plain)
{
    buf_fini(plain);
    tls_free(client);
    tls_free(server);
}

static void both_sides_with_the_token_talk(void **state)
{
    (void)state;
    static const size_t pieces[] = {1, 7, 100000};
    for (size_t i = 0; i < 3; i++) {
        struct tls *client = tls_new(false, &token), *server = tls_new(true, &token);
        struct buf there = {0}, back = {0};
        assert_false(tls_is_ready(client));
        assert_true(tls_unsent(client).size > 0);
        shake_hands(client, server, pieces[i]);
        assert_int_equal(tls_seal(client, (weft_bytes){"ping", 4}), WEFT_OK);
        assert_int_equal(tls_seal(server, (weft_bytes){"pong!", 5}), WEFT_OK);
        assert_int_equal(carry(client, server, pieces[i], &there), WEFT_OK);
        assert_int_equal(carry(server, client, pieces[i], &back), WEFT_OK);
        assert_true(there.size == 4 && memcmp(there.data, "ping", 4) == 0);
        assert_true(back.size == 5 && memcmp(back.data, "pong!", 5) == 0);
        assert_int_equal(tls_waiting_bytes(client), 0);
        buf_fini(&there);
        buf_fini(&back);
        tls_free(client);
        tls_free(server);
    }
}

static void what_is_sealed_too_early_waits_for_the_handshake(void **state)
{
    (void)state;
    struct tls *client = tls_new(false, &token), *server = tls_new(true, &token);
    struct buf there = {0}, back = {0};
    assert_int_equal(tls_seal(client, (weft_bytes){"early", 5}), WEFT_OK);
    assert_true(tls_waiting_bytes(client) > tls_unsent(client).size);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(carry(client, server, 1000, &there), WEFT_OK);
        assert_int_equal(carry(server, client, 1000, &back), WEFT_OK);
    }
    assert_true(there.size == 5 && back.size == 0);
    buf_fini(&there);
    buf_fini(&back);
    tls_free(client);
    tls_free(server);
}

static void big_transfers_go_both_ways(void **state)
{
    (void)state;
    enum { SIZE = 3 << 20 };
    struct tls *client = tls_new(false, &token), *server = tls_new(true, &token);
    struct buf there = {0}, back = {0};
    char *bytes = malloc(SIZE);
    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = (char)(i * 31 >> 3);
    shake_hands(client, server, 1000);
    assert_int_equal(tls_seal(client, (weft_bytes){bytes, SIZE}), WEFT_OK);
    assert_int_equal(tls_seal(server, (weft_bytes){bytes, SIZE}), WEFT_OK);
    assert_int_equal(carry(client, server, 50000, &there), WEFT_OK);
    assert_int_equal(carry(server, client, 3001, &back), WEFT_OK);
    assert_true(there.size == SIZE && memcmp(there.data, bytes, SIZE) == 0);
    assert_true(back.size == SIZE && memcmp(back.data, bytes, SIZE) == 0);
    free(bytes);
    buf_fini(&there);
    buf_fini(&back);
    tls_free(client);
    tls_free(server);
}

static void another_token_is_told_to_both_sides(void **state)
{
    (void)state;
    struct tls *client = tls_new(false, &token), *server = tls_new(true, &other_token);
    struct buf plain = {0};
    assert_int_equal(carry(client, server, 100000, &plain), WEFT_UNAUTHENTICATED);
    assert_non_null(strstr(err_text(), "another token"));
    assert_int_equal(carry(server, client, 100000, &plain), WEFT_UNAUTHENTICATED);
    assert_non_null(strstr(err_text(), "--token-file"));
    assert_int_equal(plain.size, 0);
    assert_false(tls_is_ready(client) || tls_is_ready(server));
    // It stays at that.
    assert_int_equal(tls_feed(server, (weft_bytes){"x", 1}, &plain), WEFT_UNAUTHENTICATED);
    assert_int_equal(tls_seal(client, (weft_bytes){"x", 1}), WEFT_UNAUTHENTICATED);
    end_pair(client, server, &plain);
}

static void garbage_is_data_loss_on_either_side(void **state)
{
    (void)state;
    static const char *const texts[] = {"GET / HTTP/1.1\r\n\r\n", "\x16\x03\x01\xff\xff\xff\xff",
                                        "SSH-2.0-OpenSSH_9.2\r\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (int is_server = 0; is_server < 2; is_server++) {
            struct tls *tls = tls_new(is_server, &token);
            struct buf plain = {0};
            const weft_bytes text = {texts[i], strlen(texts[i])};
            assert_int_equal(tls_feed(tls, text, &plain), WEFT_DATA_LOSS);
            assert_int_equal(plain.size, 0);
            buf_fini(&plain);
            tls_free(tls);
        }
}

static void a_changed_byte_is_data_loss(void **state)
{
    (void)state;
    struct tls *client = tls_new(false, &token), *server = tls_new(true, &token);
    struct buf plain = {0};
    char bytes[200];
    shake_hands(client, server, 1000);
    assert_int_equal(tls_seal(client, (weft_bytes){"0123456789", 10}), WEFT_OK);
    const weft_bytes cipher = tls_unsent(client);
    assert_true(cipher.size < sizeof bytes && !memmem(cipher.data, cipher.size, "345", 3));
    memcpy(bytes, cipher.data, cipher.size);
    bytes[cipher.size - 9] ^= 4;
    assert_int_equal(tls_feed(server, (weft_bytes){bytes, cipher.size}, &plain), WEFT_DATA_LOSS);
    assert_int_equal(plain.size, 0);
    end_pair(client, server, &plain);
}

static void half_a_handshake_is_freed_without_a_trace(void **state)
{
    (void)state;
    struct tls *client = tls_new(false, &token), *server = tls_new(true, &token);
    struct buf plain = {0};
    const weft_bytes hello = tls_unsent(client);
    assert_int_equal(tls_feed(server, (weft_bytes){hello.data, hello.size / 2}, &plain), WEFT_OK);
    assert_int_equal(tls_unsent(server).size, 0);
    assert_false(tls_is_ready(server));
    tls_free(client);
    tls_free(server);
    tls_free(NULL);
    buf_fini(&plain);
}

// An impostor without the token, who ignores the key and shows a certificate, as any TLS server does.
static SSL *make_impostor(SSL_CTX **context)
{
    EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
    X509 *certificate = X509_new();
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_set_pubkey(certificate, key);
    assert_true(X509_sign(certificate, key, EVP_sha256()) > 0);
    *context = SSL_CTX_new(TLS_server_method());
    assert_int_equal(SSL_CTX_use_certificate(*context, certificate), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey(*context, key), 1);
    X509_free(certificate);
    EVP_PKEY_free(key);
    SSL *ssl = SSL_new(*context);
    SSL_set_bio(ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_accept_state(ssl);
    return ssl;
}

static void a_server_with_a_certificate_instead_of_the_token_is_refused(void **state)
{
    (void)state;
    SSL_CTX *context;
    SSL *impostor = make_impostor(&context);
    struct tls *client = tls_new(false, &token);
    struct buf plain = {0};
    char answer[8192];
    const weft_bytes hello = tls_unsent(client);
    assert_int_equal(BIO_write(SSL_get_rbio(impostor), hello.data, (int)hello.size),
                     (int)hello.size);
    tls_sent(client, hello.size);
    SSL_do_handshake(impostor);
    const int size = BIO_read(SSL_get_wbio(impostor), answer, sizeof answer);
    assert_true(size > 500);  // its certificate
    assert_int_equal(tls_feed(client, (weft_bytes){answer, (size_t)size}, &plain),
                     WEFT_UNAUTHENTICATED);
    assert_false(tls_is_ready(client));
    buf_fini(&plain);
    tls_free(client);
    SSL_free(impostor);
    SSL_CTX_free(context);
}

// And a client that offers no key at all.
static void a_client_without_a_key_is_refused(void **state)
{
    (void)state;
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL *stranger = SSL_new(context);
    struct tls *server = tls_new(true, &token);
    struct buf plain = {0};
    char hello[4096];
    SSL_set_bio(stranger, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_connect_state(stranger);
    SSL_do_handshake(stranger);
    const int size = BIO_read(SSL_get_wbio(stranger), hello, sizeof hello);
    assert_true(size > 0);
    assert_int_equal(tls_feed(server, (weft_bytes){hello, (size_t)size}, &plain),
                     WEFT_UNAUTHENTICATED);
    buf_fini(&plain);
    tls_free(server);
    SSL_free(stranger);
    SSL_CTX_free(context);
}

// A handshake that a stranger draws out: as long as it is not complete, no more than this is kept of it.
static void a_first_record_that_is_too_long_is_refused(void **state)
{
    (void)state;
    static const uint8_t headers[][9] = {
        {22, 3, 1, 0xff, 0xff},
        {22, 3, 1, 0x10, 0, 1, 0, 0x0f, 0xfc},
        {22, 4, 1, 0, 9},
        {32, 0, 0, 0, 32},
        {22, 3, 1, 1, 0, 1, 1, 0xff, 0xff},  // a hello that continues in other records
        {22, 3, 1, 1, 0, 2, 0, 0, 252},      // not the hello of a client
        {22, 3, 1, 0, 3, 1, 0, 0, 0}};
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        struct tls *server = tls_new(true, &token);
        struct buf plain = {0};
        const weft_bytes header = {(const char *)headers[i], sizeof headers[i]};
        assert_int_equal(tls_feed(server, header, &plain), WEFT_DATA_LOSS);
        buf_fini(&plain);
        tls_free(server);
    }
}

// Records without end, as the change of ciphers that OpenSSL passes over, or a server's hello in pieces.
static void more_than_a_handshake_before_the_proof_is_refused(void **state)
{
    (void)state;
    static const char nothing[] = {20, 3, 3, 0, 1, 1};
    for (int is_server = 0; is_server < 2; is_server++) {
        struct tls *client = tls_new(false, &token), *server = tls_new(true, &token);
        struct tls *tls = is_server ? server : client;
        struct buf plain = {0};
        if (is_server)
            assert_int_equal(carry(client, server, 100000, &plain), WEFT_OK);
        weft_err code = WEFT_OK;
        size_t count = 0;
        for (; code == WEFT_OK && count < 10000; count++)
            code = tls_feed(tls, (weft_bytes){nothing, sizeof nothing}, &plain);
        assert_int_equal(code, WEFT_DATA_LOSS);
        assert_true(count <= TLS_UNPROVEN_BYTES_MAX / sizeof nothing + 1);
        buf_fini(&plain);
        tls_free(client);
        tls_free(server);
    }
}

// A client that offers a group without a share of it: OpenSSL would ask for another hello, and wait.
static void a_client_that_needs_a_second_hello_is_refused(void **state)
{
    (void)state;
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    assert_int_equal(SSL_CTX_set1_groups_list(context, "P-384:X25519"), 1);
    SSL *stranger = SSL_new(context);
    struct tls *server = tls_new(true, &token);
    struct buf plain = {0};
    char hello[4096];
    SSL_set_bio(stranger, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_connect_state(stranger);
    SSL_do_handshake(stranger);
    const int size = BIO_read(SSL_get_wbio(stranger), hello, sizeof hello);
    assert_int_not_equal(tls_feed(server, (weft_bytes){hello, (size_t)size}, &plain), WEFT_OK);
    buf_fini(&plain);
    tls_free(server);
    SSL_free(stranger);
    SSL_CTX_free(context);
}

// A stranger that has recorded a client's hello and sends it gets an answer that it cannot use.
static void a_recorded_handshake_opens_nothing(void **state)
{
    (void)state;
    struct tls *client = tls_new(false, &token), *server = tls_new(true, &token);
    struct tls *again = tls_new(true, &token);
    struct buf recorded = {0}, plain = {0};
    for (int i = 0; i < 3; i++) {
        const weft_bytes said = tls_unsent(client);
        buf_append(&recorded, said.data, said.size);
        assert_int_equal(carry(client, server, 100000, &plain), WEFT_OK);
        assert_int_equal(carry(server, client, 100000, &plain), WEFT_OK);
    }
    assert_int_equal(tls_seal(client, (weft_bytes){"pay alice", 9}), WEFT_OK);
    buf_append(&recorded, tls_unsent(client).data, tls_unsent(client).size);
    assert_int_not_equal(tls_feed(again, buf_bytes(&recorded), &plain), WEFT_OK);
    assert_false(tls_is_ready(again));
    assert_int_equal(plain.size, 0);
    buf_fini(&recorded);
    end_pair(client, server, &plain);
    tls_free(again);
}

// What strangers cost that have said nothing, or all but the end of a hello.
static void a_stranger_takes_no_more_memory_than_it_has_sent(void **state)
{
    (void)state;
    if (IS_SANITIZED)
        skip();
    enum { STRANGERS = 100 };
    static struct tls *all[STRANGERS];
    static char record[TLS_UNPROVEN_BYTES_MAX] = {22, 3, 1,    0x0f,      (char)0xfb,
                                                  1,  0, 0x0f, (char)0xf7};
    struct buf plain = {0};
    tls_free(tls_new(true, &token));  // makes the contexts that all share
    const size_t before = mallinfo2().uordblks;
    for (size_t i = 0; i < STRANGERS; i++) {
        all[i] = tls_new(true, &token);
        for (size_t at = 0; at < sizeof record - 1; at += 45)
            assert_int_equal(tls_feed(all[i], (weft_bytes){record + at, 45}, &plain), WEFT_OK);
    }
    const size_t each = (mallinfo2().uordblks - before) / STRANGERS;
    print_message("%zu bytes for a stranger\n", each);
    assert_true(each < TLS_UNPROVEN_BYTES_MAX + 2048);
    for (size_t i = 0; i < STRANGERS; i++)
        tls_free(all[i]);
    buf_fini(&plain);
}

static void keys_are_changed_while_it_runs(void **state)
{
    (void)state;
    struct tls *client = tls_new(false, &token), *server = tls_new(true, &token);
    struct buf plain = {0};
    size_t total = 0;
    shake_hands(client, server, 1000);
    const char zeros[4096] = {0};
    for (int i = 0; i < (1 << 20) + 1000; i++) {
        const bool is_watched = i > (1 << 20) - 100;
        assert_int_equal(tls_seal(client, (weft_bytes){is_watched ? "key" : zeros, 3}), WEFT_OK);
        if (i % 1000 == 0 || is_watched) {
            assert_int_equal(carry(client, server, 1 << 20, &plain), WEFT_OK);
            total += plain.size;
            plain.size = 0;
        }
    }
    assert_int_equal(total, 3 * ((1 << 20) + 1000));
    end_pair(client, server, &plain);
}

// What an idle connection keeps: measured, because an OpenSSL of another version may differ.
static void an_idle_connection_takes_little_memory(void **state)
{
    (void)state;
    if (IS_SANITIZED)
        skip();
    enum { PAIRS = 100 };
    static struct tls *all[2 * PAIRS];
    struct buf plain = {0};
    const size_t before = mallinfo2().uordblks;
    for (size_t i = 0; i < PAIRS; i++) {
        struct tls *client = all[2 * i] = tls_new(false, &token);
        struct tls *server = all[2 * i + 1] = tls_new(true, &token);
        shake_hands(client, server, 1 << 20);
        for (int round = 0; round < 3; round++) {
            char bytes[20000] = {0};
            assert_int_equal(tls_seal(client, (weft_bytes){bytes, sizeof bytes}), WEFT_OK);
            assert_int_equal(tls_seal(server, (weft_bytes){bytes, sizeof bytes}), WEFT_OK);
            assert_int_equal(carry(client, server, 1 << 20, &plain), WEFT_OK);
            assert_int_equal(carry(server, client, 1 << 20, &plain), WEFT_OK);
            plain.size = 0;
        }
    }
    buf_fini(&plain);
    const size_t each = (mallinfo2().uordblks - before) / (2 * PAIRS);
    print_message("an idle connection takes %zu bytes\n", each);
    assert_true(each < 20000);
    for (size_t i = 0; i < 2 * PAIRS; i++)
        tls_free(all[i]);
}

static void *talk(void *argument)
{
    (void)argument;
    for (int i = 0; i < 20; i++) {
        struct tls *client = tls_new(false, &token), *server = tls_new(true, &token);
        struct buf plain = {0};
        for (int round = 0; round < 4; round++)
            if (carry(client, server, 1000, &plain) != WEFT_OK ||
                carry(server, client, 1000, &plain) != WEFT_OK)
                return NULL;
        const bool is_ready = tls_is_ready(server);
        tls_free(client);
        tls_free(server);
        buf_fini(&plain);
        if (!is_ready)
            return NULL;
    }
    return (void *)1;
}

static void threads_do_not_disturb_each_other(void **state)
{
    (void)state;
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, talk, NULL), 0);
    for (int i = 0; i < 4; i++) {
        void *result = NULL;
        pthread_join(threads[i], &result);
        assert_non_null(result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_do_not_disturb_each_other),
        cmocka_unit_test(both_sides_with_the_token_talk),
        cmocka_unit_test(what_is_sealed_too_early_waits_for_the_handshake),
        cmocka_unit_test(big_transfers_go_both_ways),
        cmocka_unit_test(another_token_is_told_to_both_sides),
        cmocka_unit_test(garbage_is_data_loss_on_either_side),
        cmocka_unit_test(a_changed_byte_is_data_loss),
        cmocka_unit_test(half_a_handshake_is_freed_without_a_trace),
        cmocka_unit_test(a_server_with_a_certificate_instead_of_the_token_is_refused),
        cmocka_unit_test(a_client_without_a_key_is_refused),
        cmocka_unit_test(a_first_record_that_is_too_long_is_refused),
        cmocka_unit_test(more_than_a_handshake_before_the_proof_is_refused),
        cmocka_unit_test(a_client_that_needs_a_second_hello_is_refused),
        cmocka_unit_test(a_recorded_handshake_opens_nothing),
        cmocka_unit_test(a_stranger_takes_no_more_memory_than_it_has_sent),
        cmocka_unit_test(keys_are_changed_while_it_runs),
        cmocka_unit_test(an_idle_connection_takes_little_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
