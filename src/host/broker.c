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
#include "transport/entrance.h"

enum { SIGNALS_MAX = 5 };

struct broker {
    const struct broker_options *options;
    struct entrance entrance;
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

static void tell_ready(const struct broker *broker)
{
    const struct broker_options *options = broker->options;
    char address[NET_ADDRESS_TEXT_BYTES], token[SECRET_TEXT_BYTES] = "";
    struct buf talk = {0}, line = {0};
    entrance_name(&broker->entrance, address);
    if (options->json) {
        json_open(&talk, NULL, '{');
        json_append_text(&talk, "event", "ready");
        json_append_text(&talk, "address", address);
        json_append_uint(&talk, "port", broker->entrance.listener.port);
        json_append_text(&talk, "journal", options->journal);
        json_close(&talk, '}');
        buf_append_text(&talk, "\n");
    } else if (!options->is_quiet) {
        buf_format(&talk, "weft: hosting at %s, %s%s; Ctrl-C ends it\n", address,
                   options->journal ? "kept in " : "in memory only",
                   options->journal ? options->journal : "");
    }
    if (broker->entrance.has_made_token)
        secret_write(&broker->entrance.token, token);
    if (broker->entrance.has_made_token || (!options->is_quiet && !options->json))
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
        .listener = &broker->entrance.listener,
        .token = &broker->entrance.token,
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

static void stop(struct broker *broker)
{
    host_server_free(broker->server);
    loop_free(broker->loop);
    entrance_close(&broker->entrance);
}

weft_err broker_run(const struct broker_options *options)
{
    struct broker broker = {.options = options};
    const struct entrance_options entrance = {
        .listen = options->listen ? options->listen : "localhost",
        .default_port = ADDRESS_PORT_OF_HOSTS,
        .token_file = options->token_file,
    };
    weft_err err = options->port_file ? entrance_clear_file(options->port_file) : WEFT_OK;
    if (!err)
        err = entrance_open(&broker.entrance, &entrance);
    if (!err && options->journal)
        err = own_make_named_directory(options->journal);
    if (!err)
        err = start(&broker);
    if (!err && options->port_file)
        err = entrance_write_file(&broker.entrance, options->port_file, false);
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
