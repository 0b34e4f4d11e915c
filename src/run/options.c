// options: the one place that knows the options of a run and what their values may be.

#include "run/options_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "base/vec.h"
#include "code/codes.h"
#include "jobs/builtin.h"
#include "mapreduce/slot_page.h"
#include "store/inputs.h"
#include "sys/file/file.h"
#include "sys/file/standard.h"
#include "sys/machine/machine.h"

enum { STDIN = 0 };

typedef VEC(char *) words_vec;

// The state of options_parse.
struct parse {
    struct run_options *options;
    struct args_reader reader;
    words_vec inputs;
    words_vec program_words;  // our options so far, written long
};

weft_err options_no_memory(void)
{
    return err_no_memory("for the options");
}

// Appends a copy of the text and keeps the list NULL-terminated.
static weft_err push_word(words_vec *words, const char *text)
{
    char *copy = strdup(text);
    if (!copy || !VEC_PUSH(words, copy)) {
        free(copy);
        return options_no_memory();
    }
    if (!VEC_NEXT(words)) {
        words->items[--words->count] = NULL;
        free(copy);
        return options_no_memory();
    }
    words->items[words->count] = NULL;
    return WEFT_OK;
}

static void free_words(char **words)
{
    for (size_t i = 0; words && words[i]; i++)
        free(words[i]);
    free(words);
}

static void drop_words(words_vec *words)
{
    for (size_t i = 0; i < words->count; i++)
        free(words->items[i]);
    VEC_FINI(words);
}

// ---- Words -------------------------------------------------------------------------------------------

// Writes the job's parsed options and arguments as words again, for the worker.
static weft_err spell_job_words(struct run_options *options)
{
    words_vec words = {0};
    weft_err err = WEFT_OK;
    for (size_t i = 0; !err && i < options->args.value_count; i++) {
        const struct args_value *value = &options->args.values[i];
        bool takes_value;
        args_has_letter(options->job->options, value->letter, &takes_value);
        err = push_word(&words, (char[]){'-', value->letter, 0});
        if (!err && takes_value)
            err = push_word(&words, value->text);
    }
    if (!err && options->args.argument_count)
        err = push_word(&words, "--");
    for (size_t i = 0; !err && i < options->args.argument_count; i++)
        err = push_word(&words, options->args.arguments[i]);
    options->job_words = words.items;
    options->job_word_count = words.count;
    return err;
}

// An option of ours before JOB: kept as one long word too, for a program that parses it again.
static weft_err note_option(struct parse *parse, const struct args_item *item)
{
    struct buf word = {0};
    buf_format(&word, "--%s", item->option->name);
    if (item->option->value)
        buf_format(&word, "=%s", item->text);
    const weft_err err =
        word.has_failed ? options_no_memory() : push_word(&parse->program_words, buf_text(&word));
    buf_fini(&word);
    return err;
}

// The words of Hadoop Streaming and of mrjob.
static const struct args_hint command_hints[] = {
    {0, "mapper", "--map CMD; weft streaming takes the words of Hadoop"},
    {0, "combiner", "--combine CMD"},
    {0, "reducer", "--reduce CMD"},
    {0, NULL, NULL},
};

// From here on the job's letters win, and for letters that it does not have there are its own hints.
static void know_letters(struct args_reader *reader, const weft_job *job)
{
    reader->job_letters = job ? job->options : NULL;
    reader->hints = job ? builtin_hints(job) : command_hints;
}

// JOB was named. The letters of a known job are known; a program gets all following words as they are.
static weft_err read_job(struct parse *parse, const struct options_request *request,
                         const char *word)
{
    struct run_options *options = parse->options;
    struct args_reader *reader = &parse->reader;
    weft_err err = options_set_text(&options->job_word, "job", word);
    if (!err)
        err = request->resolve(request->owner, word, &options->job);
    if (err || options->job) {
        know_letters(reader, options->job);
        return err || !options->has_file ? err : options_refuse_of_command("file");
    }
    options->program_option_count = parse->program_words.count;
    if (reader->has_ended)
        err = push_word(&parse->program_words, "--");
    for (; !err && reader->at < reader->count; reader->at++)
        err = push_word(&parse->program_words, reader->words[reader->at]);
    options->program_words = parse->program_words.items;
    if (!err && !options->program_words && !(options->program_words = calloc(1, sizeof(char *))))
        err = options_no_memory();
    parse->program_words = (words_vec){0};
    return err;
}

static weft_err read_word(struct parse *parse, const struct options_request *request,
                          const char *word)
{
    struct run_options *options = parse->options;
    if (!options->job)
        return read_job(parse, request, word);
    if (options->args.argument_count < args_expected(options->job, &options->args))
        return args_add_argument(&options->args, word);
    return push_word(&parse->inputs, word);
}

// Whether the word could be the value of our option: any name of an output, but only a number of slots.
static bool could_be_value(const struct args_option *option, const char *word)
{
    uint64_t number;
    return word[0] &&
           (strcmp(option->value, "N") != 0 || text_read_count(word, UINT32_MAX, &number));
}

// The job's letters are the job's. But where ours takes a value and theirs does not, the word that follows
// is one person's output and another's input: `grep PATTERN FILE -o OUT`. That is asked, not guessed.
static weft_err check_clash(const struct parse *parse, char letter)
{
    const struct run_options *options = parse->options;
    const struct args_reader *reader = &parse->reader;
    const struct args_option *ours = args_find_letter(options_table, letter);
    bool takes_value;
    args_has_letter(options->job->options, letter, &takes_value);
    if (!ours || !ours->value || takes_value || reader->cluster || reader->at == reader->count)
        return WEFT_OK;
    const char *word = reader->words[reader->at];
    if (options->args.argument_count < args_expected(options->job, &options->args) ||
        (word[0] == '-' && word[1]) || !could_be_value(ours, word))
        return WEFT_OK;
    const char *name = options->job->name ? options->job->name : "the job";
    return err_set(WEFT_INVALID_ARGUMENT,
                   "-%c %s can be read in two ways\n  after a job that has a -%c it is the job's, "
                   "and %s an input\n  try: --%s %s; or for the -%c of %s: -%c -- %s",
                   letter, word, letter, word, ours->name, word, letter, name, letter, word);
}

static weft_err read_letter(struct parse *parse, const struct args_item *item)
{
    const weft_err err = args_add_option(&parse->options->args, item->letter, item->text);
    return err ? err : check_clash(parse, item->letter);
}

static weft_err read_item(struct parse *parse, const struct options_request *request,
                          const struct args_item *item)
{
    if (item->kind == ARGS_WORD)
        return read_word(parse, request, item->text);
    if (item->kind == ARGS_JOB_LETTER)
        return read_letter(parse, item);
    const weft_err err = options_set(parse->options, item->option, item->text);
    return err || parse->options->job ? err : note_option(parse, item);
}

// The job's arguments as help and errors name them: "PATTERN".
static void append_argument_names(struct buf *buf, const weft_job *job)
{
    if (job->argument_names && job->arguments)
        buf_append_text(buf, job->argument_names);
    for (uint32_t i = 0; !job->argument_names && i < job->arguments; i++)
        buf_append_text(buf, i ? " ARGUMENT" : "ARGUMENT");
}

// `grep -k FILE`: "-k" was meant as the pattern. Adds how to write that to the message that there is no option -k.
static weft_err hint_at_dashes(const struct parse *parse, weft_err err)
{
    const weft_job *job = parse->options->job;
    const struct args_reader *reader = &parse->reader;
    if (!reader->is_unknown || !job ||
        parse->options->args.argument_count >= args_expected(job, &parse->options->args))
        return err;
    char why[ERR_TEXT_BYTES_MAX];
    struct buf names = {0};
    const char *word = reader->words[reader->at - 1], *letters = job->argument_options;
    snprintf(why, sizeof why, "%s", err_text());
    append_argument_names(&names, job);
    if (letters && *letters && job->arguments == 1)
        err_set(err, "%s\n  for %s itself: -%c %s, or -- %s", why, buf_text(&names), *letters, word,
                word);
    else
        err_set(err, "%s\n  for %s itself: -- %s", why, buf_text(&names), word);
    buf_fini(&names);
    return err;
}

static weft_err missing_argument(const weft_job *job, size_t given)
{
    struct buf names = {0};
    append_argument_names(&names, job);
    const weft_err err = err_set(WEFT_INVALID_ARGUMENT,
                                 "%s needs %s before the inputs%s\n  try: -h after the job shows "
                                 "how to use it",
                                 job->name ? job->name : "the job", buf_text(&names),
                                 given ? ", and not all of it was given" : "");
    buf_fini(&names);
    return err;
}

static weft_err check_complete(const struct run_options *options)
{
    if (!options->job)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "no job is named\n  try: weft %s wordcount FILE..., or weft %s -h",
                       options->listen ? "server" : "run", options->listen ? "server" : "run");
    if (options->args.argument_count == args_expected(options->job, &options->args))
        return WEFT_OK;
    return missing_argument(options->job, options->args.argument_count);
}

// `grep FILE -e PATTERN`: the words before -e were taken for arguments, and are inputs.
static weft_err return_arguments(struct parse *parse)
{
    struct weft_args *args = &parse->options->args;
    words_vec inputs = {0};
    weft_err err = WEFT_OK;
    if (!parse->options->job || args_expected(parse->options->job, args) >= args->argument_count)
        return WEFT_OK;
    for (size_t i = 0; i < args->argument_count && !err; i++)
        err = push_word(&inputs, args->arguments[i]);
    for (size_t i = 0; i < parse->inputs.count && !err; i++)
        err = push_word(&inputs, parse->inputs.items[i]);
    while (args->argument_count > 0)
        free(args->arguments[--args->argument_count]);
    drop_words(&parse->inputs);
    parse->inputs = inputs;
    return err;
}

// A job may have a -h of its own. Where nothing is there to work on, -h can only be a question.
static bool asks_for_help(const struct parse *parse)
{
    const struct run_options *options = parse->options;
    const bool lacks_arguments =
        options->job && options->args.argument_count < args_expected(options->job, &options->args);
    return weft_option(&options->args, 'h', 0) && options->job->options &&
           parse->inputs.count == 0 && (lacks_arguments || !standard_is_fed(STDIN));
}

static bool has_json(char *const *words, size_t count)
{
    for (size_t i = 0; i < count && strcmp(words[i], "--") != 0; i++)
        if (strcmp(words[i], "--json") == 0)
            return true;
    return false;
}

static weft_err parse_all(struct parse *parse, const struct options_request *request)
{
    struct run_options *options = parse->options;
    while (!options->wants_help && !options->program_words) {
        struct args_item item;
        weft_err err = args_next(&parse->reader, &item);
        if (err)
            return hint_at_dashes(parse, err);
        if (item.kind == ARGS_END)
            err = return_arguments(parse);
        if (!err && item.kind == ARGS_END && asks_for_help(parse))
            options->wants_help = true;
        else if (!err && item.kind == ARGS_END)
            err = check_complete(options);
        else if (!err)
            err = read_item(parse, request, &item);
        if (err || item.kind == ARGS_END)
            return err;
    }
    return WEFT_OK;
}

weft_err options_parse(struct run_options *options, const struct options_request *request,
                       char *const *words, size_t count)
{
    *options = (struct run_options){
        .job = request->job, .job_size = request->job_size, .json = has_json(words, count)};
    const struct code *claimant = request->job ? NULL : code_claimed_by(words, count);
    if (claimant)
        options->job = claimant->job;
    struct parse parse = {.options = options};
    args_start(&parse.reader, words, count, options_table);
    know_letters(&parse.reader, request->job);
    weft_err err = parse_all(&parse, request);
    options->inputs = parse.inputs.items;
    options->input_count = parse.inputs.count;
    drop_words(&parse.program_words);
    if (!err && claimant && claimant->complete)
        err = claimant->complete(&options->args);
    if (!err && options->job && !options->wants_help)
        err = spell_job_words(options);
    return err;
}

weft_err options_add_input(struct run_options *options, const char *word)
{
    words_vec inputs = {
        .items = options->inputs,
        .count = options->input_count,
        .capacity = options->input_count ? options->input_count + 1 : 0,
    };
    const weft_err err = push_word(&inputs, word);
    options->inputs = inputs.items;
    options->input_count = inputs.count;
    return err;
}

weft_err options_add_job_option(struct run_options *options, char letter, const char *text)
{
    const weft_err err = args_add_option(&options->args, letter, text);
    if (err)
        return err;
    free_words(options->job_words);
    options->job_words = NULL;
    return spell_job_words(options);
}

// ---- From a program ------------------------------------------------------------------------------------

static weft_err copy_numbers(struct run_options *options, const weft_options *api)
{
    if (api->slots > SLOTS_MAX || api->reducers > OPTIONS_REDUCERS_MAX ||
        api->max_attempts > OPTIONS_ATTEMPTS_MAX)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "too many: slots go to %d, reducers to %d, attempts to %d", SLOTS_MAX,
                       OPTIONS_REDUCERS_MAX, OPTIONS_ATTEMPTS_MAX);
    options->force = api->force;
    options->slots = api->slots;
    options->memory_bytes = api->memory_bytes;
    options->reducers = api->reducers;
    options->timeout_ms = api->timeout_ms;
    options->task_timeout_ms = api->task_timeout_ms;
    options->max_attempts = api->max_attempts;
    options->quiet = !api->show_progress;
    options->progress = api->progress;
    options->progress_data = api->progress_data;
    return WEFT_OK;
}

static weft_err copy_formats(struct run_options *options, const weft_options *api)
{
    weft_err err = WEFT_OK;
    if (api->format)
        err = options_set_text(&options->format, "format", api->format);
    if (!err && api->bad_records)
        err = options_set_text(&options->bad_records, "bad-records", api->bad_records);
    if (!err && api->output_format &&
        !record_output_find(api->output_format, &options->output_format))
        err = err_set(WEFT_INVALID_ARGUMENT, "there is no output format %s", api->output_format);
    if (!err && api->compress && !codec_find(api->compress, &options->compress))
        err = err_set(WEFT_INVALID_ARGUMENT, "there is no compression %s", api->compress);
    options->skip_bad = (struct skip_limit){.is_set = api->skip_bad > 0, .count = api->skip_bad};
    return err;
}

weft_err options_from_api(struct run_options *options, const weft_job *job, const weft_options *api)
{
    *options = (struct run_options){.job = job};
    words_vec inputs = {0};
    size_t argument_count = 0;
    weft_err err = copy_numbers(options, api);
    if (!err && api->output)
        err = options_set_text(&options->output, "output", api->output);
    if (!err && api->tmp)
        err = options_set_text(&options->tmp, "tmp", api->tmp);
    if (!err)
        err = copy_formats(options, api);
    for (size_t i = 0; !err && api->inputs && api->inputs[i]; i++)
        err = push_word(&inputs, api->inputs[i]);
    options->inputs = inputs.items;
    options->input_count = inputs.count;
    while (api->arguments && api->arguments[argument_count])
        argument_count++;
    if (!err)
        err = args_parse_job(job, (char *const *)api->arguments, argument_count, &options->args);
    return err ? err : spell_job_words(options);
}

// ---- Defaults ------------------------------------------------------------------------------------------

static weft_err refuse_tmp(weft_err err)
{
    return err_set(err,
                   "--tmp: %s\n  try: --tmp /var/tmp, or another directory on a disk that you may "
                   "write to",
                   err_text());
}

// Spilling into memory would break the promise of --memory.
static weft_err check_tmp(const char *tmp)
{
    bool is_in_memory;
    weft_err err = file_is_in_memory(tmp, &is_in_memory);
    if (err)
        return refuse_tmp(err);
    if (is_in_memory)
        return err_set(
            WEFT_INVALID_ARGUMENT,
            "--tmp %s is in memory (tmpfs)\n  data that does not fit in memory goes there, so it must be on a disk\n  try: --tmp /var/tmp, or another directory "
            "on a disk",
            tmp);
    int fd;
    err = file_create_nameless(tmp, &fd);
    if (err)
        return refuse_tmp(err);
    file_close(fd);
    return WEFT_OK;
}

static weft_err choose_tmp(struct run_options *options)
{
    if (options->tmp)
        return check_tmp(options->tmp);
    const char *from_environment = getenv("TMPDIR");
    const char *choices[] = {from_environment && *from_environment ? from_environment : "/var/tmp",
                             "/var/tmp"};
    weft_err err = WEFT_OK;
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        err = check_tmp(choices[i]);
        if (!err) {
            err_clear();
            return options_set_text(&options->tmp, "tmp", choices[i]);
        }
    }
    return err;
}

static weft_err choose_memory(struct run_options *options)
{
    if (options->memory_bytes == 0) {
        const uint64_t free_bytes = machine_memory_free();
        options->memory_bytes = free_bytes ? free_bytes / 2 : UINT64_C(512) << 20;
        if (options->memory_bytes < OPTIONS_MEMORY_MIN && free_bytes >= OPTIONS_MEMORY_MIN)
            options->memory_bytes = OPTIONS_MEMORY_MIN;
        if (options->memory_bytes < OPTIONS_MEMORY_MIN)
            return err_set(
                WEFT_RESOURCE_EXHAUSTED,
                "only %" PRIu64 " MB of memory are free for this process, and it needs "
                "at least 16\n  try: free some memory, a larger ulimit -v, or --memory 16M even so",
                free_bytes >> 20);
    }
    if (options->memory_bytes < OPTIONS_MEMORY_MIN)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "%" PRIu64 " bytes of memory are too little to work in\n  at least 16M",
                       options->memory_bytes);
    return WEFT_OK;
}

weft_err options_complete(struct run_options *options)
{
    weft_err err = options_check_shared(options);
    if (!err)
        err = options_check_slots(options);
    if (err)
        return err;
    if (options->final_alone)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "--final is for a Python script with a function of that name\n"
                       "  try: weft run --final SCRIPT.py");
    options->workers = options->workers ? options->workers : 1;
    if (options->slots == 0) {
        const uint32_t cores = machine_core_count() / options->workers;
        options->slots = cores == 0 ? 1 : cores < SLOTS_MAX ? cores : SLOTS_MAX;
    }
    if (options->max_attempts == 0)
        options->max_attempts = OPTIONS_ATTEMPTS;
    err = choose_memory(options);
    if (!err && !options->bad_records)
        err = options_set_text(&options->bad_records, "bad-records", INPUTS_BAD_LIST);
    return err ? err : choose_tmp(options);
}

weft_err options_check_job(const struct run_options *options, const weft_job *job)
{
    const weft_job *last = job;
    const struct code *code = code_of(job);
    while (last->next)
        last = last->next;
    if (options->top == 0 || last->reduce == weft_sum || last->reduce == weft_count ||
        (code->counts && code->counts(&options->args)))
        return WEFT_OK;
    if (code->counts)
        return err_set(WEFT_INVALID_ARGUMENT, "--top needs a job that counts\n"
                                              "  try: fold = sum, or fold = weft.count");
    return err_set(WEFT_INVALID_ARGUMENT,
                   "--top needs a job that counts, and %s does not\n  its last reducer must be "
                   "weft_sum or weft_count, as in wordcount and count",
                   job->name ? job->name : "this one");
}

void options_fini(struct run_options *options)
{
    args_fini(&options->args);
    char *const texts[] = {
        options->job_word,      options->output,      options->listen,    options->on,
        options->ssh,           options->archive,     options->port_file, options->tmp,
        options->format,        options->token_file,  options->delimiter, options->bad_records,
        options->client_memory, options->client_cpus, options->setting};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free(texts[i]);
    free_words(options->job_words);
    free_words(options->inputs);
    free_words(options->program_words);
    *options = (struct run_options){0};
}

// What can be said of a job that says nothing of itself.
static void append_letters(struct buf *buf, const weft_job *job)
{
    buf_format(buf, "The job %s.%s", job->name ? job->name : "of this program",
               job->options && *job->options ? " Its own options are" : "");
    for (const char *at = job->options ? job->options : ""; *at; at++) {
        bool takes_value;
        if (*at != ':' && args_has_letter(job->options, *at, &takes_value))
            buf_format(buf, " -%c%s", *at, takes_value ? " VALUE" : "");
    }
    buf_append_text(buf, job->options && *job->options ? ".\n" : "\n");
    buf_append_text(buf, "The job has no description: that is .usage of its weft_job.\n");
}

// Without the letters that mean something else after this job.
static void append_common_options(struct buf *buf, const weft_job *job)
{
    struct args_option options[64];
    size_t count = 0;
    for (; options_table[count].id; count++) {
        bool takes_value;
        ASSERT(count + 1 < sizeof options / sizeof *options);
        options[count] = options_table[count];
        if (args_has_letter(job->options, options[count].letter, &takes_value))
            options[count].letter = 0;
    }
    options[count] = (struct args_option){0};
    args_format_help(buf, options, OPTIONS_OF_COMMANDS);
}

void options_format_job_help(struct buf *buf, const char *program, const weft_job *job)
{
    const char *usage = job->usage ? job->usage : "";
    buf_format(buf, "Usage: %s [options]%s", program,
               job->options && *job->options ? " [job options]" : "");
    if (job->arguments)
        buf_append_text(buf, " ");
    append_argument_names(buf, job);
    buf_format(buf, " INPUT...\n\n%s", usage);
    if (!job->usage)
        append_letters(buf, job);
    if (usage[0] && usage[strlen(usage) - 1] != '\n')
        buf_append_text(buf, "\n");
    buf_append_text(buf, "\nINPUT is a file, a directory, a quoted pattern, @names.txt or -\n"
                         "\nOptions of every job, except letters that this job uses itself:\n");
    append_common_options(buf, job);
}
