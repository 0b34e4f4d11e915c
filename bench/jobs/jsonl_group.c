// Group by over JSON lines, as a user would write it: the sum of `quantity` for every `product`.
#include <weft/weft.h>

static void map(weft_task *task, weft_bytes object)
{
    const weft_bytes product = weft_json(task, object, "product");
    int64_t quantity;
    if (product.data && weft_read_int(weft_json(task, object, "quantity"), &quantity))
        weft_emit_int(task, product, quantity);
    else
        weft_fail(task, "not a sale");
}

int main(int argc, char **argv)
{
    const weft_job job = {.name = "jsonl_group", .map = map, .reduce = weft_sum, .format = "jsonl"};
    return weft_main(argc, argv, &job);
}
