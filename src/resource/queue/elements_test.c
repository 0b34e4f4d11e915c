// Tests of elements: a random walk beside a plain array, and the corners by name.

#include "resource/queue/elements.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { MODEL_MAX = 40000, STEPS = 60000 };

// ---- The model -----------------------------------------------------------------------------------------

enum state { GONE, STORED, TAKEN };

// The expected state: every element that ever was, by its id.
static struct {
    enum state states[MODEL_MAX];
    uint32_t sizes[MODEL_MAX], deliveries[MODEL_MAX];
    struct element *taken[MODEL_MAX];
    uint64_t taken_ids[MODEL_MAX];
    size_t taken_count, stored_count;
    uint64_t bytes, last_id, first_id;
} model;

static uint64_t random_state;

static uint32_t draw(uint32_t limit)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(random_state >> 33) % limit;
}

static void fill(char *bytes, uint64_t id, uint32_t size)
{
    for (uint32_t i = 0; i < size; i++)
        bytes[i] = (char)(id * 31 + i);
}

static void check_element(const struct element *element, uint64_t id)
{
    static char wanted[3 << 20];
    assert_non_null(element);
    assert_int_equal(element->id, id);
    assert_int_equal(element->size, model.sizes[id]);
    assert_int_equal(element->is_tuple, id % 3 == 0);
    assert_int_equal(element->deliveries, model.deliveries[id]);
    fill(wanted, id, element->size);
    if (element->size)
        assert_memory_equal(element->bytes, wanted, element->size);
}

static uint32_t draw_size(void)
{
    switch (draw(40)) {
    case 0:
        return 0;
    case 1:
        return 3000 + draw(9000);
    case 2:
        return draw(400) ? 500 : 2 << 20;  // larger than any chunk
    default:
        return draw(100);
    }
}

static void do_add(struct elements *elements)
{
    static char bytes[3 << 20];
    const uint64_t id = ++model.last_id;
    const uint32_t size = draw_size();
    fill(bytes, id, size);
    assert_non_null(elements_add(elements, (weft_bytes){bytes, size}, id % 3 == 0));
    model.sizes[id] = size;
    model.deliveries[id] = 0;
    model.states[id] = STORED;
    model.bytes += size;
    model.stored_count++;
}

static void do_take(struct elements *elements)
{
    struct element *element = elements_take(elements);
    if (model.stored_count == 0) {
        assert_null(element);
        return;
    }
    uint64_t id = model.first_id;
    while (model.states[id] != STORED)
        id++;
    check_element(element, id);
    element->deliveries = ++model.deliveries[id];
    model.states[id] = TAKEN;
    model.taken[model.taken_count] = element;
    model.taken_ids[model.taken_count++] = id;
    model.bytes -= model.sizes[id];
    model.stored_count--;
}

static void do_end(struct elements *elements, bool returns)
{
    if (model.taken_count == 0)
        return;
    const size_t at = draw((uint32_t)model.taken_count);
    struct element *element = model.taken[at];
    const uint64_t id = model.taken_ids[at];
    check_element(element, id);
    model.taken[at] = model.taken[--model.taken_count];
    model.taken_ids[at] = model.taken_ids[model.taken_count];
    model.states[id] = returns ? STORED : GONE;
    if (returns) {
        elements_return(elements, element);
        model.bytes += model.sizes[id];
        model.stored_count++;
    } else {
        elements_drop(elements, element);
    }
    while (model.first_id <= model.last_id && model.states[model.first_id] == GONE)
        model.first_id++;
}

static void check_all(const struct elements *elements)
{
    assert_int_equal(elements->count, model.stored_count);
    assert_int_equal(elements->taken_count, model.taken_count);
    assert_int_equal(elements->bytes, model.bytes);
    assert_int_equal(elements->last_id, model.last_id);
    struct elements_walk walk = {0};
    for (uint64_t id = model.first_id; id <= model.last_id; id++)
        if (model.states[id] == STORED)
            check_element(elements_next(elements, &walk), id);
    assert_null(elements_next(elements, &walk));
    assert_null(elements_next(elements, &walk));
    elements_end_walk(&walk);
}

static void begin(uint64_t seed)
{
    memset(&model, 0, sizeof model);
    model.first_id = 1;
    random_state = seed;
}

// ---- A snapshot ------------------------------------------------------------------------------------------

// The same elements anew, as a snapshot brings them: first the stored ones, then the taken ones.
static void reload(struct elements *elements)
{
    struct elements again = {0};
    struct elements_walk walk = {0};
    const struct element *stored;
    while ((stored = elements_next(elements, &walk)) != NULL)
        assert_non_null(elements_restore(&again, stored->id, stored->deliveries,
                                         element_bytes(stored), stored->is_tuple));
    elements_end_walk(&walk);
    for (size_t i = 0; i < model.taken_count; i++) {
        const struct element *taken = model.taken[i];
        model.taken[i] = elements_restore_taken(&again, taken->id, taken->deliveries,
                                                element_bytes(taken), taken->is_tuple);
        assert_non_null(model.taken[i]);
    }
    again.last_id = elements->last_id;
    elements_fini(elements);
    *elements = again;
}

// ---- Tests -------------------------------------------------------------------------------------------------

// The odds change all the time: it fills, empties, hands out much, gets most of it back.
static void walk_at_random(uint64_t seed, bool with_snapshots)
{
    begin(seed);
    struct elements elements = {0};
    uint32_t weights[4] = {1, 1, 1, 1};
    for (int step = 0; step < STEPS && model.last_id < MODEL_MAX - 1; step++) {
        if (step % 500 == 0)
            for (int i = 0; i < 4; i++)
                weights[i] = 1 + draw(10);
        uint32_t pick = draw(weights[0] + weights[1] + weights[2] + weights[3]);
        if (pick < weights[0])
            do_add(&elements);
        else if ((pick -= weights[0]) < weights[1])
            do_take(&elements);
        else
            do_end(&elements, (pick - weights[1]) < weights[2]);
        if (draw(1000) == 0)
            check_all(&elements);
        if (with_snapshots && draw(2000) == 0)
            reload(&elements);
    }
    check_all(&elements);
    while (model.stored_count)
        do_take(&elements);
    while (model.taken_count)
        do_end(&elements, false);
    check_all(&elements);
    assert_null(elements.held);
    assert_ptr_equal(elements.first, elements.last);
    elements_fini(&elements);
}

static void elements_are_what_a_plain_array_says(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++)
        walk_at_random(seed, false);
}

static void elements_from_a_snapshot_are_what_a_plain_array_says(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++)
        walk_at_random(seed, true);
}

static void what_a_snapshot_brought_taken_can_come_back(void **state)
{
    (void)state;
    struct elements elements = {0};
    elements.last_id = 3;
    struct element *taken[3];
    for (uint64_t id = 1; id <= 3; id++)
        taken[id - 1] = elements_restore_taken(&elements, id, 1, weft_text("abc"), false);
    for (int i = 2; i >= 0; i--)
        elements_return(&elements, taken[i]);
    for (uint64_t id = 1; id <= 3; id++) {
        struct element *element = elements_take(&elements);
        assert_int_equal(element->id, id);
        elements_drop(&elements, element);
    }
    assert_null(elements_take(&elements));
    elements_fini(&elements);
}

static void what_comes_back_after_a_snapshot_stands_in_its_order(void **state)
{
    (void)state;
    struct elements elements = {0};
    elements.last_id = 4;
    assert_non_null(elements_restore(&elements, 1, 1, weft_text("came back before"), false));
    assert_non_null(elements_restore(&elements, 3, 0, weft_text("never taken"), false));
    struct element *second = elements_restore_taken(&elements, 2, 1, weft_text("leased"), false);
    elements_return(&elements, second);
    struct elements_walk walk = {0};
    for (uint64_t id = 1; id <= 3; id++)
        assert_int_equal(elements_next(&elements, &walk)->id, id);
    elements_end_walk(&walk);
    for (uint64_t id = 1; id <= 3; id++)
        assert_int_equal(elements_take(&elements)->id, id);
    elements_fini(&elements);
}

static void a_short_queue_lives_in_one_chunk(void **state)
{
    (void)state;
    struct elements elements = {0};
    for (int i = 0; i < 10000; i++) {
        assert_non_null(elements_add(&elements, weft_text("a few bytes"), false));
        elements_drop(&elements, elements_take(&elements));
    }
    assert_ptr_equal(elements.first, elements.last);
    assert_ptr_equal(elements.reading, elements.last);
    assert_null(elements.spare);
    elements_fini(&elements);
}

static void one_element_that_stays_does_not_keep_those_behind_it(void **state)
{
    (void)state;
    struct elements elements = {0};
    assert_non_null(elements_add(&elements, weft_text("stays"), false));
    struct element *stays = elements_take(&elements);
    static char large[1000];
    for (int i = 0; i < 100000; i++) {
        assert_non_null(elements_add(&elements, (weft_bytes){large, sizeof large}, false));
        elements_drop(&elements, elements_take(&elements));
    }
    assert_memory_equal(stays->bytes, "stays", 5);
    elements_return(&elements, stays);
    assert_ptr_equal(elements_take(&elements), stays);
    elements_drop(&elements, stays);
    assert_ptr_equal(elements.first, elements.last);
    elements_fini(&elements);
}

static void elements_larger_than_a_chunk_come_out_whole(void **state)
{
    (void)state;
    begin(7);
    struct elements elements = {0};
    static char large[5 << 20];
    memset(large, 'x', sizeof large);
    for (int i = 0; i < 3; i++) {
        assert_non_null(elements_add(&elements, weft_text("small"), false));
        assert_non_null(elements_add(&elements, (weft_bytes){large, sizeof large}, false));
    }
    assert_int_equal(elements.bytes, 3 * (5 + sizeof large));
    for (int i = 0; i < 6; i++) {
        struct element *element = elements_take(&elements);
        assert_int_equal(element->size, i % 2 ? sizeof large : 5);
        if (i % 2)
            assert_memory_equal(element->bytes, large, sizeof large);
        elements_drop(&elements, element);
    }
    elements_fini(&elements);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_are_what_a_plain_array_says),
        cmocka_unit_test(what_a_snapshot_brought_taken_can_come_back),
        cmocka_unit_test(what_comes_back_after_a_snapshot_stands_in_its_order),
        cmocka_unit_test(elements_from_a_snapshot_are_what_a_plain_array_says),
        cmocka_unit_test(a_short_queue_lives_in_one_chunk),
        cmocka_unit_test(one_element_that_stays_does_not_keep_those_behind_it),
        cmocka_unit_test(elements_larger_than_a_chunk_come_out_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
