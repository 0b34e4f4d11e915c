// weft barrier wait PATH --count N: scripts that go on together; and what becomes of a barrier.

#include <inttypes.h>

#include "cli/tool_words.h"

enum { OPTION_COUNT = 1, OPTION_TIMEOUT };

struct request {
    struct tool_words words;
    struct remote barrier;
    uint64_t count;
    uint32_t timeout_ms;
};

static const struct args_option wait_options[] = {
    {OPTION_COUNT, 'n', "count", "N", "go on when N wait; whoever is first must say it"},
    {OPTION_TIMEOUT, 0, "timeout", "TIME", "how long to wait; exit 6"},
    TOOL_OPTIONS,
};

static weft_err take_option(void *owner, int id, const char *text)
{
    struct request *request = owner;
    if (id == OPTION_COUNT)
        return tool_read_count("--count", text, UINT32_MAX, &request->count);
    return tool_read_time("--timeout", text, &request->timeout_ms);
}

static void help_format_wait(struct buf *buf)
{
    buf_append_text(buf, "Waits until N wait at the same barrier, then all go on. It can be used "
                         "again at once.\n"
                         "\n"
                         "  weft barrier wait --at localhost start --count 4\n"
                         "\n"
                         "Usage: weft barrier wait [options] PATH\n"
                         "\n"
                         "Options:\n");
    args_format_help(buf, wait_options, NULL);
    buf_append_text(buf, "\nExit: 0 all were there, 2 wrong usage or another count, 3 the host is "
                         "out of reach, 6 not\nall came in time.\n");
}

static int cmd_barrier_wait(char *const *words, size_t count)
{
    struct request request = {0};
    struct buf attributes = {0};
    struct peer_call call = {0};
    request.words =
        (struct tool_words){.options = wait_options, .take = take_option, .owner = &request};
    weft_err err =
        tool_words_read(&request.words, words, count, 1, 1, "weft barrier wait PATH --count N");
    if (!err && request.words.wants_help) {
        VEC_FINI(&request.words.words);
        return cmd_help((char *const[]){"barrier", "wait"}, 2);
    }
    if (request.count)
        call_write_u32(&attributes, (uint32_t)request.count);
    if (!err)
        err = tool_words_open(&request.words, CALL_KIND_BARRIER, buf_bytes(&attributes), false,
                              &request.barrier);
    request.barrier.timeout_ms = request.timeout_ms;
    if (!err)
        err = remote_ask(&request.barrier, CALL_BARRIER_WAIT, 0, NULL, 0, &call);
    if (err == WEFT_DEADLINE_EXCEEDED)
        err = err_set(err, "%s: not all came in time", request.barrier.path);
    peer_call_fini(&call);
    buf_fini(&attributes);
    return tool_words_end(&request.words, &request.barrier, err);
}

// ---- rm and ls ---------------------------------------------------------------------------------------------------

static const struct args_option plain_options[] = {TOOL_OPTIONS};

static void help_format_rm(struct buf *buf)
{
    buf_append_text(buf, "Removes a barrier. Who waits at it fails.\n"
                         "\n"
                         "  weft barrier rm start\n"
                         "\n"
                         "Usage: weft barrier rm [options] PATH\n"
                         "\n"
                         "Options:\n");
    args_format_help(buf, plain_options, NULL);
    buf_append_text(buf,
                    "\nExit: 0 done, 3 the host is out of reach, 4 there is no such barrier.\n");
}

static int cmd_barrier_rm(char *const *words, size_t count)
{
    struct request request = {.words = {.options = plain_options}};
    weft_err err = tool_words_read(&request.words, words, count, 1, 1, "weft barrier rm PATH");
    if (!err && request.words.wants_help) {
        VEC_FINI(&request.words.words);
        return cmd_help((char *const[]){"barrier", "rm"}, 2);
    }
    if (!err)
        err =
            tool_words_open(&request.words, CALL_KIND_BARRIER, weft_none(), true, &request.barrier);
    if (!err)
        err = remote_remove(&request.barrier);
    return tool_words_end(&request.words, &request.barrier, err);
}

static void help_format_ls(struct buf *buf)
{
    buf_append_text(buf, "Prints all barriers and for how many they are, with a tab between.\n"
                         "\n"
                         "  weft barrier ls --at localhost\n"
                         "\n"
                         "Usage: weft barrier ls [options] [MEMBER]\n"
                         "\n"
                         "Options:\n");
    args_format_help(buf, plain_options, NULL);
    buf_append_text(buf, "\nExit: 0 done, 3 the host is out of reach.\n");
}

static weft_err append_barrier(void *owner, const struct tool_resource *resource, struct buf *out)
{
    const struct request *request = owner;
    struct remote barrier = {0};
    weft_err err = remote_open(request->words.cluster, resource->path, CALL_KIND_BARRIER,
                               weft_none(), &barrier);
    if (!err)
        err = remote_make(&barrier);
    struct call_reader reader = {buf_bytes(&barrier.found), false};
    if (!err)
        buf_format(out, "%s\t%" PRIu32 "\n", resource->path, call_read_u32(&reader));
    remote_fini(&barrier);
    return err;
}

static int cmd_barrier_ls(char *const *words, size_t count)
{
    struct request request = {.words = {.options = plain_options, .owner = &request}};
    struct buf out = {0};
    weft_err err = tool_words_read(&request.words, words, count, 0, 1, "weft barrier ls [MEMBER]");
    if (!err && request.words.wants_help) {
        VEC_FINI(&request.words.words);
        return cmd_help((char *const[]){"barrier", "ls"}, 2);
    }
    if (!err)
        err = tool_words_list(&request.words, CALL_KIND_BARRIER, append_barrier, &out);
    return tool_words_print(&request.words, NULL, err, &out);
}

static const struct tool_verb verbs[] = {
    {"wait", cmd_barrier_wait, help_format_wait, "go on when so many wait"},
    {"rm", cmd_barrier_rm, help_format_rm, "remove it, for everyone"},
    {"ls", cmd_barrier_ls, help_format_ls, "all barriers"},
    {0},
};

const struct tool_group barrier_group = {
    .name = "barrier",
    .introduction = "Lets programs and scripts wait for each other, at a host (weft host) or a "
                    "member of a cluster.\n"
                    "\n"
                    "  weft barrier wait --at localhost start --count 4    in four places\n",
    .end = "PATH is the barrier's name on the host of --at, or /ROLE/INDEX/NAME in the cluster of\n"
           "TF_CONFIG. export WEFT_AT=localhost saves the --at.\n",
    .verbs = verbs,
};

int cmd_barrier(char *const *words, size_t count)
{
    return tool_group_run(&barrier_group, words, count);
}
