// The launchers that there are, and which of them a URL means.

#include "launch/launch.h"

#include <string.h>

#include "base/args.h"
#include "launch/local/local.h"
#include "launch/slurm/slurm.h"
#include "launch/ssh/ssh.h"

const struct launcher *const launchers[] = {&launch_local, &launch_ssh, &launch_slurm, NULL};

enum { LAUNCHERS_MAX = 8, SCHEME_BYTES = 32 };

static void append_forms(struct buf *text)
{
    for (size_t i = 0; launchers[i]; i++)
        buf_format(text, "%s%s",
                   i == 0             ? ""
                   : launchers[i + 1] ? ", "
                                      : " or ",
                   launchers[i]->form);
}

static weft_err refuse(const char *url, const char *scheme)
{
    const char *names[LAUNCHERS_MAX + 1] = {0};
    struct buf forms = {0};
    for (size_t i = 0; launchers[i] && i < LAUNCHERS_MAX; i++)
        names[i] = launchers[i]->scheme;
    const char *guess = args_guess(scheme, names);
    append_forms(&forms);
    const weft_err err =
        guess ? err_set(WEFT_INVALID_ARGUMENT,
                        "--on %s: there is no launcher %s\n  did you mean: %s:", url, scheme, guess)
              : err_set(WEFT_INVALID_ARGUMENT, "--on %s: there is no launcher %s\n  try: --on %s",
                        url, scheme, buf_text(&forms));
    buf_fini(&forms);
    return err;
}

weft_err launcher_find(const char *url, const struct launcher **launcher)
{
    char scheme[SCHEME_BYTES] = "";
    *launcher = &launch_local;
    if (!url)
        return WEFT_OK;
    const size_t size = strcspn(url, ":");
    if (size < sizeof scheme)
        memcpy(scheme, url, size);
    for (size_t i = 0; launchers[i]; i++) {
        if (strcmp(launchers[i]->scheme, scheme) != 0)
            continue;
        *launcher = launchers[i];
        return launchers[i]->check(url);
    }
    return refuse(url, scheme);
}
