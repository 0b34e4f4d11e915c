// Tests of the package of this run: its files, their roles and numbers, and that they are served.

#include "run/package/make.h"

#include "run/package/package_testing.h"

#include <sys/stat.h>

#include "code/command/command.h"
#include "sys/process/libraries.h"

// Options as `weft run` reads them. options_fini in every case.
static weft_err make_of(struct run_options *options, const char *const *words,
                        struct made_package **made)
{
    size_t count = 0;
    while (words[count])
        count++;
    *made = NULL;
    const weft_err code =
        options_parse(options, &(struct options_request){0}, (char *const *)words, count);
    return code ? code : package_make(options, 10, made);
}

static void put(const char *path, const char *text, unsigned mode)
{
    int fd;
    assert_int_equal(file_create(path, &fd), WEFT_OK);
    assert_int_equal(file_write(fd, path, text, strlen(text)), WEFT_OK);
    file_close(fd);
    assert_int_equal(chmod(path, mode), 0);
}

static const Weft__CodeFile *find(const Weft__CodePackage *package, const char *name)
{
    for (size_t i = 0; i < package->n_files; i++)
        if (strcmp(package->files[i]->name, name) == 0)
            return package->files[i];
    fail_msg("no file %s", name);
    return NULL;
}

static void program_libraries_and_files_are_listed_and_served(void **state)
{
    struct run_options options;
    struct made_package *made;
    (void)state;
    put("map.py", "a script", 0755);
    put("words", "", 0644);
    const char *const words[] = {"--map",          "./map.py", "--file", "map.py",
                                 "--file=./words", "in",       NULL};
    assert_int_equal(make_of(&options, words, &made), WEFT_OK);
    const Weft__CodePackage *package = package_message(made);
    assert_ptr_equal(code_numbered(package->kind), &code_command);
    assert_int_equal(package_check(package), WEFT_OK);
    assert_memory_equal(package->libc, "2.", 2);
    assert_true(libraries_has_libc(package->libc));
    assert_int_equal(package->files[0]->role, PACKAGE_PROGRAM);
    assert_string_equal(package->files[0]->name, "test_unit_run_package_make");
    assert_int_equal(find(package, "libcmocka.so.0")->role, PACKAGE_LIBRARY);
    assert_true(find(package, "map.py")->role == PACKAGE_DATA &&
                find(package, "map.py")->mode == 0755);
    assert_true(find(package, "words")->mode == 0644 && find(package, "words")->size == 0);
    for (size_t i = 0; i < package->n_files; i++) {
        assert_int_equal(package->files[i]->file, 10 + i);
        assert_null(strstr(package->files[i]->name, "libc.so"));
        assert_null(strstr(package->files[i]->name, "ld-linux"));
    }
    struct fetch_files *files = fetch_files_new();
    assert_int_equal(package_serve(made, files), WEFT_OK);
    const struct fetch_file *served;
    assert_int_equal(fetch_files_find(files, find(package, "map.py")->file, &served), WEFT_OK);
    char got[16] = "";
    size_t size;
    assert_int_equal(file_read_at(served->fd, "map.py", got, sizeof got - 1, 0, &size), WEFT_OK);
    assert_string_equal(got, "a script");
    assert_int_equal(served->size, 8);
    assert_int_equal(package_serve(made, files), WEFT_ALREADY_EXISTS);
    package_withdraw(made, files);
    assert_int_equal(fetch_files_find(files, 10, &served), WEFT_NOT_FOUND);
    fetch_files_free(files);
    package_free(made);
    options_fini(&options);
}

static void expect(const char *const *words, weft_err code, const char *why)
{
    struct run_options options;
    struct made_package *made;
    assert_int_equal(make_of(&options, words, &made), code);
    assert_null(made);
    if (!strstr(err_text(), why))
        fail_msg("\"%s\" does not say \"%s\"", err_text(), why);
    options_fini(&options);
}

static void commands_that_others_cannot_run_are_refused(void **state)
{
    (void)state;
    put("map.py", "a script", 0755);
    expect((const char *const[]){"--map", "./map.py", "in", NULL}, WEFT_INVALID_ARGUMENT,
           "try: --file ./map.py");
    expect((const char *const[]){"--map", "cat", "--reduce", "tools/sum -v", "in", NULL},
           WEFT_INVALID_ARGUMENT, "--reduce runs tools/sum");
    expect((const char *const[]){"--map", "cat", "--file", "nowhere", "in", NULL}, WEFT_NOT_FOUND,
           "no such file");
}

static void commands_of_the_system_travel(void **state)
{
    static const char *const lines[] = {"cat", "/usr/bin/env cat", "tr a/b c"};
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct run_options options;
        struct made_package *made;
        const char *const words[] = {"--map", lines[i], "in", NULL};
        assert_int_equal(make_of(&options, words, &made), WEFT_OK);
        package_free(made);
        options_fini(&options);
    }
}

int main(void)
{
#define IN_FOLDER(test)                                                                            \
    cmocka_unit_test_setup_teardown(test, testing_enter_folder, testing_leave_folder)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(program_libraries_and_files_are_listed_and_served),
        IN_FOLDER(commands_that_others_cannot_run_are_refused),
        IN_FOLDER(commands_of_the_system_travel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
