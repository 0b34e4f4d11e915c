// own_loop_claims: what weft_queue_descriptor promises, and how many threads the library starts. WEFT_AT names the host.
#include "cluster_api.h"

#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

static bool is_readable(int fd, int timeout_ms)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    return poll(&ready, 1, timeout_ms) == 1 && ready.revents == POLLIN;
}

static int count_threads(void)
{
    int count = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (const struct dirent *entry; tasks && (entry = readdir(tasks)) != NULL;)
        count += entry->d_name[0] != '.';
    if (tasks)
        closedir(tasks);
    return count;
}

static void it_says_when_an_element_is_there(weft_cluster *cluster)
{
    weft_queue *queue = weft_queue_open(cluster, "loop", NULL);
    weft_queue *other = weft_queue_open(cluster, "loop", NULL);
    const int threads = count_threads();
    const int fd = weft_queue_descriptor(queue);
    weft_item item;
    CLAIM(fd >= 0 && weft_queue_descriptor(queue) == fd);
    CLAIM(count_threads() == threads + 1);
    CLAIM(is_readable(fd, 0));  // until it was looked
    GIVES(CANCELLED, weft_take_now(queue, &item));
    CLAIM(!is_readable(fd, 100));
    GIVES(OK, weft_push(other, weft_text("one"), weft_none()));
    CLAIM(is_readable(fd, 20000));
    GIVES(OK, weft_take_now(queue, &item));
    CLAIM(item_is(&item, "one"));
    CLAIM(is_readable(fd, 0));  // there may be more
    GIVES(OK, weft_done(queue, &item));
    GIVES(CANCELLED, weft_take_now(queue, &item));
    weft_queue_free(other);
    weft_queue_free(queue);
}

// An element that rang belongs to another consumer if the program does not come for it.
static void it_holds_no_element_back(weft_cluster *cluster)
{
    weft_queue *queue = weft_queue_open(cluster, "loop", NULL);
    weft_queue *other = weft_queue_open(cluster, "loop", NULL);
    const int fd = weft_queue_descriptor(queue);
    weft_item item;
    GIVES(CANCELLED, weft_take_now(queue, &item));
    GIVES(OK, weft_push(other, weft_text("two"), weft_none()));
    CLAIM(is_readable(fd, 20000));
    CLAIM(weft_take(other, &item) && item_is(&item, "two") && item.delivery == 1);
    GIVES(OK, weft_done(other, &item));
    GIVES(CANCELLED, weft_take_now(queue, &item));
    CLAIM(!is_readable(fd, 100));
    GIVES(OK, weft_queue_close(other));
    CLAIM(is_readable(fd, 20000));
    GIVES(OUT_OF_RANGE, weft_take_now(queue, &item));
    CLAIM(is_readable(fd, 0));  // its end stays
    weft_queue_free(other);
    weft_queue_free(queue);
}

static void *do_nothing(void *unused)
{
    return unused;
}

// A sanitizer starts a thread of its own beside the first one of a program: it is not to be counted as the library's.
static void start_a_thread_and_end_it(void)
{
    pthread_t thread;
    CLAIM(pthread_create(&thread, NULL, do_nothing, NULL) == 0);
    CLAIM(pthread_join(thread, NULL) == 0);
    usleep(20000);  // until /proc has forgotten it
}

int main(void)
{
    start_a_thread_and_end_it();
    const int threads = count_threads();
    weft_cluster *cluster = weft_connect(NULL);
    CLAIM(count_threads() == threads);
    weft_queue *queue = weft_queue_open(cluster, "other", NULL);
    weft_var *var = weft_var_open(cluster, "var");
    GIVES(OK, weft_push(queue, weft_text("x"), weft_none()));
    GIVES(OK, weft_var_set(var, 1));
    CLAIM(count_threads() == threads + 1);  // one for the cluster, however many handles
    it_says_when_an_element_is_there(cluster);
    it_holds_no_element_back(cluster);
    CLAIM(count_threads() == threads + 1);
    CLAIM(weft_leave(cluster) == 0);
    CLAIM(count_threads() == threads);
    return failed_count != 0;
}
