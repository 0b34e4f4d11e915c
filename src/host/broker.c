// A host alone: its address, its token, its life between a ready line and a signal.

#include "host/broker.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "cluster/address.h"
#include "host/server.h"
#include "resource/census.h"
#include "sys/file/file.h"
#include "sys/file/own.h"
#include "sys/process/signals.h"

enum { SIGNALS_MAX = 5, PORT_TEXT_BYTES = 16 };

struct broker {
    const struct broker_options *options;
    struct net_address address;
    struct net_listener listener;
    struct secret token;
    bool has_made_token, has_port_file;
    struct loop *loop;
    struct host_server *server;
    weft_err failed;  // what ended it; the sentence is kept beside it
    char failed_text[ERR_TEXT_BYTES_MAX];
    struct loop_signal *signals[SIGNALS_MAX];
};

// ---- Its messages ----------------------------------------------------------------------------------------

static void write_out(int fd, struct buf *text)
{
    // That no process reads our messages is not a failure.
    if (file_write(fd, "output", text->data, text->size))
        err_clear();
    buf_fini(text);
}

static void say(void *owner, const char *sentence)
{
    struct broker *broker = owner;
    struct buf text = {0};
    if (broker->options->json) {
        json_open(&text, NULL, '{');
        json_append_text(&text, "event", "note");
        json_append_text(&text, "text", sentence);
        json_close(&text, '}');
        buf_append_text(&text, "\n");
    } else {
        buf_format(&text, "weft: %s\n", sentence);
    }
    write_out(STDERR_FILENO, &text);
}

// The address for other machines: "all interfaces" is not one that they can connect to.
static void name_address(const struct broker *broker, char text[NET_ADDRESS_TEXT_BYTES])
{
    struct net_address address = broker->address;
    address.port = broker->listener.port;
    const bool is_all =
        !address.host[0] || strcmp(address.host, "0.0.0.0") == 0 || strcmp(address.host, "::") == 0;
    if (is_all && gethostname(address.host, sizeof address.host - 1) != 0)
        snprintf(address.host, sizeof address.host, "HOST");
    net_write_address(&address, text);
}

static void tell_ready(const struct broker *broker)
{
    const struct broker_options *options = broker->options;
    char address[NET_ADDRESS_TEXT_BYTES], token[SECRET_TEXT_BYTES] = "";
    struct buf talk = {0}, line = {0};
    name_address(broker, address);
    if (options->json) {
        json_open(&talk, NULL, '{');
        json_append_text(&talk, "event", "ready");
        json_append_text(&talk, "address", address);
        json_append_uint(&talk, "port", broker->listener.port);
        json_append_text(&talk, "journal", options->journal);
        json_close(&talk, '}');
        buf_append_text(&talk, "\n");
    } else if (!options->is_quiet) {
        buf_format(&talk, "weft: hosting at %s, %s%s; Ctrl-C ends it\n", address,
                   options->journal ? "kept in " : "in memory only",
                   options->journal ? options->journal : "");
    }
    if (broker->has_made_token)
        secret_write(&broker->token, token);
    if (broker->has_made_token || (!options->is_quiet && !options->json))
        buf_format(&line, "weft queue push --at %s%s%s jobs hello\n", address, *token ? "#" : "",
                   token);
    write_out(STDERR_FILENO, &talk);
    write_out(STDOUT_FILENO, &line);
    memset(token, 0, sizeof token);
}

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

// Reports the content that is lost now and could have been kept.
static void tell_end(struct broker *broker)
{
    struct census census;
    char sentence[256] = "";
    host_take_census(host_server_host(broker->server), &census);
    if (broker->options->journal || (census.element_count == 0 && census.other_count == 0))
        return;
    int size = 0;
    if (census.element_count)
        size = snprintf(sentence, sizeof sentence, "%" PRIu64 " element%s in %" PRIu64 " queue%s",
                        census.element_count, plural(census.element_count), census.queue_count,
                        plural(census.queue_count));
    if (census.other_count)
        size += snprintf(sentence + size, sizeof sentence - (size_t)size, "%s%" PRIu64 " %s",
                         size ? " and " : "", census.other_count,
                         census.other_count == 1 ? "variable, map or barrier"
                                                 : "variables, maps or barriers");
    const bool is_one = census.element_count + census.other_count == 1;
    snprintf(sentence + size, sizeof sentence - (size_t)size,
             is_one ? " is gone; --journal DIR would keep it"
                    : " are gone; --journal DIR would keep them");
    if (!broker->options->is_quiet)
        say(broker, sentence);
}

// ---- Beginning and end -----------------------------------------------------------------------------------

static weft_err find_token(struct broker *broker)
{
    const char *file = broker->options->token_file;
    const char *variable = getenv("WEFT_TOKEN");
    if (file || (variable && *variable) || net_address_is_loopback(&broker->address))
        return secret_load(file, &broker->token);
    secret_make(&broker->token);
    broker->has_made_token = true;
    return WEFT_OK;
}

static void on_signal(void *owner, int number)
{
    struct broker *broker = owner;
    (void)number;
    loop_stop(broker->loop);
}

static void on_broken(void *owner, weft_err code)
{
    struct broker *broker = owner;
    broker->failed = code;
    snprintf(broker->failed_text, sizeof broker->failed_text, "%s", err_text());
    loop_stop(broker->loop);
}

static void on_wake(void *owner)
{
    (void)owner;
}

static weft_err start(struct broker *broker)
{
    const struct host_server_options options = {
        .member = "",
        .listener = &broker->listener,
        .token = &broker->token,
        .journal = broker->options->journal,
        .say = say,
        .broken = on_broken,
        .owner = broker,
    };
    broker->loop = loop_new(on_wake, broker);
    if (!broker->loop)
        return WEFT_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < SIGNALS_MAX && signals_to_end[i]; i++) {
        if (signal_is_ignored(signals_to_end[i]))
            continue;
        broker->signals[i] = loop_signal_new(broker->loop, signals_to_end[i], on_signal, broker);
        if (!broker->signals[i])
            return WEFT_RESOURCE_EXHAUSTED;
    }
    return host_server_new(&broker->server, broker->loop, &options);
}

static size_t format_port(const struct broker *broker, char text[PORT_TEXT_BYTES])
{
    return (size_t)snprintf(text, PORT_TEXT_BYTES, "%u\n", broker->listener.port);
}

// In one step: a script that waits for the file reads all of it.
static weft_err write_port_file(struct broker *broker)
{
    const char *path = broker->options->port_file;
    if (!path)
        return WEFT_OK;
    char text[PORT_TEXT_BYTES];
    struct buf unfinished = {0};
    int fd;
    const size_t size = format_port(broker, text);
    buf_format(&unfinished, "%s.unfinished", path);
    weft_err err = file_create(buf_text(&unfinished), &fd);
    if (!err) {
        err = file_write(fd, buf_text(&unfinished), text, size);
        file_close(fd);
    }
    if (!err)
        err = file_rename(buf_text(&unfinished), path);
    broker->has_port_file = !err;
    if (err) {
        struct err_kept kept;
        err_keep(&kept);
        if (file_remove(buf_text(&unfinished)))
            err_clear();
        err_put_back(&kept);  // the sentence that counts is the first
    }
    buf_fini(&unfinished);
    return err_wrap(err, "--port-file");
}

// Another host may have written its own since, and is found by it.
static bool is_port_file_ours(const struct broker *broker)
{
    char ours[PORT_TEXT_BYTES], found[PORT_TEXT_BYTES];
    const char *path = broker->options->port_file;
    const size_t size = format_port(broker, ours);
    size_t got = 0;
    int fd = -1;
    weft_err err = file_open(path, &fd);
    if (!err)
        err = file_read_at(fd, path, found, sizeof found, 0, &got);
    file_close(fd);
    if (err)
        err_clear();
    return !err && got == size && memcmp(found, ours, size) == 0;
}

static void stop(struct broker *broker)
{
    if (broker->has_port_file && is_port_file_ours(broker) &&
        file_remove(broker->options->port_file))
        err_clear();
    host_server_free(broker->server);
    loop_free(broker->loop);
    net_listener_close(&broker->listener);
    secret_clear(&broker->token);
}

weft_err broker_run(const struct broker_options *options)
{
    struct broker broker = {.options = options};
    const char *listen = options->listen ? options->listen : "localhost";
    weft_err err =
        err_wrap(net_read_address(listen, ADDRESS_PORT_OF_HOSTS, &broker.address), "--listen");
    if (!err)
        err = find_token(&broker);
    if (!err)
        err = net_listen(&broker.address, &broker.listener);
    if (!err && options->journal)
        err = own_make_named_directory(options->journal);
    if (!err)
        err = start(&broker);
    if (!err)
        err = write_port_file(&broker);
    if (!err) {
        tell_ready(&broker);
        loop_run(broker.loop);
        tell_end(&broker);
    }
    stop(&broker);
    if (broker.failed)
        err = err_set(broker.failed, "%s", broker.failed_text);
    return err;
}
