// Fuzzes a host: calls of several members that are mostly valid, cancels, ends of sessions, time and a
// journal that refuses now and then; and a journal of any bytes.
//
//   0   u8   255: the rest is a journal, {u8 type, u8 size, payload} again and again, which must be
//            refused or done, but never harm. Below: bits of how the queues are made:
//            1 capacity 2; 2 capacity of 24 bytes; 4 two deliveries at most
//   1        steps of 2 bytes: {member and what, how}
//
// After the steps a replay of the journal gives the same host, and so does a snapshot taken in the middle
// with the rest behind it.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "resource/host.h"
#include "wire/pack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MEMBERS = 4, QUEUES = 2, ITEMS = 8, STEPS_MAX = 4000 };

struct member {
    struct session *session;
    uint64_t sequence, ask_sequence, answered;
    struct call_item items[ITEMS];  // the last ones it took
    uint32_t item_count;
};

static struct {
    struct host *host;
    struct host_options options;
    struct buf journal;
    size_t snapshot_at;  // in the journal
    struct buf snapshot;
    bool refuses;
    uint8_t bits, id;
    struct member members[MEMBERS];
} fuzz;

// ---- The journal -----------------------------------------------------------------------------------------

static weft_err record(void *owner, uint32_t type, weft_bytes payload)
{
    if (owner == &fuzz.journal && fuzz.refuses)
        return err_set(WEFT_RESOURCE_EXHAUSTED, "full");
    pack_write_u32(owner, type);
    pack_write_blob(owner, payload);
    return WEFT_OK;
}

static struct host *replayed(weft_bytes first, weft_bytes second)
{
    struct host_options options = fuzz.options;
    options.log = NULL;
    struct host *host = host_new(&options);
    ASSERT(host);
    host_set_time(host, host_time(fuzz.host));
    for (int i = 0; i < 2; i++) {
        struct pack_reader reader = {i ? second : first, false};
        while (reader.rest.size) {
            const uint32_t type = pack_read_u32(&reader);
            const weft_err err = host_replay(host, type, pack_read_blob(&reader));
            if (err)
                fprintf(stderr, "%s\n", err_text());
            ASSERT(!err && !reader.has_failed);
        }
    }
    return host;
}

static void check_same(weft_bytes first, weft_bytes second)
{
    struct buf wanted = {0}, got = {0};
    struct host *host = replayed(first, second);
    ASSERT(!host_save(fuzz.host, record, &wanted) && !host_save(host, record, &got));
    ASSERT(bytes_equal(buf_bytes(&wanted), buf_bytes(&got)));
    buf_fini(&wanted);
    buf_fini(&got);
    host_free(host);
}

// ---- Members ---------------------------------------------------------------------------------------------

static void send_call(struct member *member, uint8_t op, uint8_t flags, uint16_t handle,
                      weft_bytes payload)
{
    const uint64_t sequence =
        call_op_changes(op) ? ++member->sequence : (++member->ask_sequence | CALL_ASKS_BIT);
    struct buf bytes = {0};
    call_append_head(&bytes, op, flags, handle, sequence, payload.size);
    buf_append(&bytes, payload.data, payload.size);
    weft_bytes rest = buf_bytes(&bytes);
    struct call call;
    ASSERT(!call_next(&rest, &call));
    if (host_call(fuzz.host, member->session, &call, member->answered)) {
        ASSERT(fuzz.refuses && call_op_changes(op));
        err_clear();
        member->sequence--;  // not done: the number is free
    }
    buf_fini(&bytes);
}

static void open_queues(struct member *member)
{
    static const char *const names[] = {"q", "q.dead"};
    struct buf payload = {0};
    for (uint16_t i = 0; i < QUEUES; i++) {
        payload.size = 0;
        pack_write_u8(&payload, CALL_KIND_QUEUE);
        pack_write_text(&payload, weft_none());
        pack_write_text(&payload, weft_text(names[i]));
        if (i == 0) {
            pack_write_u64(&payload, fuzz.bits & 1 ? 2 : UINT64_MAX);
            pack_write_u64(&payload, fuzz.bits & 2 ? 24 : 0);
            pack_write_u32(&payload, fuzz.bits & 4 ? 2 : 0);
        }
        send_call(member, CALL_OPEN, 0, i, buf_bytes(&payload));
    }
    buf_fini(&payload);
}

static void join(struct member *member)
{
    char name[16];
    *member = (struct member){0};
    snprintf(name, sizeof name, "/work/%u", (unsigned)(member - fuzz.members));
    struct session_name session_name = {.id = {++fuzz.id}, .member = name};
    if (host_open_session(fuzz.host, &session_name, &member->session))
        member->session = NULL;
    else
        open_queues(member);
}

// Looks at what it was sent: items to be done with.
static void receive(struct member *member)
{
    weft_bytes rest = session_unsent(member->session);
    const size_t size = rest.size;
    struct answer answer;
    while (rest.size) {
        ASSERT(!answer_next(&rest, &answer));
        member->answered += answer.flags >> 7;
        struct pack_reader reader = {answer.payload, false};
        struct call_item item;
        pack_read_item(&reader, &item);
        if (!answer.code && !reader.has_failed && item.delivery - 1 < 8)
            member->items[member->item_count++ % ITEMS] = item;
    }
    session_sent(member->session, size);
}

static void push(struct member *member, uint8_t how)
{
    char payload[64] = {1, 0, (char)('a' + how % 4)};
    const bool is_keyed = how & 4;
    send_call(member, CALL_QUEUE_PUSH, is_keyed ? CALL_FLAG_KEYED : how & 1, how >> 7,
              (weft_bytes){payload, is_keyed ? 3u + how % 16 : how % 32});
}

static void push_many(struct member *member, uint8_t how)
{
    struct buf payload = {0};
    pack_write_u32(&payload, how % 8);
    for (uint32_t i = 0; i < how % 8u; i++)
        pack_write_blob(&payload, (weft_bytes){"abcdefghijklmnopqrstuvwxyz", i * (how >> 5) % 26});
    send_call(member, CALL_QUEUE_PUSH_MANY, 0, how >> 7, buf_bytes(&payload));
    buf_fini(&payload);
}

static void settle(struct member *member, uint8_t op, uint8_t how)
{
    struct buf payload = {0};
    pack_write_item(&payload, &member->items[how % ITEMS]);
    if (op != CALL_QUEUE_DONE)
        pack_write_u32(&payload, how >> 4);
    send_call(member, op, how & 8 ? CALL_FLAG_BURY : 0, how >> 7, buf_bytes(&payload));
    buf_fini(&payload);
}

static void call_number(struct member *member, uint8_t op, uint8_t flags, uint16_t handle,
                        uint32_t number)
{
    send_call(member, op, flags, handle, (weft_bytes){(const char *)&number, sizeof number});
}

// ---- Steps -----------------------------------------------------------------------------------------------

static void release(struct member *member, uint8_t how)
{
    send_call(member, CALL_RELEASE, 0, how & 1, weft_none());
    if (how & 2)
        open_queues(member);
}

static void do_rare(struct member *member, uint8_t how)
{
    const uint64_t cancelled = member->sequence - (how & 7);
    switch (how >> 4) {
    case 0:
        if (host_end_session(fuzz.host, member->session)) {
            err_clear();
            return;
        }
        join(member);
        return;
    case 1:
        fuzz.refuses = how & 1;
        return;
    case 2:
        send_call(member, CALL_QUEUE_CLOSE, how & 1 ? CALL_FLAG_CANCEL_PENDING : 0, how >> 1 & 1,
                  weft_none());
        return;
    case 3:
        send_call(member, CALL_LEAVE, 0, 0, weft_none());
        return;
    case 4:
        send_call(member, CALL_REMOVE, 0, how & 1, weft_none());
        return;
    case 5:
        fuzz.snapshot.size = 0;
        ASSERT(!host_save(fuzz.host, record, &fuzz.snapshot));
        fuzz.snapshot_at = fuzz.journal.size;
        return;
    case 6:
        session_rewind(member->session);
        return;
    case 7:
        call_number(member, CALL_QUEUE_PEEK, 0, how & 1, how);
        return;
    case 8:
        release(member, how);
        return;
    default:
        send_call(member, CALL_CANCEL, 0, 0, (weft_bytes){(const char *)&cancelled, 8});
    }
}

static void do_step(uint8_t what, uint8_t how)
{
    struct member *member = &fuzz.members[what % MEMBERS];
    if (!member->session)
        join(member);
    if (!member->session)
        return;
    switch (what / MEMBERS % 10) {
    case 0:
        push(member, how);
        break;
    case 1:
        push_many(member, how);
        break;
    case 2:
        send_call(member, CALL_QUEUE_POP, 0, how >> 7, weft_none());
        break;
    case 3:
        call_number(member, CALL_QUEUE_POP_MANY, how & 64 ? CALL_FLAG_UP_TO : 0, how >> 7, how % 8);
        break;
    case 4:
    case 5:
        call_number(member, CALL_QUEUE_TAKE, 0, how >> 7, how % 16);
        break;
    case 6:
        settle(member, CALL_QUEUE_DONE, how);
        break;
    case 7:
        settle(member, how & 64 ? CALL_QUEUE_EXTEND : CALL_QUEUE_GIVE_BACK, how);
        break;
    case 8:
        host_set_time(fuzz.host, host_time(fuzz.host) + how % 32);
        host_expire(fuzz.host);
        break;
    default:
        do_rare(member, how);
    }
    if (member->session && how & 32)
        receive(member);
}

static void run_steps(const uint8_t *data, size_t size)
{
    fuzz.options = (struct host_options){.member = "/work/9",
                                         .epoch = 1 << 20,
                                         .seed = 3,
                                         .log = record,
                                         .log_owner = &fuzz.journal};
    fuzz.host = host_new(&fuzz.options);
    ASSERT(fuzz.host && !host_log_epoch(fuzz.host));
    for (size_t at = 0; at + 1 < size && at < 2 * STEPS_MAX; at += 2)
        do_step(data[at], data[at + 1]);
    // What was acknowledged with a question is not in the journal: a last call of each brings it there.
    fuzz.refuses = false;
    for (int i = 0; i < MEMBERS; i++)
        if (fuzz.members[i].session)
            send_call(&fuzz.members[i], CALL_CANCEL, 0, 0, weft_none());
    const weft_bytes journal = buf_bytes(&fuzz.journal);
    check_same(journal, weft_none());
    if (fuzz.snapshot.size)
        check_same(buf_bytes(&fuzz.snapshot),
                   (weft_bytes){journal.data + fuzz.snapshot_at, journal.size - fuzz.snapshot_at});
    host_free(fuzz.host);
    buf_fini(&fuzz.journal);
    buf_fini(&fuzz.snapshot);
}

// ---- A journal of any bytes ------------------------------------------------------------------------------

static void run_journal(const uint8_t *data, size_t size)
{
    struct host *host = host_new(&(struct host_options){.member = "/work/9"});
    ASSERT(host);
    for (size_t at = 0; at + 2 <= size;) {
        const size_t left = size - at - 2, wanted = data[at + 1];
        const size_t payload = wanted < left ? wanted : left;
        const weft_err err =
            host_replay(host, data[at], (weft_bytes){(const char *)data + at + 2, payload});
        ASSERT(err == WEFT_OK || err == WEFT_DATA_LOSS);
        at += 2 + payload;
    }
    host_set_time(host, 1 << 20);
    host_expire(host);
    struct buf saved = {0};
    ASSERT(!host_save(host, record, &saved));
    buf_fini(&saved);
    host_free(host);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    memset(&fuzz, 0, sizeof fuzz);
    fuzz.bits = data[0];
    if (data[0] == 255)
        run_journal(data + 1, size - 1);
    else
        run_steps(data + 1, size - 1);
    err_clear();
    return 0;
}
