// For tests of packages: a server that is only memory, a package of its files, and a client that takes it, with what goes wrong
// between them.
#ifndef RUN_PACKAGE_PACKAGE_TESTING_H
#define RUN_PACKAGE_PACKAGE_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "code/codes.h"
#include "run/package/take.h"
#include "sys/file/folder_testing.h"
#include "sys/loop/loop.h"

enum { TESTING_FILES_MAX = 8 };

struct testing_file {
    Weft__CodeFile message;
    char name[64];
    uint8_t sha256[SHA256_BYTES];
    const char *content;  // that is served
};

// A fetch that has been asked for.
struct testing_fetch {
    struct take_wanted wanted;
    bool is_open;
};

struct testing_scene {
    struct loop *loop;
    struct cache *cache;
    struct take *take;
    Weft__CodePackage package;
    struct testing_file files[TESTING_FILES_MAX];
    Weft__CodeFile *list[TESTING_FILES_MAX];
    struct testing_fetch fetches[TESTING_FILES_MAX];
    size_t fetch_count, served_count;
    bool is_done;
    weft_err code;
    char text[ERR_TEXT_BYTES_MAX];

    // What goes wrong, of the served_count-th file:
    size_t fail_at;        // its fetch fails; SIZE_MAX: none
    size_t cut_at;         // a byte is missing
    void (*before)(void);  // called before files are served
    bool is_silent;        // fetches never end
};

static inline void testing_add_file(struct testing_scene *scene, enum package_role role,
                                    const char *name, const char *content)
{
    struct testing_file *file = &scene->files[scene->package.n_files];
    struct sha256 sha;
    assert_true(scene->package.n_files < TESTING_FILES_MAX);
    weft__code_file__init(&file->message);
    snprintf(file->name, sizeof file->name, "%s", name);
    sha256_init(&sha);
    sha256_add(&sha, content, strlen(content));
    sha256_end(&sha, file->sha256);
    file->content = content;
    file->message.name = file->name;
    file->message.sha256 = (ProtobufCBinaryData){SHA256_BYTES, file->sha256};
    file->message.size = strlen(content);
    file->message.mode = role == PACKAGE_DATA ? 0644 : 0755;
    file->message.role = role;
    file->message.file = 100 + scene->package.n_files;
    scene->list[scene->package.n_files++] = &file->message;
}

// An empty package, and a cache in the test's folder.
static inline void testing_open_scene(struct testing_scene *scene)
{
    *scene = (struct testing_scene){.fail_at = SIZE_MAX, .cut_at = SIZE_MAX};
    weft__code_package__init(&scene->package);
    scene->package.kind = code_native.number;
    scene->package.files = scene->list;
    scene->loop = loop_new(NULL, NULL);
    assert_non_null(scene->loop);
    assert_int_equal(cache_open(&cache_of_code, testing_path("cache"), &scene->cache), WEFT_OK);
}

static inline void testing_close_scene(struct testing_scene *scene)
{
    take_free(scene->take);
    cache_close(scene->cache);
    loop_free(scene->loop);
}

static inline void testing_on_done(void *owner, weft_err code)
{
    struct testing_scene *scene = owner;
    assert_false(scene->is_done);
    scene->is_done = true;
    scene->code = code;
    snprintf(scene->text, sizeof scene->text, "%s", err_text());
    loop_stop(scene->loop);
}

static inline void testing_serve(void *owner)
{
    struct testing_scene *scene = owner;
    struct testing_fetch *fetch = &scene->fetches[scene->served_count];
    const size_t at = scene->served_count++;
    const struct testing_file *file = &scene->files[fetch->wanted.file - 100];
    if (scene->before)
        scene->before();
    assert_int_equal(fetch->wanted.size, file->message.size);
    const size_t size = strlen(file->content) - (at == scene->cut_at);
    weft_err code = file_write_at(fetch->wanted.fd, file->name, file->content, size, 0);
    if (at == scene->fail_at)
        code = err_set(WEFT_UNAVAILABLE, "the server is gone");
    take_fetched(scene->take, fetch->wanted.tag, code);
}

static inline weft_err testing_fetch(void *owner, const struct take_wanted *wanted)
{
    struct testing_scene *scene = owner;
    scene->fetches[scene->fetch_count++] = (struct testing_fetch){*wanted, true};
    if (!scene->is_silent)
        assert_non_null(loop_timer_new(scene->loop, 1, 0, testing_serve, scene));
    else
        loop_stop(scene->loop);
    return WEFT_OK;
}

// Takes the package, to its end.
static inline weft_err testing_take(struct testing_scene *scene)
{
    const struct take_options options = {.loop = scene->loop,
                                         .cache = scene->cache,
                                         .package = &scene->package,
                                         .fetch = testing_fetch,
                                         .done = testing_on_done,
                                         .owner = scene};
    scene->is_done = false;
    scene->fetch_count = scene->served_count = 0;
    weft_err code = take_start(&options, &scene->take);
    if (code != WEFT_OK)
        return code;
    loop_run(scene->loop);
    return scene->is_silent ? WEFT_OK : scene->code;
}

static inline void testing_assert_holds(const char *folder, const char *name, const char *text)
{
    char path[512], got[256] = "";
    int fd;
    size_t size;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(file_open(path, &fd), WEFT_OK);
    assert_int_equal(file_read_at(fd, path, got, sizeof got - 1, 0, &size), WEFT_OK);
    file_close(fd);
    assert_string_equal(got, text);
}

static inline weft_err testing_count_name(void *owner, const char *name)
{
    (void)name;
    ++*(size_t *)owner;
    return WEFT_OK;
}

// How many names there are in a directory of the cache.
static inline size_t testing_count(const char *folder)
{
    size_t count = 0;
    assert_int_equal(file_list(testing_path(folder), testing_count_name, &count), WEFT_OK);
    return count;
}

#endif
