// Tests of reading lines: pieces cut anywhere give every line once and whole, read and mapped
// alike, with its offset; and files that become shorter while they are read.

#include "mapreduce/work/slot_testing.h"

#include <signal.h>

enum { LINES_MAX = 4096 };

struct seen {
    uint64_t offset;
    size_t size;
    char bytes[64];  // its beginning
};

static struct seen seen[LINES_MAX];
static size_t seen_count, block_count;
static void (*before_line)(void);

static void see_line(weft_task *task, weft_bytes line)
{
    if (before_line)
        before_line();
    assert_true(seen_count < LINES_MAX);
    struct seen *now = &seen[seen_count++];
    *now = (struct seen){.offset = weft_input_offset(task), .size = line.size};
    if (line.size)
        memcpy(now->bytes, line.data, line.size < 64 ? line.size : 64);
    assert_string_equal(weft_input_name(task), "text");
}

static void see_block(weft_task *task, weft_bytes block)
{
    const char *begin = block.data;
    const uint64_t offset = weft_input_offset(task);
    block_count++;
    assert_true(block.size > 0 || slot_of_task(task)->stage->inputs->size == 0);
    for (weft_bytes line; weft_next_line(&block, &line);) {
        struct seen *now = &seen[seen_count++];
        *now = (struct seen){.offset = offset + (uint64_t)(line.data - begin), .size = line.size};
        if (line.size)
            memcpy(now->bytes, line.data, line.size < 64 ? line.size : 64);
    }
}

static const weft_job line_job = {.name = "lines", .map = see_line, .reduce = weft_identity};
static const weft_job block_job = {
    .name = "blocks", .map_block = see_block, .reduce = weft_identity};

static void forget_lines(void)
{
    seen_count = block_count = 0;
    before_line = NULL;
}

static int by_offset(const void *left, const void *right)
{
    const struct seen *a = left, *b = right;
    return (a->offset > b->offset) - (a->offset < b->offset);
}

// The job has seen exactly the lines of the text, whatever order the pieces were read in.
// A line is given without its end; a block's lines are cut by the test, which leaves a '\\r' to them.
static void check_seen(weft_bytes text)
{
    qsort(seen, seen_count, sizeof *seen, by_offset);
    size_t count = 0;
    for (weft_bytes rest = text, line; weft_next_line(&rest, &line); count++) {
        assert_true(count < seen_count);
        assert_int_equal(seen[count].offset, (uint64_t)(line.data - text.data));
        const bool has_return =
            line.size && line.data[line.size - 1] == '\r' && line.data + line.size < rest.data;
        if (has_return && block_count == 0)
            line.size--;
        assert_int_equal(seen[count].size, line.size);
        if (line.size)
            assert_memory_equal(seen[count].bytes, line.data, line.size < 64 ? line.size : 64);
    }
    assert_int_equal(seen_count, count);
}

static void open_for_reading(struct rig *rig, const weft_job *job, weft_bytes text, bool is_mapped,
                             size_t read_bytes)
{
    rig_init(rig, job, text);
    rig->stage.memory.read_bytes = read_bytes;
    if (is_mapped)
        rig_expect(mem_map_open(&rig->input.map, rig->path));
    rig_open(rig);
}

// Three pieces cut at every pair of bytes.
static void cut_everywhere(const weft_job *job, const char *bytes, bool is_mapped,
                           size_t read_bytes)
{
    static struct rig rig;
    const weft_bytes text = weft_text(bytes);
    open_for_reading(&rig, job, text, is_mapped, read_bytes);
    for (size_t first = 0; first <= text.size; first++) {
        for (size_t second = first; second <= text.size; second++) {
            forget_lines();
            rig_expect(rig_map_piece(&rig, 0, 2, second, text.size));
            rig_expect(rig_map_piece(&rig, 0, 0, 0, first));
            rig_expect(rig_map_piece(&rig, 0, 1, first, second));
            check_seen(text);
        }
    }
    rig_fini(&rig);
}

static const char *const small_texts[] = {
    "",
    "\n",
    "a",
    "a\n",
    "\n\n",
    "\na",
    "a\nb",
    "a\nb\n",
    "\n\n\n",
    "abc\nd",
    "ab\n\ncd\n",
    "\r\n",
    "a\r\n",
    "a\r\n\r\n",
    "\n\nx",
    "xyz",
    "one\ntwo\n\nsix",
    "longer line\nb\nanother one",
};

static void cut_all_texts(const weft_job *job, bool is_mapped)
{
    for (size_t i = 0; i < sizeof small_texts / sizeof *small_texts; i++)
        for (size_t read_bytes = 1; read_bytes <= 32; read_bytes += read_bytes < 3 ? 1 : 29)
            cut_everywhere(job, small_texts[i], is_mapped, read_bytes);
}

static void pieces_cut_at_every_byte_give_each_line_once_when_read(void **state)
{
    (void)state;
    cut_all_texts(&line_job, false);
}

static void pieces_cut_at_every_byte_give_each_line_once_when_mapped(void **state)
{
    (void)state;
    cut_all_texts(&line_job, true);
}

static void blocks_of_pieces_cut_at_every_byte_hold_each_line_once(void **state)
{
    (void)state;
    cut_all_texts(&block_job, false);
    cut_all_texts(&block_job, true);
}

// Lines of all sizes around the buffer's, many of them.
static char *varied_text(size_t *size)
{
    char *text = malloc(1 << 20), *at = text;
    assert_non_null(text);
    for (uint32_t i = 0; i < 400; i++) {
        const size_t length = i % 7 == 0 ? i * 11 % 3000 : i * 13 % 90;
        memset(at, 'a' + (int)(i % 26), length);
        at += length;
        *at++ = '\n';
    }
    memcpy(at, "no end", 6);
    *size = (size_t)(at - text) + 6;
    return text;
}

static void lines_longer_than_the_buffer_come_whole(void **state)
{
    (void)state;
    static struct rig rig;
    size_t size;
    char *text = varied_text(&size);
    for (int variant = 0; variant < 2; variant++) {
        open_for_reading(&rig, variant ? &block_job : &line_job, (weft_bytes){text, size}, false,
                         100);
        for (uint32_t pieces = 1; pieces < 80; pieces += 13) {
            forget_lines();
            for (uint32_t i = 0; i < pieces; i++)
                rig_expect(rig_map_piece(&rig, 0, i, size * i / pieces, size * (i + 1) / pieces));
            check_seen((weft_bytes){text, size});
        }
        rig_fini(&rig);
    }
    free(text);
}

// Larger than a mapped block, with a line across its end.
static void mapped_blocks_end_at_line_ends(void **state)
{
    (void)state;
    static struct rig rig;
    const size_t size = 5 << 20;
    char *text = malloc(size);
    assert_non_null(text);
    memset(text, 'x', size);
    for (size_t at = 9999; at < size; at += 10000)
        text[at] = '\n';
    open_for_reading(&rig, &block_job, (weft_bytes){text, size}, true, 4096);
    forget_lines();
    rig_expect(rig_map_piece(&rig, 0, 0, 0, 1234567));
    rig_expect(rig_map_piece(&rig, 0, 1, 1234567, size));
    assert_true(block_count >= 5);
    check_seen((weft_bytes){text, size});
    rig_fini(&rig);
    free(text);
}

static void records_and_bytes_in_are_counted(void **state)
{
    (void)state;
    static struct rig rig;
    for (int variant = 0; variant < 4; variant++) {
        open_for_reading(&rig, variant & 1 ? &block_job : &line_job, weft_text("a\n\nbc\nd"),
                         variant & 2, 4096);
        forget_lines();
        rig_map_all(&rig);
        assert_int_equal(rig.slots[0].records_in, 4);
        assert_int_equal(rig.slots[0].bytes_in, 7);
        assert_int_equal(rig.page->slots[0].records_in, 4);
        assert_int_equal(rig.page->slots[0].bytes_in, 7);
        rig_fini(&rig);
    }
}

static uint64_t ahead_at_last;

static void note_how_far(weft_task *task, weft_bytes line)
{
    (void)line;
    const struct slot_page *page = slot_of_task(task)->page;
    ahead_at_last = page->bytes_in + page->input_offset - page->counted_offset;
}

static void the_page_tells_how_far_a_slot_is_inside_a_block(void **state)
{
    (void)state;
    static struct rig rig;
    const weft_job job = {.name = "far", .map = note_how_far};
    for (int is_mapped = 0; is_mapped < 2; is_mapped++) {
        open_for_reading(&rig, &job, weft_text("a\n\nbc\nd"), is_mapped, 4096);
        rig_map_all(&rig);
        assert_int_equal(ahead_at_last, 6);
        const struct slot_page *page = &rig.page->slots[0];
        assert_int_equal(page->input_offset, page->counted_offset);
        rig_fini(&rig);
    }
}

static void an_empty_file_is_one_empty_block_and_no_line(void **state)
{
    (void)state;
    static struct rig rig;
    for (int is_line = 0; is_line < 2; is_line++) {
        open_for_reading(&rig, is_line ? &line_job : &block_job, weft_text(""), false, 4096);
        forget_lines();
        rig_map_all(&rig);
        assert_int_equal(block_count, is_line ? 0 : 1);
        assert_int_equal(seen_count, 0);
        assert_int_equal(rig.slots[0].records_in, 0);
        rig_fini(&rig);
    }
}

static void several_pieces_are_one_attempt(void **state)
{
    (void)state;
    static struct rig rig;
    const weft_bytes text = weft_text("a\nb\nc\nd\n");
    open_for_reading(&rig, &line_job, text, false, 64);
    forget_lines();
    const struct input_stretch pieces[] = {{0, 4, 8}, {0, 0, 2}, {0, 2, 4}};
    slot_begin_attempt(&rig.slots[0], SLOT_COLLECT, 0);
    rig_expect(map_run(&rig.slots[0], pieces, 3));
    assert_int_equal(seen[0].offset, 4);
    check_seen(text);
    rig_fini(&rig);
}

// ---- pairs that the stage before has kept

static char kept_seen[4096];

static void see_kept(weft_task *task, weft_bytes value)
{
    const weft_bytes key = weft_input_key(task);
    const size_t used = strlen(kept_seen);
    snprintf(kept_seen + used, sizeof kept_seen - used, "%.*s=%.*s ", (int)key.size, key.data,
             (int)value.size, value.data);
    assert_string_equal(weft_input_name(task), "");
}

static void keep(struct dataset *dataset, uint32_t range, const char *key, const char *value)
{
    const uint32_t sizes[2] = {(uint32_t)strlen(key), (uint32_t)strlen(value)};
    rig_expect(dataset_append(dataset, range, (weft_bytes){(const char *)sizes, sizeof sizes}));
    rig_expect(dataset_append(dataset, range, weft_text(key)));
    rig_expect(dataset_append(dataset, range, weft_text(value)));
}

static void kept_pairs_come_with_their_keys_whatever_the_buffer(void **state)
{
    (void)state;
    static struct rig rig;
    const weft_job job = {.name = "second", .map = see_kept, .reduce = weft_identity};
    for (size_t read_bytes = 1; read_bytes <= 1000; read_bytes *= 3) {
        rig_init(&rig, &job, weft_text(""));
        rig.stage.memory.read_bytes = read_bytes;
        rig.stage.source = dataset_new(&rig.budget, 3, read_bytes % 2 ? 1 << 20 : 0, RIG_TMP);
        keep(rig.stage.source, 1, "a", "1");
        keep(rig.stage.source, 1, "", "");
        keep(rig.stage.source, 1, "a long key that fills a buffer", "and a longer value yet");
        keep(rig.stage.source, 2, "b", "2");
        rig_open(&rig);
        kept_seen[0] = 0;
        for (uint32_t task = 0; task < 3; task++) {
            slot_begin_attempt(&rig.slots[0], SLOT_COLLECT, task);
            rig_expect(map_run(&rig.slots[0], NULL, 0));
            assert_int_equal(rig.slots[0].records_in, task == 0 ? 0 : task == 1 ? 3 : 1);
        }
        assert_string_equal(kept_seen,
                            "a=1 = a long key that fills a buffer=and a longer value yet "
                            "b=2 ");
        rig_fini(&rig);
    }
}

// ---- what may go wrong

static void a_process_beyond_its_memory_fails_the_attempt(void **state)
{
    (void)state;
    static struct rig rig;
    if (mem_resident_bytes() == 0)
        skip();  // unknown, as under a sanitizer
    open_for_reading(&rig, &line_job, weft_text("a\nb\n"), false, 64);
    rig.stage.process_bytes_max = 1;
    assert_int_equal(rig_map_piece(&rig, 0, 0, 0, 4), WEFT_RESOURCE_EXHAUSTED);
    assert_true(rig.slots[0].is_final);
    assert_non_null(strstr(err_text(), "the job's own code"));
    assert_non_null(strstr(err_text(), "--memory"));
    rig_fini(&rig);
}

static void a_decoder_beyond_the_memory_is_called_that(void **state)
{
    (void)state;
    static struct rig rig;
    struct buf packed = {0};
    if (mem_resident_bytes() == 0)
        skip();  // unknown, as under a sanitizer
    assert_int_equal(codec_compress(CODEC_XZ, weft_text("a\nb\n"), &packed), WEFT_OK);
    open_for_reading(&rig, &line_job, buf_bytes(&packed), false, 64);
    rig.stage.process_bytes_max = 1;
    assert_int_equal(rig_map_piece(&rig, 0, 0, 0, packed.size), WEFT_RESOURCE_EXHAUSTED);
    assert_true(rig.slots[0].is_final);
    assert_non_null(strstr(err_text(), "decompressing "));
    assert_non_null(strstr(err_text(), "--memory"));
    rig_fini(&rig);
    buf_fini(&packed);
}

static struct sigaction our_handler;  // cmocka puts its own in place before every test
static struct rig *shrunk_rig;
static uint64_t shrunk_to;

static void shrink_once(void)
{
    if (shrunk_rig)
        rig_expect(file_truncate(shrunk_rig->text_fd, "text", shrunk_to));
    shrunk_rig = NULL;
}

// A text of 3 MiB, of which the reader has seen a line when it is cut.
static void shrink_while_read(bool is_mapped, uint64_t to)
{
    static struct rig rig;
    const size_t size = (3 << 20) + 100;
    char *text = malloc(size);
    assert_non_null(text);
    memset(text, 'x', size);
    for (size_t at = 99999; at < size; at += 100000)
        text[at] = '\n';
    open_for_reading(&rig, &line_job, (weft_bytes){text, size}, is_mapped, 4096);
    forget_lines();
    sigaction(SIGBUS, &our_handler, NULL);
    before_line = shrink_once;
    shrunk_rig = &rig;
    shrunk_to = to;
    assert_int_equal(rig_map_piece(&rig, 0, 0, 0, size), WEFT_DATA_LOSS);
    assert_non_null(strstr(err_text(), "text became shorter while it was read"));
    assert_true(rig.slots[0].has_failed && rig.slots[0].is_final);
    rig_fini(&rig);
    free(text);
}

static void a_file_that_shrinks_while_read_is_data_loss_with_its_name(void **state)
{
    (void)state;
    shrink_while_read(false, 200000);
    shrink_while_read(false, 0);
    shrink_while_read(false, (3 << 20) + 99);  // by one byte
}

static void a_file_that_shrinks_while_mapped_is_data_loss_with_its_name(void **state)
{
    (void)state;
    shrink_while_read(true, 200000);
    shrink_while_read(true, 0);
    shrink_while_read(true, 1 << 20);  // at the end of a page
}

static void a_mapped_file_that_loses_part_of_its_last_page_is_data_loss(void **state)
{
    (void)state;
    shrink_while_read(true, (3 << 20) + 99);
}

// A sort points into its mapped input until it writes.
static void emit_line(weft_task *task, weft_bytes line)
{
    weft_emit(task, line, weft_none());
}

static void shrink_before_the_reduce(uint64_t to)
{
    static struct rig rig;
    const weft_job job = {.name = "sort", .map = emit_line, .reduce = weft_identity};
    char text[20000];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = i % 20 == 19 ? '\n' : (char)('a' + i * 7 % 26);
    open_for_reading(&rig, &job, (weft_bytes){text, sizeof text}, true, 4096);
    sigaction(SIGBUS, &our_handler, NULL);
    rig_map_all(&rig);
    rig_seal(&rig);
    rig_expect(file_truncate(rig.text_fd, "text", to));
    assert_int_equal(rig_reduce_range(&rig, 0, 0), WEFT_DATA_LOSS);
    assert_non_null(strstr(err_text(), "text became shorter while it was read"));
    rig_fini(&rig);
}

static void a_mapped_file_that_shrinks_before_the_reduce_is_data_loss(void **state)
{
    (void)state;
    shrink_before_the_reduce(0);
    shrink_before_the_reduce(8192);
    shrink_before_the_reduce(19999);
}

static void a_missing_file_is_told_by_its_name(void **state)
{
    (void)state;
    static struct rig rig;
    open_for_reading(&rig, &line_job, weft_text("a\n"), false, 64);
    rig.input.path = "/nowhere/at/all";
    assert_int_equal(rig_map_piece(&rig, 0, 0, 0, 2), WEFT_NOT_FOUND);
    assert_non_null(strstr(err_text(), "/nowhere/at/all"));
    rig_fini(&rig);
}

static void a_line_larger_than_the_budget_is_told_with_file_and_offset(void **state)
{
    (void)state;
    static struct rig rig;
    const size_t size = 1 << 20;
    char *text = malloc(size);
    assert_non_null(text);
    memset(text, 'x', size);
    memcpy(text, "short\n", 6);
    open_for_reading(&rig, &line_job, (weft_bytes){text, size}, false, 4096);
    rig.budget.limit = rig.budget.used + (200 << 10);
    forget_lines();
    assert_int_equal(rig_map_piece(&rig, 0, 0, 0, size), WEFT_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(err_text(), "text: the record at offset 6 is longer"));
    assert_non_null(strstr(err_text(), "--memory"));
    assert_int_equal(seen_count, 1);
    rig_fini(&rig);
    free(text);
}

static void fail_at_second(weft_task *task, weft_bytes line)
{
    seen_count++;
    if (line.size && line.data[0] == '2')
        weft_fail(task, "do not like %.*s", (int)line.size, line.data);
}

static void a_failed_attempt_sees_no_further_line(void **state)
{
    (void)state;
    static struct rig rig;
    const weft_job job = {.name = "fails", .map = fail_at_second, .reduce = weft_identity};
    for (int is_mapped = 0; is_mapped < 2; is_mapped++) {
        open_for_reading(&rig, &job, weft_text("1\n2\n3\n4\n"), is_mapped, 4);
        forget_lines();
        assert_int_equal(rig_map_piece(&rig, 0, 0, 0, 8), WEFT_ABORTED);
        assert_string_equal(err_text(), "do not like 2, at text near offset 2");
        assert_int_equal(seen_count, 2);
        assert_false(rig.slots[0].is_final);
        rig_fini(&rig);
    }
}

int main(void)
{
    struct mem_map map;
    if (mem_map_open(&map, "/dev/null"))
        return 1;
    mem_map_close(&map);
    sigaction(SIGBUS, NULL, &our_handler);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_cut_at_every_byte_give_each_line_once_when_read),
        cmocka_unit_test(pieces_cut_at_every_byte_give_each_line_once_when_mapped),
        cmocka_unit_test(blocks_of_pieces_cut_at_every_byte_hold_each_line_once),
        cmocka_unit_test(lines_longer_than_the_buffer_come_whole),
        cmocka_unit_test(mapped_blocks_end_at_line_ends),
        cmocka_unit_test(records_and_bytes_in_are_counted),
        cmocka_unit_test(the_page_tells_how_far_a_slot_is_inside_a_block),
        cmocka_unit_test(an_empty_file_is_one_empty_block_and_no_line),
        cmocka_unit_test(several_pieces_are_one_attempt),
        cmocka_unit_test(kept_pairs_come_with_their_keys_whatever_the_buffer),
        cmocka_unit_test(a_process_beyond_its_memory_fails_the_attempt),
        cmocka_unit_test(a_decoder_beyond_the_memory_is_called_that),
        cmocka_unit_test(a_file_that_shrinks_while_read_is_data_loss_with_its_name),
        cmocka_unit_test(a_file_that_shrinks_while_mapped_is_data_loss_with_its_name),
        cmocka_unit_test(a_mapped_file_that_loses_part_of_its_last_page_is_data_loss),
        cmocka_unit_test(a_mapped_file_that_shrinks_before_the_reduce_is_data_loss),
        cmocka_unit_test(a_missing_file_is_told_by_its_name),
        cmocka_unit_test(a_line_larger_than_the_budget_is_told_with_file_and_offset),
        cmocka_unit_test(a_failed_attempt_sees_no_further_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
