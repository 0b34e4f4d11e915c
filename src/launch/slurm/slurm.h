// The launcher slurm:PARTITION.
#ifndef LAUNCH_SLURM_SLURM_H
#define LAUNCH_SLURM_SLURM_H

#include "launch/launch.h"

extern const struct launcher launch_slurm;

#endif
