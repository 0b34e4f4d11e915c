// By which keys the ranges of a stage were cut when a task was done.
//
// A sample comes out differently in each life, as that of a job may whose functions remember what they saw. What was
// made by different cuts does not fit together: keys would be in two pieces of the answer, or in none. So each task that
// ends well leaves a note, and at the end all notes of a stage are the same.

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "base/crc32c.h"
#include "sim_run/worker.h"

void worker_take_cuts(struct worker *worker, const Weft__StagePlan *plan)
{
    worker->cuts = 0;
    for (size_t i = 0; i < plan->n_sample_keys; i++)
        worker->cuts = crc32c(worker->cuts, plan->sample_keys[i].data, plan->sample_keys[i].len);
}

void worker_note_cuts(const struct worker *worker, const Weft__TaskRun *run)
{
    char name[64], path[128];
    snprintf(name, sizeof name, "cuts-%u-%u-%u", run->stage, (unsigned)run->kind, run->task);
    sim_path(path, sizeof path, name);
    FILE *file = fopen(path, "w");
    if (!file || fprintf(file, "%u", worker->cuts) < 0 || fclose(file) != 0)
        sim_wrong("cannot write %s", path);
}

void sim_check_cuts(void)
{
    struct {
        uint32_t cuts;
        bool is_known;
    } stages[2] = {0};
    DIR *folder = opendir(sim.folder);
    for (const struct dirent *entry; (entry = readdir(folder));) {
        char path[128];
        unsigned stage, cuts;
        if (sscanf(entry->d_name, "cuts-%u-", &stage) != 1)
            continue;
        sim_path(path, sizeof path, entry->d_name);
        FILE *file = fopen(path, "r");
        if (!file || fscanf(file, "%u", &cuts) != 1 || stage > 1)
            sim_wrong("cannot read %s", path);
        fclose(file);
        if (stages[stage].is_known && stages[stage].cuts != cuts)
            sim_wrong("%s: the tasks of a stage were done by different cuts", entry->d_name);
        stages[stage].cuts = cuts;
        stages[stage].is_known = true;
    }
    closedir(folder);
}
