// The code of the job: it is taken once, before the first worker is started from it.

#include "run/client/porter_state.h"

#include <stdio.h>
#include <stdlib.h>

#include "sys/machine/machine.h"

// Services and containers often have no home, or one that cannot be written to. Then a directory below --tmp serves as the cache; one that others can
// change is refused there, too.
static weft_err open_elsewhere(struct porter *porter)
{
    const char *tmp = porter->options.tmp, *from_environment = getenv("TMPDIR");
    char user[MACHINE_NAME_BYTES_MAX], *path = NULL;
    machine_user_name(user);
    if (!tmp)
        tmp = from_environment && *from_environment ? from_environment : "/var/tmp";
    if (tmp[0] != '/' || asprintf(&path, "%s/weft-code-%s", tmp, user) < 0)
        return WEFT_FAILED_PRECONDITION;
    const weft_err code = cache_open(&cache_of_code, path, &porter->cache);
    free(path);
    return code;
}

weft_err porter_open_cache(struct porter *porter)
{
    char why[ERR_TEXT_BYTES_MAX];
    const weft_err code = cache_open(&cache_of_code, NULL, &porter->cache);
    if (code == WEFT_OK || getenv("XDG_CACHE_HOME"))
        return code;
    snprintf(why, sizeof why, "%s", err_text());
    return open_elsewhere(porter) == WEFT_OK ? WEFT_OK : err_set(code, "%s", why);
}

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
