// resume_far: how a server that is started again and its clients find each other.
//
//   RECORD_RUN       drawn when the journal begins. Clients offer finished work of the run with that number only
//   RECORD_ENTRANCE  the port. The token, if it was made for this run, is in a file beside the journal, for its owner alone: the journal of
//                    an answer in another store goes there, too
//   RECORD_HOLDER    a client that has finished work, or (is_gone) does not any more

#include "run/driver/resume/resume_state.h"

#include "run/identity.h"
#include "store/journal/journal.h"
#include "sys/file/own.h"
#include "sys/secure/secret.h"

#include <stdlib.h>

struct entrance_record {
    uint32_t port;
};

struct holder_head {
    uint32_t is_gone, name_size;  // the name follows
};

static weft_err append(struct resume *resume, enum resume_record type, weft_bytes payload)
{
    const weft_err code = journal_append(resume->journal, type, payload);
    return code == WEFT_OK ? journal_flush(resume->journal) : code;
}

// ---- Taking over --------------------------------------------------------------------------------

static weft_err name_token(const struct resume *resume, struct buf *path)
{
    buf_format(path, "%s/" OUTPUT_JOURNAL "/" OUTPUT_TOKEN, output_resume_place(resume->output));
    return path->has_failed ? err_no_memory("to resume") : WEFT_OK;
}

// On another machine there is none.
static void read_token(struct resume *resume)
{
    char text[SECRET_TEXT_BYTES] = "";
    struct buf path = {0};
    size_t got;
    uint64_t size;
    int fd = -1;
    secret_clear(&resume->token);
    if (name_token(resume, &path) != WEFT_OK ||
        own_open_kept(buf_text(&path), &fd, &size) != WEFT_OK ||
        file_read_at(fd, buf_text(&path), text, sizeof text - 1, 0, &got) != WEFT_OK ||
        secret_read(text, &resume->token) != WEFT_OK) {
        err_clear();
        secret_clear(&resume->token);
    }
    file_close(fd);
    buf_fini(&path);
    secret_random(text, sizeof text);
}

static void take_entrance(struct resume *resume, weft_bytes payload)
{
    struct entrance_record record;
    if (payload.size != sizeof record)
        return;
    memcpy(&record, payload.data, sizeof record);
    if (record.port > UINT16_MAX)
        return;
    resume->port = (uint16_t)record.port;
    read_token(resume);
}

static size_t find_holder(const struct resume *resume, const char *name)
{
    size_t i = 0;
    while (i < resume->holders.count && strcmp(resume->holders.items[i], name) != 0)
        i++;
    return i;
}

static weft_err keep_holder(struct resume *resume, const char *name)
{
    if (find_holder(resume, name) < resume->holders.count)
        return WEFT_OK;
    char *copy = strdup(name);
    if (copy && VEC_PUSH(&resume->holders, copy))
        return WEFT_OK;
    free(copy);
    return err_no_memory("to resume");
}

void resume_strike_holder(struct resume *resume, const char *name)
{
    const size_t at = find_holder(resume, name);
    if (at == resume->holders.count)
        return;
    free(resume->holders.items[at]);
    resume->holders.items[at] = resume->holders.items[--resume->holders.count];
}

static weft_err take_holder(struct resume *resume, weft_bytes payload)
{
    struct holder_head head;
    if (payload.size < sizeof head)
        return WEFT_OK;
    memcpy(&head, payload.data, sizeof head);
    if (payload.size != sizeof head + head.name_size)
        return WEFT_OK;
    char *name = strndup(payload.data + sizeof head, head.name_size);
    if (!name)
        return err_no_memory("to resume");
    weft_err code = WEFT_OK;
    if (head.is_gone)
        resume_strike_holder(resume, name);
    else
        code = keep_holder(resume, name);
    free(name);
    return code;
}

weft_err resume_take_far(struct resume *resume, enum resume_record type, weft_bytes payload)
{
    if (type == RECORD_HOLDER)
        return take_holder(resume, payload);
    if (type == RECORD_ENTRANCE)
        take_entrance(resume, payload);
    else if (payload.size == sizeof resume->run) {
        memcpy(resume->run, payload.data, sizeof resume->run);
        resume->has_run = true;
    }
    return WEFT_OK;
}

void resume_forget_far(struct resume *resume)
{
    for (size_t i = 0; i < resume->holders.count; i++)
        free(resume->holders.items[i]);
    resume->holders.count = 0;
    resume->port = 0;
    secret_clear(&resume->token);
    resume->has_run = false;
}

// ---- Noting -------------------------------------------------------------------------------------

weft_err resume_begin_far(struct resume *resume)
{
    if (resume->has_run)
        return WEFT_OK;
    secret_random(resume->run, sizeof resume->run);
    resume->has_run = true;
    const weft_bytes payload = {(const char *)resume->run, sizeof resume->run};
    return resume->journal ? append(resume, RECORD_RUN, payload) : WEFT_OK;
}

static weft_err write_token(const struct resume *resume, const struct secret *token)
{
    char text[SECRET_TEXT_BYTES] = "";
    struct buf path = {0};
    int fd = -1;
    if (token)
        secret_write(token, text);
    weft_err code = name_token(resume, &path);
    if (code == WEFT_OK && !token)
        code = file_remove(buf_text(&path));
    else if (code == WEFT_OK)
        code = file_create_private(buf_text(&path), &fd);
    if (code == WEFT_OK && token)
        code = file_write(fd, buf_text(&path), text, strlen(text));
    file_close(fd);
    buf_fini(&path);
    secret_random(text, sizeof text);
    return code;
}

weft_err resume_note_entrance(struct resume *resume, uint16_t port, const struct secret *token)
{
    const struct entrance_record record = {.port = port};
    if (!resume->journal)
        return WEFT_OK;
    const weft_err code = write_token(resume, token);
    return code != WEFT_OK ? code
                           : append(resume, RECORD_ENTRANCE,
                                    (weft_bytes){(const char *)&record, sizeof record});
}

weft_err resume_note_holder(struct resume *resume, const char *name, bool is_gone)
{
    const struct holder_head head = {is_gone, (uint32_t)strlen(name)};
    struct buf payload = {0};
    if (!resume->journal)
        return WEFT_OK;
    resume->has_progress |= !is_gone;
    buf_append(&payload, &head, sizeof head);
    buf_append_text(&payload, name);
    const weft_err code = payload.has_failed ? err_no_memory("for a journal")
                                             : append(resume, RECORD_HOLDER, buf_bytes(&payload));
    buf_fini(&payload);
    return code;
}

// ---- Questions ------------------------------------------------------------------------------

weft_bytes resume_run(const struct resume *resume)
{
    return (weft_bytes){(const char *)resume->run, resume->has_run ? sizeof resume->run : 0};
}

uint16_t resume_port(const struct resume *resume)
{
    return resume->port;
}

const struct secret *resume_token(const struct resume *resume)
{
    return resume->token.size ? &resume->token : NULL;
}

size_t resume_holder_count(const struct resume *resume)
{
    return resume->holders.count;
}

const char *resume_holder(const struct resume *resume, size_t i)
{
    return resume->holders.items[i];
}

weft_err resume_flush(struct resume *resume)
{
    return resume->journal ? journal_flush(resume->journal) : WEFT_OK;
}

void resume_count_offered(struct resume *resume, uint32_t count)
{
    if (resume->has_begun)
        resume->restored_count += count;
}

bool resume_hash_cuts(const struct resume *resume, uint32_t stage, uint8_t key[IDENTITY_KEY_BYTES])
{
    const Weft__StagePlan *cuts = resume_find_cuts(resume, stage);
    if (cuts)
        identity_hash_keys(cuts->sample_keys, cuts->n_sample_keys, key);
    return cuts;
}
