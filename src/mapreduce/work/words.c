// Words: choosing the kernel, the end of a scan, and the public batch splitter.

#include "mapreduce/work/words.h"

#include "sys/cpu.h"

enum { SPLIT_BYTES_MAX = 32768 };  // positions are 16-bit; also bounds the walk back of a cut word

bool words_scan_keys(struct words_scan *scan)
{
#if defined(__x86_64__)
    switch (cpu_isa()) {
    case CPU_AVX512:
        return words_scan_avx512(scan);
    case CPU_AVX2:
        return words_scan_avx2(scan);
    case CPU_PLAIN:
        break;
    }
#endif
    return words_scan_plain(scan);
}

size_t words_split(weft_bytes text, bool is_last, uint16_t *starts, uint16_t *ends,
                   uint32_t words_max, uint32_t *count)
{
#if defined(__x86_64__)
    switch (cpu_isa()) {
    case CPU_AVX512:
        return words_split_avx512(text, is_last, starts, ends, words_max, count);
    case CPU_AVX2:
        return words_split_avx2(text, is_last, starts, ends, words_max, count);
    case CPU_PLAIN:
        break;
    }
#endif
    return words_split_plain(text, is_last, starts, ends, words_max, count);
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
