// run_on: the launcher is in a copy of this process, not the server: the server keeps the terminal, its signals and its exit code,
// and may become the program that the job is.

#include "cli/run_on.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "base/vec.h"
#include "cli/cli.h"
#include "crew/cluster_run.h"
#include "crew/crew.h"
#include "launch/ssh/ssh.h"
#include "sys/net/ports.h"
#include "sys/process/signals.h"
#include "sys/secure/secret.h"
#include "sys/time/clock.h"

enum {
    LISTEN_WORDS = 2,
    LOOK_MS = 20,
    LEAVE_MS = 10000,
    FAILED_LEAVE_MS = 500,  // until the launcher is asked to end
    CLIENT_GRACE_MS = 200,
};

// Of a client that is killed when it takes more than it has asked for, where the user says nothing.
#define METERED_MEMORY "2G"
#define METERED_CPUS "1"

// For the copy, which has it as it is at that moment.
struct launch_order {
    const char *url, *ssh;
    const char *archive;         // --archive; NULL: none
    const char *memory, *cpus;   // --client-memory, --client-cpus; NULL: whatever there is
    VEC(const char *) settings;  // --set
    const char *clients_text;    // --clients; NULL: one for each host
    size_t client_count;         // 0: this machine does the work
    uint16_t port;
    bool is_quiet, is_replaced;
};

// ---- The copy --------------------------------------------------------------------------------------------------

// The server may take its time to look at the inputs. A job of Slurm has some of the cores of its node. A quarter of the memory is for
// what a client needs besides its budget.
static void append_script(struct buf *script, const struct launch_order *order)
{
    uint64_t bytes = 0;
    buf_append_text(script, "WEFT_JOIN_MS=3600000 exec \"$WEFT_PROGRAM\" client --quiet ");
    if (order->cpus)
        buf_format(script, "-n %s ", order->cpus);
    else
        buf_append_text(script, "${SLURM_CPUS_ON_NODE:+-n \"$SLURM_CPUS_ON_NODE\"} ");
    if (order->memory && text_read_size(order->memory, &bytes))
        buf_format(script, "--memory %" PRIu64 "K ", bytes / 4 * 3 >> 10);
    buf_format(script, "\"$WEFT_LAUNCHER:%" PRIu16 "\" >&2", order->port);
}

static weft_err add_flags(struct crew_flags *flags, const struct launch_order *order)
{
    weft_err err = WEFT_OK;
    if (order->archive)
        err = crew_flags_add(flags, CREW_ARCHIVE, order->archive);
    if (!err && order->memory)
        err = crew_flags_add(flags, CREW_MEMORY, order->memory);
    if (!err && order->cpus)
        err = crew_flags_add(flags, CREW_CPUS, order->cpus);
    // A place that the scheduler takes back is replaced.
    if (!err && order->is_replaced)
        err = crew_flags_add(flags, CREW_RESTARTS, "1");
    return err;
}

static weft_err run_clients(const struct launch_order *order, size_t *ended_well, int *exit_code)
{
    struct crew_spec spec = {0};
    struct crew_flags flags = {0};
    struct buf role = {0}, script = {0};
    buf_format(&role, "client=%zu", order->client_count);
    append_script(&script, order);
    const char *const program[] = {"sh", "-c", buf_text(&script), NULL};
    const struct cluster_run_options options = {
        .on = order->url,
        .ssh = order->ssh,
        .keep_going = true,
        .quiet = order->is_quiet,
        .is_told = true,
        .grace_ms = CLIENT_GRACE_MS,
        .ended_well = ended_well,
    };
    flags.program = program;
    weft_err err = role.has_failed || script.has_failed
                       ? err_no_memory("for the clients")
                       : crew_spec_add_role_flag(&spec, buf_text(&role));
    for (size_t i = 0; !err && i < order->settings.count; i++)
        err = crew_spec_add_setting(&spec, order->settings.items[i]);
    if (!err)
        err = add_flags(&flags, order);
    if (!err)
        err = crew_spec_resolve(&spec, &flags);
    if (!err)
        err = cluster_run(&spec, &options, exit_code);
    crew_flags_fini(&flags);
    crew_spec_fini(&spec);
    buf_fini(&role);
    buf_fini(&script);
    return err;
}

// Until the server listens it may not have taken its signals over yet, and would end without its exit code.
static void await_server(uint16_t port)
{
    for (weft_err err = WEFT_OK; !err;) {
        struct port_hold hold = {-1};
        err = port_hold(&hold, "127.0.0.1", port);
        port_release(&hold);
        if (!err)
            clock_sleep_ms(LOOK_MS);
    }
    err_clear();
}

// A job without clients would wait for some forever: it is ended. One client that has ended well has seen the end of the job.
static int live_as_launcher(void *owner)
{
    size_t ended_well = 0;
    int exit_code = 0;
    const struct launch_order *order = owner;
    const weft_err err = run_clients(order, &ended_well, &exit_code);
    if (err)
        exit_code = cli_fail(err, false);
    if (exit_code != 0 && ended_well == 0) {
        await_server(order->port);
        process_signal_parent(signal_no_clients);
    }
    return ended_well > 0 ? 0 : exit_code;
}

// ---- The words ---------------------------------------------------------------------------------------------------

// "--on", "URL" or "--on=URL". The number of words it takes; 0: it is another word.
static size_t read_option(char *const *words, size_t left, const char *name, const char **value)
{
    const size_t size = strlen(name);
    if (strncmp(words[0], name, size) != 0)
        return 0;
    if (words[0][size] == '=') {
        *value = words[0] + size + 1;
        return 1;
    }
    if (words[0][size] || left < 2)
        return 0;
    *value = words[1];
    return 2;
}

static weft_err read_words(struct run_on *on, char *const *words, size_t count,
                           struct launch_order *order)
{
    bool has_ended = false;
    on->words = calloc(count + LISTEN_WORDS + 1, sizeof *on->words);
    if (!on->words)
        return err_no_memory("for the arguments");
    on->count = LISTEN_WORDS;
    const struct {
        const char *name;
        const char **value;
    } options[] = {
        {"--on", &order->url},
        {"--ssh", &order->ssh},
        {"--clients", &order->clients_text},
        {"--archive", &order->archive},
        {"--client-memory", &order->memory},
        {"--client-cpus", &order->cpus},
    };
    for (size_t i = 0; i < count;) {
        size_t used = 0;
        const char *setting = NULL;
        has_ended = has_ended || strcmp(words[i], "--") == 0;
        for (size_t k = 0; k < sizeof options / sizeof *options && !has_ended && used == 0; k++)
            used = read_option(words + i, count - i, options[k].name, options[k].value);
        if (!has_ended && used == 0)
            used = read_option(words + i, count - i, "--set", &setting);
        if (setting && !VEC_PUSH(&order->settings, setting))
            return err_no_memory("for the arguments");
        if (used == 0)
            on->words[on->count++] = words[i++];
        i += used;
    }
    return WEFT_OK;
}

static bool has_word(const struct run_on *on, const char *word)
{
    for (size_t i = LISTEN_WORDS; i < on->count; i++)
        if (strcmp(on->words[i], word) == 0)
            return true;
    return false;
}

// Nothing is run for these.
static bool is_question(const struct run_on *on)
{
    return has_word(on, "--help") || has_word(on, "-h") || has_word(on, "--dry-run");
}

// One client on each host, unless the user wants another number; Slurm has no list of hosts.
static weft_err count_clients(struct launch_order *order, const struct launcher *launcher)
{
    struct ssh_hosts hosts = {0};
    uint64_t count = 0;
    weft_err err = WEFT_OK;
    if (order->clients_text) {
        if (!text_read_count(order->clients_text, CREW_MEMBERS_MAX, &count))
            return err_set(WEFT_INVALID_ARGUMENT, "--clients %s: not a number from 1 to %d",
                           order->clients_text, CREW_MEMBERS_MAX);
    } else if (launcher == &launch_ssh) {
        err = ssh_hosts_read(&hosts, order->url);
        count = hosts.list.count;
        ssh_hosts_fini(&hosts);
    } else {
        return err_set(WEFT_INVALID_ARGUMENT,
                       "--on %s: how many clients are to work is not said\n"
                       "  try: --clients 4",
                       order->url);
    }
    order->client_count = (size_t)count;
    return err;
}

// Options that have no meaning where this machine does the work.
static weft_err refuse_here(const struct launch_order *order)
{
    if (order->clients_text)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "--clients is for other machines\n  try: --on ssh://HOST,HOST..., or "
                       "--workers for processes on this one");
    if (order->archive)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "--archive is for other machines\n  try: --on ssh://HOST,HOST..., or the "
                       "programs of the environment first in PATH");
    if (order->memory || order->cpus || order->settings.count)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "%s is for other machines\n  try: --on yarn://HOST, or --memory and -n for "
                       "this one",
                       order->memory ? "--client-memory"
                       : order->cpus ? "--client-cpus"
                                     : "--set");
    return WEFT_OK;
}

// What the server could not say any more once clients are being started.
static weft_err check_clients(const struct launch_order *order, const struct launcher *launcher)
{
    uint64_t number = 0;
    weft_err err = WEFT_OK;
    if (order->memory && !text_read_size(order->memory, &number))
        return err_set(WEFT_INVALID_ARGUMENT, "--client-memory %s: a size is written 512M or 2G",
                       order->memory);
    if (order->cpus && !text_read_count(order->cpus, UINT16_MAX, &number))
        return err_set(WEFT_INVALID_ARGUMENT, "--client-cpus %s: not a number from 1", order->cpus);
    for (size_t i = 0; !err && i < order->settings.count; i++)
        err = err_wrap(launcher_check_setting(launcher, order->settings.items[i]), "--set");
    return err;
}

static weft_err check_order(const struct run_on *on, struct launch_order *order)
{
    const struct launcher *launcher;
    const weft_err err = launcher_find(order->url, &launcher);
    if (err)
        return err;
    if (!launcher->is_far)
        return refuse_here(order);
    if (has_word(on, "--listen"))
        return err_set(
            WEFT_INVALID_ARGUMENT,
            "--on starts the clients, and --listen waits for others\n  try: one of them");
    if (launcher->is_metered && !order->memory)
        order->memory = METERED_MEMORY;
    if (launcher->is_metered && !order->cpus)
        order->cpus = METERED_CPUS;
    order->is_replaced = launcher->is_metered;
    const weft_err wrong = check_clients(order, launcher);
    if (wrong)
        return wrong;
    // A queue may be long, and is worth a line.
    order->is_quiet = launcher == &launch_ssh || has_word(on, "-q") || has_word(on, "--quiet");
    return count_clients(order, launcher);
}

// ---- Starting ----------------------------------------------------------------------------------------------------

// The server and the launcher have the same token: a fresh one, unless the user names one.
static weft_err make_token(const struct run_on *on)
{
    const char *token = getenv("WEFT_TOKEN"), *file = getenv("WEFT_TOKEN_FILE");
    struct secret secret;
    char text[SECRET_TEXT_BYTES];
    if (has_word(on, "--token-file"))
        return err_set(WEFT_INVALID_ARGUMENT,
                       "--token-file is for servers that clients join\n"
                       "  with --on the secret is made for the run, or that of WEFT_TOKEN_FILE");
    if ((token && *token) || (file && *file))
        return WEFT_OK;
    secret_make(&secret);
    secret_write(&secret, text);
    secret_clear(&secret);
    return setenv("WEFT_TOKEN", text, 1) == 0 ? WEFT_OK : err_no_memory("for the token");
}

static weft_err start_clients(struct run_on *on, struct launch_order *order)
{
    static char listen[16];
    struct port_hold hold = {-1};
    weft_err err = make_token(on);
    if (!err)
        err = port_choose(&hold, &order->port);
    port_release(&hold);
    if (err)
        return err;
    snprintf(listen, sizeof listen, ":%" PRIu16, order->port);
    on->words[0] = (char *)"--listen";
    on->words[1] = listen;
    return process_fork(live_as_launcher, order, &on->clients);
}

weft_err run_on_start(struct run_on *on, char *const *words, size_t count)
{
    struct launch_order order = {0};
    weft_err err = read_words(on, words, count, &order);
    if (!err && (order.url || order.clients_text || order.archive || order.memory || order.cpus ||
                 order.settings.count))
        err = check_order(on, &order);
    if (!err && order.client_count > 0 && !is_question(on))
        err = start_clients(on, &order);
    if (!err && !on->clients.pid) {
        memmove(on->words, on->words + LISTEN_WORDS,
                (on->count - LISTEN_WORDS) * sizeof *on->words);
        on->count -= LISTEN_WORDS;
    }
    VEC_FINI(&order.settings);
    return err;
}

// The clients of a job that has ended well know it. Those of one that has failed are not waited for, unless the launcher is the reason. Agents
// whose launcher is killed end their members as well, but a scheduler would believe for a while that the run continues, so the launcher is
// asked first. True: it has ended by itself.
static bool await_launcher(struct process *launcher, int exit_code)
{
    const uint32_t patience_ms = exit_code == 0                                 ? LEAVE_MS
                                 : exit_code == err_exit_code(WEFT_UNAVAILABLE) ? FAILED_LEAVE_MS
                                                                                : 0;
    if (process_has_ended(launcher, patience_ms))
        return true;
    process_terminate(launcher);
    if (!process_has_ended(launcher, LEAVE_MS))
        process_kill(launcher);
    return false;
}

void run_on_end(struct run_on *on, int *exit_code)
{
    if (on->clients.pid) {
        struct process_exit exit;
        const bool is_its_own = await_launcher(&on->clients, *exit_code);
        process_wait(&on->clients, &exit);
        const bool has_failed =
            is_its_own && exit.is_known && !exit.was_signalled && exit.number != 0;
        if (has_failed && *exit_code == err_exit_code(WEFT_UNAVAILABLE))
            *exit_code = exit.number;
    }
    free(on->words);
}
