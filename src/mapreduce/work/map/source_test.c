// Sources: files that change while a job reads them.

#include "mapreduce/work/slot_testing.h"

#include <sys/stat.h>

static struct rig rig;
static const weft_bytes text = {"one\ntwo\n", 8};
static const char *written;  // before the first line is mapped; NULL: nothing
static uint64_t written_at;
static uint32_t line_count;

// Writes into the text or after its end, and a second passes.
static void write_to(const char *bytes, uint64_t offset)
{
    const struct timespec then = {.tv_sec = rig.input.mtime_ns / 1000000000 + 1};
    rig_expect(file_write_at(rig.text_fd, "text", bytes, strlen(bytes), offset));
    assert_int_equal(futimens(rig.text_fd, (const struct timespec[]){then, then}), 0);
}

static void map_line(weft_task *task, weft_bytes line)
{
    line_count++;
    if (written)
        write_to(written, written_at);
    written = NULL;
    weft_emit(task, line, weft_none());
}

static const weft_job sort = {.name = "sort", .map = map_line, .reduce = weft_identity};

static void open_rig(bool is_mapped)
{
    struct file_stat status;
    rig_init(&rig, &sort, text);
    if (is_mapped)
        rig_expect(mem_map_open(&rig.input.map, rig.path));
    rig_open(&rig);
    rig_expect(file_stat_fd(rig.text_fd, "text", &status));
    rig.input.inode = status.inode;
    rig.input.mtime_ns = status.mtime_ns;
    line_count = 0;
}

static void check_changed(weft_err code)
{
    assert_int_equal(code, WEFT_DATA_LOSS);
    assert_non_null(strstr(err_text(), "text was changed while it was read, at "));
    rig_fini(&rig);
}

static void what_was_overwritten_before_a_task_is_not_read(void **state)
{
    (void)state;
    for (int is_mapped = 0; is_mapped < 2; is_mapped++) {
        open_rig(is_mapped);
        write_to("O", 0);
        check_changed(rig_map_piece(&rig, 0, 0, 4, text.size));
    }
}

static void what_is_overwritten_while_a_task_reads_it_is_data_loss(void **state)
{
    (void)state;
    for (int is_mapped = 0; is_mapped < 2; is_mapped++) {
        open_rig(is_mapped);
        written = "O";
        written_at = 0;
        check_changed(rig_map_piece(&rig, 0, 0, 0, text.size));
    }
}

// A sort points into its mapped input until it writes.
static void mapped_input_is_looked_at_again_after_the_reduce(void **state)
{
    (void)state;
    open_rig(true);
    rig_map_all(&rig);
    rig_seal(&rig);
    write_to("O", 0);
    check_changed(rig_reduce_range(&rig, 0, 0));
}

static void what_was_appended_is_left_out(void **state)
{
    (void)state;
    for (int is_mapped = 0; is_mapped < 2; is_mapped++) {
        open_rig(is_mapped);
        written = "three\n";
        written_at = text.size;
        rig_expect(rig_map_piece(&rig, 0, 0, 0, text.size));
        assert_int_equal(line_count, 2);
        rig_fini(&rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_overwritten_before_a_task_is_not_read),
        cmocka_unit_test(what_is_overwritten_while_a_task_reads_it_is_data_loss),
        cmocka_unit_test(mapped_input_is_looked_at_again_after_the_reduce),
        cmocka_unit_test(what_was_appended_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
