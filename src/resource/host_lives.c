// The lives of a host, and the facts about them that clients may know when they come again.
//
// A journal that is put back from a copy, or cut by a repair, is sound and lacks its end. Clients that
// know of changes that it lacks must be notified: by themselves they would continue as if nothing were missing. They
// say in their hello in which life of the host they last were and how many of their calls and answers they
// know to be there. A life is noted in the journal when it begins, by a number and a mark that is drawn:
//
//     journal         life 1 ... life 2 ... | life 3' ...        | lost: the end of life 2, and life 3
//     a client of 2   knows more of its session than there was when life 3' began, or just that much
//     a client of 3   knows a life with that number and another mark
//
// The counts of a session when lives began are kept for the last few: within them it continues or is given up.

#include "resource/host.h"
#include "resource/host_state.h"
#include "wire/pack.h"

static void add_life(struct host *host, uint64_t mark, uint32_t session_count)
{
    const size_t kept = sizeof host->lives / sizeof *host->lives;
    host->life++;
    host->lives[host->life % kept] = (struct host_life){mark, session_count};
}

static void add_start(struct session *session, const struct session_start *start)
{
    if (session->start_count == SESSION_STARTS_MAX)
        memmove(session->starts, session->starts + 1,
                --session->start_count * sizeof *session->starts);
    session->starts[session->start_count++] = *start;
}

static void begin_life(struct host *host, uint64_t mark)
{
    add_life(host, mark, host->session_count_ever);
    for (size_t i = 0; i < host->sessions.count; i++) {
        struct session *session = host->sessions.items[i];
        const struct session_start start = {host->life, session->applied,
                                            session_answer_count(session)};
        add_start(session, &start);
    }
}

weft_err host_begin_life(struct host *host, uint64_t mark)
{
    const weft_err err =
        host_log(host, HOST_RECORD_LIFE, (weft_bytes){(const char *)&mark, sizeof mark});
    if (!err)
        begin_life(host, mark);
    return err;
}

weft_err host_replay_life(struct host *host, struct pack_reader *reader)
{
    const uint64_t mark = pack_read_u64(reader);
    if (!reader->has_failed)
        begin_life(host, mark);
    return WEFT_OK;
}

uint64_t host_life(const struct host *host, uint64_t *mark)
{
    *mark = host->life ? host->lives[host->life % HOST_LIVES_MAX].mark : 0;
    return host->life;
}

// ---- Snapshots -------------------------------------------------------------------------------------------

void host_write_lives(const struct host *host, struct buf *record)
{
    const uint64_t count = host->life < HOST_LIVES_MAX ? host->life : HOST_LIVES_MAX;
    record->size = 0;
    pack_write_u64(record, host->life);
    for (uint64_t life = host->life - count + 1; life <= host->life; life++) {
        pack_write_u64(record, host->lives[life % HOST_LIVES_MAX].mark);
        pack_write_u32(record, host->lives[life % HOST_LIVES_MAX].session_count);
    }
}

weft_err host_replay_lives(struct host *host, struct pack_reader *reader)
{
    const uint64_t last = pack_read_u64(reader);
    const uint64_t count = last < HOST_LIVES_MAX ? last : HOST_LIVES_MAX;
    host->life = last - count;
    for (uint64_t i = 0; i < count && !reader->has_failed; i++) {
        const uint64_t mark = pack_read_u64(reader);
        add_life(host, mark, pack_read_u32(reader));
    }
    return WEFT_OK;
}

void host_write_starts(const struct session *session, struct buf *record)
{
    record->size = 0;
    pack_write_u32(record, session->number);
    for (uint32_t i = 0; i < session->start_count; i++) {
        pack_write_u64(record, session->starts[i].life);
        pack_write_u64(record, session->starts[i].applied);
        pack_write_u64(record, session->starts[i].answers);
    }
}

weft_err host_replay_starts(struct host *host, struct pack_reader *reader)
{
    struct session *session = host_session_by_number(host, pack_read_u32(reader));
    if (!session)
        return err_set(WEFT_DATA_LOSS,
                       "the journal of a host does not fit together: lives of an unknown session");
    while (reader->rest.size && !reader->has_failed) {
        struct session_start start = {.life = pack_read_u64(reader)};
        start.applied = pack_read_u64(reader);
        start.answers = pack_read_u64(reader);
        add_start(session, &start);
    }
    return WEFT_OK;
}

// ---- Who comes again -------------------------------------------------------------------------------------

static weft_err refuse_loss(const struct host *host, const char *what)
{
    return err_set(
        WEFT_DATA_LOSS,
        "%s has lost calls that it had acknowledged: its journal is an older one, was repaired, or "
        "is another (%s)\n  try: look at the present state, and repeat the missing calls",
        host->member[0] ? host->member : "the host", what);
}

// Whether the life that it knows is one of this journal.
static bool knows_life(const struct host *host, const struct host_memory *memory)
{
    if (memory->life > host->life)
        return false;
    const bool is_forgotten = host->life - memory->life >= HOST_LIVES_MAX;
    return is_forgotten || host->lives[memory->life % HOST_LIVES_MAX].mark == memory->mark;
}

weft_err host_check_memory(const struct host *host, const struct session *session,
                           const struct host_memory *memory)
{
    uint64_t applied = session->applied, answers = session_answer_count(session);
    if (memory->life && !knows_life(host, memory))
        return refuse_loss(host, "the life in which they last met is not in it");
    // Compared with the counts when the next life began: it cannot know later changes.
    for (uint32_t i = session->start_count; memory->life && i-- > 0;) {
        if (session->starts[i].life <= memory->life)
            break;
        applied = session->starts[i].applied;
        answers = session->starts[i].answers;
    }
    if (memory->changes > applied)
        return refuse_loss(host, "calls that it answered are not in it");
    if (memory->answers > answers)
        return refuse_loss(host, "answers that it gave are not in it");
    return WEFT_OK;
}

weft_err host_check_stranger(const struct host *host, const struct host_memory *memory)
{
    if (!memory->life)
        return WEFT_OK;
    if (memory->epoch != host->options.epoch || !knows_life(host, memory))
        return refuse_loss(host, "the life in which they last met is not in it");
    const uint64_t next = memory->life + 1;
    const bool is_known = next <= host->life && host->life - next < HOST_LIVES_MAX;
    if (is_known && memory->session_number > host->lives[next % HOST_LIVES_MAX].session_count)
        return refuse_loss(host, "the session between them is not in it");
    return WEFT_OK;
}
