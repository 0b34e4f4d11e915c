// What the tests of all kinds share: a host in memory, members that call it, and its journal.
//
// TEST(name) gives each test a host of its own. When the test is over the journal is replayed into a
// second host, which must be the same to the byte; so must be one that was loaded from a snapshot taken
// after any of the journal's records and then had the rest replayed.
//
//     struct testing_member *a = testing_join("/work/0");
//     uint16_t var = testing_open(a, CALL_KIND_VAR, "total", weft_none());
//     uint64_t add = testing_call(a, CALL_VAR_ADD, 0, var, PAYLOAD(U64(1)));
//     testing_expect(a, add, 0, PAYLOAD(U64(1), U64(1)));
#ifndef RESOURCE_RESOURCE_TESTING_H
#define RESOURCE_RESOURCE_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "resource/host.h"
#include "wire/pack.h"

enum {
    TESTING_MEMBERS_MAX = 16,
    TESTING_PAYLOADS_MAX = 64,
    TESTING_ALL_CUTS_MAX =
        200,  // journals of up to this many records are cut at each, others at some
};

// ---- Payloads ----------------------------------------------------------------------------------------

struct testing_piece {
    enum {
        PIECE_END,
        PIECE_U8,
        PIECE_U16,
        PIECE_U32,
        PIECE_U64,
        PIECE_DOUBLE,
        PIECE_RAW,
        PIECE_TEXT,
        PIECE_BLOB,
        PIECE_ITEM
    } what;
    uint64_t number;
    double real;
    weft_bytes bytes;
    struct call_item item;
};

#define U8(n)                                                                                      \
    {                                                                                              \
        .what = PIECE_U8, .number = (uint64_t)(n)                                                  \
    }
#define U16(n)                                                                                     \
    {                                                                                              \
        .what = PIECE_U16, .number = (uint64_t)(n)                                                 \
    }
#define U32(n)                                                                                     \
    {                                                                                              \
        .what = PIECE_U32, .number = (uint64_t)(n)                                                 \
    }
#define U64(n)                                                                                     \
    {                                                                                              \
        .what = PIECE_U64, .number = (uint64_t)(n)                                                 \
    }  // and an int64
#define DOUBLE(n)                                                                                  \
    {                                                                                              \
        .what = PIECE_DOUBLE, .real = (n)                                                          \
    }
#define RAW(text)                                                                                  \
    {                                                                                              \
        .what = PIECE_RAW, .bytes = weft_text(text)                                                \
    }
#define RAW_BYTES(b)                                                                               \
    {                                                                                              \
        .what = PIECE_RAW, .bytes = (b)                                                            \
    }
#define TEXT(text)                                                                                 \
    {                                                                                              \
        .what = PIECE_TEXT, .bytes = weft_text(text)                                               \
    }
#define BLOB(text)                                                                                 \
    {                                                                                              \
        .what = PIECE_BLOB, .bytes = weft_text(text)                                               \
    }
#define BLOB_BYTES(b)                                                                              \
    {                                                                                              \
        .what = PIECE_BLOB, .bytes = (b)                                                           \
    }
#define ITEM(...)                                                                                  \
    {                                                                                              \
        .what = PIECE_ITEM, .item = { __VA_ARGS__ }                                                \
    }

// The bytes of these pieces, one after the other; they live until 63 more payloads were made.
#define PAYLOAD(...)                                                                               \
    testing_payload((const struct testing_piece[]){__VA_ARGS__, {.what = PIECE_END}})

static struct buf testing_payloads[TESTING_PAYLOADS_MAX];

static inline void testing_append_piece(struct buf *out, const struct testing_piece *piece)
{
    switch (piece->what) {
    case PIECE_U8:
        pack_write_u8(out, (uint8_t)piece->number);
        return;
    case PIECE_U16:
        pack_write_u16(out, (uint16_t)piece->number);
        return;
    case PIECE_U32:
        pack_write_u32(out, (uint32_t)piece->number);
        return;
    case PIECE_U64:
        pack_write_u64(out, piece->number);
        return;
    case PIECE_DOUBLE:
        buf_append(out, &piece->real, sizeof piece->real);
        return;
    case PIECE_RAW:
        buf_append(out, piece->bytes.data, piece->bytes.size);
        return;
    case PIECE_TEXT:
        pack_write_text(out, piece->bytes);
        return;
    case PIECE_BLOB:
        pack_write_blob(out, piece->bytes);
        return;
    case PIECE_ITEM:
        pack_write_item(out, &piece->item);
        return;
    case PIECE_END:
        return;
    }
}

static inline weft_bytes testing_payload(const struct testing_piece *pieces)
{
    static unsigned next;
    struct buf *out = &testing_payloads[next++ % TESTING_PAYLOADS_MAX];
    out->size = 0;
    for (; pieces->what != PIECE_END; pieces++)
        testing_append_piece(out, pieces);
    return buf_bytes(out);
}

// ---- The host and its journal ------------------------------------------------------------------------

// One that calls. Answers that the test has not looked at yet are in its inbox.
struct testing_member {
    struct session *session;
    uint32_t number;                  // of the session
    uint64_t sequence, ask_sequence;  // the last ones used
    uint64_t answered;  // sent to the host with each changing call; the test's to raise
    uint16_t handle_count;
    struct buf inbox;  // answers
};

static struct testing {
    struct host *host;
    struct host_options options;
    struct buf journal;     // u32 type, blob payload: again and again
    size_t snapshot_count;  // how many of its first records are a snapshot, which is never cut
    weft_err
        refuses_with;  // what the journal says from now on; such a test's last call is not refused
    struct testing_member members[TESTING_MEMBERS_MAX];
    unsigned member_count;
} testing;

static inline void testing_must(weft_err err)
{
    if (err)
        fail_msg("%s: %s", weft_err_name(err), err_text());
}

static inline weft_err testing_record(void *owner, uint32_t type, weft_bytes payload)
{
    struct buf *journal = owner;
    if (journal == &testing.journal && testing.refuses_with)
        return err_set(testing.refuses_with, "the journal is full");
    pack_write_u32(journal, type);
    pack_write_blob(journal, payload);
    return WEFT_OK;
}

static inline int testing_start(void **state)
{
    (void)state;
    testing = (struct testing){.options = {.member = "/files/0",
                                           .epoch = UINT64_C(0x1111000000000000),
                                           .seed = 7,
                                           .log = testing_record,
                                           .log_owner = &testing.journal}};
    testing.host = host_new(&testing.options);
    assert_non_null(testing.host);
    testing_must(host_log_epoch(testing.host));
    return 0;
}

static inline int testing_start_as(void **state, bool ends_watches, bool gathers_calls)
{
    testing_start(state);
    host_free(testing.host);
    testing.options.ends_watches = ends_watches;
    testing.options.gathers_calls = gathers_calls;
    testing.host = host_new(&testing.options);
    assert_non_null(testing.host);
    return 0;
}

// As TEST, in a host where watches end when no member is left to write.
static inline int testing_start_ending_watches(void **state)
{
    return testing_start_as(state, true, false);
}

// As TEST, in a host whose calls gather before they go to the journal.
static inline int testing_start_gathering(void **state)
{
    return testing_start_as(state, false, true);
}

// The first `limit` records of `records` done by `host`; returns how many bytes these are.
static inline size_t testing_replay(struct host *host, weft_bytes records, size_t limit)
{
    struct pack_reader reader = {records, false};
    for (size_t i = 0; i < limit && reader.rest.size; i++) {
        const uint32_t type = pack_read_u32(&reader);
        const weft_bytes payload = pack_read_blob(&reader);
        assert_false(reader.has_failed);
        testing_must(host_replay(host, type, payload));
    }
    return records.size - reader.rest.size;
}

static inline size_t testing_record_count(weft_bytes records)
{
    struct pack_reader reader = {records, false};
    size_t count = 0;
    for (; reader.rest.size; count++) {
        pack_read_u32(&reader);
        pack_read_blob(&reader);
    }
    return count;
}

static inline struct host *testing_new_host(bool with_journal)
{
    struct host_options options = testing.options;
    if (!with_journal)
        options.log = NULL;
    struct host *host = host_new(&options);
    assert_non_null(host);
    host_set_time(host, host_time(testing.host));
    return host;
}

static inline struct buf testing_save(const struct host *host)
{
    struct buf records = {0};
    testing_must(host_save(host, testing_record, &records));
    return records;
}

static inline void testing_check_same(const struct buf *got, const struct buf *wanted,
                                      const char *what, size_t cut)
{
    if (!bytes_equal(buf_bytes(got), buf_bytes(wanted)))
        fail_msg("%s (record %zu of the journal): the host differs, in %zu and %zu bytes", what,
                 cut, got->size, wanted->size);
}

// A host from a snapshot taken after `cut` records, with the rest replayed.
static inline void testing_check_cut(const struct buf *wanted, size_t cut)
{
    const weft_bytes journal = buf_bytes(&testing.journal);
    struct host *before = testing_new_host(false), *after = testing_new_host(false);
    const size_t done = testing_replay(before, journal, cut);
    struct buf snapshot = testing_save(before);
    testing_replay(after, buf_bytes(&snapshot), SIZE_MAX);
    struct buf again = testing_save(after);
    testing_check_same(&again, &snapshot, "a snapshot of what a snapshot gave", cut);
    testing_replay(after, (weft_bytes){journal.data + done, journal.size - done}, SIZE_MAX);
    struct buf end = testing_save(after);
    testing_check_same(&end, wanted, "a snapshot and the rest", cut);
    buf_fini(&snapshot);
    buf_fini(&again);
    buf_fini(&end);
    host_free(before);
    host_free(after);
}

// Everything that can be rebuilt is the same. Called when a test ends; a test may call it at any moment.
static inline void replayed_host_is_the_same(void)
{
    testing_must(host_write_calls(testing.host));
    struct buf wanted = testing_save(testing.host);
    const size_t count = testing_record_count(buf_bytes(&testing.journal));
    const size_t step = count <= TESTING_ALL_CUTS_MAX ? 1 : count / 8;
    for (size_t cut = testing.snapshot_count + 1; cut < count; cut += step)
        testing_check_cut(&wanted, cut);
    testing_check_cut(&wanted, count);
    buf_fini(&wanted);
}

static inline int testing_stop(void **state)
{
    (void)state;
    replayed_host_is_the_same();
    for (unsigned i = 0; i < testing.member_count; i++)
        buf_fini(&testing.members[i].inbox);
    for (size_t i = 0; i < TESTING_PAYLOADS_MAX; i++)
        buf_fini(&testing_payloads[i]);
    host_free(testing.host);
    buf_fini(&testing.journal);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, testing_start, testing_stop)
#define TEST_ENDING_WATCHES(name)                                                                  \
    cmocka_unit_test_setup_teardown(name, testing_start_ending_watches, testing_stop)
#define TEST_GATHERING(name)                                                                       \
    cmocka_unit_test_setup_teardown(name, testing_start_gathering, testing_stop)

// ---- Members -----------------------------------------------------------------------------------------

// A session of the member; "" is a tool.
static inline struct testing_member *testing_join(const char *name)
{
    assert_true(testing.member_count < TESTING_MEMBERS_MAX);
    struct testing_member *member = &testing.members[testing.member_count++];
    struct session_name session_name = {.member = name, .incarnation = testing.member_count};
    memset(session_name.id, (int)testing.member_count, sizeof session_name.id);
    testing_must(host_open_session(testing.host, &session_name, &member->session));
    member->number = member->session->number;
    return member;
}

// The session ends, as when its member was lost. Its inbox stays as it is.
static inline void testing_end(struct testing_member *member)
{
    testing_must(host_end_session(testing.host, member->session));
    member->session = NULL;
}

// Sends a call; returns its sequence.
static inline uint64_t testing_call(struct testing_member *member, uint8_t op, uint8_t flags,
                                    uint16_t handle, weft_bytes payload)
{
    const uint64_t sequence =
        call_op_changes(op) ? ++member->sequence : (++member->ask_sequence | CALL_ASKS_BIT);
    struct buf bytes = {0};
    call_append_head(&bytes, op, flags, handle, sequence, payload.size);
    buf_append(&bytes, payload.data, payload.size);
    weft_bytes rest = buf_bytes(&bytes);
    struct call call;
    testing_must(call_next(&rest, &call));
    testing_must(host_call(testing.host, member->session, &call, member->answered));
    buf_fini(&bytes);
    return sequence;
}

static inline void testing_receive(struct testing_member *member)
{
    if (!member->session)
        return;
    const weft_bytes unsent = session_unsent(member->session);
    buf_append(&member->inbox, unsent.data, unsent.size);
    session_sent(member->session, unsent.size);
}

// Takes the answer to a call out of the inbox; false: it still waits. The payload is one of
// PAYLOAD's.
static inline bool testing_take(struct testing_member *member, uint64_t sequence,
                                struct answer *answer)
{
    testing_receive(member);
    weft_bytes rest = buf_bytes(&member->inbox);
    while (rest.size) {
        char *start = (char *)rest.data;
        testing_must(answer_next(&rest, answer));
        if (answer->sequence != sequence)
            continue;
        answer->flags &= (uint8_t)~ANSWER_FLAG_COUNTED;
        answer->payload = PAYLOAD(RAW_BYTES(answer->payload));
        member->inbox.size -= (size_t)(rest.data - start);
        memmove(start, rest.data, rest.size);
        return true;
    }
    return false;
}

// The sequence of the first answer in the inbox, for tests of order; 0: there is none.
static inline uint64_t testing_first_answered(struct testing_member *member)
{
    testing_receive(member);
    weft_bytes rest = buf_bytes(&member->inbox);
    struct answer answer = {0};
    if (rest.size)
        testing_must(answer_next(&rest, &answer));
    return answer.sequence;
}

static inline void testing_expect_waiting(struct testing_member *member, uint64_t sequence)
{
    struct answer answer;
    if (testing_take(member, sequence, &answer))
        fail_msg("call %llx was answered: %s %.*s", (unsigned long long)sequence,
                 weft_err_name(answer.code), answer.code ? (int)answer.payload.size : 0,
                 answer.payload.data);
}

static inline struct answer testing_answer(struct testing_member *member, uint64_t sequence)
{
    struct answer answer = {0};
    if (!testing_take(member, sequence, &answer))
        fail_msg("call %llx has no answer", (unsigned long long)sequence);
    return answer;
}

// The call succeeded with these flags and this payload.
static inline void testing_expect(struct testing_member *member, uint64_t sequence, uint8_t flags,
                                  weft_bytes payload)
{
    const struct answer answer = testing_answer(member, sequence);
    if (answer.code)
        fail_msg("%s: %.*s", weft_err_name(answer.code), (int)answer.payload.size,
                 answer.payload.data);
    assert_int_equal(answer.flags, flags);
    assert_int_equal(answer.payload.size, payload.size);
    if (payload.size)
        assert_memory_equal(answer.payload.data, payload.data, payload.size);
}

// The call failed with this code and a sentence that has `words` in it.
static inline void testing_expect_failure(struct testing_member *member, uint64_t sequence,
                                          weft_err code, const char *words)
{
    const struct answer answer = testing_answer(member, sequence);
    assert_string_equal(weft_err_name(answer.code), weft_err_name(code));
    char text[ERR_TEXT_BYTES_MAX] = "";
    snprintf(text, sizeof text, "%.*s", (int)answer.payload.size, answer.payload.data);
    if (!strstr(text, words))
        fail_msg("'%s' is not in: %s", words, text);
}

// Opens a resource under the next free handle, without looking at the answer.
static inline uint64_t testing_try_open(struct testing_member *member, enum call_kind kind,
                                        const char *name, weft_bytes attributes)
{
    return testing_call(member, CALL_OPEN, 0, member->handle_count++,
                        PAYLOAD(U8(kind), TEXT(""), TEXT(name), RAW_BYTES(attributes)));
}

static inline uint16_t testing_open(struct testing_member *member, enum call_kind kind,
                                    const char *name, weft_bytes attributes)
{
    const struct answer answer =
        testing_answer(member, testing_try_open(member, kind, name, attributes));
    if (answer.code)
        fail_msg("%s: %.*s", weft_err_name(answer.code), (int)answer.payload.size,
                 answer.payload.data);
    return (uint16_t)(member->handle_count - 1);
}

// ---- Restarts ----------------------------------------------------------------------------------------

// The host dies and comes back from its journal; members connect again, having all they were sent.
static inline void testing_restart(void)
{
    testing_must(host_write_calls(testing.host));
    for (unsigned i = 0; i < testing.member_count; i++)
        testing_receive(&testing.members[i]);
    struct host *host = testing_new_host(true);
    testing_replay(host, buf_bytes(&testing.journal), SIZE_MAX);
    host_free(testing.host);
    testing.host = host;
    for (unsigned i = 0; i < testing.member_count; i++) {
        struct testing_member *member = &testing.members[i];
        if (!member->session)
            continue;
        member->session = host_session_by_number(host, member->number);
        assert_non_null(member->session);
        session_sent(member->session, session_unsent(member->session).size);
    }
}

// A snapshot replaces the journal, and the host is started from it.
static inline void testing_restart_from_snapshot(void)
{
    testing_must(host_write_calls(testing.host));
    struct buf snapshot = testing_save(testing.host);
    buf_fini(&testing.journal);
    testing.journal = snapshot;
    testing.snapshot_count = testing_record_count(buf_bytes(&snapshot));
    testing_restart();
}

#endif
