// What a person wants to know while containers are waited for.

#include <stdlib.h>
#include <string.h>

#include "launch/yarn/yarn_state.h"
#include "sys/time/clock.h"

void yarn_describe_place(const struct yarn_place *place, struct buf *text)
{
    const struct yarn *yarn = place->yarn;
    switch (place->state) {
    case YARN_UNASKED:
    case YARN_VACANT:
        buf_append_text(text, "no container has been asked for");
        break;
    case YARN_ASKED:
        buf_append_text(text, "it waits for a container: ");
        yarn_master_describe(yarn->master, place->ask, text);
        break;
    case YARN_GRANTED:
        buf_format(text, "%s waits for the program, which is being copied to HDFS", place->name);
        break;
    case YARN_LAUNCHED:
        buf_format(text, "the agent of %s has not connected to %s; its log is at http://%s",
                   place->name, yarn->own, place->container ? place->container->web : "");
        break;
    }
}

void yarn_say_news(struct yarn *yarn)
{
    const struct yarn_place *first = NULL;
    struct buf text = {0};
    size_t count = 0;
    for (size_t i = 0; i < yarn->place_count; i++) {
        if (yarn->places[i].state != YARN_ASKED)
            continue;
        first = first ? first : &yarn->places[i];
        count++;
    }
    if (!first || clock_now_ns() - yarn->begun_ns < (uint64_t)YARN_NEWS_AFTER_MS * 1000000)
        return;
    buf_format(&text, "%zu of %zu containers are waited for: ", count, yarn->place_count);
    yarn_master_describe(yarn->master, first->ask, &text);
    if (!yarn->said || strcmp(yarn->said, buf_text(&text)) != 0) {
        free(yarn->said);
        yarn->said = strdup(buf_text(&text));
        yarn->options.calls->news(yarn->options.owner, buf_text(&text));
    }
    buf_fini(&text);
}
