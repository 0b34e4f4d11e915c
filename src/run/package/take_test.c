// Tests of taking code: which files are fetched, which are not, and everything that can go wrong on the way.

#include "run/package/package_testing.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/package/make.h"

enum { OTHER_USER = 65534 };

static void fill(struct testing_scene *scene)
{
    testing_open_scene(scene);
    testing_add_file(scene, PACKAGE_PROGRAM, "job", "a program");
    testing_add_file(scene, PACKAGE_LIBRARY, "libjob.so.1", "a library");
    testing_add_file(scene, PACKAGE_DATA, "map.py", "print('a script')");
    testing_add_file(scene, PACKAGE_DATA, "words.txt", "");
}

static unsigned mode_of(const char *folder, const char *name)
{
    char path[512];
    struct stat status;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(lstat(path, &status), 0);
    return status.st_mode & 07777;
}

// The path of a kept file.
static const char *kept_path(const struct testing_scene *scene, size_t at)
{
    static char path[512];
    char name[DIGEST_TEXT_BYTES];
    digest_write(scene->files[at].sha256, name);
    snprintf(path, sizeof path, "%s/%s", testing_path("cache"), name);
    return path;
}

static void take_again(struct testing_scene *scene)
{
    take_free(scene->take);
    scene->take = NULL;
    assert_int_equal(testing_take(scene), WEFT_OK);
}

static void code_that_is_missing_is_fetched_and_put_in_its_places(void **state)
{
    struct testing_scene scene;
    (void)state;
    fill(&scene);
    scene.files[2].message.mode = 0755;
    assert_int_equal(testing_take(&scene), WEFT_OK);
    const struct worker_program *program = take_program(scene.take);
    const struct take_figures figures = take_figures(scene.take);
    assert_true(figures.fetched_files == 4 && figures.fetched_bytes == figures.total_bytes);
    assert_non_null(program->path);
    assert_int_equal(access(program->path, X_OK), 0);
    testing_assert_holds(program->libraries, "job", "a program");
    testing_assert_holds(program->libraries, "libjob.so.1", "a library");
    testing_assert_holds(program->directory, "map.py", "print('a script')");
    testing_assert_holds(program->directory, "words.txt", "");
    assert_true(mode_of(program->libraries, "") == 0700 && mode_of(program->directory, "") == 0700);
    assert_int_equal(mode_of(program->libraries, "job"), 0500);
    assert_int_equal(mode_of(program->directory, "map.py"), 0700);
    assert_int_equal(mode_of(program->directory, "words.txt"), 0600);
    assert_int_equal(mode_of(testing_path("cache"), ""), 0700);
    testing_close_scene(&scene);
    assert_int_equal(testing_count("cache/jobs"), 0);
    assert_int_equal(testing_count("cache"), 4 + 1);
}

static void files_with_a_path_are_put_below_the_directory(void **state)
{
    struct testing_scene scene;
    (void)state;
    fill(&scene);
    testing_add_file(&scene, PACKAGE_DATA, "tools/__init__.py", "");
    testing_add_file(&scene, PACKAGE_DATA, "tools/deep/cut.py", "x = 1");
    testing_add_file(&scene, PACKAGE_DATA, "tools/deep/join.py", "y = 1");
    assert_int_equal(testing_take(&scene), WEFT_OK);
    const char *directory = take_program(scene.take)->directory;
    testing_assert_holds(directory, "tools/__init__.py", "");
    testing_assert_holds(directory, "tools/deep/cut.py", "x = 1");
    testing_assert_holds(directory, "tools/deep/join.py", "y = 1");
    assert_int_equal(mode_of(directory, "tools/deep"), 0700);
    testing_close_scene(&scene);
    assert_int_equal(testing_count("cache/jobs"), 0);
}

static void a_file_and_a_directory_of_one_name_are_refused(void **state)
{
    for (int is_first = 0; is_first < 2; is_first++) {
        struct testing_scene scene;
        (void)state;
        fill(&scene);
        testing_add_file(&scene, PACKAGE_DATA, is_first ? "a" : "a/b", "1");
        testing_add_file(&scene, PACKAGE_DATA, is_first ? "a/b" : "a", "2");
        assert_int_not_equal(testing_take(&scene), WEFT_OK);
        testing_close_scene(&scene);
        assert_int_equal(testing_count("cache/jobs"), 0);
    }
}

static void the_same_code_is_fetched_once(void **state)
{
    struct testing_scene scene;
    (void)state;
    fill(&scene);
    assert_int_equal(testing_take(&scene), WEFT_OK);
    take_again(&scene);
    const struct take_figures figures = take_figures(scene.take);
    assert_true(figures.fetched_bytes == 0 && figures.fetched_files == 0 && scene.fetch_count == 0);
    assert_int_equal(figures.kept_files, 4);
    testing_assert_holds(take_program(scene.take)->directory, "map.py", "print('a script')");
    testing_close_scene(&scene);
}

// A command that writes to its files does not write to those of the next job.
static void files_of_a_job_are_its_own(void **state)
{
    struct testing_scene scene;
    int fd;
    char path[512];
    (void)state;
    fill(&scene);
    assert_int_equal(testing_take(&scene), WEFT_OK);
    snprintf(path, sizeof path, "%s/map.py", take_program(scene.take)->directory);
    assert_int_equal(file_open_kept(path, &fd), WEFT_OK);
    assert_int_equal(file_write_at(fd, path, "PRINT", 5, 0), WEFT_OK);
    file_close(fd);
    take_again(&scene);
    assert_int_equal(scene.fetch_count, 0);
    testing_assert_holds(take_program(scene.take)->directory, "map.py", "print('a script')");
    testing_close_scene(&scene);
}

// ---- Our own program -----------------------------------------------------------------------------------------------

static void our_own_program_is_used_as_it_is(void **state)
{
    struct testing_scene scene;
    struct made_package *made;
    const struct run_options options = {0};
    (void)state;
    testing_open_scene(&scene);
    assert_int_equal(package_make(&options, 7, &made), WEFT_OK);
    scene.package = *package_message(made);
    assert_int_equal(scene.package.files[0]->file, 7);
    assert_int_equal(testing_take(&scene), WEFT_OK);
    const struct worker_program *program = take_program(scene.take);
    assert_null(program->path);
    assert_null(program->libraries);
    assert_non_null(program->directory);
    assert_int_equal(scene.fetch_count, 0);
    assert_int_equal(take_figures(scene.take).own_files, scene.package.n_files);
    testing_close_scene(&scene);
    package_free(made);
}

// One library of a client is another build: the program must not be mixed with it.
static void own_files_are_copied_where_one_is_another(void **state)
{
    struct testing_scene scene;
    struct made_package *made;
    const struct run_options options = {0};
    (void)state;
    testing_open_scene(&scene);
    testing_add_file(&scene, PACKAGE_LIBRARY, "libother.so.1", "another library");
    assert_int_equal(package_make(&options, 100, &made), WEFT_OK);
    const Weft__CodePackage *own = package_message(made);
    Weft__CodeFile *list[PACKAGE_FILES_MAX];
    memcpy(list, own->files, own->n_files * sizeof *list);
    list[own->n_files] = &scene.files[0].message;
    scene.package = *own;
    scene.package.files = list;
    scene.package.n_files = own->n_files + 1;
    assert_int_equal(testing_take(&scene), WEFT_OK);
    const struct take_figures figures = take_figures(scene.take);
    assert_true(figures.fetched_files == 1 && figures.own_files == own->n_files);
    const struct worker_program *program = take_program(scene.take);
    assert_non_null(program->path);
    assert_non_null(program->libraries);
    for (size_t i = 0; i < own->n_files; i++)
        assert_int_equal(mode_of(program->libraries, own->files[i]->name), 0500);
    testing_close_scene(&scene);
    package_free(made);
}

// ---- Faults --------------------------------------------------------------------------------------------------------

static void expect_failure(struct testing_scene *scene, weft_err code, const char *why)
{
    assert_int_equal(testing_take(scene), code);
    if (!strstr(scene->text, why))
        fail_msg("\"%s\" does not say \"%s\"", scene->text, why);
    take_free(scene->take);
    scene->take = NULL;
    assert_int_equal(testing_count("cache/jobs"), 0);
}

static void content_with_another_hash_is_refused_and_not_kept(void **state)
{
    struct testing_scene scene;
    (void)state;
    fill(&scene);
    scene.files[1].content = "A LIBRARY";
    expect_failure(&scene, WEFT_DATA_LOSS, "libjob.so.1 did not come as the server described it");
    assert_int_not_equal(access(kept_path(&scene, 1), F_OK), 0);
    scene.files[1].content = "a library";
    assert_int_equal(testing_take(&scene), WEFT_OK);
    testing_close_scene(&scene);
}

static void a_file_that_was_cut_is_refused(void **state)
{
    struct testing_scene scene;
    (void)state;
    fill(&scene);
    scene.cut_at = 0;
    expect_failure(&scene, WEFT_DATA_LOSS, "8 of 9 bytes");
    testing_close_scene(&scene);
}

static void a_fetch_that_fails_ends_the_take_after_the_others_have_ended(void **state)
{
    struct testing_scene scene;
    (void)state;
    for (size_t at = 0; at < 3; at++) {
        fill(&scene);
        scene.fail_at = at;
        expect_failure(&scene, WEFT_UNAVAILABLE, "the server is gone");
        assert_int_equal(scene.served_count, 3);
        testing_close_scene(&scene);
        assert_int_equal(file_remove_tree(testing_path("cache")), WEFT_OK);
    }
}

static void a_program_for_a_newer_system_is_refused(void **state)
{
    struct testing_scene scene;
    (void)state;
    fill(&scene);
    scene.package.libc = "99.1";
    expect_failure(&scene, WEFT_FAILED_PRECONDITION, "needs version 99.1 of the C library");
    assert_int_equal(scene.fetch_count, 0);
    scene.package.libc = "2.2";
    assert_int_equal(testing_take(&scene), WEFT_OK);
    testing_close_scene(&scene);
}

static void a_script_of_another_version_is_refused(void **state)
{
    struct testing_scene scene;
    (void)state;
    fill(&scene);
    scene.package.kind = code_python.number;
    scene.package.version = "0.0.1";
    const weft_err code = testing_take(&scene);
    // Which of the two depends on the Python of this machine.
    assert_true(code == WEFT_FAILED_PRECONDITION || code == WEFT_UNIMPLEMENTED);
    assert_non_null(strstr(scene.text, "try: "));
    testing_close_scene(&scene);
    assert_int_equal(testing_count("cache/jobs"), 0);
}

static void hostile_packages_are_refused_before_anything_is_made(void **state)
{
    struct testing_scene scene;
    (void)state;
    fill(&scene);
    scene.files[2].message.name = "../../.ssh/authorized_keys";
    assert_int_equal(testing_take(&scene), WEFT_INVALID_ARGUMENT);
    assert_null(scene.take);
    assert_int_equal(scene.fetch_count, 0);
    testing_close_scene(&scene);
    assert_int_equal(testing_count("cache"), 1);
}

// ---- A cache that others have been at ------------------------------------------------------------------------------

static void spoil_content(const char *path)
{
    int fd;
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(file_open_kept(path, &fd), WEFT_OK);
    assert_int_equal(file_write_at(fd, path, "A", 1, 0), WEFT_OK);
    file_close(fd);
}

static void spoil_by_another_file(const char *path)
{
    char other[600];
    int fd;
    snprintf(other, sizeof other, "%s.other", path);
    assert_int_equal(file_create(other, &fd), WEFT_OK);
    assert_int_equal(file_write_at(fd, other, "a bad one", 9, 0), WEFT_OK);
    file_close(fd);
    assert_int_equal(rename(other, path), 0);
}

static void spoil_by_link(const char *path)
{
    char other[600];
    snprintf(other, sizeof other, "%s.other", path);
    assert_int_equal(rename(path, other), 0);  // the right content, even
    assert_int_equal(symlink(other, path), 0);
}

static void spoil_by_cutting(const char *path)
{
    assert_int_equal(truncate(path, 3), 0);
}

static void spoil_mode(const char *path)
{
    assert_int_equal(chmod(path, 0522), 0);
}

static void spoil_owner(const char *path)
{
    if (geteuid() == 0)
        assert_int_equal(chown(path, OTHER_USER, OTHER_USER), 0);
    else
        spoil_mode(path);
}

static void spoil_by_directory(const char *path)
{
    char inside[600];
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(inside, sizeof inside, "%s/inside", path);
    assert_int_equal(mkdir(inside, 0700), 0);
}

static void spoil_by_fifo(const char *path)
{
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
}

static void what_is_wrong_in_the_cache_is_fetched_again(void **state)
{
    static void (*const ways[])(const char *) = {
        spoil_content, spoil_by_another_file, spoil_by_link,      spoil_by_cutting,
        spoil_mode,    spoil_owner,           spoil_by_directory, spoil_by_fifo};
    struct testing_scene scene;
    (void)state;
    fill(&scene);
    assert_int_equal(testing_take(&scene), WEFT_OK);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        take_free(scene.take);
        scene.take = NULL;
        ways[i](kept_path(&scene, 0));
        assert_int_equal(testing_take(&scene), WEFT_OK);
        const struct take_figures figures = take_figures(scene.take);
        assert_true(figures.fetched_files == 1 && figures.kept_files == 3);
        testing_assert_holds(take_program(scene.take)->libraries, "job", "a program");
        take_again(&scene);
        assert_int_equal(scene.fetch_count, 0);
    }
    testing_close_scene(&scene);
}

// ---- Several clients -----------------------------------------------------------------------------------------------

static struct testing_scene second;

static void take_in_between(void)
{
    if (second.loop)
        return;
    testing_open_scene(&second);
    testing_add_file(&second, PACKAGE_PROGRAM, "job", "a program");
    testing_add_file(&second, PACKAGE_LIBRARY, "libjob.so.1", "a library");
    assert_int_equal(testing_take(&second), WEFT_OK);
}

static void two_clients_take_the_same_code_at_once(void **state)
{
    struct testing_scene scene;
    (void)state;
    fill(&scene);
    scene.before = take_in_between;
    assert_int_equal(testing_take(&scene), WEFT_OK);
    testing_assert_holds(take_program(scene.take)->libraries, "job", "a program");
    testing_assert_holds(take_program(second.take)->libraries, "job", "a program");
    assert_int_equal(testing_count("cache/jobs"), 4);
    assert_int_equal(testing_count("cache"), 4 + 1);
    testing_close_scene(&second);
    testing_assert_holds(take_program(scene.take)->directory, "map.py", "print('a script')");
    testing_close_scene(&scene);
}

// Takes the code again and again, from nothing, until it is killed.
static _Noreturn void take_for_ever(void)
{
    for (;;) {
        struct testing_scene scene;
        fill(&scene);
        for (size_t i = 0; i < scene.package.n_files; i++)
            unlink(kept_path(&scene, i));
        if (testing_take(&scene) != WEFT_OK)
            _exit(9);
        testing_close_scene(&scene);
    }
}

static void clients_that_are_killed_leave_whole_files_alone(void **state)
{
    enum { CLIENTS = 8 };
    struct testing_scene scene;
    (void)state;
    fill(&scene);
    testing_close_scene(&scene);
    for (unsigned i = 0; i < CLIENTS; i++) {
        int status;
        const pid_t pid = fork();
        if (pid == 0)
            take_for_ever();
        usleep(1000 + 4700 * i);
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status));  // it had not failed before
    }
    fill(&scene);
    assert_int_equal(testing_count("cache/jobs"), 0);
    assert_int_equal(testing_take(&scene), WEFT_OK);
    testing_assert_holds(take_program(scene.take)->libraries, "job", "a program");
    testing_assert_holds(take_program(scene.take)->libraries, "libjob.so.1", "a library");
    testing_close_scene(&scene);
    assert_int_equal(testing_count("cache"), 4 + 1);
}

static void a_take_can_be_given_up_at_any_time(void **state)
{
    struct testing_scene scene;
    (void)state;
    fill(&scene);
    scene.is_silent = true;
    assert_int_equal(testing_take(&scene), WEFT_OK);
    assert_true(scene.fetch_count == 3 && !scene.is_done);
    testing_close_scene(&scene);
    assert_int_equal(testing_count("cache/jobs"), 0);
    // Also at once.
    fill(&scene);
    const struct take_options options = {.loop = scene.loop,
                                         .cache = scene.cache,
                                         .package = &scene.package,
                                         .fetch = testing_fetch,
                                         .done = testing_on_done,
                                         .owner = &scene};
    assert_int_equal(take_start(&options, &scene.take), WEFT_OK);
    testing_close_scene(&scene);
    assert_int_equal(testing_count("cache/jobs"), 0);
}

static void a_full_disk_is_told(void **state)
{
    struct testing_scene scene;
    struct rlimit before, tight = {.rlim_cur = 4};
    (void)state;
    fill(&scene);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    tight.rlim_max = before.rlim_max;
    testing_take(&scene);
    take_free(scene.take);
    scene.take = NULL;
    // The kept files are there, their copies have no room. A lock file is longer than this, and older.
    signal(SIGXFSZ, SIG_IGN);
    scene.files[0].content = "a program";
    struct cache_job job;
    assert_int_equal(cache_open_job(scene.cache, &job), WEFT_OK);
    cache_close_job(&job);
    tight.rlim_cur = 21;  // the lock's own
    testing_add_file(&scene, PACKAGE_DATA, "large", "more than twenty-one bytes of text");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    const weft_err code = testing_take(&scene);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_not_equal(code, WEFT_OK);
    assert_non_null(strstr(scene.text, "large"));
    take_free(scene.take);
    scene.take = NULL;
    assert_int_equal(testing_count("cache/jobs"), 0);
    assert_int_equal(testing_take(&scene), WEFT_OK);
    testing_close_scene(&scene);
}

int main(void)
{
#define IN_FOLDER(test)                                                                            \
    cmocka_unit_test_setup_teardown(test, testing_make_folder, testing_remove_folder)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(code_that_is_missing_is_fetched_and_put_in_its_places),
        IN_FOLDER(files_with_a_path_are_put_below_the_directory),
        IN_FOLDER(a_file_and_a_directory_of_one_name_are_refused),
        IN_FOLDER(the_same_code_is_fetched_once),
        IN_FOLDER(files_of_a_job_are_its_own),
        IN_FOLDER(our_own_program_is_used_as_it_is),
        IN_FOLDER(own_files_are_copied_where_one_is_another),
        IN_FOLDER(content_with_another_hash_is_refused_and_not_kept),
        IN_FOLDER(a_file_that_was_cut_is_refused),
        IN_FOLDER(a_fetch_that_fails_ends_the_take_after_the_others_have_ended),
        IN_FOLDER(a_program_for_a_newer_system_is_refused),
        IN_FOLDER(a_script_of_another_version_is_refused),
        IN_FOLDER(hostile_packages_are_refused_before_anything_is_made),
        IN_FOLDER(what_is_wrong_in_the_cache_is_fetched_again),
        IN_FOLDER(two_clients_take_the_same_code_at_once),
        IN_FOLDER(clients_that_are_killed_leave_whole_files_alone),
        IN_FOLDER(a_take_can_be_given_up_at_any_time),
        IN_FOLDER(a_full_disk_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
