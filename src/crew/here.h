// here: whether this machine has what the roles of a run ask for, and which of its GPUs each instance gets.
//
// Members that share one machine are not held to their memory and processors: the amounts are only compared with what
// there is. Processors may be shared by instances; memory and GPUs may not. Thread: any.
#ifndef CREW_HERE_H
#define CREW_HERE_H

#include "crew/environment.h"
#include "crew/spec/spec.h"

struct here {
    uint32_t cores;
    uint64_t memory_bytes;  // that is free; 0: not known
    char **gpus;            // by their names in CUDA_VISIBLE_DEVICES
    size_t gpu_count, gpu_capacity;
};

// What this process may use. GPUs are those of CUDA_VISIBLE_DEVICES where it is set (`visible`), otherwise the
// NVIDIA devices in `devices`, which is /dev but for tests.
MUST_CHECK weft_err here_look(struct here *here, const char *visible, const char *devices);
void here_fini(struct here *here);

// INVALID_ARGUMENT when an instance asks for more processors than there are, all of them for more memory or GPUs, or a
// role for a label: this machine has none.
MUST_CHECK weft_err here_check(const struct here *here, const struct crew_spec *spec);

// The GPUs of the instance of a member, for struct crew_place, which the caller frees; NULL: it asked for none, or
// there is no memory, with *err set.
char *here_list_gpus(const struct here *here, const struct crew_spec *spec, size_t member,
                     weft_err *err);

#endif
