// The kernels that walk a bitmap of blanks bit by bit, included once per instruction set with
//   BLANKS(p)                 the bitmap of the 64 bytes at p
//   SCAN_NAME, SPLIT_NAME     the functions' names

bool SCAN_NAME(struct words_scan *scan)
{
    for (; scan->at < scan->size; scan->at += WORDS_BLOCK) {
        if (!words_scan_has_room(scan))
            return true;
        const char *here = scan->text + scan->at;
        const size_t left = scan->size - scan->at;
        uint64_t blanks = BLANKS(here);
        if (left < WORDS_BLOCK)
            blanks |= UINT64_MAX << left;
        const uint64_t before = blanks << 1 | !scan->has_open;  // bit set: the byte before is blank
        uint64_t starts = ~blanks & before, ends = blanks & ~before;
        size_t start = scan->open_at;
        if (!scan->has_open && starts) {
            start = scan->at + (size_t)__builtin_ctzll(starts);
            starts &= starts - 1;
        }
        for (; ends; ends &= ends - 1) {
            const size_t end = scan->at + (size_t)__builtin_ctzll(ends);
            words_scan_add(scan, scan->text + start, end - start);
            start = scan->at + (starts ? (size_t)__builtin_ctzll(starts) : 0);
            starts &= starts - 1;
        }
        scan->has_open = !(blanks >> 63);
        scan->open_at = start;
    }
    words_scan_finish(scan);
    return false;
}

// The bitmap of the last bytes of a text in foreign memory: never touches a page the text does not.
static inline uint64_t blanks_of_tail(const char *here, size_t left)
{
    char copy[WORDS_BLOCK];
    memset(copy, ' ', sizeof copy);
    memcpy(copy, here, left);
    return BLANKS(copy);
}

size_t SPLIT_NAME(weft_bytes text, bool is_last, uint16_t *starts_out, uint16_t *ends_out,
                  uint32_t words_max, uint32_t *count)
{
    uint32_t start_count = 0, end_count = 0;
    uint64_t carry = 1;
    size_t at = 0;
    for (; at < text.size && end_count < words_max; at += WORDS_BLOCK) {
        const size_t left = text.size - at;
        uint64_t blanks =
            left < WORDS_BLOCK ? blanks_of_tail(text.data + at, left) : BLANKS(text.data + at);
        if (left < WORDS_BLOCK && !is_last)
            blanks &= ~(UINT64_MAX << left);
        const uint64_t before = blanks << 1 | carry;
        for (uint64_t bits = ~blanks & before; bits; bits &= bits - 1)
            starts_out[start_count++] = (uint16_t)(at + (size_t)__builtin_ctzll(bits));
        for (uint64_t bits = blanks & ~before; bits; bits &= bits - 1)
            ends_out[end_count++] = (uint16_t)(at + (size_t)__builtin_ctzll(bits));
        carry = blanks >> 63;
    }
    *count = end_count;
    return words_split_finish(text.size, at, is_last, start_count, starts_out, ends_out, count);
}
