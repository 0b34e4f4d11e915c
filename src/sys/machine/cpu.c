// Which vector instructions to use.

#include "sys/machine/cpu.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static enum cpu_isa isa_of_machine(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi2"))
        return CPU_PLAIN;
    if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vbmi") &&
        __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512bitalg"))
        return CPU_AVX512;
    return CPU_AVX2;
#else
    return CPU_PLAIN;
#endif
}

static enum cpu_isa isa_asked_for(enum cpu_isa best)
{
    const char *asked = getenv("WEFT_ISA");
    if (!asked)
        return best;
    if (strcmp(asked, "plain") == 0)
        return CPU_PLAIN;
    if (strcmp(asked, "avx2") == 0 && best >= CPU_AVX2)
        return CPU_AVX2;
    return best;
}

enum cpu_isa cpu_isa(void)
{
    static _Atomic int known = -1;  // two threads may both find out, and find the same
    int isa = atomic_load_explicit(&known, memory_order_relaxed);
    if (isa < 0) {
        isa = (int)isa_asked_for(isa_of_machine());
        atomic_store_explicit(&known, isa, memory_order_relaxed);
    }
    return (enum cpu_isa)isa;
}
