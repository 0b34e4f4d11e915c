// The launchers that there are, and which of them a URL means.

#include "launch/launch.h"

#include <string.h>

#include "base/args.h"
#include "launch/keep.h"
#include "launch/local/local.h"
#include "launch/slurm/slurm.h"
#include "launch/ssh/ssh.h"
#include "launch/yarn/yarn.h"

const struct launcher *const launchers[] = {&launch_local, &launch_ssh, &launch_slurm, &launch_yarn,
                                            NULL};

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

weft_err launchers_arrive(void)
{
    weft_err err = WEFT_OK;
    for (size_t i = 0; !err && launchers[i]; i++)
        if (launchers[i]->keeper)
            err = launchers[i]->keeper->arrive();
    return err;
}

weft_err launcher_check_setting(const struct launcher *launcher, const char *setting)
{
    char name[SCHEME_BYTES] = "";
    const size_t size = strcspn(setting, "=");
    if (!setting[size])
        return err_set(WEFT_INVALID_ARGUMENT, "%s: a setting is written NAME=VALUE", setting);
    if (!launcher->check_setting)
        return err_set(WEFT_INVALID_ARGUMENT, "%s: the launcher %s: has no settings", setting,
                       launcher->scheme);
    if (size < sizeof name)
        memcpy(name, setting, size);
    return launcher->check_setting(name, setting + size + 1);
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
