// What the tests of journals share: a directory for each test, records as text, files as bytes.
#ifndef STORE_JOURNAL_JOURNAL_TESTING_H
#define STORE_JOURNAL_JOURNAL_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/buf.h"
#include "store/journal/segment.h"
#include "sys/file/file.h"

static char root[] = "/tmp/weft-journal-test-XXXXXX";
static char directory[64];
static bool is_often;  // the way in which this test runs

// All records as text: "type:sequence:payload ".
struct log {
    struct buf text;
    weft_err fails_with;
};

static inline weft_err visit(void *owner, const struct journal_record *record)
{
    struct log *log = owner;
    buf_format(&log->text, "%u:%llu:%.*s ", record->type, (unsigned long long)record->sequence,
               (int)record->payload.size, record->payload.data);
    return log->fails_with ? err_set(log->fails_with, "the caller's own") : WEFT_OK;
}

static inline void expect(weft_err err)
{
    if (err)
        fail_msg("%s", err_text());
}

// Options in the way of this test, with segments that are quickly written ahead.
static inline const struct journal_options *in_our_way(const struct journal_options *options)
{
    static struct journal_options ours;
    ours = options ? *options : (struct journal_options){0};
    ours.syncs_often = is_often;
    if (is_often && !ours.segment_bytes_max)
        ours.segment_bytes_max = 8192;
    return &ours;
}

static inline struct journal *open_with(const struct journal_options *options, const char *records)
{
    struct log log = {0};
    struct journal *journal;
    expect(journal_open(&journal, directory, "test", in_our_way(options), visit, &log, NULL));
    assert_string_equal(buf_text(&log.text), records);
    buf_fini(&log.text);
    return journal;
}

static inline void append(struct journal *journal, uint32_t type, const char *text)
{
    expect(journal_append(journal, type, weft_text(text)));
}

static inline const char *path_of(const char *name)
{
    static char paths[4][128];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", directory, name);
    return path;
}

static inline bool exists(const char *name)
{
    struct file_stat status;
    expect(file_stat(path_of(name), &status));
    return status.kind != FILE_MISSING;
}

static inline struct buf load(const char *name)
{
    struct buf bytes = {0};
    struct file_stat status;
    int fd;
    expect(file_open(path_of(name), &fd));
    expect(file_stat_fd(fd, name, &status));
    assert_non_null(buf_reserve(&bytes, status.size + 1));
    expect(file_read_at(fd, name, bytes.data, status.size, 0, &bytes.size));
    file_close(fd);
    return bytes;
}

static inline void store(const char *name, const char *data, size_t size)
{
    int fd;
    expect(file_make_directory(directory));
    expect(file_remove(path_of(name)));  // cutting it to nothing makes some file systems wait
    expect(file_create(path_of(name), &fd));
    expect(file_write_at(fd, name, data, size, 0));
    file_close(fd);
}

// Two records to a segment.
static const struct journal_options small = {.segment_bytes_max = 100, .buffer_bytes = 30};

// Records 1..count.
static inline void write_many(int count)
{
    struct journal *journal = open_with(&small, "");
    for (int i = 1; i <= count; i++)
        append(journal, 1, "x");
    expect(journal_close(journal));
}

static inline int choose_directory(void **state)
{
    (void)state;
    static unsigned number;
    snprintf(directory, sizeof directory, "%s/j%u", root, number++);
    is_often = false;
    return 0;
}

static inline int choose_often(void **state)
{
    choose_directory(state);
    is_often = true;
    return 0;
}

static inline int make_root(void **state)
{
    (void)state;
    return mkdtemp(root) ? 0 : -1;
}

static inline int remove_root(void **state)
{
    (void)state;
    return file_remove_tree(root) == WEFT_OK ? 0 : -1;
}

#define TEST(name) cmocka_unit_test_setup(name, choose_directory)
#define OFTEN(name)                                                                                \
    {                                                                                              \
#name " (syncs often)", name, choose_often, NULL, NULL                                     \
    }
#define BOTH(name) TEST(name), OFTEN(name)

#endif
