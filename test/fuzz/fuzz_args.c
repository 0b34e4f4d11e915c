// Fuzzes the command line. The first line of an input is the job's getopt letters, the second how
// many arguments it takes, each further one a word. What the driver made of the job's words, the worker
// must read the same; what it hands to a program must mean the same there.
#include "base/text.h"
#include "run/options.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WORDS_MAX = 64 };

static weft_err resolve(void *owner, const char *word, const weft_job **job)
{
    if (strchr(word, '/'))
        return WEFT_OK;
    *job = owner;
    return WEFT_OK;
}

static void check_same_args(const struct weft_args *a, const struct weft_args *b)
{
    ASSERT(a->value_count == b->value_count && a->argument_count == b->argument_count);
    for (size_t i = 0; i < a->value_count; i++) {
        ASSERT(a->values[i].letter == b->values[i].letter);
        ASSERT(strcmp(a->values[i].text, b->values[i].text) == 0);
    }
    for (size_t i = 0; i < a->argument_count; i++)
        ASSERT(strcmp(a->arguments[i], b->arguments[i]) == 0);
}

static void check_job_words(const weft_job *job, const struct run_options *options)
{
    struct weft_args again = {0};
    ASSERT(args_parse_job(job, options->job_words, options->job_word_count, &again) == WEFT_OK);
    check_same_args(&options->args, &again);
    args_fini(&again);
}

// Our options, written long for a program, are the same options there.
static void check_program_words(const weft_job *job, const struct run_options *options)
{
    struct run_options again;
    size_t count = 0;
    while (options->program_words[count])
        count++;
    const struct options_request request = {.job = job};
    if (options_parse(&again, &request, options->program_words, count) == WEFT_OK &&
        !again.wants_help) {
        ASSERT(again.slots || !options->slots);
        ASSERT(again.memory_bytes || !options->memory_bytes);
        ASSERT(again.quiet || !options->quiet);
    }
    options_fini(&again);
}

static void check_words(const weft_job *job, char *const *words, size_t count, bool is_program)
{
    struct run_options options;
    const struct options_request request = {
        .job = is_program ? job : NULL, .resolve = resolve, .owner = (void *)job};
    const weft_err err = options_parse(&options, &request, words, count);
    // The files of --file are looked at.
    ASSERT(err == WEFT_OK || err == WEFT_INVALID_ARGUMENT || err == WEFT_NOT_FOUND ||
           err == WEFT_PERMISSION_DENIED);
    ASSERT(err == WEFT_OK || *err_text());
    if (!err && options.program_words)
        check_program_words(job, &options);
    else if (!err && !options.wants_help)
        check_job_words(options.job, &options);  // with --map or --reduce it is that of commands
    options_fini(&options);
}

static void check_text(const char *word)
{
    uint64_t bytes;
    uint32_t milliseconds;
    static const char *const names[] = {"wordcount", "sort", "--memory", NULL};
    if (text_read_size(word, &bytes))
        ASSERT(bytes > 0);
    if (text_read_duration(word, &milliseconds))
        ASSERT(milliseconds > 0);
    args_guess(word, names);
    ASSERT(text_distance(word, "run") == text_distance("run", word));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1), *words[WORDS_MAX];
    size_t count = 0;
    memcpy(text, data, size);
    text[size] = 0;
    for (char *at = text; at && count < WORDS_MAX;) {
        words[count++] = at;
        at = strchr(at, '\n');
        if (at)
            *at++ = 0;
    }
    if (count >= 2) {
        const weft_job job = {
            .name = "job", .options = words[0], .arguments = (uint32_t)strlen(words[1]) % 4};
        check_words(&job, words + 2, count - 2, false);
        check_words(&job, words + 2, count - 2, true);
        for (size_t i = 2; i < count; i++)
            check_text(words[i]);
    }
    free(text);
    return 0;
}
