// Errors: the per-thread sentence, the table of codes, and the end of a process that is wrong.

#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/sanitized.h"

static _Thread_local char sentence[ERR_TEXT_BYTES_MAX];

static const struct {
    weft_err code;
    int exit_code;
    const char *name;
} codes[] = {
#define WEFT_ERROR(name, number, exit_code, words) {WEFT_##name, exit_code, #name},
#include <weft/errors.def>
#undef WEFT_ERROR
};

const char *weft_error(void)
{
    return sentence;
}

const char *weft_err_name(weft_err code)
{
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (codes[i].code == code)
            return codes[i].name;
    return code == WEFT_OK ? "OK" : "UNKNOWN";
}

int err_exit_code(weft_err code)
{
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (codes[i].code == code)
            return codes[i].exit_code;
    return code == WEFT_OK ? 0 : 1;
}

// The words may have the sentence itself among them, so they are put together beside it.
static size_t put(const char *format, va_list args)
{
    char words[sizeof sentence];
    const int written = vsnprintf(words, sizeof words, format, args);
    const size_t size = written < 0 ? 0 : (size_t)written;
    memcpy(sentence, words, size < sizeof words ? size + 1 : sizeof words);
    return size;
}

weft_err err_set(weft_err code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    put(format, args);
    va_end(args);
    return code;
}

weft_err err_no_memory(const char *purpose, ...)
{
    char words[sizeof sentence];
    va_list args;
    va_start(args, purpose);
    vsnprintf(words, sizeof words, purpose, args);
    va_end(args);
    return err_set(WEFT_RESOURCE_EXHAUSTED, "no memory %s", words);
}

static weft_err code_of_errno(int number)
{
    switch (number) {
    case ENOENT:
    case ENOTDIR:
        return WEFT_NOT_FOUND;
    case EACCES:
    case EPERM:
    case EROFS:
        return WEFT_PERMISSION_DENIED;
    case EEXIST:
        return WEFT_ALREADY_EXISTS;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
        return WEFT_RESOURCE_EXHAUSTED;
    case EINVAL:
    case EISDIR:
    case ENAMETOOLONG:
        return WEFT_INVALID_ARGUMENT;
    case ETIMEDOUT:
        return WEFT_DEADLINE_EXCEEDED;
    case ECONNREFUSED:
    case ECONNRESET:
    case EPIPE:
    case EHOSTUNREACH:
        return WEFT_UNAVAILABLE;
    default:
        return WEFT_UNKNOWN;
    }
}

// strerror's words with a small first letter, as they stand after a colon.
static void append_reason(size_t at, int number)
{
    char text[128];
    const char *reason = strerror_r(number, text, sizeof text);
    const char first = reason[0] >= 'A' && reason[0] <= 'Z' ? (char)(reason[0] + 32) : reason[0];
    if (at < sizeof sentence)
        snprintf(sentence + at, sizeof sentence - at, ": %c%s%s", first,
                 reason[0] ? reason + 1 : "",
                 number == EMFILE ? "\n  try: ulimit -n 1024, before this" : "");
}

weft_err err_errno(const char *format, ...)
{
    const int number = errno;
    va_list args;
    va_start(args, format);
    const size_t written = put(format, args);
    va_end(args);
    append_reason(written, number);
    return code_of_errno(number);
}

// A failure whose words were cleared on the way up is a mistake of ours. Users had rather read half a message
// than see the process end; sanitized tests find it.
weft_err err_wrap(weft_err code, const char *format, ...)
{
    if (code == WEFT_OK)
        return code;
    ASSERT(!IS_SANITIZED || sentence[0]);
    char words[ERR_TEXT_BYTES_MAX], joined[2 * ERR_TEXT_BYTES_MAX + 4];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    snprintf(joined, sizeof joined, "%s: %s", words, sentence);
    memcpy(sentence, joined, sizeof sentence);
    sentence[sizeof sentence - 1] = 0;
    return code;
}

const char *err_text(void)
{
    return sentence;
}

void err_clear(void)
{
    sentence[0] = 0;
}

void err_keep(struct err_kept *kept)
{
    memcpy(kept->text, sentence, sizeof kept->text);
}

void err_put_back(const struct err_kept *kept)
{
    memcpy(sentence, kept->text, sizeof sentence);
}

_Noreturn void err_assert_failed(const char *claim, const char *file, int line)
{
    fprintf(stderr, "weft: a bug in weft: %s does not hold at %s:%d\n", claim, file, line);
    abort();
}
