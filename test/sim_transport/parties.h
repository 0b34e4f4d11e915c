// Who is in the world: a hub, spokes with their sessions, processes that fetch.
#ifndef SIM_TRANSPORT_PARTIES_H
#define SIM_TRANSPORT_PARTIES_H

#include "sys/secure/secret.h"
#include "world/world.h"

struct hub;
struct fetch_client;
struct fetch_files;

// Process 0 is the hub, then come spokes, then processes that fetch. Only what is fetched is changed on its way: the rest is
// for TLS to protect.
enum { HUB_PROCESS = 0, FIRST_FETCHER = 4, PROCESS_COUNT = 6, HUB_PORT = 1 };

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
    COUNT_RELAYED,  // of COUNT_FETCHED, through the hub,
    COUNT_LINED,    // and by the hub itself, from a spoke
    COUNTS
};

struct plan {
    uint32_t spoke_count, fetcher_count;
    size_t kept_bytes_max, relay_bytes_max;
    bool packs_always;  // fetched blocks are compressed
    uint32_t patience_ms;
    uint32_t frame_bytes;  // at most
    uint32_t stop_rate, crash_rate;
    uint64_t healthy_ns;  // from then on no fault has any effect left
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
void sessions_check_memory(void);  // of relays
void sessions_fini(void);
// The hub stands still for that much longer.
void sessions_stop_hub(uint64_t ns);

// A peer that the hub has now; NULL: none. The next two know it by its number for as long as it lives.
struct hub *sessions_hub(void);
struct hub_peer *sessions_some_peer(void);
bool sessions_has_peer(uint64_t number);

// ---- fetches.c ----------------------------------------------------------------------------------------------

enum { SERVED_FILES = 3, SERVED_BYTES = 700000 };

struct fetch_files *fetches_files(void);  // what the hub serves
char fetches_content(uint64_t file, uint64_t offset);
bool fetches_can_read(uint64_t file, uint64_t offset, uint64_t size);  // false: a bad place
void fetches_end_hub(void);                                            // before the hub ends
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
