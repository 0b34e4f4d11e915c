// The scans over bitmaps, included once per instruction set with
//   struct block, block_load(from), block_load_part(from, size)   64 bytes; of a part the rest is zero
//   block_match(block, byte)                                      a bit per byte that equals
//   SCAN_KERNELS                                                  the table's name

// The block at `at`, whole or the rest of the text; *valid has a bit for each byte of it.
static inline struct block block_at(weft_bytes text, size_t at, uint64_t *valid)
{
    const size_t left = text.size - at;
    *valid = UINT64_MAX;
    if (__builtin_expect(left >= SCAN_BLOCK, 1))
        return block_load(text.data + at);
    *valid = scan_first(left);
    return block_load_part(text.data + at, left);
}

static uint64_t count_byte(weft_bytes text, unsigned char byte)
{
    uint64_t count = 0, valid;
    size_t at = 0;
    // Four bitmaps a step: adding up is what would be waited for.
    for (; text.size - at >= 4 * SCAN_BLOCK; at += 4 * SCAN_BLOCK) {
        const char *from = text.data + at;
        count += (uint64_t)__builtin_popcountll(block_match(block_load(from), byte)) +
                 (uint64_t)__builtin_popcountll(block_match(block_load(from + 64), byte)) +
                 (uint64_t)__builtin_popcountll(block_match(block_load(from + 128), byte)) +
                 (uint64_t)__builtin_popcountll(block_match(block_load(from + 192), byte));
    }
    for (; at < text.size; at += SCAN_BLOCK) {
        const struct block here = block_at(text, at, &valid);
        count += (uint64_t)__builtin_popcountll(block_match(here, byte) & valid);
    }
    return count;
}

// Which of the block's bytes are inside, its quotes being `quotes`; *inside has all bits or none,
// as it is before the block, and afterwards as it is after it. Most blocks of most files have no
// quotes.
static inline uint64_t inside_of(uint64_t quotes, uint64_t *inside)
{
    const uint64_t before = *inside;
    if (__builtin_expect(!quotes, 1))
        return before;
    const uint64_t bits = scan_prefix_xor(quotes) ^ before;
    *inside = scan_spread(bits);
    return bits;
}

static size_t find_end(weft_bytes text, bool *is_quoted)
{
    uint64_t inside = *is_quoted ? UINT64_MAX : 0, valid;
    for (size_t at = 0; at < text.size; at += SCAN_BLOCK) {
        const struct block here = block_at(text, at, &valid);
        const uint64_t quoted = inside_of(block_match(here, '"'), &inside);
        const uint64_t ends = block_match(here, '\n') & ~quoted;
        if (ends)
            return at + (size_t)__builtin_ctzll(ends);
    }
    *is_quoted = inside;
    return SIZE_MAX;
}

static size_t find_last_end(weft_bytes text, bool is_quoted)
{
    uint64_t inside = is_quoted ? UINT64_MAX : 0;  // after the block
    for (size_t end = text.size; end;) {
        const size_t begin = end < SCAN_BLOCK ? 0 : end - SCAN_BLOCK;
        uint64_t valid;
        const struct block here = block_at((weft_bytes){text.data, end}, begin, &valid);
        const uint64_t quotes = block_match(here, '"');
        uint64_t before = inside ^ (__builtin_popcountll(quotes) & 1 ? UINT64_MAX : 0);
        inside = before;
        const uint64_t ends = block_match(here, '\n') & ~inside_of(quotes, &before);
        if (ends)
            return begin + 63 - (size_t)__builtin_clzll(ends);
        end = begin;
    }
    return SIZE_MAX;
}

// A line is empty when its line feed follows another one, or a carriage return that does.
static struct record_counts count_ends(weft_bytes text, bool has_quotes, bool is_begin)
{
    struct record_counts counts = {0};
    uint64_t inside = 0, valid, last_feeds = is_begin ? UINT64_C(1) << 63 : 0, last_returns = 0;
    for (size_t at = 0; at < text.size; at += SCAN_BLOCK) {
        const struct block here = block_at(text, at, &valid);
        const uint64_t feeds = block_match(here, '\n'), returns = block_match(here, '\r');
        const uint64_t quotes = has_quotes ? block_match(here, '"') : 0;
        const uint64_t behind_feed = feeds << 1 | last_feeds >> 63;
        const uint64_t behind_both =
            (returns << 1 | last_returns >> 63) & (feeds << 2 | last_feeds >> 62);
        const uint64_t ends = feeds & ~(behind_feed | behind_both);
        const uint64_t quoted = inside_of(quotes, &inside);
        counts.quotes += (uint64_t)__builtin_popcountll(quotes);
        counts.ends[0] += (uint64_t)__builtin_popcountll(ends & ~quoted);
        counts.ends[1] += (uint64_t)__builtin_popcountll(ends & quoted);
        last_feeds = feeds;
        last_returns = returns;
    }
    return counts;
}

struct splitting {
    weft_bytes *fields;
    size_t max, count;
    const char *begin;   // of the field that is open
    size_t quoted;       // fields in quotes
    uint64_t has_quote;  // anywhere so far
};

static inline void end_field(struct splitting *s, const char *end)
{
    weft_bytes field = {s->begin, (size_t)(end - s->begin)};
    if (s->has_quote && field.size >= 2 && field.data[0] == '"' && end[-1] == '"') {
        field = (weft_bytes){field.data + 1, field.size - 2};
        s->quoted++;
    }
    if (s->count < s->max)
        s->fields[s->count] = field;
    s->count++;
    s->begin = end + 1;
}

static size_t split(weft_bytes row, unsigned char separator, weft_bytes *fields, size_t max)
{
    struct splitting s = {.fields = fields, .max = max, .begin = row.data};
    uint64_t inside = 0, valid, quote_count = 0;
    for (size_t at = 0; at < row.size; at += SCAN_BLOCK) {
        const struct block here = block_at(row, at, &valid);
        const uint64_t quotes = block_match(here, '"');
        uint64_t separators = block_match(here, separator) & valid & ~inside_of(quotes, &inside);
        s.has_quote |= quotes;
        if (__builtin_expect(s.has_quote != 0, 0))
            quote_count += (uint64_t)__builtin_popcountll(quotes);
        for (; separators; separators &= separators - 1)
            end_field(&s, row.data + at + __builtin_ctzll(separators));
    }
    end_field(&s, row.data + row.size);
    // Each field in quotes has at least these two: if there are no more, no other quote is anywhere.
    return quote_count == 2 * s.quoted ? s.count : SIZE_MAX;
}

const struct scan_kernels SCAN_KERNELS = {count_byte, find_end, find_last_end, count_ends, split};
