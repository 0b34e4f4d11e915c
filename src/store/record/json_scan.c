// The small things that JSON is made of.

#include "store/record/json_scan.h"

static bool is_digit(const char *at, const char *end)
{
    return at < end && *at >= '0' && *at <= '9';
}

static const char *skip_digits(const char *at, const char *end)
{
    while (is_digit(at, end))
        at++;
    return at;
}

const char *json_number_end(const char *at, const char *end)
{
    if (at < end && *at == '-')
        at++;
    if (!is_digit(at, end))
        return NULL;
    at = *at == '0' ? at + 1 : skip_digits(at, end);
    if (at < end && *at == '.') {
        if (!is_digit(++at, end))
            return NULL;
        at = skip_digits(at, end);
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        if (at < end && (*at == '+' || *at == '-'))
            at++;
        if (!is_digit(at, end))
            return NULL;
        at = skip_digits(at, end);
    }
    return at;
}

const char *json_word_end(const char *at, const char *end)
{
    static const char *const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < 3; i++) {
        const size_t size = strlen(words[i]);
        if ((size_t)(end - at) >= size && memcmp(at, words[i], size) == 0)
            return at + size;
    }
    return NULL;
}

int json_hex4(const char *at)
{
    int number = 0;
    for (int i = 0; i < 4; i++) {
        const char c = at[i], letter = (char)(c | 0x20);
        const int digit = c >= '0' && c <= '9'             ? c - '0'
                          : letter >= 'a' && letter <= 'f' ? letter - 'a' + 10
                                                           : -1;
        if (digit < 0)
            return -1;
        number = number * 16 + digit;
    }
    return number;
}
