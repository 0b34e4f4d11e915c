// Big memory from the kernel, and files mapped into memory.
//
// A mapped file that shrinks raises SIGBUS where the data was. The handler puts zeros there and marks
// the mapping, the attempt that reads it finds the mark at its end and fails with a sentence: no process
// dies of another program's truncate(). The table of mappings is fixed and lock-free because a signal
// handler reads it. A cut inside a page, which keeps some of its bytes, raises nothing and reads as
// zeros: that is seen by the file's last byte, which must not have been zero before.

#include "sys/machine/mem.h"

#include "base/sanitized.h"
#include "sys/machine/kin.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PAGE = 4096,
    ROUND_HUGE_ABOVE = 16 << 20,  // from here on the rest of a huge page does not matter
    MAPS_MAX = 16384,  // more files than that are not mapped: the caller reads them instead
    MAP_TAIL = 64,     // readable zero bytes after the data, for vector loads
};

// ---- Memory against a budget

size_t mem_round(size_t size)
{
    const size_t unit = size > ROUND_HUGE_ABOVE ? (size_t)MEM_HUGE_PAGE : (size_t)PAGE;
    return (size + unit - 1) & ~(unit - 1);
}

static bool budget_take(struct mem_budget *budget, size_t size)
{
    const uint64_t used =
        atomic_fetch_add_explicit(&budget->used, size, memory_order_relaxed) + size;
    if (budget->limit && used > budget->limit) {
        atomic_fetch_sub_explicit(&budget->used, size, memory_order_relaxed);
        return false;
    }
    uint64_t peak = atomic_load_explicit(&budget->peak, memory_order_relaxed);
    while (used > peak &&
           !atomic_compare_exchange_weak_explicit(&budget->peak, &peak, used, memory_order_relaxed,
                                                  memory_order_relaxed))
        continue;
    return true;
}

// Huge pages want their address aligned: ask for one more and give the edges back.
static void *map_huge(size_t size)
{
    const size_t huge = MEM_HUGE_PAGE;
    char *got = mmap(NULL, size + huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (got == MAP_FAILED)
        return NULL;
    char *aligned = (char *)(((uintptr_t)got + huge - 1) & ~(uintptr_t)(huge - 1));
    const size_t before = (size_t)(aligned - got);
    if (before)
        munmap(got, before);
    if (huge - before)
        munmap(aligned + size, huge - before);
    madvise(aligned, size, MADV_HUGEPAGE);
    return aligned;
}

void *mem_get(struct mem_budget *budget, size_t size)
{
    const size_t rounded = mem_round(size);
    if (rounded < size || !budget_take(budget, rounded)) {
        atomic_store_explicit(&budget->was_refused, false, memory_order_relaxed);
        return NULL;
    }
    void *memory;
    if (rounded >= MEM_HUGE_PAGE) {
        memory = map_huge(rounded);
    } else {
        memory = mmap(NULL, rounded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memory = memory == MAP_FAILED ? NULL : memory;
    }
    if (!memory) {
        atomic_fetch_sub_explicit(&budget->used, rounded, memory_order_relaxed);
        atomic_store_explicit(&budget->was_refused, true, memory_order_relaxed);
    }
    return memory;
}

const char *mem_advice(const struct mem_budget *budget)
{
    return atomic_load_explicit(&budget->was_refused, memory_order_relaxed)
               ? "the system gives this process no more (see ulimit -v); give less --memory or "
                 "fewer --slots"
               : "give more --memory or fewer --slots";
}

void mem_put(struct mem_budget *budget, void *memory, size_t size)
{
    if (!memory)
        return;
    const size_t rounded = mem_round(size);
    ASSERT(munmap(memory, rounded) == 0);
    atomic_fetch_sub_explicit(&budget->used, rounded, memory_order_relaxed);
}

bool mem_would_fit(const struct mem_budget *budget, size_t size)
{
    const uint64_t used = atomic_load_explicit(&budget->used, memory_order_relaxed);
    return !budget->limit || used + mem_round(size) <= budget->limit;
}

// ---- Mapped files

struct mapping {
    _Atomic uintptr_t begin, end;  // begin 0: a free place
    _Atomic int is_cut;
};

static struct mapping mappings[MAPS_MAX];
static _Atomic int mappings_used;  // places ever taken: how far the handler has to look
static struct sigaction bus_before;

static void handle_bus(int number, siginfo_t *info, void *machine)
{
    const uintptr_t at = (uintptr_t)info->si_addr;
    for (int i = 0; i < atomic_load(&mappings_used); i++) {
        const uintptr_t begin = atomic_load(&mappings[i].begin);
        if (begin == 0 || at < begin || at >= atomic_load(&mappings[i].end))
            continue;
        atomic_store(&mappings[i].is_cut, 1);
        void *page = (void *)(at & ~(uintptr_t)(PAGE - 1));
        if (mmap(page, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
            MAP_FAILED)
            return;
    }
    // Not ours: the handler from before gets it.
    if (bus_before.sa_flags & SA_SIGINFO)
        bus_before.sa_sigaction(number, info, machine);
    else if (bus_before.sa_handler != SIG_DFL && bus_before.sa_handler != SIG_IGN)
        bus_before.sa_handler(number);
    signal(SIGBUS, SIG_DFL);  // the instruction is run again and ends the process
}

static void install_handler_once(void)
{
    static _Atomic int is_installed;
    if (atomic_exchange(&is_installed, 1))
        return;
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK};
    action.sa_sigaction = handle_bus;
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, &bus_before);
}

static int register_mapping(const char *data, size_t size)
{
    install_handler_once();
    for (int i = 0; i < MAPS_MAX; i++) {
        uintptr_t none = 0;
        if (!atomic_compare_exchange_strong(&mappings[i].begin, &none, UINTPTR_MAX))
            continue;
        atomic_store(&mappings[i].is_cut, 0);
        atomic_store(&mappings[i].end, (uintptr_t)data + size);
        atomic_store(&mappings[i].begin, (uintptr_t)data);
        int used = atomic_load(&mappings_used);
        while (used <= i && !atomic_compare_exchange_weak(&mappings_used, &used, i + 1))
            continue;
        return i;
    }
    return -1;
}

// Reserves room for the file and its tail as zeros, then lays the file over the front of it.
static weft_err map_over_zeros(struct mem_map *map, int fd, const char *path)
{
    map->mapped_size = (map->size + MAP_TAIL + PAGE - 1) & ~(size_t)(PAGE - 1);
    char *room = mmap(NULL, map->mapped_size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED)
        return err_errno("map %s", path);
    if (map->size &&
        mmap(room, map->size, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) {
        const weft_err code = err_errno("map %s", path);
        munmap(room, map->mapped_size);
        return code;
    }
    map->registered = register_mapping(room, map->size);
    if (map->registered < 0) {
        munmap(room, map->mapped_size);
        return err_set(WEFT_RESOURCE_EXHAUSTED, "map %s: too many mapped files", path);
    }
    map->data = room;
    if (!mem_map_is_cut(map))
        return WEFT_OK;
    mem_map_close(map);
    return err_set(WEFT_FAILED_PRECONDITION, "map %s: it ends in a zero byte", path);
}

weft_err mem_map_open(struct mem_map *map, const char *path)
{
    *map = (struct mem_map){.registered = -1};
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_errno("open %s", path);
    struct stat stat;
    weft_err code;
    if (fstat(fd, &stat) != 0) {
        code = err_errno("look at %s", path);
    } else {
        map->size = (size_t)stat.st_size;
        code = map_over_zeros(map, fd, path);
    }
    close(fd);
    return code;
}

void mem_map_close(struct mem_map *map)
{
    if (!map->data)
        return;
    atomic_store(&mappings[map->registered].begin, UINTPTR_MAX);  // the handler leaves it alone
    munmap((void *)(uintptr_t)map->data, map->mapped_size);
    atomic_store(&mappings[map->registered].begin, 0);
    map->data = NULL;
}

bool mem_map_is_cut(const struct mem_map *map)
{
    if (!map->data || map->size == 0)
        return false;
    const char last = *(const volatile char *)(map->data + map->size - 1);  // may raise SIGBUS
    return last == 0 || atomic_load(&mappings[map->registered].is_cut) != 0;
}

void mem_map_populate(const struct mem_map *map, size_t begin, size_t end)
{
#ifndef MADV_POPULATE_READ
    enum { MADV_POPULATE_READ = 22 };
#endif
    begin &= ~(size_t)(PAGE - 1);
    if (end > map->size)
        end = map->size;
    // An old kernel refuses it; then every page faults in by itself.
    if (begin < end)
        (void)madvise((void *)((uintptr_t)map->data + begin), end - begin, MADV_POPULATE_READ);
}

void mem_touch(void *memory, size_t size)
{
#ifndef MADV_POPULATE_WRITE
    enum { MADV_POPULATE_WRITE = 23 };
#endif
    const uintptr_t begin = (uintptr_t)memory & ~(uintptr_t)(PAGE - 1);
    const uintptr_t end = ((uintptr_t)memory + size) & ~(uintptr_t)(PAGE - 1);
    if (begin < end)
        (void)madvise((void *)begin, end - begin, MADV_POPULATE_WRITE);
}

static uint64_t read_resident(const char *path)
{
    FILE *status = fopen(path, "re");
    if (!status)
        return 0;
    char line[128];
    uint64_t total = 0;
    while (fgets(line, sizeof line, status)) {
        if (strncmp(line, "RssAnon:", 8) == 0)
            total += strtoull(line + 8, NULL, 10) * 1024;
        else if (strncmp(line, "RssShmem:", 9) == 0)
            total += strtoull(line + 9, NULL, 10) * 1024;
    }
    fclose(status);
    return total;
}

uint64_t mem_resident_bytes(void)
{
    // A sanitizer's own memory is many times ours: then nothing can be said about it.
    return IS_SANITIZED ? 0 : read_resident("/proc/self/status");
}

uint64_t mem_resident_bytes_of(pid_t pid)
{
    struct kin all = {0};
    uint64_t total = 0;
    kin_list_descendants(pid, &all);
    for (size_t i = 0; i < all.pids.count; i++) {
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/status", (int)all.pids.items[i]);
        total += read_resident(path);
    }
    VEC_FINI(&all.pids);
    return total;
}
