// The command line that the simulators share: [--seed N] [--seeds COUNT] [-v].
//
// Without --seed the seeds that once failed are run, too: numbers in a file, one per line, and behind each what it
// found. The file is named from the root of the source, where simulators are started.
#ifndef SEEDS_H
#define SEEDS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct seeds {
    const char *name;        // of the simulator
    const char *known;       // the file
    uint64_t count_default;  // how many are run
    bool *is_verbose;        // set by -v, before the first
    void (*run)(uint64_t seed);
    uint64_t run_count;
};

static inline void seeds_run_one(struct seeds *seeds, uint64_t seed)
{
    seeds->run(seed);
    seeds->run_count++;
}

static inline void seeds_run_known(struct seeds *seeds)
{
    FILE *file = fopen(seeds->known, "r");
    if (!file) {
        fprintf(stderr, "%s: no %s: start it in the root of the source\n", seeds->name,
                seeds->known);
        exit(2);
    }
    char line[256];
    while (fgets(line, sizeof line, file))
        if (line[0] >= '0' && line[0] <= '9')
            seeds_run_one(seeds, strtoull(line, NULL, 10));
    fclose(file);
}

static inline void seeds_run_all(struct seeds *seeds, int argc, char **argv)
{
    uint64_t seed = 1, count = 0;
    bool has_seed = false;
    for (int i = 1; i < argc; i++) {
        const bool has_value = i + 1 < argc;
        if (!strcmp(argv[i], "-v")) {
            *seeds->is_verbose = true;
            setlinebuf(stdout);
        } else if (!strcmp(argv[i], "--seed") && has_value) {
            seed = strtoull(argv[++i], NULL, 0);
            has_seed = true;
        } else if (!strcmp(argv[i], "--seeds") && has_value) {
            count = strtoull(argv[++i], NULL, 0);
        } else {
            fprintf(stderr, "usage: %s [--seed N] [--seeds COUNT] [-v]\n", seeds->name);
            exit(2);
        }
    }
    if (!has_seed)
        seeds_run_known(seeds);
    if (count == 0)
        count = has_seed ? 1 : seeds->count_default;
    for (uint64_t i = 0; i < count; i++)
        seeds_run_one(seeds, seed + i);
}

#endif
