// The slowest request of each path: ./jsonl_events events.jsonl
//
// Every line is a JSON object such as {"type":"request","request":{"path":"/yarn"},"ms":12}; those of another
// type, or without a path, are passed over.
#include <weft/weft.h>

static void map(weft_task *task, weft_bytes event)
{
    const weft_bytes type = weft_json(task, event, "type");
    const weft_bytes path = weft_json(task, event, "request.path");
    const weft_bytes took = weft_json(task, event, "ms");
    int64_t ms;
    if (type.size != 7 || memcmp(type.data, "request", 7) != 0 || !path.data)
        return;
    if (weft_read_int(took, &ms))
        weft_emit_int(task, path, ms);
    else
        weft_fail(task, "no \"ms\" in a request");
}

int main(int argc, char **argv)
{
    const weft_job job = {.name = "jsonl_events",
                          .map = map,
                          .combine = weft_max,
                          .reduce = weft_max,
                          .format = "jsonl"};
    return weft_main(argc, argv, &job);
}
