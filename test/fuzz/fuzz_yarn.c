// Fuzzes answers of YARN. The first byte says which: heartbeats, registrations, nodes, reports, texts. Whatever comes, no more containers are
// taken than were asked for, each one ends once, and sentences have nothing that a terminal would obey.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "launch/yarn/yarn_client.h"
#include "launch/yarn/yarn_message.h"
#include "launch/yarn/yarn_roster.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ASKED = 3, ANSWER_BYTES_MAX = 64 << 10 };

static void *unpack(const ProtobufCMessageDescriptor *descriptor, weft_bytes bytes)
{
    return protobuf_c_message_unpack(descriptor, NULL, bytes.size, (const uint8_t *)bytes.data);
}

static void check_line(const char *text)
{
    for (; *text; text++)
        ASSERT((unsigned char)*text >= ' ' && *text != 0x7f);
}

static struct yarn_roster begin(void)
{
    static const char *const hosts[] = {"a", "b", NULL};
    const struct yarn_want wants[] = {{.count = 2},
                                      {.count = 1, .hosts = hosts, .is_strict = true}};
    struct yarn_roster roster = {.takes_kept = true};
    for (int i = 0; i < 2; i++) {
        size_t ask;
        ASSERT(roster_ask(&roster, &wants[i], &ask) == WEFT_OK);
    }
    ASSERT(roster_exclude(&roster, "bad", true) == WEFT_OK);
    return roster;
}

// Handles events as masters do; returns how many containers were granted.
static size_t drain(struct yarn_roster *roster)
{
    struct yarn_event event;
    size_t granted = 0;
    while (roster_next_event(roster, &event)) {
        if (event.kind == YARN_EVENT_GRANTED) {
            granted++;
            ASSERT(event.grant->shown.ask < roster->asks.count);
            ASSERT(strcmp(event.grant->shown.host, "bad") != 0);
        }
        if (event.kind == YARN_EVENT_ENDED) {
            check_line(event.grant->end.text);
            roster_forget(roster, event.grant);
        }
        free(event.text);
    }
    return granted;
}

static void send(struct yarn_roster *roster)
{
    Hadoop__Allocate *request = roster_make_request(roster);
    ASSERT(request);
    yarn_free(request);
}

static void check_heartbeats(weft_bytes bytes)
{
    struct yarn_roster roster = begin();
    Hadoop__AllocateAnswer *answer = unpack(&hadoop__allocate_answer__descriptor, bytes);
    size_t granted = 0;
    for (int i = 0; answer && i < 2; i++) {
        send(&roster);
        roster_take_answer(&roster, answer);
        granted += drain(&roster);
    }
    ASSERT(granted + roster_outstanding(&roster) == ASKED);
    for (size_t i = 0; i < roster.grants.count; i++)
        if (i % 2 == 0)
            roster_release(&roster, roster.grants.items[i]);
    roster_resync(&roster);
    granted += drain(&roster);
    send(&roster);
    struct buf text = {0};
    roster_describe(&roster, 0, &text);
    buf_fini(&text);
    yarn_free(answer);
    roster_fini(&roster);
}

static void check_registration(weft_bytes bytes)
{
    struct yarn_roster roster = begin();
    Hadoop__RegisterAnswer *answer = unpack(&hadoop__register_answer__descriptor, bytes);
    if (answer)
        roster_take_registration(&roster, answer);
    drain(&roster);
    send(&roster);
    yarn_free(answer);
    roster_fini(&roster);
}

static void check_nodes(weft_bytes bytes)
{
    struct yarn_roster roster = begin();
    Hadoop__NodesAnswer *nodes = unpack(&hadoop__nodes_answer__descriptor, bytes);
    if (nodes)
        roster_take_nodes(&roster, nodes);
    drain(&roster);
    send(&roster);
    yarn_free(nodes);
    roster_fini(&roster);
}

static void check_report(weft_bytes bytes)
{
    Hadoop__AppReport *report = unpack(&hadoop__app_report__descriptor, bytes);
    if (report && yarn_judge_report(report))
        check_line(err_text());
    yarn_free(report);
}

// A bash of these: between double quotes, no character of a text is special, and none of a node manager's words is there.
static void check_quoted(const char *text)
{
    struct buf quoted = {0};
    yarn_append_quoted(&quoted, text);
    const char *at = buf_text(&quoted);
    ASSERT(!strstr(at, "{{") && !strstr(at, "}}") && !strstr(at, "<LOG_DIR>") &&
           !strstr(at, "<CPS>"));
    for (; *at; at++, text++) {
        if (at[0] == '"' && at[1] == '"') {
            at += 1;
            text--;
            continue;
        }
        ASSERT(!strchr("$`\"", *at));
        if (*at == '\\')
            at++;
        ASSERT(*at == *text);
    }
    buf_fini(&quoted);
}

static void check_texts(weft_bytes bytes)
{
    char text[512];
    struct yarn_site site, again;
    struct yarn_app_id app;
    struct yarn_container_id container;
    struct yarn_maker maker = {0};
    struct yarn_end end;
    struct buf out = {0};
    snprintf(text, sizeof text, "%.*s", (int)bytes.size, bytes.data);
    check_quoted(text);
    if (yarn_site_read(text, &site) == WEFT_OK) {
        yarn_site_write(&site, &out);
        ASSERT(yarn_site_read(buf_text(&out), &again) == WEFT_OK && again.count == site.count);
    }
    out.size = 0;
    if (yarn_read_app(text, &app)) {
        char name[YARN_NAME_BYTES];
        struct yarn_app_id same;
        yarn_write_app(&app, name);
        ASSERT(yarn_read_app(name, &same) && same.number == app.number &&
               same.timestamp == app.timestamp);
    }
    if (yarn_read_container(text, &container))
        ASSERT(container.attempt >= 0);
    Hadoop__Url *url = yarn_make(&maker, &hadoop__url__descriptor);
    if (url && yarn_read_url(&maker, text, url))
        ASSERT(url->file[0] == '/');
    yarn_free(url);
    for (int status = -110; status < 0; status++) {
        out.size = 0;
        yarn_judge_end(status, text, status % 2, &end, &out);
        check_line(buf_text(&out));
    }
    buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || size > ANSWER_BYTES_MAX)
        return 0;
    const weft_bytes bytes = {(const char *)data + 1, size - 1};
    void (*const checks[])(weft_bytes) = {check_heartbeats, check_registration, check_nodes,
                                          check_report, check_texts};
    checks[data[0] % (sizeof checks / sizeof *checks)](bytes);
    err_clear();
    return 0;
}
