// Who is in the world: a hub, spokes with their sessions, processes that fetch.
#ifndef SIM_TRANSPORT_PARTIES_H
#define SIM_TRANSPORT_PARTIES_H

#include "sim_transport/world.h"
#include "sys/secure/secret.h"

struct hub;
struct fetch_client;
struct fetch_files;

enum {
    COUNT_FRAMES,
    COUNT_SESSIONS,
    COUNT_LOST,
    COUNT_SUSPECTS,
    COUNT_BACK,
    COUNT_REFUSED,  // spokes that were told that they are fenced
    COUNT_CRASHES,
    COUNT_FULL,  // frames that found no room
    COUNT_FETCHED,
    COUNT_FETCH_FAILED,
    COUNT_WANTED,
    COUNT_WANT_FAILED,
    COUNTS
};

struct plan {
    uint32_t spoke_count, fetcher_count;
    size_t kept_bytes_max;
    uint32_t patience_ms;
    uint32_t frame_bytes;  // at most
};

extern struct plan plan;
extern uint64_t counts[COUNTS];
extern const struct secret sim_token;

// ---- sessions.c ---------------------------------------------------------------------------------------------

void sessions_init(void);
void sessions_act(
    void);  // one of the parties does something; processes that ended are started again
void sessions_calm(void);  // processes that are down are started at once
void sessions_check(
    void);  // faults have ended long ago: everything has arrived, or both sides know that it will not
void sessions_fini(void);

// ---- fetches.c ----------------------------------------------------------------------------------------------

enum { SERVED_FILES = 3, SERVED_BYTES = 700000 };

struct fetch_files *fetches_files(void);  // what the hub serves
char fetches_content(uint64_t file, uint64_t offset);
bool fetches_can_read(uint64_t file, uint64_t offset, uint64_t size);  // false: a bad place
void fetches_init(void);
void fetches_act(void);
void fetches_check(void);
void fetches_fini(void);

// ---- mirrors.c ----------------------------------------------------------------------------------------------

void mirrors_act(uint32_t process, struct fetch_client *client);
void mirrors_end(uint32_t process);  // before its fetch_client is freed
void mirrors_check(void);
char *mirrors_disk(int fd);  // the bytes of a mirror; NULL: another file

#endif
