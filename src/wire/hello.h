// Hello: how a member and a host prove to each other that they have the same token, and agree on
// the session between them. Two state machines that take frames and append frames; no I/O, no
// clock, and the caller gives the random numbers.
//
//     member                                                host
//       HOST_HELLO      who I am, what I had, my nonce  ->
//                    <- HOST_CHALLENGE  its nonce, proof of the host
//       HOST_PROOF      proof of the member             ->        the owner decides
//                    <- HOST_WELCOME    or HOST_REFUSED { code, sentence }
//
// A proof is HMAC(token, who | both nonces | the hello as it was sent), so an impostor learns
// nothing that it could use elsewhere, and the host proves itself before the member does. A refusal
// carries a proof of its own, HMAC(token, the member's nonce | code | message). Without it, or a
// proof before it, a refusal is only a hint, because any process at the address may have sent it.
// Everything before the proof is bounded: HELLO_FRAME_BYTES_MAX a frame. Thread: one owner.
#ifndef WIRE_HELLO_H
#define WIRE_HELLO_H

#include "sys/secure/secret.h"
#include "wire/messages.h"

enum {
    HELLO_FRAME_BYTES_MAX = 4096,
    HELLO_NONCE_BYTES = 32,
    HELLO_SESSION_BYTES = 16,
    HELLO_MEMBER_BYTES = 256,  // a member's name with its final zero
    HELLO_ARCHITECTURE_BYTES = 16
};

// What a connection is for; each kind of server takes some and refuses the others.
enum hello_purpose {
    HELLO_FOR_CALLS = 0,    // of a host's resources (wire/call.h)
    HELLO_FOR_SESSION = 1,  // frames of a job, both ways (transport/tether.h)
    HELLO_FOR_FETCH = 2,    // bytes of files (transport/fetch.h)
    HELLO_FOR_LINE = 3,     // likewise, but the side that connects serves them (transport/lines.h)
    HELLO_FOR_RELAY = 4,    // likewise, of a peer of the side that listens (transport/relays.h)
    HELLO_FOR_AGENT =
        5,  // of members on another machine, to their launcher (launch/far/far_join.c)
};

// A member's description of itself. hello_client_start sets `wire_version` and `version`.
struct hello {
    uint32_t wire_version;
    char version[32];                 // of the program
    char member[HELLO_MEMBER_BYTES];  // "/map/0"; "": none
    uint64_t incarnation;             // of the member: which of its lives this is
    uint8_t session[HELLO_SESSION_BYTES];
    uint64_t epoch;  // of the host that the session was with; 0: none yet
    bool resumes;    // an earlier connection of this session broke
    uint64_t answers_received;
    uint64_t life, life_mark;  // of the host when they last met; 0: it had no journal
    uint32_t session_number;   // that the member has seen
    uint64_t changes;          // calls of the session that are known to be in the host's journal
    uint8_t nonce[HELLO_NONCE_BYTES];             // random, made for this connection alone
    char expected_host[HELLO_MEMBER_BYTES];       // the member that should be there; "": any
    uint32_t purpose;                             // enum hello_purpose
    char architecture[HELLO_ARCHITECTURE_BYTES];  // "x86_64"; "": it does not matter
    uint64_t target;  // HELLO_FOR_LINE: its number; HELLO_FOR_RELAY: the number of the peer
};

struct hello_welcome {
    uint64_t epoch;                 // of the host: grows when it starts without its former state
    uint64_t applied;               // the last changing call of this session that arrived; 0: none
    uint64_t life, life_mark;       // of the host, by its journal; 0: it has none
    uint32_t session_number;        // by which its journal knows the session
    char host[HELLO_MEMBER_BYTES];  // "": it has no name
};

// ---- The member's side ----------------------------------------------------------------------------

struct hello_client {
    enum hello_client_state {
        HELLO_CLIENT_NEW,
        HELLO_CLIENT_GREETED,  // waits for the challenge
        HELLO_CLIENT_PROVEN,   // waits for the welcome
        HELLO_CLIENT_DONE,
        HELLO_CLIENT_FAILED,
    } state;
    bool is_host_proven;  // the host has proven that it has the token: its messages count
    struct secret token;
    uint8_t nonce[HELLO_NONCE_BYTES];
    char expected_host[HELLO_MEMBER_BYTES];
    struct buf hello;  // the payload as it was sent
};

// Appends the first frame. `client` starts zeroed; both are copied.
MUST_CHECK weft_err hello_client_start(struct hello_client *client, const struct hello *hello,
                                       const struct secret *token, struct buf *out);

// Takes a frame of the host; *is_done: `welcome` is filled in and calls may follow.
// UNAUTHENTICATED: the host has another token (nothing of ours was shown to it);
// FAILED_PRECONDITION: another version of the wire, or another member is at this address;
// DATA_LOSS: this is not a host. Or the code of the host's refusal, UNAVAILABLE if that came
// without a proof. Unless client->is_host_proven, an error means only that no host was met here
// this time. After an error the connection must be closed.
MUST_CHECK weft_err hello_client_take(struct hello_client *client, const struct frame *frame,
                                      struct buf *out, bool *is_done,
                                      struct hello_welcome *welcome);
void hello_client_fini(struct hello_client *client);  // and the copy of the token; zeroed is fine

// ---- The host's side ------------------------------------------------------------------------------

struct hello_server {
    enum hello_server_state {
        HELLO_SERVER_WAITS,       // for the hello
        HELLO_SERVER_CHALLENGED,  // waits for the proof
        HELLO_SERVER_PROVEN,      // the owner welcomes or refuses
        HELLO_SERVER_DONE,        // welcomed
        HELLO_SERVER_REFUSED,
    } state;
    const struct secret *token;  // the owner's
    uint8_t nonce[HELLO_NONCE_BYTES];
    char member[HELLO_MEMBER_BYTES];  // of the host
    uint8_t expected_proof[SECRET_MAC_BYTES];
    bool has_nonce;      // the client's, in `hello`
    struct hello hello;  // complete in PROVEN; do not trust it before
};

// `nonce` is random and made for this connection alone; `member` is the host's own name, "" for
// none; the token stays the caller's and outlives the server. There is nothing to free.
void hello_server_init(struct hello_server *server, const struct secret *token,
                       const uint8_t nonce[HELLO_NONCE_BYTES], const char *member);

// Takes a frame of the client; server->state is the next step. On an error the refusal with the
// reason is appended already: send it, then close. The owner limits its frame_parser to
// HELLO_FRAME_BYTES_MAX until PROVEN (frame_parser.payload_bytes_max). UNAUTHENTICATED: another
// token; FAILED_PRECONDITION: another version, or the client looks for another member; DATA_LOSS:
// this is not a client.
MUST_CHECK weft_err hello_server_take(struct hello_server *server, const struct frame *frame,
                                      struct buf *out);

// In PROVEN: the owner's decision. `welcome->host` is filled in by the server's own member.
MUST_CHECK weft_err hello_server_welcome(struct hello_server *server,
                                         const struct hello_welcome *welcome, struct buf *out);

// Appends a refusal, in any state but DONE; a message that is too long for the frame is cut. Fails
// only if memory runs out.
MUST_CHECK weft_err hello_server_refuse(struct hello_server *server, weft_err code,
                                        const char *sentence, struct buf *out);

#endif
