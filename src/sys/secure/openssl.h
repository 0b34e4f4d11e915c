// OpenSSL, loaded when the first connection needs TLS. Loading it takes a millisecond, as long as all else
// that a small command does; most never leave the machine. In a static program it is linked as usual.
//
// Include this instead of OpenSSL's own headers; the names are theirs. tls.c is the only user.
#ifndef SYS_SECURE_OPENSSL_H
#define SYS_SECURE_OPENSSL_H

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "base/err.h"

// Loads it, once. UNAVAILABLE with what to install.
MUST_CHECK weft_err openssl_load(void);

// A new function also needs its line below.
#define OPENSSL_FUNCTIONS(F)                                                                       \
    F(BIO_clear_flags)                                                                             \
    F(BIO_free)                                                                                    \
    F(BIO_get_data)                                                                                \
    F(BIO_get_new_index)                                                                           \
    F(BIO_meth_free)                                                                               \
    F(BIO_meth_new)                                                                                \
    F(BIO_meth_set_ctrl)                                                                           \
    F(BIO_meth_set_read_ex)                                                                        \
    F(BIO_meth_set_write_ex)                                                                       \
    F(BIO_new)                                                                                     \
    F(BIO_set_data)                                                                                \
    F(BIO_set_flags)                                                                               \
    F(BIO_set_init)                                                                                \
    F(ERR_clear_error)                                                                             \
    F(ERR_peek_error)                                                                              \
    F(ERR_reason_error_string)                                                                     \
    F(SSL_CIPHER_find)                                                                             \
    F(SSL_CTX_ctrl)                                                                                \
    F(SSL_CTX_free)                                                                                \
    F(SSL_CTX_new)                                                                                 \
    F(SSL_CTX_set_ciphersuites)                                                                    \
    F(SSL_CTX_set_num_tickets)                                                                     \
    F(SSL_CTX_set_options)                                                                         \
    F(SSL_CTX_set_psk_find_session_callback)                                                       \
    F(SSL_CTX_set_psk_use_session_callback)                                                        \
    F(SSL_CTX_set_verify)                                                                          \
    F(SSL_SESSION_free)                                                                            \
    F(SSL_SESSION_new)                                                                             \
    F(SSL_SESSION_set1_master_key)                                                                 \
    F(SSL_SESSION_set_cipher)                                                                      \
    F(SSL_SESSION_set_protocol_version)                                                            \
    F(SSL_do_handshake)                                                                            \
    F(SSL_free)                                                                                    \
    F(SSL_get_error)                                                                               \
    F(SSL_get_ex_data)                                                                             \
    F(SSL_key_update)                                                                              \
    F(SSL_new)                                                                                     \
    F(SSL_read_ex)                                                                                 \
    F(SSL_session_reused)                                                                          \
    F(SSL_set_accept_state)                                                                        \
    F(SSL_set_bio)                                                                                 \
    F(SSL_set_connect_state)                                                                       \
    F(SSL_set_ex_data)                                                                             \
    F(SSL_write_ex)                                                                                \
    F(TLS_client_method)                                                                           \
    F(TLS_server_method)

#ifndef WEFT_OPENSSL_LINKED
struct openssl {
#define OPENSSL_FIELD(name) __typeof__(&name) name;
    OPENSSL_FUNCTIONS(OPENSSL_FIELD)
#undef OPENSSL_FIELD
};
extern struct openssl openssl;

#ifndef OPENSSL_OWN_NAMES
#define BIO_clear_flags openssl.BIO_clear_flags
#define BIO_free openssl.BIO_free
#define BIO_get_data openssl.BIO_get_data
#define BIO_get_new_index openssl.BIO_get_new_index
#define BIO_meth_free openssl.BIO_meth_free
#define BIO_meth_new openssl.BIO_meth_new
#define BIO_meth_set_ctrl openssl.BIO_meth_set_ctrl
#define BIO_meth_set_read_ex openssl.BIO_meth_set_read_ex
#define BIO_meth_set_write_ex openssl.BIO_meth_set_write_ex
#define BIO_new openssl.BIO_new
#define BIO_set_data openssl.BIO_set_data
#define BIO_set_flags openssl.BIO_set_flags
#define BIO_set_init openssl.BIO_set_init
#define ERR_clear_error openssl.ERR_clear_error
#define ERR_peek_error openssl.ERR_peek_error
#define ERR_reason_error_string openssl.ERR_reason_error_string
#define SSL_CIPHER_find openssl.SSL_CIPHER_find
#define SSL_CTX_ctrl openssl.SSL_CTX_ctrl
#define SSL_CTX_free openssl.SSL_CTX_free
#define SSL_CTX_new openssl.SSL_CTX_new
#define SSL_CTX_set_ciphersuites openssl.SSL_CTX_set_ciphersuites
#define SSL_CTX_set_num_tickets openssl.SSL_CTX_set_num_tickets
#define SSL_CTX_set_options openssl.SSL_CTX_set_options
#define SSL_CTX_set_psk_find_session_callback openssl.SSL_CTX_set_psk_find_session_callback
#define SSL_CTX_set_psk_use_session_callback openssl.SSL_CTX_set_psk_use_session_callback
#define SSL_CTX_set_verify openssl.SSL_CTX_set_verify
#define SSL_SESSION_free openssl.SSL_SESSION_free
#define SSL_SESSION_new openssl.SSL_SESSION_new
#define SSL_SESSION_set1_master_key openssl.SSL_SESSION_set1_master_key
#define SSL_SESSION_set_cipher openssl.SSL_SESSION_set_cipher
#define SSL_SESSION_set_protocol_version openssl.SSL_SESSION_set_protocol_version
#define SSL_do_handshake openssl.SSL_do_handshake
#define SSL_free openssl.SSL_free
#define SSL_get_error openssl.SSL_get_error
#define SSL_get_ex_data openssl.SSL_get_ex_data
#define SSL_key_update openssl.SSL_key_update
#define SSL_new openssl.SSL_new
#define SSL_read_ex openssl.SSL_read_ex
#define SSL_session_reused openssl.SSL_session_reused
#define SSL_set_accept_state openssl.SSL_set_accept_state
#define SSL_set_bio openssl.SSL_set_bio
#define SSL_set_connect_state openssl.SSL_set_connect_state
#define SSL_set_ex_data openssl.SSL_set_ex_data
#define SSL_write_ex openssl.SSL_write_ex
#define TLS_client_method openssl.TLS_client_method
#define TLS_server_method openssl.TLS_server_method
#endif
#endif

#endif
