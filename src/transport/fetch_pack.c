// Compressing blocks where it pays.

#include "transport/fetch_pack.h"

#include <lz4.h>
#include <stdlib.h>

#include "sys/time/clock.h"
#include "transport/fetch.h"

void fetch_pack_fini(struct fetch_pack *pack)
{
    free(pack->room);
    pack->room = NULL;
}

// The last measurement counts a quarter.
static void smooth(double *value, double now)
{
    *value = *value > 0 ? *value + (now - *value) / 4 : now;
}

static void turn(struct fetch_pack *pack, bool is_on)
{
    if (pack->is_on == is_on)
        return;
    pack->is_on = is_on;
    pack->spans = 0;
    pack->rates[is_on] = 0;  // of an earlier time
}

static void decide(struct fetch_pack *pack)
{
    if (pack->link_rate <= 0 || pack->pack_rate <= 0 || pack->rest_spans || pack->rates[0] <= 0)
        return;
    const double without = 1 / pack->link_rate;
    const double with = 1 / pack->pack_rate + pack->ratio / pack->link_rate;
    const double percent = 100 * with / without;
    turn(pack, percent < (pack->is_on ? FETCH_PACK_OFF_PERCENT : FETCH_PACK_ON_PERCENT));
}

void fetch_pack_note_link(struct fetch_pack *pack, uint64_t bytes, uint64_t ns)
{
    smooth(&pack->link_rate, (double)bytes * 1e9 / (double)(ns ? ns : 1));
    decide(pack);
}

void fetch_pack_note_span(struct fetch_pack *pack, uint64_t bytes, uint64_t ns)
{
    smooth(&pack->rates[pack->is_on], (double)bytes * 1e9 / (double)(ns ? ns : 1));
    pack->spans++;
    pack->rest_spans -= pack->rest_spans > 0;
    if (pack->is_on && pack->spans >= FETCH_PACK_TRIAL_SPANS &&
        100 * pack->rates[1] < FETCH_PACK_GAIN_PERCENT * pack->rates[0]) {
        const uint32_t rest = pack->next_rest_spans ? pack->next_rest_spans : FETCH_PACK_REST_SPANS;
        pack->rest_spans = rest;
        pack->next_rest_spans =
            2 * rest < FETCH_PACK_REST_SPANS_MAX ? 2 * rest : FETCH_PACK_REST_SPANS_MAX;
        turn(pack, false);
    }
    decide(pack);
}

void fetch_pack_note_block(struct fetch_pack *pack, size_t size, size_t packed_size, uint64_t ns)
{
    smooth(&pack->pack_rate, (double)size * 1e9 / (double)(ns ? ns : 1));
    smooth(&pack->ratio, (double)packed_size / (double)size);
    decide(pack);
}

bool fetch_pack_is_due(struct fetch_pack *pack)
{
    if (pack->packing != FETCH_PACK_MEASURED)
        return pack->packing == FETCH_PACK_ALWAYS;
    if (pack->link_rate <= 0 || pack->rest_spans)
        return false;
    const bool is_due =
        pack->is_on || pack->pack_rate <= 0 || pack->skipped >= FETCH_PACK_PROBE_BLOCKS;
    pack->skipped = is_due ? 0 : pack->skipped + 1;
    return is_due;
}

size_t fetch_pack_block(struct fetch_pack *pack, const char *data, size_t size)
{
    const size_t more = FETCH_PACKED_HEAD_BYTES - FETCH_BLOCK_HEAD_BYTES;  // of a compressed block
    if (size <= more + 1 || (!pack->room && !(pack->room = malloc(FETCH_BLOCK_BYTES))))
        return 0;
    const uint64_t since_ns = clock_now_ns();
    const int packed = LZ4_compress_default(data, pack->room, (int)size, (int)(size - more - 1));
    const size_t packed_size = packed > 0 ? (size_t)packed : 0;
    fetch_pack_note_block(pack, size, packed_size ? packed_size : size, clock_now_ns() - since_ns);
    return packed_size;
}

bool fetch_unpack_block(const char *data, size_t size, char *plain, size_t plain_size)
{
    return LZ4_decompress_safe(data, plain, (int)size, (int)plain_size) == (int)plain_size;
}
