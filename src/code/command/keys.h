// Keys of commands: where a line is split into key and value, in what order keys come, and to which part
// they go.
//
// An order other than by bytes ("-k1,1 -k2,2nr", as GNU sort and Hadoop's KeyFieldBasedComparator write it)
// makes of a key one whose bytes sort right, as mapreduce/order/sort_key.h does for lines:
//
//   fields encoded | the key as it is | where the key begins, 4 bytes
//
// so that keys that are equal by the order are still apart, and sorted by their bytes. Thread: read-only
// after init, by any number at once.
#ifndef CODE_COMMAND_KEYS_H
#define CODE_COMMAND_KEYS_H

#include "mapreduce/order/sort_key.h"

enum { COMMAND_SEPARATOR_BYTES_MAX = 15 };

struct command_separator {
    char text[COMMAND_SEPARATOR_BYTES_MAX + 1];
    size_t size;
};

// One or more bytes; \t, \0, \n and \\ have the same meaning as in C. False for anything else.
bool command_separator_init(struct command_separator *separator, const char *text);

// Splits a line after its first `fields` fields. A line with fewer is all key and has no value
// (weft_none). To Hadoop it is an empty one, and the reducer sees a separator at the end of the line.
void command_split_line(const struct command_separator *separator, uint32_t fields, weft_bytes line,
                        weft_bytes *key, weft_bytes *value);

enum command_partition { COMMAND_BY_RANGE, COMMAND_BY_HASH, COMMAND_BY_FIELDS, COMMAND_BY_TEXT };

struct command_keys {
    bool has_order;
    struct sort_order order;
    enum command_partition partition;
    struct sort_order fields;  // of COMMAND_BY_FIELDS: which ones
};

// `order` and `partition` as command.h describes them; NULL: bytes, and ranges of keys. `separator`
// is between the fields of a key. INVALID_ARGUMENT: its message lists the possible ones.
// command_keys_fini in every case.
MUST_CHECK weft_err command_keys_init(struct command_keys *keys, const char *order,
                                      const char *partition,
                                      const struct command_separator *separator);
void command_keys_fini(struct command_keys *keys);

// The key as it travels; in `room` if there is an order, else the key itself.
weft_bytes command_keys_encode(const struct command_keys *keys, weft_bytes key, struct buf *room);

// The key that was encoded; borrowed from it.
weft_bytes command_keys_decode(const struct command_keys *keys, weft_bytes encoded);

// The part of an encoded key, as Hadoop's HashPartitioner or KeyFieldBasedPartitioner choose it.
uint32_t command_keys_partition(const struct command_keys *keys, weft_bytes encoded,
                                uint32_t part_count);

#endif
