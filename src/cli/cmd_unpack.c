// weft unpack ARCHIVE: an archive of weft pack becomes a directory: one that all runs on this host share, or one that the user names.

#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/args.h"
#include "pack/environments.h"
#include "pack/unpack.h"
#include "store/cache/digest.h"
#include "sys/file/file.h"
#include "sys/file/place.h"
#include "sys/process/signals.h"

enum { OPTION_INTO = 1, OPTION_HASH, OPTION_HAVE, OPTION_HELP, STEP_BYTES = 1 << 20 };

static const struct args_option options[] = {
    {OPTION_INTO, 'C', "into", "DIR", "a new directory (default: the cache of this user)"},
    {OPTION_HASH, 0, "hash", "HASH", "refuse an archive with another one"},
    {OPTION_HAVE, 0, "have", "HASH", "only print where it is, if it was unpacked before"},
    {OPTION_HELP, 'h', "help", NULL, "this help"},
    {0},
};

void help_format_unpack(struct buf *buf)
{
    buf_append_text(
        buf,
        "Unpacks an archive of weft pack and prints the directory.\n"
        "\n"
        "  weft unpack venv-*.tar.zst             once on this host; after that it is there at once\n"
        "  weft unpack -C here venv-*.tar.zst     into a new directory\n"
        "  ssh host weft unpack --hash HASH - < venv.tar.zst    on another host\n"
        "  weft unpack --have HASH                where it is; exit code 4 if it is not\n"
        "\n"
        "Usage: weft unpack [options] ARCHIVE\n"
        "ARCHIVE - is standard input. Without -C the directory is in the cache (~/.cache/weft/environments),\n"
        "for all programs of this user, which should not change it; those used last stay: 20 GiB, 30 days.\n"
        "Nothing is written outside, whatever the archive has in it.\n"
        "\n");
    args_format_help(buf, options, NULL);
}

struct given {
    const char *archive, *into, *hash, *have;
    bool has_help;
};

static weft_err check_signal(void)
{
    return signals_noted() ? err_set(WEFT_CANCELLED, "interrupted") : WEFT_OK;
}

static weft_err print_directory(const char *path)
{
    struct buf text = {0};
    buf_format(&text, "%s\n", path);
    if (cli_print(&text) != 0)
        return err_set(WEFT_UNAVAILABLE, "cannot write to standard output");
    return WEFT_OK;
}

// ---- Into the cache --------------------------------------------------------------------------------------------------

static weft_err take_stream(struct environments *all, const char *hash, struct environment *env)
{
    struct environment_intake *intake = NULL;
    char *room = malloc(STEP_BYTES);
    size_t got = 1;
    weft_err code = room ? environment_intake_new(all, hash, &intake) : err_no_memory("to unpack");
    while (code == WEFT_OK && got > 0) {
        code = check_signal();
        if (code == WEFT_OK)
            code = file_read_some(STDIN_FILENO, "standard input", room, STEP_BYTES, &got);
        if (code == WEFT_OK && got > 0)
            code = environment_intake_put(intake, room, got);
    }
    if (code == WEFT_OK)
        code = environment_intake_end(intake, env);
    environment_intake_free(intake);
    free(room);
    return code;
}

static weft_err check_hash(const struct given *given, const char *path)
{
    struct digest digest;
    char text[DIGEST_TEXT_BYTES];
    int fd;
    if (!given->hash)
        return WEFT_OK;
    weft_err code = file_open(path, &fd);
    if (code != WEFT_OK)
        return code;
    code = digest_read(fd, path, &digest);
    file_close(fd);
    if (code != WEFT_OK)
        return code;
    digest_write(digest.sha256, text);
    if (strcmp(text, given->hash) == 0)
        return WEFT_OK;
    return err_set(WEFT_DATA_LOSS, "%s has the hash %s, not %s", path, text, given->hash);
}

static weft_err use_cache(const struct given *given)
{
    struct environments *all;
    struct environment env = {.lock = -1};
    weft_err code = environments_open(NULL, &all);
    if (code != WEFT_OK)
        return code;
    if (given->have) {
        code = environments_find(all, given->have, &env);
        if (code == WEFT_NOT_FOUND)
            code = err_set(code, "this host does not have %s", given->have);
    } else if (strcmp(given->archive, "-") == 0) {
        code = take_stream(all, given->hash, &env);
    } else {
        code = check_hash(given, given->archive);
        if (code == WEFT_OK)
            code = environments_take_file(all, given->archive, &env);
    }
    if (code == WEFT_OK)
        code = print_directory(env.directory);
    environment_release(&env);
    environments_close(all);
    return code;
}

// ---- Into a directory ------------------------------------------------------------------------------------------------

static weft_err make_path(char **path, const char *folder, const char *name)
{
    if (asprintf(path, "%s/%s", folder, name) < 0)
        *path = NULL;
    return *path ? WEFT_OK : err_no_memory("for a path");
}

static weft_err find_real(const char *path, char **real)
{
    char *parent = NULL, *above = NULL;
    struct buf whole = {0};
    weft_err code = place_parent(path, &parent);
    *real = NULL;
    if (code == WEFT_OK)
        code = place_check_parent(parent);
    if (code == WEFT_OK && !(above = file_real_path(parent)))
        code = err_errno("cannot unpack into %s", path);
    if (code == WEFT_OK) {
        const char *slash = strrchr(path, '/');
        buf_format(&whole, "%s/%s", strcmp(above, "/") == 0 ? "" : above, slash ? slash + 1 : path);
        *real = whole.has_failed ? NULL : strdup(buf_text(&whole));
        code = *real ? WEFT_OK : err_no_memory("for a path");
    }
    buf_fini(&whole);
    free(parent);
    free(above);
    return code;
}

// A directory beside the new one, in which that is made: `lock` is held as long as we live.
struct workshop {
    char *path, *lock_path, *tree;
    int lock;
};

static weft_err remove_left(void *owner, const char *name)
{
    const char *into = owner;
    char *parent = NULL, *left = NULL, *lock = NULL;
    if (place_is_made_name(into, name) && place_parent(into, &parent) == WEFT_OK &&
        make_path(&left, parent, name) == WEFT_OK && make_path(&lock, left, "lock") == WEFT_OK &&
        file_is_left(lock))
        (void)!file_remove_tree(left);
    err_clear();
    free(parent);
    free(left);
    free(lock);
    return WEFT_OK;
}

// Removes those of processes that were killed.
static void tidy(const char *into)
{
    char *parent = NULL;
    if (place_parent(into, &parent) == WEFT_OK)
        (void)!file_list(parent, remove_left, (void *)into);
    err_clear();
    free(parent);
}

static weft_err open_workshop(struct workshop *shop, const char *into)
{
    *shop = (struct workshop){.lock = -1};
    tidy(into);
    weft_err code = place_make_name(into, &shop->path);
    if (code == WEFT_OK)
        code = place_make_directory(shop->path);
    if (code == WEFT_OK)
        code = make_path(&shop->lock_path, shop->path, "lock");
    if (code == WEFT_OK)
        code = make_path(&shop->tree, shop->path, "tree");
    return code == WEFT_OK ? file_create_held(shop->lock_path, &shop->lock) : code;
}

static void close_workshop(struct workshop *shop)
{
    struct err_kept kept;
    err_keep(&kept);
    if (shop->path)
        (void)!file_remove_tree(shop->path);
    if (shop->lock >= 0)
        file_close(shop->lock);
    free(shop->path);
    free(shop->lock_path);
    free(shop->tree);
    err_put_back(&kept);
}

static weft_err unpack_into(const struct given *given, const char *into)
{
    struct label label;
    struct workshop shop = {.lock = -1};
    char *real = NULL;
    int fd = -1;
    weft_err code = find_real(into, &real);
    if (code == WEFT_OK)
        code = check_hash(given, given->archive);
    if (code == WEFT_OK)
        code = file_open(given->archive, &fd);
    if (code == WEFT_OK)
        code = open_workshop(&shop, into);
    if (code == WEFT_OK)
        code = unpack_file(fd, given->archive, shop.tree, real, &label);
    if (code == WEFT_OK)
        code = place_move_new(shop.tree, into);
    close_workshop(&shop);
    if (fd >= 0)
        file_close(fd);
    if (code == WEFT_OK)
        code = print_directory(into);
    free(real);
    return code;
}

static weft_err use_directory(const struct given *given)
{
    enum place_kind kind;
    char *into = strdup(given->into);
    weft_err code = into ? place_look(into, &kind) : err_no_memory("for a path");
    for (size_t size = into ? strlen(into) : 0; size > 1 && into[size - 1] == '/';)
        into[--size] = 0;
    if (code == WEFT_OK && kind != PLACE_FREE)
        code =
            err_set(WEFT_ALREADY_EXISTS,
                    "%s is there already, and an archive becomes a new directory\n  try: another "
                    "name, or remove it",
                    into);
    if (code == WEFT_OK && strcmp(given->archive, "-") == 0)
        code =
            err_set(WEFT_INVALID_ARGUMENT,
                    "-C needs the archive as a file, not standard input\n  try: weft unpack --hash "
                    "HASH - without -C");
    if (code == WEFT_OK)
        code = unpack_into(given, into);
    free(into);
    return code;
}

// ---- Words -----------------------------------------------------------------------------------------------------------

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
        if (item.kind == ARGS_OPTION && item.option->id == OPTION_HELP)
            given->has_help = true;
        else if (item.kind == ARGS_OPTION)
            *(item.option->id == OPTION_INTO   ? &given->into
              : item.option->id == OPTION_HASH ? &given->hash
                                               : &given->have) = item.text;
        else if (given->archive)
            code = err_set(WEFT_INVALID_ARGUMENT, "weft unpack takes one archive, not %s, too",
                           item.text);
        else
            given->archive = item.text;
    }
    if (code != WEFT_OK || given->has_help)
        return code;
    if (given->have && (given->archive || given->into || given->hash))
        return err_set(WEFT_INVALID_ARGUMENT,
                       "--have stands alone\n  try: weft unpack --have HASH");
    if (!given->have && !given->archive)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "unpack what?\n  try: weft unpack ARCHIVE, one that weft pack has made");
    if (given->archive && strcmp(given->archive, "-") == 0 && !given->hash)
        return err_set(
            WEFT_INVALID_ARGUMENT,
            "an archive on standard input needs its hash\n  try: --hash HASH, as weft pack "
            "has printed it");
    return WEFT_OK;
}

int cmd_unpack(char *const *words, size_t count)
{
    struct given given = {0};
    weft_err code = read_words(words, count, &given);
    if (code == WEFT_OK && given.has_help)
        return cmd_help((char *const[]){"unpack"}, 1);
    signals_note();
    if (code == WEFT_OK)
        code = given.into ? use_directory(&given) : use_cache(&given);
    if (signals_noted())
        return signal_exit_code(signals_noted());
    return code == WEFT_OK ? 0 : cli_fail(code, false);
}
