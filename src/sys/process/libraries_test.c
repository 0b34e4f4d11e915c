// Tests of the list of libraries: this program's own.
#include "sys/process/libraries.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

enum { NAMES_MAX = 64 };

static char names[NAMES_MAX][128];
static size_t count;

static weft_err add(void *owner, const char *name, const char *path)
{
    assert_ptr_equal(owner, names);
    assert_int_equal(path[0], '/');
    assert_int_equal(access(path, R_OK), 0);
    assert_true(count < NAMES_MAX);
    snprintf(names[count++], sizeof names[0], "%s", name);
    return WEFT_OK;
}

static size_t count_of(const char *name)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        found += strcmp(names[i], name) == 0;
    return found;
}

static void libraries_are_listed_once_and_those_of_the_system_not(void **state)
{
    (void)state;
    count = 0;
    assert_int_equal(libraries_visit(add, names), WEFT_OK);
    assert_int_equal(count_of("libcmocka.so.0"), 1);
    for (size_t i = 0; i < count; i++) {
        assert_false(libraries_is_of_system(names[i]));
        assert_int_equal(count_of(names[i]), 1);
    }
}

// What a program loads while it runs it can load elsewhere, too, or does not need there.
static void libraries_that_are_loaded_later_are_not_listed(void **state)
{
    (void)state;
    void *later = dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL);
    if (!later)
        skip();
    count = 0;
    assert_int_equal(libraries_visit(add, names), WEFT_OK);
    assert_int_equal(count_of("libcrypto.so.3"), 0);
    dlclose(later);
}

static weft_err fail_it(void *owner, const char *name, const char *path)
{
    (void)path;
    ++*(int *)owner;
    return err_set(WEFT_DATA_LOSS, "%s", name);
}

static void a_failure_ends_the_visit(void **state)
{
    int calls = 0;
    (void)state;
    assert_int_equal(libraries_visit(fail_it, &calls), WEFT_DATA_LOSS);
    assert_int_equal(calls, 1);
}

static void the_systems_own_are_known_by_their_names(void **state)
{
    static const char *const own[] = {"libc.so.6",       "libm.so.6",       "ld-linux-x86-64.so.2",
                                      "libpthread.so.0", "linux-vdso.so.1", "libmvec.so.1"};
    static const char *const others[] = {"libcrypto.so.3", "libmagic.so.1", "libz.so.1",
                                         "libstdc++.so.6", "libgcc_s.so.1", "libcmocka.so.0"};
    (void)state;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        assert_true(libraries_is_of_system(own[i]) && !libraries_is_of_system(others[i]));
}

static void the_needed_version_of_the_c_library_is_one_that_we_have(void **state)
{
    char version[LIBRARIES_VERSION_BYTES];
    unsigned major = 0, minor = 0;
    (void)state;
    assert_int_equal(libraries_needed_libc(version), WEFT_OK);
    assert_int_equal(sscanf(version, "%u.%u", &major, &minor), 2);
    assert_true(major == 2 && minor >= 2);
    assert_true(libraries_has_libc(version));
    assert_true(libraries_has_libc(libraries_own_libc()));
    assert_true(libraries_has_libc("2.9") && libraries_has_libc("") && libraries_has_libc("x"));
    assert_false(libraries_has_libc("2.999") || libraries_has_libc("3.0"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(libraries_are_listed_once_and_those_of_the_system_not),
        cmocka_unit_test(libraries_that_are_loaded_later_are_not_listed),
        cmocka_unit_test(a_failure_ends_the_visit),
        cmocka_unit_test(the_systems_own_are_known_by_their_names),
        cmocka_unit_test(the_needed_version_of_the_c_library_is_one_that_we_have),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
