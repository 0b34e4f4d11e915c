// Fuzzes the words of a streaming job: each line of an input is a word. What was understood must make
// words that command_job's letters can be read from again, and refused words must have a sentence.
#include "hadoop/streaming.h"

#include <stdint.h>
#include <stdlib.h>

#include "hadoop/conf.h"
#include "hadoop/inputs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WORDS_MAX = 64 };

static void check_words(const struct streaming_options *options)
{
    const struct streaming_facts facts = {"user", "host", "/here", 1};
    struct streaming_list words = {0}, patterns = {0}, variables = {0};
    if (streaming_list_variables(options, &facts, &variables) == WEFT_OK &&
        streaming_spell_job(options, &variables, "/work", &words) == WEFT_OK) {
        // Letters and values alternate, but for the two flags.
        for (size_t i = 0; i < words.count; i++) {
            const char *word = words.items[i];
            ASSERT(word[0] == '-' && word[1] && !word[2]);
            if (word[1] != 'H' && word[1] != 'x')
                ASSERT(++i < words.count);
        }
        ASSERT(words.items[words.count] == NULL);
    }
    streaming_drop(&words);
    streaming_drop(&variables);
    for (size_t i = 0; i < options->inputs.count; i++) {
        if (streaming_expand_braces(options->inputs.items[i], &patterns) == WEFT_OK)
            for (size_t j = 0; j < patterns.count; j++)
                ASSERT(!strchr(patterns.items[j], '{'));
        streaming_drop(&patterns);
    }
}

static void check_conf(const char *text, size_t size)
{
    struct streaming_list words = {0};
    if (streaming_read_conf("a.xml", (weft_bytes){text, size}, &words) == WEFT_OK) {
        ASSERT(words.count % 2 == 0);
        for (size_t i = 0; i < words.count; i += 2)
            ASSERT(strcmp(words.items[i], "-D") == 0 && strchr(words.items[i + 1], '='));
    }
    streaming_drop(&words);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct args_option own[] = {
        {1, 'n', "slots", "N", NULL}, {2, 0, "force", NULL, NULL}, {0}};
    char *text = malloc(size + 1), *words[WORDS_MAX];
    struct streaming_options options;
    size_t count = 0;
    memcpy(text, data, size);
    text[size] = 0;
    check_conf(text, size);
    for (char *at = text; at && count < WORDS_MAX;) {
        words[count++] = at;
        at = strchr(at, '\n');
        if (at)
            *at++ = 0;
    }
    const weft_err err = streaming_parse(&options, words, count, own);
    ASSERT(err == WEFT_OK || err == WEFT_INVALID_ARGUMENT || err == WEFT_UNIMPLEMENTED);
    ASSERT(err == WEFT_OK || *err_text());
    if (!err && !options.wants_help)
        check_words(&options);
    streaming_fini(&options);
    free(text);
    return 0;
}
