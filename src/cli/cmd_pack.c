// weft pack SOURCE: an archive of an environment, for other machines, named by its hash.

#include "cli/cli.h"

#include <inttypes.h>

#include "base/args.h"
#include "base/json.h"
#include "base/text.h"
#include "base/vec.h"
#include "pack/pack.h"
#include "sys/process/signals.h"

enum {
    OPTION_OUTPUT = 1,
    OPTION_EXCLUDE,
    OPTION_ALL,
    OPTION_LEVEL,
    OPTION_JSON,
    OPTION_QUIET,
    OPTION_HELP,
    LEVEL_MAX = 19,
};

static const struct args_option options[] = {
    {OPTION_OUTPUT, 'o', "output", "PATH",
     "the archive, or a directory for it (default: NAME-HASH.tar.zst here)"},
    {OPTION_EXCLUDE, 0, "exclude", "PATTERN",
     "leave out names that match, or with a / in it paths; may be repeated"},
    {OPTION_ALL, 0, "all", NULL, "leave nothing out by default (caches, version control)"},
    {OPTION_LEVEL, 0, "level", "N", "of zstd, 1 to 19 (default 3): higher is smaller and slower"},
    {OPTION_JSON, 0, "json", NULL, "the result as a JSON object"},
    {OPTION_QUIET, 'q', "quiet", NULL, "only the result and errors"},
    {OPTION_HELP, 'h', "help", NULL, "this help"},
    {0},
};

void help_format_pack(struct buf *buf)
{
    buf_append_text(
        buf,
        "Makes an archive of an environment, for programs on other machines.\n"
        "\n"
        "  weft pack venv                       a virtual environment, with its Python\n"
        "  weft pack tools/ -o tools.tar.zst    any directory\n"
        "  weft pack --exclude '*.csv' project  without some of its files\n"
        "  weft pack app.pex                    a pex, or a tar archive (.tar, .tar.gz, ...)\n"
        "  weft unpack venv-*.tar.zst           once on a host: prints where it is\n"
        "\n"
        "Usage: weft pack [options] VENV|DIR|PEX|TAR\n"
        "Prints the hash and the path of the archive, as sha256sum does. The same content has the\n"
        "same hash: owners and times are left out. By default, so are __pycache__, .git, .hg,\n"
        ".svn, .tox, .nox, .mypy_cache, .pytest_cache, .ruff_cache and .ipynb_checkpoints.\n"
        "A venv runs where no Python is installed: its interpreter travels, and so do editable\n"
        "packages. Links that lead out are replaced by the files to which they lead.\n"
        "\n");
    args_format_help(buf, options, NULL);
}

static bool is_cancelled(void)
{
    return signals_noted() != 0;
}

struct given {
    struct pack_options pack;
    VEC(const char *) excludes;
    bool has_json, is_quiet, has_help;
};

static weft_err read_level(const char *text, int *level)
{
    uint64_t value;
    if (!text_read_count(text, LEVEL_MAX, &value))
        return err_set(WEFT_INVALID_ARGUMENT, "--level %s: a number from 1 to %d is needed", text,
                       LEVEL_MAX);
    *level = (int)value;
    return WEFT_OK;
}

static weft_err use_option(struct given *given, const struct args_item *item)
{
    switch (item->option->id) {
    case OPTION_OUTPUT:
        given->pack.output = item->text;
        return WEFT_OK;
    case OPTION_EXCLUDE:
        return VEC_PUSH(&given->excludes, item->text) ? WEFT_OK : err_no_memory("for --exclude");
    case OPTION_ALL:
        given->pack.keeps_all = true;
        return WEFT_OK;
    case OPTION_LEVEL:
        return read_level(item->text, &given->pack.level);
    case OPTION_JSON:
        given->has_json = true;
        return WEFT_OK;
    case OPTION_QUIET:
        given->is_quiet = true;
        return WEFT_OK;
    default:
        given->has_help = true;
        return WEFT_OK;
    }
}

static weft_err read_words(char *const *words, size_t count, struct given *given)
{
    struct args_reader reader;
    struct args_item item;
    weft_err code = WEFT_OK;
    args_start(&reader, words, count, options);
    while (code == WEFT_OK && !given->has_help) {
        code = args_next(&reader, &item);
        if (code != WEFT_OK || item.kind == ARGS_END)
            break;
        if (item.kind == ARGS_OPTION)
            code = use_option(given, &item);
        else if (given->pack.source)
            code = err_set(WEFT_INVALID_ARGUMENT,
                           "weft pack takes one thing at a time: %s, or %s\n  try: put both into a "
                           "directory",
                           given->pack.source, item.text);
        else
            given->pack.source = item.text;
    }
    if (code == WEFT_OK && !given->has_help && !given->pack.source)
        code = err_set(WEFT_INVALID_ARGUMENT,
                       "pack what?\n  try: weft pack DIRECTORY, or a venv, a pex or a tar archive");
    if (code == WEFT_OK && !VEC_PUSH(&given->excludes, NULL))
        code = err_no_memory("for --exclude");
    given->pack.excludes = given->excludes.items;
    return code;
}

static void format_json(const struct packed *packed, struct buf *text)
{
    json_open(text, NULL, '{');
    json_append_text(text, "hash", packed->hash);
    json_append_text(text, "path", packed->path);
    json_append_text(text, "kind", label_kind_name(packed->label.kind));
    json_append_text(text, "name", packed->label.name);
    json_append_text(text, "python", packed->label.python[0] ? packed->label.python : NULL);
    json_append_uint(text, "entries", packed->label.entries);
    json_append_uint(text, "bytes", packed->label.bytes);
    json_append_uint(text, "archive_bytes", packed->size);
    json_append_uint(text, "left_out", packed->left_out);
    json_close(text, '}');
    buf_append_text(text, "\n");
}

static void report(const struct given *given, const struct packed *packed)
{
    struct buf line = {0};
    for (size_t i = 0; i < packed->note_count; i++)
        cli_warn(packed->notes[i], given->has_json);
    if (given->is_quiet || given->has_json)
        return;
    buf_format(&line, "%s %s: ", label_kind_name(packed->label.kind), packed->label.name);
    text_append_count(&line, packed->label.entries);
    buf_append_text(&line, packed->label.entries == 1 ? " entry, " : " entries, ");
    text_append_bytes(&line, packed->label.bytes);
    buf_append_text(&line, ", packed to ");
    text_append_bytes(&line, packed->size);
    if (packed->left_out > 0) {
        buf_append_text(&line, "; ");
        text_append_count(&line, packed->left_out);
        buf_append_text(&line, " names left out");
    }
    cli_warn(buf_text(&line), false);
    buf_fini(&line);
}

int cmd_pack(char *const *words, size_t count)
{
    struct given given = {.pack.is_cancelled = is_cancelled};
    struct packed packed = {0};
    struct buf text = {0};
    weft_err code = read_words(words, count, &given);
    if (code == WEFT_OK && given.has_help) {
        VEC_FINI(&given.excludes);
        return cmd_help((char *const[]){"pack"}, 1);
    }
    signals_note();
    if (code == WEFT_OK)
        code = pack_make(&given.pack, &packed);
    VEC_FINI(&given.excludes);
    if (signals_noted()) {
        packed_fini(&packed);
        return signal_exit_code(signals_noted());
    }
    if (code != WEFT_OK)
        return cli_fail(code, given.has_json);
    report(&given, &packed);
    if (given.has_json)
        format_json(&packed, &text);
    else
        buf_format(&text, "%s  %s\n", packed.hash, packed.path);
    packed_fini(&packed);
    return cli_print(&text);
}
