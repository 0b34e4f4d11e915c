// yarn_try: runs a command of bash in containers of YARN, and prints what its application master is notified of. For tests.
//
//   test_yarn_try URL COMMAND [NAME=VALUE...]
//     count, memory (MB), cores, gpus, label, host, strict, user, queue, name, lifetime (s)
//     stop=MS        stops each container that long after it has started
//     patience=MS    with a resource manager that is away
//     final=1|2|3    how the run ends
//     describe=MS    prints why an ask is not granted yet, that long after the beginning
//     again=MS       asks for as many a second time, that long after the beginning
//     token=FILE     managed: of the master
//     die=MS         the first attempt of a managed one ends without a word after that long; the next one asks for nothing, and waits
//                    for the containers of the first
//     file=URL,SIZE,MTIME_MS,NAME
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "hadoop/words.h"
#include "launch/yarn/master.h"
#include "sys/time/clock.h"

enum { NS_PER_MS = 1000000, CONTAINERS_MAX = 4096 };

static struct loop *loop;
static struct yarn_master *master;
static struct yarn_program program;
static uint32_t wanted, ended, failures, stop_ms;
static bool is_asking_again;
static size_t ask;
static uint64_t begin_ns;
static struct yarn_container *to_stop[CONTAINERS_MAX];
static size_t stop_count;

static void print(const char *what, const char *text)
{
    printf("%6.3f %s %s\n", (double)(clock_now_ns() - begin_ns) / 1e9, what, text);
    fflush(stdout);
}

static void known(void *owner, const char *application)
{
    (void)owner;
    print("known", application);
}

static void registered(void *owner, const struct yarn_limits *limits)
{
    char text[400];
    (void)owner;
    snprintf(text, sizeof text, "at most %" PRIu64 " MB and %u cores, queue %s",
             limits->memory_bytes >> 20, limits->cores, limits->queue);
    print("registered", text);
}

static void granted(void *owner, struct yarn_container *container)
{
    char text[600];
    (void)owner;
    snprintf(text, sizeof text, "%s on %s:%u, %" PRIu64 " MB, %u cores, %s", container->id,
             container->host, container->port, container->memory_bytes >> 20, container->cores,
             container->web);
    print("granted", text);
    if (yarn_master_launch(master, container, &program)) {
        print("not launched", err_text());
        exit(2);
    }
}

static void stop_next(void *owner)
{
    (void)owner;
    for (size_t i = 0; i < stop_count; i++)
        yarn_master_stop(master, to_stop[i]);
    stop_count = 0;
}

static void started(void *owner, struct yarn_container *container)
{
    (void)owner;
    print("started", container->id);
    if (stop_ms && stop_count < CONTAINERS_MAX) {
        to_stop[stop_count++] = container;
        if (!loop_timer_new(loop, stop_ms, 0, stop_next, NULL))
            exit(2);
    }
}

static void end_of(void *owner, struct yarn_container *container, const struct yarn_end *end)
{
    static const char *const kinds[] = {"exited", "stopped",   "not-started", "memory",
                                        "lost",   "preempted", "killed"};
    char text[900];
    (void)owner;
    snprintf(text, sizeof text, "%s %s %d%s: %s", container->id, kinds[end->kind], end->exit_code,
             end->is_charged ? " charged" : "", end->text);
    print("ended", text);
    for (size_t i = 0; i < stop_count; i++)
        if (to_stop[i] == container)
            to_stop[i--] = to_stop[--stop_count];
    failures += end->kind != YARN_EXITED || end->exit_code != 0;
    if (++ended == wanted && !is_asking_again)
        loop_stop(loop);
}

static void kept(void *owner, struct yarn_container *container)
{
    (void)owner;
    print("kept", container->id);
}

static void refused(void *owner, size_t number_of_ask, weft_err err)
{
    (void)owner;
    (void)number_of_ask;
    (void)err;
    print("refused", err_text());
    failures++;
    loop_stop(loop);
}

static void failed(void *owner, weft_err err)
{
    char text[ERR_TEXT_BYTES_MAX + 20];
    (void)owner;
    snprintf(text, sizeof text, "%d: %s", (int)err, err_text());
    print("failed", text);
    failures++;
    loop_stop(loop);
}

static void news(void *owner, const char *text)
{
    (void)owner;
    print("news", text);
}

static void describe(void *owner)
{
    struct buf text = {0};
    (void)owner;
    yarn_master_describe(master, ask, &text);
    print("waits", buf_text(&text));
    buf_fini(&text);
}

static struct yarn_want again;

static void ask_again(void *owner)
{
    (void)owner;
    wanted += again.count;
    is_asking_again = false;
    if (yarn_master_ask(master, &again, &ask))
        exit(2);
}

static void die(void *owner)
{
    (void)owner;
    print("dead", "");
    _exit(9);
}

// Whether this is an attempt after one that died.
static bool is_heir(char **words)
{
    const char *container = getenv("CONTAINER_ID");
    return number(words, "die", 0) && container && !strstr(container, "_01_");
}

static struct yarn_file read_file(const char *text)
{
    static char url[500], name[100];
    struct yarn_file file = {
        .name = name, .url = url, .kind = YARN_FILE, .share = YARN_FOR_APPLICATION};
    if (sscanf(text, "%499[^,],%" SCNd64 ",%" SCNd64 ",%99s", url, &file.size, &file.mtime_ms,
               name) != 4)
        exit(2);
    return file;
}

static struct yarn_want read_want(char **words)
{
    static struct yarn_amount gpus = {.name = "yarn.io/gpu"};
    static const char *hosts[2];
    gpus.count = number(words, "gpus", 0);
    hosts[0] = setting(words, "host", NULL);
    return (struct yarn_want){.count = number(words, "count", 1),
                              .memory_bytes = (uint64_t)number(words, "memory", 128) << 20,
                              .cores = number(words, "cores", 1),
                              .amounts = &gpus,
                              .amount_count = gpus.count ? 1 : 0,
                              .label = setting(words, "label", NULL),
                              .hosts = hosts[0] ? hosts : NULL,
                              .is_strict = number(words, "strict", 0) != 0};
}

static void read_program(const char *command, char **words)
{
    static const char *const environment[] = {"TRY_VALUE=a \"b\" $HOME `c` \\ {{PATH}} <LOG_DIR>",
                                              NULL};
    static struct yarn_file file;
    const char *text = setting(words, "file", NULL);
    program = (struct yarn_program){.command = command, .environment = environment};
    if (!text)
        return;
    file = read_file(text);
    program.files = &file;
    program.file_count = 1;
}

static weft_err open_master(const char *url, char **words)
{
    static const struct yarn_master_calls calls = {known,  registered, granted, started, kept,
                                                   end_of, refused,    failed,  news};
    const struct yarn_want want = read_want(words);
    const struct yarn_application application = {.user = setting(words, "user", NULL),
                                                 .queue = setting(words, "queue", NULL),
                                                 .name = setting(words, "name", "yarn_try"),
                                                 .lifetime_s = number(words, "lifetime", 0)};
    struct yarn_site site;
    weft_err err = yarn_site_find(url, &site);
    if (err)
        return err;
    const struct yarn_master_options options = {.site = &site,
                                                .application = &application,
                                                .token_file = setting(words, "token", NULL),
                                                .loop = loop,
                                                .patience_ms = number(words, "patience", 0),
                                                .calls = &calls};
    err = yarn_master_open(&master, &options);
    wanted = want.count;
    return err || is_heir(words) ? err : yarn_master_ask(master, &want, &ask);
}

static bool set_timers(char **words)
{
    const uint32_t describe_ms = number(words, "describe", 0), die_ms = number(words, "die", 0);
    const uint32_t again_ms = number(words, "again", 0);
    again = read_want(words);
    is_asking_again = again_ms > 0;
    return (!describe_ms || loop_timer_new(loop, describe_ms, 0, describe, NULL)) &&
           (!again_ms || loop_timer_new(loop, again_ms, 0, ask_again, NULL)) &&
           (!die_ms || is_heir(words) || loop_timer_new(loop, die_ms, 0, die, NULL));
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    char **words = argv + 3;
    begin_ns = clock_now_ns();
    stop_ms = number(words, "stop", 0);
    read_program(argv[2], words);
    loop = loop_new(NULL, NULL);
    if (!loop || open_master(argv[1], words) || !set_timers(words)) {
        fprintf(stderr, "yarn_try: %s\n", err_text());
        return 2;
    }
    loop_run(loop);
    yarn_master_close(master, (enum yarn_final)number(words, "final", failures ? 2 : 1),
                      setting(words, "text", "the end of yarn_try"));
    print("closed", failures ? "with failures" : "well");
    loop_free(loop);
    return failures ? 1 : 0;
}
