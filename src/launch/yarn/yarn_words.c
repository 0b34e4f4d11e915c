// Names, ends and commands of YARN.

#include "launch/yarn/yarn_words.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "launch/yarn/yarn_message.h"

// ---- Names --------------------------------------------------------------------------------------------------------

enum { LIFE_SHIFT = 40 };

void yarn_write_app(const struct yarn_app_id *id, char text[YARN_NAME_BYTES])
{
    snprintf(text, YARN_NAME_BYTES, "application_%" PRId64 "_%04" PRId32, id->timestamp,
             id->number);
}

void yarn_write_container(const struct yarn_container_id *id, char text[YARN_NAME_BYTES])
{
    char life[24] = "";
    if (id->number >> LIFE_SHIFT)
        snprintf(life, sizeof life, "e%02" PRId64 "_", id->number >> LIFE_SHIFT);
    snprintf(text, YARN_NAME_BYTES,
             "container_%s%" PRId64 "_%04" PRId32 "_%02" PRId32 "_%06" PRId64, life,
             id->app.timestamp, id->app.number, id->attempt,
             id->number & (((int64_t)1 << LIFE_SHIFT) - 1));
}

// "_123": takes it from the front.
static bool take_number(const char **from, int64_t max, int64_t *value)
{
    const char *at = *from;
    if (*at++ != '_' || *at < '0' || *at > '9')
        return false;
    for (*value = 0; *at >= '0' && *at <= '9'; at++) {
        if (*value > (max - (*at - '0')) / 10)
            return false;
        *value = *value * 10 + (*at - '0');
    }
    *from = at;
    return true;
}

static bool take_app(const char **from, struct yarn_app_id *id)
{
    int64_t number;
    if (!take_number(from, INT64_MAX, &id->timestamp) || !take_number(from, INT32_MAX, &number))
        return false;
    id->number = (int32_t)number;
    return true;
}

bool yarn_read_app(const char *text, struct yarn_app_id *id)
{
    static const char word[] = "application";
    const char *at = text + strlen(word);
    return strncmp(text, word, strlen(word)) == 0 && take_app(&at, id) && !*at;
}

bool yarn_read_container(const char *text, struct yarn_container_id *id)
{
    static const char word[] = "container";
    int64_t attempt;
    if (strncmp(text, word, strlen(word)) != 0)
        return false;
    const char *at = text + strlen(word);
    if (strncmp(at, "_e", 2) == 0)
        at += 2 + strspn(at + 2, "0123456789");
    *id = (struct yarn_container_id){0};
    if (!take_app(&at, &id->app) || !take_number(&at, INT32_MAX, &attempt) || *at != '_')
        return false;
    id->attempt = (int32_t)attempt;
    return true;
}

bool yarn_take_app(const Hadoop__AppId *message, struct yarn_app_id *id)
{
    if (!message || !message->has_number || !message->has_timestamp)
        return false;
    *id = (struct yarn_app_id){message->timestamp, message->number};
    return true;
}

bool yarn_take_container(const Hadoop__ContainerId *message, struct yarn_container_id *id)
{
    if (!message || !message->has_number || !message->attempt || !message->attempt->has_number)
        return false;
    id->attempt = message->attempt->number;
    id->number = message->number;
    return yarn_take_app(message->attempt->app, &id->app);
}

Hadoop__AppId *yarn_make_app(struct yarn_maker *maker, const struct yarn_app_id *id)
{
    Hadoop__AppId *app = yarn_make(maker, &hadoop__app_id__descriptor);
    if (!app)
        return NULL;
    app->has_number = app->has_timestamp = true;
    app->number = id->number;
    app->timestamp = id->timestamp;
    return app;
}

void yarn_make_id(struct yarn_maker *maker, const struct yarn_container_id *id,
                  Hadoop__ContainerId *message)
{
    message->has_number = true;
    message->number = id->number;
    message->attempt = yarn_make(maker, &hadoop__app_attempt_id__descriptor);
    if (!message->attempt)
        return;
    message->attempt->has_number = true;
    message->attempt->number = id->attempt;
    message->attempt->app = yarn_make_app(maker, &id->app);
}

bool yarn_is_same_container(const struct yarn_container_id *a, const struct yarn_container_id *b)
{
    return a->number == b->number && a->attempt == b->attempt && a->app.number == b->app.number &&
           a->app.timestamp == b->app.timestamp;
}

// ---- Ends ---------------------------------------------------------------------------------------------------------

// Hadoop's numbers for ends that are not a program's own.
enum {
    STATUS_ABORTED = -100,  // released, or its node was lost
    STATUS_DISKS = -101,
    STATUS_PREEMPTED = -102,
    STATUS_VIRTUAL_MEMORY = -103,
    STATUS_MEMORY = -104,
    STATUS_BY_MASTER = -105,
    STATUS_BY_MANAGER = -106,
    STATUS_AFTER_END = -107,
    STATUS_BY_NODE = -108,
    STATUS_LOGS = -109,
    STATUS_UNKNOWN = -1000,
    AFTER_SIGNAL = 128,
    SIGNAL_KILL = 9,
    SIGNAL_TERM = 15,
    LINE_BYTES = 300,
};

void yarn_append_line(struct buf *out, const char *text, size_t size_max)
{
    size_t size = 0;
    while (size < size_max && text[size] && text[size] != '\n' && text[size] != '\r')
        size++;
    for (size_t i = 0; i < size; i++) {
        const unsigned char byte = (unsigned char)text[i];
        buf_append(out, byte < ' ' || byte == 0x7f ? " " : text + i, 1);
    }
}

// "Current usage: 301.5 MB of 128 MB physical memory used; 1.1 GB of 268.8 MB virtual memory used"
static void append_memory(struct buf *text, const char *diagnostics, bool is_virtual)
{
    static const char usage[] = "Current usage: ";
    const char *from = strstr(diagnostics, usage);
    const char *end = from ? strstr(from, ". Killing container") : NULL;
    buf_append_text(text, is_virtual ? "it used more virtual memory than YARN allows"
                                     : "it used more memory than its container has");
    if (from && end && end - from < LINE_BYTES) {
        from += strlen(usage);
        buf_append_text(text, " (");
        yarn_append_line(text, from, (size_t)(end - from));
        buf_append_text(text, ")");
    }
    buf_append_text(
        text, is_virtual ? "; node managers should not count it: "
                           "yarn.nodemanager.vmem-check-enabled is to be false in yarn-site.xml"
                         : "; ask for more memory");
}

static void append_exit(struct buf *text, int status)
{
    if (status == AFTER_SIGNAL + SIGNAL_KILL)
        buf_append_text(text, "its program was killed by signal 9, perhaps by the kernel as it "
                              "used more memory than its container has");
    else if (status > AFTER_SIGNAL && status < AFTER_SIGNAL + 65)
        buf_format(text, "its program was killed by signal %d", status - AFTER_SIGNAL);
    else
        buf_format(text, "its program has ended with exit code %d", status);
}

static void set_end(struct yarn_end *end, enum yarn_end_kind kind, bool is_charged)
{
    end->kind = kind;
    end->is_charged = is_charged;
}

// Our own wish explains these ends.
static bool is_of_stop(int status)
{
    return status == STATUS_ABORTED || status == STATUS_BY_MASTER || status == STATUS_BY_MANAGER ||
           status == AFTER_SIGNAL + SIGNAL_KILL || status == AFTER_SIGNAL + SIGNAL_TERM;
}

static const char *explain(int status, const char *diagnostics, struct yarn_end *end)
{
    switch (status) {
    case STATUS_ABORTED:
        set_end(end, YARN_LOST, false);
        return strstr(diagnostics, "*lost* node") ? "its node was lost" : "YARN has taken it back";
    case STATUS_DISKS:
        set_end(end, YARN_LOST, false);
        return "the disks of its node are full or bad";
    case STATUS_PREEMPTED:
        set_end(end, YARN_PREEMPTED, false);
        return "the scheduler gives its place to another application";
    case STATUS_BY_MASTER:
    case STATUS_BY_MANAGER:
    case STATUS_AFTER_END:
    case STATUS_BY_NODE:
        set_end(end, YARN_KILLED, false);
        return "YARN has killed it";
    case STATUS_LOGS:
        set_end(end, YARN_KILLED, true);
        return "YARN has killed it, as its logs are too large";
    case STATUS_UNKNOWN:
        set_end(end, YARN_NOT_STARTED, true);
        return "its node manager could not start it";
    default:
        set_end(end, YARN_KILLED, false);
        return "YARN has ended it";
    }
}

void yarn_judge_end(int status, const char *diagnostics, bool is_stopped, struct yarn_end *end,
                    struct buf *text)
{
    *end = (struct yarn_end){.exit_code = status};
    diagnostics = diagnostics ? diagnostics : "";
    if (is_stopped && is_of_stop(status)) {
        set_end(end, YARN_STOPPED, false);
        buf_append_text(text, "it was stopped");
    } else if (status >= 0) {
        set_end(end, YARN_EXITED, status != 0);
        append_exit(text, status);
    } else if (status == STATUS_MEMORY || status == STATUS_VIRTUAL_MEMORY) {
        set_end(end, YARN_MEMORY, true);
        append_memory(text, diagnostics, status == STATUS_VIRTUAL_MEMORY);
    } else {
        buf_append_text(text, explain(status, diagnostics, end));
        buf_append_text(text, diagnostics[0] ? ": " : "");
        yarn_append_line(text, diagnostics, LINE_BYTES);
    }
}

// ---- Commands -----------------------------------------------------------------------------------------------------

// A node manager replaces <LOG_DIR>, <CPS> and {{NAME}} wherever they are; two quotes between their characters are nothing to bash, and keep
// it from seeing them.
void yarn_append_quoted(struct buf *out, const char *text)
{
    for (const char *at = text; *at; at++) {
        if (strchr("$`\"\\", *at))
            buf_append_text(out, "\\");
        buf_append(out, at, 1);
        const bool is_brace = (at[0] == '{' && at[1] == '{') || (at[0] == '}' && at[1] == '}');
        if (is_brace || *at == '<')
            buf_append_text(out, "\"\"");
    }
}

// ---- URLs ---------------------------------------------------------------------------------------------------------

bool yarn_read_url(struct yarn_maker *maker, const char *text, Hadoop__Url *url)
{
    const char *colon = strstr(text, "://");
    const char *host = colon ? colon + 3 : "";
    const char *path = strchr(host, '/');
    char word[300];
    if (!colon || colon == text || !path || (size_t)(colon - text) >= sizeof word ||
        (size_t)(path - host) >= sizeof word)
        return false;
    snprintf(word, sizeof word, "%.*s", (int)(colon - text), text);
    url->scheme = yarn_make_text(maker, word);
    snprintf(word, sizeof word, "%.*s", (int)(path - host), host);
    char *port = strrchr(word, ':');
    if (port && !strchr(port, ']')) {
        *port++ = 0;
        const long value = strtol(port, &port, 10);
        if (*port || value <= 0 || value > UINT16_MAX)
            return false;
        url->has_port = true;
        url->port = (int32_t)value;
    }
    url->host = word[0] ? yarn_make_text(maker, word) : NULL;
    url->file = yarn_make_text(maker, path);
    return true;
}
