// Tests of the files that workers share; the agent is ours.
#include "run/driver/answer/shelves.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sys/file/file.h"

static int open_count;
static weft_err answer;

weft_err agent_open_file(const struct agent *agent, uint32_t number, int *fd)
{
    (void)agent, (void)number;
    if (answer)
        return err_set(answer, "it has no such file");
    open_count++;
    return file_create_nameless("/var/tmp", fd);
}

static uint32_t hold(struct shelves *shelves, uint32_t worker, uint32_t stage, uint32_t descriptor)
{
    const struct shelf_name name = {worker, stage, descriptor};
    uint32_t file;
    assert_int_equal(shelves_hold(shelves, NULL, &name, &file), WEFT_OK);
    return file;
}

static void a_file_is_opened_once(void **state)
{
    struct shelves shelves = {0};
    (void)state;
    open_count = 0;
    const uint32_t first = hold(&shelves, 1, 0, 5);
    assert_int_equal(hold(&shelves, 1, 0, 5), first);
    assert_int_not_equal(hold(&shelves, 2, 0, 5), first);  // of another worker,
    assert_int_not_equal(hold(&shelves, 1, 1, 5), first);  // or stage
    assert_int_equal(open_count, 3);
    answer = WEFT_UNAVAILABLE;
    uint32_t file;
    assert_int_equal(shelves_hold(&shelves, NULL, &(struct shelf_name){3, 0, 0}, &file),
                     WEFT_UNAVAILABLE);
    answer = WEFT_OK;
    const int fd = shelves_fd(&shelves, first);
    shelves_fini(&shelves);
    assert_int_equal(close(fd), -1);
}

static uint32_t number;  // of the seal that was noted last

static void the_last_seal_of_a_slot_counts(void **state)
{
    struct shelves shelves = {0};
    Weft__Seals seals = WEFT__SEALS__INIT;
    char path[64];
    (void)state;
    assert_int_equal(shelves_begin_stage(&shelves, 0, 2), WEFT_OK);
    const uint32_t file = hold(&shelves, 1, 0, 5), other = hold(&shelves, 2, 0, 5);
    const struct seal all[] = {{1, 0, {file, 0, 10, 0}, false},
                               {2, 0, {other, 0, 20, 0}, false},
                               {1, 1, {file, 0, 30, 0}, false},
                               {1, 0, {file, 0, 40, 0}, false}};
    for (int i = 0; i < 4; i++)
        assert_int_equal(shelves_note_seal(&shelves, &all[i], &number), WEFT_OK);
    assert_int_equal(shelves_fill_seals(&shelves, &seals), WEFT_OK);
    assert_int_equal(seals.n_seals, 3);
    assert_int_equal(seals.seals[0]->offset, 40);
    assert_int_equal(seals.seals[1]->offset, 20);
    assert_int_equal(seals.seals[2]->offset, 30);
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), shelves_fd(&shelves, other));
    assert_string_equal(seals.seals[1]->path, path);
    shelves_free_seals(&seals);
    shelves_fini(&shelves);
}

static void a_damaged_seal_is_not_sent_and_takes_later_ones_of_its_slot_along(void **state)
{
    struct shelves shelves = {0};
    Weft__Seals seals = WEFT__SEALS__INIT;
    (void)state;
    assert_int_equal(shelves_begin_stage(&shelves, 0, 2), WEFT_OK);
    const uint32_t file = hold(&shelves, 1, 0, 5), other = hold(&shelves, 2, 0, 5);
    const struct seal first = {.worker = 1, .index = {file, 0, 10, 0}},
                      second = {.worker = 2, .index = {other, 0, 20, 0}};
    assert_int_equal(shelves_note_seal(&shelves, &first, &number), WEFT_OK);
    assert_int_equal(number, 1);
    assert_int_equal(shelves_note_seal(&shelves, &second, &number), WEFT_OK);
    assert_null(shelves_find_seal(&shelves, 1, 1));
    assert_null(shelves_find_seal(&shelves, 0, 3));
    shelves_find_seal(&shelves, 0, 1)->is_lost = true;
    assert_null(shelves_find_seal(&shelves, 0, 1));
    assert_int_equal(shelves_note_seal(&shelves, &first, &number), WEFT_OK);
    assert_int_equal(number, 0);
    assert_int_equal(shelves_fill_seals(&shelves, &seals), WEFT_OK);
    assert_int_equal(seals.n_seals, 1);
    assert_int_equal(seals.seals[0]->offset, 20);
    assert_int_equal(seals.seals[0]->number, 2);
    shelves_free_seals(&seals);
    shelves_fini(&shelves);
}

static void files_are_let_go_when_no_stage_needs_them(void **state)
{
    struct shelves shelves = {0};
    Weft__Source source = WEFT__SOURCE__INIT;
    (void)state;
    assert_int_equal(shelves_begin_stage(&shelves, 0, 2), WEFT_OK);
    const uint32_t sealed = hold(&shelves, 1, 0, 5), pairs = hold(&shelves, 1, 0, 6);
    assert_int_equal(shelves_note_seal(&shelves,
                                       &(struct seal){.worker = 1, .index = {sealed, 0, 1, 0}},
                                       &number),
                     WEFT_OK);
    shelves_note_segment(&shelves, 1, &(struct shelved){pairs, 0xabcd, 7, 9});
    assert_int_equal(shelves_begin_stage(&shelves, 0, 2), WEFT_OK);  // at another worker
    assert_int_equal(shelves_fill_source(&shelves, 1, &source), WEFT_INTERNAL);
    assert_int_equal(shelves_begin_stage(&shelves, 1, 3), WEFT_OK);
    assert_int_equal(shelves_fd(&shelves, sealed), -1);
    assert_true(shelves_fd(&shelves, pairs) >= 0);
    assert_int_equal(shelves_fill_source(&shelves, 0, &source), WEFT_INTERNAL);
    assert_int_equal(shelves_fill_source(&shelves, 2, &source), WEFT_INTERNAL);
    assert_int_equal(shelves_fill_source(&shelves, 1, &source), WEFT_OK);
    assert_int_equal(source.offset, 7);
    assert_int_equal(source.size, 9);
    assert_int_equal(source.crc, 0xabcd);
    Weft__Seals seals = WEFT__SEALS__INIT;
    assert_int_equal(shelves_fill_seals(&shelves, &seals), WEFT_OK);
    assert_int_equal(seals.n_seals, 0);
    shelves_free_seals(&seals);
    assert_int_equal(shelves_begin_stage(&shelves, 2, 1), WEFT_OK);
    assert_int_equal(shelves_fd(&shelves, pairs), -1);
    shelves_fini(&shelves);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_opened_once),
        cmocka_unit_test(the_last_seal_of_a_slot_counts),
        cmocka_unit_test(a_damaged_seal_is_not_sent_and_takes_later_ones_of_its_slot_along),
        cmocka_unit_test(files_are_let_go_when_no_stage_needs_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
