// sim_server [--seed N] [--seeds COUNT] [-v]: the real server and real clients through jobs full of faults.
//
// A seed draws a job, its clients and what breaks: attempts that fail, crash or hang; workers, clients and the server killed, also in the middle of
// a write; clients stopped for a while, asked to leave, late, slow, with another token or without room on their disk; links that carry nothing, in one direction
// or both; connections cut with part of what was on its way, bits that change there or on the disks of clients. Then the faults end. What must hold:
//
//   - each map task is once in the cover of every reduce, and every byte that a task reads is the right one;
//   - pieces made twice are the same; the answer is the one that follows from the inputs, and every task is counted once;
//   - no slot has more than two tasks; no client or server breaks the rules of the other;
//   - a job fails only if something has happened that may end it, and the same command then does it;
//   - when the faults have ended and a good client is there, the job ends;
//   - nothing is left: no file, descriptor, process or connection.
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sanitized.h"
#include "run/client/client.h"
#include "seeds.h"
#include "sim_server/disk.h"
#include "sim_server/lives.h"
#include "sim_server/worker.h"

enum {
    SEEDS_DEFAULT = IS_SANITIZED ? 100 : 1000,
    STEPS_MAX = 3000000,
    JOB_MS_MAX = 300000,  // without faults
    BELIEF_MS_MAX = 60000,
    FAREWELL_MS_MAX = 150000  // for clients that have not heard of the end
};

struct sim sim;
const struct secret sim_token = {.bytes = "0123456789abcdef", .size = 16};

static bool was_alive[PROCESSES_MAX];
static uint64_t server_start_ns;

// ---- What the world asks ------------------------------------------------------------------------------------

bool sim_move_some(void)
{
    return world_chance(500) ? lives_move_some() || workers_move_some()
                             : workers_move_some() || lives_move_some();
}

uint64_t sim_next_ns(void)
{
    uint64_t next = workers_next_ns();
    for (uint32_t i = 1; i <= sim.options.client_count; i++)
        if (!was_alive[i] && sim.machines[i].start_ns > world.now_ns &&
            sim.machines[i].start_ns < next)
            next = sim.machines[i].start_ns;
    if (!was_alive[SERVER] && server_start_ns > world.now_ns && server_start_ns < next)
        next = server_start_ns;
    return next;
}

void sim_heard(const struct loop *from)
{
    (void)from;
}

// Only what clients serve: of what the server says, some is a session.
bool sim_may_flip(const struct loop *dialer, uint16_t port)
{
    (void)dialer;
    return port != SERVER_PORT;
}

// ---- Clients ------------------------------------------------------------------------------------------------

static bool may_end_with(weft_err code, bool has_wrong_token)
{
    switch (code) {
    case WEFT_OK:
    case WEFT_ABORTED:
    case WEFT_UNAVAILABLE:
    case WEFT_RESOURCE_EXHAUSTED:
        return true;
    case WEFT_UNAUTHENTICATED:
        return has_wrong_token;
    default:
        return false;
    }
}

void sim_take_words(int process, const char *text, size_t size)
{
    world_note("process %d says: %.*s", process, (int)size, text);
    if (memmem(text, size, "joined", 6))
        sim.machines[process].has_joined = true;
}

static uint64_t count_server_ends(void)
{
    return sim.server_ends + sim.counts[COUNT_SERVER_KILLS];
}

// A client that was asked to end leaves with 0 if it has handed all over, and otherwise with the code of the signal.
static void check_leaving(const struct machine *machine, weft_err code, int exit_code)
{
    if (code != WEFT_OK)
        return;
    const bool is_hasty = exit_code == 128 + SIGTERM;
    if (exit_code != 0 && !(is_hasty && machine->is_asked_to_end))
        world_wrong("client %d leaves with %d", world.running->number, exit_code);
    if (machine->is_asked_to_end && machine->has_joined)
        sim.counts[is_hasty ? COUNT_HASTY : COUNT_HANDED]++;
    if (is_hasty && machine->has_joined && sim.is_peaceful)
        world_wrong("client %d has handed nothing over", world.running->number);
}

static void live_as_client(void)
{
    const struct machine *machine = &sim.machines[world.running->number];
    struct secret token = sim_token;
    char text[SECRET_TEXT_BYTES], at[SECRET_TEXT_BYTES + 32];
    int exit_code;
    const bool has_wrong_token = machine->has_wrong_token;
    if (has_wrong_token)
        token.bytes[0]++;
    secret_write(&token, text);
    snprintf(at, sizeof at, "localhost:%d#%s", SERVER_PORT, text);
    const struct client_options options = {.at = at,
                                           .slots = machine->slots,
                                           .memory_bytes = 256 << 20,
                                           .tmp = "/tmp",
                                           .grace_ms = machine->grace_ms};
    sim.counts[COUNT_CLIENTS]++;
    sim.machines[world.running->number].is_asked_to_end = false;
    sim.machines[world.running->number].has_joined = false;
    const uint64_t ends_before = count_server_ends();
    const weft_err code = client_run(&options, &exit_code);
    world_note("client %d ends: %s %s", world.running->number, weft_err_name(code),
               code ? err_text() : "");
    check_leaving(machine, code, exit_code);
    if (!may_end_with(code, has_wrong_token) || (code && strstr(err_text(), "it sent")))
        world_wrong("client %d ends: %s: %s", world.running->number, weft_err_name(code),
                    err_text());
    if (code == WEFT_OK && !machine->is_asked_to_end && count_server_ends() == ends_before)
        sim.machines[world.running->number].believes_end_ns = world.now_ns;
    if (code != WEFT_OK && !sim.options.fault_ms && machine->has_joined)
        world_wrong("client %d ends, and nothing is wrong: %s", world.running->number, err_text());
}

static uint64_t draw_rest_ns(void)
{
    return world.now_ns +
           (uint64_t)(world_chance(700) ? world_below(3000) : world_below(40000)) * NS_PER_MS;
}

// A client may hear of the end of the job before the server has ended, but not long before.
static void check_belief(int number)
{
    static uint64_t ends[PROCESSES_MAX];
    uint64_t *since_ns = &sim.machines[number].believes_end_ns;
    if (*since_ns == world.now_ns)
        ends[number] = count_server_ends();
    if (!*since_ns || ends[number] != count_server_ends() || !life_is_alive(SERVER))
        *since_ns = 0;
    else if (world.now_ns - *since_ns > (uint64_t)BELIEF_MS_MAX * NS_PER_MS)
        world_wrong("client %d has ended, and the job has not", number);
}

// Processes that have ended begin again after a while, until the job is done.
static void start_some(void)
{
    for (int i = 0; i <= (int)sim.options.client_count; i++) {
        uint64_t *start_ns = i == SERVER ? &server_start_ns : &sim.machines[i].start_ns;
        if (was_alive[i] && !life_is_alive(i))
            *start_ns = world.has_faults ? draw_rest_ns() : world.now_ns + 100 * NS_PER_MS;
        was_alive[i] = life_is_alive(i);
        check_belief(i);
        if (was_alive[i] || sim.has_ended || world.now_ns < *start_ns)
            continue;
        if (i == SERVER)
            sim.may_fail = sim.options.has_bad_record || disk.is_full[SERVER];
        if (i == SERVER)
            sim.kills_before_life = sim.counts[COUNT_SERVER_KILLS];
        life_start(i, i == SERVER ? job_run_server : live_as_client);
        was_alive[i] = true;
    }
}

// ---- A seed -------------------------------------------------------------------------------------------------

static void step(void)
{
    lives_step();
    start_some();
    sim.counts[COUNT_STEPS]++;
    if (world.steps > STEPS_MAX)
        world_wrong("it does not end");
}

static void check_disks(void)
{
    for (size_t i = 0; i < disk.nodes.count; i++) {
        const struct node *node = disk.nodes.items[i];
        if (!node->path)
            world_wrong("a file without a name is left on machine %d", node->machine);
        const bool is_known =
            !strncmp(node->path, "/work/input", 11) || !strncmp(node->path, "/work/out", 9) ||
            !strncmp(node->path, "/cache", 6) || !strcmp(node->path, "/work/bad") ||
            !strrchr(node->path + 1, '/') || !strcmp(node->path, "/proc/self/exe");
        // One that was killed in its last moment, after the answer was in place, and has no successor.
        const bool is_mark = !strcmp(node->path, "/work/.out.weft-server") &&
                             sim.counts[COUNT_SERVER_KILLS] > sim.kills_before_life;
        const bool is_draft = !sim.options.has_directory &&
                              !strncmp(node->path, "/work/.out.weft-1", 17) &&
                              sim.counts[COUNT_SERVER_KILLS] > sim.kills_before_life;
        if (!is_known && !is_mark && !is_draft)
            world_wrong("%s is left on machine %d", node->path, node->machine);
    }
}

static bool are_clients_gone(void)
{
    for (uint32_t i = 1; i <= sim.options.client_count; i++)
        if (life_is_alive((int)i))
            return false;
    return true;
}

static void live(uint64_t seed)
{
    world_init(seed, CLIENTS_OF_SIM_MAX + 1);
    job_draw();
    faults_draw();
    job_make_inputs();
    uint64_t until_ns = world.now_ns + sim.options.fault_ms * NS_PER_MS;
    world.has_faults = sim.options.fault_ms > 0;
    start_some();
    while (world.now_ns < until_ns && !sim.has_ended)
        step();
    faults_calm();
    until_ns = world.now_ns + (uint64_t)JOB_MS_MAX * NS_PER_MS;
    const uint64_t failures = sim.counts[COUNT_SERVER_FAILURES];
    while (!sim.has_ended) {
        step();
        if (world.now_ns > until_ns)
            world_wrong("the job does not end, and nothing keeps it from that");
        if (sim.counts[COUNT_SERVER_FAILURES] > failures + 3 && !sim.options.has_bad_record)
            world_wrong("the job fails again and again");
        if (sim.options.has_bad_record && sim.counts[COUNT_SERVER_FAILURES] > failures)
            return;
    }
    until_ns = world.now_ns + (uint64_t)FAREWELL_MS_MAX * NS_PER_MS;
    while (!are_clients_gone() || life_is_alive(SERVER)) {
        step();
        if (world.now_ns > until_ns)
            world_wrong("a client lives on after the end of the job");
    }
    job_check_answer();
    check_disks();
    if (!sim.options.fault_ms && sim.counts[COUNT_LIVES] > 1)
        world_wrong("nothing broke, and the job took more than one life");
}

static void run_seed(uint64_t seed)
{
    static uint64_t *totals;
    if (!totals)
        totals = mmap(NULL, SIM_COUNTS * sizeof *totals, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT(totals != MAP_FAILED);
    fflush(stdout);
    const pid_t pid = fork();
    if (pid == 0) {
        uint64_t own[SIM_COUNTS] = {0};
        sim.counts = own;
        live(seed);
        own[COUNT_FLIPS] = world.flips;
        own[COUNT_CUTS] = world.cuts + world.silences;
        for (int i = 0; i < SIM_COUNTS; i++)
            totals[i] += own[i];
        fflush(stdout);
        _exit(0);
    }
    int status;
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
        WEXITSTATUS(status) != 0) {
        fprintf(stderr, "SEED=%" PRIu64 " has failed\n", seed);
        exit(1);
    }
    sim.counts = totals;
}

int main(int argc, char **argv)
{
    struct seeds seeds = {.name = "sim_server",
                          .known = "test/sim_server/seeds.txt",
                          .count_default = SEEDS_DEFAULT,
                          .is_verbose = &world.is_verbose,
                          .run = run_seed};
    world.name = "sim_server";
    world.program = argv[0];
    seeds_run_all(&seeds, argc, argv);
    const uint64_t *counts = sim.counts;
    printf("%" PRIu64 " seeds, %" PRIu64 " steps: %" PRIu64 " servers (%" PRIu64 " killed, %" PRIu64
           " failed), %" PRIu64 " clients (%" PRIu64 " killed), %" PRIu64 " workers\n",
           seeds.run_count, counts[COUNT_STEPS], counts[COUNT_LIVES], counts[COUNT_SERVER_KILLS],
           counts[COUNT_SERVER_FAILURES], counts[COUNT_CLIENTS], counts[COUNT_CLIENT_KILLS],
           counts[COUNT_WORKERS]);
    printf("%" PRIu64 " tasks, %" PRIu64 " seals, %" PRIu64 " reduces; %" PRIu64
           " blocked links, %" PRIu64 " cuts, %" PRIu64 " stops, %" PRIu64 " full disks, %" PRIu64
           " asked to leave (%" PRIu64 " handed all over, %" PRIu64 " not), %" PRIu64
           " changed bits, %" PRIu64 " on disks; %" PRIu64 " parts by clients\n",
           counts[COUNT_TASKS], counts[COUNT_SEALS], counts[COUNT_REDUCES], counts[COUNT_BLOCKS],
           counts[COUNT_CUTS], counts[COUNT_STOPS], counts[COUNT_FULL], counts[COUNT_TERMS],
           counts[COUNT_HANDED], counts[COUNT_HASTY], counts[COUNT_FLIPS], counts[COUNT_DAMAGES],
           counts[COUNT_PARTS]);
    return 0;
}
