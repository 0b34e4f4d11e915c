// weft var VERB: variables from the command line.

#include <stdlib.h>
#include <unistd.h>

#include "base/number.h"
#include "cli/tool_group.h"
#include "client/remote/ops.h"
#include "sys/file/file.h"
#include "wire/tuple.h"

enum { OPTION_TYPE = 1, OPTION_ONCE, OPTION_KEY, OPTION_COUNT, OPTION_TIMEOUT };

struct request {
    struct tool_request all;  // first
    const char *type;         // NULL: the present type, int64 if it is new
    bool once;
    const char *key;  // the key of an addition; NULL: it counts each time
    uint64_t count;
    uint32_t timeout_ms;
};

static const struct {
    const char *name;
    uint8_t dtype;
} types[] = {{"int64", TUPLE_INT64},
             {"int32", TUPLE_INT32},
             {"double", TUPLE_DOUBLE},
             {"bool", TUPLE_BOOL},
             {"bytes", TUPLE_STRING}};

enum { TYPE_COUNT = sizeof types / sizeof *types };

static weft_err read_option(void *owner, int id, const char *text)
{
    struct request *request = owner;
    switch (id) {
    case OPTION_TYPE:
        request->type = text;
        return WEFT_OK;
    case OPTION_ONCE:
        request->once = true;
        return WEFT_OK;
    case OPTION_KEY:
        request->key = text;
        return tool_check_key(text);
    case OPTION_COUNT:
        return tool_read_count("-n", text, UINT64_MAX, &request->count);
    default:
        return tool_read_time("--timeout", text, &request->timeout_ms);
    }
}

// ---- Values ------------------------------------------------------------------------------------------------------

static weft_err write_attributes(struct tool_request *asked, struct buf *out)
{
    const struct request *request = (const struct request *)asked;
    asked->remote.is_bare = true;
    if (!request->type)
        return WEFT_OK;
    for (size_t i = 0; i < TYPE_COUNT; i++) {
        if (strcmp(types[i].name, request->type) != 0)
            continue;
        ops_var_attributes_encode(out, &(struct ops_var_attributes){.dtype = types[i].dtype});
        return WEFT_OK;
    }
    return err_set(WEFT_INVALID_ARGUMENT,
                   "there is no type %s\n  try: --type int64, int32, double, bool or bytes",
                   request->type);
}

// Creates the variable if needed, so that its type is known. An array cannot be written here.
static weft_err open_var(struct request *request, uint8_t *dtype)
{
    struct ops_var_attributes type;
    const weft_err err = remote_var_type(&request->all.remote, &type);
    if (err)
        return err;
    *dtype = type.dtype;
    for (size_t i = 0; i < TYPE_COUNT; i++)
        if (type.rank == 0 && types[i].dtype == type.dtype)
            return WEFT_OK;
    return err_set(WEFT_UNIMPLEMENTED, "%s holds an array, or a type that cannot be printed here",
                   request->all.remote.path);
}

static bool read_bool(const char *text, struct buf *out)
{
    const bool is_true = strcmp(text, "true") == 0 || strcmp(text, "1") == 0;
    buf_append(out, is_true ? "\1" : "", 1);
    return is_true || strcmp(text, "false") == 0 || strcmp(text, "0") == 0;
}

static bool read_number(uint8_t dtype, const char *text, struct buf *out)
{
    int64_t whole = 0;
    double real = 0;
    if (dtype == TUPLE_BOOL)
        return read_bool(text, out);
    if (dtype == TUPLE_DOUBLE) {
        const bool is_real = number_read_double(weft_text(text), &real);
        buf_append(out, &real, sizeof real);
        return is_real;
    }
    if (!number_read_int(weft_text(text), &whole))
        return false;
    buf_append(out, &whole, dtype == TUPLE_INT64 ? 8 : 4);
    return dtype == TUPLE_INT64 || (whole >= INT32_MIN && whole <= INT32_MAX);
}

static weft_err read_value(uint8_t dtype, const char *text, struct buf *out)
{
    if (dtype == TUPLE_STRING) {
        buf_append_text(out, text);
        return WEFT_OK;
    }
    if (read_number(dtype, text, out))
        return WEFT_OK;
    return err_set(WEFT_INVALID_ARGUMENT, "%s is not of type %s", text, tuple_dtype_name(dtype));
}

// Appends the value of an answer as a line.
static weft_err append_value(uint8_t dtype, weft_bytes value, struct buf *out)
{
    char text[NUMBER_TEXT_MAX];
    int64_t whole = 0;
    int32_t small = 0;
    double real = 0;
    if (dtype != TUPLE_STRING && value.size != tuple_dtype_size(dtype))
        return err_set(WEFT_DATA_LOSS, "the value of a variable is cut");
    switch (dtype) {
    case TUPLE_STRING:
        buf_append(out, value.data, value.size);
        break;
    case TUPLE_BOOL:
        buf_append_text(out, value.data[0] ? "true" : "false");
        break;
    case TUPLE_DOUBLE:
        memcpy(&real, value.data, sizeof real);
        buf_append(out, text, (size_t)(number_write_double(text, real) - text));
        break;
    case TUPLE_INT32:
        memcpy(&small, value.data, sizeof small);
        buf_append(out, text, (size_t)(number_write_int(text, small) - text));
        break;
    default:
        memcpy(&whole, value.data, sizeof whole);
        buf_append(out, text, (size_t)(number_write_int(text, whole) - text));
    }
    buf_append_text(out, "\n");
    return WEFT_OK;
}

// ---- The work of the verbs ----------------------------------------------------------------------

// Sends the value of a word, if there is one; prints the new value, if the answer has one.
static weft_err ask_with(struct request *request, uint8_t op, const char *key, const char *text,
                         bool shows, struct buf *out)
{
    uint8_t dtype = 0;
    struct buf value = {0};
    struct remote_value is = {0};
    weft_err err = open_var(request, &dtype);
    if (!err && text)
        err = read_value(dtype, text, &value);
    const struct ops_var_change change = {.op = op,
                                          .is_keyed = key != NULL,
                                          .key = key ? weft_text(key) : weft_none(),
                                          .value = buf_bytes(&value)};
    if (!err)
        err = text ? remote_var_change(&request->all.remote, &change, &is)
                   : remote_var_read(&request->all.remote, &is);
    if (!err && shows)
        err = append_value(dtype, is.value, out);
    remote_value_fini(&is);
    buf_fini(&value);
    return err;
}

static weft_err ask(struct request *request, uint8_t op, const char *text, bool shows,
                    struct buf *out)
{
    return ask_with(request, op, NULL, text, shows, out);
}

static weft_err get(struct tool_request *asked, struct buf *out)
{
    struct request *request = (struct request *)asked;
    return ask(request, CALL_VAR_READ, NULL, true, out);
}

static weft_err set(struct tool_request *asked, struct buf *out)
{
    struct request *request = (struct request *)asked;
    return ask(request, request->once ? CALL_VAR_CREATE : CALL_VAR_SET,
               request->all.words.words.items[1], request->once, out);
}

// The first caller begins at 0.
static weft_err change(struct request *request, uint8_t op, struct buf *out)
{
    uint8_t dtype = 0;
    weft_err err = open_var(request, &dtype);
    if (!err && op == CALL_VAR_ADD)
        err = ask(request, CALL_VAR_CREATE, "0", false, out);
    else if (!err)
        err = ask(request, CALL_VAR_CREATE, request->all.words.words.items[1], false, out);
    if (!err)
        err = ask_with(request, op, request->key, request->all.words.words.items[1], true, out);
    if (err == WEFT_OUT_OF_RANGE)  // here OUT_OF_RANGE is an overflow, not the end of a queue
        err = WEFT_FAILED_PRECONDITION;
    return err;
}

static weft_err add(struct tool_request *asked, struct buf *out)
{
    struct request *request = (struct request *)asked;
    return change(request, CALL_VAR_ADD, out);
}

static weft_err min(struct tool_request *asked, struct buf *out)
{
    struct request *request = (struct request *)asked;
    return change(request, CALL_VAR_MIN, out);
}

static weft_err max(struct tool_request *asked, struct buf *out)
{
    struct request *request = (struct request *)asked;
    return change(request, CALL_VAR_MAX, out);
}

static weft_err swap(struct tool_request *asked, struct buf *out)
{
    struct request *request = (struct request *)asked;
    uint8_t dtype = 0;
    struct buf expected = {0}, value = {0};
    struct remote_value is = {0};
    weft_err err = open_var(request, &dtype);
    if (!err)
        err = ask(request, CALL_VAR_CREATE, dtype == TUPLE_STRING ? "" : "0", false, out);
    if (!err)
        err = read_value(dtype, request->all.words.words.items[1], &expected);
    if (!err)
        err = read_value(dtype, request->all.words.words.items[2], &value);
    const struct ops_var_change change = {
        .op = CALL_VAR_SWAP, .expected = buf_bytes(&expected), .value = buf_bytes(&value)};
    if (!err)
        err = remote_var_change(&request->all.remote, &change, &is);
    if (!err)
        err = append_value(dtype, is.value, out);
    if (!err && is.has_missed)
        err = err_set(WEFT_FAILED_PRECONDITION, "%s is %.*s, not %s", request->all.remote.path,
                      (int)(out->size - 1), out->data, request->all.words.words.items[1]);
    remote_value_fini(&is);
    buf_fini(&expected);
    buf_fini(&value);
    return err;
}

static weft_err watch(struct tool_request *asked, struct buf *out)
{
    struct request *request = (struct request *)asked;
    uint8_t dtype = 0;
    uint64_t version = 0, left = request->count ? request->count : UINT64_MAX;
    weft_err err = open_var(request, &dtype);
    request->all.remote.timeout_ms = request->timeout_ms;
    while (!err && left-- > 0) {
        struct remote_value is = {0};
        err = remote_var_watch(&request->all.remote, version, &is);
        version = is.version;
        if (!err)
            err = append_value(dtype, is.value, out);
        if (!err)
            err = file_write(STDOUT_FILENO, "standard output", out->data, out->size);
        out->size = 0;
        remote_value_fini(&is);
    }
    if (err == WEFT_DEADLINE_EXCEEDED)
        err = err_set(err, "%s: no value came in time", request->all.remote.path);
    if (err == WEFT_OUT_OF_RANGE) {  // no member is left that could write
        err_clear();
        err = WEFT_OK;
    }
    return err;
}

static weft_err rm(struct tool_request *asked, struct buf *out)
{
    struct request *request = (struct request *)asked;
    (void)out;
    return remote_remove(&request->all.remote);
}

// A value that cannot be printed here, or is not set yet, is left out.
static weft_err append_variable(void *owner, const struct tool_resource *resource, struct buf *out)
{
    const struct request *all = owner;
    struct request one = {.all.remote.is_bare = true};
    struct buf value = {0};
    weft_err err = remote_open(all->all.words.cluster, resource->path, CALL_KIND_VAR, weft_none(),
                               &one.all.remote);
    if (!err)
        err = get(&one.all, &value);
    if (err == WEFT_UNIMPLEMENTED || err == WEFT_FAILED_PRECONDITION) {
        err_clear();
        err = WEFT_OK;
    }
    buf_format(out, "%s\t%s", resource->path, value.size ? buf_text(&value) : "\n");
    buf_fini(&value);
    remote_fini(&one.all.remote);
    return err;
}

static weft_err ls(struct tool_request *asked, struct buf *out)
{
    struct request *request = (struct request *)asked;
    return tool_words_list(&request->all.words, CALL_KIND_VAR, append_variable, out);
}

// ---- The verbs ---------------------------------------------------------------------------------------------------

#define TYPE_OPTION                                                                                \
    {                                                                                              \
        OPTION_TYPE, 0, "type", "TYPE",                                                            \
            "the type of a new variable: int64 (default), int32, double, bool, bytes"              \
    }

static const struct args_option plain_options[] = {TOOL_OPTIONS};
static const struct args_option change_options[] = {TYPE_OPTION, TOOL_OPTIONS};
static const struct args_option add_options[] = {
    {OPTION_KEY, 0, "key", "KEY", "an addition with the same key counts once"},
    TYPE_OPTION,
    TOOL_OPTIONS,
};
static const struct args_option set_options[] = {
    TYPE_OPTION,
    {OPTION_ONCE, 0, "once", NULL,
     "only if it has no value yet; prints the value that it has then"},
    TOOL_OPTIONS,
};
static const struct args_option watch_options[] = {
    TYPE_OPTION,
    {OPTION_COUNT, 'n', "count", "N", "end after N values"},
    {OPTION_TIMEOUT, 0, "timeout", "TIME", "how long to wait for the next value; exit 6"},
    TOOL_OPTIONS,
};

static const struct tool_verb verbs[] = {
    {"get", "print its value", .act = get, .arguments = "PATH", .fewest = 1, .most = 1,
     .must_exist = true, .options = plain_options, .what = "Prints the value.",
     .examples = "weft var get hits"},
    {"set", "set it", .act = set, .arguments = "PATH VALUE", .fewest = 2, .most = 2,
     .options = set_options, .what = "Sets the value.",
     .examples = "weft var set rate 0.1 --type double\n"
                 "  seed=$(weft var set --once seed $RANDOM)"},
    {"add", "add to it, and print the new value", .act = add, .arguments = "PATH NUMBER",
     .fewest = 2, .most = 2, .options = add_options,
     .what =
         "Adds to the value, which starts at 0, and prints the new value. Each call gets another\n"
         "one, unless its --key was used before: then nothing is added. A variable remembers its\n"
         "last 1,000,000 keys, or the last 64 MiB of them. In a command of weft queue take,\n"
         "WEFT_ITEM_KEY is the key of the item.",
     .examples =
         "n=$(weft var add hits 1)\n"
         "  weft queue take jobs -- sh -c 'weft var add --key $WEFT_ITEM_KEY bytes $(wc -c <{})'"},
    {"min", "lower it to a value", .act = min, .arguments = "PATH NUMBER", .fewest = 2, .most = 2,
     .options = change_options,
     .what = "Lowers the value to NUMBER if it is larger, and prints the result.",
     .examples = "weft var min fastest 12.7 --type double"},
    {"max", "raise it to a value", .act = max, .arguments = "PATH NUMBER", .fewest = 2, .most = 2,
     .options = change_options,
     .what = "Raises the value to NUMBER if it is smaller, and prints the result.",
     .examples = "weft var max largest 4711"},
    {"swap", "set it if it has the expected value", .act = swap, .arguments = "PATH EXPECTED VALUE",
     .fewest = 3, .most = 3, .options = change_options,
     .what = "Sets the value, which starts at 0, if it is EXPECTED, and prints it. Otherwise it "
             "stays:\nexit 1.",
     .examples = "weft var swap lock 0 $$"},
    {"watch", "print each value it takes", .act = watch, .arguments = "PATH", .fewest = 1,
     .most = 1, .options = watch_options,
     .what =
         "Prints the value, then each new one. In a cluster it ends when no other "
         "member can\nchange the value any more. At a host (weft host), where new clients may come, only -n\n"
         "or --timeout end it.",
     .examples = "weft var watch loss | ./plot"},
    {"rm", "remove it, for everyone", .act = rm, .arguments = "PATH", .fewest = 1, .most = 1,
     .must_exist = true, .options = plain_options, .what = "Removes the variable, for everyone.",
     .examples = "weft var rm hits"},
    {"ls", "all variables and their values", .act = ls, .arguments = "[MEMBER]", .most = 1,
     .is_list = true, .options = plain_options,
     .what = "Prints all variables and their values, with a tab between.",
     .examples = "weft var ls"},
    {0},
};

const struct tool_group var_group = {
    .name = "var",
    .introduction =
        "Variables that programs and scripts share, on a host (weft host) or a member of a cluster.\n"
        "\n"
        "  weft var add hits 1      count, from anywhere; prints the new value\n"
        "  weft var get hits\n"
        "  weft var watch hits      a line for each value\n",
    .end =
        "PATH is the variable's name on the host, or /ROLE/INDEX/NAME in the cluster of TF_CONFIG.\n"
        "The host is that of --at, else of WEFT_AT, else localhost:18125.\n",
    .verbs = verbs,
    .exits = "0 done, 1 it would overflow or is not as expected, 2 wrong usage or type, 3 the "
             "host\nis out of reach, 4 there is no such variable.",
    .kind = CALL_KIND_VAR,
    .takes_negatives = true,
    .request_bytes = sizeof(struct request),
    .read_option = read_option,
    .prepare = write_attributes,
};

int cmd_var(char *const *words, size_t count)
{
    return tool_group_run(&var_group, words, count);
}
