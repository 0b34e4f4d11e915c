// No clients: the workers of this simulation are its own. Stands in the place of run/driver/clients.c and transport/entrance.c,
// and of all sockets behind them.

#include "run/driver/clients.h"
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

void clients_set_package(struct clients *clients, const Weft__CodePackage *package)
{
    (void)clients, (void)package;
}

struct far_agent *clients_place(struct clients *clients, uint32_t place)
{
    (void)clients, (void)place;
    return NULL;
}

uint32_t clients_count(const struct clients *clients)
{
    (void)clients;
    return 0;
}

void clients_sum_up(const struct clients *clients, uint32_t *joined, uint32_t *slots)
{
    (void)clients;
    *joined = *slots = 0;
}

const char *clients_address(const struct clients *clients, uint32_t holder)
{
    (void)clients, (void)holder;
    return "";
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
