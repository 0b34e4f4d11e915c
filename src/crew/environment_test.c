// Tests of the variables of members: tables of roles, flags and a member, with the variables that it has.

#include "crew/environment.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MEMBERS_MAX = 16 };

// "worker=2 ps=1"; presets and values are set by the tests.
static void add_roles(struct crew_spec *spec, const char *roles)
{
    char *copy = strdup(roles), *rest = NULL;
    for (char *role = strtok_r(copy, " ", &rest); role; role = strtok_r(NULL, " ", &rest))
        if (crew_spec_add_role_flag(spec, role))
            fail_msg("%s", err_text());
    free(copy);
}

struct want {
    const char *roles;
    const char *preset;     // NULL: none
    const char *processes;  // of all, or "worker=2"; NULL: 1
    const char *gpus;       // likewise
    const char *env;        // one variable; NULL: none
    size_t member;
    const char
        *has;  // "NAME=value NAME=value": all of these; a name without a value must not be there
};

static void make(struct crew_environment *environment, const struct want *want, uint32_t restarts)
{
    struct crew_spec spec = {0};
    struct cluster_spec cluster = {0};
    struct crew_flags flags = {.program = (const char *[]){"p", NULL}};
    struct crew_place places[MEMBERS_MAX];
    char hosts[MEMBERS_MAX][16];
    add_roles(&spec, want->roles);
    if (want->preset)
        assert_false(crew_spec_set_preset(&spec, want->preset));
    if (want->processes)
        assert_false(crew_flags_add(&flags, CREW_PROCESSES, want->processes));
    if (want->gpus)
        assert_false(crew_flags_add(&flags, CREW_GPUS, want->gpus));
    if (want->env)
        assert_false(crew_flags_add(&flags, CREW_ENV, want->env));
    if (crew_spec_resolve(&spec, &flags))
        fail_msg("%s: %s", want->roles, err_text());
    for (size_t i = 0; i < MEMBERS_MAX; i++) {
        snprintf(hosts[i], sizeof hosts[i], "10.0.0.%zu", i);
        places[i] = (struct crew_place){hosts[i], (uint16_t)(1000 + i), "4,5,6,7,GPU-8", "eth3"};
    }
    assert_false(crew_describe_cluster(&cluster, &spec, places));
    if (crew_environment_make(environment, &spec, &cluster, places, want->member,
                              &(struct crew_attempt){"blue", restarts}))
        fail_msg("%s: %s", want->roles, err_text());
    cluster_spec_fini(&cluster);
    crew_flags_fini(&flags);
    crew_spec_fini(&spec);
}

static const char *find(const struct crew_environment *environment, const char *name)
{
    const char *value = NULL;
    const size_t length = strlen(name);
    for (size_t i = 0; i < environment->variables.count; i++) {
        const char *variable = environment->variables.items[i];
        if (strncmp(variable, name, length) == 0 && variable[length] == '=') {
            if (value)
                fail_msg("%s is there twice", name);
            value = variable + length + 1;
        }
    }
    return value;
}

static void check(const struct want *want)
{
    struct crew_environment environment = {0};
    char *copy = strdup(want->has), *rest = NULL;
    make(&environment, want, 0);
    for (char *name = strtok_r(copy, " ", &rest); name; name = strtok_r(NULL, " ", &rest)) {
        char *equals = strchr(name, '=');
        if (equals)
            *equals = 0;
        const char *value = find(&environment, name);
        const bool is_right = equals ? value && strcmp(value, equals + 1) == 0 : !value;
        if (!is_right)
            fail_msg("%s, member %zu: %s is %s", want->roles, want->member, name,
                     value ? value : "not there");
    }
    assert_null(environment.variables.items[environment.variables.count]);
    free(copy);
    crew_environment_fini(&environment);
}

// The cluster of /chief/0, /worker/0, /worker/1 and /ps/0 at the test's places.
#define CLUSTER_PS                                                                                  \
    "{\"cluster\":{\"chief\":[\"10.0.0.0:1000\"],\"worker\":[\"10.0.0.1:1001\",\"10.0.0.2:1002\"]," \
    "\"ps\":[\"10.0.0.3:1003\"]},"

static const struct want tensorflow[] = {
    // A parameter server's cluster, as its chief, a worker and a server see it.
    {"chief=1 worker=2 ps=1", "ps", NULL, NULL, NULL, 0,
     "TF_CONFIG=" CLUSTER_PS "\"task\":{\"type\":\"chief\",\"index\":0}} WEFT_ROLE=chief "
     "WEFT_INDEX=0 WEFT_HOST=10.0.0.0 WEFT_PORT=1000 TF_YARN_N_TRY=0"},
    {"chief=1 worker=2 ps=1", "ps", NULL, NULL, NULL, 2,
     "TF_CONFIG=" CLUSTER_PS "\"task\":{\"type\":\"worker\",\"index\":1}} WEFT_ROLE=worker "
     "WEFT_INDEX=1"},
    // The evaluator is the task of a cluster that does not have it.
    {"chief=1 worker=2 ps=1 evaluator=2", "ps", NULL, NULL, NULL, 5,
     "TF_CONFIG=" CLUSTER_PS "\"task\":{\"type\":\"evaluator\",\"index\":1}} RANK WORLD_SIZE "
     "MASTER_ADDR LOCAL_RANK"},
    {"evaluator=1 worker=1", NULL, NULL, NULL, NULL, 0,
     "TF_CONFIG={\"cluster\":{\"worker\":[\"10.0.0.1:1001\"]},\"task\":{\"type\":\"evaluator\","
     "\"index\":0}}"},
    // All-reduce: only workers, or a chief and workers.
    {"worker=2", "allreduce", NULL, NULL, NULL, 1,
     "TF_CONFIG={\"cluster\":{\"worker\":[\"10.0.0.0:1000\",\"10.0.0.1:1001\"]},\"task\":{"
     "\"type\":\"worker\",\"index\":1}}"},
    // Each process is a task of its own.
    {"worker=2", "allreduce", "2", NULL, NULL, 3,
     "TF_CONFIG={\"cluster\":{\"worker\":[\"10.0.0.0:1000\",\"10.0.0.1:1001\",\"10.0.0.2:1002\","
     "\"10.0.0.3:1003\"]},\"task\":{\"type\":\"worker\",\"index\":3}} WEFT_INDEX=3"},
    // A role without instances is not in the cluster.
    {"worker=1 ps=0", NULL, NULL, NULL, NULL, 0,
     "TF_CONFIG={\"cluster\":{\"worker\":[\"10.0.0.0:1000\"]},\"task\":{\"type\":\"worker\","
     "\"index\":0}}"},
};

static const struct want torch[] = {
    {"worker=2", NULL, "2", NULL, NULL, 0,
     "MASTER_ADDR=10.0.0.0 MASTER_PORT=1000 RANK=0 WORLD_SIZE=4 LOCAL_RANK=0 LOCAL_WORLD_SIZE=2 "
     "NODE_RANK=0 GROUP_RANK=0 GLOO_SOCKET_IFNAME=eth3 HOROVOD_RANK"},
    {"worker=2", NULL, "2", NULL, NULL, 3,
     "MASTER_ADDR=10.0.0.0 MASTER_PORT=1000 RANK=3 WORLD_SIZE=4 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2 "
     "NODE_RANK=1 GROUP_RANK=1"},
    // The chief has rank 0, wherever its role is; others follow in their order.
    {"worker=2 chief=1", NULL, NULL, NULL, NULL, 2,
     "MASTER_ADDR=10.0.0.2 MASTER_PORT=1002 RANK=0 WORLD_SIZE=3 LOCAL_RANK=0 NODE_RANK=0"},
    {"worker=2 chief=1", NULL, NULL, NULL, NULL, 1,
     "MASTER_ADDR=10.0.0.2 RANK=2 WORLD_SIZE=3 NODE_RANK=2"},
    {"a=1 evaluator=3 b=2", NULL, "b=2", NULL, NULL, 7,
     "MASTER_ADDR=10.0.0.0 RANK=4 WORLD_SIZE=5 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2 NODE_RANK=2"},
    {"a=1 evaluator=1 b=1", NULL, NULL, NULL, NULL, 1, "RANK MASTER_PORT NODE_RANK"},
    // torchrun gives ranks by itself.
    {"worker=3", "torchrun", "4", NULL, NULL, 0,
     "PET_NNODES=3 PET_NPROC_PER_NODE=4 PET_NODE_RANK=0 PET_RDZV_BACKEND=c10d "
     "PET_RDZV_ENDPOINT=10.0.0.0:1000 PET_RDZV_ID=blue PET_RDZV_CONF=is_host=1 "
     "PET_LOCAL_ADDR=10.0.0.0 RANK WORLD_SIZE MASTER_ADDR LOCAL_RANK GLOO_SOCKET_IFNAME=eth3"},
    {"worker=3", "torchrun", "4", NULL, NULL, 2,
     "PET_NODE_RANK=2 PET_RDZV_ENDPOINT=10.0.0.0:1000 PET_RDZV_CONF=is_host=0 "
     "PET_LOCAL_ADDR=10.0.0.2"},
    {"worker=2", NULL, NULL, NULL, NULL, 0, "PET_NNODES PET_RDZV_ID"},
};

static const struct want horovod[] = {
    {"worker=2", "horovod", "2", NULL, NULL, 0,
     "HOROVOD_RANK=0 HOROVOD_SIZE=4 HOROVOD_LOCAL_RANK=0 HOROVOD_LOCAL_SIZE=2 HOROVOD_CROSS_RANK=0 "
     "HOROVOD_CROSS_SIZE=2 HOROVOD_HOSTNAME=worker-0 HOROVOD_CONTROLLER=gloo "
     "HOROVOD_CPU_OPERATIONS=gloo HOROVOD_GLOO_RENDEZVOUS_ADDR=10.0.0.4 "
     "HOROVOD_GLOO_RENDEZVOUS_PORT=1004 HOROVOD_GLOO_IFACE=eth3 RANK=0 WORLD_SIZE=4"},
    {"worker=2", "horovod", "2", NULL, NULL, 3,
     "HOROVOD_RANK=3 HOROVOD_LOCAL_RANK=1 HOROVOD_CROSS_RANK=1 HOROVOD_CROSS_SIZE=2 "
     "HOROVOD_HOSTNAME=worker-1 HOROVOD_GLOO_RENDEZVOUS_ADDR=10.0.0.4"},
    // A chief with one process: only the workers have a process with number 1.
    {"worker=2 chief=1", "horovod", "worker=2", NULL, NULL, 4,
     "HOROVOD_RANK=0 HOROVOD_SIZE=5 HOROVOD_LOCAL_SIZE=1 HOROVOD_CROSS_RANK=0 "
     "HOROVOD_CROSS_SIZE=3 HOROVOD_HOSTNAME=chief-0"},
    {"worker=2 chief=1", "horovod", "worker=2", NULL, NULL, 2,
     "HOROVOD_RANK=3 HOROVOD_LOCAL_RANK=0 HOROVOD_CROSS_RANK=2 HOROVOD_CROSS_SIZE=3"},
    {"worker=2 chief=1", "horovod", "worker=2", NULL, NULL, 3,
     "HOROVOD_RANK=4 HOROVOD_LOCAL_RANK=1 HOROVOD_CROSS_RANK=1 HOROVOD_CROSS_SIZE=2"},
    // The place where they meet is none of them, and a value for all does not reach it.
    {"worker=2", "horovod", "2", NULL, "A=b", 4,
     "RANK TF_CONFIG HOROVOD_RANK A WEFT_ROLE=rendezvous WEFT_PORT=1004"},
    {"worker=2", "horovod", NULL, NULL, "HOROVOD_GLOO_IFACE=ib0", 0, "HOROVOD_GLOO_IFACE=ib0"},
};

static const struct want gpus[] = {
    {"worker=2", NULL, NULL, NULL, NULL, 0, "CUDA_VISIBLE_DEVICES"},
    {"worker=2", NULL, NULL, "0", NULL, 0, "CUDA_VISIBLE_DEVICES=-1"},
    {"worker=2", NULL, NULL, "2", NULL, 0, "CUDA_VISIBLE_DEVICES=4,5"},
    // Programs of torch choose by LOCAL_RANK, TensorFlow takes every visible one.
    {"worker=2", NULL, "2", "2", NULL, 1, "CUDA_VISIBLE_DEVICES=4,5 LOCAL_RANK=1"},
    {"worker=2", "allreduce", "2", "2", NULL, 0, "CUDA_VISIBLE_DEVICES=4"},
    {"worker=2", "allreduce", "2", "2", NULL, 1, "CUDA_VISIBLE_DEVICES=5"},
    {"worker=1", "allreduce", "2", "5", NULL, 0, "CUDA_VISIBLE_DEVICES=4,5"},
    {"worker=1", "allreduce", "2", "5", NULL, 1, "CUDA_VISIBLE_DEVICES=6,7,GPU-8"},
    {"worker=1", "allreduce", "3", "2", NULL, 0, "CUDA_VISIBLE_DEVICES=-1"},
    {"worker=2", "torchrun", "4", "4", NULL, 1, "CUDA_VISIBLE_DEVICES=4,5,6,7"},
};

static const struct want given[] = {
    {"worker=2", NULL, NULL, NULL, "A=b=c", 1, "A=b=c"},
    {"worker=2 ps=1", NULL, NULL, NULL, "ps:A=b", 1, "A"},
    // The user's value wins.
    {"worker=2", NULL, NULL, "2", "CUDA_VISIBLE_DEVICES=7", 1, "CUDA_VISIBLE_DEVICES=7"},
    {"worker=2", NULL, NULL, NULL, "MASTER_PORT=29500", 1,
     "MASTER_PORT=29500 MASTER_ADDR=10.0.0.0"},
};

static void members_of_tensorflow_find_the_cluster(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof tensorflow / sizeof *tensorflow; i++)
        check(&tensorflow[i]);
}

static void members_of_torch_find_their_rank(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof torch / sizeof *torch; i++)
        check(&torch[i]);
}

static void members_of_horovod_find_each_other(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof horovod / sizeof *horovod; i++)
        check(&horovod[i]);
}

static void processes_see_the_gpus_that_are_theirs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof gpus / sizeof *gpus; i++)
        check(&gpus[i]);
}

static void variables_of_the_description_win(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        check(&given[i]);
}

static void a_restart_is_counted(void **state)
{
    (void)state;
    struct crew_environment environment = {0};
    make(&environment, &tensorflow[0], 3);
    assert_string_equal(find(&environment, "TF_YARN_N_TRY"), "3");
    crew_environment_fini(&environment);
}

// A cluster file may have some indices only, an IPv6 address, and keys of its own.
static void a_cluster_file_comes_out_as_it_was(void **state)
{
    (void)state;
    static const char text[] = "{\"cluster\":{\"worker\":{\"3\":\"[::1]:1\",\"7\":\"b:2\"},"
                               "\"evaluator\":[\"c:3\"]},\"environment\":\"cloud\"}";
    struct crew_spec spec = {0};
    struct cluster_spec cluster = {0}, described = {0};
    struct crew_flags flags = {.program = (const char *[]){"p", NULL}};
    struct crew_environment environment = {0};
    const struct crew_place places[] = {
        {"::1", 1, NULL, NULL}, {"b", 2, NULL, NULL}, {"c", 3, NULL, NULL}};
    assert_false(cluster_spec_read_file(&cluster, weft_text(text), "f"));
    assert_false(crew_spec_add_cluster(&spec, &cluster));
    assert_false(crew_spec_resolve(&spec, &flags));
    assert_false(crew_describe_cluster(&described, &spec, places));
    assert_false(crew_environment_make(&environment, &spec, &described, places, 1,
                                       &(struct crew_attempt){0}));
    assert_string_equal(find(&environment, "TF_CONFIG"),
                        "{\"cluster\":{\"worker\":{\"3\":\"[::1]:1\",\"7\":\"b:2\"},\"evaluator\":["
                        "\"c:3\"]},\"task\":{\"type\":\"worker\",\"index\":7},\"environment\":"
                        "\"cloud\"}");
    crew_environment_fini(&environment);
    cluster_spec_fini(&cluster);
    cluster_spec_fini(&described);
    crew_spec_fini(&spec);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_of_tensorflow_find_the_cluster),
        cmocka_unit_test(members_of_torch_find_their_rank),
        cmocka_unit_test(members_of_horovod_find_each_other),
        cmocka_unit_test(processes_see_the_gpus_that_are_theirs),
        cmocka_unit_test(variables_of_the_description_win),
        cmocka_unit_test(a_restart_is_counted),
        cmocka_unit_test(a_cluster_file_comes_out_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
