// A job with letters that weft has as well: -o, without a value, and -h.
#include <weft/weft.h>

static void map(weft_task *task, weft_bytes line)
{
    weft_emit(task, line, weft_none());
}

int main(int argc, char **argv)
{
    const weft_job job = {.name = "letters", .map = map, .options = "oh"};
    return weft_main(argc, argv, &job);
}
