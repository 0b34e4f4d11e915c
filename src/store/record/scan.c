// Scans: choosing the kernels of this machine.

#include "store/record/scan.h"

#include <stdatomic.h>

#include "sys/machine/cpu.h"

static const struct scan_kernels *choose(void)
{
#if defined(__x86_64__)
    if (cpu_isa() == CPU_AVX512)
        return &scan_kernels_avx512;
    if (cpu_isa() == CPU_AVX2)
        return &scan_kernels_avx2;
#endif
    return &scan_kernels_plain;
}

const struct scan_kernels *scan_kernels(void)
{
    static const struct scan_kernels *_Atomic chosen;  // two threads may both choose, and the same
    const struct scan_kernels *kernels = atomic_load_explicit(&chosen, memory_order_relaxed);
    if (__builtin_expect(!kernels, 0)) {
        kernels = choose();
        atomic_store_explicit(&chosen, kernels, memory_order_relaxed);
    }
    return kernels;
}
