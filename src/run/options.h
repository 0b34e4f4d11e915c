// options: what the user asked of a run, from the command line of `weft run`, from that of a program
// with weft_main, or from weft_submit; parsed, checked, with the defaults of this machine.
//
//   weft run [options] JOB [job options] [job arguments] INPUT...
//   ./program [options and job options mixed] [job arguments] INPUT...
//
// After JOB (in a program: everywhere) a short letter that the job defines is the job's; ours is then
// written long or before JOB. Where the word after such a letter could be the value of our option or an input,
// the run is refused (docs/decisions/0025). Thread: one owner.
#ifndef RUN_OPTIONS_H
#define RUN_OPTIONS_H

#include "base/args.h"
#include "base/err.h"
#include "mapreduce/coord/plan_hadoop.h"
#include "store/codec/codec.h"
#include "store/record/record.h"

enum {
    OPTIONS_ATTEMPTS = 4,  // default of --max-attempts
    OPTIONS_ATTEMPTS_MAX = 100,
    OPTIONS_REDUCERS_MAX = PLAN_PARTS_MAX,
    OPTIONS_WORKERS_MAX = 64,  // processes on one machine
};
#define OPTIONS_MEMORY_MIN (UINT64_C(16) << 20)  // less cannot hold the buffers of one slot

// --skip-bad: how many records may be left out.
struct skip_limit {
    bool is_set, is_share;
    uint64_t count;
    double percent;
};

struct run_options {
    const weft_job *job;    // borrowed: the job that was named; NULL when program_words is set
    size_t job_size;        // of the jobs after it, which are the program's; 0: they are ours
    char *job_word;         // JOB as it was given; NULL in a program with weft_main
    struct weft_args args;  // the job's own options and arguments, parsed
    char **job_words;       // the same as words for args_parse_job in the worker; NULL-terminated
    size_t job_word_count;

    char **inputs;  // INPUT words as given: store/inputs.h expands them; NULL-terminated
    size_t input_count;
    char *output;  // NULL: standard output; '/' at its end: a directory of parts
    // Clients that join do the work: where they are let in; NULL: workers of our own do it.
    char *listen;
    char *on, *ssh, *archive;                     // for the command alone
    char *client_memory, *client_cpus, *setting;  // likewise
    uint32_t clients;                             // likewise
    char *port_file, *token_file;                 // NULL: none
    bool shared;  // --shared: clients see the directory of the output, and write its parts
    bool force;
    bool final_alone;  // --final: for a Python script, which program_words go to

    char *format;             // --format; NULL: what the job says, else lines
    char *delimiter;          // --delimiter; NULL: the line end
    bool ends_with_nul;       // -0
    uint32_t lines_per_task;  // 0: tasks are cut by bytes
    enum record_output output_format;
    enum codec_kind compress;

    // weft streaming: inputs are cut and tasks numbered as by Hadoop; parts without a byte are not made.
    bool is_hadoop, is_lazy;
    struct plan_hadoop_options hadoop;

    // 0 until options_complete; then never 0.
    uint32_t slots;  // of each worker
    uint32_t workers;
    uint64_t memory_bytes;
    uint32_t max_attempts;
    char *tmp;  // likewise NULL until then

    uint32_t reducers;                     // 0: from the size of the input
    uint32_t timeout_ms, task_timeout_ms;  // 0: none
    uint32_t record_timeout_ms;            // likewise
    bool skip_missing;                     // inputs that are not there
    struct skip_limit skip_bad;
    char *bad_records;  // where records that were left out are listed; set by options_complete
    uint32_t top;       // --top N; 0: everything
    bool quiet, verbose, json, no_color;
    weft_progress_fn *progress;  // of the program that submitted the job; NULL: none
    void *progress_data;
    bool
        lends_inputs;  // workers, or some of them, get the bytes of inputs only when they ask for them
    bool dry_run;      // only print the plan
    bool wants_help;  // -h or --help: nothing else was checked

    // JOB is a program (or a source that becomes one): its argument list without argv[0], with our
    // options from before JOB written long. The words after JOB were not looked at. NULL-terminated.
    char **program_words;
    size_t program_option_count;  // of them are our options from before JOB
    bool has_file;                // --file came before JOB
};

// Finds JOB: *job is set, or left NULL for a program or a source file; NOT_FOUND with a guess for neither.
typedef weft_err options_resolve_fn(void *owner, const char *word, const weft_job **job);

struct options_request {
    const weft_job *job;          // the job of a program; NULL: the first word is JOB
    size_t job_size;              // of the jobs after it; 0: they are ours
    options_resolve_fn *resolve;  // for JOB
    void *owner;
};

// The table of `weft run`, ended by id 0: for the help, for main.c (flags before the verb) and for
// the completions.
extern const struct args_option options_table[];

// Parses the words after `weft run` (or argv + 1 of a program) into an empty struct. Wrong usage is
// INVALID_ARGUMENT. Call options_fini in every case; options->json is right also after a failure.
MUST_CHECK weft_err options_parse(struct run_options *options,
                                  const struct options_request *request, char *const *words,
                                  size_t count);

// Adds one more INPUT word, a copy.
MUST_CHECK weft_err options_add_input(struct run_options *options, const char *word);

// Adds one more option of the job's own.
MUST_CHECK weft_err options_add_job_option(struct run_options *options, char letter,
                                           const char *text);

// The same as options_parse from weft_submit: everything is copied.
MUST_CHECK weft_err options_from_api(struct run_options *options, const weft_job *job,
                                     const weft_options *api);

// Fills in the options that were left open (slots, memory, tmp, attempts) from the machine, and refuses values
// that cannot work: a tmp in memory or not writable, a budget under 16M.
MUST_CHECK weft_err options_complete(struct run_options *options);

// --top needs a job whose last stage counts: reduce (or combine) is weft_sum or weft_count. Call it
// with the job after its configure(); INVALID_ARGUMENT otherwise.
MUST_CHECK weft_err options_check_job(const struct run_options *options, const weft_job *job);

// How the job's inputs are cut into records: what the user said, else what the job says.
MUST_CHECK weft_err options_choose_format(const struct run_options *options, const weft_job *job,
                                          struct record_format *format);

void options_fini(struct run_options *options);

// Appends the help for -h: of a job (its usage, then our options) as `program` runs it, such as
// "weft run sort" or "./wordcount".
void options_format_job_help(struct buf *buf, const char *program, const weft_job *job);

#endif
