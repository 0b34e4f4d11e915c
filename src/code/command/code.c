// Commands as an implementation of the port to user code: the facts about them that a run needs.

#include "code/codes.h"
#include "code/command/command.h"
#include "code/command/files.h"
#include "code/command/runner.h"
#include "code/command/title.h"
#include "sys/process/nursery.h"

// ---- words

static const char *const claims[] = {"map", "reduce", NULL};

static char find_letter(const char *option)
{
    static const struct {
        const char *option;
        char letter;
    } letters[] = {
        {"map", COMMAND_MAP},
        {"combine", COMMAND_COMBINE},
        {"reduce", COMMAND_REDUCE},
        {"shell", COMMAND_SHELL},
        {"keep", COMMAND_KEEP},
        {"per-file", COMMAND_PER_FILE},
        {"file", COMMAND_FILE},
        {"key-fields", COMMAND_KEY_FIELDS},
        {"separator", COMMAND_SEPARATOR},
        {"partition-fields", COMMAND_PARTITION},
        {"sort-fields", COMMAND_COMPARE},
    };
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
        if (strcmp(letters[i].option, option) == 0)
            return letters[i].letter;
    return 0;
}

// Without a mapper records are what a reducer reduces. One that asks for the name of its file gets one file.
static weft_err complete(struct weft_args *args)
{
    const char *mapper = weft_option(args, COMMAND_MAP, 0), *file;
    const weft_err code = command_check_files(args);
    if (code)
        return code;
    if (!mapper)
        return args_add_option(args, COMMAND_MAP, "");
    bool asks = command_asks_for_file(mapper);
    for (int i = 0; !asks && (file = weft_option(args, COMMAND_FILE, i)); i++)
        asks = command_asks_for_file(file);
    return asks && !weft_option(args, COMMAND_PER_FILE, 0)
               ? args_add_option(args, COMMAND_PER_FILE, "")
               : WEFT_OK;
}

static enum code_word find_word(char letter)
{
    if (letter == COMMAND_DIRECTORY)
        return CODE_WORD_FOLDER;
    if (letter == COMMAND_FILE)
        return CODE_WORD_FILE;
    return letter == COMMAND_MAP || letter == COMMAND_COMBINE || letter == COMMAND_REDUCE
               ? CODE_WORD_PROGRAM
               : CODE_WORD_TEXT;
}

static bool starts_per_file(const weft_args *args)
{
    return weft_option(args, COMMAND_PER_FILE, 0);
}

// ---- processes

static weft_err start(void)
{
    struct nursery *nursery = nursery_new();
    if (!nursery)
        return WEFT_UNAVAILABLE;
    command_set_nursery(nursery);
    return WEFT_OK;
}

static void stop(void)
{
    nursery_free(command_nursery());
    command_set_nursery(NULL);
}

static weft_err open(weft_task *task)
{
    struct command_runner *runner;
    const weft_err code = command_runner_new(weft_task_args(task), &runner);
    if (!code)
        weft_task_set_state(task, runner);
    return code;
}

static weft_err begin(weft_task *task)
{
    command_runner_begin(weft_task_state(task), task);
    return WEFT_OK;
}

static void cancel(weft_task *task)
{
    command_runner_cancel(weft_task_state(task));
}

static void close(weft_task *task)
{
    command_runner_free(weft_task_state(task));
    weft_task_set_state(task, NULL);
}

const struct code code_command = {
    .name = "command",
    .number = 2,
    .is_outside = true,
    .is_dear = true,
    .lends_input = true,
    .frames_refusal = "commands read lines, and tfrecord has none\n  try: --format files, and a "
                      "command that takes the frames off",
    .job = &command_job,
    .claims = claims,
    .letter = find_letter,
    .complete = complete,
    .title = command_title,
    .word = find_word,
    .put_files = command_put_files,
    .directory_letter = COMMAND_DIRECTORY,
    .check_travel = command_check_travel,
    .starts_per_file = starts_per_file,
    .start = start,
    .stop = stop,
    .open = open,
    .begin = begin,
    .end = command_end,
    .cancel = cancel,
    .close = close,
};
