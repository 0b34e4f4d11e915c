// Tests of sys/machine against made-up /proc and /sys/fs/cgroup.

#include "sys/machine/machine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/file/file.h"

static char root[64], proc[96], cgroup[96];

static void put(const char *path, const char *text)
{
    char whole[256];
    snprintf(whole, sizeof whole, "%s/%s", root, path);
    for (char *slash = strchr(whole + strlen(root) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(whole, 0777);
        *slash = '/';
    }
    FILE *file = fopen(whole, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int make_root(void **state)
{
    (void)state;
    snprintf(root, sizeof root, "/tmp/weft-machine-test-XXXXXX");
    assert_non_null(mkdtemp(root));
    snprintf(proc, sizeof proc, "%s/proc", root);
    snprintf(cgroup, sizeof cgroup, "%s/cgroup", root);
    return 0;
}

static int remove_root(void **state)
{
    (void)state;
    return file_remove_tree(root) == WEFT_OK ? 0 : -1;
}

static void without_cgroups_only_the_machine_limits(void **state)
{
    (void)state;
    put("proc/meminfo", "MemTotal: 4000 kB\nMemFree: 10 kB\nMemAvailable:    3000 kB\n");
    assert_int_equal(machine_core_quota_in(proc, cgroup), 0);
    assert_int_equal(machine_memory_free_in(proc, cgroup), 3000 * 1024);
}

static void nothing_known_is_zero(void **state)
{
    (void)state;
    assert_int_equal(machine_core_quota_in(proc, cgroup), 0);
    assert_int_equal(machine_memory_free_in(proc, cgroup), 0);
}

static void the_tightest_level_of_version_two_counts(void **state)
{
    (void)state;
    put("proc/meminfo", "MemAvailable: 4000000 kB\n");
    put("proc/self/cgroup", "0::/a/b\n");
    put("cgroup/a/b/cpu.max", "max 100000\n");
    put("cgroup/a/cpu.max", "250000 100000\n");
    put("cgroup/a/b/memory.max", "max\n");
    put("cgroup/a/b/memory.current", "1000\n");
    put("cgroup/a/memory.max", "1000000\n");
    put("cgroup/a/memory.current", "700000\n");
    put("cgroup/a/memory.stat", "anon 1\nfile 500000\ninactive_file 200000\nactive_file 100000\n");
    assert_int_equal(machine_core_quota_in(proc, cgroup), 3);
    assert_int_equal(machine_memory_free_in(proc, cgroup), 1000000 - 700000 + 300000);
}

static void a_path_of_the_host_that_is_not_here_means_the_root(void **state)
{
    (void)state;
    put("proc/self/cgroup", "0::/docker/0123\n");
    put("cgroup/cpu.max", "50000 100000\n");
    put("cgroup/memory.max", "5000\n");
    put("cgroup/memory.current", "6000\n");
    assert_int_equal(machine_core_quota_in(proc, cgroup), 1);
    assert_int_equal(machine_memory_free_in(proc, cgroup), 0);
}

static void version_one_is_found_by_its_controllers(void **state)
{
    (void)state;
    put("proc/meminfo", "MemAvailable: 4000000 kB\n");
    put("proc/self/cgroup", "5:memory:/job\n4:cpuset:/x\n3:cpu,cpuacct:/job\n1:name=systemd:/y\n");
    put("cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "150000\n");
    put("cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
    put("cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
    put("cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    put("cgroup/memory/job/memory.limit_in_bytes", "900000\n");
    put("cgroup/memory/job/memory.usage_in_bytes", "500000\n");
    put("cgroup/memory/job/memory.stat", "inactive_file 1\ntotal_inactive_file 100000\n");
    put("cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put("cgroup/memory/memory.usage_in_bytes", "1\n");
    assert_int_equal(machine_core_quota_in(proc, cgroup), 2);
    assert_int_equal(machine_memory_free_in(proc, cgroup), 500000);
}

static void damaged_files_do_not_limit(void **state)
{
    (void)state;
    put("proc/meminfo", "MemAvailable: 1000 kB\n");
    put("proc/self/cgroup", "nonsense\n0:\n0::/a\n");
    put("cgroup/a/cpu.max", "lots\n");
    put("cgroup/a/memory.max", "\n");
    put("cgroup/cpu.max", "100000 0\n");
    assert_int_equal(machine_core_quota_in(proc, cgroup), 0);
    assert_int_equal(machine_memory_free_in(proc, cgroup), 1000 * 1024);
}

static void this_machine_has_something(void **state)
{
    (void)state;
    assert_in_range(machine_core_count(), 1, 4096);
    assert_true(machine_memory_free() > 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_root, remove_root)
    const struct CMUnitTest tests[] = {
        TEST(without_cgroups_only_the_machine_limits),
        TEST(nothing_known_is_zero),
        TEST(the_tightest_level_of_version_two_counts),
        TEST(a_path_of_the_host_that_is_not_here_means_the_root),
        TEST(version_one_is_found_by_its_controllers),
        TEST(damaged_files_do_not_limit),
        TEST(this_machine_has_something),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
