// What an agent keeps in the directory of its run: files that members need, and the token. And the environment of members:
// only the variables of the host that they shall have.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launch/far/host_agent_state.h"
#include "sys/file/file.h"
#include "sys/file/place.h"
#include "sys/machine/machine.h"
#include "sys/process/command.h"

// ---- Environment -----------------------------------------------------------------------------------------

static bool is_kept(const char *variable, const Weft__AgentHello *hello)
{
    const size_t size = strcspn(variable, "=");
    if (strncmp(variable, "WEFT_PROGRAM=", size + 1) == 0 ||
        strncmp(variable, "WEFT_LAUNCHER=", size + 1) == 0)
        return true;
    for (size_t i = 0; i < hello->n_keep; i++) {
        const char *name = hello->keep[i];
        const size_t length = strlen(name);
        const bool is_prefix = length > 0 && name[length - 1] == '*';
        if (is_prefix ? size >= length - 1 && strncmp(variable, name, length - 1) == 0
                      : size == length && memcmp(variable, name, size) == 0)
            return true;
    }
    return false;
}

weft_err host_agent_keep_environment(const Weft__AgentHello *hello)
{
    for (size_t i = 0; environ[i];) {
        char *name =
            is_kept(environ[i], hello) ? NULL : strndup(environ[i], strcspn(environ[i], "="));
        const bool is_gone = name && *name && unsetenv(name) == 0;
        if (!is_gone)
            i++;
        free(name);
    }
    return WEFT_OK;
}

weft_err host_agent_write_token(struct host_agent *agent, const char *token)
{
    struct buf path = {0}, text = {0};
    int fd = -1;
    buf_format(&path, "%s/.weft-token", agent->directory.path);
    buf_format(&text, "%s\n", token);
    weft_err err = path.has_failed || text.has_failed ? err_no_memory("for the token")
                                                      : file_create_private(buf_text(&path), &fd);
    if (!err)
        err = file_write(fd, buf_text(&path), text.data, text.size);
    if (fd >= 0 && !err)
        err = file_close_checked(fd, buf_text(&path));
    else if (fd >= 0)
        file_close(fd);
    if (!err && setenv("WEFT_TOKEN_FILE", buf_text(&path), 1) != 0)
        err = err_no_memory("for the environment");
    buf_fini(&path);
    buf_fini(&text);
    return err;
}

// ---- Address ---------------------------------------------------------------------------------------------

// The launcher's machine as this host sees it: a connection says it; sshd says it in SSH_CONNECTION ("address port address port": the client's, then ours), srun
// where it was run. False: neither does.
static bool find_launcher(const struct host_agent *agent, char address[64])
{
    char own[INTERFACE_ADDRESS_BYTES];
    if (host_agent_find_ends(agent, own, address))
        return true;
    const char *connection = getenv("SSH_CONNECTION"), *srun = getenv("SLURM_LAUNCH_NODE_IPADDR");
    if (connection && sscanf(connection, "%63s", address) == 1 && strpbrk(address, ".:"))
        return true;
    return srun && sscanf(srun, "%63s", address) == 1 && strpbrk(address, ".:");
}

// sshd says at which address it was reached. Elsewhere the name of the host has to do.
weft_err host_agent_find_address(const struct host_agent *agent, struct buf *address,
                                 char interface[INTERFACE_NAME_BYTES])
{
    const char *connection = getenv("SSH_CONNECTION");
    char host[MACHINE_NAME_BYTES_MAX], own[64] = "", other[64] = "";
    if (host_agent_find_ends(agent, own, other)) {
        interface_find(own, interface);
        buf_append_text(address, own);
    } else if (connection && sscanf(connection, "%*s %*s %63s", own) == 1 && strpbrk(own, ".:")) {
        char *zone = strchr(own, '%');
        if (zone)
            *zone = 0;  // "fe80::1%eth0" means something on this host only
        interface_find(own, interface);
        buf_append_text(address, own);
    } else {
        machine_host_name(host);
        if (find_launcher(agent, other))
            interface_find_towards(other, interface);
        buf_append_text(address, host);
    }
    return address->has_failed ? err_no_memory("for an address") : WEFT_OK;
}

weft_err host_agent_name_launcher(const struct host_agent *agent)
{
    char other[64] = "", text[80] = "";
    char *own = NULL;
    const weft_err err = command_own_path(&own);
    if (err)
        return err;
    if (find_launcher(agent, other))
        snprintf(text, sizeof text, strchr(other, ':') ? "[%s]" : "%s", other);
    const bool is_set =
        setenv("WEFT_PROGRAM", own, 1) == 0 && (!*text || setenv("WEFT_LAUNCHER", text, 1) == 0);
    free(own);
    return is_set ? WEFT_OK : err_no_memory("for the environment");
}

// ---- Files -----------------------------------------------------------------------------------------------

void host_agent_drop_intake(struct host_agent *agent)
{
    struct host_agent_intake *intake = &agent->intake;
    if (intake->fd >= 0)
        file_close(intake->fd);
    free(intake->path);
    *intake = (struct host_agent_intake){.fd = -1};
}

void host_agent_say_file(struct host_agent *agent, uint32_t number, bool is_there, weft_err err)
{
    Weft__AgentFileState state = WEFT__AGENT_FILE_STATE__INIT;
    state.number = number;
    state.is_there = is_there && !err;
    state.code = err ? message_code(err) : 0;
    state.text = err ? (char *)err_text() : (char *)"";
    host_agent_say(agent, WEFT__FRAME_TYPE__FRAME_AGENT_FILE_STATE, &state.base);
    err_clear();
}

static weft_err finish_intake(struct host_agent_intake *intake)
{
    uint8_t digest[FAR_HASH_BYTES];
    sha256_end(&intake->sha, digest);
    if (memcmp(digest, intake->hash, sizeof digest) != 0)
        return err_set(WEFT_DATA_LOSS, "%s has changed while it was sent", intake->path);
    weft_err err = file_set_mode(intake->fd, intake->path, intake->is_executable ? 0700 : 0600);
    const weft_err closed = file_close_checked(intake->fd, intake->path);
    intake->fd = -1;
    return err ? err : closed;
}

// Says how it went, once all bytes are there.
static void finish_when_whole(struct host_agent *agent)
{
    struct host_agent_intake *intake = &agent->intake;
    if (intake->left > 0)
        return;
    const weft_err err = finish_intake(intake);
    host_agent_say_file(agent, intake->number, true, err);
    host_agent_drop_intake(agent);
}

static weft_err open_target(struct host_agent_intake *intake)
{
    char *parent = NULL;
    weft_err err = place_parent(intake->path, &parent);
    if (!err)
        err = file_make_directory(parent);
    if (!err)
        err = file_create_new(intake->path, &intake->fd);
    free(parent);
    return err;
}

void host_agent_take_file(struct host_agent *agent, const Weft__AgentFile *message)
{
    struct host_agent_intake *intake = &agent->intake;
    struct buf path = {0};
    if (intake->path || host_agent_takes_archive(agent)) {
        host_agent_fail(agent, err_set(WEFT_DATA_LOSS, "a file begins inside of another one"));
        return;
    }
    if (message->is_archive) {
        host_agent_take_archive(agent, message);
        return;
    }
    buf_format(&path, "%s/%s", agent->directory.path, message->target);
    *intake = (struct host_agent_intake){
        .number = message->number,
        .fd = -1,
        .path = path.has_failed ? NULL : strdup(buf_text(&path)),
        .left = message->size,
        .is_executable = message->is_executable,
    };
    memcpy(intake->hash, message->hash.data, sizeof intake->hash);
    sha256_init(&intake->sha);
    const weft_err err = intake->path ? open_target(intake) : err_no_memory("for a file");
    buf_fini(&path);
    if (err) {
        host_agent_say_file(agent, message->number, false, err);
        host_agent_drop_intake(agent);
        return;
    }
    if (intake->left > 0)
        host_agent_say_file(agent, message->number, false, WEFT_OK);
    finish_when_whole(agent);
}

// Pieces of a file that has failed are on their way still: they are dropped.
void host_agent_take_piece(struct host_agent *agent, const Weft__AgentPiece *message)
{
    struct host_agent_intake *intake = &agent->intake;
    if (host_agent_takes_archive(agent)) {
        host_agent_take_archive_piece(agent, message);
        return;
    }
    if (!intake->path || intake->number != message->number)
        return;
    weft_err err = WEFT_OK;
    if (message->data.len > intake->left)
        err = err_set(WEFT_DATA_LOSS, "%s has changed while it was sent", intake->path);
    if (!err)
        err = file_write(intake->fd, intake->path, message->data.data, message->data.len);
    if (err) {
        host_agent_say_file(agent, message->number, false, err);
        if (file_remove(intake->path))
            err_clear();
        host_agent_drop_intake(agent);
        return;
    }
    sha256_add(&intake->sha, message->data.data, message->data.len);
    intake->left -= message->data.len;
    finish_when_whole(agent);
}
