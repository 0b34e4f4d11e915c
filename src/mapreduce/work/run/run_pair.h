// Pairs inside a block of a run: how one is put into bytes and taken out again. The layout is drawn
// in run_file.c; this is its inner loop, once per spilled pair each way, and therefore inline.
//
// The decoder is given bytes whose checksum was right, and still believes none of them: whatever they
// say, it reads only the block and the slack after it. Thread: one each.
#ifndef MAPREDUCE_WORK_RUN_RUN_PAIR_H
#define MAPREDUCE_WORK_RUN_RUN_PAIR_H

#include <stdlib.h>

#include "mapreduce/work/sort/pair.h"

enum {
    PAIR_HEAD_TYPE = 7,   // mask
    PAIR_HEAD_TASK = 8,   // the task follows
    PAIR_HEAD_LONG = 16,  // the sizes of the key are u32, not u8
    PAIR_HEAD_END = 32,   // heads are below
    PAIR_SHORT_MAX = 255,
    PAIR_OVERHEAD_MAX = 1 + 8 + 5 + 10,  // head, sizes of the key, task, number or size
    PAIR_SLACK = 64,                     // bytes after a block and a key that may be touched
};

static inline bool pair_has_bytes(enum value_type type)
{
    return type == VALUE_BYTES || type == VALUE_SUM || type == VALUE_MEAN;
}

static inline uint64_t pair_load64(const char *from)
{
    uint64_t word;
    memcpy(&word, from, sizeof word);
    return word;
}

static inline uint32_t pair_load32(const char *from)
{
    uint32_t word;
    memcpy(&word, from, sizeof word);
    return word;
}

// memcpy for sizes that are mostly small: two overlapping words instead of a call.
static inline void pair_copy(char *to, const char *from, size_t size)
{
    if (size >= 8 && size <= 16) {
        const uint64_t first = pair_load64(from), last = pair_load64(from + size - 8);
        memcpy(to, &first, 8);
        memcpy(to + size - 8, &last, 8);
    } else if (size >= 4 && size < 8) {
        const uint32_t first = pair_load32(from), last = pair_load32(from + size - 4);
        memcpy(to, &first, 4);
        memcpy(to + size - 4, &last, 4);
    } else if (size > 16) {
        memcpy(to, from, size);
    } else if (size) {
        to[0] = from[0];
        to[size / 2] = from[size / 2];
        to[size - 1] = from[size - 1];
    }
}

// The first 8 bytes of a key, zero padded, touching nothing after it.
static inline uint64_t pair_load_word(weft_bytes key)
{
    if (key.size >= 8)
        return pair_load64(key.data);
    if (key.size >= 4)
        return pair_load32(key.data) | (uint64_t)pair_load32(key.data + key.size - 4)
                                           << 8 * (key.size - 4);
    uint64_t word = 0;
    for (size_t i = 0; i < key.size; i++)
        word |= (uint64_t)(unsigned char)key.data[i] << 8 * i;
    return word;
}

// ---- Putting pairs into a block -----------------------------------------------------------------

struct pair_encoder {
    char *block, *at, *limit;  // limit == block: closed, nothing fits
    char *previous;            // the key before, for what the next one shares with it
    uint64_t previous_word;  // its first 8 bytes: read back at once they would stall on the stores
    size_t previous_size, header_bytes, block_bytes;
    uint32_t task, pair_count;
};

// A closed encoder for blocks of header_bytes and then up to block_bytes of pairs; false without
// memory.
static inline bool pair_encoder_init(struct pair_encoder *encoder, size_t header_bytes,
                                     size_t block_bytes)
{
    *encoder = (struct pair_encoder){.header_bytes = header_bytes, .block_bytes = block_bytes};
    encoder->block = malloc(header_bytes + block_bytes + PAIR_SLACK);
    encoder->previous = malloc(block_bytes + PAIR_SLACK);
    encoder->at = encoder->limit = encoder->block;
    return encoder->block && encoder->previous;
}

static inline void pair_encoder_fini(struct pair_encoder *encoder)
{
    free(encoder->block);
    free(encoder->previous);
}

// Opens an empty block.
static inline void pair_encoder_reset(struct pair_encoder *encoder)
{
    encoder->at = encoder->block + encoder->header_bytes;
    encoder->limit = encoder->at + encoder->block_bytes;
    encoder->previous_size = 0;
    encoder->previous_word = 0;
    encoder->task = encoder->pair_count = 0;
}

static inline char *pair_encode_varint(char *at, uint64_t number)
{
    for (; number >= 0x80; number >>= 7)
        *at++ = (char)(number | 0x80);
    *at++ = (char)number;
    return at;
}

// How many bytes the key has in common with the one before it.
static inline size_t pair_encoder_count_shared(const struct pair_encoder *encoder, weft_bytes key,
                                               uint64_t word)
{
    const size_t size = key.size < encoder->previous_size ? key.size : encoder->previous_size;
    const uint64_t differing = word ^ encoder->previous_word;
    if (differing) {
        const size_t equal = (size_t)__builtin_ctzll(differing) >> 3;
        return equal < size ? equal : size;  // they may differ in a zero that only one of them has
    }
    size_t i = 8;
    for (; i + 8 <= size; i += 8) {
        const uint64_t further = pair_load64(key.data + i) ^ pair_load64(encoder->previous + i);
        if (further)
            return i + ((size_t)__builtin_ctzll(further) >> 3);
    }
    while (i < size && key.data[i] == encoder->previous[i])
        i++;
    return i < size ? i : size;
}

// Writes everything before the key.
static inline char *pair_encode_head(char *at, const struct pair *pair, size_t shared, size_t rest,
                                     uint32_t task_before)
{
    const bool is_long = (shared | rest) > PAIR_SHORT_MAX, has_task = pair->task != task_before;
    at[0] = (char)((uint32_t)pair->type | (has_task ? PAIR_HEAD_TASK : 0u) |
                   (is_long ? PAIR_HEAD_LONG : 0u));
    if (is_long) {
        const uint32_t sizes[2] = {(uint32_t)shared, (uint32_t)rest};
        memcpy(at + 1, sizes, sizeof sizes);
        at += 9;
    } else {
        at[1] = (char)shared;
        at[2] = (char)rest;
        at += 3;
    }
    return has_task ? pair_encode_varint(at, pair->task) : at;
}

// What stands between the key and the bytes of the value, if it has any.
static inline char *pair_encode_number(char *at, const struct pair *pair)
{
    if (pair->type == VALUE_INT) {
        const uint64_t bits = (uint64_t)pair->number;
        return pair_encode_varint(at, bits << 1 ^ (0 - (bits >> 63)));
    }
    if (pair->type == VALUE_DOUBLE) {
        memcpy(at, &pair->number, sizeof pair->number);
        return at + sizeof pair->number;
    }
    return pair_has_bytes(pair->type) ? pair_encode_varint(at, pair->bytes.size) : at;
}

// False, and nothing is changed, when it does not fit.
static inline bool pair_encoder_add(struct pair_encoder *encoder, const struct pair *pair)
{
    const weft_bytes key = pair->key;
    const size_t value_size = pair_has_bytes(pair->type) ? pair->bytes.size : 0;
    const size_t room = (size_t)(encoder->limit - encoder->at);
    if (__builtin_expect(key.size + value_size + PAIR_OVERHEAD_MAX > room, 0))
        return false;
    const uint64_t word = pair_load_word(key);
    const size_t shared = pair_encoder_count_shared(encoder, key, word);
    const size_t rest = key.size - shared;
    char *at = pair_encode_head(encoder->at, pair, shared, rest, encoder->task);
    if (rest <= 8) {
        // One word holds it, whatever follows: no branch to guess by the size.
        const uint64_t tail = key.size < 8
                                  ? word >> 8 * shared
                                  : pair_load64(key.data + key.size - 8) >> ((64 - 8 * rest) & 63);
        memcpy(at, &tail, sizeof tail);
        memcpy(encoder->previous + shared, &tail, sizeof tail);
    } else {
        pair_copy(at, key.data + shared, rest);
        pair_copy(encoder->previous + shared, key.data + shared, rest);
    }
    at = pair_encode_number(at + rest, pair);
    pair_copy(at, pair->bytes.data, value_size);
    encoder->at = at + value_size;
    encoder->previous_size = key.size;
    encoder->previous_word = word;
    encoder->task = pair->task;
    encoder->pair_count++;
    return true;
}

// ---- Taking pairs out of a block ----------------------------------------------------------------

struct pair_decoder {
    const char *at, *end;  // the rest of the block
    weft_bytes key;        // the key before: in the block where it shared nothing, else in `buffer`
    uint64_t prefix;       // of that key; kept here, as reading it back would stall on the stores
    char *buffer;
    size_t capacity;
    uint32_t task;
    bool has_prefix;  // keys are in the order of their bytes
    bool is_out_of_memory;
};

// Starts with a block, which has PAIR_SLACK readable bytes after its end.
static inline void pair_decoder_begin(struct pair_decoder *decoder, const char *block, size_t size)
{
    decoder->at = block;
    decoder->end = block + size;
    decoder->key = (weft_bytes){block, 0};
    decoder->prefix = 0;
    decoder->task = 0;
}

static inline void pair_decoder_fini(struct pair_decoder *decoder)
{
    free(decoder->buffer);
}

// At most 10 bytes; what has more, or more bits than 64, gives some number: the checksum was right, so
// it does not happen, and if it does the pair ends somewhere else than its block.
static inline const char *pair_decode_varint(const char *at, uint64_t *number)
{
    uint64_t byte = (unsigned char)*at++, value = byte & 0x7f;
    for (unsigned shift = 7; byte & 0x80 && shift < 64; shift += 7) {
        byte = (unsigned char)*at++;
        value |= (byte & 0x7f) << shift;
    }
    *number = value;
    return at;
}

// Puts the key before, or as much of it as is shared, into a buffer with room for the new one.
static inline bool pair_decoder_own_key(struct pair_decoder *decoder, size_t shared, size_t size)
{
    const char *before = decoder->key.data;
    if (before == decoder->buffer && size + PAIR_SLACK <= decoder->capacity)
        return true;
    char *buffer = decoder->buffer;
    if (size + PAIR_SLACK > decoder->capacity) {
        const size_t wanted = 2 * (size + PAIR_SLACK);
        buffer = malloc(wanted);
        decoder->is_out_of_memory = !buffer;
        if (!buffer)
            return false;
        decoder->capacity = wanted;
    }
    if (shared)
        memcpy(buffer, before, shared);
    if (buffer != decoder->buffer)
        free(decoder->buffer);
    decoder->buffer = buffer;
    return true;
}

// Decodes the key: `rest` new bytes at `at` after `shared` old ones.
static inline bool pair_decode_key(struct pair_decoder *decoder, const char *at, size_t shared,
                                   size_t rest)
{
    if (shared == 0) {
        decoder->key = (weft_bytes){at, rest};
        return true;
    }
    if (!pair_decoder_own_key(decoder, shared, shared + rest))
        return false;
    if (rest <= 16)
        memcpy(decoder->buffer + shared, at, 16);  // within the slack of both
    else
        memcpy(decoder->buffer + shared, at, rest);
    decoder->key = (weft_bytes){decoder->buffer, shared + rest};
    return true;
}

// bytes_prefix() of that key.
static inline uint64_t pair_decode_prefix(const struct pair_decoder *decoder, const char *at,
                                          size_t shared, size_t rest)
{
    if (shared >= 8)
        return decoder->prefix;
    uint64_t fresh = __builtin_bswap64(pair_load64(at));
    if (rest < 8)
        fresh = rest ? fresh & UINT64_MAX << (64 - 8 * rest) : 0;
    return shared ? (decoder->prefix & ~(UINT64_MAX >> 8 * shared)) | fresh >> 8 * shared : fresh;
}

// The value at `at`; false when it does not end inside the block.
static inline bool pair_decode_value(struct pair_decoder *decoder, const char *at,
                                     struct pair *pair)
{
    uint64_t bits = 0;
    pair->bytes = weft_none();
    if (pair->type == VALUE_INT) {
        at = pair_decode_varint(at, &bits);
        bits = bits >> 1 ^ (0 - (bits & 1));
    } else if (pair->type == VALUE_DOUBLE) {
        bits = pair_load64(at);
        at += 8;
    } else if (pair_has_bytes(pair->type)) {
        uint64_t size;
        at = pair_decode_varint(at, &size);
        if (at > decoder->end || size > (size_t)(decoder->end - at))
            return false;
        pair->bytes = (weft_bytes){at, (size_t)size};
        at += size;
    }
    pair->number = (int64_t)bits;
    decoder->at = at;
    return at <= decoder->end;
}

// The next pair; false when the bytes are not a pair, or when out of memory (is_out_of_memory).
static inline bool pair_decoder_next(struct pair_decoder *decoder, struct pair *pair)
{
    // Up to 14 bytes are looked at before the first check: they lie in the block or its slack.
    const char *at = decoder->at;
    const unsigned head = (unsigned char)at[0];
    size_t shared = (unsigned char)at[1], rest = (unsigned char)at[2];
    at += 3;
    if (__builtin_expect(head & PAIR_HEAD_LONG, 0)) {
        shared = pair_load32(at - 2);
        rest = pair_load32(at + 2);
        at += 6;
    }
    if (head & PAIR_HEAD_TASK) {
        uint64_t task;
        at = pair_decode_varint(at, &task);
        decoder->task = (uint32_t)task;
    }
    pair->type = (enum value_type)(head & PAIR_HEAD_TYPE);
    pair->task = decoder->task;
    if (head >= PAIR_HEAD_END || pair->type >= VALUE_TYPE_COUNT || at > decoder->end ||
        shared > decoder->key.size || rest > (size_t)(decoder->end - at))
        return false;
    if (!pair_decode_key(decoder, at, shared, rest))
        return false;
    decoder->prefix = pair_decode_prefix(decoder, at, shared, rest);
    pair->key = decoder->key;
    pair->prefix = decoder->has_prefix ? decoder->prefix : 0;
    return pair_decode_value(decoder, at + rest, pair);
}

#endif
