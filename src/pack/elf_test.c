// Tests of the lists in which a program's loader looks: of this program and of made-up damage.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "pack/elf.h"
#include "sys/file/folder_testing.h"

struct seen {
    char path[256];
    bool needs_libc, needs_cmocka;
};

static weft_err see(void *owner, const char *name, bool is_path)
{
    struct seen *seen = owner;
    if (is_path)
        snprintf(seen->path, sizeof seen->path, "%s", name);
    seen->needs_libc |= strcmp(name, "libc.so.6") == 0;
    seen->needs_cmocka |= strncmp(name, "libcmocka.so", 12) == 0;
    return WEFT_OK;
}

static void read_program(const char *path, struct buf *bytes)
{
    int fd;
    assert_int_equal(file_open(path, &fd), WEFT_OK);
    assert_int_equal(file_read_all(fd, path, SIZE_MAX / 2, bytes), WEFT_OK);
    file_close(fd);
}

// What this program needs, made to look where its libraries are not: it still starts, as the loader has other places.
static void a_program_looks_where_it_was_said(void **state)
{
    static const char *const paths[] = {"$ORIGIN/../shared", "$ORIGIN/x",
                                        "$ORIGIN/a/longer/one/than/before/it"};
    (void)state;
    struct seen before = {0};
    struct buf bytes = {0};
    read_program("/proc/self/exe", &bytes);
    assert_int_equal(elf_visit(buf_bytes(&bytes), see, &before), WEFT_OK);
    if (!before.needs_libc)
        skip();  // a static one
    assert_true(before.needs_cmocka);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct seen after = {0};
        char command[512];
        int fd;
        if (!elf_set_path(bytes.data, bytes.size, paths[i]))
            continue;
        assert_int_equal(elf_visit(buf_bytes(&bytes), see, &after), WEFT_OK);
        assert_string_equal(after.path, paths[i]);
        assert_true(after.needs_libc && after.needs_cmocka);
        assert_int_equal(file_create(testing_path("program"), &fd), WEFT_OK);
        assert_int_equal(file_write_at(fd, "program", bytes.data, bytes.size, 0), WEFT_OK);
        assert_int_equal(file_set_mode(fd, "program", 0755), WEFT_OK);
        file_close(fd);
        snprintf(command, sizeof command, "%s only-start", testing_path("program"));
        assert_int_equal(system(command), 0);
    }
    buf_fini(&bytes);
}

static weft_err count(void *owner, const char *name, bool is_path)
{
    (void)is_path;
    *(size_t *)owner += strlen(name);
    return WEFT_OK;
}

// Every byte of the headers and of the dynamic section takes part: none may lead out of the file.
static void a_damaged_program_leads_nowhere(void **state)
{
    struct buf bytes = {0};
    size_t sum = 0;
    (void)state;
    read_program("/proc/self/exe", &bytes);
    const size_t step = bytes.size / 4000 + 1;
    for (size_t at = 0; at < bytes.size; at += at < 2000 ? 1 : step) {
        const char kept = bytes.data[at];
        for (int value = 0; value < 3; value++) {
            bytes.data[at] = (char)(value == 0 ? 0 : value == 1 ? 0xff : kept ^ 0x40);
            assert_int_equal(elf_visit(buf_bytes(&bytes), count, &sum), WEFT_OK);
        }
        bytes.data[at] = kept;
    }
    for (size_t size = 0; size < 2000; size++) {
        char *cut = malloc(size + 1);
        memcpy(cut, bytes.data, size);
        assert_int_equal(elf_visit((weft_bytes){cut, size}, count, &sum), WEFT_OK);
        elf_set_path(cut, size, "$ORIGIN/x");
        free(cut);
    }
    buf_fini(&bytes);
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1)
        return 0;
#define IN_FOLDER(test)                                                                            \
    cmocka_unit_test_setup_teardown(test, testing_make_folder, testing_remove_folder)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(a_program_looks_where_it_was_said),
        cmocka_unit_test(a_damaged_program_leads_nowhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
