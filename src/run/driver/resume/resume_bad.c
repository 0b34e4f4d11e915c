// resume_bad: what --skip-bad left out of work that is taken over is part of the answer like the
// rest, so it is noted with it: the list names all of them, and the limit is for all runs together.
//
//   RECORD_BAD       found by tries; it is left out from the beginning of the next run on
//   RECORD_LEFT_OUT  by a map task, noted just before the task's output is; counts if that is taken over
//   RECORD_READ      how many records the task had, for a limit in percent; likewise

#include "run/driver/resume/resume_state.h"

#include "store/journal/journal.h"

#include <stdlib.h>

struct bad_head {
    uint32_t task, input;
    uint64_t offset, size;
    uint32_t text_size, reason_size;  // both follow
};

struct read_record {
    uint32_t task, unused;
    uint64_t records;
};

// ---- Noting -------------------------------------------------------------------------------------

static weft_err note(struct resume *resume, enum resume_record type, uint32_t task,
                     const struct bad_record *bad)
{
    const struct bad_head head = {
        task,      bad->place.input, bad->place.offset,
        bad->size, bad->text_size,   (uint32_t)strnlen(bad->reason, sizeof bad->reason)};
    struct buf payload = {0};
    buf_append(&payload, &head, sizeof head);
    buf_append(&payload, bad->text, head.text_size);
    buf_append(&payload, bad->reason, head.reason_size);
    const weft_err code = payload.has_failed
                              ? err_no_memory("for bad records")
                              : journal_append(resume->journal, type, buf_bytes(&payload));
    buf_fini(&payload);
    return code;
}

weft_err resume_note_bad(struct resume *resume, const struct bad_record *bad)
{
    if (!resume->journal)
        return WEFT_OK;
    const weft_err code = note(resume, RECORD_BAD, 0, bad);
    return code == WEFT_OK ? journal_flush(resume->journal) : code;
}

weft_err resume_note_left_out(struct resume *resume, uint32_t task)
{
    const size_t number = run_plan_number(resume->options.plan, 0, SCHED_MAP, task);
    const struct tally_task *tally = &resume->options.tally->tasks[number];
    const struct read_record read = {.task = task, .records = tally->records_in};
    weft_err code = journal_append(resume->journal, RECORD_READ,
                                   (weft_bytes){(const char *)&read, sizeof read});
    const struct bad_record *bad;
    for (size_t next = 0;
         code == WEFT_OK && (bad = bad_records_next(resume->options.bad, number, &next));)
        code = note(resume, RECORD_LEFT_OUT, task, bad);
    return code;
}

// ---- Taking over --------------------------------------------------------------------------------

static bool parse(const struct resume *resume, weft_bytes payload, struct resume_found *found)
{
    struct bad_head head;
    if (payload.size < sizeof head)
        return false;
    memcpy(&head, payload.data, sizeof head);
    *found = (struct resume_found){.task = head.task};
    struct bad_record *bad = &found->bad;
    if (head.text_size > sizeof bad->text || head.reason_size >= sizeof bad->reason ||
        payload.size != sizeof head + head.text_size + head.reason_size ||
        head.input >= resume->options.plan->inputs.count)
        return false;
    bad->place = (struct place){head.input, head.offset};
    bad->size = head.size;
    bad->text_size = head.text_size;
    memcpy(bad->text, payload.data + sizeof head, head.text_size);
    memcpy(bad->reason, payload.data + sizeof head + head.text_size, head.reason_size);
    return true;
}

weft_err resume_take_bad(struct resume *resume, enum resume_record type, weft_bytes payload)
{
    struct resume_found found;
    struct read_record read;
    bool is_kept = true;
    if (type == RECORD_READ && payload.size == sizeof read) {
        memcpy(&read, payload.data, sizeof read);
        found = (struct resume_found){.task = read.task, .records = read.records, .is_read = true};
        is_kept = VEC_PUSH(&resume->left_out, found);
    } else if (type != RECORD_READ && parse(resume, payload, &found)) {
        if (type == RECORD_BAD)
            return bad_records_add(resume->options.bad, &found.bad);
        is_kept = VEC_PUSH(&resume->left_out, found);
    }
    return is_kept ? WEFT_OK : err_no_memory("for bad records");
}

// Walks back: a task may have been noted twice, when its output was lost once. Its last READ and the records after
// that count.
static weft_err restore_backwards(struct resume *resume, bool *is_settled)
{
    const struct run_stage *stage = &resume->options.plan->stages[0];
    for (size_t i = resume->left_out.count; i-- > 0;) {
        struct resume_found *found = &resume->left_out.items[i];
        if (found->task >= stage->map_count || is_settled[found->task]) {
            found->records = 0;
            continue;
        }
        const size_t number = stage->first_task[SCHED_MAP] + found->task;
        weft_err code = WEFT_OK;
        if (found->is_read)
            is_settled[found->task] = true;
        else
            code = bad_records_restore(resume->options.bad, number, &found->bad);
        if (code != WEFT_OK)
            return code;
    }
    return WEFT_OK;
}

weft_err resume_restore_bad(struct resume *resume)
{
    if (resume->left_out.count == 0)
        return WEFT_OK;
    bool *is_settled =
        calloc(resume->options.plan->stages[0].map_count + (size_t)1, sizeof *is_settled);
    const weft_err code =
        is_settled ? restore_backwards(resume, is_settled) : err_no_memory("for bad records");
    free(is_settled);
    return code;
}

uint64_t resume_record_count(const struct resume *resume)
{
    const struct run_stage *stage = &resume->options.plan->stages[0];
    uint64_t records = 0;
    for (size_t i = 0; i < resume->left_out.count; i++) {
        const struct resume_found *found = &resume->left_out.items[i];
        if (!found->is_read || found->task >= stage->map_count)
            continue;
        const size_t number = stage->first_task[SCHED_MAP] + found->task;
        if (resume->options.tally->tasks[number].attempt == TALLY_NO_ATTEMPT)
            records += found->records;
    }
    return records;
}
