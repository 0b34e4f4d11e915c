// weft rendezvous: where the processes of Horovod meet, for the preset of weft cluster run alone.

#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "crew/meeting.h"

static weft_err read_port(uint16_t *port)
{
    const char *text = getenv("WEFT_PORT");
    uint64_t number = 0;
    if (!text || !text_read_count(text, UINT16_MAX, &number) || number == 0)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "WEFT_PORT has no port at which processes could meet\n"
                       "  try: weft cluster run --preset horovod PROGRAM, which starts all of it");
    *port = (uint16_t)number;
    return WEFT_OK;
}

int cmd_rendezvous(char *const *words, size_t count)
{
    uint16_t port = 0;
    for (size_t i = 0; i < count; i++)
        if (strcmp(words[i], "-h") == 0 || strcmp(words[i], "--help") == 0)
            return cmd_help((char *const[]){"rendezvous"}, 1);
    if (count > 0)
        return cli_fail(err_set(WEFT_INVALID_ARGUMENT,
                                "weft rendezvous has no arguments: its port is that of WEFT_PORT"),
                        false);
    weft_err err = read_port(&port);
    if (!err)
        err = meeting_serve(port);
    return err ? cli_fail(err, false) : 0;
}
