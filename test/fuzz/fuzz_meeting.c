// Fuzzes the requests at the place where processes meet: two connections, each fed in pieces, cut by the first byte. An answer is whole
// HTTP, nothing is kept beyond the limits, and a request that is answered is answered in its pieces, too.
#include "crew/meeting.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_answer(struct buf *answer)
{
    const char *text = buf_text(answer);
    ASSERT(strncmp(text, "HTTP/1.1 ", 9) == 0 && strstr(text, "\r\n\r\n"));
}

// Each connection in growing pieces, as the server hands them over.
static void connect_with(struct meeting *meeting, weft_bytes request, size_t step)
{
    struct buf answer = {0};
    bool is_answered = false;
    for (size_t at = 0; at <= request.size && !is_answered; at += step)
        is_answered = meeting_answer(meeting, (weft_bytes){request.data, at}, &answer);
    if (!is_answered)
        is_answered = meeting_answer(meeting, request, &answer);
    if (is_answered)
        check_answer(&answer);
    else
        ASSERT(answer.size == 0);
    buf_fini(&answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct meeting meeting;
    if (size < 2)
        return 0;
    const size_t step = 1 + data[0] % 64, cut = (size - 1) * data[1] / 256;
    const char *text = (const char *)data + 1;
    meeting_init(&meeting, 1);
    connect_with(&meeting, (weft_bytes){text, cut}, step);
    connect_with(&meeting, (weft_bytes){text + cut, size - 1 - cut}, step);
    connect_with(&meeting, weft_text("GET /a/b HTTP/1.1\r\n\r\n"), 7);
    ASSERT(meeting.bytes <= size);
    meeting_fini(&meeting);
    return 0;
}
