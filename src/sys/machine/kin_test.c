// Tests of finding the descendants of a process, also those that a thread of it started.

#include "sys/machine/kin.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/machine/mem.h"

enum { BYTES = 20 << 20 };

static int ready[2];

// A child that has a child, which takes memory; both wait to be killed.
static void *start_family(void *pid)
{
    const pid_t child = *(pid_t *)pid = fork();
    if (child != 0)
        return NULL;
    const pid_t grandchild = fork();
    if (grandchild == 0) {
        char *memory =
            mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory != MAP_FAILED)
            memset(memory, 1, BYTES);
        if (write(ready[1], "x", 1) != 1)
            _exit(1);
    }
    pause();
    _exit(0);
}

static void what_a_thread_started_is_found(void **state)
{
    (void)state;
    struct kin mine = {0};
    struct kin_stat stat;
    pthread_t thread;
    pid_t child = 0;
    char byte;
    const uint64_t before = mem_resident_bytes_of(getpid());
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pthread_create(&thread, NULL, start_family, &child), 0);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(pthread_join(thread, NULL), 0);
    kin_list_descendants(getpid(), &mine);
    assert_int_equal(mine.pids.count, 3);
    assert_int_equal(mine.pids.items[0], getpid());
    assert_int_equal(mine.pids.items[1], child);
    assert_true(kin_read_stat(mine.pids.items[2], &stat));
    assert_int_equal(stat.parent, child);
    assert_true(mem_resident_bytes_of(getpid()) > before + BYTES / 2);
    kill(mine.pids.items[2], SIGKILL);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_false(kin_read_stat(child, &stat));
    VEC_FINI(&mine.pids);
    close(ready[0]);
    close(ready[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_thread_started_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
