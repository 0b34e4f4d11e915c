// Tests of what may be in a package: each rule broken alone.

#include "run/package/package_testing.h"

static void fill(struct testing_scene *scene)
{
    *scene = (struct testing_scene){0};
    weft__code_package__init(&scene->package);
    scene->package.kind = code_command.number;
    scene->package.files = scene->list;
    testing_add_file(scene, PACKAGE_PROGRAM, "weft", "program");
    testing_add_file(scene, PACKAGE_LIBRARY, "libz.so.1", "library");
    testing_add_file(scene, PACKAGE_DATA, "map.py", "script");
}

static void refuse(struct testing_scene *scene, const char *why)
{
    assert_int_equal(package_check(&scene->package), WEFT_INVALID_ARGUMENT);
    if (!strstr(err_text(), why))
        fail_msg("\"%s\" does not say \"%s\"", err_text(), why);
    fill(scene);
    assert_int_equal(package_check(&scene->package), WEFT_OK);
}

static void names_stay_in_their_directory(void **state)
{
    static char longest[PACKAGE_NAME_BYTES_MAX + 2];
    static char *const bad[] = {"",      ".",       "..",     "/etc/passwd", "a/b",
                                "../..", "a\nname", "a\x7fy", "\x1b[2J",     "a/"};
    static const char *const good[] = {"a", "...", ".profile", "map 1.py", "\xc3\xa4", "-rf"};
    struct testing_scene scene;
    (void)state;
    fill(&scene);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        for (size_t at = 0; at < 2; at++) {
            scene.files[at].message.name = bad[i];
            refuse(&scene, "is called");
        }
        assert_false(package_is_name(bad[i]));
    }
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(package_is_name(good[i]));
    memset(longest, 'x', PACKAGE_NAME_BYTES_MAX);
    assert_true(package_is_name(longest));
    longest[PACKAGE_NAME_BYTES_MAX] = 'x';
    assert_false(package_is_name(longest));
}

static void paths_of_data_stay_below_their_directory(void **state)
{
    static char longest[PACKAGE_NAME_BYTES_MAX + 2];
    static char *const bad[] = {"",          "/",  "a/",   "/a",     "a//b", "a/./b",
                                "./a",       "..", "../a", "a/../b", "a/..", "a\nb/c",
                                "a/b\x7f/c", "a/", "a/b/", "//"};
    static char *const good[] = {"a", "a/b", ".a/...b/..c", "a b/c", "a/b/c/d/e/f"};
    struct testing_scene scene;
    (void)state;
    fill(&scene);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(package_is_path(bad[i]));
        scene.files[2].message.name = bad[i];
        refuse(&scene, "is called");
    }
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        scene.files[2].message.name = good[i];
        assert_int_equal(package_check(&scene.package), WEFT_OK);
    }
    memset(longest, 'x', PACKAGE_NAME_BYTES_MAX);
    longest[1] = '/';
    assert_true(package_is_path(longest));
    longest[PACKAGE_NAME_BYTES_MAX] = 'x';
    assert_false(package_is_path(longest));
}

static void sizes_hashes_roles_and_kinds_have_limits(void **state)
{
    struct testing_scene scene;
    (void)state;
    fill(&scene);
    scene.package.kind = 0;
    refuse(&scene, "kind 0");
    scene.package.kind = 4;
    refuse(&scene, "kind 4");
    scene.package.version = "0.1 ";
    refuse(&scene, "without a version");
    scene.package.libc = "2.34\n";
    refuse(&scene, "without a version");
    scene.package.libc = "2222222222222222";
    refuse(&scene, "without a version");
    scene.package.libc = "2.34";
    assert_int_equal(package_check(&scene.package), WEFT_OK);
    scene.files[1].message.role = 0;
    refuse(&scene, "role 0");
    scene.files[1].message.role = 4;
    refuse(&scene, "role 4");
    scene.files[2].message.sha256.len = 31;
    refuse(&scene, "31 bytes");
    scene.files[2].message.sha256.len = 0;
    refuse(&scene, "0 bytes");
    scene.files[2].message.mode = 010644;
    refuse(&scene, "mode");
    scene.files[2].message.size = UINT64_MAX;
    refuse(&scene, "18446744073709551615 bytes");
    scene.files[1].message.size = scene.files[2].message.size = PACKAGE_BYTES_MAX / 2 + 1;
    refuse(&scene, "bytes");
}

static void there_is_one_program_and_a_place_for_each_file(void **state)
{
    struct testing_scene scene;
    (void)state;
    fill(&scene);
    scene.package.n_files = 0;
    refuse(&scene, "0 files");
    scene.package.n_files = PACKAGE_FILES_MAX + 1;  // said before any of them is looked at
    refuse(&scene, "1025 files");
    scene.files[0].message.role = PACKAGE_DATA;
    refuse(&scene, "0 programs");
    scene.files[1].message.role = PACKAGE_PROGRAM;
    refuse(&scene, "2 programs");
    scene.files[1].message.name = scene.files[0].name;
    refuse(&scene, "two files of a package are called weft");
    // A file of the job is elsewhere.
    scene.files[2].message.name = scene.files[0].name;
    assert_int_equal(package_check(&scene.package), WEFT_OK);
}

static void a_copy_is_whole(void **state)
{
    struct testing_scene scene;
    (void)state;
    fill(&scene);
    Weft__CodePackage *copy = package_copy(&scene.package);
    assert_non_null(copy);
    assert_int_equal(package_check(copy), WEFT_OK);
    assert_int_equal(copy->n_files, 3);
    assert_string_equal(copy->files[2]->name, "map.py");
    assert_memory_equal(copy->files[2]->sha256.data, scene.files[2].sha256, SHA256_BYTES);
    message_free(copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_stay_in_their_directory),
        cmocka_unit_test(paths_of_data_stay_below_their_directory),
        cmocka_unit_test(sizes_hashes_roles_and_kinds_have_limits),
        cmocka_unit_test(there_is_one_program_and_a_place_for_each_file),
        cmocka_unit_test(a_copy_is_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
