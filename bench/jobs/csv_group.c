// Group by over csv, as a user would write it: the sum of `quantity` for every `product`.
#include <weft/weft.h>

static void map(weft_task *task, weft_bytes row)
{
    weft_bytes fields[10];
    int64_t quantity;
    if (weft_csv_fields(task, row, fields, 10) == 10 && weft_read_int(fields[5], &quantity))
        weft_emit_int(task, fields[3], quantity);
    else
        weft_fail(task, "not a sale");
}

int main(int argc, char **argv)
{
    const weft_job job = {
        .name = "csv_group", .map = map, .reduce = weft_sum, .format = "csv:header"};
    return weft_main(argc, argv, &job);
}
