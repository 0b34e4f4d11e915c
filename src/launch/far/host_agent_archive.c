// Archives of weft pack on a host (pack/environments.h): one that the host has is there at once, another one is received in
// pieces and unpacked. Looking and unpacking may take seconds, and heartbeats must not stop for that long: a thread does each, and
// the loop is woken at its end. The launcher speaks of one file at a time, so there is one thread at most.

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "launch/far/host_agent_state.h"
#include "pack/environments.h"
#include "sys/thread/thread.h"

struct archive {
    uint32_t number;
    struct environment environment;
};

struct host_agent_archives {
    struct environments *all;  // NULL: not opened yet
    VEC(struct archive *) there;

    // The one that is being received; it is the thread's while one runs.
    bool is_busy, is_received;
    uint32_t number;
    uint64_t left;
    char hash[2 * FAR_HASH_BYTES + 1];
    struct environment_intake *intake;
    struct archive *found;  // once it is found or unpacked
    weft_err err;
    struct err_kept why;

    struct thread thread;
    bool is_running;
    // Guarded by the mutex. An agent that ends does not wait for its thread, which then frees all of this.
    struct mutex mutex;
    bool has_ended, is_left;
    struct loop *loop;
};

static void free_archives(struct host_agent_archives *archives)
{
    for (size_t i = 0; i < archives->there.count; i++) {
        environment_release(&archives->there.items[i]->environment);
        free(archives->there.items[i]);
    }
    VEC_FINI(&archives->there);
    environment_intake_free(archives->intake);
    environments_close(archives->all);
    mutex_fini(&archives->mutex);
    free(archives);
}

// ---- In the thread -----------------------------------------------------------------------------------------

static void end_thread(struct host_agent_archives *archives, weft_err err)
{
    archives->err = err;
    if (err)
        err_keep(&archives->why);
    err_clear();
    mutex_lock(&archives->mutex);
    archives->has_ended = true;
    const bool is_left = archives->is_left;
    if (!is_left)
        loop_wake(archives->loop);
    mutex_unlock(&archives->mutex);
    if (is_left)
        free_archives(archives);
}

// Looks for it, and prepares to receive it where it is missing.
static void look(void *owner)
{
    struct host_agent_archives *archives = owner;
    struct archive *found = calloc(1, sizeof *found);
    weft_err err = found ? WEFT_OK : err_no_memory("for an archive");
    if (!err && !archives->all)
        err = environments_open(NULL, &archives->all);
    if (!err) {
        found->number = archives->number;
        err = environments_find(archives->all, archives->hash, &found->environment);
        if (!err)
            archives->found = found;
        else if (err == WEFT_NOT_FOUND)
            err = environment_intake_new(archives->all, archives->hash, &archives->intake);
    }
    if (archives->found != found)
        free(found);
    end_thread(archives, err);
}

static void unpack(void *owner)
{
    struct host_agent_archives *archives = owner;
    struct archive *found = calloc(1, sizeof *found);
    weft_err err = found ? WEFT_OK : err_no_memory("for an archive");
    if (!err) {
        found->number = archives->number;
        err = environment_intake_end(archives->intake, &found->environment);
    }
    if (!err)
        archives->found = found;
    else
        free(found);
    environment_intake_free(archives->intake);
    archives->intake = NULL;
    end_thread(archives, err);
}

// ---- In the loop -------------------------------------------------------------------------------------------

static void finish(struct host_agent *agent, weft_err err)
{
    struct host_agent_archives *archives = agent->archives;
    if (archives->found && !VEC_PUSH(&archives->there, archives->found)) {
        environment_release(&archives->found->environment);
        free(archives->found);
        err = err_no_memory("for an archive");
    }
    archives->found = NULL;
    archives->is_busy = false;
    environment_intake_free(archives->intake);
    archives->intake = NULL;
    host_agent_say_file(agent, archives->number, !err, err);
}

static void start(struct host_agent *agent, void (*body)(void *))
{
    struct host_agent_archives *archives = agent->archives;
    archives->has_ended = false;
    const weft_err err = thread_start(&archives->thread, body, archives, 0);
    archives->is_running = !err;
    if (err)
        finish(agent, err);
}

bool host_agent_takes_archive(const struct host_agent *agent)
{
    return agent->archives && agent->archives->is_busy;
}

static void write_hash(char *text, const uint8_t *hash)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < FAR_HASH_BYTES; i++) {
        *text++ = digits[hash[i] >> 4];
        *text++ = digits[hash[i] & 15];
    }
    *text = 0;
}

static struct host_agent_archives *make_archives(struct host_agent *agent)
{
    struct host_agent_archives *archives = calloc(1, sizeof *archives);
    if (!archives)
        return NULL;
    mutex_init(&archives->mutex);
    archives->loop = agent->loop;
    return archives;
}

void host_agent_take_archive(struct host_agent *agent, const Weft__AgentFile *message)
{
    if (!agent->archives)
        agent->archives = make_archives(agent);
    struct host_agent_archives *archives = agent->archives;
    if (!archives) {
        host_agent_say_file(agent, message->number, false, err_no_memory("for an archive"));
        return;
    }
    archives->is_busy = true;
    archives->is_received = false;
    archives->number = message->number;
    archives->left = message->size;
    write_hash(archives->hash, message->hash.data);
    start(agent, look);
}

// Pieces may still come of an archive that has failed; none comes while a thread has it.
void host_agent_take_archive_piece(struct host_agent *agent, const Weft__AgentPiece *message)
{
    struct host_agent_archives *archives = agent->archives;
    if (archives->is_running || !archives->intake || archives->number != message->number)
        return;
    weft_err err = WEFT_OK;
    if (message->data.len > archives->left)
        err = err_set(WEFT_DATA_LOSS, "an archive has changed while it was sent");
    if (!err)
        err = environment_intake_put(archives->intake, message->data.data, message->data.len);
    if (err) {
        finish(agent, err);
        return;
    }
    archives->left -= message->data.len;
    archives->is_received = archives->left == 0;
    if (archives->is_received)
        start(agent, unpack);
}

static bool has_ended(struct host_agent_archives *archives)
{
    mutex_lock(&archives->mutex);
    const bool has_ended = archives->has_ended;
    mutex_unlock(&archives->mutex);
    return archives->is_running && has_ended;
}

void host_agent_archive_woken(void *owner)
{
    struct host_agent *agent = owner;
    struct host_agent_archives *archives = agent->archives;
    if (!archives || !has_ended(archives))
        return;
    thread_join(&archives->thread);
    archives->is_running = false;
    if (archives->err)
        err_put_back(&archives->why);
    if (archives->err || archives->found)
        finish(agent, archives->err);
    else
        host_agent_say_file(agent, archives->number, false, WEFT_OK);
}

void host_agent_end_archives(struct host_agent *agent)
{
    struct host_agent_archives *archives = agent->archives;
    agent->archives = NULL;
    if (!archives)
        return;
    mutex_lock(&archives->mutex);
    archives->is_left = archives->is_running && !archives->has_ended;
    const bool is_left = archives->is_left;
    mutex_unlock(&archives->mutex);
    if (is_left)
        return;
    if (archives->is_running)
        thread_join(&archives->thread);
    free_archives(archives);
}

// ---- Members -----------------------------------------------------------------------------------------------

static bool is_given(const char *variable, char *const *given, size_t count)
{
    const size_t size = strcspn(variable, "=") + 1;
    for (size_t i = 0; i < count; i++)
        if (strncmp(given[i], variable, size) == 0)
            return true;
    return false;
}

static void append_missing(struct buf *variables, const struct buf *all, char *const *given,
                           size_t count)
{
    for (size_t at = 0; at < all->size; at += strlen(all->data + at) + 1)
        if (!is_given(all->data + at, given, count))
            buf_append(variables, all->data + at, strlen(all->data + at) + 1);
}

weft_err host_agent_append_archive(const struct host_agent *agent, uint32_t number,
                                   char *const *given, size_t given_count, struct buf *variables)
{
    const struct host_agent_archives *archives = agent->archives;
    for (size_t i = 0; archives && i < archives->there.count; i++) {
        const struct archive *archive = archives->there.items[i];
        struct buf all = {0};
        if (archive->number != number)
            continue;
        environment_append_variables(&archive->environment, getenv("PATH"), &all);
        if (!all.has_failed)
            append_missing(variables, &all, given, given_count);
        const bool is_whole = !all.has_failed && !variables->has_failed;
        buf_fini(&all);
        return is_whole ? WEFT_OK : err_no_memory("for the variables of an archive");
    }
    return err_set(WEFT_DATA_LOSS, "a member is started with an archive that is not there");
}
