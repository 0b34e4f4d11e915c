// meter: runs one command and tells what it cost.
//
//   meter [-o FILE] [-e FILE] [-i MS] [-t SECONDS] COMMAND [ARGUMENT...]
//
// -o, -e: where the command's standard output and error go; -i: time between two looks at memory
// (20 ms); -t: kill it after so long. On our standard output, one line of JSON:
//   wall      seconds from just before the start to the end of the command
//   user, sys CPU seconds of the whole process tree
//   memory    largest sum of anonymous and shared memory seen over the tree, in KiB
//   rss       largest resident set of any one process, mapped files included, in KiB
//   foreign   share of all cores that others used meanwhile (other users, the hypervisor)
//   left      processes the command left behind; they are killed
//   status    exit code, or 128 + signal
//
// Why not time(1): it knows neither the memory of a tree nor how much the machine was disturbed.
// We are a subreaper, so a child whose parent died stays ours: counted, and waited for.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

struct cost {
    double wall, user, sys, foreign;
    long memory, rss;
    int left, status;
};

struct options {
    const char *out, *err;
    long interval_ms;
    double timeout;
};

static volatile sig_atomic_t command_pid;
static atomic_bool is_over;
static long memory_peak;  // KiB; the sampler's until it is joined

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double seconds_of(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec * 1e-6;
}

// What all cores did since boot, idle and waiting left out.
static double seconds_busy(void)
{
    FILE *file = fopen("/proc/stat", "r");
    unsigned long long v[8] = {0};
    if (!file)
        return 0;
    int got = fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", v, v + 1, v + 2, v + 3,
                     v + 4, v + 5, v + 6, v + 7);
    fclose(file);
    if (got != 8)
        return 0;
    return (double)(v[0] + v[1] + v[2] + v[5] + v[6] + v[7]) / (double)sysconf(_SC_CLK_TCK);
}

static long memory_of_process(long pid)
{
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/%ld/status", pid);
    FILE *file = fopen(path, "r");
    long total = 0, kib;
    if (!file)
        return 0;
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "RssAnon: %ld", &kib) == 1 || sscanf(line, "RssShmem: %ld", &kib) == 1)
            total += kib;
    }
    fclose(file);
    return total;
}

static void each_child(long pid, void (*visit)(long child, long *sum), long *sum)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/task", pid);
    DIR *threads = opendir(path);
    if (!threads)
        return;
    for (struct dirent *thread; (thread = readdir(threads));) {
        char list[96];
        snprintf(list, sizeof list, "/proc/%ld/task/%.16s/children", pid, thread->d_name);
        FILE *file = thread->d_name[0] == '.' ? NULL : fopen(list, "r");
        for (long child; file && fscanf(file, "%ld", &child) == 1;)
            visit(child, sum);
        if (file)
            fclose(file);
    }
    closedir(threads);
}

static void add_memory(long pid, long *sum)
{
    *sum += memory_of_process(pid);
    each_child(pid, add_memory, sum);
}

static void kill_child(long pid, long *sum)
{
    *sum += kill((pid_t)pid, SIGKILL) == 0;
}

static void *sample(void *argument)
{
    const struct options *options = argument;
    double start = seconds_now();
    while (!atomic_load(&is_over)) {
        long memory = 0;
        each_child(getpid(), add_memory, &memory);
        if (memory > memory_peak)
            memory_peak = memory;
        if (options->timeout > 0 && seconds_now() - start > options->timeout)
            kill(-command_pid, SIGKILL);
        struct timespec pause = {options->interval_ms / 1000,
                                 options->interval_ms % 1000 * 1000000};
        nanosleep(&pause, NULL);
    }
    return NULL;
}

static void stop_command(int signal_number)
{
    if (command_pid > 0)
        kill(-command_pid, SIGTERM);
    _exit(128 + signal_number);
}

static pid_t start_command(const struct options *options, char **command)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, options->out, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    posix_spawn_file_actions_addopen(&files, 2, options->err, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attributes, 0);
    pid_t pid;
    int error = posix_spawnp(&pid, command[0], &files, &attributes, command, environ);
    if (error != 0) {
        fprintf(stderr, "meter: cannot start %s: %s\n", command[0], strerror(error));
        exit(127);
    }
    return pid;
}

// Everything that is still there when the command has ended was left behind by it. Killing a
// child may hand us its children, so look again until nobody is left.
static int kill_rest(void)
{
    int left = 0;
    for (;;) {
        long killed = 0;
        each_child(getpid(), kill_child, &killed);
        pid_t pid = waitpid(-1, NULL, 0);
        if (pid < 0 && errno != EINTR)
            return left;
        left += pid > 0;
    }
}

static struct cost measure(const struct options *options, char **command)
{
    struct rusage before_self, after_self, tree;
    int status;
    pthread_t sampler;
    getrusage(RUSAGE_SELF, &before_self);
    double busy = seconds_busy(), start = seconds_now();
    command_pid = start_command(options, command);
    int has_sampler = pthread_create(&sampler, NULL, sample, (void *)options) == 0;
    while (waitpid((pid_t)command_pid, &status, 0) < 0 && errno == EINTR) {
    }
    struct cost cost = {.wall = seconds_now() - start};
    atomic_store(&is_over, 1);
    if (has_sampler)
        pthread_join(sampler, NULL);
    busy = seconds_busy() - busy;
    cost.left = kill_rest();
    getrusage(RUSAGE_CHILDREN, &tree);
    getrusage(RUSAGE_SELF, &after_self);
    cost.user = seconds_of(tree.ru_utime);
    cost.sys = seconds_of(tree.ru_stime);
    double own = seconds_of(after_self.ru_utime) + seconds_of(after_self.ru_stime) -
                 seconds_of(before_self.ru_utime) - seconds_of(before_self.ru_stime);
    double cores = (double)sysconf(_SC_NPROCESSORS_ONLN);
    double foreign = (busy - cost.user - cost.sys - own) / (cores * cost.wall);
    cost.foreign = foreign > 0 ? foreign : 0;
    cost.memory = memory_peak;
    cost.rss = tree.ru_maxrss;
    cost.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return cost;
}

int main(int argc, char **argv)
{
    struct options options = {.out = "/dev/null", .err = "/dev/null", .interval_ms = 20};
    for (int letter; (letter = getopt(argc, argv, "+o:e:i:t:")) != -1;) {
        switch (letter) {
        case 'o':
            options.out = optarg;
            break;
        case 'e':
            options.err = optarg;
            break;
        case 'i':
            options.interval_ms = atol(optarg);
            break;
        case 't':
            options.timeout = atof(optarg);
            break;
        default:
            return 2;
        }
    }
    if (optind >= argc || options.interval_ms < 1) {
        fputs("usage: meter [-o FILE] [-e FILE] [-i MS] [-t SECONDS] COMMAND...\n", stderr);
        return 2;
    }
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    signal(SIGINT, stop_command);
    signal(SIGTERM, stop_command);
    struct cost cost = measure(&options, argv + optind);
    printf("{\"wall\": %.6f, \"user\": %.6f, \"sys\": %.6f, \"memory\": %ld, \"rss\": %ld, "
           "\"foreign\": %.3f, \"left\": %d, \"status\": %d}\n",
           cost.wall, cost.user, cost.sys, cost.memory, cost.rss, cost.foreign, cost.left,
           cost.status);
    return 0;
}
