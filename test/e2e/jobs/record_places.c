// Prints every record as `name:number:offset:record`, in input order, whatever the format.
#include <weft/weft.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void map(weft_task *task, weft_bytes record)
{
    const char *name = weft_input_name(task);
    const size_t room = record.size + strlen(name) + 64;
    char *text = malloc(room);
    if (!text) {
        weft_fail(task, "no memory");
        return;
    }
    const int size = snprintf(text, room, "%s:%" PRIu64 ":%" PRIu64 ":", name,
                              weft_input_record(task), weft_input_offset(task));
    memcpy(text + size, record.data, record.size);
    weft_emit(task, (weft_bytes){text, (size_t)size + record.size}, weft_none());
    free(text);
}

int main(int argc, char **argv)
{
    const weft_job job = {.name = "record_places", .map = map};
    return weft_main(argc, argv, &job);
}
