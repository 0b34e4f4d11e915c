// Steps through JSON text that the reader, the check and the writer share: how far a run of dull bytes
// goes, sixteen at a time where the machine can (every x86-64 does), and what a number or a character is.
#ifndef STORE_RECORD_JSON_SCAN_H
#define STORE_RECORD_JSON_SCAN_H

#include <weft/weft.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

enum { JSON_DEPTH_MAX = 256 };

// JSON_RUN(NAME, IS_STOP, STOPS) defines NAME(at, end): the first byte at or after `at` that is a
// stop, or end. IS_STOP tests the byte c; STOPS tests sixteen of them, x, and sets bytes to 0xff.
#if defined(__SSE2__)
#define JSON_RUN_OF_16(STOPS)                                                                      \
    for (; end - at >= 16; at += 16) {                                                             \
        const __m128i x = _mm_loadu_si128((const __m128i *)(const void *)at);                      \
        const int stops = _mm_movemask_epi8(STOPS);                                                \
        if (stops)                                                                                 \
            return at + __builtin_ctz((unsigned)stops);                                            \
    }
#define JSON_EQUALS(x, byte) _mm_cmpeq_epi8(x, _mm_set1_epi8(byte))
#else
#define JSON_RUN_OF_16(STOPS)
#endif

#define JSON_RUN(NAME, IS_STOP, STOPS)                                                             \
    static inline const char *NAME(const char *at, const char *end)                                \
    {                                                                                              \
        JSON_RUN_OF_16(STOPS)                                                                      \
        for (; at < end; at++) {                                                                   \
            const unsigned char c = (unsigned char)*at;                                            \
            if (IS_STOP)                                                                           \
                break;                                                                             \
        }                                                                                          \
        return at;                                                                                 \
    }

// In a string: a quote or a backslash.
JSON_RUN(json_find_quote, c == '"' || c == '\\',
         _mm_or_si128(JSON_EQUALS(x, '"'), JSON_EQUALS(x, '\\')))

// In a string: a quote, a backslash, a control character or a byte of a longer character. As signed
// numbers the last two are the ones below a space.
JSON_RUN(json_find_odd, c == '"' || c == '\\' || c < 0x20 || c >= 0x80,
         _mm_or_si128(_mm_or_si128(JSON_EQUALS(x, '"'), JSON_EQUALS(x, '\\')),
                      _mm_cmplt_epi8(x, _mm_set1_epi8(0x20))))

// Between values: a quote or a bracket of either kind. { and [, } and ] differ by one bit.
JSON_RUN(json_find_bracket, c == '"' || (c | 0x20) == '{' || (c | 0x20) == '}',
         _mm_or_si128(JSON_EQUALS(x, '"'),
                      _mm_or_si128(JSON_EQUALS(_mm_or_si128(x, _mm_set1_epi8(0x20)), '{'),
                                   JSON_EQUALS(_mm_or_si128(x, _mm_set1_epi8(0x20)), '}'))))

// In a number or a word: what may follow it.
JSON_RUN(json_find_stop, c == ',' || (c | 0x20) == '}' || c <= 0x20,
         _mm_or_si128(JSON_EQUALS(x, ','),
                      _mm_or_si128(JSON_EQUALS(_mm_or_si128(x, _mm_set1_epi8(0x20)), '}'),
                                   _mm_cmpeq_epi8(_mm_min_epu8(x, _mm_set1_epi8(0x20)), x))))

static inline const char *json_skip_blanks(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r'))
        at++;
    return at;
}

// The end of the number that begins at `at`, NULL when none does.
const char *json_number_end(const char *at, const char *end);

// The end of the word true, false or null that begins at `at`, NULL when none does.
const char *json_word_end(const char *at, const char *end);

// The four hexadecimal digits at `at`, which are there; -1 when they are none.
int json_hex4(const char *at);

#endif
