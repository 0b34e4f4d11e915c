// sim_run [--seed N] [--seeds COUNT] [-v]: runs the real driver through jobs full of faults.
//
// A seed draws a job, its faults, and then every step: attempts that fail, hang or crash, workers that are killed,
// break the rules or cannot go on, checkpoints whose files are damaged, a record that cannot be mapped, and kills of
// the driver itself, after which the same command is run again. What must hold:
//
//   - no reduce begins before every map task is sealed, and none is sealed or taken over twice;
//   - a run that says it is done has written every piece once, and counted every task once;
//   - a run that fails had a reason to, and leaves no output under its name;
//   - all tasks of a stage were done by the same cuts of its ranges, in whichever life;
//   - what is left at the end is the answer and nothing else, however often the driver was killed.

#include "sim_run/sim_run.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sanitized.h"
#include "run/driver/driver.h"
#include "seeds.h"
#include "sys/secure/secret.h"

enum {
    SEEDS_DEFAULT = IS_SANITIZED ? 150 : 800,
    MIB = 1 << 20,
    EXIT_FAILED = 76,
    EXIT_KILLED = 77
};

struct sim sim;

static struct {
    uint64_t runs, done, failed, killed;
} totals;

// ---- Chance --------------------------------------------------------------------------------------------------------

static uint64_t draw(void)
{
    sim.random += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t value = sim.random;
    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return value ^ value >> 31;
}

uint32_t sim_below(uint32_t limit)
{
    return limit ? (uint32_t)(draw() % limit) : 0;
}

bool sim_chance(uint32_t per_mille)
{
    return sim_below(1000) < per_mille;
}

bool sim_has_faults(void)
{
    return sim.step < sim.options.fault_steps;
}

void secret_random(void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        ((uint8_t *)bytes)[i] = (uint8_t)draw();
}

// Half of the faults are absent from a job, so that the others get their turn.
static uint32_t draw_rate(uint32_t most)
{
    return sim_chance(500) ? 0 : 1 + sim_below(most);
}

static void draw_options(void)
{
    sim.options = (struct sim_options){
        .map_count = 1 + sim_below(8),
        .reducers = 1 + sim_below(6),
        .slots = 1 + sim_below(4),
        .max_attempts = 1 + sim_below(5),
        .is_map_only = sim_chance(250),
        .has_directory = sim_chance(700),
        .fail_rate = draw_rate(150),
        .crash_rate = draw_rate(60),
        .hang_rate = draw_rate(60),
        .kill_rate = draw_rate(8),
        .wrong_rate = draw_rate(3),
        .stale_rate = draw_rate(200),
        .failed_rate = sim_chance(900) ? 0 : 2,
        .end_rate = draw_rate(20),
        .checkpoint_lost_rate = draw_rate(200),
        .has_bad_record = sim_chance(300),
        .crashes_at_bad_record = sim_chance(500),
        .skip_max = sim_below(3),
        .lives_max = sim_below(6),
        .fault_steps = 50 + sim_below(1500),
    };
    sim.options.has_two_stages = !sim.options.is_map_only && sim_chance(250);
    sim.options.bad_offset = sim_below(sim.options.map_count * MIB);
    sim.options.workers = sim_chance(500) ? 1 : 2 + sim_below(WORKERS_MAX - 1);
}

// ---- The job -------------------------------------------------------------------------------------------------------

static void map(weft_task *task, weft_bytes record)
{
    (void)task;
    (void)record;
}

static const weft_job map_only_job = {.name = "map only", .map = map};
static const weft_job plain_job = {.name = "plain", .map = map, .reduce = weft_identity};
static const weft_job staged_job = {
    .name = "first", .map = map, .reduce = weft_identity, .next = &plain_job};

void sim_path(char *path, size_t size, const char *name)
{
    snprintf(path, size, "%s/%.60s", sim.folder, name);
}

_Noreturn void sim_wrong(const char *format, ...)
{
    va_list args;
    fprintf(stderr, "sim_run: life %u, step %u: ", sim.life, sim.step);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "\nSEED=%" PRIu64 "\nrepeat: %s --seed %" PRIu64 " -v\n", sim.seed, sim.program,
            sim.seed);
    _Exit(1);
}

// ---- One life ------------------------------------------------------------------------------------------------------

static void check_counts(const struct summary *summary)
{
    if (summary->is_already_done)
        return;
    if (summary_find_counter(summary, "maps") != summary->map_count)
        sim_wrong("%u map tasks were counted %" PRIi64 " times", summary->map_count,
                  summary_find_counter(summary, "maps"));
    if (summary_find_counter(summary, "reduces") != summary->reduce_count)
        sim_wrong("%u reduce tasks were counted %" PRIi64 " times", summary->reduce_count,
                  summary_find_counter(summary, "reduces"));
    if (summary->bad_count > 1)
        sim_wrong("one record is bad, and %" PRIu64 " were left out", summary->bad_count);
}

static void check_failure(const char *output)
{
    struct stat stat_of_output;
    if (sim.options.has_bad_record)
        sim.may_fail = true;
    if (!sim.may_fail)
        sim_wrong("the run fails for no reason: %s", err_text());
    if (!*err_text())
        sim_wrong("the run fails without a word");
    if (lstat(output, &stat_of_output) == 0)
        sim_wrong("the run has failed, and there is an output: %s", err_text());
}

static int live(void)
{
    char input[128], output[128], bad[128];
    char *inputs[2] = {input};
    sim_path(input, sizeof input, "input");
    sim_path(output, sizeof output, sim.options.has_directory ? "out/" : "out");
    sim_path(bad, sizeof bad, "bad");
    const weft_job *job = sim.options.is_map_only      ? &map_only_job
                          : sim.options.has_two_stages ? &staged_job
                                                       : &plain_job;
    const struct run_options options = {
        .job = job,
        .inputs = inputs,
        .input_count = 1,
        .output = output,
        .slots = sim.options.slots,
        .workers = sim.options.workers,
        .memory_bytes = 512 << 20,
        .max_attempts = sim.options.max_attempts,
        .reducers = sim.options.reducers,
        .tmp = sim.folder,
        .skip_bad = {.is_set = sim.options.skip_max > 0, .count = sim.options.skip_max},
        .bad_records = bad,
        .quiet = true,
    };
    const struct driver_spec spec = {.job = job, .options = &options};
    struct driver *driver = NULL;
    if (driver_new(&driver, &spec) != WEFT_OK)
        sim_wrong("%s", err_text());
    const weft_err code = driver_run(driver);
    if (sim.is_verbose)
        printf("life %u, %u steps: %s %s\n", sim.life, sim.step, weft_err_name(code),
               code ? err_text() : "");
    // Killed behind its last step, it has written its file: only a directory knows whose answer it is.
    const bool was_done = code == WEFT_ALREADY_EXISTS && sim.life > 0 && !sim.options.has_directory;
    if (code == WEFT_OK)
        check_counts(driver_summary(driver));
    else if (!was_done)
        check_failure(output);
    driver_free(driver);
    fflush(stdout);
    return code == WEFT_OK || was_done ? 0 : EXIT_FAILED;
}

// ---- What is left --------------------------------------------------------------------------------------------------

static size_t read_all(const char *name, char *text, size_t text_size)
{
    char path[512];
    sim_path(path, sizeof path, name);
    FILE *file = fopen(path, "rb");
    if (!file)
        sim_wrong("%s cannot be read", path);
    const size_t size = fread(text, 1, text_size, file);
    fclose(file);
    return size;
}

static int is_part(const struct dirent *entry)
{
    return strncmp(entry->d_name, "part-", 5) == 0;
}

static size_t read_parts(char *text, size_t text_size)
{
    char path[512];
    struct dirent **entries = NULL;
    size_t size = 0;
    sim_path(path, sizeof path, "out");
    const int count = scandir(path, &entries, is_part, alphasort);
    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof path, "out/%.50s", entries[i]->d_name);
        size += read_all(path, text + size, text_size - size);
        free(entries[i]);
    }
    free(entries);
    return size;
}

// Every piece once and in order.
static void check_answer(void)
{
    static char text[64 * 1024];
    const size_t size = sim.options.has_directory ? read_parts(text, sizeof text)
                                                  : read_all("out", text, sizeof text);
    if (size == 0 || size % PIECE_BYTES != 0)
        sim_wrong("the answer has %zu bytes", size);
    for (unsigned i = 0; i < size / PIECE_BYTES; i++) {
        char piece[PIECE_BYTES + 1];
        snprintf(piece, sizeof piece, "piece %02u\n", i);
        if (memcmp(text + i * PIECE_BYTES, piece, PIECE_BYTES) != 0)
            sim_wrong("piece %u is '%.8s'", i, text + i * PIECE_BYTES);
    }
}

// Names in the folder that may be there: the input, the answer, the list of bad records.
static void check_leftovers(bool is_done)
{
    DIR *folder = opendir(sim.folder);
    for (const struct dirent *entry; (entry = readdir(folder));) {
        const char *name = entry->d_name;
        // A driver that is killed leaves the file it was at; a directory the next one goes on with.
        const bool is_file = !sim.options.has_directory && !strncmp(name, ".out.weft-", 10);
        const bool is_known = is_file || !strcmp(name, ".") || !strcmp(name, "..") ||
                              !strcmp(name, "input") || !strcmp(name, "out") ||
                              !strcmp(name, "bad") || !strncmp(name, "cuts-", 5);
        if (is_done && !is_known)
            sim_wrong("%s is left behind", name);
    }
    closedir(folder);
}

// ---- Seeds ---------------------------------------------------------------------------------------------------------

static int live_in_a_process(void)
{
    const pid_t pid = fork();
    if (pid == 0)
        _Exit(live());
    int status;
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        sim_wrong("cannot start a life");
    totals.runs++;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static void make_folder(void)
{
    char path[128];
    snprintf(sim.folder, sizeof sim.folder, "/tmp/weft-sim-run-XXXXXX");
    if (!mkdtemp(sim.folder))
        sim_wrong("cannot make a folder");
    sim_path(path, sizeof path, "input");
    const int fd = open(path, O_WRONLY | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, (off_t)sim.options.map_count * MIB) != 0)
        sim_wrong("cannot make an input");
    close(fd);
}

static void remove_folder(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", sim.folder);
    if (system(command) != 0)
        exit(2);
}

// A run that was killed or has failed is tried again with the same command, each time with other faults.
static void run_seed(uint64_t seed)
{
    sim.seed = seed;
    sim.random = seed;
    draw_options();
    make_folder();
    int status = EXIT_KILLED;
    uint32_t failures_left = sim_below(3);
    for (sim.life = 0; status == EXIT_KILLED || (status == EXIT_FAILED && failures_left > 0);
         sim.life++) {
        failures_left -= status == EXIT_FAILED;
        sim.random = seed * 1000 + sim.life;
        status = live_in_a_process();
        totals.killed += status == EXIT_KILLED;
    }
    if (status != 0 && status != EXIT_FAILED)
        sim_wrong("a life ended with %d", status);
    totals.done += status == 0;
    totals.failed += status == EXIT_FAILED;
    if (status == 0) {
        check_answer();
        sim_check_cuts();
    }
    check_leftovers(status == 0);
    remove_folder();
}

int main(int argc, char **argv)
{
    struct seeds seeds = {.name = "sim_run",
                          .known = "test/sim_run/seeds.txt",
                          .count_default = SEEDS_DEFAULT,
                          .is_verbose = &sim.is_verbose,
                          .run = run_seed};
    sim.program = argv[0];
    setenv("WEFT_CHECKPOINT_MS", "10", 1);
    seeds_run_all(&seeds, argc, argv);
    printf("%" PRIu64 " runs: %" PRIu64 " done, %" PRIu64 " failed, %" PRIu64 " killed\n",
           totals.runs, totals.done, totals.failed, totals.killed);
    return 0;
}
