// entrance: where a program can be reached, and by whom: its address, the sockets that listen there, the token, and a
// file that names it.
#ifndef TRANSPORT_ENTRANCE_H
#define TRANSPORT_ENTRANCE_H

#include "sys/net/net.h"
#include "sys/secure/secret.h"

struct entrance_options {
    const char *listen;     // ADDRESS[:PORT]
    uint16_t default_port;  // where that names none
    const char *
        token_file;  // NULL: WEFT_TOKEN, else the user's own on a loopback address, else one made for this run
    uint16_t earlier_port;  // where `listen` leaves it open: wanted, if it is free; 0: any
    const struct secret *earlier_token;  // instead of making one; NULL: none
};

struct entrance {
    struct net_address address;  // as it was asked for; the port is the listener's
    struct net_listener listener;
    struct secret token;
    bool has_made_token;
    const char *file;  // that entrance_write_file has made; NULL: none
    int file_fd;       // while there is one: keeps it locked
    char file_text[NET_ADDRESS_TEXT_BYTES + 1];
};

// Finds the token and listens. `entrance` may be closed in every case.
MUST_CHECK weft_err entrance_open(struct entrance *entrance,
                                  const struct entrance_options *options);
void entrance_close(struct entrance *entrance);  // removes the file; zeroed is fine

// The address for other machines: "all interfaces" is not one that they can connect to.
void entrance_name(const struct entrance *entrance, char text[NET_ADDRESS_TEXT_BYTES]);

// Removes the file that an earlier program has left, so that no script takes it for this one's. That of a program which
// still runs stays. ALREADY_EXISTS: a file that is not of this kind, which stays; INVALID_ARGUMENT: not a file.
MUST_CHECK weft_err entrance_clear_file(const char *path);

// Writes the port, or HOST:PORT, to a file, in one step: a script that waits for the file reads all of it. `path` stays
// the caller's. The file is removed at the end, unless another program has written its own since.
MUST_CHECK weft_err entrance_write_file(struct entrance *entrance, const char *path,
                                        bool has_address);

#endif
