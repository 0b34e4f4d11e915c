// Bisecting: an interval that gets smaller.
#include "mapreduce/coord/bisect.h"

// Halves, or takes the step after the last half.
static void go_on(struct bisect *bisect)
{
    const uint64_t left = bisect->end - bisect->begin;
    bisect->state = left == 0 ? BISECT_NOT_ONE : left == 1 ? BISECT_CONFIRMING : BISECT_HALVING;
}

void bisect_init(struct bisect *bisect, uint64_t size, uint64_t guess)
{
    *bisect = (struct bisect){.size = size, .guess = guess, .end = size};
}

static uint64_t middle(const struct bisect *bisect)
{
    return bisect->begin + (bisect->end - bisect->begin) / 2;
}

bool bisect_next(const struct bisect *bisect, uint64_t *begin, uint64_t *end)
{
    *begin = bisect->begin;
    *end = bisect->end;
    switch (bisect->state) {
    case BISECT_NOTHING:
        *end = *begin;
        return true;
    case BISECT_GUESSING:
        *begin = bisect->guess;
        *end = bisect->guess + 1;
        return true;
    case BISECT_HALVING:
        *end = middle(bisect);
        return true;
    case BISECT_CONFIRMING:
        return true;
    case BISECT_FOUND:
    case BISECT_NOT_ONE:
    case BISECT_NO_RECORD:
        break;
    }
    return false;
}

void bisect_take(struct bisect *bisect, bool has_failed)
{
    bisect->try_count++;
    switch (bisect->state) {
    case BISECT_NOTHING:
        if (has_failed || bisect->guess < bisect->size) {
            bisect->state = has_failed ? BISECT_NO_RECORD : BISECT_GUESSING;
            return;
        }
        break;
    case BISECT_GUESSING:
        if (has_failed) {
            bisect->begin = bisect->guess;
            bisect->state = BISECT_FOUND;
            return;
        }
        break;
    case BISECT_HALVING:
        if (has_failed)
            bisect->end = middle(bisect);
        else
            bisect->begin = middle(bisect);
        break;
    case BISECT_CONFIRMING:
        bisect->state = has_failed ? BISECT_FOUND : BISECT_NOT_ONE;
        return;
    case BISECT_FOUND:
    case BISECT_NOT_ONE:
    case BISECT_NO_RECORD:
        return;
    }
    go_on(bisect);
}
