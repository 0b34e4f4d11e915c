// Sorting entries: most significant byte first, by counting, stable; whole keys only where prefixes tie.
//
// One pass finds the highest byte in which the prefixes differ, so common beginnings cost nothing.
// Small groups are finished by insertion. Entries whose prefixes tie are ordered by the next 8
// bytes of their keys, and so on ("https://www." does not hurt), and pairs of equal keys by their
// map task.
#ifndef MAPREDUCE_WORK_SORT_RADIX_H
#define MAPREDUCE_WORK_SORT_RADIX_H

#include "mapreduce/work/sort/entry.h"

// Sorts into the full order of pair.h (keys, then tasks, then as they came). scratch holds count
// entries. With order->compare every prefix is 0 and a merge sort by the user's order does it.
void entries_sort(struct entry *entries, struct entry *scratch, size_t count,
                  const struct key_order *order);

// The same for folded numbers only (no task order): ties of VALUE entries need no look at keys.
void wide_sort(struct wide_entry *wides, struct wide_entry *scratch, size_t count);

// Sorts up to 32 entries by prefix, stable: the kernel for small groups.
void radix_small_avx512(struct entry *entries, size_t count);

#endif
