// Sessions that have ended, and names.

#include "transport/fences.h"

#include "base/text.h"
#include "transport/tether.h"

void fences_add(struct fences *fences, const uint8_t session[HELLO_SESSION_BYTES], bool was_lost)
{
    struct fenced *fenced = &fences->list[fences->count++ % FENCED_MAX];
    memcpy(fenced->session, session, sizeof fenced->session);
    fenced->was_lost = was_lost;
}

weft_err fences_refuse(bool was_lost)
{
    return was_lost
               ? err_set(WEFT_ABORTED,
                         "it took this process for lost after %d s of silence, and has given its "
                         "work to others",
                         TETHER_LOST_MS / 1000)
               : err_set(WEFT_ABORTED, "it has ended the session with this process");
}

weft_err fences_check(const struct fences *fences, const struct hello *hello, uint64_t epoch)
{
    const size_t count = fences->count < FENCED_MAX ? fences->count : FENCED_MAX;
    for (size_t i = 0; i < count; i++)
        if (memcmp(fences->list[i].session, hello->session, sizeof hello->session) == 0)
            return fences_refuse(fences->list[i].was_lost);
    if (hello->resumes && hello->epoch != epoch)
        return err_set(WEFT_ABORTED, "it was started again, and does not know this session");
    return hello->resumes ? fences_refuse(true) : WEFT_OK;
}

// ---- Names ------------------------------------------------------------------------------------------

// Of Unicode, too: U+0080 to U+009F begin sequences on some terminals.
static bool is_control(const char *at, size_t length)
{
    const unsigned char first = (unsigned char)at[0];
    return length == 1 ? first < ' ' || first == 127 : first == 0xc2 && (unsigned char)at[1] < 0xa0;
}

weft_err fences_check_name(const struct hello *hello)
{
    const char *at = hello->member, *end = at + strlen(at);
    while (at < end) {
        const size_t length = text_utf8_length(at, end);
        if (length == 0 || is_control(at, length))
            return err_set(WEFT_INVALID_ARGUMENT,
                           "the name of this process has characters that cannot be printed");
        at += length;
    }
    return WEFT_OK;
}
