// The architecture that this program was built for: programs of another one do not run here.
#ifndef SYS_MACHINE_ARCHITECTURE_H
#define SYS_MACHINE_ARCHITECTURE_H

#if defined __x86_64__
#define MACHINE_ARCHITECTURE "x86_64"
#elif defined __aarch64__
#define MACHINE_ARCHITECTURE "aarch64"
#elif defined __riscv && __riscv_xlen == 64
#define MACHINE_ARCHITECTURE "riscv64"
#elif defined __powerpc64__ && defined __LITTLE_ENDIAN__
#define MACHINE_ARCHITECTURE "ppc64le"
#else
#define MACHINE_ARCHITECTURE "unknown"
#endif

#endif
