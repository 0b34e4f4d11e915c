// Lines about clients: a thousand that join in a second must not be a thousand lines.

#include "run/talk/crowd.h"

#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"

#define SECOND_NS UINT64_C(1000000000)

static const char *const events[CROWD_KIND_COUNT] = {"joined", "left", "lost",    "aside",
                                                     "silent", "back", "leaving", "handed_over"};
static const char *const words[CROWD_KIND_COUNT] = {
    "joined", "left", "lost", "set aside", "not answering", "back", "leaving", "handing over"};

void crowd_append_line(struct crowd *crowd, const struct crowd_change *change, uint64_t now_ns,
                       struct buf *text)
{
    crowd->count = change->count;
    crowd_append_rest(crowd, now_ns, text);
    if (crowd->shown[change->kind] < CROWD_LINES_MAX) {
        crowd->shown[change->kind]++;
        text_append_message(text, "weft", change->text);
    } else {
        crowd->hidden[change->kind]++;
    }
}

bool crowd_append_rest(struct crowd *crowd, uint64_t now_ns, struct buf *text)
{
    const char *between = "weft: in the last second also: ";
    bool has_any = false;
    if (now_ns - crowd->since_ns < SECOND_NS)
        return false;
    for (int kind = 0; kind < CROWD_KIND_COUNT; kind++) {
        if (!crowd->hidden[kind])
            continue;
        buf_append_text(text, between);
        text_append_count(text, crowd->hidden[kind]);
        buf_format(text, " %s", words[kind]);
        between = ", ";
        has_any = true;
    }
    if (has_any) {
        buf_append_text(text, " (");
        text_append_count(text, crowd->count);
        buf_append_text(text, " clients now)\n");
    }
    memset(crowd->shown, 0, sizeof crowd->shown);
    memset(crowd->hidden, 0, sizeof crowd->hidden);
    crowd->since_ns = now_ns;
    return has_any;
}

const char *crowd_name_end(enum crowd_kind last)
{
    return last == CROWD_LEFT || last == CROWD_LOST || last == CROWD_ASIDE ? events[last] : "end";
}

const char *crowd_describe_end(enum crowd_kind last)
{
    return last == CROWD_LEFT    ? " (left)"
           : last == CROWD_LOST  ? " (lost)"
           : last == CROWD_ASIDE ? " (set aside)"
                                 : "";
}

void crowd_append_json(const struct crowd_change *change, struct buf *text)
{
    json_open(text, NULL, '{');
    json_append_text(text, "event", events[change->kind]);
    json_append_text(text, "client", change->client);
    if (change->kind == CROWD_JOINED)
        json_append_uint(text, "slots", change->amount);
    if (change->kind == CROWD_HANDED)
        json_append_uint(text, "tasks", change->amount);
    json_append_uint(text, "clients", change->count);
    json_append_text(text, "text", change->text);
    json_close(text, '}');
    buf_append_text(text, "\n");
}
