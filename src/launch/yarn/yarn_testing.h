// For tests: a master of YARN of our own, whose containers are agents that are processes of this machine, and a program in HDFS that
// needs no HDFS. It takes the place of master.c and yarn_stage.c.
#ifndef LAUNCH_YARN_YARN_TESTING_H
#define LAUNCH_YARN_YARN_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "launch/yarn/master.h"
#include "launch/yarn/yarn_stage.h"
#include "sys/process/process.h"

enum { CONTAINERS_MAX = 8, ASKS_MAX = 8 };

struct yarn_master {
    struct yarn_master_options options;
    char name[64], queue[64];
    struct yarn_want asks[ASKS_MAX];
    char labels[ASKS_MAX][32], hosts[ASKS_MAX][32], amounts[ASKS_MAX][64];
    size_t ask_count;
    struct yarn_container containers[CONTAINERS_MAX];
    char ids[CONTAINERS_MAX][64];
    char commands[CONTAINERS_MAX][800];
    struct process agents[CONTAINERS_MAX];
    bool was_stopped[CONTAINERS_MAX];
    size_t container_count, launched, excluded;
    char program_url[128];
    char token_path[CONTAINERS_MAX][128];
    weft_err next_ask;  // the next ask is refused at once
    enum yarn_final final;
    char final_text[128];
    bool is_closed, starts_agents;
};

static struct yarn_master fake;
static char directory[64];

weft_err yarn_master_open(struct yarn_master **master, const struct yarn_master_options *options)
{
    const struct yarn_application *application = options->application;
    fake.options = *options;
    snprintf(fake.name, sizeof fake.name, "%s", application->name ? application->name : "");
    snprintf(fake.queue, sizeof fake.queue, "%s", application->queue ? application->queue : "");
    *master = &fake;
    return WEFT_OK;
}

void yarn_master_close(struct yarn_master *master, enum yarn_final final, const char *text)
{
    if (!master)
        return;
    master->final = final;
    snprintf(master->final_text, sizeof master->final_text, "%s", text ? text : "");
    master->is_closed = true;
}

weft_err yarn_master_ask(struct yarn_master *master, const struct yarn_want *want, size_t *ask)
{
    const weft_err err = master->next_ask;
    if (err)
        return err_set(err, "no node has that much");
    *ask = master->ask_count++;
    assert_true(*ask < ASKS_MAX);
    master->asks[*ask] = *want;
    snprintf(master->labels[*ask], sizeof master->labels[0], "%s", want->label ? want->label : "");
    for (size_t i = 0; want->hosts && want->hosts[i]; i++) {
        strcat(master->hosts[*ask], want->hosts[i]);
        strcat(master->hosts[*ask], " ");
    }
    for (size_t i = 0; i < want->amount_count; i++) {
        char text[40];
        snprintf(text, sizeof text, "%s=%d ", want->amounts[i].name, (int)want->amounts[i].count);
        strcat(master->amounts[*ask], text);
    }
    return WEFT_OK;
}

void yarn_master_withdraw(struct yarn_master *master, size_t ask)
{
    (void)master, (void)ask;
}

void yarn_master_describe(struct yarn_master *master, size_t ask, struct buf *text)
{
    (void)master, (void)ask;
    buf_append_text(text, "the queue is full");
}

weft_err yarn_master_exclude(struct yarn_master *master, const char *host, bool is_excluded)
{
    (void)host;
    master->excluded += is_excluded ? 1 : (size_t)-1;
    return WEFT_OK;
}

// The words after --join and --place of a command.
static void read_word(const char *command, const char *option, char *word, size_t size)
{
    const char *at = strstr(command, option);
    assert_non_null(at);
    at += strlen(option) + 1;
    snprintf(word, size, "%.*s", (int)strcspn(at, " "), at);
}

static void write_file(const char *path, weft_bytes bytes)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes.data, 1, bytes.size, file), bytes.size);
    fclose(file);
    chmod(path, 0600);
}

weft_err yarn_master_launch(struct yarn_master *master, struct yarn_container *container,
                            const struct yarn_program *program)
{
    const size_t i = (size_t)(container - master->containers);
    char join[64], place[32];
    master->launched++;
    snprintf(master->commands[i], sizeof master->commands[i], "%s", program->command);
    snprintf(master->program_url, sizeof master->program_url, "%s", program->files[0].url);
    assert_int_equal(program->files[0].size, (int64_t)program->files[0].size);
    snprintf(master->token_path[i], sizeof master->token_path[i], "%s/token%zu", directory, i);
    write_file(master->token_path[i], program->credentials);
    read_word(program->command, "--join", join, sizeof join);
    read_word(program->command, "--place", place, sizeof place);
    if (!master->starts_agents)
        return WEFT_OK;
    const char *const words[] = {"yarn_test", join, place, master->token_path[i], NULL};
    const struct process_spec spec = {.program = PROCESS_SELF, .arguments = words};
    return process_spawn(&spec, &master->agents[i]);
}

void yarn_master_stop(struct yarn_master *master, struct yarn_container *container)
{
    const size_t i = (size_t)(container - master->containers);
    master->was_stopped[i] = true;
    process_kill(&master->agents[i]);
}

const char *yarn_master_application(const struct yarn_master *master)
{
    (void)master;
    return "application_1_0001";
}

const char *yarn_master_user(const struct yarn_master *master)
{
    (void)master;
    return "ada";
}

weft_err yarn_stage_put(struct yarn_stage *stage)
{
    buf_format(&stage->url, "hdfs://nn/%s", stage->hash);
    stage->mtime_ms = 7;
    return WEFT_OK;
}

weft_err yarn_stage_find_default(char *authority, size_t size)
{
    snprintf(authority, size, "nn");
    return WEFT_OK;
}

void yarn_stage_fini(struct yarn_stage *stage)
{
    buf_fini(&stage->url);
}

static struct yarn_container *grant(size_t ask)
{
    const size_t i = fake.container_count++;
    assert_true(i < CONTAINERS_MAX);
    snprintf(fake.ids[i], sizeof fake.ids[i], "container_%zu", i);
    fake.containers[i] = (struct yarn_container){
        .ask = ask, .id = fake.ids[i], .host = i % 2 ? "odd" : "even", .web = "web:8042"};
    fake.options.calls->granted(fake.options.owner, &fake.containers[i]);
    return &fake.containers[i];
}

static void end(struct yarn_container *container, enum yarn_end_kind kind, bool is_charged,
                const char *text)
{
    const struct yarn_end what = {.kind = kind, .is_charged = is_charged, .text = text};
    fake.options.calls->ended(fake.options.owner, container, &what);
}

static void fail_application(weft_err err)
{
    fake.options.calls->failed(fake.options.owner, err_set(err, "bob has killed it"));
}

#endif
