// Why a handle is NULL: one reason for the process, the last that was kept.

#include "client/no_handle.h"

#include <stdio.h>

#include "sys/thread/thread.h"

static struct mutex lock = MUTEX_INITIALIZER;
static weft_err reason;  // guarded by the lock, with its sentence
static char reason_sentence[ERR_TEXT_BYTES_MAX];

weft_err no_handle_keep(weft_err code)
{
    mutex_lock(&lock);
    reason = code;
    snprintf(reason_sentence, sizeof reason_sentence, "%s", code ? err_text() : "");
    mutex_unlock(&lock);
    return code;
}

weft_err no_handle_reason(void)
{
    mutex_lock(&lock);
    const weft_err code = reason;
    if (code)
        err_set(code, "%s", reason_sentence);
    mutex_unlock(&lock);
    return code
               ? code
               : err_set(
                     WEFT_FAILED_PRECONDITION,
                     "a handle or the place for an answer is NULL\n  the call that made a handle says why: "
                     "weft_error(), right after it");
}

weft_err member_no_handle(void)
{
    no_handle_reason();
    return WEFT_FAILED_PRECONDITION;
}
