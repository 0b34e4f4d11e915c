// weft barrier wait PATH --count N: scripts wait for each other and continue together; and rm and
// ls.

#include <inttypes.h>

#include "cli/tool_group.h"
#include "client/remote/ops.h"

enum { OPTION_COUNT = 1, OPTION_TIMEOUT };

struct request {
    struct tool_request all;  // first
    uint64_t count;
    uint32_t timeout_ms;
};

static const struct args_option wait_options[] = {
    {OPTION_COUNT, 'n', "count", "N",
     "the number of calls to wait for; needed to create the barrier"},
    {OPTION_TIMEOUT, 0, "timeout", "TIME", "how long to wait; exit 6"},
    TOOL_OPTIONS,
};

static weft_err read_option(void *owner, int id, const char *text)
{
    struct request *request = owner;
    if (id == OPTION_COUNT)
        return tool_read_count("--count", text, UINT32_MAX, &request->count);
    return tool_read_time("--timeout", text, &request->timeout_ms);
}

static weft_err write_count(struct tool_request *asked, struct buf *attributes)
{
    remote_barrier_describe(attributes, (uint32_t)((const struct request *)asked)->count);
    return WEFT_OK;
}

static weft_err wait(struct tool_request *asked, struct buf *out)
{
    (void)out;
    uint64_t generation;
    weft_err err = remote_barrier_wait(&asked->remote, ((const struct request *)asked)->timeout_ms,
                                       &generation);
    if (err == WEFT_DEADLINE_EXCEEDED)
        err = err_set(err, "%s: not all came in time", asked->remote.path);
    return err;
}

static weft_err rm(struct tool_request *asked, struct buf *out)
{
    (void)out;
    return remote_remove(&asked->remote);
}

static weft_err append_barrier(void *owner, const struct tool_resource *resource, struct buf *out)
{
    const struct request *request = owner;
    struct remote barrier = {0};
    weft_err err = remote_open(request->all.words.cluster, resource->path, CALL_KIND_BARRIER,
                               weft_none(), &barrier);
    uint32_t count = 0;
    if (!err)
        err = remote_barrier_count(&barrier, &count);
    if (!err)
        buf_format(out, "%s\t%" PRIu32 "\n", resource->path, count);
    remote_fini(&barrier);
    return err;
}

static weft_err ls(struct tool_request *asked, struct buf *out)
{
    return tool_words_list(&asked->words, CALL_KIND_BARRIER, append_barrier, out);
}

static const struct args_option plain_options[] = {TOOL_OPTIONS};

static const struct tool_verb verbs[] = {
    {"wait", "wait until N calls wait", .act = wait, .arguments = "PATH", .fewest = 1, .most = 1,
     .options = wait_options,
     .what =
         "Waits until N calls wait at the barrier, then all return. It can be used again at once.",
     .examples = "weft barrier wait start --count 4",
     .exits = "0 all were there, 2 wrong usage or another count, 3 the host is out of reach, 6 "
              "not\nall came in time."},
    {"rm", "remove it, for everyone", .act = rm, .arguments = "PATH", .fewest = 1, .most = 1,
     .must_exist = true, .options = plain_options,
     .what = "Removes a barrier. Calls that wait at it fail.", .examples = "weft barrier rm start",
     .exits = "0 done, 3 the host is out of reach, 4 there is no such barrier."},
    {"ls", "all barriers", .act = ls, .arguments = "[MEMBER]", .most = 1, .is_list = true,
     .options = plain_options, .what = "Prints all barriers and their counts, with a tab between.",
     .examples = "weft barrier ls", .exits = "0 done, 3 the host is out of reach."},
    {0},
};

const struct tool_group barrier_group = {
    .name = "barrier",
    .introduction = "Lets programs and scripts wait for each other, at a host (weft host) or a "
                    "member of a cluster.\n"
                    "\n"
                    "  weft barrier wait start --count 4    in four places\n",
    .end =
        "PATH is the barrier's name on the host, or /ROLE/INDEX/NAME in the cluster of TF_CONFIG.\n"
        "The host is that of --at, else of WEFT_AT, else localhost:18125.\n",
    .verbs = verbs,
    .kind = CALL_KIND_BARRIER,
    .request_bytes = sizeof(struct request),
    .read_option = read_option,
    .prepare = write_count,
};

int cmd_barrier(char *const *words, size_t count)
{
    return tool_group_run(&barrier_group, words, count);
}
