// For tests: running a loop until something has happened.
#ifndef SYS_LOOP_LOOP_TESTING_H
#define SYS_LOOP_LOOP_TESTING_H

#include "sys/loop/loop.h"

enum { TESTING_PATIENCE_MS = 20000, TESTING_LOOK_MS = 5 };

struct testing_wait {
    struct loop *loop;
    bool is_over;
};

static void testing_patience_over(void *owner)
{
    struct testing_wait *wait = owner;
    wait->is_over = true;
    loop_stop(wait->loop);
}

static void testing_look(void *owner)
{
    loop_stop(((struct testing_wait *)owner)->loop);
}

// A macro, so that a failure names the condition and its line.
#define AWAIT(test, condition)                                                                     \
    do {                                                                                           \
        struct testing_wait wait = {.loop = (test)->loop};                                         \
        struct loop_timer *limit =                                                                 \
            loop_timer_new(wait.loop, TESTING_PATIENCE_MS, 0, testing_patience_over, &wait);       \
        struct loop_timer *often =                                                                 \
            loop_timer_new(wait.loop, TESTING_LOOK_MS, TESTING_LOOK_MS, testing_look, &wait);      \
        while (!(condition) && !wait.is_over)                                                      \
            loop_run(wait.loop);                                                                   \
        loop_timer_free(limit);                                                                    \
        loop_timer_free(often);                                                                    \
        assert_true(condition);                                                                    \
    } while (0)

#endif
