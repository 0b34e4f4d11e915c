// The mapper of a record in gdb. Files without a name are passed as descriptors, so that none is left however gdb
// ends, and `run` there can be typed again: each run opens the record anew.

#include "run/replay_debug.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/vec.h"
#include "code/command/command.h"
#include "code/command/config.h"
#include "sys/file/file.h"
#include "sys/process/command.h"
#include "sys/process/process.h"

enum { INTERPRETER_BYTES_MAX = 256 };  // of a #! line, as the kernel reads it

struct words {
    VEC(const char *) list;
    bool has_failed;
};

static weft_err no_memory(void)
{
    return err_no_memory("for a debugger");
}

static void add_word(struct words *words, const char *word)
{
    if (!VEC_PUSH(&words->list, word))
        words->has_failed = true;
}

// ---- Catching the input of a mapper -------------------------------------------------------------

// The options of the job with a mapper that keeps its input. The option --keep is left out: a mapper that is kept running
// would have to answer.
static weft_err replace_mapper(const struct weft_args *from, const char *line, struct weft_args *to)
{
    weft_err code = args_add_option(to, COMMAND_MAP, line);
    if (!code)
        code = args_add_option(to, COMMAND_SHELL, "");
    for (size_t i = 0; i < from->value_count && !code; i++) {
        const struct args_value *value = &from->values[i];
        const bool is_replaced = value->letter == COMMAND_MAP || value->letter == COMMAND_SHELL ||
                                 value->letter == COMMAND_KEEP;
        if (!is_replaced)
            code = args_add_option(to, value->letter, value->text);
    }
    return code;
}

weft_err replay_capture_init(struct replay_capture *capture, const struct run_options *options)
{
    *capture = (struct replay_capture){.options = *options, .record_fd = -1, .environment_fd = -1};
    capture->options.args = (struct weft_args){0};
    const char *mapper = weft_option(&options->args, COMMAND_MAP, 0);
    if (!mapper || !*mapper)
        return err_set(WEFT_FAILED_PRECONDITION, "the job has no map command to debug");
    weft_err code = file_create_nameless(options->tmp, &capture->record_fd);
    if (!code)
        code = file_create_nameless(options->tmp, &capture->environment_fd);
    char line[128];
    const int pid = (int)getpid();
    snprintf(line, sizeof line, "cat >/proc/%d/fd/%d && cat /proc/$$/environ >/proc/%d/fd/%d", pid,
             capture->record_fd, pid, capture->environment_fd);
    return code ? code : replace_mapper(&options->args, line, &capture->options.args);
}

void replay_capture_fini(struct replay_capture *capture)
{
    file_close(capture->record_fd);
    file_close(capture->environment_fd);
    args_fini(&capture->options.args);
}

static weft_err read_all(int fd, struct buf *to)
{
    struct file_stat status;
    size_t got = 0;
    weft_err code = file_stat_fd(fd, "the input of a mapper", &status);
    char *room = code ? NULL : buf_reserve(to, (size_t)status.size + 1);
    if (!code && !room)
        code = no_memory();
    if (!code)
        code = file_read_at(fd, "the input of a mapper", room, (size_t)status.size, 0, &got);
    to->size += got;
    return code;
}

// ---- Becoming gdb -------------------------------------------------------------------------------

weft_err replay_find_debugger(char **path)
{
    const weft_err code = command_find("gdb", path);
    return code == WEFT_NOT_FOUND
               ? err_set(code, "gdb is not installed\n  try: apt-get install gdb")
               : code;
}

static weft_err become_gdb(struct words *words)
{
    char *path = NULL;
    add_word(words, NULL);
    weft_err code = words->has_failed ? no_memory() : replay_find_debugger(&path);
    if (code == WEFT_OK)
        code = command_become(path, (char *const *)words->list.items);
    free(path);
    VEC_FINI(&words->list);
    return code;
}

weft_err replay_become_debugger(const char *const *rest)
{
    struct words words = {0};
    add_word(&words, "gdb");
    add_word(&words, "-q");
    add_word(&words, "--args");
    for (; *rest; rest++)
        add_word(&words, *rest);
    return become_gdb(&words);
}

// For gdb the program of a script is its interpreter. *line is cut into its words.
static void add_interpreter(struct words *words, const char *program, char line[static 1])
{
    int fd = -1;
    size_t got = 0;
    if (file_open(program, &fd) == WEFT_OK &&
        file_read_at(fd, program, line, INTERPRETER_BYTES_MAX - 1, 0, &got) != WEFT_OK)
        got = 0;
    err_clear();
    file_close(fd);
    line[got] = 0;
    if (strncmp(line, "#!", 2) != 0)
        return;
    line[strcspn(line, "\n")] = 0;
    char *name = line + 2 + strspn(line + 2, " \t");
    char *argument = name + strcspn(name, " \t");
    if (*argument)
        *argument++ = 0;
    argument += strspn(argument, " \t");
    add_word(words, name);
    if (*argument)
        add_word(words, argument);
}

static weft_err debug_program(const struct replay_capture *capture, const char *const *arguments)
{
    char wrapper[96], interpreter[INTERPRETER_BYTES_MAX];
    char *program = NULL;
    struct words words = {0};
    const weft_err code = command_find(arguments[0], &program);
    if (code)
        return code;
    snprintf(wrapper, sizeof wrapper, "set exec-wrapper sh -c 'exec \"$@\" </dev/fd/%d' sh",
             capture->record_fd);
    const char *const own[] = {"gdb", "-q", "-ex", wrapper, "--args"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        add_word(&words, own[i]);
    add_interpreter(&words, program, interpreter);
    add_word(&words, program);
    for (arguments++; *arguments; arguments++)
        add_word(&words, *arguments);
    process_keep_on_exec(capture->record_fd);
    fprintf(stderr, "weft: the record is on its standard input; type run\n");
    const weft_err become = become_gdb(&words);
    free(program);
    return become;
}

// ---- Lines for a shell --------------------------------------------------------------------------

static weft_err refuse_shell(const struct replay_capture *capture, const char *record_path)
{
    struct buf record = {0};
    int fd = -1;
    weft_err code = read_all(capture->record_fd, &record);
    if (!code)
        code = file_create_private(record_path, &fd);
    if (!code)
        code = file_write(fd, record_path, record.data, record.size);
    file_close(fd);
    buf_fini(&record);
    return code ? code
                : err_set(
                      WEFT_FAILED_PRECONDITION,
                      "the mapper is a line for a shell, and gdb takes one program\n  the record "
                      "is in %s\n  try: gdb PROGRAM, and there: run ARGUMENTS <%s",
                      record_path, record_path);
}

// What a shell would take as it is can be started without one.
static weft_err debug_line(const struct replay_capture *capture, const char *line,
                           const char *record_path)
{
    struct command_words words;
    char expansion[8];
    const weft_err code = command_words_init(&words, line);
    command_words_find_expansion(line, expansion, sizeof expansion);
    const weft_err became = !code && !expansion[0] ? debug_program(capture, words.words)
                                                   : refuse_shell(capture, record_path);
    command_words_fini(&words);
    return became;
}

// ---- The command --------------------------------------------------------------------------------

// All of it, and never freed: these strings are the environment from now on.
static weft_err read_environment(int fd)
{
    struct buf text = {0};
    weft_err code = read_all(fd, &text);
    for (size_t at = 0; !code && at < text.size; at += strlen(text.data + at) + 1)
        if (putenv(text.data + at) != 0)
            code = no_memory();
    return code;
}

weft_err replay_debug_command(const struct replay_capture *capture,
                              const struct run_options *options, const char *record_path)
{
    static const char end_of_task[] = "\x1e\n";
    struct command_config config;
    weft_err code = command_config_init(&config, &options->args);
    const struct command_step *mapper = &config.steps[COMMAND_ROLE_MAP];
    if (!code && config.is_kept) {
        struct file_stat status;
        code = file_stat_fd(capture->record_fd, "the record", &status);
        if (!code)
            code = file_write_at(capture->record_fd, "the record", end_of_task,
                                 sizeof end_of_task - 1, status.size);
    }
    if (!code)
        code = read_environment(capture->environment_fd);
    if (!code && config.directory && chdir(config.directory) != 0)
        code = err_errno("%s", config.directory);
    if (!code)
        code = config.is_shell ? debug_line(capture, mapper->line, record_path)
                               : debug_program(capture, mapper->arguments);
    command_config_fini(&config);
    return code;
}
