// count: the different lines of the input and how often each occurs.

#include "jobs/builtin.h"
#include "jobs/lines.h"

static void count_lines(weft_task *task, weft_bytes block)
{
    struct lines lines;
    lines_init(&lines, task, block);
    for (weft_bytes line; lines_next(&lines, &line);) {
        // As every job sees lines: "\r\n" is an end, too.
        if (lines.is_plain && line.size && line.data[line.size - 1] == '\r' &&
            line.data + line.size < lines.end)
            line.size--;
        weft_emit_int(task, line, 1);
    }
}

const weft_job builtin_count = {
    .name = "count",
    .map_block = count_lines,
    .combine = weft_sum,
    .reduce = weft_sum,
    .options = "",
    .usage = "Counts lines: prints each line, a TAB and how often it occurs, sorted by the line.\n",
};
