// replay: notes are small JSON files, named by a hash of their content. Words and names are bytes, and JSON has
// characters: each byte stands as the character of that number.

#include "run/replay.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/buf.h"
#include "base/json.h"
#include "code/codes.h"
#include "mapreduce/work/slot.h"
#include "run/chain.h"
#include "run/replay_debug.h"
#include "run/replay_prune.h"
#include "run/talk/progress.h"
#include "sys/file/file.h"
#include "sys/file/own.h"
#include "sys/process/command.h"

enum {
    NOTE_VERSION = 1,
    NOTE_BYTES_MAX = 4 << 20,
    REPLAY_MEMORY_BYTES = 1 << 30,
};

// ---- Notes --------------------------------------------------------------------------------------

static weft_err no_memory(void)
{
    return err_no_memory("for a replay");
}

static weft_err name_note(struct buf *path, const char *id)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (cache && cache[0] == '/')
        buf_format(path, "%s/weft/replay", cache);
    else if (home && home[0])
        buf_format(path, "%s/.cache/weft/replay", home);
    else
        return err_set(WEFT_FAILED_PRECONDITION, "there is no home directory for replays");
    weft_err code = own_make_directory(buf_text(path));
    buf_format(path, "/%s" REPLAY_NOTE_SUFFIX, id);
    return path->has_failed ? no_memory() : code;
}

static void append_bytes(struct buf *note, weft_bytes bytes)
{
    struct buf wide = {0};
    for (size_t i = 0; i < bytes.size; i++) {
        const unsigned char byte = (unsigned char)bytes.data[i];
        const char two[2] = {(char)(0xc0 | byte >> 6), (char)(0x80 | (byte & 0x3f))};
        buf_append(&wide, byte < 0x80 ? &bytes.data[i] : two, byte < 0x80 ? 1 : 2);
    }
    json_append_string(note, buf_bytes(&wide));
    note->has_failed = note->has_failed || wide.has_failed;
    buf_fini(&wide);
}

static void append_text(struct buf *note, const char *name, const char *text)
{
    buf_format(note, ",\"%s\":", name);
    append_bytes(note, weft_text(text ? text : ""));
}

// The way back, in place.
static void take_bytes(json_t *value)
{
    char *to = (char *)json_string_value(value);
    for (const char *from = to; to && (*to = *from); to++) {
        const bool is_two = (*from & 0xfc) == 0xc0;
        if (is_two)
            *to = (char)((from[0] & 3) << 6 | (from[1] & 0x3f));
        from += is_two ? 2 : 1;
    }
}

// How this process was started.
static weft_err append_arguments(struct buf *note)
{
    char *words = malloc(NOTE_BYTES_MAX);
    int fd = -1;
    size_t got = 0;
    weft_err code = words ? file_open("/proc/self/cmdline", &fd) : no_memory();
    if (code == WEFT_OK)
        code = file_read_at(fd, "/proc/self/cmdline", words, NOTE_BYTES_MAX, 0, &got);
    file_close(fd);
    json_open(note, "arguments", '[');
    for (size_t at = 0; code == WEFT_OK && at < got;) {
        const size_t length = strnlen(words + at, got - at);
        if (at > 0)
            buf_append_text(note, ",");
        append_bytes(note, (weft_bytes){words + at, length});
        at += length + 1;
    }
    json_close(note, ']');
    free(words);
    return code;
}

// Everything that a replay needs.
static weft_err append_note(struct buf *note, const char *input_path, uint64_t offset)
{
    struct file_stat input = {0};
    char *program = NULL, *directory = getcwd(NULL, 0);
    weft_err code = directory ? command_own_path(&program) : no_memory();
    if (code == WEFT_OK)
        code = file_stat(input_path, &input);
    json_open(note, NULL, '{');
    json_append_uint(note, "version", NOTE_VERSION);
    json_append_uint(note, "offset", offset);
    json_append_uint(note, "input_bytes", input.size);
    json_append_int(note, "input_mtime_ns", input.mtime_ns);
    append_text(note, "program", program);
    append_text(note, "directory", directory);
    append_text(note, "input", input_path);
    if (code == WEFT_OK)
        code = append_arguments(note);
    json_close(note, '}');
    buf_append_text(note, "\n");
    free(program);
    free(directory);
    return code;
}

static void prune_beside(int fd, const char *path)
{
    struct file_stat status;
    struct buf directory = {0};
    buf_format(&directory, "%.*s", (int)(strrchr(path, '/') - path), path);
    if (file_stat_fd(fd, path, &status) != WEFT_OK)
        err_clear();
    else if (!directory.has_failed)
        replay_prune(buf_text(&directory), status.mtime_ns);
    buf_fini(&directory);
}

weft_err replay_save(const char *input_name, const char *input_path, uint64_t offset, char *id)
{
    struct buf note = {0}, path = {0};
    int fd = -1;
    if (strncmp(input_path, "/proc/", 6) == 0)
        return err_set(WEFT_UNIMPLEMENTED, "%s cannot be read again", input_name);
    weft_err code = append_note(&note, input_path, offset);
    if (code == WEFT_OK && note.has_failed)
        code = no_memory();
    if (code == WEFT_OK) {
        const uint32_t hash = (uint32_t)XXH3_64bits(note.data, note.size);
        snprintf(id, REPLAY_ID_BYTES, "%08" PRIx32, hash);
        code = name_note(&path, id);
    }
    if (code == WEFT_OK)
        code = file_create_private(buf_text(&path), &fd);
    if (code == WEFT_OK)
        code = file_write(fd, buf_text(&path), note.data, note.size);
    if (code == WEFT_OK)
        prune_beside(fd, buf_text(&path));
    file_close(fd);
    buf_fini(&note);
    buf_fini(&path);
    return code;
}

static void take_all_bytes(json_t *note)
{
    const char *name;
    json_t *value;
    size_t i;
    json_object_foreach(note, name, value) take_bytes(value);
    json_array_foreach(json_object_get(note, "arguments"), i, value) take_bytes(value);
}

static weft_err load_note(const char *path, json_t **note)
{
    json_error_t error;
    *note = json_load_file(path, 0, &error);
    if (*note && json_is_string(json_object_get(*note, "program")) &&
        json_is_string(json_object_get(*note, "directory")) &&
        json_is_string(json_object_get(*note, "input")) &&
        json_is_integer(json_object_get(*note, "offset")) &&
        json_array_size(json_object_get(*note, "arguments")) > 0) {
        take_all_bytes(*note);
        return WEFT_OK;
    }
    json_decref(*note);
    *note = NULL;
    return err_set(WEFT_NOT_FOUND,
                   "there is no such replay\n  a run that fails on a record prints the line to "
                   "type; %s does not exist",
                   path);
}

static const char *text_of(const json_t *note, const char *name)
{
    return json_string_value(json_object_get(note, name));
}

// What the program was started with; with a debugger it is named by its path.
static weft_err become(const json_t *note, bool has_debugger)
{
    const json_t *words = json_object_get(note, "arguments");
    const size_t count = json_array_size(words);
    const char *program = text_of(note, "program");
    const char **list = calloc(count + 1, sizeof *list);
    if (!list)
        return no_memory();
    for (size_t i = 0; i < count; i++)
        list[i] = json_string_value(json_array_get(words, i));
    weft_err code;
    if (has_debugger) {
        list[0] = program;
        code = replay_become_debugger(list);
    } else {
        code = command_become(program, (char *const *)list);
    }
    free(list);
    return code;
}

weft_err replay_become(const char *id, bool has_debugger)
{
    struct buf path = {0};
    json_t *note = NULL;
    weft_err code =
        replay_is_id(id, strlen(id))
            ? name_note(&path, id)
            : err_set(WEFT_INVALID_ARGUMENT,
                      "%s is not the ID of a replay\n  a run that fails on a record prints "
                      "the line to type",
                      id);
    if (code == WEFT_OK)
        code = load_note(buf_text(&path), &note);
    if (code == WEFT_OK && chdir(text_of(note, "directory")) != 0)
        code = err_errno("%s", text_of(note, "directory"));
    if (code == WEFT_OK && setenv(REPLAY_VARIABLE, buf_text(&path), 1) != 0)
        code = no_memory();
    // The program knows which process to debug, and the debugger.
    if (code == WEFT_OK && has_debugger && setenv(REPLAY_DEBUG_VARIABLE, "1", 1) != 0)
        code = no_memory();
    if (code == WEFT_OK)
        code = become(note, false);
    json_decref(note);
    buf_fini(&path);
    return code;
}

// ---- One slot in this process -------------------------------------------------------------------

struct stand {
    struct chain chain;
    struct mem_budget budget;
    struct mutex inputs_lock;
    struct slot_page page;
    struct input input;
    struct stage stage;
    struct slot slot;
    struct input_stretch piece;
    int fd;  // the file that it writes to
    bool has_slot;
};

static void ignore_written(void *owner, const struct sink_piece *piece)
{
    (void)owner, (void)piece;
}

static weft_err open_stage(struct stand *stand, const struct run_options *options)
{
    static const uint32_t part = 0;
    struct stage *stage = &stand->stage;
    *stage = (struct stage){
        .job = stand->chain.jobs.items[0],
        .code = code_of(options->job),
        .args = &options->args,
        .is_map_only = true,
        .part_count = 1,
        .range_count = 1,
        .map_count = 1,
        .inputs = &stand->input,
        .input_count = 1,
        .inputs_lock = &stand->inputs_lock,
        .budget = &stand->budget,
        .tmp = options->tmp,
        .slots = &stand->slot,
        .slot_count = 1,
    };
    weft_err code = options_choose_format(options, &stage->job, &stage->format);
    if (code == WEFT_OK && !memory_plan_make(&stage->memory, REPLAY_MEMORY_BYTES, 1, 1, 1))
        code = no_memory();
    if (code == WEFT_OK)
        code = file_create_nameless(options->tmp, &stand->fd);
    if (code != WEFT_OK)
        return code;
    stage->sink = sink_new(&(struct sink_options){.kind = SINK_FD,
                                                  .fd = stand->fd,
                                                  .piece_count = 1,
                                                  .part_count = 1,
                                                  .part_of_piece = &part,
                                                  .tmp = options->tmp,
                                                  .held_bytes_max = stage->memory.held_bytes,
                                                  .written = ignore_written});
    return stage->sink ? WEFT_OK : WEFT_RESOURCE_EXHAUSTED;
}

static weft_err map_record(struct stand *stand)
{
    struct slot *slot = &stand->slot;
    weft_err code = slot_init(slot, &stand->stage, 0, &stand->page);
    stand->has_slot = code == WEFT_OK;
    if (code != WEFT_OK)
        return code;
    slot_begin_attempt(slot, SLOT_OUTPUT, 0);
    slot->pieces = &stand->piece;
    slot->piece_count = 1;
    slot->is_watched = true;
    code = slot_call_open(slot);
    if (code == WEFT_OK)
        code = map_run(slot, &stand->piece, 1);
    if (code == WEFT_OK)
        code = text_submit(slot);
    slot_call_close(slot);
    return code;
}

static weft_err print_text(struct stand *stand)
{
    char room[1 << 16];
    size_t got = 0;
    weft_err code = WEFT_OK;
    for (uint64_t at = 0; code == WEFT_OK; at += got) {
        code = file_read_at(stand->fd, "the answer", room, sizeof room, at, &got);
        if (code != WEFT_OK || got == 0)
            break;
        code = file_write(STDOUT_FILENO, "standard output", room, got);
    }
    return code;
}

static weft_err replay(struct stand *stand, const struct run_options *options, const json_t *note)
{
    const char *path = text_of(note, "input");
    const uint64_t offset = (uint64_t)json_integer_value(json_object_get(note, "offset"));
    struct file_stat status;
    weft_err code = file_stat(path, &status);
    const json_int_t size = json_integer_value(json_object_get(note, "input_bytes"));
    const json_int_t mtime_ns = json_integer_value(json_object_get(note, "input_mtime_ns"));
    if (code == WEFT_OK && status.kind != FILE_REGULAR)
        code = err_set(WEFT_NOT_FOUND, "%s does not exist any more", path);
    else if (code == WEFT_OK && (status.size != (uint64_t)size || status.mtime_ns != mtime_ns))
        code = err_set(
            WEFT_FAILED_PRECONDITION,
            "%s has changed since: the record may be elsewhere now\n  try: run the job again, which shows where",
            path);
    if (code != WEFT_OK)
        return code;
    stand->input =
        (struct input){.name = path, .path = path, .size = status.size, .map.registered = -1};
    stand->piece = (struct input_stretch){0, offset, offset + 1};
    code = chain_init(&stand->chain, options->job, options->job_size, &options->args);
    if (code == WEFT_OK)
        code = open_stage(stand, options);
    if (code == WEFT_OK)
        code = map_record(stand);
    const weft_err printed = stand->stage.sink ? print_text(stand) : WEFT_OK;
    return code != WEFT_OK ? code : printed;
}

static weft_err run_stand(const struct run_options *options, const json_t *note)
{
    static struct stand stand;
    stand = (struct stand){.fd = -1};
    mutex_init(&stand.inputs_lock);
    unsetenv(REPLAY_VARIABLE);  // a command may well be another weft
    const struct code *user = code_of(options->job);
    weft_err code = user->start ? user->start() : WEFT_OK;
    if (code == WEFT_OK)
        code = replay(&stand, options, note);
    if (stand.has_slot)
        slot_fini(&stand.slot);
    if (stand.stage.sink)
        sink_free(stand.stage.sink);
    file_close(stand.fd);
    chain_fini(&stand.chain);
    if (user->stop)
        user->stop();
    return code;
}

// Beside its note, under the same name.
static weft_err debug_command(const struct run_options *options, const json_t *note,
                              const char *note_path)
{
    struct buf record_path = {0};
    struct replay_capture capture;
    buf_format(&record_path, "%.*s" REPLAY_RECORD_SUFFIX,
               (int)(strlen(note_path) - strlen(REPLAY_NOTE_SUFFIX)), note_path);
    weft_err code = replay_capture_init(&capture, options);
    if (code == WEFT_OK)
        code = run_stand(&capture.options, note);
    if (code == WEFT_OK)
        code = record_path.has_failed
                   ? no_memory()
                   : replay_debug_command(&capture, options, buf_text(&record_path));
    replay_capture_fini(&capture);
    buf_fini(&record_path);
    return code;
}

// A file without a name takes the record from one process to the next.
static weft_err debug_code(const struct run_options *options, const json_t *note)
{
    const struct code *user = code_of(options->job);
    struct run_options capturing = *options;
    char path[64];
    int fd = -1;
    capturing.args = (struct weft_args){0};
    weft_err code = file_create_nameless(options->tmp, &fd);
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), fd);
    if (code == WEFT_OK)
        code = user->capture(&options->args, path, &capturing.args);
    if (code == WEFT_OK)
        code = run_stand(&capturing, note);
    args_fini(&capturing.args);
    if (code == WEFT_OK)
        code = user->debug(&options->args, fd);
    file_close(fd);
    return code;
}

static weft_err debug(const struct run_options *options, const json_t *note, const char *note_path)
{
    const struct code *user = code_of(options->job);
    char *debugger = NULL;
    if (user->debug)
        return debug_code(options, note);
    const weft_err code = replay_find_debugger(&debugger);  // before the work
    free(debugger);
    return code               ? code
           : user->is_outside ? debug_command(options, note, note_path)
                              : become(note, true);
}

int replay_record(const struct run_options *options, const char *note_path, const char *program)
{
    json_t *note = NULL;
    const bool has_debugger = getenv(REPLAY_DEBUG_VARIABLE);
    weft_err code = load_note(note_path, &note);
    unsetenv(REPLAY_DEBUG_VARIABLE);
    if (code == WEFT_OK)
        code = has_debugger ? debug(options, note, note_path) : run_stand(options, note);
    json_decref(note);
    if (code != WEFT_OK)
        return progress_report_error(STDERR_FILENO, program, options->json, code);
    fprintf(stderr, "weft: the record did not fail this time\n");
    return 0;
}
