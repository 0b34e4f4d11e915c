// Counts where visitors come from: the hosts of the referrers in web logs of the "combined" format.
//
//   ./referrers --top 10 access.log
//
//   192.0.2.7 - - [10/Oct/2023:13:55:36 +0000] "GET / HTTP/1.1" 200 2326 "https://a.example/x" "Agent"
//                                               1st quoted: request      2nd quoted: referrer
#include <weft/weft.h>

// Takes the next text in double quotes off the line; \" does not end it.
static bool next_quoted(weft_bytes *line, weft_bytes *text)
{
    const char *end = line->data + line->size;
    const char *start = memchr(line->data, '"', line->size);
    if (!start)
        return false;
    const char *at = ++start;
    while (at < end && *at != '"')
        at += *at == '\\' && at + 1 < end ? 2 : 1;
    *text = (weft_bytes){start, (size_t)(at - start)};
    line->data = at < end ? at + 1 : end;
    line->size = (size_t)(end - line->data);
    return at < end;
}

// https://host:port/path -> host
static weft_bytes host_of(weft_bytes url)
{
    const char *end = url.data + url.size;
    const char *at = url.data;
    for (const char *mark = url.data; mark + 2 < end; mark++) {
        if (memcmp(mark, "://", 3) == 0) {
            at = mark + 3;
            break;
        }
    }
    const char *start = at;
    while (at < end && !memchr("/:?#", *at, 4))
        at++;
    return (weft_bytes){start, (size_t)(at - start)};
}

static void map(weft_task *task, weft_bytes line)
{
    weft_bytes request, referrer;
    if (!next_quoted(&line, &request) || !next_quoted(&line, &referrer)) {
        weft_counter_add(task, "lines that are not log entries", 1);
        return;
    }
    const weft_bytes host = host_of(referrer);
    const bool is_direct = host.size == 0 || (host.size == 1 && host.data[0] == '-');
    if (!is_direct)
        weft_emit_int(task, host, 1);
}

int main(int argc, char **argv)
{
    const weft_job job = {.name = "referrers", .map = map, .combine = weft_sum, .reduce = weft_sum};
    return weft_main(argc, argv, &job);
}
