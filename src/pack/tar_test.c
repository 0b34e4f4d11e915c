// Tests of the tar format: entries are read again as they were written, and other programs' archives are.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "pack/tar.h"

struct source {
    struct buf bytes;
    size_t at;
};

static weft_err read_source(void *owner, void *data, size_t size, size_t *got)
{
    struct source *source = owner;
    *got = source->bytes.size - source->at < size ? source->bytes.size - source->at : size;
    memcpy(data, source->bytes.data + source->at, *got);
    source->at += *got;
    return WEFT_OK;
}

static void append_zeros(struct buf *buf, size_t size)
{
    static const char zeros[TAR_END_BYTES];
    buf_append(buf, zeros, size);
}

static void add(struct source *source, enum tar_kind kind, const char *path, const char *text)
{
    const struct tar_entry entry = {.path = path,
                                    .kind = kind,
                                    .link = kind == TAR_LINK ? text : NULL,
                                    .size = kind == TAR_FILE ? strlen(text) : 0,
                                    .is_executable = true};
    tar_write_entry(&entry, &source->bytes);
    if (kind == TAR_FILE) {
        buf_append_text(&source->bytes, text);
        append_zeros(&source->bytes, tar_pad(strlen(text)));
    }
}

static void expect(struct tar_reader *reader, enum tar_kind kind, const char *path,
                   const char *text)
{
    struct tar_entry entry;
    bool is_end;
    char content[64] = "";
    size_t got = 0;
    assert_int_equal(tar_reader_next(reader, &entry, &is_end), WEFT_OK);
    assert_false(is_end);
    assert_int_equal(entry.kind, kind);
    assert_string_equal(entry.path, path);
    if (kind == TAR_FILE) {
        assert_int_equal(tar_reader_read(reader, content, sizeof content, &got), WEFT_OK);
        assert_string_equal(content, text);
    } else if (kind == TAR_LINK) {
        assert_string_equal(entry.link, text);
    }
}

static void expect_end(struct tar_reader *reader)
{
    struct tar_entry entry;
    bool is_end;
    assert_int_equal(tar_reader_next(reader, &entry, &is_end), WEFT_OK);
    assert_true(is_end);
}

static void what_is_written_is_read_again(void **state)
{
    struct source source = {0};
    char path[301], target[201];
    (void)state;
    memset(path, 'p', 300);
    memset(target, 't', 200);
    path[300] = target[200] = 0;
    path[100] = '/';
    add(&source, TAR_DIRECTORY, "d", NULL);
    add(&source, TAR_FILE, "d/f", "content");
    add(&source, TAR_FILE, path, "of a long name");
    add(&source, TAR_LINK, "d/l", target);
    add(&source, TAR_FILE, "empty", "");
    append_zeros(&source.bytes, TAR_END_BYTES);
    struct tar_reader *reader = tar_reader_new(read_source, &source, "test");
    expect(reader, TAR_DIRECTORY, "d", NULL);
    expect(reader, TAR_FILE, "d/f", "content");
    expect(reader, TAR_FILE, path, "of a long name");
    expect(reader, TAR_LINK, "d/l", target);
    expect(reader, TAR_FILE, "empty", "");
    expect_end(reader);
    tar_reader_free(reader);
    buf_fini(&source.bytes);
}

static void every_cut_is_noticed(void **state)
{
    struct source source = {0};
    (void)state;
    add(&source, TAR_FILE, "f", "content");
    append_zeros(&source.bytes, TAR_BLOCK_BYTES);
    const size_t whole = source.bytes.size;
    for (size_t size = 0; size < whole; size++) {
        struct tar_entry entry;
        bool is_end = false;
        weft_err code;
        source.bytes.size = size;
        source.at = 0;
        struct tar_reader *reader = tar_reader_new(read_source, &source, "test");
        do
            code = tar_reader_next(reader, &entry, &is_end);
        while (code == WEFT_OK && !is_end);
        assert_int_equal(code, WEFT_DATA_LOSS);
        tar_reader_free(reader);
    }
    buf_fini(&source.bytes);
}

static void a_changed_header_is_noticed(void **state)
{
    struct source source = {0};
    (void)state;
    add(&source, TAR_FILE, "f", "");
    append_zeros(&source.bytes, TAR_END_BYTES);
    for (size_t i = 0; i < TAR_BLOCK_BYTES; i++) {
        struct tar_entry entry;
        bool is_end;
        source.bytes.data[i] ^= 1;
        source.at = 0;
        struct tar_reader *reader = tar_reader_new(read_source, &source, "test");
        // But for the blank after the checksum.
        if (i != 155)
            assert_int_equal(tar_reader_next(reader, &entry, &is_end), WEFT_DATA_LOSS);
        tar_reader_free(reader);
        source.bytes.data[i] ^= 1;
    }
    buf_fini(&source.bytes);
}

static weft_err read_pipe(void *owner, void *data, size_t size, size_t *got)
{
    *got = fread(data, 1, size, owner);
    return WEFT_OK;
}

static void archives_of_gnu_tar_are_read(void **state)
{
    static const char *const formats[] = {"gnu", "pax", "ustar", "v7"};
    (void)state;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        char command[512], path[512];
        const bool has_long = i < 2;
        snprintf(
            command, sizeof command,
            "d=$(mktemp -d) && cd $d && mkdir -p a/%s && printf text > a/%s/f && ln -s f a/%s/l "
            "&& tar -c --format=%s --sort=name a; rm -rf $d",
            has_long ? "$(printf %0150d 1)" : "b", has_long ? "$(printf %0150d 1)" : "b",
            has_long ? "$(printf %0150d 1)" : "b", formats[i]);
        char part[160] = "b";
        if (has_long)
            snprintf(part, sizeof part, "%0150d", 1);
        FILE *pipe = popen(command, "r");
        assert_non_null(pipe);
        struct tar_reader *reader = tar_reader_new(read_pipe, pipe, "test");
        expect(reader, TAR_DIRECTORY, "a", NULL);
        snprintf(path, sizeof path, "a/%s", part);
        expect(reader, TAR_DIRECTORY, path, NULL);
        snprintf(path, sizeof path, "a/%s/f", part);
        expect(reader, TAR_FILE, path, "text");
        snprintf(path, sizeof path, "a/%s/l", part);
        expect(reader, TAR_LINK, path, "f");
        expect_end(reader);
        tar_reader_free(reader);
        pclose(pipe);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_again),
        cmocka_unit_test(every_cut_is_noticed),
        cmocka_unit_test(a_changed_header_is_noticed),
        cmocka_unit_test(archives_of_gnu_tar_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
