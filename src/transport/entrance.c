// Where a program listens, and how others find it.

#include "transport/entrance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "sys/file/file.h"

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

void entrance_clear_file(const char *path)
{
    if (file_is_left(path))
        remove_quietly(path);
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
