// Where a token lives.
//
// The user's token file appears whole or not at all: it is written under another name and gets its own
// by a move that never replaces, so of two processes that start together one makes it and both read it.

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "sys/file/file.h"
#include "sys/file/place.h"
#include "sys/secure/secret.h"

enum { TOKEN_FILE_BYTES_MAX = 1024 };

static weft_err check_mode(int fd, const char *path)
{
    struct stat stat;
    if (fstat(fd, &stat) != 0)
        return err_errno("cannot look at the token file %s", path);
    if (S_ISDIR(stat.st_mode))
        return err_set(WEFT_INVALID_ARGUMENT, "the token file %s is a directory", path);
    if (stat.st_uid != geteuid() && stat.st_uid != 0)
        return err_set(WEFT_PERMISSION_DENIED,
                       "the token file %s belongs to another user (number %u), who knows the token "
                       "and can change it\n  try: a file of your own",
                       path, (unsigned)stat.st_uid);
    if ((stat.st_mode & 077) == 0)
        return WEFT_OK;
    return err_set(WEFT_PERMISSION_DENIED,
                   "the token file %s has mode %04o, so that others can read or change it; a token "
                   "that others know lets them in\n  try: chmod 600 %s",
                   path, (unsigned)stat.st_mode & 07777, path);
}

// Up to the size of `text`, which ends without the white space of an editor.
static weft_err read_text(int fd, const char *path, char *text, size_t text_size)
{
    size_t size = 0;
    while (size < text_size - 1) {
        const ssize_t got = read(fd, text + size, text_size - 1 - size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_errno("cannot read the token file %s", path);
        if (got == 0)
            break;
        size += (size_t)got;
    }
    while (size > 0 && strchr(" \t\r\n", text[size - 1]))
        size--;
    text[size] = 0;
    return WEFT_OK;
}

static weft_err load_file(const char *path, struct secret *secret)
{
    char text[TOKEN_FILE_BYTES_MAX];
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_errno("cannot read the token file %s", path);
    weft_err code = check_mode(fd, path);
    if (code == WEFT_OK)
        code = read_text(fd, path, text, sizeof text);
    close(fd);
    if (code == WEFT_OK)
        code = err_wrap(secret_read(text, secret), "the token file %s", path);
    explicit_bzero(text, sizeof text);
    return code;
}

static weft_err write_new_file(const char *path)
{
    struct secret fresh;
    char text[SECRET_TEXT_BYTES + 1];
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return err_errno("cannot make a token file %s", path);
    secret_make(&fresh);
    secret_write(&fresh, text);
    strcat(text, "\n");
    weft_err code = file_write(fd, path, text, strlen(text));
    // A machine that fails in a moment must not leave an empty file with the right name.
    if (code == WEFT_OK)
        code = file_sync(fd, path);
    close(fd);
    secret_clear(&fresh);
    explicit_bzero(text, sizeof text);
    return code;
}

static weft_err make_file(const char *path)
{
    char *name = NULL;
    weft_err code = place_make_name(path, &name);
    if (code != WEFT_OK)
        return code;
    code = write_new_file(name);
    if (code == WEFT_OK)
        code = place_move_new(name, path);
    if (code != WEFT_OK)
        place_remove_file(name);
    // Another process was quicker: the token of this user is the one that it made.
    if (code == WEFT_ALREADY_EXISTS)
        code = WEFT_OK;
    free(name);
    return code;
}

// The directory of the user's token, made when it is missing.
static weft_err open_home(struct buf *path)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    if (config && config[0] == '/')  // others are to be ignored, says its specification
        buf_append_text(path, config);
    else if (home && home[0] == '/')
        buf_format(path, "%s/.config", home);
    else
        return err_set(WEFT_FAILED_PRECONDITION,
                       "there is no place for your token: HOME is not set\n  try: give one by "
                       "--token-file or WEFT_TOKEN (openssl rand -hex 16 makes one)");
    weft_err code = file_make_directory(buf_text(path));
    buf_append_text(path, "/weft");
    if (code == WEFT_OK && mkdir(buf_text(path), 0700) != 0 && errno != EEXIST)
        code = err_errno("cannot make %s", buf_text(path));
    if (code == WEFT_OK)
        return WEFT_OK;
    return err_set(code,
                   "there is no place for your token: %.400s\n  try: give one by --token-file "
                   "or WEFT_TOKEN (openssl rand -hex 16 makes one)",
                   err_text());
}

static weft_err load_of_user(struct secret *secret)
{
    struct buf path = {0};
    weft_err code = open_home(&path);
    buf_append_text(&path, "/token");
    const char *name = buf_text(&path);
    if (code == WEFT_OK && path.has_failed)
        code = err_no_memory("for the name of the token file");
    if (code == WEFT_OK && access(name, F_OK) != 0 && errno == ENOENT)
        code = make_file(name);
    if (code == WEFT_OK)
        code = load_file(name, secret);
    buf_fini(&path);
    return code;
}

weft_err secret_load(const char *token_file, struct secret *secret)
{
    if (token_file)
        return load_file(token_file, secret);
    const char *given = getenv("WEFT_TOKEN");
    if (given && given[0])
        return err_wrap(secret_read(given, secret), "WEFT_TOKEN");
    const char *file = getenv("WEFT_TOKEN_FILE");
    if (file && file[0])
        return err_wrap(load_file(file, secret), "WEFT_TOKEN_FILE");
    return load_of_user(secret);
}
