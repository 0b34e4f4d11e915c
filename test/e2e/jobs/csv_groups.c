// Counts and adds up column `amount` by `group` and the first three bytes of `the "name"`, of csv with a
// header. A row with another number of fields than the header is bad data: it fails the task.
#include <weft/weft.h>

#include <inttypes.h>
#include <stdio.h>

enum { FIELDS = 4 };

static void map(weft_task *task, weft_bytes row)
{
    weft_bytes fields[FIELDS];
    const size_t count = weft_csv_fields(task, row, fields, FIELDS);
    if (count != FIELDS) {
        weft_fail(task, "row %" PRIu64 " has %zu fields, not %d", weft_input_record(task), count,
                  FIELDS);
        return;
    }
    const size_t columns[] = {weft_csv_column(task, "group"), weft_csv_column(task, "the \"name\""),
                              weft_csv_column(task, "amount")};
    int64_t amount;
    if (columns[0] >= FIELDS || columns[1] >= FIELDS || columns[2] >= FIELDS ||
        !weft_read_int(fields[columns[2]], &amount)) {
        weft_fail(task, "'%.*s' is no amount", (int)fields[columns[2]].size,
                  fields[columns[2]].data);
        return;
    }
    // The first three characters: a byte that continues one does not count.
    const weft_bytes name = fields[columns[1]];
    char text[64];
    size_t size = 0, letters = 0;
    for (size_t i = 0; i < name.size && size < 12; i++) {
        letters += ((unsigned char)name.data[i] & 0xc0) != 0x80;
        if (letters > 3)
            break;
        text[size++] = name.data[i] == '\n' ? '|' : name.data[i];
    }
    char key[96];
    const int key_size = snprintf(key, sizeof key, "%.*s/%.*s", (int)fields[columns[0]].size,
                                  fields[columns[0]].data, (int)size, text);
    weft_emit_int(task, (weft_bytes){key, (size_t)key_size}, amount);
}

static void reduce(weft_task *task, weft_bytes key, weft_values *values)
{
    int64_t count = 0, total = 0;
    for (int64_t amount; weft_next_int(values, &amount); count++)
        total += amount;
    char text[64];
    const int size = snprintf(text, sizeof text, "%" PRId64 " %" PRId64, count, total);
    weft_emit(task, key, (weft_bytes){text, (size_t)size});
}

int main(int argc, char **argv)
{
    const weft_job job = {
        .name = "csv_groups", .map = map, .reduce = reduce, .format = "csv:header"};
    return weft_main(argc, argv, &job);
}
