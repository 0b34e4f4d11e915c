// The command lines of tools.

#include "cli/tool_words.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/text.h"

static weft_err read_option(struct tool_words *words, int id, const char *text)
{
    switch (id) {
    case TOOL_OPTION_AT:
        words->tool.at = text;
        return WEFT_OK;
    case TOOL_OPTION_TOKEN:
        words->tool.token_file = text;
        return WEFT_OK;
    case TOOL_OPTION_WAIT:
        return tool_read_time("--wait", text, &words->tool.patience_ms);
    case TOOL_OPTION_HELP:
        words->wants_help = true;
        return WEFT_OK;
    default:
        return words->read_option(words->owner, id, text);
    }
}

weft_err tool_words_read(struct tool_words *words, char *const *argv, size_t count, size_t fewest,
                         size_t most, const char *usage)
{
    struct args_reader reader;
    struct args_item item;
    weft_err err;
    args_start(&reader, argv, count, words->options);
    reader.takes_negatives = words->takes_negatives;
    while (!(err = args_next(&reader, &item)) && item.kind != ARGS_END) {
        if (item.kind == ARGS_OPTION)
            err = read_option(words, item.option->id, item.text);
        else if (!VEC_PUSH(&words->words, item.text))
            err = err_no_memory("for the arguments");
        if (err || words->wants_help)
            return err;
    }
    if (!err && (words->words.count < fewest || words->words.count > most))
        err = err_set(WEFT_INVALID_ARGUMENT, "too %s words\n  try: %s",
                      words->words.count < fewest ? "few" : "many", usage);
    return err;
}

const char *tool_words_at(const struct tool_words *words, size_t index)
{
    return index < words->words.count ? words->words.items[index] : NULL;
}

weft_err tool_words_open(struct tool_words *words, enum call_kind kind, weft_bytes attributes,
                         bool is_there, struct remote *remote)
{
    weft_err err = tool_open(&words->tool, &words->cluster);
    if (!err)
        err = remote_open(words->cluster, words->words.items[0], kind, attributes, remote);
    if (!err && is_there)
        err = tool_check(remote);
    return err;
}

int tool_words_end(struct tool_words *words, struct remote *remote, weft_err err)
{
    int exit_code = 0;
    if (err == WEFT_OUT_OF_RANGE)
        exit_code = err_exit_code(err);
    else if (err == WEFT_CANCELLED)  // another client has closed it: we were not interrupted
        exit_code = cli_fail(WEFT_FAILED_PRECONDITION, false);
    else if (err)
        exit_code = cli_fail(tool_explain(words->cluster, err), false);
    if (remote)
        remote_fini(remote);
    tool_close(words->cluster);
    VEC_FINI(&words->words);
    return exit_code;
}

int tool_words_print(struct tool_words *words, struct remote *remote, weft_err err, struct buf *out)
{
    const int exit_code = tool_words_end(words, remote, err);
    if (exit_code == 0)
        return cli_print(out);
    buf_fini(out);
    return exit_code;
}

weft_err tool_words_list(struct tool_words *words, uint8_t kind, tool_line_fn *append,
                         struct buf *out)
{
    struct tool_list list = {0};
    weft_err err = tool_open(&words->tool, &words->cluster);
    if (!err)
        err = tool_list(words->cluster, tool_words_at(words, 0), &list);
    for (size_t i = 0; i < list.items.count && !err; i++)
        if (kind == 0 || list.items.items[i].kind == kind)
            err = append(words->owner, &list.items.items[i], out);
    tool_list_fini(&list);
    return err;
}

weft_err tool_read_count(const char *option, const char *text, uint64_t max, uint64_t *value)
{
    if (text_read_count(text, max, value))
        return WEFT_OK;
    if (text[0] && text[strspn(text, "0123456789")] == 0 && text[strspn(text, "0")])
        return err_set(WEFT_INVALID_ARGUMENT, "%s: '%s' is too large: at most %" PRIu64, option,
                       text, max);
    return err_set(WEFT_INVALID_ARGUMENT, "%s is '%s', not a number of 1 or more", option, text);
}

weft_err tool_check_key(const char *key)
{
    const size_t size = strlen(key);
    if (size == 0)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "the key is empty\n  try: --key with a text that names this change");
    if (size > CALL_NAME_BYTES_MAX)
        return err_set(WEFT_INVALID_ARGUMENT, "a key of %zu bytes is too long: at most %u", size,
                       CALL_NAME_BYTES_MAX);
    return WEFT_OK;
}

weft_err tool_read_time(const char *option, const char *text, uint32_t *ms)
{
    if (text_read_duration(text, ms))
        return WEFT_OK;
    return err_set(WEFT_INVALID_ARGUMENT, "%s is '%s', not a time such as 500ms, 30s or 10m",
                   option, text);
}
