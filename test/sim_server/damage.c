// Disks that change what lies on them: bits of files that workers have made and others read.
#include <inttypes.h>
#include <stdio.h>

#include "base/crc32c.h"
#include "sim_server/disk.h"
#include "sim_server/worker.h"

enum { CRC_DIGITS = 8 };

void damage_some(void)
{
    uint32_t count = 0;
    for (size_t i = 0; i < disk.nodes.count; i++)
        count += disk.nodes.items[i]->is_output && disk.nodes.items[i]->data.size;
    uint32_t chosen = count ? world_below(count) : 0;
    for (size_t i = 0; count && i < disk.nodes.count; i++) {
        struct node *node = disk.nodes.items[i];
        if (!node->is_output || !node->data.size || chosen-- > 0)
            continue;
        const uint32_t at = world_below((uint32_t)node->data.size);
        node->data.data[at] = (char)(node->data.data[at] ^ 1 << world_below(8));
        sim.counts[COUNT_DAMAGES]++;
        world_note("a bit changes in a file of machine %d, at %u of %zu", node->machine, at,
                   node->data.size);
        return;
    }
}

// A line ends with the checksum of all before it.
static bool is_sound_line(const char *line, size_t size)
{
    char crc[CRC_DIGITS + 2];
    if (size < CRC_DIGITS + 2)
        return false;
    snprintf(crc, sizeof crc, " %08x", crc32c(0, line, size - CRC_DIGITS - 1));
    return memcmp(crc, line + size - CRC_DIGITS - 1, CRC_DIGITS + 1) == 0;
}

bool damage_is_in(const char *bytes, size_t size)
{
    if (!sim.counts[COUNT_DAMAGES])
        return false;
    for (size_t at = 0; at < size;) {
        const char *end = memchr(bytes + at, '\n', size - at);
        if (!end || !is_sound_line(bytes + at, (size_t)(end - bytes) - at))
            return true;
        at = (size_t)(end - bytes) + 1;
    }
    return false;
}
