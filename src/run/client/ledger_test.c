// Tests of finished work that is offered again.
#include "run/client/ledger.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct ledger ledger;
static char said[512];

// "seal0 f5@40+4 cutsA 1 2 3; last": what the offers are.
static weft_err send(void *owner, const Weft__ClientOffer *offer)
{
    char *at = said + strlen(said);
    (void)owner;
    for (size_t i = 0; i < offer->n_seals; i++) {
        const Weft__OfferedSeal *seal = offer->seals[i];
        at += sprintf(at, "seal%u f%u@%u+%u %.*s", seal->stage, (unsigned)seal->file,
                      (unsigned)seal->offset, (unsigned)seal->size, (int)seal->cuts.len,
                      (const char *)seal->cuts.data);
        for (size_t k = 0; k < seal->n_tasks; k++)
            at += sprintf(at, " %u", seal->tasks[k]);
    }
    for (size_t i = 0; i < offer->n_pairs; i++)
        at += sprintf(at, "pairs%u f%u@%u+%u %u", offer->pairs[i]->stage,
                      (unsigned)offer->pairs[i]->file, (unsigned)offer->pairs[i]->offset,
                      (unsigned)offer->pairs[i]->size, offer->pairs[i]->task);
    for (size_t i = 0; i < offer->n_ends; i++)
        at += sprintf(at, " (%u: %u)", offer->ends[i]->task, (unsigned)offer->ends[i]->records_in);
    sprintf(at, "%s", offer->is_last ? "last" : "; ");
    return WEFT_OK;
}

static const char *offer(void)
{
    said[0] = 0;
    assert_int_equal(ledger_offer(&ledger, send, NULL), WEFT_OK);
    return said;
}

static int setup(void **state)
{
    Weft__StageOpen open = WEFT__STAGE_OPEN__INIT;
    Weft__StagePlan plan = WEFT__STAGE_PLAN__INIT;
    Weft__Output output = WEFT__OUTPUT__INIT;
    (void)state;
    ledger_begin(&ledger, weft_text("run"));
    open.output = &output;
    assert_int_equal(ledger_note_open(&ledger, &open), WEFT_OK);  // pairs for stage 1
    open.stage = 1;
    output.kind = WEFT__OUTPUT_KIND__OUTPUT_SHELF;
    assert_int_equal(ledger_note_open(&ledger, &open), WEFT_OK);
    plan.cuts = message_bytes(weft_text("abc"));
    assert_int_equal(ledger_note_plan(&ledger, &plan), WEFT_OK);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ledger_fini(&ledger);
    return 0;
}

static void end(uint32_t stage, uint32_t kind, uint32_t task, uint32_t records)
{
    Weft__TaskEnd message = WEFT__TASK_END__INIT;
    message.stage = stage;
    message.kind = (Weft__TaskKind)kind;
    message.task = task;
    message.records_in = records;
    Weft__TaskRun run = WEFT__TASK_RUN__INIT;
    run.stage = stage;
    run.kind = message.kind;
    run.task = task;
    assert_int_equal(ledger_note_run(&ledger, &run), WEFT_OK);
    assert_int_equal(ledger_note_end(&ledger, &message), WEFT_OK);
    message.records_in = 1000;  // it was not asked for again
    assert_int_equal(ledger_note_end(&ledger, &message), WEFT_OK);
}

static void seal(uint32_t file, uint32_t offset, uint32_t *tasks, size_t count)
{
    Weft__Checkpointed done = WEFT__CHECKPOINTED__INIT;
    done.file = file;
    done.offset = offset;
    done.file_size = offset + 4;
    done.tasks = tasks;
    done.n_tasks = count;
    assert_int_equal(ledger_note_seal(&ledger, &done), WEFT_OK);
}

static void write_pairs(uint32_t stage, uint32_t file, uint32_t task)
{
    Weft__Committed done = WEFT__COMMITTED__INIT;
    uint64_t offset = 30, bytes = 3;
    uint32_t crc = 1;
    done.stage = stage;
    done.kind = WEFT__TASK_KIND__TASK_REDUCE;
    done.shelf = file;
    done.tasks = &task;
    done.shelf_offsets = &offset;
    done.output_bytes = &bytes;
    done.output_crc = &crc;
    done.n_tasks = done.n_shelf_offsets = done.n_output_bytes = done.n_output_crc = 1;
    assert_int_equal(ledger_note_pairs(&ledger, &done), WEFT_OK);
}

static void the_last_index_of_a_file_has_all_its_tasks(void **state)
{
    (void)state;
    end(0, 1, 7, 70);
    end(0, 1, 3, 30);
    end(0, 1, 3, 31);  // it was run again
    end(0, 0, 1, 1);   // samples are of no use later
    seal(5, 10, (uint32_t[]){7}, 1);
    seal(5, 40, (uint32_t[]){3}, 1);
    assert_string_equal(offer(), "seal0 f5@40+4 abc 3 7 (3: 31) (7: 70); last");
    assert_string_equal(offer(), "seal0 f5@40+4 abc 3 7 (3: 31) (7: 70); last");
}

static void pairs_are_offered_and_the_answer_is_not(void **state)
{
    (void)state;
    end(0, 2, 4, 40);
    end(1, 2, 5, 50);
    write_pairs(0, 8, 4);
    write_pairs(0, 8, 6);  // its attempt has not ended
    write_pairs(1, 9, 5);
    assert_string_equal(offer(), "pairs0 f8@30+3 4 (4: 40); last");
}

static void a_seal_of_a_task_that_never_ended_is_not_offered(void **state)
{
    (void)state;
    seal(5, 10, (uint32_t[]){7}, 1);
    assert_string_equal(offer(), "last");
}

static void files_that_nobody_reads_are_forgotten(void **state)
{
    (void)state;
    end(0, 1, 1, 1);
    end(0, 1, 2, 2);
    end(0, 2, 3, 3);
    seal(5, 10, (uint32_t[]){1}, 1);
    seal(6, 10, (uint32_t[]){2}, 1);
    write_pairs(0, 8, 3);
    ledger_forget(&ledger, 5);
    ledger_forget(&ledger, 8);
    assert_string_equal(offer(), "seal0 f6@10+4 abc 2 (2: 2); last");
}

static void another_run_begins_empty(void **state)
{
    (void)state;
    end(0, 1, 1, 1);
    seal(5, 10, (uint32_t[]){1}, 1);
    ledger_begin(&ledger, weft_text("run"));
    assert_true(strlen(offer()) > strlen("last"));
    ledger_begin(&ledger, weft_text("run 2"));
    assert_string_equal(offer(), "last");
    assert_false(ledger_is_of(&ledger, weft_text("run")));
    ledger_begin(&ledger, (weft_bytes){0});
    assert_false(ledger_is_of(&ledger, (weft_bytes){0}));  // none is not a run
}

static void work_that_was_taken_from_another_client_is_offered_too(void **state)
{
    Weft__ClientOffer work = WEFT__CLIENT_OFFER__INIT;
    Weft__OfferedSeal seal = WEFT__OFFERED_SEAL__INIT, *seals[] = {&seal};
    Weft__TaskEnd ends[2] = {WEFT__TASK_END__INIT, WEFT__TASK_END__INIT};
    Weft__TaskEnd *end_list[] = {&ends[0], &ends[1]};
    uint32_t tasks[] = {4, 7};
    (void)state;
    seal.cuts = message_bytes(weft_text("xyz"));
    seal.tasks = tasks;
    seal.n_tasks = 2;
    seal.file = 1;
    seal.offset = 30;
    seal.size = 6;
    work.seals = seals;
    work.n_seals = 1;
    work.ends = end_list;
    work.n_ends = 2;
    for (int i = 0; i < 2; i++) {
        ends[i].kind = WEFT__TASK_KIND__TASK_MAP;
        ends[i].task = tasks[i];
        ends[i].records_in = 10 + tasks[i];
    }
    assert_true(ledger_is_empty(&ledger));
    assert_int_equal(ledger_note_taken(&ledger, &work, 9), WEFT_OK);
    assert_false(ledger_is_empty(&ledger));
    assert_string_equal(offer(), "seal0 f9@30+6 xyz 4 7 (4: 14) (7: 17); last");
    ledger_forget(&ledger, 9);
    assert_true(ledger_is_empty(&ledger));
}

// Pairs lie one after the other. This client has never heard of their stage.
static void taken_pairs_have_places_of_their_own(void **state)
{
    Weft__ClientOffer work = WEFT__CLIENT_OFFER__INIT;
    Weft__OfferedPairs pairs[2] = {WEFT__OFFERED_PAIRS__INIT, WEFT__OFFERED_PAIRS__INIT};
    Weft__OfferedPairs *pair_list[] = {&pairs[0], &pairs[1]};
    Weft__TaskEnd ends[2] = {WEFT__TASK_END__INIT, WEFT__TASK_END__INIT};
    Weft__TaskEnd *end_list[] = {&ends[0], &ends[1]};
    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        pairs[i].stage = ends[i].stage = 5;
        pairs[i].task = ends[i].task = i;
        pairs[i].file = 1;
        pairs[i].offset = 100 * (i + 1);
        pairs[i].size = 20;
        ends[i].kind = WEFT__TASK_KIND__TASK_MAP;
    }
    work.pairs = pair_list;
    work.ends = end_list;
    work.n_pairs = work.n_ends = 2;
    assert_int_equal(ledger_note_taken(&ledger, &work, 3), WEFT_OK);
    assert_string_equal(offer(), "pairs5 f3@0+20 0pairs5 f3@20+20 1 (0: 0) (1: 0); last");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_last_index_of_a_file_has_all_its_tasks, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(pairs_are_offered_and_the_answer_is_not, setup, teardown),
        cmocka_unit_test_setup_teardown(a_seal_of_a_task_that_never_ended_is_not_offered, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(files_that_nobody_reads_are_forgotten, setup, teardown),
        cmocka_unit_test_setup_teardown(another_run_begins_empty, setup, teardown),
        cmocka_unit_test_setup_teardown(work_that_was_taken_from_another_client_is_offered_too,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(taken_pairs_have_places_of_their_own, setup, teardown),
    };
    return cmocka_run_group_tests_name("ledger", tests, NULL, NULL);
}
