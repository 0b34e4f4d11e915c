// Tests of work that clients which leave hand over: the choice of a receiver, and receivers that fail or go.
#include "run/driver/server/handovers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sys/file/file.h"

enum { HOLDERS = 5, LEAVING = 1 };

static struct handovers *handovers;
static bool is_away[HOLDERS];
static char trace[512];  // "order2.1 ": of client 2, with the number 1
static struct fetch_wanted wanted[4];
static size_t wanted_count;
static int served_fd;
static bool can_serve;

static void note(const char *word, uint32_t a, uint64_t b)
{
    const size_t used = strlen(trace);
    snprintf(trace + used, sizeof trace - used, "%s%u.%u ", word, a, (unsigned)b);
}

static bool can_take(void *owner, uint32_t holder)
{
    (void)owner;
    return holder != LEAVING && !is_away[holder];
}

static uint32_t choose(void *owner, const struct handover_wish *wish)
{
    for (uint32_t holder = 1; holder < HOLDERS; holder++) {
        bool has_refused = false;
        for (size_t i = 0; i < wish->refused_count; i++)
            has_refused |= wish->refused[i] == holder;
        if (!has_refused && can_take(owner, holder))
            return holder;
    }
    return 0;
}

static void take_order(void *owner, uint32_t holder, const Weft__ClientTake *order)
{
    (void)owner;
    assert_int_equal(order->from->holder, LEAVING);
    note("order", holder, order->number);
}

static void forget(void *owner, uint32_t holder, uint64_t file)
{
    (void)owner;
    note("forget", holder, file);
}

static void place(const void *owner, uint32_t holder, Weft__FarFile *far)
{
    (void)owner;
    far->holder = holder;
}

static weft_err fetch(void *owner, uint32_t holder, const struct fetch_wanted *one)
{
    (void)owner;
    assert_int_equal(holder, LEAVING);
    wanted[wanted_count++] = *one;
    note("fetch", (uint32_t)one->offset, one->to_offset);
    return WEFT_OK;
}

static weft_err serve(void *owner, int fd, uint64_t size, uint64_t *file)
{
    (void)owner;
    if (!can_serve)
        return err_set(WEFT_RESOURCE_EXHAUSTED, "no room for it");
    served_fd = fd;
    *file = 77;
    note("serve", (uint32_t)size, 77);
    return WEFT_OK;
}

static void changed(void *owner, uint32_t from)
{
    (void)owner;
    note("changed", from, 0);
}

static void moved(void *owner, const struct handed *handed)
{
    (void)owner;
    assert_int_equal(handed->from, LEAVING);
    note(handed->to == HOLDER_SERVER ? "to server" : "to ",
         handed->to == HOLDER_SERVER ? 0 : handed->to, handed->file);
}

static const struct handovers_calls calls = {.choose = choose,
                                             .can_take = can_take,
                                             .order = take_order,
                                             .forget = forget,
                                             .place = place,
                                             .fetch = fetch,
                                             .serve = serve,
                                             .changed = changed,
                                             .moved = moved};

static int setup(void **state)
{
    const struct handovers_options options = {.tmp = "/tmp", .calls = &calls};
    (void)state;
    memset(is_away, 0, sizeof is_away);
    trace[0] = 0;
    wanted_count = 0;
    served_fd = -1;
    can_serve = true;
    handovers = handovers_new(&options);
    assert_non_null(handovers);
    assert_int_equal(handovers_begin(handovers, LEAVING), WEFT_OK);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    handovers_free(handovers);
    if (served_fd >= 0)
        file_close(served_fd);
    return 0;
}

static void add_seal(uint64_t offset)
{
    Weft__ClientOffer work = WEFT__CLIENT_OFFER__INIT;
    Weft__OfferedSeal seal = WEFT__OFFERED_SEAL__INIT, *seals[] = {&seal};
    seal.offset = offset;
    seal.size = 10;
    work.seals = seals;
    work.n_seals = 1;
    assert_int_equal(handovers_add(handovers, LEAVING, &work), WEFT_OK);
}

static void add_pairs(void)
{
    Weft__ClientOffer work = WEFT__CLIENT_OFFER__INIT;
    Weft__OfferedPairs all[3] = {WEFT__OFFERED_PAIRS__INIT, WEFT__OFFERED_PAIRS__INIT,
                                 WEFT__OFFERED_PAIRS__INIT};
    Weft__OfferedPairs *list[] = {&all[0], &all[1], &all[2]};
    for (int i = 0; i < 3; i++) {
        all[i].offset = (uint64_t)(500 - 100 * i);
        all[i].size = i == 1 ? 0 : 30;
    }
    work.pairs = list;
    work.n_pairs = 3;
    assert_int_equal(handovers_add(handovers, LEAVING, &work), WEFT_OK);
}

static enum handover_state look(void)
{
    return handovers_look(handovers, LEAVING);
}

static weft_err answer(uint32_t holder, uint32_t number, weft_err code)
{
    Weft__ClientTaken taken = WEFT__CLIENT_TAKEN__INIT;
    taken.number = number;
    taken.code = (uint32_t)code;
    taken.file = 40 + number;
    return handovers_answer(handovers, holder, &taken);
}

static void end_fetches(weft_err code)
{
    const size_t count = wanted_count;
    wanted_count = 0;
    for (size_t i = 0; i < count; i++)
        wanted[i].done(wanted[i].owner, code == WEFT_OK ? code : err_set(code, "it failed"));
}

static void nothing_moves_before_all_of_it_is_copied(void **state)
{
    (void)state;
    add_seal(100);
    assert_int_equal(look(), HANDOVER_UNDER_WAY);
    assert_string_equal(trace, "");  // the list is not complete
    add_seal(200);
    handovers_close_list(handovers, LEAVING);
    assert_int_equal(look(), HANDOVER_UNDER_WAY);
    assert_int_equal(answer(2, 1, WEFT_OK), WEFT_OK);
    assert_int_equal(look(), HANDOVER_UNDER_WAY);
    assert_string_equal(trace, "order2.1 order2.2 ");
    assert_int_equal(answer(2, 2, WEFT_OK), WEFT_OK);
    assert_int_equal(look(), HANDOVER_COMPLETE);
    handovers_end(handovers, LEAVING);
    assert_string_equal(trace, "order2.1 order2.2 to 2.41 to 2.42 ");
}

static void one_that_cannot_take_it_is_not_asked_again(void **state)
{
    (void)state;
    add_seal(100);
    handovers_close_list(handovers, LEAVING);
    look();
    assert_int_equal(answer(2, 1, WEFT_RESOURCE_EXHAUSTED), WEFT_OK);
    look();
    assert_int_equal(answer(3, 2, WEFT_UNAVAILABLE), WEFT_OK);
    look();
    assert_string_equal(trace, "order2.1 order3.2 order4.3 ");
}

static void a_receiver_that_goes_is_replaced_and_its_late_answer_forgotten(void **state)
{
    (void)state;
    add_seal(100);
    handovers_close_list(handovers, LEAVING);
    look();
    is_away[2] = true;
    look();
    assert_int_equal(answer(2, 1, WEFT_OK), WEFT_OK);
    assert_int_equal(answer(3, 2, WEFT_OK), WEFT_OK);
    assert_int_equal(look(), HANDOVER_COMPLETE);
    assert_string_equal(trace, "order2.1 order3.2 forget2.41 ");
}

static void a_copy_that_goes_before_the_last_one_is_made_again(void **state)
{
    (void)state;
    add_seal(100);
    add_seal(200);
    handovers_close_list(handovers, LEAVING);
    look();
    assert_int_equal(answer(2, 1, WEFT_OK), WEFT_OK);
    is_away[2] = true;
    assert_int_equal(look(), HANDOVER_UNDER_WAY);
    assert_string_equal(trace, "order2.1 order2.2 forget2.41 order3.3 order3.4 ");
}

static void the_copies_of_one_that_is_lost_count_if_they_are_complete(void **state)
{
    (void)state;
    add_seal(100);
    add_seal(200);
    handovers_close_list(handovers, LEAVING);
    look();
    assert_int_equal(answer(2, 2, WEFT_OK), WEFT_OK);
    handovers_end(handovers, LEAVING);
    assert_int_equal(answer(2, 1, WEFT_OK), WEFT_OK);
    assert_string_equal(trace, "order2.1 order2.2 to 2.42 forget2.41 ");
}

static void the_server_takes_what_no_client_can(void **state)
{
    (void)state;
    is_away[2] = is_away[3] = is_away[4] = true;
    add_pairs();
    handovers_close_list(handovers, LEAVING);
    assert_int_equal(look(), HANDOVER_UNDER_WAY);
    assert_string_equal(trace, "fetch500.0 fetch300.30 ");
    end_fetches(WEFT_OK);
    assert_int_equal(look(), HANDOVER_COMPLETE);
    handovers_end(handovers, LEAVING);
    assert_string_equal(trace, "fetch500.0 fetch300.30 serve60.77 changed1.0 to server0.77 ");
}

static void the_server_tries_three_times_to_reach_the_client(void **state)
{
    (void)state;
    is_away[2] = is_away[3] = is_away[4] = true;
    add_seal(100);
    handovers_close_list(handovers, LEAVING);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(look(), HANDOVER_UNDER_WAY);
        end_fetches(WEFT_UNAVAILABLE);
    }
    assert_int_equal(look(), HANDOVER_FAILED);
    assert_string_equal(handovers_why(handovers, LEAVING), "it failed");
    assert_string_equal(trace, "fetch0.0 fetch0.0 fetch0.0 ");
}

static void a_server_without_room_says_so(void **state)
{
    (void)state;
    is_away[2] = is_away[3] = is_away[4] = true;
    can_serve = false;
    add_seal(100);
    handovers_close_list(handovers, LEAVING);
    look();
    end_fetches(WEFT_OK);
    assert_int_equal(look(), HANDOVER_FAILED);
    assert_string_equal(handovers_why(handovers, LEAVING), "no room for it");
}

// Its requests end later.
static void a_copy_of_the_server_outlives_its_hand_over(void **state)
{
    (void)state;
    is_away[2] = is_away[3] = is_away[4] = true;
    add_pairs();
    handovers_close_list(handovers, LEAVING);
    look();
    handovers_end(handovers, LEAVING);
    end_fetches(WEFT_UNAVAILABLE);
    assert_string_equal(trace, "fetch500.0 fetch300.30 ");
}

static void answers_that_were_not_asked_for_break_the_rules(void **state)
{
    (void)state;
    add_seal(100);
    handovers_close_list(handovers, LEAVING);
    look();
    assert_int_equal(answer(2, 0, WEFT_OK), WEFT_INTERNAL);
    assert_int_equal(answer(2, 2, WEFT_OK), WEFT_INTERNAL);
    assert_int_equal(answer(2, 1, (weft_err)99), WEFT_INTERNAL);
    assert_int_equal(answer(3, 1, WEFT_OK), WEFT_OK);  // of another one: it has something to forget
    assert_string_equal(trace, "order2.1 forget3.41 ");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_moves_before_all_of_it_is_copied),
        TEST(one_that_cannot_take_it_is_not_asked_again),
        TEST(a_receiver_that_goes_is_replaced_and_its_late_answer_forgotten),
        TEST(a_copy_that_goes_before_the_last_one_is_made_again),
        TEST(the_copies_of_one_that_is_lost_count_if_they_are_complete),
        TEST(the_server_takes_what_no_client_can),
        TEST(the_server_tries_three_times_to_reach_the_client),
        TEST(a_server_without_room_says_so),
        TEST(a_copy_of_the_server_outlives_its_hand_over),
        TEST(answers_that_were_not_asked_for_break_the_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
