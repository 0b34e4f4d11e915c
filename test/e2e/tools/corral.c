// corral [options] -- COMMAND [ARGUMENT...]: runs COMMAND and watches its whole process tree.
//
//   -m FILE   write the peak of anonymous + shared memory, summed over the tree, in KiB
//   -l FILE   append a line for every process that is still there when COMMAND has ended
//   -e MS     how long such a process may take to leave (default 2000)
//   -s SIGNAL -a MS   send SIGNAL (a number) to COMMAND after MS milliseconds; with -g to its
//             whole process group, as Ctrl-C on a terminal does
//   -w MS     after MS milliseconds kill -9 the first child of COMMAND: its worker
//   -r COUNT  do so COUNT times, MS apart (default 1)
//
// The exit status is COMMAND's, 128 + N for a death by signal N. Being the subreaper of all that
// COMMAND starts, corral inherits every orphan: none can hide by a double fork or a clean
// environment. What is left over is killed, so that a failing test does not harm the next one.

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TREE_MAX = 4096, SAMPLE_MS = 4, RESCAN_MS = 40 };

struct options {
    const char *memory_path, *left_path;
    long grace_ms, signal_after_ms, worker_after_ms, worker_kills;
    int signal_number;
    bool to_group;
};

static struct options options = {.grace_ms = 2000, .worker_after_ms = -1, .worker_kills = 1};
static volatile sig_atomic_t stopped_by;
static pid_t tree[TREE_MAX];
static int tree_count;
static long peak_kib;

static long now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static pid_t parent_of(pid_t pid)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *in = fopen(path, "r");
    if (!in)
        return -1;
    size_t size = fread(text, 1, sizeof text - 1, in);
    fclose(in);
    text[size] = 0;
    char *after_name = strrchr(text, ')');  // the name may hold blanks and brackets
    int parent = -1;
    return after_name && sscanf(after_name + 2, "%*c %d", &parent) == 1 ? parent : -1;
}

// Fills `tree` with all descendants of `root`, nearest first (a zombie counts until it is reaped).
static void scan_tree(pid_t root)
{
    static struct {
        pid_t pid, parent;
    } all[1 << 16];
    int all_count = 0;
    DIR *proc = opendir("/proc");
    for (struct dirent *entry; proc && (entry = readdir(proc)) && all_count < (1 << 16);) {
        pid_t pid = (pid_t)atoi(entry->d_name);
        if (pid > 0 && (all[all_count].parent = parent_of(pid)) > 0)
            all[all_count++].pid = pid;
    }
    if (proc)
        closedir(proc);
    tree_count = 0;
    for (int next = -1; next < tree_count; next++)
        for (int i = 0; i < all_count && tree_count < TREE_MAX; i++)
            if (all[i].parent == (next < 0 ? root : tree[next]))
                tree[tree_count++] = all[i].pid;
}

static long memory_kib_of(pid_t pid)
{
    char path[64], line[256];
    long sum = 0, value;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *in = fopen(path, "r");
    while (in && fgets(line, sizeof line, in))
        if (sscanf(line, "RssAnon: %ld", &value) == 1 || sscanf(line, "RssShmem: %ld", &value) == 1)
            sum += value;
    if (in)
        fclose(in);
    return sum;
}

static void sample_memory(void)
{
    long sum = 0;
    for (int i = 0; i < tree_count; i++)
        sum += memory_kib_of(tree[i]);
    if (sum > peak_kib)
        peak_kib = sum;
}

static void read_name(pid_t pid, char name[32])
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    FILE *in = fopen(path, "r");
    if (!in || !fgets(name, 32, in))
        name[0] = 0;
    if (in)
        fclose(in);
}

// A child of the same name is the command's own: LeakSanitizer starts one at the end of a process,
// and waits for ever when that is killed.
static void kill_worker(pid_t command)
{
    char name[32], own_name[32];
    scan_tree(command);
    if (tree_count == 0)
        return;
    read_name(tree[0], name);
    read_name(command, own_name);
    if (strcmp(name, own_name) != 0)
        kill(tree[0], SIGKILL);
}

// Waits until a child changes state or a sample is due, whichever is first.
static void wait_a_little(void)
{
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigtimedwait(&child, NULL, &(struct timespec){.tv_nsec = SAMPLE_MS * 1000000L});
}

// Reaps whatever has ended. Returns true when `command` was among it.
static bool reap(pid_t command, int *status)
{
    bool ended = false;
    int state;
    for (pid_t pid; (pid = waitpid(-1, &state, WNOHANG)) > 0;)
        if (pid == command) {
            *status = state;
            ended = true;
        }
    return ended;
}

static void watch(pid_t command, int *status)
{
    long start = now_ms(), scanned = 0;
    long signal_at = options.signal_number ? start + options.signal_after_ms : 0;
    long worker_at = options.worker_after_ms >= 0 ? start + options.worker_after_ms : 0;
    while (!reap(command, status) && !stopped_by) {
        long now = now_ms();
        if (signal_at && now >= signal_at) {
            kill(options.to_group ? -command : command, options.signal_number);
            signal_at = 0;
        }
        if (worker_at && now >= worker_at) {
            kill_worker(command);
            worker_at = --options.worker_kills > 0 ? now + options.worker_after_ms : 0;
        }
        if (options.memory_path && now >= scanned + RESCAN_MS) {
            scan_tree(getpid());
            scanned = now;
        }
        if (options.memory_path)
            sample_memory();
        wait_a_little();
    }
}

static void note_left_over(pid_t pid)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
    FILE *in = fopen(path, "r");
    size_t size = in ? fread(text, 1, sizeof text - 1, in) : 0;
    if (in)
        fclose(in);
    for (size_t i = 0; i < size; i++)
        if (text[i] == 0 || text[i] == '\n')
            text[i] = ' ';
    text[size] = 0;
    FILE *out = options.left_path ? fopen(options.left_path, "a") : NULL;
    fprintf(out ? out : stderr, "left over: %d %s\n", (int)pid, text);
    if (out)
        fclose(out);
}

static bool have_children(void)
{
    siginfo_t ended;
    return waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
}

static void clear_tree(void)
{
    int status;
    for (long until = now_ms() + options.grace_ms; !stopped_by && have_children();) {
        if (now_ms() > until)
            break;
        wait_a_little();
        reap(0, &status);
    }
    for (; have_children(); wait_a_little(), reap(0, &status)) {
        scan_tree(getpid());
        for (int i = 0; i < tree_count; i++) {
            if (!stopped_by)
                note_left_over(tree[i]);
            kill(tree[i], SIGKILL);
        }
    }
}

static void on_stop(int number)
{
    stopped_by = number;
}

static void parse(int argc, char **argv)
{
    for (int letter; (letter = getopt(argc, argv, "+m:l:e:s:a:gw:r:")) != -1;)
        switch (letter) {
        case 'm':
            options.memory_path = optarg;
            break;
        case 'l':
            options.left_path = optarg;
            break;
        case 'e':
            options.grace_ms = atol(optarg);
            break;
        case 's':
            options.signal_number = atoi(optarg);
            break;
        case 'a':
            options.signal_after_ms = atol(optarg);
            break;
        case 'g':
            options.to_group = true;
            break;
        case 'w':
            options.worker_after_ms = atol(optarg);
            break;
        case 'r':
            options.worker_kills = atol(optarg);
            break;
        default:
            exit(125);
        }
}

static pid_t start(char **command)
{
    sigset_t child, before;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, &before);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    pid_t pid = fork();
    if (pid != 0) {
        setpgid(pid, pid);
        return pid;
    }
    // A shell gives its background jobs an ignored SIGINT: undo that, or Ctrl-C tests nothing.
    signal(SIGINT, SIG_DFL);
    signal(SIGQUIT, SIG_DFL);
    setpgid(0, 0);
    sigprocmask(SIG_SETMASK, &before, NULL);
    execvp(*command, command);
    perror(*command);
    _exit(127);
}

int main(int argc, char **argv)
{
    parse(argc, argv);
    if (optind >= argc)
        return 125;
    pid_t command = start(argv + optind);
    signal(SIGTERM, on_stop);
    signal(SIGINT, on_stop);
    signal(SIGHUP, on_stop);
    int status = 0;
    watch(command, &status);
    clear_tree();
    if (options.memory_path) {
        FILE *out = fopen(options.memory_path, "w");
        if (out) {
            fprintf(out, "%ld\n", peak_kib);
            fclose(out);
        }
    }
    if (stopped_by)
        return 128 + stopped_by;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
