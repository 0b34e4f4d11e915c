// Which vector instructions to use, decided once at run time. WEFT_ISA=plain|avx2|avx512 asks for less
// than the machine has (for tests and measurements); more than it has is not taken.
#ifndef SYS_MACHINE_CPU_H
#define SYS_MACHINE_CPU_H

enum cpu_isa { CPU_PLAIN, CPU_AVX2, CPU_AVX512 };

// CPU_AVX2 includes BMI1/2; CPU_AVX512 includes BW, VL, DQ, VBMI, VBMI2, BITALG (Ice Lake, Zen 4).
enum cpu_isa cpu_isa(void);

#endif
