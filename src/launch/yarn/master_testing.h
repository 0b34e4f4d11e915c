// For tests: the owner of a master, and runs of its loop, against the resource managers of managers_testing.h.
#ifndef LAUNCH_YARN_MASTER_TESTING_H
#define LAUNCH_YARN_MASTER_TESTING_H

#include "launch/yarn/managers_testing.h"
#include "launch/yarn/master.h"
#include "sys/time/clock.h"

enum { WAIT_MS = 20000, LOOK_MS = 2, NS_PER_MS = 1000000, NOTES_BYTES = 8192 };

// The owner of a master: it launches in each container that is granted, and notes all reports.
static struct {
    struct loop *loop;
    struct yarn_master *master;
    struct yarn_container *containers[FAKE_CONTAINERS_MAX];
    size_t count;         // of containers that are there
    const char *command;  // NULL: nothing is launched
    int granted, started, kept, ended, failed, refused, registered;
    struct yarn_end last_end;
    char last_text[ERR_TEXT_BYTES_MAX];
    char news[NOTES_BYTES];
    char app[100];
    weft_err err;
    size_t refused_ask;
    bool closes_at_grant;
} owner;

static inline void known(void *of, const char *application)
{
    (void)of;
    snprintf(owner.app, sizeof owner.app, "%s", application);
}

static inline void registered(void *of, const struct yarn_limits *limits)
{
    (void)of;
    assert_int_equal(limits->memory_bytes, 4096ULL << 20);
    assert_int_equal(limits->cores, 8);
    assert_non_null(strstr(limits->queue, "default"));
    owner.registered++;
}

static inline void granted(void *of, struct yarn_container *container)
{
    const struct yarn_program program = {.command = owner.command};
    (void)of;
    owner.granted++;
    owner.containers[owner.count++] = container;
    if (owner.command)
        assert_int_equal(yarn_master_launch(owner.master, container, &program), WEFT_OK);
    if (owner.closes_at_grant) {
        yarn_master_close(owner.master, YARN_SUCCEEDED, "at once");
        owner.master = NULL;
    }
}

static inline void started(void *of, struct yarn_container *container)
{
    (void)of;
    (void)container;
    owner.started++;
}

static inline void kept(void *of, struct yarn_container *container)
{
    (void)of;
    owner.kept++;
    owner.containers[owner.count++] = container;
}

static inline void ended(void *of, struct yarn_container *container, const struct yarn_end *end)
{
    (void)of;
    owner.ended++;
    owner.last_end = *end;
    snprintf(owner.last_text, sizeof owner.last_text, "%s", end->text);
    for (size_t i = 0; i < owner.count; i++)
        if (owner.containers[i] == container)
            owner.containers[i] = owner.containers[--owner.count];
}

static inline void refused(void *of, size_t ask, weft_err err)
{
    (void)of;
    owner.refused++;
    owner.refused_ask = ask;
    owner.err = err;
    snprintf(owner.last_text, sizeof owner.last_text, "%s", err_text());
}

static inline void failed(void *of, weft_err err)
{
    (void)of;
    owner.failed++;
    owner.err = err;
    snprintf(owner.last_text, sizeof owner.last_text, "%s", err_text());
}

static inline void news(void *of, const char *text)
{
    (void)of;
    const size_t size = strlen(owner.news);
    snprintf(owner.news + size, sizeof owner.news - size, "%s\n", text);
}

// ---- Runs ---------------------------------------------------------------------------------------------------------

typedef bool condition_fn(void);

static struct {
    condition_fn *is_met;
    uint64_t deadline_ns;
} wait;

static inline void look(void *unused)
{
    (void)unused;
    mutex_lock(&fake.mutex);
    const bool is_met = wait.is_met();
    mutex_unlock(&fake.mutex);
    if (is_met || clock_now_ns() > wait.deadline_ns)
        loop_stop(owner.loop);
}

// Runs the loop until something has happened. The condition has the mutex of the fake.
static inline void run_until(condition_fn *is_met)
{
    wait.is_met = is_met;
    wait.deadline_ns = clock_now_ns() + (uint64_t)WAIT_MS * NS_PER_MS;
    struct loop_timer *timer = loop_timer_new(owner.loop, LOOK_MS, LOOK_MS, look, NULL);
    assert_non_null(timer);
    loop_run(owner.loop);
    loop_timer_free(timer);
    mutex_lock(&fake.mutex);
    const bool has_happened = is_met();
    mutex_unlock(&fake.mutex);
    if (!has_happened)
        fail_msg(
            "it takes too long: %d granted, %d started, %d ended, %d refused, %d failed: %s\n%s",
            owner.granted, owner.started, owner.ended, owner.refused, owner.failed, owner.last_text,
            owner.news);
}

static inline bool is_registered(void)
{
    return owner.registered > 0;
}
static inline bool has_started_one(void)
{
    return owner.started >= 1;
}
static inline bool has_started_two(void)
{
    return owner.started >= 2;
}
static inline bool has_started_three(void)
{
    return owner.started >= 3;
}
static inline bool has_granted_one(void)
{
    return owner.granted >= 1;
}
static inline bool has_ended_one(void)
{
    return owner.ended >= 1;
}
static inline bool has_ended_two(void)
{
    return owner.ended >= 2;
}
static inline bool has_failed(void)
{
    return owner.failed > 0;
}
static inline bool has_refused(void)
{
    return owner.refused > 0;
}
static inline bool has_registered_twice(void)
{
    return fake.registrations >= 2;
}

static const struct yarn_master_calls calls = {known, registered, granted, started, kept,
                                               ended, refused,    failed,  news};

static inline void open_at(const struct yarn_site *site)
{
    const struct yarn_master_options options = {
        .site = site, .loop = owner.loop, .patience_ms = WAIT_MS, .calls = &calls};
    assert_int_equal(yarn_master_open(&owner.master, &options), WEFT_OK);
}

// A master, and a cluster with room for that many containers.
static inline void begin(int32_t free, const char *command)
{
    memset(&owner, 0, sizeof owner);
    const struct yarn_site site = fake_begin(free);
    owner.command = command;
    owner.loop = loop_new(NULL, NULL);
    open_at(&site);
}

static inline void end(void)
{
    yarn_master_close(owner.master, YARN_SUCCEEDED, "well done");
    fake_end();
    loop_free(owner.loop);
}

static inline size_t ask_for(uint32_t count)
{
    const struct yarn_want want = {.count = count, .memory_bytes = 512 << 20};
    size_t ask;
    assert_int_equal(yarn_master_ask(owner.master, &want, &ask), WEFT_OK);
    return ask;
}

static inline void expect_text(const char *words)
{
    if (!strstr(owner.last_text, words))
        fail_msg("\"%s\" does not contain \"%s\"", owner.last_text, words);
}

#endif
