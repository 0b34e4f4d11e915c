// The rest of what a process sees of its machine: its name, its environment, its programs; and the processes that it starts.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sim_server/disk.h"
#include "sim_server/lives.h"
#include "sim_server/sim_server.h"
#include "sim_server/worker.h"
#include "sys/env.h"
#include "sys/machine/machine.h"
#include "sys/process/command.h"
#include "sys/process/libraries.h"
#include "sys/process/signals.h"

// ---- Names --------------------------------------------------------------------------------------------------

pid_t getpid(void)
{
    return life_pid(disk_machine());
}

char *getcwd(char *buf, size_t size)
{
    snprintf(buf, size, "/work");
    return buf;
}

// There are no links.
char *file_real_path(const char *path)
{
    ASSERT(disk_find(disk_machine(), path));
    return strdup(path);
}

int gethostname(char *name, size_t length)
{
    snprintf(name, length, "machine%d", disk_machine());
    return 0;
}

char *getenv(const char *name)
{
    static char cache[] = "/cache", home[] = "/home", tmp[] = "/tmp";
    return !strcmp(name, "XDG_CACHE_HOME") ? cache
           : !strcmp(name, "HOME")         ? home
           : !strcmp(name, "TMPDIR")       ? tmp
                                           : NULL;
}

uint32_t machine_core_count(void)
{
    return 4;
}

uint64_t machine_memory_free(void)
{
    return UINT64_C(8) << 30;
}

void machine_user_name(char name[MACHINE_NAME_BYTES_MAX])
{
    strcpy(name, "user");
}

void machine_host_name(char name[MACHINE_NAME_BYTES_MAX])
{
    snprintf(name, MACHINE_NAME_BYTES_MAX, "machine%d", disk_machine());
}

void clock_sleep_ms(uint32_t milliseconds)
{
    world.now_ns += (uint64_t)milliseconds * NS_PER_MS;
}

int64_t clock_calendar_s(void)
{
    return (int64_t)(world.now_ns / 1000000000) + 1700000000;
}

// ---- What it says -------------------------------------------------------------------------------------------

bool log_is_taken(void)
{
    return false;
}

void log_lines(int fd, const char *text, size_t size)
{
    (void)fd;
    world_note("process %d logs: %.*s", disk_machine(), (int)size, text);
}

weft_err bell_init(struct bell *bell)
{
    bell->fd = world_new_descriptor();
    return WEFT_OK;
}

void bell_fini(struct bell *bell)
{
    bell->fd = -1;
}

void bell_ring(const struct bell *bell)
{
    (void)bell;
}

// All have the same, but for a client that has not.
weft_err secret_load(const char *token_file, struct secret *secret)
{
    (void)token_file;
    *secret = sim_token;
    return WEFT_OK;
}

// ---- Programs -----------------------------------------------------------------------------------------------

weft_err command_own_path(char **path)
{
    *path = strdup("/program");
    return WEFT_OK;
}

weft_err command_find(const char *name, char **path)
{
    (void)path;
    return err_set(WEFT_NOT_FOUND, "no command %s", name);
}

weft_err command_run(const char *path, char *const *arguments, int output, int *exit_code)
{
    (void)path, (void)arguments, (void)output, (void)exit_code;
    world_wrong("a command does not belong to this world");
}

weft_err command_become(const char *path, char *const *arguments)
{
    (void)path, (void)arguments;
    world_wrong("a command does not belong to this world");
}

weft_err libraries_visit(libraries_visit_fn *visit, void *owner)
{
    return visit(owner, "libsim.so.1", "/libsim.so.1");
}

weft_err libraries_needed_libc(char version[LIBRARIES_VERSION_BYTES])
{
    version[0] = 0;
    return WEFT_OK;
}

bool libraries_has_libc(const char *version)
{
    (void)version;
    return true;
}

const char *libraries_own_libc(void)
{
    return "";
}

bool libraries_is_of_system(const char *name)
{
    (void)name;
    return false;
}

// ---- Signals ------------------------------------------------------------------------------------------------

const int signals_to_end[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, 0};
const int signal_no_clients = SIGUSR2;

int signal_exit_code(int number)
{
    return 128 + number;
}

int signal_exit_code_unread(void)
{
    return signal_exit_code(SIGPIPE);
}

bool signal_is_ignored(int number)
{
    (void)number;
    return false;
}

// ---- Processes ----------------------------------------------------------------------------------------------

struct page {
    int fd;
    void *memory;
};

static VEC(struct page) pages;

weft_err process_make_shared(size_t size, int *fd, void **memory)
{
    struct page page = {world_new_descriptor(), calloc(1, size)};
    ASSERT(page.memory && VEC_PUSH(&pages, page));
    *fd = page.fd;
    *memory = page.memory;
    return WEFT_OK;
}

bool life_close_page(int fd)
{
    for (size_t i = 0; i < pages.count; i++)
        if (pages.items[i].fd == fd) {
            pages.items[i] = pages.items[--pages.count];
            return true;
        }
    return false;
}

void process_unmap_shared(void *memory, size_t size)
{
    (void)size;
    free(memory);
}

weft_err process_map_shared(int fd, size_t size, void **memory)
{
    (void)fd, (void)size, (void)memory;
    world_wrong("a worker of this world maps nothing");
}

weft_err process_make_socket_pair(int fds[2])
{
    net_make_pair(fds);
    return WEFT_OK;
}

weft_err process_spawn(const struct process_spec *spec, struct process *process)
{
    void *page = NULL;
    *process = (struct process){.pidfd = -1};
    if (world.has_faults && sim.rates.spawn && world_chance(sim.rates.spawn))
        return err_set(WEFT_UNAVAILABLE, "cannot start a process");
    for (size_t i = 0; i < pages.count; i++)
        if (pages.items[i].fd == spec->inherit[1])
            page = pages.items[i].memory;
    ASSERT(page);
    process->pid = worker_start(world.running, net_give_to_child(spec->inherit[0]), page);
    process->pidfd = process->pid;  // as it is watched here
    return WEFT_OK;
}

void process_kill(struct process *process)
{
    worker_kill(process->pid);
}

void process_wait(struct process *process, struct process_exit *exit)
{
    *exit = (struct process_exit){0};
    if (process->pid)
        worker_bury(process->pid, exit);
    *process = (struct process){.pidfd = -1};
}

weft_err process_open_file(const struct process *process, uint32_t number, int *fd)
{
    if (!worker_is_alive(process->pid))
        return err_set(WEFT_UNAVAILABLE, "it has ended");
    struct node *node = worker_find_file(process->pid, number);
    if (!node)
        return err_set(WEFT_INVALID_ARGUMENT, "it has no file %u", number);
    *fd = disk_open(world.running, node);
    return WEFT_OK;
}

void process_allow_descriptors(void)
{
}

void process_close_on_exec(int fd)
{
    (void)fd;
}

void process_keep_on_exec(int fd)
{
    (void)fd;
}

void process_set_name(const char *name)
{
    (void)name;
}
