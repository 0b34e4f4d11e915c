// machine: small files of /proc and /sys read once at the start. Nothing here fails: what cannot be
// found out does not limit.
//
// A process may sit in a cgroup below others that have limits too, so every level up to the root is
// asked. In a container /proc/self/cgroup may name a path of the host that cannot be seen here; then
// the mounted root is the container's own group.

#include "sys/machine/machine.h"

#include <inttypes.h>
#include <limits.h>
#include <malloc.h>
#include <pwd.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define UNLIMITED UINT64_MAX

static FILE *open_in(const char *folder, const char *name)
{
    char path[PATH_MAX];
    const int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    return length > 0 && (size_t)length < sizeof path ? fopen(path, "re") : NULL;
}

// The numbers at the start of a file, "max" being UNLIMITED; false when there are fewer.
static bool read_numbers(const char *folder, const char *name, uint64_t *first, uint64_t *second)
{
    char words[2][32] = {"", ""};
    FILE *file = open_in(folder, name);
    const int count = file ? fscanf(file, "%31s %31s", words[0], words[1]) : 0;
    if (file)
        fclose(file);
    uint64_t *const to[] = {first, second};
    for (int i = 0; i < 2 && to[i]; i++) {
        char *end;
        if (i >= count)
            return false;
        const bool is_unlimited = strcmp(words[i], "max") == 0 || words[i][0] == '-';
        *to[i] = is_unlimited ? UNLIMITED : strtoull(words[i], &end, 10);
        if (!is_unlimited && (end == words[i] || *end))
            return false;
    }
    return true;
}

// The value after a name in a file of "name value" or "name: value" lines; 0 when it is not there.
static uint64_t read_named(const char *folder, const char *file_name, const char *name)
{
    FILE *file = open_in(folder, file_name);
    char line[256];
    uint64_t value = 0;
    const size_t length = strlen(name);
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, name, length) != 0 || (line[length] != ' ' && line[length] != ':'))
            continue;
        value = strtoull(line + length + 1, NULL, 10);
        break;
    }
    if (file)
        fclose(file);
    return value;
}

// ---- Where our cgroup is -------------------------------------------------------------------------------

// Whether the comma-separated list has the word.
static bool has_controller(const char *list, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',')
        if (strncmp(at, word, length) == 0 && (at[length] == ',' || !at[length]))
            return true;
    return false;
}

// Our path for a controller as /proc/self/cgroup has it ("12:cpu,cpuacct:/a/b", or "0::/a/b" in v2,
// asked for with an empty controller). Also gives the list, which names the mount in v1.
static bool find_group(const char *proc, const char *controller, char *list, char *path)
{
    FILE *file = open_in(proc, "self/cgroup");
    char line[PATH_MAX + 128];
    bool is_found = false;
    while (file && !is_found && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        char *controllers = strchr(line, ':');
        char *place = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!place)
            continue;
        *place++ = 0;
        controllers++;
        is_found = *controller ? has_controller(controllers, controller) : !*controllers;
        snprintf(list, PATH_MAX, "%s", controllers);
        snprintf(path, PATH_MAX, "%s", strcmp(place, "/") == 0 ? "" : place);
    }
    if (file)
        fclose(file);
    return is_found;
}

// What one level of the hierarchy allows; UNLIMITED when it says nothing.
typedef uint64_t level_fn(const char *folder);

// The least that any level from our group up to the root allows.
static uint64_t least_of_levels(const char *root, char *path, level_fn *level)
{
    uint64_t least = UNLIMITED;
    for (;;) {
        char folder[3 * PATH_MAX];
        snprintf(folder, sizeof folder, "%s%s", root, path);
        const uint64_t allowed = level(folder);
        least = allowed < least ? allowed : least;
        char *slash = strrchr(path, '/');
        if (!slash)
            return least;
        *slash = 0;
    }
}

static uint64_t least_of_v1(const char *proc, const char *cgroup, const char *controller,
                            level_fn *level)
{
    char list[PATH_MAX], path[PATH_MAX], root[2 * PATH_MAX];
    if (!find_group(proc, controller, list, path))
        return UNLIMITED;
    // Mounted by the whole list, "cpu,cpuacct", or by the controller's own name.
    snprintf(root, sizeof root, "%s/%s", cgroup, list);
    if (access(root, F_OK) != 0)
        snprintf(root, sizeof root, "%s/%s", cgroup, controller);
    return least_of_levels(root, path, level);
}

static uint64_t least_of_v2(const char *proc, const char *cgroup, level_fn *level)
{
    char list[PATH_MAX], path[PATH_MAX], root[2 * PATH_MAX];
    if (!find_group(proc, "", list, path))
        return UNLIMITED;
    // Beside v1 hierarchies the second version is mounted one level below.
    snprintf(root, sizeof root, "%s/unified", cgroup);
    return least_of_levels(access(root, F_OK) == 0 ? root : cgroup, path, level);
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

// ---- Cores -------------------------------------------------------------------------------------------

static uint64_t whole_cores(uint64_t quota, uint64_t period)
{
    if (quota == UNLIMITED || period == 0 || period == UNLIMITED)
        return UNLIMITED;
    const uint64_t cores = quota / period + (quota % period != 0);
    return cores ? cores : 1;
}

static uint64_t cores_v2(const char *folder)
{
    uint64_t quota, period;
    return read_numbers(folder, "cpu.max", &quota, &period) ? whole_cores(quota, period)
                                                            : UNLIMITED;
}

static uint64_t cores_v1(const char *folder)
{
    uint64_t quota, period;
    return read_numbers(folder, "cpu.cfs_quota_us", &quota, NULL) &&
                   read_numbers(folder, "cpu.cfs_period_us", &period, NULL)
               ? whole_cores(quota, period)
               : UNLIMITED;
}

uint32_t machine_core_quota_in(const char *proc, const char *cgroup)
{
    const uint64_t cores =
        lesser(least_of_v2(proc, cgroup, cores_v2), least_of_v1(proc, cgroup, "cpu", cores_v1));
    return cores > UINT32_MAX ? 0 : (uint32_t)cores;
}

uint32_t machine_core_count(void)
{
    enum { CORES_MAX = 4096 };
    const uint32_t quota = machine_core_quota_in("/proc", "/sys/fs/cgroup");
    const size_t mask_bytes = CPU_ALLOC_SIZE(CORES_MAX);
    cpu_set_t *mask = CPU_ALLOC(CORES_MAX);
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    if (mask && sched_getaffinity(0, mask_bytes, mask) == 0)
        count = CPU_COUNT_S(mask_bytes, mask);
    CPU_FREE(mask);
    const uint32_t cores = count > 0 ? (uint32_t)count : 1;
    return quota && quota < cores ? quota : cores;
}

// ---- Memory ------------------------------------------------------------------------------------------

static uint64_t left_of(uint64_t limit, uint64_t used, uint64_t cache)
{
    const uint64_t taken = used > cache ? used - cache : 0;
    if (limit == UNLIMITED)
        return UNLIMITED;
    return limit > taken ? limit - taken : 0;
}

static uint64_t memory_v2(const char *folder)
{
    uint64_t limit, used;
    if (!read_numbers(folder, "memory.max", &limit, NULL) ||
        !read_numbers(folder, "memory.current", &used, NULL))
        return UNLIMITED;
    const uint64_t cache = read_named(folder, "memory.stat", "inactive_file") +
                           read_named(folder, "memory.stat", "active_file");
    return left_of(limit, used, cache);
}

static uint64_t memory_v1(const char *folder)
{
    uint64_t limit, used;
    if (!read_numbers(folder, "memory.limit_in_bytes", &limit, NULL) ||
        !read_numbers(folder, "memory.usage_in_bytes", &used, NULL))
        return UNLIMITED;
    // No limit is written as the largest number of whole pages.
    if (limit >= (UINT64_C(1) << 62))
        return UNLIMITED;
    const uint64_t cache = read_named(folder, "memory.stat", "total_inactive_file") +
                           read_named(folder, "memory.stat", "total_active_file");
    return left_of(limit, used, cache);
}

uint64_t machine_memory_free_in(const char *proc, const char *cgroup)
{
    const uint64_t available = read_named(proc, "meminfo", "MemAvailable") * 1024;
    const uint64_t left = lesser(least_of_v2(proc, cgroup, memory_v2),
                                 least_of_v1(proc, cgroup, "memory", memory_v1));
    if (available == 0)
        return left == UNLIMITED ? 0 : left;
    return lesser(available, left);
}

// What `ulimit -v` leaves this process; UNLIMITED when it has no such limit.
static uint64_t address_space_left(void)
{
    struct rlimit limit;
    uint64_t pages = 0, resident;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return UNLIMITED;
    read_numbers("/proc/self", "statm", &pages, &resident);
    const uint64_t used = pages * (uint64_t)sysconf(_SC_PAGESIZE);
    return limit.rlim_cur > used ? limit.rlim_cur - used : 1;
}

void machine_save_address_space(void)
{
    if (address_space_left() != UNLIMITED)
        mallopt(M_ARENA_MAX, 1);
}

uint64_t machine_memory_free(void)
{
    const uint64_t free_bytes = machine_memory_free_in("/proc", "/sys/fs/cgroup");
    const uint64_t left = address_space_left();
    return free_bytes == 0 || left < free_bytes ? (left == UNLIMITED ? free_bytes : left)
                                                : free_bytes;
}

// ---- Names ---------------------------------------------------------------------------------------------

void machine_user_name(char name[MACHINE_NAME_BYTES_MAX])
{
    const struct passwd *user = getpwuid(geteuid());
    if (user)
        snprintf(name, MACHINE_NAME_BYTES_MAX, "%s", user->pw_name);
    else
        snprintf(name, MACHINE_NAME_BYTES_MAX, "%u", (unsigned)geteuid());
}

void machine_host_name(char name[MACHINE_NAME_BYTES_MAX])
{
    if (gethostname(name, MACHINE_NAME_BYTES_MAX) != 0)
        strcpy(name, "localhost");
    name[MACHINE_NAME_BYTES_MAX - 1] = 0;
}
