// Tests of code/native/compile with a compiler that is a shell script: it notes that it was called
// and makes a program of its input. The real compiler builds jobs in test/e2e/50-c-job.sh.

#include "code/native/compile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/file/file.h"

static char root[] = "/tmp/weft-compile-test-XXXXXX";

// The text of a source is itself and every *.h beside it; "error" in the source is one.
static const char compiler[] =
    "#!/bin/sh\n"
    "for word; do\n"
    "    case $last in -o) out=$word ;; esac\n"
    "    case $word in -E) is_text=yes ;; *.c | *.cpp) source=$word ;; esac\n"
    "    last=$word\n"
    "done\n"
    "[ \"$is_text\" ] || echo called >>\"$CALLS\"\n"
    "if ! [ \"$is_text\" ] && grep -q error \"$source\"; then echo \"$source:1: error\"; exit 1; fi\n"
    "dir=$(printf %s \"$source\" | sed 's|[^/]*$||')\n"
    "cat \"$source\" \"$dir\"*.h $EXTRA >\"$out\" 2>/dev/null\n"
    "chmod +x \"$out\"\n";

static void put(const char *path, const char *text)
{
    int fd;
    assert_int_equal(file_create(path, &fd), WEFT_OK);
    assert_int_equal(file_write(fd, path, text, strlen(text)), WEFT_OK);
    file_close(fd);
}

static void set_path(const char *name, const char *below)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", root, below);
    setenv(name, path, 1);
}

static int enter(void **state)
{
    (void)state;
    snprintf(root, sizeof root, "/tmp/weft-compile-test-XXXXXX");
    if (!mkdtemp(root) || chdir(root) != 0)
        return -1;
    put("cc.sh", compiler);
    chmod("cc.sh", 0755);
    set_path("CC", "cc.sh");
    set_path("CALLS", "calls");
    set_path("XDG_CACHE_HOME", "cache");
    unsetenv("CFLAGS");
    return 0;
}

static int leave(void **state)
{
    (void)state;
    return chdir("/") == 0 && file_remove_tree(root) == WEFT_OK ? 0 : -1;
}

static int count_calls(void)
{
    struct stat status;
    return stat("calls", &status) == 0 ? (int)(status.st_size / 7) : 0;
}

// Compiles and compares what the "program" holds. False where there is no libweft.so beside us.
static bool compile(const char *source, const char *expected)
{
    char *program, text[64] = "";
    int fd;
    size_t got;
    const weft_err err =
        compile_source(&(struct compile_spec){.source = source, .messages = -1}, &program);
    if (err == WEFT_UNIMPLEMENTED && strstr(err_text(), "beside"))
        return false;
    assert_int_equal(err, WEFT_OK);
    assert_int_equal(file_open(program, &fd), WEFT_OK);
    assert_int_equal(file_read_at(fd, program, text, sizeof text - 1, 0, &got), WEFT_OK);
    assert_string_equal(text, expected);
    file_close(fd);
    free(program);
    return true;
}

static void the_same_content_is_built_once(void **state)
{
    (void)state;
    mkdir("d", 0777);
    put("a.c", "one"), put("d/b c.c", "one");
    if (!compile("a.c", "one"))
        skip();
    assert_int_equal(count_calls(), 1);
    compile("a.c", "one");
    compile("./a.c", "one");
    compile("d/b c.c", "one");
    assert_int_equal(count_calls(), 1);
    put("a.c", "two");
    compile("a.c", "two");
    assert_int_equal(count_calls(), 2);
    put("a.c", "one");
    compile("a.c", "one");
    assert_int_equal(count_calls(), 2);
}

static void a_changed_header_is_noticed(void **state)
{
    (void)state;
    mkdir("d", 0777);
    put("a.c", "one"), put("x.h", "-first"), put("d/a.c", "one"), put("d/x.h", "-other");
    if (!compile("a.c", "one-first"))
        skip();
    put("x.h", "-second");
    compile("a.c", "one-second");
    assert_int_equal(count_calls(), 2);
    compile("d/a.c", "one-other");
    assert_int_equal(count_calls(), 3);
    compile("a.c", "one-second");
    put("x.h", "-first");
    compile("a.c", "one-first");
    assert_int_equal(count_calls(), 3);
    unlink("x.h");
    compile("a.c", "one");
    assert_int_equal(count_calls(), 4);
}

static void other_flags_make_another_program(void **state)
{
    (void)state;
    put("a.c", "one");
    if (!compile("a.c", "one"))
        skip();
    setenv("CFLAGS", "-O3 -DX=1", 1);
    compile("a.c", "one");
    assert_int_equal(count_calls(), 2);
    unsetenv("CFLAGS");
    compile("a.c", "one");
    assert_int_equal(count_calls(), 2);
}

// The compiler knows of it, by CPATH or as a system header, and so does the text.
static void a_header_from_anywhere_is_noticed(void **state)
{
    (void)state;
    put("a.c", "one"), put("system", "-old");
    setenv("EXTRA", "system", 1);
    if (!compile("a.c", "one-old"))
        skip();
    compile("a.c", "one-old");
    assert_int_equal(count_calls(), 1);
    put("system", "-new");
    compile("a.c", "one-new");
    put("other", "-other");
    setenv("EXTRA", "other", 1);
    compile("a.c", "one-other");
    unsetenv("EXTRA");
    compile("a.c", "one");
    assert_int_equal(count_calls(), 4);
}

static void what_the_text_does_not_show_is_built_every_time(void **state)
{
    (void)state;
    put("a.c", "one"), put("b.c", "asm(\".incbin x\")");
    if (!compile("a.c", "one"))
        skip();
    setenv("LIBRARY_PATH", "/x", 1);
    compile("a.c", "one");
    compile("a.c", "one");
    assert_int_equal(count_calls(), 3);
    unsetenv("LIBRARY_PATH");
    compile("a.c", "one");
    assert_int_equal(count_calls(), 3);
    setenv("CFLAGS", "-O3 other.o", 1);
    compile("a.c", "one");
    compile("a.c", "one");
    assert_int_equal(count_calls(), 5);
    unsetenv("CFLAGS");
    compile("b.c", "asm(\".incbin x\")");
    compile("b.c", "asm(\".incbin x\")");
    assert_int_equal(count_calls(), 7);
}

static void asm_of_the_system_alone_is_kept(void **state)
{
    (void)state;
    static const char header[] = "# 1 \"x.h\" 1 3\nasm(1)\n# 2 \"a.c\"\nplasm asm(\"\" :)\n";
    static const char own[] = "# 1 \"a.c\"\n__asm__(\".inc\" \"lude\")\n";
    put("a.c", header), put("b.c", own);
    if (!compile("a.c", header))
        skip();
    compile("a.c", header);
    assert_int_equal(count_calls(), 1);
    compile("b.c", own);
    compile("b.c", own);
    assert_int_equal(count_calls(), 3);
}

static void a_damaged_program_is_built_again(void **state)
{
    (void)state;
    static const char *const damages[] = {": >$p", "chmod -x $p", "rm $p; mkdir -p $p/x",
                                          "printf '\\0\\0' >$p", "printf '\\177ELF' >$p"};
    char *program;
    const struct compile_spec spec = {.source = "a.c", .messages = -1};
    put("a.c", "one");
    if (!compile("a.c", "one"))
        skip();
    assert_int_equal(compile_source(&spec, &program), WEFT_OK);
    setenv("p", program, 1);
    for (int i = 0; i < (int)(sizeof damages / sizeof *damages); i++) {
        assert_int_equal(system(damages[i]), 0);
        compile("a.c", "one");
        assert_int_equal(count_calls(), 2 + i);
    }
    unsetenv("p");
    free(program);
}

static void cpp_has_its_own_compiler_and_flags(void **state)
{
    (void)state;
    char *program;
    put("a.cpp", "one");
    const struct compile_spec spec = {.source = "a.cpp", .messages = -1};
    setenv("CXX", "no-such-compiler", 1);
    assert_int_equal(compile_source(&spec, &program), WEFT_UNIMPLEMENTED);
    assert_non_null(strstr(err_text(), "there is no C++ compiler no-such-compiler here"));
    assert_non_null(strstr(err_text(), "apt-get install g++"));
    set_path("CXX", "cc.sh");
    if (!compile("a.cpp", "one"))
        skip();
    compile("a.cpp", "one");
    setenv("CXXFLAGS", "-O3", 1);
    compile("a.cpp", "one");
    assert_int_equal(count_calls(), 2);
    unsetenv("CXXFLAGS"), unsetenv("CXX");
    assert_true(compile_is_source("x.cc") && compile_is_source("d/x.cxx") &&
                compile_is_source("x.C"));
    assert_false(compile_is_source("x.h") || compile_is_source("cpp") || compile_is_source(".cpp"));
}

static void a_source_that_does_not_compile_is_tried_again(void **state)
{
    (void)state;
    char *program, text[64] = "";
    int fd;
    size_t got;
    put("a.c", "error");
    assert_int_equal(file_create_nameless(root, &fd), WEFT_OK);
    const struct compile_spec spec = {.source = "a.c", .messages = fd};
    weft_err err = compile_source(&spec, &program);
    if (err == WEFT_UNIMPLEMENTED)
        skip();
    assert_int_equal(err, WEFT_FAILED_PRECONDITION);
    assert_null(program);
    assert_int_equal(file_read_at(fd, "messages", text, sizeof text - 1, 0, &got), WEFT_OK);
    assert_string_equal(text, "a.c:1: error\n");
    err = compile_source(&spec, &program);
    assert_int_equal(err, WEFT_FAILED_PRECONDITION);
    assert_int_equal(count_calls(), 2);
    file_close(fd);
    put("a.c", "fixed");
    compile("a.c", "fixed");
}

static void a_missing_source_or_compiler_is_told(void **state)
{
    (void)state;
    char *program;
    const struct compile_spec spec = {.source = "a.c", .messages = -1};
    assert_int_equal(compile_source(&spec, &program), WEFT_NOT_FOUND);
    put("a.c", "one");
    setenv("CC", "no-such-compiler -x", 1);
    assert_int_equal(compile_source(&spec, &program), WEFT_UNIMPLEMENTED);
    assert_non_null(strstr(err_text(), "no-such-compiler"));
    assert_non_null(strstr(err_text(), "apt-get install"));
}

static void only_a_program_that_calls_weft_main_is_a_job(void **state)
{
    (void)state;
    put("yes", "\177ELF...weft_main_sized...");
    put("no", "#!/bin/sh\nexit 0\n");
    assert_int_equal(compile_check_program("yes", "yes.c"), WEFT_OK);
    assert_int_equal(compile_check_program("no", "no.c"), WEFT_INVALID_ARGUMENT);
    assert_memory_equal(err_text(), "no.c is not a job\n", 18);
    assert_int_equal(compile_check_program("none", "none"), WEFT_NOT_FOUND);
    // The name may lie across the blocks in which the file is read.
    char *large = calloc(1, (256 << 10) + 16);
    memset(large, '.', (256 << 10) + 15);
    memcpy(large + (256 << 10) - 7, "weft_main_sized", 15);
    put("large", large);
    free(large);
    assert_int_equal(compile_check_program("large", "large"), WEFT_OK);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, leave)
    const struct CMUnitTest tests[] = {
        TEST(the_same_content_is_built_once),
        TEST(a_changed_header_is_noticed),
        TEST(other_flags_make_another_program),
        TEST(a_header_from_anywhere_is_noticed),
        TEST(what_the_text_does_not_show_is_built_every_time),
        TEST(asm_of_the_system_alone_is_kept),
        TEST(a_damaged_program_is_built_again),
        TEST(cpp_has_its_own_compiler_and_flags),
        TEST(a_source_that_does_not_compile_is_tried_again),
        TEST(a_missing_source_or_compiler_is_told),
        TEST(only_a_program_that_calls_weft_main_is_a_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
