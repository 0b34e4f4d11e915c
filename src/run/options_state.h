// What options.c (words to options) and options_table.c (what their values may be) share.
#ifndef RUN_OPTIONS_STATE_H
#define RUN_OPTIONS_STATE_H

#include "run/options.h"

// The heading of the options that only commands have.
#define OPTIONS_OF_COMMANDS "Commands"

weft_err options_no_memory(void);

// Sets one option from its value ("" for a flag); wrong ones are INVALID_ARGUMENT.
MUST_CHECK weft_err options_set(struct run_options *options, const struct args_option *option,
                                const char *text);
// Fails: the job runs no commands, which the option of that name is for.
MUST_CHECK weft_err options_refuse_of_command(const char *name);
// Whether --shared fits the other options.
MUST_CHECK weft_err options_check_shared(const struct run_options *options);
// Whether -n and --workers do.
MUST_CHECK weft_err options_check_slots(const struct run_options *options);
MUST_CHECK weft_err options_set_text(char **to, const char *name, const char *text);

#endif
