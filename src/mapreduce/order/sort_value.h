// Keys of `sort` that are more than text: numbers, months and versions as bytes that sort by memcmp and end by
// themselves. Thread: any.
#ifndef MAPREDUCE_ORDER_SORT_VALUE_H
#define MAPREDUCE_ORDER_SORT_VALUE_H

#include "mapreduce/order/sort_key.h"

// Appends what the text is worth, with its letters as capitals when case is folded. key->has_failed when memory
// is refused.
void sort_encode_value(struct buf *key, weft_bytes text, enum sort_kind kind, bool folds_case);

#endif
