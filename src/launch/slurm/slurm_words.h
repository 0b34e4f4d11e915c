// slurm_words: the options of Slurm's commands, and the meaning of their output. Pure. Thread: any.
//
// A job is a script that waits in the queue and holds its node, and a step that srun starts in it: the far side of a launcher.
// An allocation of srun or salloc stays in the queue for good when its command is killed by SIGKILL (measured with Slurm 22.05).
// The script ends when its step ends, or when no step comes and nothing reminds it for a while; and removes the files of both.
#ifndef LAUNCH_SLURM_SLURM_WORDS_H
#define LAUNCH_SLURM_SLURM_WORDS_H

#include "launch/far/far.h"

enum {
    SLURM_PATIENCE_S = 60,  // a job that has no step and gets no reminder for that long ends
    SLURM_REMINDER_S = 15,
    SLURM_ARRAY_MAX = 1000,  // jobs of one array: what a controller allows by default
    SLURM_NAME_BYTES_MAX = 256,
};

// What one place needs: all members that are beside each other.
struct slurm_need {
    uint64_t memory_bytes;
    uint32_t cpus, gpus;     // 0: as the partition gives
    const char *constraint;  // NULL: none
    const char *role;        // for the name of the job; not a part of the need
};

// Whether one array of jobs serves both.
bool slurm_is_same_need(const struct slurm_need *a, const struct slurm_need *b);

struct slurm_request {
    const char *partition;  // "": the default one
    const char *run;        // the name of the run; NULL: none
    const char *mark;       // of this run: the comment of its jobs
    const char *more;       // options of the user, separated by spaces; NULL: none
    const char *exclude;    // nodes, separated by commas; NULL or "": none
    struct slurm_need need;
    uint32_t count;  // of jobs
};

// The words of sbatch for an array of jobs.
MUST_CHECK weft_err slurm_make_submit(const struct slurm_request *request,
                                      struct far_command *words);

// The words of srun: `script` in sh on the node of a job, with arguments.
MUST_CHECK weft_err slurm_make_step(uint32_t job, const struct slurm_need *need, const char *script,
                                    const char *const *arguments, struct far_command *words);

// The words of squeue whose answer slurm_read_job understands, for arrays of jobs "12,14".
MUST_CHECK weft_err slurm_make_watch(const char *arrays, struct far_command *words);

// One line of its answer. Texts point into the line, which is cut into pieces.
struct slurm_report {
    uint32_t array, index, job;
    const char *state, *node, *reason;
};
MUST_CHECK bool slurm_read_report(char *line, struct slurm_report *report);

// The words of squeue that lists all jobs of the user, and the name of a job in a line of it that has the mark, "12_3";
// NULL: it has another mark.
MUST_CHECK weft_err slurm_make_list(struct far_command *words);
const char *slurm_read_marked(char *line, const char *mark);

// What sbatch --parsable prints: "12" or "12;cluster".
MUST_CHECK bool slurm_read_array(const char *text, uint32_t *array);

// Why sbatch refused, from its errors: sets the error. `partitions` are those of sinfo, one in a line; NULL: not asked.
weft_err slurm_explain_refusal(const char *partition, const char *errors, const char *partitions);

// Why the step of a job ended, from the errors of srun: sets the error, a sentence without advice. `job`: "job 12_3 on n1".
weft_err slurm_explain_end(const char *job, const char *errors);

// Why a job waits, in words: "Resources" alone says little. Reasons that are not known stay as they are.
const char *slurm_describe_reason(const char *reason);

// Whether a job with that reason waits forever.
bool slurm_is_hopeless(const char *reason);

// The error of such a job: what to ask for instead.
weft_err slurm_explain_hopeless(const char *reason);

// INVALID_ARGUMENT: not slurm:PARTITION, or slurm: alone. `partition` NULL: only checked.
MUST_CHECK weft_err slurm_read_url(const char *url, char partition[SLURM_NAME_BYTES_MAX]);

#endif
