// Adds up the sales of each region: ./csv_sales sales.csv
//
// The columns are found by their names in the header, so their order does not matter, and each file has its
// own. Fields may be quoted and hold commas and line breaks.
#include <weft/weft.h>

enum { FIELDS_MAX = 16 };

static void map(weft_task *task, weft_bytes row)
{
    weft_bytes fields[FIELDS_MAX];
    const size_t count = weft_csv_fields(task, row, fields, FIELDS_MAX);
    const size_t region = weft_csv_column(task, "region");
    const size_t quantity = weft_csv_column(task, "quantity"),
                 cents = weft_csv_column(task, "cents");
    int64_t pieces, price;
    if (region >= count || quantity >= count || cents >= count || count > FIELDS_MAX)
        weft_fail(task, "a row of %zu fields", count);
    else if (!weft_read_int(fields[quantity], &pieces) || !weft_read_int(fields[cents], &price))
        weft_fail(task, "quantity and cents have to be numbers");
    else
        weft_emit_int(task, fields[region], pieces * price);
}

int main(int argc, char **argv)
{
    const weft_job job = {.name = "csv_sales",
                          .map = map,
                          .combine = weft_sum,
                          .reduce = weft_sum,
                          .format = "csv:header"};
    return weft_main(argc, argv, &job);
}
