// weft kv VERB: maps of keys and values from the command line.

#include "cli/cmd_kv.h"

#include <inttypes.h>
#include <unistd.h>

#include "sys/file/file.h"

enum {
    OPTION_IF_VERSION = 1,
    OPTION_IF_ABSENT,
    OPTION_JSON,
    OPTION_COUNT,
    OPTION_TIMEOUT,
    OPTION_ALL
};

static weft_err read_option(void *owner, int id, const char *text)
{
    struct kv_request *request = owner;
    switch (id) {
    case OPTION_IF_VERSION:
        request->has_condition = true;
        return tool_read_count("--if-version", text, UINT64_MAX, &request->version);
    case OPTION_IF_ABSENT:
        request->has_condition = true;
        request->version = 0;
        return WEFT_OK;
    case OPTION_JSON:
        request->json = true;
        return WEFT_OK;
    case OPTION_ALL:
        request->is_all = true;
        return WEFT_OK;
    case OPTION_COUNT:
        return tool_read_count("-n", text, UINT64_MAX, &request->count);
    default:
        return tool_read_time("--timeout", text, &request->timeout_ms);
    }
}

void kv_append_entry(struct buf *out, weft_bytes key, uint64_t version, weft_bytes value)
{
    json_open(out, NULL, '{');
    buf_append_text(out, "\"key\":");
    json_append_string(out, key);
    json_append_uint(out, "version", version);
    buf_append_text(out, ",\"value\":");
    json_append_string(out, value);
    json_close(out, '}');
    buf_append_text(out, "\n");
}

// ---- get, put, rm ------------------------------------------------------------------------------------------------

static weft_err get(struct tool_request *asked, struct buf *out)
{
    struct kv_request *request = (struct kv_request *)asked;
    struct remote_value is = {0};
    const weft_bytes key = weft_text(request->all.words.words.items[1]);
    const weft_err err = remote_kv_get(&request->all.remote, key, &is);
    if (!err && request->json)
        kv_append_entry(out, key, is.version, is.value);
    if (!err && !request->json) {
        buf_append(out, is.value.data, is.value.size);
        buf_append_text(out, "\n");
    }
    remote_value_fini(&is);
    return err;
}

// The present state of the key, after a condition was not met.
static weft_err refuse(struct kv_request *request, uint64_t version)
{
    const char *key = request->all.words.words.items[1];
    if (version == 0)
        return err_set(WEFT_FAILED_PRECONDITION, "%s: there is no key '%s'",
                       request->all.remote.path, key);
    return err_set(WEFT_FAILED_PRECONDITION, "%s: the key '%s' exists, with version %" PRIu64,
                   request->all.remote.path, key, version);
}

static weft_err change(struct kv_request *request, uint8_t op, weft_bytes value, struct buf *out)
{
    const struct ops_kv_change wish = {
        .op = op,
        .has_expected = request->has_condition,
        .expected = request->version,
        .key = weft_text(request->all.words.words.items[1]),
        .value = value,
    };
    struct remote_value is = {0};
    weft_err err = remote_kv_change(&request->all.remote, &wish, &is);
    if (!err && is.has_missed)
        err = refuse(request, is.version);
    else if (!err && op == CALL_KV_PUT)
        buf_format(out, "%" PRIu64 "\n", is.version);
    else if (!err && is.was_seen)
        err = err_set(WEFT_NOT_FOUND, "%s: there is no key '%s'", request->all.remote.path,
                      request->all.words.words.items[1]);
    remote_value_fini(&is);
    return err;
}

static weft_err put(struct tool_request *asked, struct buf *out)
{
    struct kv_request *request = (struct kv_request *)asked;
    struct buf input = {0};
    const char *word = request->all.words.words.items[2];
    weft_err err = WEFT_OK;
    if (strcmp(word, "-") == 0)
        err = file_read_all(STDIN_FILENO, "standard input", CALL_BYTES_MAX, &input);
    if (!err)
        err = change(request, CALL_KV_PUT,
                     strcmp(word, "-") == 0 ? buf_bytes(&input) : weft_text(word), out);
    if (!request->json)
        out->size = 0;  // the version is printed only on request
    buf_fini(&input);
    return err;
}

static weft_err rm(struct tool_request *asked, struct buf *out)
{
    struct kv_request *request = (struct kv_request *)asked;
    const bool has_key = request->all.words.words.count > 1;
    if (request->is_all && !has_key && !request->has_condition)
        return remote_remove(&request->all.remote);
    if (request->is_all || !has_key)
        return err_set(WEFT_INVALID_ARGUMENT, "which key\n  try: weft kv rm PATH KEY, or weft kv "
                                              "rm --all PATH, which removes the whole map");
    return change(request, CALL_KV_REMOVE, weft_none(), out);
}

// ---- The verbs ---------------------------------------------------------------------------------------------------

static const struct args_option get_options[] = {
    {OPTION_JSON, 0, "json", NULL, "an object: key, version, value"},
    TOOL_OPTIONS,
};
static const struct args_option put_options[] = {
    {OPTION_IF_VERSION, 0, "if-version", "N", "only if its version is N; exit 1 if not"},
    {OPTION_IF_ABSENT, 0, "if-absent", NULL, "only if the key does not exist; exit 1 if it does"},
    {OPTION_JSON, 0, "json", NULL, "print the new version"},
    TOOL_OPTIONS,
};
static const struct args_option rm_options[] = {
    {OPTION_ALL, 0, "all", NULL, "the map itself with all its keys, for everyone"},
    {OPTION_IF_VERSION, 0, "if-version", "N", "only if its version is N; exit 1 if not"},
    TOOL_OPTIONS,
};
static const struct args_option ls_options[] = {
    {OPTION_JSON, 0, "json", NULL, "an object per line: key, version, value"},
    TOOL_OPTIONS,
};
static const struct args_option watch_options[] = {
    {OPTION_COUNT, 'n', "count", "N", "end after N changes"},
    {OPTION_TIMEOUT, 0, "timeout", "TIME", "how long to wait for the next change; exit 6"},
    {OPTION_JSON, 0, "json", NULL, "an object per line: event, key, version, value"},
    TOOL_OPTIONS,
};

static weft_err check_key(struct tool_request *asked, struct buf *attributes)
{
    (void)attributes;
    const char *key = tool_words_at(&asked->words, 1);
    if (!key || strlen(key) <= CALL_NAME_BYTES_MAX)
        return WEFT_OK;
    return err_set(WEFT_INVALID_ARGUMENT, "a key of %zu bytes is too long: at most %u", strlen(key),
                   CALL_NAME_BYTES_MAX);
}

static const struct tool_verb verbs[] = {
    {"get", "print the value of a key", .act = get, .arguments = "PATH KEY", .fewest = 2, .most = 2,
     .must_exist = true, .options = get_options, .what = "Prints the value of a key.",
     .examples = "weft kv get conf rate"},
    {"put", "put a value, perhaps only if the key is new", .act = put,
     .arguments = "PATH KEY VALUE", .fewest = 3, .most = 3, .options = put_options,
     .what = "Puts a value; - reads it from standard input.",
     .examples = "weft kv put conf rate 0.1\n"
                 "  weft kv put --if-absent conf leader \"$HOSTNAME\""},
    {"rm", "remove a key, or the map", .act = rm, .arguments = "PATH [KEY]", .fewest = 1, .most = 2,
     .must_exist = true, .options = rm_options, .what = "Removes a key, or the whole map.",
     .examples = "weft kv rm conf rate\n  weft kv rm --all conf"},
    {"ls", "keys and values, or all maps", .act = kv_list, .arguments = "[PATH [PREFIX]]",
     .most = 2, .must_exist = true, .options = ls_options,
     .what = "Prints keys and their values, with a tab between, in the order of the keys; without "
             "PATH\nall maps.",
     .examples = "weft kv ls\n  weft kv ls conf\n  weft kv ls conf db/"},
    {"watch", "print every change", .act = kv_watch_keys, .arguments = "PATH [PREFIX]", .fewest = 1,
     .most = 2, .options = watch_options,
     .what = "Prints all keys and every change: put KEY VALUE, or rm KEY.",
     .examples = "weft kv watch conf | while read -r what key value; do echo \"$key\"; done"},
    {0},
};

const struct tool_group kv_group = {
    .name = "kv",
    .introduction =
        "Maps of keys and values that programs and scripts share, on a host (weft host) or a member\n"
        "of a cluster.\n"
        "\n"
        "  weft kv put conf rate 0.1\n"
        "  weft kv get conf rate\n"
        "  weft kv put --if-absent conf leader $HOSTNAME    one of many wins\n"
        "  weft kv watch conf                               every change\n",
    .end =
        "PATH is the map's name on the host, or /ROLE/INDEX/NAME in the cluster of TF_CONFIG.\n"
        "The host is that of --at, else of WEFT_AT, else localhost:18125. Keys have up to 1,024\n"
        "bytes, values up to 1 MiB.\n",
    .verbs = verbs,
    .exits = "0 done, 1 the condition is not met, 2 wrong usage, 3 the host is out of reach,\n"
             "4 there is no such map or key, 6 timed out.",
    .kind = CALL_KIND_KV,
    .takes_negatives = true,
    .request_bytes = sizeof(struct kv_request),
    .read_option = read_option,
    .prepare = check_key,
};

int cmd_kv(char *const *words, size_t count)
{
    return tool_group_run(&kv_group, words, count);
}
