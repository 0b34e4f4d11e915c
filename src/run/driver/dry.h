// dry: --dry-run. Prints the work that a run would do, where, and the finished part; nothing is made or changed.
#ifndef RUN_DRIVER_DRY_H
#define RUN_DRIVER_DRY_H

#include "run/driver/resume/resume.h"

// Prints the plan on standard output, as text or, with --json, as an object (docs/json.md). `output` may be NULL;
// `pieces` are those of the last stage, as resume_look has found them.
MUST_CHECK weft_err dry_print(const struct run_plan *plan, const struct output *output,
                              const struct resume *resume, const struct output_piece *pieces);

#endif
