// Where a program listens, and how others find it.

#include "transport/entrance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "sys/file/file.h"
#include "sys/file/place.h"

static weft_err find_token(struct entrance *entrance, const struct entrance_options *options)
{
    const char *file = options->token_file;
    const char *variable = getenv("WEFT_TOKEN"), *named = getenv("WEFT_TOKEN_FILE");
    if (file || (variable && *variable) || (named && *named) ||
        net_address_is_loopback(&entrance->address))
        return secret_load(file, &entrance->token);
    if (options->earlier_token)
        entrance->token = *options->earlier_token;
    else
        secret_make(&entrance->token);
    entrance->has_made_token = true;
    return WEFT_OK;
}

static weft_err listen_somewhere(struct entrance *entrance, uint16_t earlier_port)
{
    struct net_address earlier = entrance->address;
    earlier.port = earlier_port;
    if (entrance->address.port == 0 && earlier_port &&
        net_listen(&earlier, &entrance->listener) == WEFT_OK)
        return WEFT_OK;
    net_listener_close(&entrance->listener);
    entrance->listener = (struct net_listener){0};
    err_clear();
    return net_listen(&entrance->address, &entrance->listener);
}

weft_err entrance_open(struct entrance *entrance, const struct entrance_options *options)
{
    *entrance = (struct entrance){0};
    weft_err code = err_wrap(
        net_read_address(options->listen, options->default_port, &entrance->address), "--listen");
    if (code == WEFT_OK)
        code = find_token(entrance, options);
    if (code == WEFT_OK)
        code = listen_somewhere(entrance, options->earlier_port);
    if (code == WEFT_OK)
        entrance->address.port = entrance->listener.port;
    return code;
}

void entrance_name(const struct entrance *entrance, char text[NET_ADDRESS_TEXT_BYTES])
{
    struct net_address address = entrance->address;
    const bool is_all =
        !address.host[0] || strcmp(address.host, "0.0.0.0") == 0 || strcmp(address.host, "::") == 0;
    if (is_all && gethostname(address.host, sizeof address.host - 1) != 0)
        snprintf(address.host, sizeof address.host, "HOST");
    net_write_address(&address, text);
}

// ---- The file that names it ------------------------------------------------------------------------

static void remove_quietly(const char *path)
{
    struct err_kept kept;
    err_keep(&kept);
    if (file_remove(path))
        err_clear();
    err_put_back(&kept);  // the sentence that counts is the first
}

// A port or HOST:PORT and the end of the line. An empty file, as mktemp makes it, is a place for one.
static bool is_file_text(const char *text, size_t size)
{
    size_t digits = 0;
    if (size == 0)
        return true;
    while (digits + 1 < size && text[size - 2 - digits] >= '0' && text[size - 2 - digits] <= '9')
        digits++;
    const bool is_alone = digits + 1 == size || text[size - 2 - digits] == ':';
    return digits > 0 && is_alone && memchr(text, '\n', size) == text + size - 1;
}

// The file will be replaced, and removed at the end: notes of the user or /dev/null must not be.
static weft_err check_file(const char *path)
{
    enum place_kind kind;
    char text[NET_ADDRESS_TEXT_BYTES + 1];
    size_t size = 0;
    int fd = -1;
    weft_err code = place_look(path, &kind);
    if (code || kind == PLACE_FREE)
        return code;
    if (kind != PLACE_FILE)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "%s is a %s, and the file is to be replaced\n  try: another name", path,
                       kind == PLACE_DIRECTORY ? "directory" : "device or a pipe");
    code = file_open(path, &fd);
    if (!code)
        code = file_read_at(fd, path, text, sizeof text, 0, &size);
    file_close(fd);
    if (code == WEFT_NOT_FOUND) {  // a link that leads nowhere, or it has just gone
        err_clear();
        return WEFT_OK;
    }
    if (!code && !is_file_text(text, size))
        code = err_set(WEFT_ALREADY_EXISTS,
                       "%s exists already and is not a port file\n  try: another name", path);
    return code;
}

weft_err entrance_clear_file(const char *path)
{
    const weft_err code = check_file(path);
    if (!code && file_is_left(path))
        remove_quietly(path);
    return err_wrap(code, "--port-file");
}

weft_err entrance_write_file(struct entrance *entrance, const char *path, bool has_address)
{
    struct buf unfinished = {0};
    int fd = -1;
    if (has_address)
        entrance_name(entrance, entrance->file_text);
    else
        snprintf(entrance->file_text, sizeof entrance->file_text, "%u", entrance->listener.port);
    strcat(entrance->file_text, "\n");
    buf_format(&unfinished, "%s.unfinished", path);
    weft_err code = file_create(buf_text(&unfinished), &fd);
    if (code == WEFT_OK) {
        (void)file_hold(fd);  // without locks every file there counts as left over
        code =
            file_write(fd, buf_text(&unfinished), entrance->file_text, strlen(entrance->file_text));
    }
    if (code == WEFT_OK)
        code = file_rename(buf_text(&unfinished), path);
    if (code == WEFT_OK) {
        entrance->file = path;
        entrance->file_fd = fd;
    } else {
        remove_quietly(buf_text(&unfinished));
        file_close(fd);
    }
    buf_fini(&unfinished);
    return err_wrap(code, "--port-file");
}

// Another program may have written its own since, and is found by it.
static bool is_file_ours(const struct entrance *entrance)
{
    char found[sizeof entrance->file_text];
    const size_t size = strlen(entrance->file_text);
    size_t got = 0;
    int fd = -1;
    weft_err code = file_open(entrance->file, &fd);
    if (code == WEFT_OK)
        code = file_read_at(fd, entrance->file, found, sizeof found, 0, &got);
    file_close(fd);
    if (code != WEFT_OK)
        err_clear();
    return code == WEFT_OK && got == size && memcmp(found, entrance->file_text, size) == 0;
}

void entrance_close(struct entrance *entrance)
{
    struct err_kept kept;
    err_keep(&kept);
    if (entrance->file && is_file_ours(entrance))
        remove_quietly(entrance->file);
    if (entrance->file)
        file_close(entrance->file_fd);
    err_put_back(&kept);
    entrance->file = NULL;
    net_listener_close(&entrance->listener);
    secret_clear(&entrance->token);
}
