// Tests of workers that are started from a package: this program, copied with its libraries to another place, and a program that is
// linked with libweft.so, which is installed nowhere.

#include "run/package/package_testing.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "run/driver/agent/worker_process.h"
#include "run/package/make.h"
#include "sys/process/libraries.h"

// ---- In the worker ---------------------------------------------------------------------------------------------

static const char *show(const char *text)
{
    return text ? text : "none";
}

// Counts open descriptors after the standard ones that a program we start would have, too; that of the directory is not one.
static int count_kept(void)
{
    int count = 0;
    DIR *list = opendir("/proc/self/fd");
    for (const struct dirent *entry; list && (entry = readdir(list));) {
        const int fd = atoi(entry->d_name), flags = fd > 2 ? fcntl(fd, F_GETFD) : -1;
        count += flags >= 0 && !(flags & FD_CLOEXEC);
    }
    closedir(list);
    return count;
}

// Counts all of them: socket and page of a worker, and those that its parent had from its own.
static int count_descriptors(void)
{
    int count = 0;
    DIR *list = opendir("/proc/self/fd");
    for (const struct dirent *entry; list && (entry = readdir(list));)
        count += atoi(entry->d_name) > 2;
    closedir(list);
    return count - 1;
}

// Where a library of this process was loaded from.
static void find_loaded(const char *name, char *path, size_t size)
{
    char line[1024];
    FILE *maps = fopen("/proc/self/maps", "re");
    *path = 0;
    while (maps && fgets(line, sizeof line, maps)) {
        char *at = strchr(line, '/');
        if (at && strstr(at, name))
            snprintf(path, size, "%.*s", (int)strcspn(at, "\n"), at);
    }
    fclose(maps);
}

// A worker that only says how it was started.
static int report(int socket_fd)
{
    char text[2048], here[512] = "", own[512] = "", loaded[512];
    find_loaded("libcmocka.so", loaded, sizeof loaded);
    if (!getcwd(here, sizeof here) || readlink("/proc/self/exe", own, sizeof own - 1) < 0)
        return 9;
    snprintf(text, sizeof text, "%s|%s|%s|%s|%s|%s|%d", here, own, loaded,
             show(getenv("LD_LIBRARY_PATH")), show(getenv("WEFT_TOKEN")),
             show(getenv(WORKER_LIBRARIES_VARIABLE)), count_descriptors());
    Weft__Hello hello = WEFT__HELLO__INIT;
    hello.wire_version = WIRE_VERSION;
    hello.version = text;
    return message_send(socket_fd, WEFT__FRAME_TYPE__FRAME_HELLO, &hello.base) == WEFT_OK ? 0 : 9;
}

// ---- The tests -------------------------------------------------------------------------------------------------

struct heard {
    struct loop *loop;
    char text[2048];  // of its hello
    bool is_lost;
};

static void on_frame(void *owner, const struct frame *frame)
{
    struct heard *heard = owner;
    Weft__Hello *hello = NULL;
    assert_int_equal(frame->type, WEFT__FRAME_TYPE__FRAME_HELLO);
    assert_int_equal(message_unpack(frame, &weft__hello__descriptor, &hello), WEFT_OK);
    snprintf(heard->text, sizeof heard->text, "%s", hello->version);
    message_free(hello);
    loop_stop(heard->loop);
}

static void on_lost(void *owner, const struct process_exit *exit, weft_err code)
{
    struct heard *heard = owner;
    (void)exit, (void)code;
    heard->is_lost = true;
    loop_stop(heard->loop);
}

// Starts a worker and waits for its hello.
static void hear(const struct worker_program *program, struct heard *heard)
{
    static const struct worker_process_calls calls = {.frame = on_frame, .lost = on_lost};
    struct worker_process worker = {0};
    *heard = (struct heard){.loop = loop_new(NULL, NULL)};
    const struct worker_process_spec spec = {.program = program, .output_fd = -1};
    assert_int_equal(worker_process_open(&worker, heard->loop, &spec, &calls, heard), WEFT_OK);
    loop_run(heard->loop);
    worker_process_close(&worker);
    loop_free(heard->loop);
}

static void expect(const struct heard *heard, const char *here, const char *own, const char *loaded,
                   const char *rest)
{
    char text[2048];
    snprintf(text, sizeof text, "%s|%s|%s|%s|%d", here, own, loaded, rest, 2 + count_kept());
    assert_string_equal(heard->text, text);
}

static void join(char *path, size_t size, const char *folder, const char *name)
{
    snprintf(path, size, "%s/%s", folder, name);
}

static void a_worker_has_its_own_libraries_and_its_commands_have_not(void **state)
{
    struct testing_scene scene;
    struct made_package *made;
    struct heard heard;
    char loaded[512];
    const struct run_options options = {0};
    (void)state;
    testing_open_scene(&scene);
    testing_add_file(&scene, PACKAGE_LIBRARY, "libother.so.1", "not one, and not needed");
    assert_int_equal(package_make(&options, 101, &made), WEFT_OK);
    const Weft__CodePackage *own = package_message(made);
    Weft__CodeFile *list[PACKAGE_FILES_MAX];
    memcpy(list, own->files, own->n_files * sizeof *list);
    list[own->n_files] = &scene.files[0].message;
    scene.package.files = list;
    scene.package.n_files = own->n_files + 1;
    assert_int_equal(testing_take(&scene), WEFT_OK);
    const struct worker_program *program = take_program(scene.take);
    for (int has_path = 0; has_path < 2; has_path++) {
        setenv("WEFT_TOKEN", "0123456789abcdef0123456789abcdef", 1);
        if (has_path)
            setenv("LD_LIBRARY_PATH", "/nowhere:/else", 1);
        hear(program, &heard);
        unsetenv("LD_LIBRARY_PATH");
        join(loaded, sizeof loaded, program->libraries, "libcmocka.so.0");
        expect(&heard, program->directory, program->path, loaded,
               has_path ? "/nowhere:/else|none|none" : "none|none|none");
    }
    testing_close_scene(&scene);
    package_free(made);
}

static void a_worker_of_our_own_program_is_started_as_ever(void **state)
{
    struct testing_scene scene;
    struct made_package *made;
    struct heard heard, usual;
    char own[512] = "", loaded[512];
    const struct run_options options = {0};
    (void)state;
    testing_open_scene(&scene);
    assert_int_equal(package_make(&options, 0, &made), WEFT_OK);
    scene.package = *package_message(made);
    assert_int_equal(testing_take(&scene), WEFT_OK);
    setenv("WEFT_TOKEN", "0123456789abcdef0123456789abcdef", 1);
    hear(take_program(scene.take), &heard);
    assert_true(readlink("/proc/self/exe", own, sizeof own - 1) > 0);
    find_loaded("libcmocka.so", loaded, sizeof loaded);
    expect(&heard, take_program(scene.take)->directory, own, loaded, "none|none|none");
    // User code of a run here may use the token.
    hear(NULL, &usual);
    assert_non_null(strstr(usual.text, "|none|0123456789abcdef0123456789abcdef|none|"));
    unsetenv("WEFT_TOKEN");
    testing_close_scene(&scene);
    package_free(made);
}

// ---- A program of a user ---------------------------------------------------------------------------------------

enum { CONTENT_BYTES_MAX = 64 << 20 };

struct content {
    char *bytes;
    size_t size;
};

static struct content contents[TESTING_FILES_MAX * 4];
static struct testing_file files[TESTING_FILES_MAX * 4];
static Weft__CodeFile *list_of_files[TESTING_FILES_MAX * 4];
static size_t file_count;

static bool add_content(enum package_role role, const char *name, const char *path)
{
    struct testing_file *file = &files[file_count];
    struct content *content = &contents[file_count];
    struct buf bytes = {0};
    struct sha256 sha;
    int fd;
    if (file_open(path, &fd) != WEFT_OK)
        return false;
    assert_int_equal(file_read_all(fd, path, CONTENT_BYTES_MAX, &bytes), WEFT_OK);
    file_close(fd);
    *content = (struct content){bytes.data, bytes.size};
    weft__code_file__init(&file->message);
    snprintf(file->name, sizeof file->name, "%s", name);
    sha256_init(&sha);
    sha256_add(&sha, bytes.data, bytes.size);
    sha256_end(&sha, file->sha256);
    file->message.name = file->name;
    file->message.sha256 = (ProtobufCBinaryData){SHA256_BYTES, file->sha256};
    file->message.size = bytes.size;
    file->message.role = role;
    file->message.file = file_count;
    list_of_files[file_count++] = &file->message;
    return true;
}

static weft_err add_library(void *owner, const char *name, const char *path)
{
    (void)owner;
    if (!strstr(name, "cmocka") && !strstr(name, "san.so"))
        assert_true(add_content(PACKAGE_LIBRARY, name, path));
    return WEFT_OK;
}

static void report_fetched(void *owner)
{
    struct testing_scene *scene = owner;
    struct testing_fetch *fetch = &scene->fetches[scene->served_count++ % TESTING_FILES_MAX];
    const struct content *content = &contents[fetch->wanted.file];
    take_fetched(scene->take, fetch->wanted.tag,
                 file_write_at(fetch->wanted.fd, "a file", content->bytes, content->size, 0));
}

static weft_err fetch_content(void *owner, const struct take_wanted *wanted)
{
    struct testing_scene *scene = owner;
    scene->fetches[scene->fetch_count++ % TESTING_FILES_MAX] =
        (struct testing_fetch){*wanted, true};
    assert_non_null(loop_timer_new(scene->loop, 1, 0, report_fetched, scene));
    return WEFT_OK;
}

static void a_program_runs_where_no_libweft_is_installed(void **state)
{
    const char *build = getenv("WEFT_BUILD") ? getenv("WEFT_BUILD") : "build";
    char program[512], library[512];
    struct testing_scene scene;
    struct heard heard;
    (void)state;
    join(program, sizeof program, build, "examples/wordcount");
    join(library, sizeof library, build, "libweft.so");
    if (access(program, X_OK) != 0 || access(library, R_OK) != 0)
        skip();
    testing_open_scene(&scene);
    assert_true(add_content(PACKAGE_PROGRAM, "wordcount", program));
    assert_true(add_content(PACKAGE_LIBRARY, "libweft.so.0.1", library));
    assert_int_equal(libraries_visit(add_library, NULL), WEFT_OK);
    scene.package.files = list_of_files;
    scene.package.n_files = file_count;
    const struct take_options options = {.loop = scene.loop,
                                         .cache = scene.cache,
                                         .package = &scene.package,
                                         .fetch = fetch_content,
                                         .done = testing_on_done,
                                         .owner = &scene};
    assert_int_equal(take_start(&options, &scene.take), WEFT_OK);
    loop_run(scene.loop);
    assert_int_equal(scene.code, WEFT_OK);
    assert_int_equal(take_figures(scene.take).fetched_files, 2);  // the others are our own
    hear(take_program(scene.take), &heard);
    assert_false(heard.is_lost);
    assert_string_equal(heard.text, weft_version());
    // It is that library that makes it run.
    struct worker_program without = *take_program(scene.take);
    without.libraries = NULL;
    hear(&without, &heard);
    assert_true(heard.is_lost);
    testing_close_scene(&scene);
    for (size_t i = 0; i < file_count; i++)
        free(contents[i].bytes);
}

int main(void)
{
    int socket_fd, page_fd;
    if (worker_process_find_own(&socket_fd, &page_fd))
        return report(socket_fd);
#define IN_FOLDER(test)                                                                            \
    cmocka_unit_test_setup_teardown(test, testing_make_folder, testing_remove_folder)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(a_worker_has_its_own_libraries_and_its_commands_have_not),
        IN_FOLDER(a_worker_of_our_own_program_is_started_as_ever),
        IN_FOLDER(a_program_runs_where_no_libweft_is_installed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
