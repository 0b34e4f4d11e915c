// The command that leads to a host, and the hosts of a URL.

#include "launch/ssh/ssh.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "launch/far/far.h"

enum {
    HOSTS_MAX = 1024,
    // sshd begins to refuse connections at random when more than ten are not authenticated yet.
    CONNECTING_MAX = 8,
};

struct ssh {
    struct ssh_hosts hosts;
    const char *command;
};

// ---- Hosts of a URL ----------------------------------------------------------------------------------------

void ssh_hosts_fini(struct ssh_hosts *hosts)
{
    for (size_t i = 0; i < hosts->list.count; i++) {
        free(hosts->list.items[i].name);
        free(hosts->list.items[i].label);
        free(hosts->list.items[i].port);
    }
    VEC_FINI(&hosts->list);
}

// A name that begins with a dash would be an option of ssh; blanks and the like are in no name.
static bool is_name(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (!isalnum((unsigned char)text[i]) && !strchr("._-@:%+", text[i]))
            return false;
    return size > 0 && text[0] != '-' && text[size - 1] != '@';
}

static bool is_port(const char *text, size_t size)
{
    char digits[8] = "";
    uint64_t port;
    if (size == 0 || size >= sizeof digits)
        return false;
    memcpy(digits, text, size);
    return text_read_count(digits, UINT16_MAX, &port);
}

static weft_err add_host(struct ssh_hosts *hosts, const char *name, size_t name_size,
                         const char *port, size_t port_size)
{
    struct ssh_host host = {.name = strndup(name, name_size)};
    struct buf label = {0};
    buf_format(&label, "%.*s", (int)name_size, name);
    if (port) {
        buf_format(&label, ":%.*s", (int)port_size, port);
        host.port = strndup(port, port_size);
    }
    host.label = label.has_failed ? NULL : strdup(buf_text(&label));
    buf_fini(&label);
    if (host.name && host.label && (host.port || !port) && VEC_PUSH(&hosts->list, host))
        return WEFT_OK;
    free(host.name);
    free(host.label);
    free(host.port);
    return err_no_memory("for the hosts");
}

// "host", "user@host:22", "[::1]:22", "user@[::1]"
static weft_err read_host(struct ssh_hosts *hosts, const char *url, const char *text, size_t size)
{
    const char *bracket = memchr(text, '[', size), *end = text + size;
    const char *close = bracket ? memchr(bracket, ']', (size_t)(end - bracket)) : NULL;
    const char *colon = close ? close + 1 : memchr(text, ':', size);
    char name[256];
    size_t name_size = 0;
    bool is_right = size < sizeof name && (bracket != NULL) == (close != NULL);
    if (is_right && close) {
        name_size = (size_t)(close - text) - 1;
        memcpy(name, text, (size_t)(bracket - text));
        memcpy(name + (bracket - text), bracket + 1, (size_t)(close - bracket) - 1);
        is_right = colon == end || *colon == ':';
    } else if (is_right) {
        name_size = colon ? (size_t)(colon - text) : size;
        memcpy(name, text, name_size);
    }
    const char *port = is_right && colon && colon < end ? colon + 1 : NULL;
    const size_t port_size = port ? (size_t)(end - port) : 0;
    if (!is_right || !is_name(name, name_size) || (port && !is_port(port, port_size)))
        return err_set(WEFT_INVALID_ARGUMENT,
                       "--on %s: '%.*s' is not a host: it is written HOST, USER@HOST or HOST:PORT\n"
                       "  try: --on ssh://a,b,c",
                       url, (int)size, text);
    for (size_t i = 0; i < hosts->list.count; i++) {
        const struct ssh_host *other = &hosts->list.items[i];
        const bool same_port =
            !other->port == !port && (!port || (strlen(other->port) == port_size &&
                                                memcmp(other->port, port, port_size) == 0));
        if (same_port && strlen(other->name) == name_size && !memcmp(other->name, name, name_size))
            return err_set(WEFT_INVALID_ARGUMENT, "--on %s: the host %.*s is there twice", url,
                           (int)size, text);
    }
    if (hosts->list.count >= HOSTS_MAX)
        return err_set(WEFT_INVALID_ARGUMENT, "--on: more than %d hosts", HOSTS_MAX);
    return add_host(hosts, name, name_size, port, port_size);
}

weft_err ssh_hosts_read(struct ssh_hosts *hosts, const char *url)
{
    static const char scheme[] = "ssh://";
    if (strncmp(url, scheme, strlen(scheme)) != 0 || !url[strlen(scheme)])
        return err_set(WEFT_INVALID_ARGUMENT, "--on %s: no host is named\n  try: --on ssh://a,b,c",
                       url);
    for (const char *at = url + strlen(scheme);;) {
        const size_t size = strcspn(at, ",");
        const weft_err err = read_host(hosts, url, at, size);
        if (err || !at[size])
            return err;
        at += size + 1;
    }
}

static weft_err check(const char *url)
{
    struct ssh_hosts hosts = {0};
    const weft_err err = ssh_hosts_read(&hosts, url);
    ssh_hosts_fini(&hosts);
    return err;
}

// ---- The way to a host -------------------------------------------------------------------------------------

// The name of a host, and its port, as options of ssh.
static void add_host_words(struct far_command *command, const struct ssh *ssh, const char *label)
{
    for (size_t i = 0; i < ssh->hosts.list.count; i++) {
        const struct ssh_host *host = &ssh->hosts.list.items[i];
        if (strcmp(host->label, label) != 0)
            continue;
        if (host->port) {
            far_command_add(command, "-p");
            far_command_add(command, host->port);
        }
        far_command_add(command, host->name);
        return;
    }
}

// The text for the shell of the host.
static void add_script(struct far_command *command, const char *script,
                       const char *const *arguments)
{
    struct buf text = {0};
    buf_append_text(&text, "exec sh -c ");
    text_append_shell_word(&text, script);
    buf_append_text(&text, " weft");
    for (size_t i = 0; arguments[i]; i++) {
        buf_append_text(&text, " ");
        text_append_shell_word(&text, arguments[i]);
    }
    command->has_failed |= text.has_failed;
    far_command_add(command, buf_text(&text));
    buf_fini(&text);
}

// The command of the user is text for a shell, as with GIT_SSH_COMMAND: 'ssh -F config -i "my key"'.
static weft_err make_command(void *owner, const char *host, const char *script,
                             const char *const *arguments, struct far_command *command)
{
    static const char *const words[] = {"ssh", "-T",
                                        "-o",  "BatchMode=yes",
                                        "-o",  "ConnectTimeout=5",
                                        "-o",  "ServerAliveInterval=5",
                                        "-o",  "ServerAliveCountMax=3"};
    const struct ssh *ssh = owner;
    struct buf shell = {0};
    buf_format(&shell, "exec %s \"$@\"", ssh->command);
    command->has_failed |= shell.has_failed;
    far_command_add(command, "sh");
    far_command_add(command, "-c");
    far_command_add(command, buf_text(&shell));
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        far_command_add(command, words[i]);
    add_host_words(command, ssh, host);
    add_script(command, script, arguments);
    buf_fini(&shell);
    return WEFT_OK;
}

static weft_err explain(void *owner, const char *host, const struct far_end *end, bool *is_passing)
{
    (void)owner;
    return ssh_explain(host, end->errors, end->exit, end->was_greeted, is_passing);
}

static const struct far_route route = {
    .make_command = make_command,
    .explain = explain,
    .connecting_max = CONNECTING_MAX,
};

// ---- The launcher ------------------------------------------------------------------------------------------

static void free_ssh(struct ssh *ssh)
{
    ssh_hosts_fini(&ssh->hosts);
    free(ssh);
}

// Silence would start members at places that the user did not want.
static weft_err check_wants(const struct launch_options *options)
{
    for (size_t i = 0; i < options->count; i++)
        if (options->wants[i].amount_count)
            return err_set(WEFT_INVALID_ARGUMENT,
                           "%s: hosts of ssh have no resource %s that could be asked for",
                           options->wants[i].name, options->wants[i].amounts[0].name);
        else if (options->wants[i].constraint)
            return err_set(WEFT_INVALID_ARGUMENT,
                           "%s: hosts of ssh have no labels to match the constraint %s\n"
                           "  try: only the hosts that fit, in --on ssh://HOST,HOST...",
                           options->wants[i].name, options->wants[i].constraint);
    return WEFT_OK;
}

static weft_err open_ssh(struct launch **launch, const struct launch_options *options)
{
    const char *variable = getenv("WEFT_SSH");
    struct ssh *ssh = calloc(1, sizeof *ssh);
    if (!ssh)
        return err_no_memory("for the hosts");
    ssh->command = options->ssh ? options->ssh : variable && *variable ? variable : "ssh";
    weft_err err = check_wants(options);
    if (!err)
        err = ssh_hosts_read(&ssh->hosts, options->url);
    const char **names = err ? NULL : calloc(ssh->hosts.list.count, sizeof *names);
    if (!err && !names)
        err = err_no_memory("for the hosts");
    for (size_t i = 0; !err && i < ssh->hosts.list.count; i++)
        names[i] = ssh->hosts.list.items[i].label;
    if (!err)
        err = far_open(launch, &launch_ssh, options, &route, ssh, names, ssh->hosts.list.count);
    free(names);
    if (err)
        free_ssh(ssh);
    return err;
}

static void close_ssh(struct launch *launch)
{
    struct ssh *ssh = far_owner(launch);
    far_close(launch);
    free_ssh(ssh);
}

const struct launcher launch_ssh = {
    .scheme = "ssh",
    .form = "ssh://HOST,HOST...",
    .is_far = true,
    .lost_rest_ms = FAR_LOST_REST_MS,
    .check = check,
    .open = open_ssh,
    .close = close_ssh,
    .place = far_place,
    .get = far_get,
    .describe = far_describe,
    .move = far_move,
    .start = far_start,
    .signal = far_signal,
    .pause = far_pause,
};
