// Counts and adds up nested.amount by group and two characters of the text, of JSON lines.
#include <weft/weft.h>

#include <inttypes.h>
#include <stdio.h>

static void map(weft_task *task, weft_bytes object)
{
    const weft_bytes group = weft_json(task, object, "group");
    const weft_bytes text = weft_json(task, object, "text");
    const weft_bytes deep = weft_json(task, object, "nested.list.1.deep.2");
    int64_t amount;
    if (!weft_read_int(weft_json(task, object, "nested.amount"), &amount) || text.size < 3)
        weft_fail(task, "no amount or no text");
    else if (deep.size != 4 || memcmp(deep.data, "\xf0\x9f\xa7\xb6", 4) != 0)
        weft_fail(task, "deep down is '%.*s'", (int)deep.size, deep.data);
    else {
        char key[96];
        const int size = snprintf(key, sizeof key, "%.*s/%.2s", group.data ? (int)group.size : 4,
                                  group.data ? group.data : "none", text.data + text.size - 3);
        weft_emit_int(task, (weft_bytes){key, (size_t)size}, amount);
    }
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
    const weft_job job = {.name = "jsonl_groups", .map = map, .reduce = reduce, .format = "jsonl"};
    return weft_main(argc, argv, &job);
}
