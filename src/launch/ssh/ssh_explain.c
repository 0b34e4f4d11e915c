// What ssh prints when it fails is for people, and the same since many versions; each kind has a cause and a remedy.

#include <string.h>

#include "base/buf.h"
#include "launch/ssh/ssh.h"
#include "sys/process/process.h"

static const struct cause {
    const char *words;  // in what ssh or the shell there has printed
    bool is_passing;
    weft_err code;
    const char *advice;  // for the host in its %s
} causes[] = {
    {"Host key verification failed", false, WEFT_PERMISSION_DENIED,
     "ssh %s true, and accept its key if it is the right one"},
    {"REMOTE HOST IDENTIFICATION HAS CHANGED", false, WEFT_PERMISSION_DENIED,
     "ssh %s true, which says what to do when the host was really replaced"},
    {"Permission denied (", false, WEFT_PERMISSION_DENIED,
     "ssh %s true; ssh-add, or a line IdentityFile for it in ~/.ssh/config, when that asks"},
    {"Too many authentication failures", false, WEFT_PERMISSION_DENIED,
     "a line IdentitiesOnly yes for %s in ~/.ssh/config"},
    {"Could not resolve hostname", false, WEFT_NOT_FOUND,
     "the name as ssh knows it, or a line Hostname for %s in ~/.ssh/config"},
    {"Connection refused", false, WEFT_UNAVAILABLE, "ssh %s true: is its sshd running?"},
    {"No route to host", false, WEFT_UNAVAILABLE, "ssh %s true: is it on?"},
    {"timed out", false, WEFT_UNAVAILABLE,
     "ssh %s true: is it on, and does a firewall let ssh in?"},
    {"kex_exchange_identification", true, WEFT_UNAVAILABLE,
     "again, or a larger MaxStartups in the sshd_config of %s"},
    {"Connection closed", true, WEFT_UNAVAILABLE,
     "again, or a larger MaxStartups in the sshd_config of %s"},
    {"Connection reset", true, WEFT_UNAVAILABLE, "again; ssh %s true"},
    {"No space left on device", false, WEFT_RESOURCE_EXHAUSTED,
     "ssh %s df, and make room; XDG_CACHE_HOME or TMPDIR there may name another disk"},
    {"Disk quota exceeded", false, WEFT_RESOURCE_EXHAUSTED, "ssh %s quota, and make room"},
    {"Exec format error", false, WEFT_FAILED_PRECONDITION,
     "a weft for the machine of %s, named by WEFT_AGENT=PATH"},
    {"cannot execute binary file", false, WEFT_FAILED_PRECONDITION,
     "a weft for the machine of %s, named by WEFT_AGENT=PATH"},
    {"Permission denied", false, WEFT_PERMISSION_DENIED,
     "ssh %s mount: programs cannot run where its cache is (noexec?); set XDG_CACHE_HOME there"},
};

enum { CAUSE_COUNT = sizeof causes / sizeof *causes };

static const struct cause *find_cause(const char *errors)
{
    for (size_t i = 0; i < CAUSE_COUNT; i++)
        if (strstr(errors, causes[i].words))
            return &causes[i];
    return NULL;
}

// The line with the words, or the last one.
static weft_bytes choose_line(const char *errors, const char *words)
{
    const char *best = errors;
    for (const char *at = errors; *at;) {
        const size_t size = strcspn(at, "\n");
        if (size > 0 && at[0] != '\r')
            best = at;
        const char *found = words ? strstr(at, words) : NULL;
        if (found && found < at + size)
            break;
        at += size + (at[size] == '\n');
    }
    size_t size = strcspn(best, "\r\n");
    return (weft_bytes){best, size};
}

weft_err ssh_explain(const char *host, const char *errors, const struct process_exit *exit,
                     bool was_greeted, bool *is_passing)
{
    const struct cause *cause = find_cause(errors);
    const weft_bytes line = choose_line(errors, cause ? cause->words : NULL);
    char how[96];
    struct buf advice = {0};
    process_describe_exit(exit, how, sizeof how);
    *is_passing = cause && cause->is_passing;
    if (!cause && was_greeted && line.size == 0) {
        *is_passing = false;
        return err_set(WEFT_UNAVAILABLE, "the connection has ended (ssh %s)", how);
    }
    if (cause)
        buf_format(&advice, cause->advice, host);
    else
        buf_format(&advice, "ssh %s true", host);
    const weft_err err =
        line.size > 0
            ? err_set(cause ? cause->code : WEFT_UNAVAILABLE, "%.*s\n  try: %s", (int)line.size,
                      line.data, buf_text(&advice))
            : err_set(WEFT_UNAVAILABLE, "ssh %s without a word\n  try: %s", how, buf_text(&advice));
    buf_fini(&advice);
    return err;
}
