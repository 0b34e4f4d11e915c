// Prints the value of a path of every JSON line, and how many bytes it has.
#include <weft/weft.h>

#include <stdio.h>

static void map(weft_task *task, weft_bytes object)
{
    const weft_bytes value = weft_json(task, object, weft_argument(weft_task_args(task), 0));
    char size[32];
    snprintf(size, sizeof size, "%zu", value.size);
    const weft_bytes front = {value.data ? value.data : "nothing",
                              value.data ? (value.size < 20 ? value.size : 20) : 7};
    weft_emit(task, front, weft_text(size));
}

int main(int argc, char **argv)
{
    const weft_job job = {.name = "json_value", .map = map, .format = "jsonl", .arguments = 1};
    return weft_main(argc, argv, &job);
}
