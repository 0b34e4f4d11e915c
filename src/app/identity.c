// identity: what is hashed, in one place. A new option that changes bytes must be added here.

#include "app/identity.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "lang/command.h"
#include "lang/command_words.h"
#include "sys/file.h"

enum { READ_BYTES = 1 << 18 };

static void add_bytes(XXH3_state_t *hash, weft_bytes bytes)
{
    const uint64_t size = bytes.size;
    XXH3_128bits_update(hash, &size, sizeof size);
    if (bytes.size)
        XXH3_128bits_update(hash, bytes.data, bytes.size);
}

static void add_text(XXH3_state_t *hash, const char *text)
{
    add_bytes(hash, weft_text(text ? text : ""));
}

static void add_number(XXH3_state_t *hash, uint64_t number)
{
    XXH3_128bits_update(hash, &number, sizeof number);
}

static weft_err add_file(XXH3_state_t *hash, const char *path)
{
    char *room = malloc(READ_BYTES);
    int fd = -1;
    weft_err code = room ? file_open(path, &fd)
                         : err_set(WEFT_RESOURCE_EXHAUSTED, "no memory to read %s", path);
    size_t got = READ_BYTES;
    for (uint64_t at = 0; code == WEFT_OK && got == READ_BYTES; at += got) {
        code = file_read_at(fd, path, room, READ_BYTES, at, &got);
        if (code == WEFT_OK)
            XXH3_128bits_update(hash, room, got);
    }
    file_close(fd);
    free(room);
    return code;
}

// What a word names, here or where commands run, if that is a file.
static weft_err add_named(XXH3_state_t *hash, const char *word, const char *directory)
{
    struct file_stat status;
    struct buf path = {0};
    if (directory && word[0] != '/')
        buf_format(&path, "%s/%s", directory, word);
    const char *const places[] = {path.size ? buf_text(&path) : word, word};
    weft_err code = WEFT_OK;
    for (size_t i = 0; i < 2; i++) {
        if (file_stat(places[i], &status) != WEFT_OK || status.kind != FILE_REGULAR)
            continue;
        code = add_file(hash, places[i]);
        break;
    }
    buf_fini(&path);
    return code;
}

// A command is its words and, of those that name a file, the file: `python3 job.py`.
static weft_err add_command(XXH3_state_t *hash, const char *command, const char *directory)
{
    struct command_words words;
    weft_err code = command_words_init_hadoop(&words, command);
    add_text(hash, command);
    for (size_t i = 0; code == WEFT_OK && i < words.count; i++)
        code = add_named(hash, words.words[i], directory);
    command_words_fini(&words);
    return code;
}

static weft_err add_code(XXH3_state_t *hash, const struct run_options *options)
{
    weft_err code = add_file(hash, "/proc/self/exe");
    const char letters[] = {COMMAND_MAP, COMMAND_COMBINE, COMMAND_REDUCE};
    for (size_t i = 0; code == WEFT_OK && i < sizeof letters; i++) {
        const char *command =
            options->job == &command_job ? weft_option(&options->args, letters[i], 0) : NULL;
        if (command && *command)
            code = add_command(hash, command, weft_option(&options->args, COMMAND_DIRECTORY, 0));
    }
    return code;
}

static const char directory_word[] = {'-', COMMAND_DIRECTORY, 0};

static void add_options(XXH3_state_t *hash, const struct run_options *options,
                        const struct chain *chain)
{
    for (size_t i = 0; i < options->job_word_count; i++) {
        // Where commands run is not what they are; its name is another one every time.
        if (options->job == &command_job && strcmp(options->job_words[i], directory_word) == 0)
            i++;
        else
            add_text(hash, options->job_words[i]);
    }
    for (size_t i = 0; i < chain->jobs.count; i++) {
        add_text(hash, chain->jobs.items[i].name);
        add_bytes(hash, chain->jobs.items[i].config);
    }
    add_text(hash, options->format);
    add_text(hash, options->delimiter);
    add_number(hash, options->ends_with_nul);
    add_number(hash, options->lines_per_task);
    add_number(hash, options->output_format);
    add_number(hash, options->compress);
    add_number(hash, options->reducers);
    add_number(hash, options->top);
    add_number(hash, options->skip_bad.is_set);
}

weft_err identity_make(struct manifest *origin, const struct run_options *options,
                       const struct chain *chain, const struct inputs *inputs)
{
    XXH3_state_t *hash = XXH3_createState();
    if (!hash)
        return err_set(WEFT_RESOURCE_EXHAUSTED, "no memory for the identity of a job");
    XXH3_128bits_reset(hash);
    add_options(hash, options, chain);
    weft_err code = add_code(hash, options);
    const XXH128_hash_t sum = XXH3_128bits_digest(hash);
    XXH3_freeState(hash);
    snprintf(origin->identity, sizeof origin->identity, "%016" PRIx64 "%016" PRIx64, sum.high64,
             sum.low64);
    for (size_t i = 0; code == WEFT_OK && i < inputs->count; i++) {
        const struct input *input = &inputs->items[i];
        if (input->mtime_ns == 0)
            code = err_set(WEFT_UNIMPLEMENTED, "%s cannot be read again", input->name);
        else
            code = manifest_add_input(origin, input->name, input->size, input->mtime_ns);
    }
    return code;
}
