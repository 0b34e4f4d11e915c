// No clients: the workers of this simulation are its own. Stands in the place of run/driver/server/clients.c and transport/entrance.c,
// and of all sockets behind them.

#include "run/driver/server/clients.h"
#include "sim_run/sim_run.h"

weft_err entrance_open(struct entrance *entrance, const struct entrance_options *options)
{
    (void)entrance, (void)options;
    sim_wrong("a run without clients opens an entrance");
}

void entrance_close(struct entrance *entrance)
{
    (void)entrance;
}

void entrance_name(const struct entrance *entrance, char text[NET_ADDRESS_TEXT_BYTES])
{
    (void)entrance;
    text[0] = 0;
}

weft_err entrance_clear_file(const char *path)
{
    (void)path;
    sim_wrong("a run without clients removes the name of an entrance");
}

weft_err entrance_write_file(struct entrance *entrance, const char *path, bool has_address)
{
    (void)entrance, (void)path, (void)has_address;
    sim_wrong("a run without clients writes the name of its entrance");
}

struct clients *clients_new(const struct clients_options *options)
{
    (void)options;
    sim_wrong("a run without clients lets some in");
}

void clients_free(struct clients *clients)
{
    (void)clients;
}

void clients_set_job(struct clients *clients, const Weft__CodePackage *package, weft_bytes run)
{
    (void)clients, (void)package, (void)run;
}

struct far_agent *clients_place(struct clients *clients, uint32_t place)
{
    (void)clients, (void)place;
    return NULL;
}

struct far_agent *clients_find(const struct clients *clients, uint32_t holder)
{
    (void)clients, (void)holder;
    return NULL;
}

uint32_t clients_count(const struct clients *clients)
{
    (void)clients;
    return 0;
}

struct summary_client *clients_sum_up(struct clients *clients, size_t *count)
{
    (void)clients;
    *count = 0;
    return NULL;
}

void clients_note_task(struct clients *clients, uint32_t holder, uint64_t bytes_in, bool is_again)
{
    (void)clients, (void)holder, (void)bytes_in, (void)is_again;
}

uint64_t clients_relayed_bytes(const struct clients *clients)
{
    (void)clients;
    return 0;
}

void clients_fill_place(const struct clients *clients, uint32_t holder, Weft__FarFile *far)
{
    (void)clients, (void)holder, (void)far;
}

void clients_drop(struct clients *clients, uint32_t holder, const char *why)
{
    (void)clients, (void)holder, (void)why;
}

weft_err clients_fetch(struct clients *clients, uint32_t holder, const struct fetch_wanted *wanted)
{
    (void)clients, (void)holder, (void)wanted;
    sim_wrong("a run without clients fetches from one");
}

void clients_end(struct clients *clients, weft_err code, const char *text)
{
    (void)clients, (void)code, (void)text;
}

bool clients_have_heard(const struct clients *clients)
{
    (void)clients;
    return true;
}

const char *clients_name(const struct clients *clients, uint32_t holder)
{
    (void)clients, (void)holder;
    return "";
}
