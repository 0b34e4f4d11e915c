// Tests of choosing vector instructions: the environment may ask for less, never for more.

#include "sys/machine/cpu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>
#include <sys/wait.h>
#include <unistd.h>

// The choice is made once per process: every question needs a child of its own.
static int chosen(const char *asked)
{
    const pid_t child = fork();
    if (child == 0) {
        if (asked)
            setenv("WEFT_ISA", asked, 1);
        else
            unsetenv("WEFT_ISA");
        const int isa = (int)cpu_isa();
        setenv("WEFT_ISA", "plain", 1);
        _exit(isa == (int)cpu_isa() ? isa : 99);  // asked again, the same
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void less_than_the_machine_has_is_taken(void **state)
{
    (void)state;
    const int best = chosen(NULL);
    assert_int_equal(chosen("plain"), CPU_PLAIN);
    assert_int_equal(chosen("avx2"), best < CPU_AVX2 ? best : CPU_AVX2);
}

static void more_than_the_machine_has_is_not_taken(void **state)
{
    (void)state;
    assert_int_equal(chosen("avx512"), chosen(NULL));
}

static void what_nobody_knows_is_not_taken(void **state)
{
    (void)state;
    const int best = chosen(NULL);
    assert_int_equal(chosen(""), best);
    assert_int_equal(chosen("AVX2"), best);
    assert_int_equal(chosen("mmx"), best);
}

static void the_machine_has_what_its_compiler_says(void **state)
{
    (void)state;
    const int best = chosen(NULL);
    assert_true(best >= CPU_PLAIN && best <= CPU_AVX512);
#if defined(__x86_64__)
    __builtin_cpu_init();
    assert_int_equal(best >= CPU_AVX2,
                     __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"));
    if (best == CPU_AVX512)
        assert_true(__builtin_cpu_supports("avx512vbmi2"));
#else
    assert_int_equal(best, CPU_PLAIN);
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(less_than_the_machine_has_is_taken),
        cmocka_unit_test(more_than_the_machine_has_is_not_taken),
        cmocka_unit_test(what_nobody_knows_is_not_taken),
        cmocka_unit_test(the_machine_has_what_its_compiler_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
