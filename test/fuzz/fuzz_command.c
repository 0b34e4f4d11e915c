// Fuzzes what is read of commands: the line that names one, and what it says on standard error. The first
// byte chooses. Words must lie in their room and be ended; the same text taken in pieces counts the same.
#include "code/command/stderr.h"
#include "code/command/words.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void split(const char *line)
{
    weft_err (*const ways[])(struct command_words *, const char *) = {command_words_init,
                                                                      command_words_init_hadoop};
    for (size_t way = 0; way < 2; way++) {
        struct command_words words;
        const weft_err err = ways[way](&words, line);
        ASSERT(err == WEFT_OK || (err == WEFT_INVALID_ARGUMENT && *err_text()));
        size_t length = 0;
        for (size_t i = 0; !err && i < words.count; i++)
            length += strlen(words.words[i]);
        ASSERT(err || (length <= strlen(line) && words.words[words.count] == NULL));
        command_words_fini(&words);
    }
    char found[16];
    command_words_find_expansion(line, found, sizeof found);
    ASSERT(strlen(found) < sizeof found);
}

static void add(void *owner, const char *name, int64_t amount)
{
    uint64_t *sum = owner;
    *sum = *sum * 31 + strlen(name) + (uint64_t)amount;
}

static void listen(const char *text, size_t size)
{
    uint64_t whole = 0, pieces = 0;
    struct command_stderr first, second;
    struct buf tail = {0};
    command_stderr_init(&first, -1, add, &whole);
    command_stderr_init(&second, -1, add, &pieces);
    command_stderr_begin(&first);
    command_stderr_begin(&second);
    command_stderr_take(&first, (weft_bytes){text, size});
    command_stderr_end(&first);
    for (size_t at = 0; at < size;) {
        const size_t step = 1 + (size_t)(unsigned char)text[at] % 7;
        const size_t left = size - at;
        command_stderr_take(&second, (weft_bytes){text + at, step < left ? step : left});
        at += step;
    }
    command_stderr_end(&second);
    // A line that is too long is taken in pieces, and those depend on how it came.
    ASSERT(whole == pieces || size > COMMAND_ERROR_LINE_BYTES_MAX);
    command_stderr_append_tail(&first, 100, &tail);
    buf_fini(&tail);
    command_stderr_fini(&first);
    command_stderr_fini(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    char *text = malloc(size);
    memcpy(text, data + 1, size - 1);
    text[size - 1] = 0;
    if (data[0] & 1)
        listen(text, size - 1);
    else
        split(text);
    free(text);
    return 0;
}
