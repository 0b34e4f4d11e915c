// item: elements of queues as a program holds them, and tensors as they travel.
#ifndef CLIENT_ITEM_ITEM_H
#define CLIENT_ITEM_ITEM_H

#include "base/sized.h"
#include "wire/tuple.h"

// Fills the data of an item, whose other fields stay. The bytes are copied; DATA_LOSS: they are not a tuple.
MUST_CHECK weft_err item_copy(weft_bytes bytes, bool is_tuple, weft_item *item);

// Items of the program, each as long as its header says; those of an array lie one after the other. Only the members of
// the first header may be used of one: what else the library is to know of an element lies in its memory.
void item_give(weft_item *theirs, size_t item_size, const weft_item *ours);
weft_item *item_at(weft_item *items, size_t item_size, uint32_t i);

// What a host knows the item by.
struct call_item item_name(const weft_item *item);
void item_set_name(weft_item *item, const struct call_item *name);

// Append the encodings of wire/tuple.h; INVALID_ARGUMENT as there.
MUST_CHECK weft_err item_append_tuple(struct buf *out, const weft_tensor *components, size_t count);
MUST_CHECK weft_err item_append_types(struct buf *out, const weft_tensor *types, size_t count);

#endif
