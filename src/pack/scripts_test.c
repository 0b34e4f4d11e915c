// Tests of scripts that are made independent of their place.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "pack/scripts.h"

static const char *const roots[] = {"/home/me/venv", "/v", NULL};

#define START "#!/bin/sh\n'''exec' \"$(dirname -- \"$(readlink -f -- \"$0\")\")\"/"

static void expect(const char *script, const char *moved)
{
    struct buf got = {0};
    const bool has_moved = scripts_move((weft_bytes){script, strlen(script)}, roots, &got);
    assert_int_equal(has_moved, moved != NULL);
    assert_string_equal(buf_text(&got), moved ? moved : "");
    buf_fini(&got);
}

static void a_script_of_the_venv_finds_its_python(void **state)
{
    (void)state;
    expect("#!/home/me/venv/bin/python3\nimport x\n",
           START "'python3' \"$0\" \"$@\"\n' '''\nimport x\n");
    expect("#!/v/bin/python -E -s\r\nx", START "'python' -E -s\r \"$0\" \"$@\"\n' '''\nx");
    expect("#! /v/bin/python", START "'python' \"$0\" \"$@\"\n' '''\n");
}

static void the_long_form_of_pip_is_known(void **state)
{
    (void)state;
    expect("#!/bin/sh\n'''exec' /home/me/venv/bin/python3.11 \"$0\" \"$@\"\n' '''\nimport x\n",
           START "'python3.11' \"$0\" \"$@\"\n' '''\nimport x\n");
    expect("#!/bin/sh\n'''exec' \"/v/bin/python\" \"$0\" \"$@\"\n' '''\nx",
           START "'python' \"$0\" \"$@\"\n' '''\nx");
    expect("#!/bin/sh\n'''exec' \"/v/bin/python\"", START "'python' \"$0\" \"$@\"\n' '''\n");
}

static void other_scripts_stay_as_they_are(void **state)
{
    (void)state;
    expect("", NULL);
    expect("#!", NULL);
    expect("#!/bin/sh\n", NULL);
    expect("#!/bin/sh\n'''exec' /other/bin/python \"$0\"\n", NULL);
    expect("#!/usr/bin/env python3\n", NULL);
    expect("#!/vv/bin/python\n", NULL);
    expect("#!/v/bin/\n", NULL);
    expect("#!/v/bin/it's\n", NULL);
    expect("\177ELF", NULL);
}

static void expect_activate(const char *script, const char *line)
{
    struct buf got = {0};
    const bool has_moved = scripts_move_activate((weft_bytes){script, strlen(script)}, roots, &got);
    assert_int_equal(has_moved, line != NULL);
    if (line && !strstr(buf_text(&got), line))
        fail_msg("no \"%s\" in \"%s\"", line, buf_text(&got));
    if (line)
        assert_null(strstr(buf_text(&got), "/v"));
    buf_fini(&got);
}

static void activate_finds_itself(void **state)
{
    (void)state;
    expect_activate("VIRTUAL_ENV=/v\nexport VIRTUAL_ENV\n", "\nVIRTUAL_ENV=\"$weft_venv\"\nexport");
    expect_activate("VIRTUAL_ENV='/v'\n", "\nVIRTUAL_ENV=\"$weft_venv\"\n");
    expect_activate("    export VIRTUAL_ENV=$(cygpath \"/v\")\n", "$(cygpath \"$weft_venv\")\n");
    expect_activate("VIRTUAL_ENV=/other\n", NULL);
    expect_activate("x=/vv\n", NULL);
    expect_activate("x='/v/y'\n", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_script_of_the_venv_finds_its_python),
        cmocka_unit_test(the_long_form_of_pip_is_known),
        cmocka_unit_test(other_scripts_stay_as_they_are),
        cmocka_unit_test(activate_finds_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
