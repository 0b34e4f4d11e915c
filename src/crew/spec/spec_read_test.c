// Tests of descriptions: a table of files and flags, each with its meaning on one line, or with a part of the sentence
// that refuses it.

#include "crew/spec/spec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "crew/spec/spec_state.h"
#include "sys/file/file.h"

// Flags as words, in the order of a command line: "--role=worker=2 --memory=2G -- python3 train.py".
struct flags_of {
    struct crew_flags flags;
    char *words;
    const char *program[16];
};

static weft_err read_flag(struct crew_spec *spec, struct flags_of *of, const char *word)
{
    const char *value = strchr(word, '=') + 1;
    const size_t length = (size_t)(value - 1 - word);
    if (strncmp(word, "role", length) == 0)
        return crew_spec_add_role_flag(spec, value);
    if (strncmp(word, "preset", length) == 0)
        return crew_spec_set_preset(spec, value);
    if (strncmp(word, "tensorboard", length) == 0)
        return crew_spec_set_text(&spec->tensorboard, value);
    if (strncmp(word, "set", length) == 0)
        return crew_spec_add_setting(spec, value);
    if (strncmp(word, "until", length) == 0) {
        assert_true(VEC_PUSH(&of->flags.until, value));
        return WEFT_OK;
    }
    for (int i = 0; i < CREW_FIELD_COUNT; i++) {
        const char *flag = spec_fields[i].flag;
        if (flag && strlen(flag) == length && strncmp(flag, word, length) == 0)
            return crew_flags_add(&of->flags, (enum crew_field)i, value);
    }
    fail_msg("no flag %s", word);
    return WEFT_INTERNAL;
}

static weft_err read_flags(struct crew_spec *spec, struct flags_of *of, const char *text)
{
    weft_err err = WEFT_OK;
    size_t count = 0;
    bool is_program = false;
    of->words = strdup(text);
    char *rest = NULL;
    for (char *word = strtok_r(of->words, " ", &rest); !err && word;
         word = strtok_r(NULL, " ", &rest)) {
        if (is_program)
            of->program[count++] = word;
        else if (strcmp(word, "--") == 0)
            is_program = true;
        else
            err = read_flag(spec, of, word + 2);
    }
    of->flags.program = is_program ? of->program : NULL;
    return err;
}

static weft_err make(struct crew_spec *spec, const char *text, const char *flags)
{
    struct flags_of of = {0};
    weft_err err = text ? crew_spec_read(spec, weft_text(text), "job.json") : WEFT_OK;
    if (!err)
        err = read_flags(spec, &of, flags ? flags : "");
    if (!err)
        err = crew_spec_resolve(spec, &of.flags);
    crew_flags_fini(&of.flags);
    free(of.words);
    return err;
}

// ---- Their meaning ---------------------------------------------------------------------------------------------

// Every key that has a value which is not the default of every role.
static void show_role(struct buf *buf, const struct crew_role *role)
{
    buf_format(buf, "%s=%u", role->name, role->instances);
    if (role->processes != 1)
        buf_format(buf, "x%u", role->processes);
    if (role->memory_bytes)
        buf_format(buf, " m%lluM", (unsigned long long)role->memory_bytes >> 20);
    if (role->cpus)
        buf_format(buf, " c%u", role->cpus);
    if (spec_is_given(role, CREW_GPUS))
        buf_format(buf, " g%u", role->gpus);
    if (role->constraint)
        buf_format(buf, " on:%s", role->constraint);
    for (size_t i = 0; i < role->amounts.count; i++)
        buf_format(buf, " +%s=%s", role->amounts.items[i].name, role->amounts.items[i].value);
    if (role->archive)
        buf_format(buf, " archive:%s", role->archive);
    if (role->pre_script)
        buf_format(buf, " pre:%s", role->pre_script);
    if (role->restarts)
        buf_format(buf, " r%u", role->restarts);
    buf_format(buf, "%s%s%s", role->in_cluster ? "" : " outside",
               role->is_awaited ? "" : " stopped", role->may_fail ? " may_fail" : "");
    for (size_t i = 0; i < role->variables.count; i++)
        buf_format(buf, " $%s=%s", role->variables.items[i].name, role->variables.items[i].value);
    for (size_t i = 0; i < role->files.count; i++)
        buf_format(buf, " <%s=%s", role->files.items[i].name, role->files.items[i].value);
    for (size_t i = 0; i < role->fixed.count; i++)
        buf_format(buf, " @%s:%u", role->fixed.items[i].host, role->fixed.items[i].port);
    for (size_t i = 0; i < role->command.count; i++)
        buf_format(buf, " %s", role->command.items[i]);
}

static void show(struct buf *buf, const struct crew_spec *spec)
{
    for (size_t i = 0; i < spec->roles.count; i++) {
        buf_append_text(buf, i ? " | " : "");
        show_role(buf, &spec->roles.items[i]);
    }
}

struct case_of {
    const char *text, *flags, *says;
};

#define TB                                                                                         \
    "tensorboard=1 outside stopped may_fail sh -c exec tensorboard --logdir \"$1\" --host "        \
    "\"$WEFT_HOST\" --port \"$WEFT_PORT\" --reload_interval 5 tensorboard logs"

static const struct case_of cases[] = {
    // Roles by themselves, and their programs.
    {"{\"roles\": {\"worker\": 2}, \"command\": [\"a\", \"b\"]}", NULL, "worker=2 a b"},
    {"{\"roles\": {\"worker\": {}}, \"command\": \"a | b\"}", NULL, "worker=1 sh -c a | b"},
    {"{\"roles\": {\"worker\": null}, \"command\": \"a\", \"name\": null}", NULL,
     "worker=1 sh -c a"},
    {"{\"roles\": {\"z\": {\"command\": [\"p\"]}, \"a\": {\"instances\": 3}}, \"command\": [\"q\"]}",
     NULL, "z=1 p | a=3 q"},
    {"{\"roles\": {\"z\": {\"command\": [\"p\"]}, \"a\": 1}, \"command\": [\"q\"]}", "-- r s",
     "z=1 p | a=1 r s"},
    {NULL, "--role=worker=2 -- a", "worker=2 a"},
    {NULL, "--role=worker=2 --command=worker=x -- a", NULL},
    {NULL, "--role=worker=2 --role=ps=1 --command=ps=x -- a", "worker=2 a | ps=1 sh -c x"},
    // Everything that a role may have.
    {"{\"roles\": {\"w\": {\"instances\": 2, \"processes\": 3, \"memory\": \"2 GiB\", \"cpus\": 4, "
     "\"gpus\": 3, \"constraint\": \"a100&nvlink\", \"archive\": \"/x/env.weft\", \"pre_script\": "
     "\"module load cuda\", \"restarts\": 5, \"env\": {\"A\": \"b\", "
     "\"N\": 4}, \"files\": {\"conf/a.json\": \"/y/b.json\"}, \"command\": [\"p\"]}}}",
     NULL,
     "w=2x3 m2048M c4 g3 on:a100&nvlink archive:/x/env.weft pre:module load cuda r5 $A=b "
     "$N=4 <conf/a.json=/y/b.json p"},
    {"{\"roles\": {\"w\": {\"files\": [\"/a/b.py\", \"data/\"]}}, "
     "\"command\": [\"p\"]}",
     NULL, "w=1 <b.py=/a/b.py <data=data/ p"},
    {"{\"roles\": {\"w\": {\"awaited\": false, \"may_fail\": true, \"in_cluster\": false}, \"v\": "
     "1}, \"command\": [\"p\"]}",
     NULL, "w=1 outside stopped may_fail p | v=1 p"},
    {"{\"roles\": {\"w\": {\"addresses\": [\"127.0.0.1:2222\", \"[::1]\"]}}, \"command\": [\"p\"]}",
     NULL, "w=2 @127.0.0.1:2222 @::1:2222 p"},
    {NULL, "--role=w=a:1,b -- p", "w=2 @a:1 @b:2222 p"},
    // For all roles, and for one.
    {"{\"roles\": {\"a\": {\"memory\": \"1G\", \"env\": {\"X\": \"1\"}}, \"b\": 1}, \"memory\": "
     "\"2G\", \"env\": {\"X\": \"2\", \"Y\": \"3\"}, \"command\": [\"p\"]}",
     NULL, "a=1 m1024M $X=1 $Y=3 p | b=1 m2048M $X=2 $Y=3 p"},
    {"{\"roles\": {\"a\": {\"memory\": \"1G\"}, \"b\": 1}, \"command\": [\"p\"]}", "--memory=3G",
     "a=1 m3072M p | b=1 m3072M p"},
    {"{\"roles\": {\"a\": 1, \"b\": 1}, \"command\": [\"p\"]}",
     "--memory=a=3G --memory=4G --cpus=2", "a=1 m3072M c2 p | b=1 m4096M c2 p"},
    {"{\"roles\": {\"a\": 1, \"b\": 1}, \"command\": [\"p\"]}",
     "--env=a:X=1=2 --env=Y=a:b --file=b:t=/q --file=/u:v --restart=b=3 --gpus=0 --constraint=k=v",
     "a=1 g0 on:k=v $Y=a:b $X=1=2 <u:v=/u:v p | b=1 g0 on:k=v r3 $Y=a:b <u:v=/u:v <t=/q p"},
    {"{\"roles\": {\"a\": 1}, \"command\": [\"p\"], \"restarts\": 2}", "--role=a=5 --role=b=1",
     "a=5 r2 p | b=1 r2 p"},
    {"{\"roles\": {\"a\": 1, \"b\": {\"restarts\": 4}}, \"command\": [\"p\"]}", "--restart=0",
     "a=1 p | b=1 p"},
    // Further resources, and settings of a launcher, which what_is_written_means_the_same compares.
    {"{\"roles\": {\"a\": {\"resources\": {\"yarn.io/fpga\": 2}}, \"b\": 1}, \"command\": [\"p\"], "
     "\"settings\": {\"tags\": \"x,y\", \"priority\": 3}}",
     "--resource=b:licence=1 --resource=yarn.io/fpga=4 --set=tags=z",
     "a=1 +yarn.io/fpga=4 p | b=1 +yarn.io/fpga=4 +licence=1 p"},
    // Who is waited for, and who is in the cluster.
    {NULL, "--role=a=1 --role=b=1 --until=b -- p", "a=1 stopped p | b=1 p"},
    {NULL, "--role=worker=1 --role=evaluator=2 -- p", "worker=1 p | evaluator=2 outside p"},
    {"{\"roles\": {\"evaluator\": {\"in_cluster\": true}}, \"command\": [\"p\"]}", NULL,
     "evaluator=1 p"},
    // TensorBoard.
    {NULL, "--role=worker=1 --tensorboard=logs --memory=1G --processes=2 -- p",
     "worker=1x2 m1024M p | " TB},
    {"{\"roles\": {\"worker\": 1, \"tensorboard\": {\"command\": [\"tb\"]}}, \"command\": [\"p\"], "
     "\"memory\": \"1G\", \"env\": {\"A\": \"b\"}}",
     NULL, "worker=1 m1024M $A=b p | tensorboard=1 outside stopped may_fail $A=b tb"},
    // A deadline is of the run; what_is_written_means_the_same compares it.
    {"{\"roles\": {\"w\": 1}, \"start_deadline\": \"1.5m\", \"command\": [\"p\"]}", NULL, "w=1 p"},
    {"{\"roles\": {\"w\": 1}, \"start_deadline\": 90, \"command\": [\"p\"]}", NULL, "w=1 p"},
    // Presets.
    {NULL, "--preset=single -- p", "chief=1 p | evaluator=1 outside p"},
    {NULL, "--preset=single --tensorboard=logs -- p", "chief=1 p | evaluator=1 outside p | " TB},
    {NULL, "--preset=ps -- p", "chief=1 p | worker=2 stopped p | ps=1 stopped p"},
    {NULL, "--preset=ps --role=worker=5 --role=evaluator=1 -- p",
     "worker=5 stopped p | evaluator=1 outside p | chief=1 p | ps=1 stopped p"},
    {"{\"preset\": \"ps\", \"roles\": {\"worker\": {\"awaited\": true}}, \"command\": [\"p\"]}",
     NULL, "worker=2 p | chief=1 p | ps=1 stopped p"},
    {"{\"preset\": \"allreduce\", \"command\": [\"p\"]}", NULL, "worker=2 p"},
    {"{\"preset\": \"allreduce\", \"command\": [\"p\"]}", "--role=chief=1 --preset=allreduce",
     "chief=1 p | worker=2 p"},
    {NULL, "--preset=torchrun --processes=4 -- torchrun p", "worker=2x4 torchrun p"},
    // Refused, with the place.
    {"{", NULL, "job.json: it is not JSON: line 1"},
    {"[]", NULL, "job.json: it is a list where an object is expected"},
    {"", NULL, "it is not JSON"},
    {"{}", NULL, "it has no roles"},
    {"{\"roles\": {}}", NULL, "it has no roles"},
    {"{\"roles\": []}", NULL, "job.json: roles: it is a list"},
    {"{\"roles\": {\"w\": true}}", NULL, "job.json: roles: w: it is true or false"},
    {"{\"roles\": {\"w\": 1, \"w\": 2}}", NULL, "duplicate object key"},
    {"{\"rolls\": {\"w\": 1}}", NULL,
     "\"rolls\" is not a key of a description\n  did you mean roles?"},
    {"{\"roles\": {\"w\": {\"instance\": 2}}}", NULL,
     "job.json: roles: w: \"instance\" is not a key of a role\n  did you mean instances?"},
    {"{\"roles\": {\"w\": {\"vcores\": 2}}}", NULL, "there are: instances, "},
    {"{\"roles\": {\"w\": 1}, \"awaited\": true}", NULL, "\"awaited\" belongs to one role"},
    {"{\"roles\": {\"w\": {\"instances\": -1}}}", NULL,
     "roles: w: instances: -1 is not a whole number from 0 to 32768"},
    {"{\"roles\": {\"w\": {\"instances\": 1.5}}}", NULL, "a number is not a whole number"},
    {"{\"roles\": {\"w\": {\"instances\": \"2\"}}}", NULL, "\"2\" is not a whole number"},
    {"{\"roles\": {\"w\": {\"instances\": 99999999999}}}", NULL, "99999999999 is not a whole"},
    {"{\"roles\": {\"w\": {\"memory\": \"2X\"}}}", NULL,
     "roles: w: memory: \"2X\" is not a size\n  a size is written"},
    {"{\"roles\": {\"w\": {\"memory\": \"1 2G\"}}}", NULL, "is not a size"},
    {"{\"roles\": {\"w\": {\"memory\": \"2048\"}}}", NULL,
     "the size 2048 has no unit\n  write: 2048M"},
    {"{\"roles\": {\"w\": {\"memory\": 2048}}}", NULL, "a number where a size with its unit"},
    {"{\"roles\": {\"w\": {\"memory\": \"1K\"}}}", NULL, "1K is not a useful size"},
    {"{\"roles\": {\"w\": {\"awaited\": 1}}}", NULL, "a number where true or false is expected"},
    {"{\"roles\": {\"w\": {\"command\": []}}}", NULL, "names no program"},
    {"{\"roles\": {\"w\": {\"command\": [\"a\", 1]}}}", NULL,
     "roles: w: command: word 2: it is a number"},
    {"{\"roles\": {\"w\": {\"command\": \" \"}}}", NULL, "the command is empty"},
    {"{\"roles\": {\"w\": {\"env\": {\"1A\": \"x\"}}}}", NULL,
     "\"1A\" is not the name of a variable"},
    {"{\"roles\": {\"w\": {\"env\": {\"TF_CONFIG\": \"x\"}}}}", NULL, "TF_CONFIG is set by weft"},
    {"{\"roles\": {\"w\": {\"env\": {\"A\": true}}}}", NULL, "env: \"A\": it is true or false"},
    {"{\"roles\": {\"w\": {\"resources\": {\"x\": 0}}}}", NULL, "x: \"0\" is not a number from 1"},
    {"{\"roles\": {\"w\": {\"resources\": {\"a b\": 1}}}}", NULL, "is not the name of a resource"},
    {"{\"roles\": {\"w\": {\"resources\": [\"x\"]}}}", NULL, "resources: it is a list"},
    {"{\"roles\": {\"w\": 1}, \"settings\": {\"a\": []}}", NULL, "settings: \"a\": it is a list"},
    {NULL, "--role=w=1 --resource=x -- p", "write: --resource x=N"},
    {NULL, "--role=w=1 --set=x -- p", "write: x=VALUE"},
    {"{\"roles\": {\"w\": {\"files\": {\"../a\": \"b\"}}}}", NULL,
     "\"../a\" is not the name of a file"},
    {"{\"roles\": {\"w\": {\"files\": {\"/a\": \"b\"}}}}", NULL,
     "\"/a\" is not the name of a file"},
    {"{\"roles\": {\"w\": {\"files\": [\"..\"]}}}", NULL, "\"..\" is not the name of a file"},
    {"{\"roles\": {\"w\": {\"files\": [\"/\"]}}}", NULL, "is not the name of a file"},
    {"{\"roles\": {\"w\": {\"addresses\": [\"a:x\"]}}}", NULL, "roles: w: addresses: "},
    {"{\"roles\": {\"w\": {\"instances\": 3, \"addresses\": [\"a:1\"]}}, \"command\": \"p\"}", NULL,
     "3 instances and 1 addresses"},
    {"{\"roles\": {\"my-role\": 1}}", NULL, "\"my-role\" is not the name of a role"},
    {"{\"preset\": \"tourchrun\"}", NULL,
     "\"tourchrun\" is not a preset\n  did you mean torchrun?"},
    {"{\"preset\": \"dask\"}", NULL, "there are: single, ps, allreduce, torchrun, horovod"},
    {"{\"preset\": \"ps\"}", "--preset=single -- p", "there are two presets, ps and single"},
    {"{\"cluster\": {\"ps\": [\"a:1\"]}}", NULL, "try: --cluster instead of --spec"},
    {"{\"ps\": [\"a:1\"]}", NULL, "try: --cluster instead of --spec"},
    {"{\"roles\": {\"w\": 1}, \"name\": 3}", NULL, "name: it is a number"},
    {"{\"roles\": {\"w\": 1}, \"start_deadline\": \"soon\"}", NULL,
     "start_deadline: it is not a time"},
    {"{\"roles\": {\"w\": 1}, \"start_deadline\": 0}", NULL, "start_deadline: it is not a time"},
    {"{\"roles\": {\"w\": 1}, \"on\": \"\"}", NULL, "on: it is empty"},
    {"{\"roles\": {\"w\": [[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]}}", NULL, "nested more than 16 deep"},
    // Refused because of the whole.
    {"{\"roles\": {\"w\": 1}}", NULL, "no program is named for the role w"},
    {"{\"roles\": {\"w\": 0}, \"command\": \"p\"}", NULL, "no role has an instance"},
    {"{\"roles\": {\"w\": {\"awaited\": false}}, \"command\": \"p\"}", NULL, "no role is awaited"},
    {"{\"roles\": {\"w\": {\"command\": \"p\"}}}", "-- q", "\"q\" would not run"},
    {"{\"roles\": {\"w\": {\"processes\": 4, \"cpus\": 2}}, \"command\": \"p\"}", NULL,
     "4 processes would share 2 cpus"},
    {"{\"roles\": {\"w\": {\"instances\": 32768, \"processes\": 2}}, \"command\": \"p\"}", NULL,
     "65536 members"},
    {NULL, "--role=w=1 --memory=worker=2G -- p",
     "\"worker\" is not a role of this run\n  there are: w"},
    {NULL, "--role=worker=1 --memory=wroker=2G -- p", "did you mean worker?"},
    {NULL, "--role=w=1 --memory=w=two -- p", "--memory w=two: \"two\" is not a size"},
    {NULL, "--role=w=1 --env=v:A=1 -- p", "\"v\" is not a role of this run"},
    {NULL, "--role=w=1 --env=A -- p", "write: --env A=VALUE"},
    {NULL, "--role=w=1 --cpus=0 -- p", "--cpus 0: \"0\" is not a whole number from 1"},
    {NULL, "--role=w=1 --until=x -- p", "--until: there is no role x"},
    {NULL, "--role=chief=1 --role=master=1 -- p", "a chief and a master"},
    {NULL, "--preset=single --role=chief=2 -- p", "the preset single has one chief"},
    {NULL, "--preset=ps --role=ps=0 -- p", "the preset ps needs at least one ps"},
    {NULL, "--preset=allreduce --role=ps=1 -- p", "try: --preset ps"},
    {"{\"roles\": {\"w\": {\"files\": [\"/a/x\"]}, \"v\": {\"files\": {\"x\": \"/b/x\"}}}, \"command\": \"p\"}",
     NULL, "the roles w and v have two different files by the name \"x\""},
    {"{\"roles\": {\"w\": 1, \"tensorboard\": 1}, \"command\": \"p\"}", NULL,
     "try: --tensorboard DIR"},
};

static void every_form_is_read_or_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct case_of *given = &cases[i];
        struct crew_spec spec = {0};
        struct buf text = {0};
        const weft_err err = make(&spec, given->text, given->flags);
        if (!err)
            show(&text, &spec);
        const char *said = err ? err_text() : buf_text(&text);
        const bool is_right = !given->says ? err
                              : err        ? strstr(said, given->says) != NULL
                                           : strcmp(said, given->says) == 0;
        if (!is_right)
            fail_msg("%s %s:\n%s\n%s", given->text, given->flags, said, given->says);
        buf_fini(&text);
        crew_spec_fini(&spec);
    }
}

// ---- Written and read again ------------------------------------------------------------------------------------

static void what_is_written_means_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct crew_spec spec = {0}, again = {0};
        struct buf first = {0}, second = {0};
        if (!make(&spec, cases[i].text, cases[i].flags)) {
            crew_spec_write(&first, &spec);
            if (make(&again, buf_text(&first), NULL))
                fail_msg("%s: %s", buf_text(&first), err_text());
            crew_spec_write(&second, &again);
            assert_string_equal(buf_text(&first), buf_text(&second));
        }
        buf_fini(&first);
        buf_fini(&second);
        crew_spec_fini(&spec);
        crew_spec_fini(&again);
    }
}

static void a_plan_has_a_line_for_each_role(void **state)
{
    (void)state;
    struct crew_spec spec = {0};
    struct buf text = {0};
    assert_false(make(&spec, NULL,
                      "--preset=ps --memory=worker=1.5G --gpus=worker=1 --cpus=2 -- python3 a.py"));
    crew_spec_write_plan(&text, &spec);
    assert_string_equal(buf_text(&text),
                        "ROLE   MEMBERS   CPUS   MEMORY   GPUS RESTARTS  AT END   COMMAND\n"
                        "chief        1      2        -      -        0  awaited  python3 a.py\n"
                        "worker       2      2 1536 MiB      1        0  stopped  python3 a.py\n"
                        "ps           1      2        -      -        0  stopped  python3 a.py\n");
    buf_fini(&text);
    crew_spec_fini(&spec);
}

// ---- Members ---------------------------------------------------------------------------------------------------

static void members_are_numbered_by_role_instance_and_process(void **state)
{
    (void)state;
    struct crew_spec spec = {0};
    assert_false(make(&spec, NULL, "--role=a=1 --role=none=0 --role=b=2 --processes=b=3 -- p"));
    assert_int_equal(crew_spec_count_members(&spec), 7);
    static const struct {
        const char *role;
        uint32_t index, instance, process;
    } seats[] = {{"a", 0, 0, 0}, {"b", 0, 0, 0}, {"b", 1, 0, 1}, {"b", 2, 0, 2},
                 {"b", 3, 1, 0}, {"b", 4, 1, 1}, {"b", 5, 1, 2}};
    for (size_t i = 0; i < 7; i++) {
        const struct crew_seat seat = crew_spec_seat(&spec, i);
        assert_string_equal(seat.role->name, seats[i].role);
        assert_int_equal(seat.index, seats[i].index);
        assert_int_equal(seat.instance, seats[i].instance);
        assert_int_equal(seat.process, seats[i].process);
    }
    crew_spec_fini(&spec);
}

static void torchrun_starts_its_processes_by_itself(void **state)
{
    (void)state;
    struct crew_spec spec = {0};
    assert_false(make(&spec, NULL, "--preset=torchrun --processes=8 -- p"));
    assert_int_equal(crew_spec_count_members(&spec), 2);
    crew_spec_fini(&spec);
}

static void a_cluster_file_keeps_indices_and_addresses(void **state)
{
    (void)state;
    struct crew_spec spec = {0};
    struct cluster_spec cluster = {0};
    struct crew_flags flags = {.program = (const char *[]){"p", NULL}};
    assert_false(cluster_spec_read_file(
        &cluster,
        weft_text("{\"worker\": {\"3\": \"a:1\", \"7\": \"b:2\"}, \"evaluator\": [\"c:3\"]}"),
        "f"));
    assert_false(crew_spec_add_cluster(&spec, &cluster));
    assert_false(crew_spec_resolve(&spec, &flags));
    assert_int_equal(crew_spec_seat(&spec, 1).index, 7);
    assert_true(crew_spec_seat(&spec, 2).role->in_cluster);
    cluster_spec_fini(&cluster);
    crew_spec_fini(&spec);
}

// ---- Paths -----------------------------------------------------------------------------------------------------

static void paths_are_meant_from_where_the_file_is(void **state)
{
    (void)state;
    char directory[] = "/tmp/weft-spec-XXXXXX", path[64];
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/job.json", directory);
    FILE *file = fopen(path, "w");
    fputs("{\"roles\": {\"w\": {\"files\": [\"a.py\", \"/b.py\"]}}, \"archive\": \"env.tar\"}",
          file);
    fclose(file);
    struct crew_spec spec = {0};
    char expected[96];
    assert_false(crew_spec_load(&spec, path));
    snprintf(expected, sizeof expected, "%s/a.py", directory);
    assert_string_equal(spec.roles.items[0].files.items[0].value, expected);
    assert_string_equal(spec.roles.items[0].files.items[1].value, "/b.py");
    snprintf(expected, sizeof expected, "%s/env.tar", directory);
    assert_string_equal(spec.all.archive, expected);
    crew_spec_fini(&spec);
    remove(path);
    remove(directory);
    assert_int_equal(crew_spec_load(&spec, path), WEFT_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_is_read_or_refused),
        cmocka_unit_test(what_is_written_means_the_same),
        cmocka_unit_test(a_plan_has_a_line_for_each_role),
        cmocka_unit_test(members_are_numbered_by_role_instance_and_process),
        cmocka_unit_test(torchrun_starts_its_processes_by_itself),
        cmocka_unit_test(a_cluster_file_keeps_indices_and_addresses),
        cmocka_unit_test(paths_are_meant_from_where_the_file_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
