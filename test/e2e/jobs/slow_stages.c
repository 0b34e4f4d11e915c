// Two stages, the second of which takes its time with every record.
#include <unistd.h>
#include <weft/weft.h>

static void pass(weft_task *task, weft_bytes line)
{
    weft_emit(task, line, weft_text("x"));
}

static void pass_slowly(weft_task *task, weft_bytes value)
{
    usleep(2000);
    weft_emit(task, weft_input_key(task), value);
}

int main(int argc, char **argv)
{
    const weft_job second = {.name = "second", .map = pass_slowly, .reduce = weft_identity};
    const weft_job first = {
        .name = "slow-stages", .map = pass, .reduce = weft_identity, .next = &second};
    return weft_main(argc, argv, &first);
}
