// Tests of which process a file is taken from.

#include "run/client/copies.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "sys/file/file.h"
#include "sys/loop/loop.h"

static const struct secret token = {.bytes = "0123456789abcdef", .size = 16};

enum { OWN_EPOCH = 77, OTHER_EPOCH = 79 };

struct scene {
    struct loop *loop;
    struct fetch_client *server;
    struct served served;
    struct copies *copies;
};

static void start(struct scene *scene)
{
    *scene = (struct scene){.loop = loop_new(NULL, NULL)};
    struct served_file file = {.size = 100};
    assert_int_equal(file_create_nameless(".", &file.fd), WEFT_OK);
    assert_true(VEC_PUSH(&scene->served.list, file));
    scene->server = fetch_client_new(&(struct fetch_client_options){
        .loop = scene->loop, .address = {"127.0.0.1", 1}, .token = &token, .name = "tester"});
    assert_non_null(scene->server);
    scene->copies = copies_new(&(struct copies_options){.loop = scene->loop,
                                                        .token = &token,
                                                        .name = "tester",
                                                        .tmp = ".",
                                                        .epoch = OWN_EPOCH,
                                                        .served = &scene->served,
                                                        .server = scene->server});
    assert_non_null(scene->copies);
}

static void end(struct scene *scene)
{
    copies_free(scene->copies);
    fetch_client_free(scene->server);
    served_fini(&scene->served);
    loop_free(scene->loop);
    err_clear();
}

static Weft__FarFile far_file(char *address, uint32_t holder, uint64_t epoch)
{
    Weft__FarFile far = WEFT__FAR_FILE__INIT;
    far.address = address;
    far.holder = holder;
    far.epoch = epoch;
    far.file = 1;
    far.size = 100;
    return far;
}

// Two clients of one router that listen at the same port have one address, seen from the server.
static void a_client_of_the_same_address_is_another_one(void **state)
{
    struct scene scene;
    struct copy *own = NULL, *other = NULL, *lent = NULL;
    (void)state;
    start(&scene);
    const Weft__FarFile mine = far_file("192.0.2.7:4000", 1, OWN_EPOCH);
    const Weft__FarFile theirs = far_file("192.0.2.7:4000", 2, OTHER_EPOCH);
    const Weft__FarFile served = far_file("", 0, 0);
    assert_int_equal(copies_open(scene.copies, &mine, &own), WEFT_OK);
    assert_int_equal(copies_open(scene.copies, &theirs, &other), WEFT_OK);
    assert_int_equal(copies_open(scene.copies, &served, &lent), WEFT_OK);
    assert_null(own->from);
    assert_int_equal(own->fd, scene.served.list.items[0].fd);
    assert_non_null(other->from);
    assert_ptr_not_equal(other->from, scene.server);
    assert_ptr_equal(lent->from, scene.server);
    end(&scene);
}

static void on_done(void *owner, weft_err code)
{
    *(weft_err *)owner = code;
}

// It was lost when the server said where its files are.
static void a_client_without_an_address_is_not_the_server(void **state)
{
    struct scene scene;
    struct copy *copy = NULL;
    weft_err code = WEFT_OK;
    (void)state;
    start(&scene);
    const Weft__FarFile gone = far_file("", 3, 0);
    assert_int_equal(copies_open(scene.copies, &gone, &copy), WEFT_OK);
    assert_non_null(copy->from);
    assert_ptr_not_equal(copy->from, scene.server);
    assert_int_equal(copy_fetch(scene.copies, copy, 0, 10, on_done, &code), WEFT_OK);
    end(&scene);
    assert_int_equal(code, WEFT_OK);  // it does not come from the call itself
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_client_of_the_same_address_is_another_one),
        cmocka_unit_test(a_client_without_an_address_is_not_the_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
