// Lines for the program, or for standard error.

#include "sys/log.h"

#include <stdlib.h>

#include "sys/file/file.h"
#include "sys/thread/thread.h"

static struct mutex lock = MUTEX_INITIALIZER;
static weft_log_fn *taker;
static void *taker_data;

void weft_set_log(weft_log_fn *log, void *data)
{
    mutex_lock(&lock);
    taker = log;
    taker_data = data;
    mutex_unlock(&lock);
}

// The function of the program may do anything, also set another function: it is called without the lock.
static weft_log_fn *find_taker(void **data)
{
    mutex_lock(&lock);
    weft_log_fn *found = taker;
    *data = taker_data;
    mutex_unlock(&lock);
    return found;
}

bool log_is_taken(void)
{
    void *data;
    return find_taker(&data) != NULL;
}

static void hand_over(weft_log_fn *log, void *data, weft_bytes text)
{
    weft_bytes line;
    while (weft_next_line(&text, &line)) {
        char *copy = strndup(line.data, line.size);
        if (copy)
            log(data, copy);
        free(copy);
    }
}

void log_lines(int fd, const char *text, size_t size)
{
    void *data;
    weft_log_fn *log = find_taker(&data);
    struct err_kept kept;
    err_keep(&kept);
    if (log)
        hand_over(log, data, (weft_bytes){text, size});
    else if (size && file_write(fd, "standard error", text, size))
        err_clear();
    err_put_back(&kept);
}
