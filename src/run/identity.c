// identity: the one list of everything that is hashed. A new option that changes bytes must be added here.

#include "run/identity.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "code/codes.h"
#include "code/command/words.h"
#include "sys/file/file.h"
#include "sys/file/find.h"
#include "sys/process/command.h"

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
    weft_err code = room ? file_open(path, &fd) : err_no_memory("to read %s", path);
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

// A program somewhere in PATH: known by its size and time, because its bytes may be many.
static void add_program(XXH3_state_t *hash, const char *name)
{
    char *path = NULL;
    struct file_stat status = {0};
    if (command_find(name, &path) != WEFT_OK || file_stat(path, &status) != WEFT_OK)
        err_clear();  // starting it will report that it is missing
    add_text(hash, path);
    add_number(hash, status.size);
    add_number(hash, (uint64_t)status.mtime_ns);
    free(path);
}

// A command is its words and, of those that name a file here, the file: `python3 job.py`.
static weft_err add_command(XXH3_state_t *hash, const char *command)
{
    struct command_words words;
    weft_err code = command_words_init_hadoop(&words, command);
    if (code == WEFT_OK && words.count && !strchr(words.words[0], '/'))
        add_program(hash, words.words[0]);
    for (size_t i = 0; code == WEFT_OK && i < words.count; i++) {
        struct file_stat status;
        if (file_stat(words.words[i], &status) == WEFT_OK && status.kind == FILE_REGULAR)
            code = add_file(hash, words.words[i]);
    }
    command_words_fini(&words);
    return code;
}

struct folder {
    XXH3_state_t *hash;
    size_t length;  // of its path, which is another one every time
};

static weft_err add_shipped(void *owner, const struct found *found)
{
    const struct folder *folder = owner;
    add_text(folder->hash, found->path + folder->length);
    return add_file(folder->hash, found->path);
}

static bool names_files(const struct code *user, const weft_args *args)
{
    for (size_t i = 0; i < args->value_count; i++)
        if (user->word && user->word(args->values[i].letter) == CODE_WORD_FILE)
            return true;
    return false;
}

// What the job's own options say; commands with the files they name. A folder beside such files has links to
// them; a server makes none, and its job is the same.
static weft_err add_job_words(XXH3_state_t *hash, const struct run_options *options)
{
    const struct weft_args *args = &options->args;
    const struct code *user = code_of(options->job);
    const bool skips_folder = names_files(user, args);
    weft_err code = WEFT_OK;
    for (size_t i = 0; code == WEFT_OK && i < args->value_count; i++) {
        const struct args_value *value = &args->values[i];
        const enum code_word word = user->word ? user->word(value->letter) : CODE_WORD_TEXT;
        if (word == CODE_WORD_FOLDER && skips_folder)
            continue;
        add_number(hash, (uint64_t)value->letter);
        if (word == CODE_WORD_FOLDER) {
            struct folder folder = {hash, strlen(value->text)};
            code = find_walk(value->text, &(struct find_calls){.visit = add_shipped}, &folder);
            continue;
        }
        add_text(hash, value->text);
        if (word == CODE_WORD_PROGRAM && value->text[0])
            code = add_command(hash, value->text);
        else if (word == CODE_WORD_FILE)
            code = add_file(hash, value->text);
    }
    for (size_t i = 0; i < args->argument_count; i++)
        add_text(hash, args->arguments[i]);
    return code;
}

static void add_options(XXH3_state_t *hash, const struct run_options *options,
                        const struct chain *chain)
{
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
    add_number(hash, options->is_hadoop);
    add_number(hash, options->is_lazy);
    add_number(hash, options->hadoop.split_min);
    add_number(hash, options->hadoop.block_bytes);
    add_number(hash, options->hadoop.reducers);
    add_number(hash, options->hadoop.has_cuts);
}

// Which records are left out is not an option's business: see output_set_left_out.
weft_err identity_make(struct manifest *origin, const struct run_options *options,
                       const struct chain *chain, const struct inputs *inputs)
{
    XXH3_state_t *hash = XXH3_createState();
    if (!hash)
        return err_no_memory("for the identity of a job");
    XXH3_128bits_reset(hash);
    add_text(hash, weft_version());  // a library may be newer than the program
    add_options(hash, options, chain);
    weft_err code = add_job_words(hash, options);
    if (code == WEFT_OK)
        code = add_file(hash, "/proc/self/exe");
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

void identity_hash_keys(const ProtobufCBinaryData *keys, size_t count,
                        uint8_t key[IDENTITY_KEY_BYTES])
{
    uint64_t sum[2] = {count, 0};
    for (size_t i = 0; i < count; i++) {
        const XXH128_hash_t one = XXH3_128bits_withSeed(keys[i].data, keys[i].len, sum[0]);
        const uint64_t both[4] = {sum[0], sum[1], one.low64, one.high64};
        const XXH128_hash_t next = XXH3_128bits(both, sizeof both);
        sum[0] = next.low64;
        sum[1] = next.high64;
    }
    memcpy(key, sum, sizeof sum);
}
