// The order of `sort`: fields, numbers, folding and direction as keys whose bytes sort by memcmp, so that
// the engine needs no comparison of ours. Thread: an order may be read by any number at once.
#ifndef MAPREDUCE_ORDER_SORT_KEY_H
#define MAPREDUCE_ORDER_SORT_KEY_H

#include "base/buf.h"
#include "base/err.h"

// What a key is compared by.
enum sort_kind {
    SORT_TEXT,
    SORT_NUMBER,   // -n
    SORT_GENERAL,  // -g: what strtold reads, as 1e-3, 0x1f, inf
    SORT_HUMAN,    // -h: numbers with units, as 2K and 1G
    SORT_MONTH,    // -M
    SORT_VERSION,  // -V
};

// Bytes of a text that do not count.
enum sort_ignored { SORT_IGNORES_NONE, SORT_IGNORES_UNPRINTED, SORT_IGNORES_PUNCTUATION };

// One -k, as GNU sort reads it. Fields and characters count from 0 here.
struct sort_key {
    size_t start_field, start_char;
    size_t end_field, end_char;  // end_field SORT_TO_END: until the end of the line
    enum sort_kind kind;
    enum sort_ignored ignored;
    bool skips_start_blanks, skips_end_blanks, folds_case, is_reversed;
    bool has_conflict;  // letters asked for two kinds
};

#define SORT_TO_END SIZE_MAX

struct sort_order {
    struct sort_key *keys;  // owned
    size_t key_count;       // 0: the whole line by its bytes
    bool has_separator;
    char separator;
    bool is_reversed;  // also of the last resort, the order of whole lines
    bool is_unique, is_stable;
};

// Reads -k, -t, -u, -s and the letters that say how to compare. INVALID_ARGUMENT: its message has
// the wrong text and the possible ones.
MUST_CHECK weft_err sort_order_init(struct sort_order *order, const weft_args *args);
void sort_order_fini(struct sort_order *order);

// Whether lines of equal keys are ordered by their bytes.
static inline bool sort_order_has_last_resort(const struct sort_order *order)
{
    return order->key_count == 0 || (!order->is_unique && !order->is_stable);
}

// Sets `key` to the sort key of the line: keys compare by bytes as the lines do by GNU sort's rules.
// With a last resort the line itself can be read back from where *line_offset says.
void sort_order_encode(const struct sort_order *order, weft_bytes line, struct buf *key,
                       size_t *line_offset);

// The line in a key with a last resort. Reversed lines are decoded into `room`, others borrowed.
weft_bytes sort_order_decode(const struct sort_order *order, weft_bytes key, size_t line_offset,
                             struct buf *room);

#endif
