// machine: what this process may use of the machine: affinity, cgroups v1 and v2, free memory.
#ifndef SYS_MACHINE_MACHINE_H
#define SYS_MACHINE_MACHINE_H

#include <stdint.h>

// Cores this process may use: the affinity mask, and no more than the cgroup's quota (rounded up).
// At least 1.
uint32_t machine_core_count(void);

// Bytes this process could still take: what the kernel calls available, and no more than the cgroup
// has left (its page cache counts as free), nor than `ulimit -v` leaves. 0 when nothing can be found out.
uint64_t machine_memory_free(void);

// With `ulimit -v`, lets all threads share one heap. Each further one would reserve 64 MiB of the address space, or
// twice that for a moment, which memory that is asked for in large pieces then lacks. Before threads are started.
void machine_save_address_space(void);

// The name of the user this process acts for, and of this machine; numbers where they have no name.
enum { MACHINE_NAME_BYTES_MAX = 256 };
void machine_user_name(char name[MACHINE_NAME_BYTES_MAX]);
void machine_host_name(char name[MACHINE_NAME_BYTES_MAX]);

// Cores and memory below other roots, for tests: `proc` and `cgroup` stand for /proc and /sys/fs/cgroup.
// machine_core_quota_in returns 0 where no quota is set.
uint32_t machine_core_quota_in(const char *proc, const char *cgroup);
uint64_t machine_memory_free_in(const char *proc, const char *cgroup);

#endif
