// The options of a job of commands, read and checked once in the driver and once for every slot.
#ifndef CODE_COMMAND_CONFIG_H
#define CODE_COMMAND_CONFIG_H

#include "base/vec.h"
#include "code/command/keys.h"
#include "code/command/words.h"

enum command_role {
    COMMAND_ROLE_MAP,
    COMMAND_ROLE_COMBINE,
    COMMAND_ROLE_REDUCE,
    COMMAND_ROLE_COUNT
};

enum command_how {
    COMMAND_NONE,       // no such step
    COMMAND_IDENTITY,   // pairs are passed on
    COMMAND_AGGREGATE,  // done by us
    COMMAND_PROCESS,
};

struct command_step {
    enum command_how how;
    const char *line;              // as the user wrote it; borrowed
    struct command_words words;    // of a process, unless it is the shell's
    const char *by_shell[4];       // sh -c LINE
    const char *const *arguments;  // of a process
    char *local_program;           // ./NAME, where that is what the first word means
};

enum command_input { COMMAND_INPUT_PLAIN, COMMAND_INPUT_OFFSET, COMMAND_INPUT_PAIRS };

struct command_config {
    struct command_step steps[COMMAND_ROLE_COUNT];
    bool is_shell, is_kept, is_hadoop, allows_any_exit;
    bool is_per_file;  // a mapper has one input file
    enum command_input input;
    uint32_t key_fields, reduce_key_fields;
    struct command_separator separator, reduce_separator, field_separator, reduce_out_separator,
        output_separator;
    struct command_keys keys;
    const char *directory;        // NULL: where we are
    VEC(const char *) variables;  // NULL-terminated, the last given first
};

// INVALID_ARGUMENT: its message has the wrong option and the possible ones. command_config_fini in
// every case. The args must outlive it.
MUST_CHECK weft_err command_config_init(struct command_config *config, const weft_args *args);
void command_config_fini(struct command_config *config);

#endif
