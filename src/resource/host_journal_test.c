// Tests of journals that are not as they were written: what does not fit together is DATA_LOSS, whatever
// else comes of it must do no harm.

#include "resource/host_state.h"
#include "resource/queue/queue_testing.h"
#include "wire/pack.h"

// A host with something of everything, in a journal that begins with a snapshot.
static void fill_host(void)
{
    struct testing_member *a = testing_join("/work/0"), *b = testing_join("/work/1");
    const struct queue_limits limits = {.capacity = 2, .deliveries = 3};
    const uint16_t q = open_queue(a, "q", limits), r = open_queue(a, "r", (struct queue_limits){0});
    open_queue(b, "q", limits);
    open_queue(b, "r", (struct queue_limits){0});
    push_keyed(a, q, "key", "a");
    push(a, q, "b");
    take(b, q);
    give_back(b, q, expect_item(b, take_for(b, q, 50), "b", 1), 10);
    push_many(a, q, "cdef");
    push_keyed(b, q, "new", "g");
    close_queue(a, q);
    pop_many(a, r, 3);
    take_for(b, r, 30);
    push_many(b, r, "xy");
    const uint16_t gone = open_queue(a, "gone", (struct queue_limits){0});
    remove_queue(b, open_queue(b, "gone", (struct queue_limits){0}));
    push(a, gone, "z");
    testing_restart_from_snapshot();
    expect_ok(b, push(b, r, "z"));
    cancel(a, 7);
    testing_end(testing_join("/work/2"));
}

static struct host *new_host(void)
{
    struct host *host = testing_new_host(false);
    host_set_time(host, 0);
    return host;
}

// Everything that can happen to a host afterwards.
static void live_on(struct host *host)
{
    host_set_time(host, 1000);
    host_expire(host);
    struct buf saved = testing_save(host);
    buf_fini(&saved);
    for (struct session *at; (at = host_next_session(host, NULL)) != NULL;)
        assert_int_equal(host_end_session(host, at), WEFT_OK);
    saved = testing_save(host);
    buf_fini(&saved);
    host_free(host);
}

// The journal with the payload of one record replaced; false: it was refused.
static bool try_journal(size_t place, weft_bytes other)
{
    struct host *host = new_host();
    struct pack_reader reader = {buf_bytes(&testing.journal), false};
    weft_err err = WEFT_OK;
    for (size_t i = 0; reader.rest.size && !err; i++) {
        const uint32_t type = pack_read_u32(&reader);
        const weft_bytes payload = pack_read_blob(&reader);
        err = host_replay(host, type, i == place ? other : payload);
    }
    assert_true(err == WEFT_OK || err == WEFT_DATA_LOSS);
    assert_true(!err || err_text()[0]);
    err_clear();
    live_on(host);
    return !err;
}

// Calls `change` with each record's place and a copy of its payload in a block of its own size.
static void for_each_record(void (*change)(size_t place, char *bytes, size_t size))
{
    struct pack_reader reader = {buf_bytes(&testing.journal), false};
    for (size_t place = 0; reader.rest.size; place++) {
        pack_read_u32(&reader);
        const weft_bytes payload = pack_read_blob(&reader);
        char *copy = malloc(payload.size + !payload.size);
        assert_non_null(copy);
        if (payload.size)
            memcpy(copy, payload.data, payload.size);
        change(place, copy, payload.size);
        free(copy);
    }
}

static void change_bytes(size_t place, char *bytes, size_t size)
{
    static const char flips[] = {1, (char)0x80, (char)0xff};
    for (size_t at = 0; at < size; at++) {
        for (size_t i = 0; i < sizeof flips; i++) {
            bytes[at] ^= flips[i];
            try_journal(place, (weft_bytes){bytes, size});
            bytes[at] ^= flips[i];
        }
    }
}

static void cut_short(size_t place, char *bytes, size_t size)
{
    for (size_t cut = 0; cut < size; cut++) {
        char *copy = malloc(cut + !cut);
        assert_non_null(copy);
        memcpy(copy, bytes, cut);
        try_journal(place, (weft_bytes){copy, cut});
        free(copy);
    }
}

static void any_byte_of_a_journal_may_be_another(void **state)
{
    (void)state;
    fill_host();
    assert_true(try_journal(SIZE_MAX, weft_none()));
    for_each_record(change_bytes);
}

static void any_record_may_be_cut_anywhere(void **state)
{
    (void)state;
    fill_host();
    for_each_record(cut_short);
}

// A record that comes twice, is left out, or stands in another place.
static void any_record_may_be_missing_or_there_twice(void **state)
{
    (void)state;
    fill_host();
    const size_t count = testing_record_count(buf_bytes(&testing.journal));
    for (size_t place = 0; place < count; place++) {
        for (int times = 0; times < 3; times += 2) {
            struct host *host = new_host();
            struct pack_reader reader = {buf_bytes(&testing.journal), false};
            weft_err err = WEFT_OK;
            for (size_t i = 0; reader.rest.size && !err; i++) {
                const uint32_t type = pack_read_u32(&reader);
                const weft_bytes payload = pack_read_blob(&reader);
                for (int left = i == place ? times : 1; left > 0 && !err; left--)
                    err = host_replay(host, type, payload);
            }
            assert_true(err == WEFT_OK || err == WEFT_DATA_LOSS);
            err_clear();
            live_on(host);
        }
    }
}

static void expect_data_loss(uint32_t type, weft_bytes payload, const char *words)
{
    struct host *host = new_host();
    testing_replay(host, buf_bytes(&testing.journal), SIZE_MAX);
    assert_int_equal(host_replay(host, type, payload), WEFT_DATA_LOSS);
    if (!strstr(err_text(), words))
        fail_msg("'%s' is not in: %s", words, err_text());
    err_clear();
    live_on(host);
}

static void what_does_not_fit_is_data_loss_with_a_sentence(void **state)
{
    (void)state;
    fill_host();
    expect_data_loss(0, weft_none(), "unknown type");
    expect_data_loss(99, weft_none(), "unknown type");
    expect_data_loss(HOST_RECORD_EPOCH, PAYLOAD(U64(1), U64(1), U32(1)), "begins twice");
    expect_data_loss(HOST_RECORD_END, PAYLOAD(U32(77)), "a session that is not there");
    expect_data_loss(HOST_RECORD_NOTE, PAYLOAD(U64(77), U8(1), U32(0)), "not there");
    expect_data_loss(HOST_RECORD_NOTE, PAYLOAD(U64(host_epoch(testing.host) + 1), U8(1), U32(9)),
                     "a lease that is not there");
    expect_data_loss(HOST_RECORD_CALL, PAYLOAD(U32(77), U64(0)), "a call of an unknown session");
    expect_data_loss(HOST_RECORD_CALL, PAYLOAD(U32(1), U64(0), RAW("cut")), "cut");
    expect_data_loss(HOST_RECORD_PART, PAYLOAD(U64(77), U8(1)), "not there");
    expect_data_loss(HOST_RECORD_STATE, PAYLOAD(U32(77)), "the state of an unknown session");
    expect_data_loss(HOST_RECORD_RESOURCE, PAYLOAD(U64(9), BLOB("\1no zero"), U8(0)),
                     "without a name");
    expect_data_loss(HOST_RECORD_RESOURCE,
                     PAYLOAD(U64(9), BLOB_BYTES(((weft_bytes){"\1files\0q", 8})), U8(0)), "twice");
    expect_data_loss(HOST_RECORD_RESOURCE,
                     PAYLOAD(U64(9), BLOB_BYTES(((weft_bytes){"\1files\0_q", 9})), U8(0)),
                     "cannot start with '_'");
    expect_data_loss(HOST_RECORD_RESOURCE,
                     PAYLOAD(U64(9), BLOB_BYTES(((weft_bytes){"\77files\0q", 8})), U8(0)),
                     "kind 63");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(any_byte_of_a_journal_may_be_another),
        TEST(any_record_may_be_cut_anywhere),
        TEST(any_record_may_be_missing_or_there_twice),
        TEST(what_does_not_fit_is_data_loss_with_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
