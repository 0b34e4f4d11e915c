// Words: choosing the kernel, the end of a scan, and the public batch splitter.

#include "mapreduce/work/map/words.h"

#include <stdatomic.h>

#include "sys/machine/cpu.h"

enum { SPLIT_BYTES_MAX = 32768 };  // positions are 16-bit; also bounds the walk back of a cut word

// The kernels of this machine. Chosen by the first call, which may be in several threads at once: all of
// them find the same.
static words_scan_kernel choose_scan;
static words_split_kernel choose_split;
static words_scan_kernel *_Atomic scan_kernel = choose_scan;
static words_split_kernel *_Atomic split_kernel = choose_split;

static bool choose_scan(struct words_scan *scan)
{
    words_scan_kernel *chosen = words_scan_plain;
#if defined(__x86_64__)
    if (cpu_isa() == CPU_AVX512)
        chosen = words_scan_avx512;
    else if (cpu_isa() == CPU_AVX2)
        chosen = words_scan_avx2;
#endif
    atomic_store_explicit(&scan_kernel, chosen, memory_order_relaxed);
    return chosen(scan);
}

static size_t choose_split(weft_bytes text, bool is_last, uint16_t *starts, uint16_t *ends,
                           uint32_t words_max, uint32_t *count)
{
    words_split_kernel *chosen = words_split_plain;
#if defined(__x86_64__)
    if (cpu_isa() == CPU_AVX512)
        chosen = words_split_avx512;
    else if (cpu_isa() == CPU_AVX2)
        chosen = words_split_avx2;
#endif
    atomic_store_explicit(&split_kernel, chosen, memory_order_relaxed);
    return chosen(text, is_last, starts, ends, words_max, count);
}

uint64_t words_count_lines(const char *text, size_t size)
{
#if defined(__x86_64__)
    if (cpu_isa() == CPU_AVX512)
        return words_count_avx512(text, size);
    if (cpu_isa() == CPU_AVX2)
        return words_count_avx2(text, size);
#endif
    return words_count_plain(text, size);
}

bool words_scan_keys(struct words_scan *scan)
{
    return atomic_load_explicit(&scan_kernel, memory_order_relaxed)(scan);
}

static inline size_t words_split(weft_bytes text, bool is_last, uint16_t *starts, uint16_t *ends,
                                 uint32_t words_max, uint32_t *count)
{
    return atomic_load_explicit(&split_kernel, memory_order_relaxed)(text, is_last, starts, ends,
                                                                     words_max, count);
}

void words_scan_finish(struct words_scan *scan)
{
    if (scan->has_open)
        words_scan_add(scan, scan->text + scan->open_at, scan->size - scan->open_at);
    scan->has_open = false;
}

// A word longer than a whole batch: its end is looked for byte by byte.
static weft_bytes take_giant(weft_words *words)
{
    size_t size = SPLIT_BYTES_MAX;
    while (size < words->rest.size && !words_is_blank(words->rest.data[size]))
        size++;
    const weft_bytes word = {words->rest.data, size};
    words->rest.data += size;
    words->rest.size -= size;
    return word;
}

bool weft_words_refill_(weft_words *words, weft_bytes *word)
{
    while (words->rest.size) {
        const bool is_last = words->rest.size <= SPLIT_BYTES_MAX;
        const weft_bytes text = {words->rest.data, is_last ? words->rest.size : SPLIT_BYTES_MAX};
        const size_t done = words_split(text, is_last, words->starts_, words->ends_,
                                        WEFT_WORDS_PER_BATCH, &words->count_);
        words->base_ = text.data;
        words->next_ = 1;
        if (done == 0) {
            words->count_ = words->next_ = 0;
            *word = take_giant(words);
            return true;
        }
        words->rest.data += done;
        words->rest.size -= done;
        if (words->count_) {
            *word = (weft_bytes){text.data + words->starts_[0],
                                 (size_t)words->ends_[0] - words->starts_[0]};
            return true;
        }
    }
    words->count_ = words->next_ = 0;
    return false;
}
