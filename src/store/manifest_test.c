// Tests of store/manifest: the bytes it writes, texts that it refuses to read, files that it finds in a directory.

#include "store/manifest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "sys/file/file.h"

static const char sample[] =
    "{\n"
    "  \"version\": 1,\n"
    "  \"job\": \"word\\\"count\",\n"
    "  \"parts\": [\n"
    "    {\"name\": \"part-00000\", \"bytes\": 52, \"records\": 4, \"crc32c\": \"0a1b2c3d\"},\n"
    "    {\"name\": \"part-00001\", \"bytes\": 0, \"records\": 0, \"crc32c\": \"00000000\"}\n"
    "  ],\n"
    "  \"bytes\": 52,\n"
    "  \"records\": 4\n"
    "}\n";

static void the_bytes_are_these(void **state)
{
    (void)state;
    struct manifest manifest = {.job = strdup("word\"count")};
    struct buf text = {0};
    assert_int_equal(manifest_add(&manifest, 52, 4, 0x0a1b2c3d), WEFT_OK);
    assert_int_equal(manifest_add(&manifest, 0, 0, 0), WEFT_OK);
    manifest_format(&text, &manifest);
    assert_string_equal(buf_text(&text), sample);
    buf_fini(&text);
    manifest_fini(&manifest);
}

static void what_is_written_is_read_back(void **state)
{
    (void)state;
    struct manifest manifest = {0};
    struct buf text = {0};
    assert_int_equal(manifest_parse(&manifest, weft_text(sample)), WEFT_OK);
    assert_string_equal(manifest.job, "word\"count");
    assert_int_equal(manifest.part_count, 2);
    assert_int_equal(manifest.parts[0].crc32c, 0x0a1b2c3d);
    assert_int_equal(manifest.bytes, 52);
    manifest_format(&text, &manifest);
    assert_string_equal(buf_text(&text), sample);
    buf_fini(&text);
    manifest_fini(&manifest);
}

static void fields_that_came_later_are_skipped(void **state)
{
    (void)state;
    struct manifest manifest = {0};
    assert_int_equal(manifest_parse(&manifest, weft_text("{\"version\": 1, \"job\": \"\", \"new\": "
                                                         "[1], \"parts\": [], \"bytes\": 0, "
                                                         "\"records\": 0}")),
                     WEFT_OK);
    assert_int_equal(manifest.part_count, 0);
    manifest_fini(&manifest);
}

#define PARTS(list, bytes)                                                                         \
    "{\"version\":1,\"job\":\"j\",\"parts\":" list ",\"bytes\":" bytes ",\"records\":0}"
#define PART(name, bytes, crc)                                                                     \
    "{\"name\":\"" name "\",\"bytes\":" bytes ",\"records\":0,\"crc32c\":" crc "}"

static void what_is_damaged_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",
        "{",
        "[]",
        "null",
        "{}",
        "{\"version\":1}",
        "{\"version\":2,\"job\":\"j\",\"parts\":[],\"bytes\":0,\"records\":0}",
        "{\"version\":\"1\",\"job\":\"j\",\"parts\":[],\"bytes\":0,\"records\":0}",
        "{\"version\":1,\"job\":7,\"parts\":[],\"bytes\":0,\"records\":0}",
        "{\"version\":1,\"version\":1,\"job\":\"j\",\"parts\":[],\"bytes\":0,\"records\":0}",
        PARTS("{}", "0"),
        PARTS("[7]", "0"),
        PARTS("[]", "1"),
        PARTS("[]", "-1"),
        PARTS("[]", "0.5"),
        PARTS("[" PART("part-00001", "0", "\"00000000\"") "]", "0"),
        PARTS("[" PART("../part-00000", "0", "\"00000000\"") "]", "0"),
        PARTS("[" PART("part-00000", "-1", "\"00000000\"") "]", "-1"),
        PARTS("[" PART("part-00000", "5", "\"00000000\"") "]", "4"),
        PARTS("[" PART("part-00000", "0", "\"0000000\"") "]", "0"),
        PARTS("[" PART("part-00000", "0", "\"0000000G\"") "]", "0"),
        PARTS("[" PART("part-00000", "0", "0") "]", "0"),
        PARTS("[" PART("part-00000", "99999999999999999999", "\"00000000\"") "]", "0"),
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct manifest manifest = {0};
        assert_int_equal(manifest_parse(&manifest, weft_text(wrong[i])), WEFT_DATA_LOSS);
        assert_non_null(strstr(err_text(), "manifest"));
        manifest_fini(&manifest);
    }
}

// ---- Directories ---------------------------------------------------------------------------------------

static char root[] = "/tmp/weft-manifest-test-XXXXXX";

static void put(const char *name, weft_bytes text)
{
    char path[128];
    int fd;
    snprintf(path, sizeof path, "%s/%s", root, name);
    assert_int_equal(file_create(path, &fd), WEFT_OK);
    assert_int_equal(file_write(fd, path, text.data, text.size), WEFT_OK);
    file_close(fd);
}

static int make_output(void **state)
{
    (void)state;
    struct manifest manifest = {.job = strdup("j")};
    struct buf text = {0};
    snprintf(root, sizeof root, "/tmp/weft-manifest-test-XXXXXX");
    assert_non_null(mkdtemp(root));
    put("part-00000", weft_text("a\t1\n"));
    put("part-00001", weft_text(""));
    assert_int_equal(manifest_add(&manifest, 4, 1, crc32c(0, "a\t1\n", 4)), WEFT_OK);
    assert_int_equal(manifest_add(&manifest, 0, 0, 0), WEFT_OK);
    manifest_format(&text, &manifest);
    put("_manifest.json", buf_bytes(&text));
    put("_SUCCESS", weft_none());
    buf_fini(&text);
    manifest_fini(&manifest);
    return 0;
}

static int remove_output(void **state)
{
    (void)state;
    return file_remove_tree(root) == WEFT_OK ? 0 : -1;
}

static void assert_verify(weft_err code, const char *words)
{
    struct manifest manifest = {0};
    assert_int_equal(manifest_verify(root, &manifest), code);
    if (code)
        assert_non_null(strstr(err_text(), words));
    manifest_fini(&manifest);
}

static void remove_file(const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", root, name);
    assert_int_equal(unlink(path), 0);
}

static void a_whole_output_is_good(void **state)
{
    (void)state;
    assert_verify(WEFT_OK, NULL);
}

static void an_unfinished_output_is_told(void **state)
{
    (void)state;
    remove_file("_SUCCESS");
    assert_verify(WEFT_NOT_FOUND, "_SUCCESS");
}

static void a_part_that_is_gone_longer_or_changed_is_named(void **state)
{
    (void)state;
    put("part-00000", weft_text("a\t2\n"));
    assert_verify(WEFT_DATA_LOSS, "part-00000 has checksum");
    put("part-00000", weft_text("a\t1\nb"));
    assert_verify(WEFT_DATA_LOSS, "part-00000 has 5 bytes");
    remove_file("part-00000");
    assert_verify(WEFT_NOT_FOUND, "part-00000");
}

static void a_manifest_that_is_gone_or_damaged_is_told(void **state)
{
    (void)state;
    put("_manifest.json", weft_text("{"));
    assert_verify(WEFT_DATA_LOSS, "_manifest.json");
    remove_file("_manifest.json");
    assert_verify(WEFT_NOT_FOUND, "_manifest.json");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_output, remove_output)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bytes_are_these),
        cmocka_unit_test(what_is_written_is_read_back),
        cmocka_unit_test(fields_that_came_later_are_skipped),
        cmocka_unit_test(what_is_damaged_is_refused),
        TEST(a_whole_output_is_good),
        TEST(an_unfinished_output_is_told),
        TEST(a_part_that_is_gone_longer_or_changed_is_named),
        TEST(a_manifest_that_is_gone_or_damaged_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
