// worker_program: what a worker is started from, where that is not simply this program again: the code of a job that came
// from another machine (run/package/take.h). Such a worker is not given the token, neither in its environment nor by a
// descriptor. All paths are absolute and borrowed.
#ifndef RUN_WORKER_PROGRAM_H
#define RUN_WORKER_PROGRAM_H

struct worker_program {
    const char *path;       // NULL: this program
    const char *directory;  // where it runs, and the commands that it starts; NULL: where we are
    // Where the loader looks for its shared libraries first; NULL: nowhere else than usual. Only the worker itself sees
    // this, not the programs that it starts.
    const char *libraries;
};

#endif
