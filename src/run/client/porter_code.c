// The code of the job: it is taken once, before the first worker is started from it.

#include "run/client/porter_state.h"

#include <stdlib.h>

struct code_fetch {
    struct porter *porter;
    void *tag;
};

static void take_file(void *owner, weft_err code)
{
    const struct code_fetch fetch = *(struct code_fetch *)owner;
    free(owner);
    take_fetched(fetch.porter->code, fetch.tag, code);
}

static weft_err fetch_file(void *owner, const struct take_wanted *wanted)
{
    struct porter *porter = owner;
    struct code_fetch *fetch = malloc(sizeof *fetch);
    if (!fetch)
        return err_no_memory("to fetch code");
    *fetch = (struct code_fetch){porter, wanted->tag};
    const struct fetch_wanted request = {.file = wanted->file,
                                         .size = wanted->size,
                                         .fd = wanted->fd,
                                         .path = "the code of the job",
                                         .done = take_file,
                                         .owner = fetch};
    const weft_err code = fetch_client_get(porter->server, &request);
    if (code != WEFT_OK)
        free(fetch);
    return code;
}

static void start(struct porter *porter)
{
    porter->is_starting = false;
    porter->agent.options.program = take_program(porter->code);
    const weft_err code = agent_start(&porter->agent, -1);
    if (code != WEFT_OK)
        porter_tell_unstarted(porter, code);
}

static void take_done(void *owner, weft_err code)
{
    struct porter *porter = owner;
    porter->has_code = code == WEFT_OK;
    porter->figures.code_bytes = take_figures(porter->code).fetched_bytes;
    if (!porter->has_code)
        porter_break(porter, err_wrap(code, "the code of the job"));
    else if (porter->is_starting)
        start(porter);
}

void porter_start_worker(struct porter *porter, const Weft__CodePackage *package)
{
    const struct take_options options = {.loop = porter->options.loop,
                                         .cache = porter->cache,
                                         .package = package,
                                         .fetch = fetch_file,
                                         .done = take_done,
                                         .owner = porter};
    porter->is_starting = true;
    if (porter->has_code) {
        start(porter);
    } else if (!porter->code) {
        const weft_err code = take_start(&options, &porter->code);
        if (code != WEFT_OK)
            porter_break(porter, err_wrap(code, "the code of the job"));
    }
}

void porter_kill_worker(struct porter *porter)
{
    const bool was_starting = porter->is_starting;
    porter->is_starting = false;
    if (was_starting)
        porter_tell_unstarted(porter, err_set(WEFT_CANCELLED, "the server changed its mind"));
    else
        agent_kill(&porter->agent);
}
