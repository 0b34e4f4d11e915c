// Tests of which finished work of a client may count.
#include "run/driver/coordinator/offers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct run_stage stages[2] = {
    {.map_count = 4, .range_count = 2, .piece_count = 2},
    {.map_count = 2, .range_count = 1, .piece_count = 1, .is_last = true},
};
static const struct run_plan plan = {.stages = stages, .stage_count = 2};
static struct sched *sched;
static struct sched_actions actions;
static struct offer_rules rules;
static uint8_t cuts[IDENTITY_KEY_BYTES] = "sixteen bytes..";

static void step(struct sched_event event)
{
    event.worker = 1;
    sched_step(sched, &event, &actions);
}

static int setup(void **state)
{
    static const struct sched_stage shape[] = {{0, 4, 2}, {0, 2, 1}};
    const struct sched_plan all = {
        .stages = shape, .stage_count = 2, .worker_count = 1, .is_elastic = true};
    (void)state;
    sched = sched_new(&all);
    rules = (struct offer_rules){&plan, sched};
    if (sched)
        step((struct sched_event){.type = EVENT_START});
    return sched ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    sched_free(sched);
    return 0;
}

static void offered(uint32_t stage, enum sched_kind kind, uint32_t task)
{
    step((struct sched_event){.type = EVENT_TASK_OFFERED,
                              .at = {.kind = kind, .task = task, .stage = stage}});
}

static Weft__OfferedSeal seal_of(uint32_t stage, uint32_t *tasks, size_t count)
{
    Weft__OfferedSeal seal = WEFT__OFFERED_SEAL__INIT;
    seal.stage = stage;
    seal.tasks = tasks;
    seal.n_tasks = count;
    seal.cuts = (ProtobufCBinaryData){sizeof cuts, cuts};
    seal.file = 7;
    seal.offset = 100;
    seal.size = 10;
    return seal;
}

static void map_output_of_tasks_that_nobody_has_done_fits(void **state)
{
    uint32_t tasks[] = {0, 2, 3};
    (void)state;
    const Weft__OfferedSeal seal = seal_of(0, tasks, 3);
    assert_true(offer_fits_seal(&rules, &seal, cuts));
}

// Invariant 8: two offers, or an offer and what ran since, never have a task twice.
static void a_task_is_taken_once(void **state)
{
    uint32_t first[] = {0, 1}, second[] = {1, 2}, third[] = {2, 3};
    (void)state;
    Weft__OfferedSeal seal = seal_of(0, first, 2);
    assert_true(offer_fits_seal(&rules, &seal, cuts));
    offered(0, SCHED_MAP, 0);
    offered(0, SCHED_MAP, 1);
    assert_false(offer_fits_seal(&rules, &seal, cuts));
    seal = seal_of(0, second, 2);
    assert_false(offer_fits_seal(&rules, &seal, cuts));
    seal = seal_of(0, third, 2);
    assert_true(offer_fits_seal(&rules, &seal, cuts));
    step((struct sched_event){.type = EVENT_WORKER_READY, .slot_count = 1});  // task 2 runs
    assert_false(offer_fits_seal(&rules, &seal, cuts));
}

static void other_cuts_do_not_fit(void **state)
{
    uint32_t tasks[] = {0};
    uint8_t others[IDENTITY_KEY_BYTES] = "sixteen bytes .";
    (void)state;
    Weft__OfferedSeal seal = seal_of(0, tasks, 1);
    assert_false(offer_fits_seal(&rules, &seal, others));
    assert_false(offer_fits_seal(&rules, &seal, NULL));
    seal.cuts.len--;
    assert_false(offer_fits_seal(&rules, &seal, cuts));
}

static void what_cannot_be_does_not_fit(void **state)
{
    uint32_t twice[] = {1, 1}, beyond[] = {3, 4}, one[] = {0};
    (void)state;
    Weft__OfferedSeal seal = seal_of(0, twice, 2);
    assert_false(offer_fits_seal(&rules, &seal, cuts));
    seal = seal_of(0, beyond, 2);
    assert_false(offer_fits_seal(&rules, &seal, cuts));
    seal = seal_of(2, one, 1);
    assert_false(offer_fits_seal(&rules, &seal, cuts));
    seal = seal_of(0, one, 0);
    assert_false(offer_fits_seal(&rules, &seal, cuts));
    seal = seal_of(0, one, 1);
    seal.offset = UINT64_MAX;
    assert_false(offer_fits_seal(&rules, &seal, cuts));
    seal = seal_of(0, one, 1);
    seal.size = 0;
    assert_false(offer_fits_seal(&rules, &seal, cuts));
}

static void pairs_fit_once_and_not_in_the_last_stage(void **state)
{
    Weft__OfferedPairs pairs = WEFT__OFFERED_PAIRS__INIT;
    (void)state;
    pairs.task = 1;
    assert_true(offer_fits_pairs(&rules, &pairs));
    offered(0, SCHED_REDUCE, 1);
    assert_false(offer_fits_pairs(&rules, &pairs));
    pairs.task = 2;
    assert_false(offer_fits_pairs(&rules, &pairs));
    pairs.task = 0;
    pairs.stage = 1;
    assert_false(offer_fits_pairs(&rules, &pairs));
    pairs.stage = 0;
    pairs.size = UINT64_MAX;
    assert_false(offer_fits_pairs(&rules, &pairs));
}

static void an_offer_says_of_each_task_what_it_counted(void **state)
{
    uint32_t tasks[] = {0, 2};
    Weft__ClientOffer offer = WEFT__CLIENT_OFFER__INIT;
    Weft__OfferedSeal seal = seal_of(0, tasks, 2), *seals[] = {&seal, &seal};
    Weft__OfferedPairs pairs = WEFT__OFFERED_PAIRS__INIT, *list[] = {&pairs};
    Weft__TaskEnd ends[2] = {WEFT__TASK_END__INIT, WEFT__TASK_END__INIT};
    Weft__TaskEnd *both[] = {&ends[0], &ends[1]};
    (void)state;
    assert_true(offer_is_whole(&plan, &offer));
    offer.seals = seals;
    offer.n_seals = 1;
    assert_false(offer_is_whole(&plan, &offer));
    offer.ends = both;
    offer.n_ends = 2;
    ends[0].kind = ends[1].kind = WEFT__TASK_KIND__TASK_MAP;
    ends[1].task = 2;
    assert_true(offer_is_whole(&plan, &offer));
    ends[1].code = WEFT_ABORTED;
    assert_false(offer_is_whole(&plan, &offer));
    ends[1].code = WEFT_OK;
    offer.n_seals = 2;
    assert_false(offer_is_whole(&plan, &offer));
    offer.n_seals = 0;
    offer.n_ends = offer.n_pairs = 1;
    offer.pairs = list;
    assert_false(offer_is_whole(&plan, &offer));  // the end of a map task
    ends[0].kind = WEFT__TASK_KIND__TASK_REDUCE;
    assert_true(offer_is_whole(&plan, &offer));
    pairs.stage = ends[0].stage = 9;
    assert_false(offer_is_whole(&plan, &offer));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(map_output_of_tasks_that_nobody_has_done_fits, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_task_is_taken_once, setup, teardown),
        cmocka_unit_test_setup_teardown(other_cuts_do_not_fit, setup, teardown),
        cmocka_unit_test_setup_teardown(what_cannot_be_does_not_fit, setup, teardown),
        cmocka_unit_test_setup_teardown(pairs_fit_once_and_not_in_the_last_stage, setup, teardown),
        cmocka_unit_test_setup_teardown(an_offer_says_of_each_task_what_it_counted, setup,
                                        teardown),
    };
    return cmocka_run_group_tests_name("offers", tests, NULL, NULL);
}
