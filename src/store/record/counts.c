// Counts of records in stretches that begin and end anywhere: whether a line at a seam is empty shows only
// when both sides are known, so counts carry their first and last bytes.

#include "store/record/formats.h"
#include "store/record/scan.h"

uint64_t counts_of_block(weft_bytes block, bool has_quotes)
{
    const bool is_open = block.size && block.data[block.size - 1] != '\n';
    return scan_kernels()->count_ends(block, has_quotes, true).ends[0] + is_open;
}

struct record_counts counts_of_stretch(weft_bytes text, bool has_quotes)
{
    struct record_counts counts = scan_kernels()->count_ends(text, has_quotes, false);
    counts.edge = text.size < 2 ? (unsigned char)text.size : 2;
    memcpy(counts.first, text.data, counts.edge);
    memcpy(counts.last + 2 - counts.edge, text.data + text.size - counts.edge, counts.edge);
    return counts;
}

struct record_counts record_counts_begin(void)
{
    return (struct record_counts){.first = {'\n'}, .last = {0, '\n'}, .edge = 1};
}

// Whether the line that ends first in `second`, counted there for the rest of one, is empty.
static bool is_seam_empty(const struct record_counts *first, const struct record_counts *second)
{
    if (!first->edge || !second->edge)
        return false;
    const bool is_behind_feed = first->last[1] == '\n';
    if (second->first[0] == '\n')
        return is_behind_feed || (first->last[1] == '\r' && first->last[0] == '\n');
    return is_behind_feed && second->edge == 2 && memcmp(second->first, "\r\n", 2) == 0;
}

struct record_counts record_counts_join(struct record_counts first, struct record_counts second)
{
    const unsigned odd = first.quotes & 1;
    struct record_counts joined = first;
    joined.quotes += second.quotes;
    joined.ends[0] += second.ends[odd];
    joined.ends[1] += second.ends[!odd];
    joined.ends[odd] -= is_seam_empty(&first, &second);
    if (first.edge < 2)
        memcpy(joined.first + first.edge, second.first, 2u - first.edge);
    if (second.edge == 2)
        memcpy(joined.last, second.last, 2);
    else if (second.edge == 1)
        memcpy(joined.last, (char[]){(char)first.last[1], (char)second.last[1]}, 2);
    joined.edge = first.edge + second.edge < 2 ? (unsigned char)(first.edge + second.edge) : 2;
    return joined;
}
