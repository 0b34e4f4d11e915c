// Finding words at the speed of the vector unit: blanks as a bitmap, starts and ends from its edges.
//
// A word is a maximal run of bytes that are not ASCII white space (space and 9..13). Two products:
// 8-byte keys of the short words straight into a folding queue (words_scan_keys), and positions for
// any caller (the public weft_words). Each has a kernel per instruction set.
#ifndef MAPREDUCE_WORK_MAP_WORDS_H
#define MAPREDUCE_WORK_MAP_WORDS_H

#include <weft/weft.h>

enum {
    WORDS_BLOCK = 64,          // bytes per step
    WORDS_PER_BLOCK_MAX = 32,  // "a b c ...": every second byte
    WORDS_PAD = 64,            // readable bytes after a scanned text
};

// A scan over one text; the caller empties keys and longs between calls.
struct words_scan {
    const char *text;
    size_t size;     // WORDS_PAD more bytes are readable
    size_t at;       // the next block
    bool has_open;   // a word began before `at` and has not ended
    size_t open_at;  // where
    uint64_t *keys;  // words of 1..8 bytes not ending in NUL, little-endian, zero padded
    size_t key_count, key_capacity;
    weft_bytes *longs;  // all others
    size_t long_count, long_capacity;
};

static inline bool words_is_blank(char byte)
{
    return byte == ' ' || (unsigned char)(byte - 9) < 5;
}

// Scans until the text ends (false) or keys or longs are nearly full (true). keys has room for
// WORDS_PER_BLOCK_MAX more after its capacity.
bool words_scan_keys(struct words_scan *scan);

// How many line ends a text holds.
uint64_t words_count_lines(const char *text, size_t size);

// ---- kernels

typedef bool words_scan_kernel(struct words_scan *scan);
// Splits up to 65535 bytes of text, any memory: starts and ends of its words. Both arrays have room for
// words_max + 64. Stops at a block boundary once words_max are found; returns how many bytes are done.
// A word that reaches the end of the text is ended there only when `is_last`; else it is left for the
// next call (the returned size is where it begins).
typedef size_t words_split_kernel(weft_bytes text, bool is_last, uint16_t *starts, uint16_t *ends,
                                  uint32_t words_max, uint32_t *count);
words_scan_kernel words_scan_plain, words_scan_avx2, words_scan_avx512;
words_split_kernel words_split_plain, words_split_avx2, words_split_avx512;

typedef uint64_t words_count_kernel(const char *text, size_t size);
words_count_kernel words_count_plain, words_count_avx2, words_count_avx512;

// The word open at the end of the text, by hand: every kernel ends with it.
void words_scan_finish(struct words_scan *scan);

// The end of every kernel that splits, at a block boundary: *count words have ended. Ends the open one if the text is the
// last. Returns how many bytes are done.
static inline size_t words_split_finish(size_t size, size_t at, bool is_last, uint32_t start_count,
                                        const uint16_t *starts, uint16_t *ends, uint32_t *count)
{
    const bool has_open = start_count > *count;
    if (at >= size && is_last) {
        if (has_open)
            ends[(*count)++] = (uint16_t)size;
        return size;
    }
    return has_open ? starts[*count] : at < size ? at : size;
}

// Adds one word to the scan's keys or longs.
static inline void words_scan_add(struct words_scan *scan, const char *word, size_t size)
{
    if (size <= 8 && word[size - 1])
        scan->keys[scan->key_count++] = weft_load_key_(word, size);
    else
        scan->longs[scan->long_count++] = (weft_bytes){word, size};
}

static inline bool words_scan_has_room(const struct words_scan *scan)
{
    return scan->key_count + WORDS_PER_BLOCK_MAX <= scan->key_capacity &&
           scan->long_count + WORDS_PER_BLOCK_MAX + 1 <= scan->long_capacity;
}

#endif
